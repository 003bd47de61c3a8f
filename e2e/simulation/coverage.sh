#!/bin/bash
# coverage.sh [FOLDER]   which branches of the decision code the simulation takes. Builds with gcc --coverage in FOLDER (build/coverage), runs all kept schedules
# and COUNT (1000) random ones from SEED (1) on for each of both families with three and five members, JOBS (2) at a time, and prints for each file how many
# lines are run and how many branches are taken. What is not taken is listed in FOLDER/not-taken, "FILE:LINE: SOURCE" each, with the number of branches.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${COUNT:=1000}" "${SEED:=1}" "${JOBS:=2}"
folder=$(realpath -m "${1:-build/coverage}")
files=(operator/cluster/{ballot,member_history,reigns,failover_election,cluster_failover,cluster_failure,cluster_intent,cluster_order}.c
  operator/cluster/{cluster_confirmed,primary_election,member_view}.c
  agent/{role_decide,role_status,catch_up,hearing}.c agent/bootstrap/{start_mode,seed_decide}.c)

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
echo "not taken: $folder/not-taken, $(wc -l < ../not-taken) lines"
