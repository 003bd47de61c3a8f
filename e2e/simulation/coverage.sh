#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# coverage.sh [FOLDER]   which branches of the decision code the simulation takes. Builds with gcc --coverage in FOLDER (build/coverage), runs all kept schedules
# and COUNT (1000) random ones from SEED (1) on for each of both families with three and five members, JOBS (2) at a time, and prints for each file how many
# lines are run and how many branches are taken. What is not taken is listed in FOLDER/not-taken, "FILE:LINE: SOURCE" each, with the number of branches.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${COUNT:=1000}" "${SEED:=1}" "${JOBS:=2}"
folder=$(realpath -m "${1:-build/coverage}")
files=(operator/cluster/failover/{ballot,ballot_fork,ballot_votes,ballot_without_reigns,member_history,reigns,failover_election,failover_facts,cluster_failover,cluster_failure}.c operator/cluster/roles/{cluster_intent,cluster_order,reseed}.c
  operator/cluster/failover/{cluster_confirmed,confirmed_strengthen,primary_election}.c operator/cluster/reconcile/cluster_notes.c operator/cluster/state/member_view.c
  agent/{role_decide,role_notes,role_status,catch_up,hearing}.c agent/bootstrap/{start_mode,seed_decide}.c)

make --no-print-directory -j"$JOBS" BUILD="$folder" QUIET=1 WERROR=0 CC=gcc \
  EXTRA_CFLAGS='--coverage -O0 -U_FORTIFY_SOURCE' EXTRA_LDFLAGS=--coverage "$folder/simulate"
[[ ${KEEP:-} ]] || find "$folder" -name '*.gcda' -delete
{
  echo "--seed=1 --keep-going e2e/simulation/regressions/*.json"
  for family in mysql mariadb; do
    for members in 3 5; do echo "--seed=$SEED --count=$COUNT --keep-going --family=$family --members=$members"; done
  done
} | xargs -P "$JOBS" -I{} bash -c "$folder/simulate {} | grep '^simulation: ' || true" > "$folder/runs"

# gcov reads the sources, and writes, where it is started.
here=$PWD
mkdir -p "$folder/gcov"
cd "$folder/gcov"
ln -sfn "$here"/{common,operator,agent,e2e} .
printf '%-44s %10s %10s %10s\n' file lines branches taken
for file in "${files[@]}"; do
  gcov -b -c -r -o "../obj/${file%.c}.o" "$file" 2> /dev/null | awk -v want="$file" '
    /^File / { is_it = index($0, want) > 0 }
    is_it && /^Lines executed/ { split($2, a, ":"); lines = a[2]; }
    is_it && /^Taken at least once/ { split($4, a, ":"); printf "%-44s %10s %10d %10s\n", want, lines, $6, a[2] }'
done | tee ../table
awk '{ all += $3; taken += $3 * $4 / 100 } END { printf "%-44s %10s %10d %9.2f%%\n", "all", "", all, 100 * taken / all }' ../table
for file in "${files[@]}"; do
  awk -v file="$file" -F: '
    /^ *(-|[0-9]+\*?|#####|=====): *[0-9]+:/ { number = $2 + 0; sub(/^[^:]*:[^:]*:/, ""); source = $0; next }
    /^branch/ && (/never executed/ || /taken 0( |$)/) { if (!(number in missing)) order[++n] = number; missing[number]++; text[number] = source }
    END { for (i = 1; i <= n; i++) printf "%s:%d: %d: %s\n", file, order[i], missing[order[i]], text[order[i]] }' "$(basename "$file").gcov"
done > ../not-taken
# Why, by what the line says (docs/simulation.md, "Coverage"). What is left could be taken by a schedule, or shows nothing by its words.
unmodelled='in_place|final_backup|FinalBackup|restore|RESTORE|mycnf|my\\.cnf|CONTAINER_INIT|series|of_donor|beside|[^_]task[^_]|accounts|action_running|is_refusal'
unmodelled+='|password|fs_|errno ==|unlink|!object|FLUSH STATUS|log_ms|is_behind_log|given_up|LOCK_WAIT|beat->error|source_tls|source_port|is_verdict|ER_|numbers|rows[)]'
unmodelled+='|by_file|is_dropping|order->replace|has_data|reseed [|][|]|beat_ms'
cut_texts='position_is_whole|readable|too_long|can_be_told|GTID_LONG|position_max|fits|GtidSet|UNKNOWN_AGE|strlen'
guards='member_count|ARRAY_LEN|ACKNOWLEDGERS_MAX|REIGNS_MAX|of_a|of_b|of_to|of_from|!a [|][|]|!all|wanted &&|number == 0|strtou?ll?|!ballot|age_ms [<>]|now_ms[)]|as_of_ms'
guards+='|rest_ms|!(from|to|older|primary|own|member|target)[^a-z_]|(from|to|member|primary|wish|last|older|own|agent|pod|by_id|found) &&|[?] .* : |count < size|> 0 [?] '
guards+='|count > 0|count < 2|position_parse|server_id|uuid|MIN_OF|MAX_OF'
all=$(awk '{ all += $3 } END { print all }' ../table)
awk -F: -v all="$all" -v unmodelled="$unmodelled" -v cut_texts="$cut_texts" -v guards="$guards" '
  { n[$0 ~ unmodelled ? "unmodelled" : $0 ~ cut_texts ? "cut" : $0 ~ guards ? "guard" : "rest"] += $3 }
  END {
    missing = n["unmodelled"] + n["cut"] + n["guard"] + n["rest"]
    printf "not taken: %d of what is not modelled, %d for texts that are cut, %d guards and bounds, %d others\n", n["unmodelled"], n["cut"], n["guard"], n["rest"]
    printf "taken of those that are left without the first three: %.1f%%\n", 100 * (all - missing) / (all - missing + n["rest"])
  }' ../not-taken
echo "not taken: $folder/not-taken, $(wc -l < ../not-taken) lines"
