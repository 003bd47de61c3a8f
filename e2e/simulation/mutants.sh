#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mutants.sh [NAME…]   does the simulation find single deliberate mistakes in the decisions? Each line of the table below is one: it is made in a copy of the
# tree, built, and run. Prints "NAME found after N schedules", with the kinds of what fails that did not fail without it, or "NAME not found in N". As long as
# schedules fail without a mistake, a mistake that only moves them to other seeds is no find: of a kind that fails without one more than two must fail, and twice as
# many as fail no more; of another kind one is enough.
#
# Beside it, how many of the kept schedules (regressions/) fail with the mistake: they are what every change has to pass.
#
# COUNT (1500) schedules at most, from SEED (1) on, for LIMIT (300) seconds at most; JOBS (2) mistakes at a time; WITHOUT: kinds of faults to leave out. Nothing
# outside of a temporary folder is written.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."
: "${COUNT:=1500}" "${SEED:=1}" "${JOBS:=2}" "${LIMIT:=300}" "${WITHOUT:=recreate}"
top=$(mktemp -d)
pids=()
# shellcheck disable=SC2317 # by the trap
finish() {
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2> /dev/null || true
  rm -rf "$top"
}
trap finish EXIT
trap 'exit 1' INT TERM

# name | file | sed expression
mutants='
floor-not-asked|operator/cluster/failover/ballot.c|s/return ballot->best \&\& !ballot->ahead \&\& ballot->best->history.reaches_floor \&\&/return ballot->best \&\& !ballot->ahead \&\&/
one-answer-less|operator/cluster/failover/ballot.c|s/return acknowledgers - acks + 1;/return acknowledgers - acks;/
one-answer-is-enough|operator/cluster/failover/ballot.c|s/return acknowledgers - acks + 1;/return 1;/
restarted-is-proof|operator/cluster/failover/ballot.c|s/return member_acknowledges(snapshot, member) \&\& member->agent->replication.caught_up;/return member_acknowledges(snapshot, member);/
anybody-is-proof|operator/cluster/failover/ballot.c|s/return member_acknowledges(snapshot, member) \&\& member->agent->replication.caught_up;/return member->agent->replication.caught_up;/
always-proven|operator/cluster/failover/ballot.c|s/ballot->is_proven = enough \&\& (counts/ballot->is_proven = (counts/
unheard-reign-is-empty|operator/cluster/failover/ballot.c|s/return own || found || !enough || is_last_word;/return own || found || is_last_word;/
reign-compared-wrongly|operator/cluster/failover/member_history.c|s/return a->reign < b->reign ? GTID_SUPERSET : GTID_SUBSET;/return a->reign > b->reign ? GTID_SUPERSET : GTID_SUBSET;/
reigns-not-compared|operator/cluster/failover/member_history.c|s/if (a->reign != b->reign)/if (false)/
smallest-is-best|operator/cluster/failover/ballot.c|s/if (relation == GTID_SUPERSET || (relation == GTID_EQUAL \&\& is_better_equal/if (relation == GTID_SUBSET || (relation == GTID_EQUAL \&\& is_better_equal/
ahead-ignored|operator/cluster/failover/ballot.c|s/ballot->ahead = vote;/;/
extra-ignored|operator/cluster/failover/ballot.c|s/vote->unfit = "it holds transactions that the lost primary had not";/;/
floor-dropped-at-begin|operator/cluster/failover/cluster_failover.c|s/intent->roles.reigns = \*reigns;/intent->roles.reigns = *reigns; intent->roles.reigns.list[0].floor = "";/
salvage-drops-its-reigns|operator/cluster/failover/failover_election.c|s/^    ret->first_reign = ballot->listed\[ballot->decisive\];/    ret->first_reign = CLUSTER_REIGNS_MAX;/
salvage-floor-is-whole|operator/cluster/failover/cluster_failover.c|s/intent->roles.reigns.list\[0\].floor_is_partial |= choice->salvage;/;/
acknowledgers-forgotten|operator/cluster/failover/cluster_failover.c|s/^        acknowledgers_of(snapshot, choice->candidate) | unheard_acknowledgers(snapshot, choice);/        0;/
unheard-forgotten|operator/cluster/failover/cluster_failover.c|s/acknowledgers_of(snapshot, choice->candidate) | unheard_acknowledgers(snapshot, choice);/acknowledgers_of(snapshot, choice->candidate);/
acknowledgers-not-before-order|operator/cluster/roles/cluster_order.c|s/return snapshot->last.roles.acks == 0 || member_acknowledges(snapshot, member);/return true;/
leaves-uncovered|operator/cluster/failover/cluster_failover.c|s/^        acknowledgers_cover(snapshot, primary, primary->agent->gtid_executed, member);/        true;/
settled-at-once|operator/cluster/failover/reigns.c|s/if (ret->count > 1 \&\& is_acknowledged(snapshot, primary, ret))/if (ret->count > 1)/
switchover-floor-whole|operator/cluster/roles/cluster_intent.c|s/    intent->roles.reigns.list\[0\].floor_is_partial = true;/    ;/
target-not-fenced|operator/cluster/roles/cluster_order.c|s/    bool fenced = from \&\& member_is_fenced(snapshot, from);/    bool fenced = from \&\& from->agent;/
target-waits-for-nothing|operator/cluster/roles/cluster_order.c|s/order_primary(snapshot, from->agent->gtid_executed, order);/order_primary(snapshot, "", order);/
chosen-waits-for-nothing|operator/cluster/roles/cluster_order.c|s/order_primary(snapshot, transition->position, order);/order_primary(snapshot, "", order);/
fenced-without-done|operator/cluster/state/member_view.c|s/is_on_its_way(snapshot, member)) \&\& member->agent->order_done \&\&/is_on_its_way(snapshot, member)) \&\&/
held-without-epoch|operator/cluster/failover/failover_facts.c|s/^        member->agent->epoch == (uint64_t)snapshot->last.roles.epoch \&\& member->agent->role == AGENT_ROLE_REPLICA/        member->agent->role == AGENT_ROLE_REPLICA/
held-without-receiver-off|operator/cluster/failover/failover_facts.c|s/        member->agent->replication.receiver == AGENT_THREAD_OFF;/        true;/
open-under-any-epoch|operator/cluster/state/member_view.c|s/return member_runs(member) \&\& has_epoch(snapshot, member) \&\& member->agent->role == AGENT_ROLE_PRIMARY \&\&/return member_runs(member) \&\& member->agent->role == AGENT_ROLE_PRIMARY \&\&/
confirmed-at-once|operator/cluster/failover/confirmed_strengthen.c|s/        !acknowledgers_cover(snapshot, primary, awaited_position(snapshot, primary), NULL))/        false)/
confirmed-not-weakened|operator/cluster/failover/cluster_confirmed.c|s/    confirmed->semi_sync \&= intent->roles.semi_sync;/    ;/
goes-back-unproven|operator/cluster/roles/cluster_intent.c|s/return from->agent->writable || from->agent->epoch < (uint64_t)snapshot->last.roles.transition.epoch;/return true;/
epoch-not-raised|operator/cluster/failover/cluster_failover.c|s/    intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;/    intent->roles.epoch = snapshot->last.roles.epoch;/
premature-order|operator/cluster/roles/cluster_order.c|s/ \&\&$/ \&\&/;s/!(ret->orders\[i\].role == AGENT_ROLE_PRIMARY \&\& is_premature(snapshot, intent))/true/
first-primary-not-awaited|operator/cluster/failover/primary_election.c|s/    if (!member_speaks(member)) {/    if (false) {/
errant-not-reseeded|operator/cluster/roles/reseed.c|s/    return is_errant_beside(snapshot, primary, member) \&\&$/    return false \&\& is_errant_beside(snapshot, primary, member) \&\&/
close-tells-waiting|e2e/simulation/agent_lane.c|s/^\( *\)close_clients(sim, member);/\1;/
stale-order-taken|e2e/simulation/agent.c|s/    if (order->epoch < role->epoch)$/    if (false)/
agent-keeps-order-of-dead-primary|agent/role_notes.c|s/    if (role->order.role == AGENT_ROLE_PRIMARY) {/    if (false) {/
agent-forgets-the-gap|agent/catch_up.c|s/(struct catch_up){.gap_ms = now_ms}/(struct catch_up){.gap_ms = now_ms, .up = catch_up->up}/
lapses-not-counted|agent/role_decide.c|s/^        state->lapses++;/        ;/
unacknowledged-not-counted|agent/role_decide.c|s/^    state->lapses += ended;/    ;/
lapses-not-heeded|operator/cluster/failover/cluster_confirmed.c|s/ || !knows_lapses(agent, confirmed))/)/
semi-sync-off-believed|operator/cluster/failover/cluster_confirmed.c|s/if ((writes \&\& !agent->semi_sync) ||/if (/
isolation-ends-by-itself|agent/role_notes.c|s/^    state->role.isolated = true;/    state->role.isolated = false;/
reseeded-while-seeding|operator/cluster/rollout/cluster_decide.c|s/^            member_is_seeding(member) || member->agent->mark/            member->agent->mark/
caught-up-by-any-goal|agent/catch_up.c|s/        catch_up->up = holds(flavour, received, catch_up->goal);/        catch_up->up = true;/
never-isolated|agent/role_decide.c|s/    if (role->order.role != AGENT_ROLE_PRIMARY || !role->order.self_fence_ms)/    if (true)/
overtaken-goes-on|agent/role_decide.c|s/    return state->source.is_primary \&\& state->source.epoch > state->role.order.epoch;/    return false;/
source-not-awaited|agent/role_decide.c|s/    return !(source->known \&\& source->is_open \&\& source->epoch >= order->epoch);/    return false;/
cut-by-any-order|agent/bootstrap/start_mode.c|s/.truncate = follows \&\& order->truncate \&\& order->epoch > primary_epoch};/.truncate = true};/
hold-is-done-at-once|agent/role_decide.c|s/(state->replication.receiver == AGENT_THREAD_OFF \&\& is_looked_at(role) \&\& role->relay == RELAY_DONE));/true);/
left-behind-is-not-asked|operator/cluster/roles/reseed.c|s/(reigns_is_left_behind(snapshot, primary, member) \&\& is_held_by_another/(true \&\& is_held_by_another/
salvaged-again|agent/healing.c|s/ \&\& !was_open ? SALVAGE_ASK/ ? SALVAGE_ASK/
'
names=("$@")

options=(--seed="$SEED" --keep-going)
for kind in $WITHOUT; do options+=(--without="$kind"); done

copy() { # copy FOLDER
  mkdir -p "$1"
  git ls-files -z Makefile build-aux common operator agent e2e/simulation | xargs -0 cp --parents -t "$1"
  make -C "$1" --no-print-directory -j"$JOBS" QUIET=1 WERROR=0 build/simulate # a mistake may leave something unused
}

# Seeds that fail, "SEED KIND" each.
# One that ends before its sum has crashed, or is at it for too long: "0 UNFINISHED".
failing() {
  { timeout "$LIMIT" "$1/build/simulate" "${options[@]}" --count="$2" 2>&1 || true; } |
    sed -n 's/^seed \([0-9]*\): \([A-Za-z]*\): .*/\1 \2/p; s/^simulation: .*/0 finished/p' |
    awk '$2 == "finished" { all = 1; next } { print } END { if (!all) print "0 UNFINISHED" }' | sort
}

# judge TREE NAME COUNT: true if it is found.
judge() {
  local tree=$1 name=$2 count=$3 fresh gone first other known=$1/known
  awk -v end=$((SEED + count)) '$1 < end' "$top/known" > "$known"
  failing "$tree" "$count" > "$tree/now"
  fresh=$(join -v 2 "$known" "$tree/now")
  gone=$(join -v 1 "$known" "$tree/now" | wc -l)
  if grep -q UNFINISHED "$tree/now"; then
    echo "$name DOES NOT END in $LIMIT s, or crashes (of $count; $(wc -l < "$tree/now") fail)"
    return
  fi
  new=0
  [[ -z $fresh ]] || new=$(wc -l <<< "$fresh")
  moved=$gone
  other=$(cut -d' ' -f2 "$known" | sort -u | grep -vxFf - <(cut -d' ' -f2 <<< "$fresh") | grep -c . || true)
  ((other > 0 || new > 2 * gone + ($(wc -l < "$known") > 0 ? 2 : 0))) || return 1
  first=$(sort -n <<< "$fresh" | head -1)
  echo "$name found after $((${first% *} - SEED + 1)) schedules (of $count: $(cut -d' ' -f2 <<< "$fresh" | sort | uniq -c |
    awk '{ printf "%s%d %s", (NR > 1 ? ", " : ""), $1, $2 }'); $gone fail no more)"
}

# kept TREE: " kept: N of M fail"
kept() {
  { timeout "$LIMIT" "$1/build/simulate" --keep-going e2e/simulation/regressions/*.json 2>&1 || true; } |
    awk '/^simulation: / { sub(/[^0-9]*/, ""); n = $1; for (i = 1; i < NF; i++) if ($(i + 1) == "with") bad = $i; all = 1 }
      END { if (all) printf "; kept: %d of %d fail", bad, n; else printf "; kept: they do not end" }'
}

try() { # try FOLDER NAME FILE EXPRESSION
  local tree=$1 name=$2 file=$3 expression=$4 new moved
  cp "$tree/$file" "$tree/kept"
  sed -i "$expression" "$tree/$file"
  if cmp -s "$tree/$file" "$tree/kept"; then
    echo "$name CHANGES NOTHING"
    return
  fi
  if make -C "$tree" --no-print-directory QUIET=1 WERROR=0 build/simulate > "$tree/log" 2>&1; then
    { judge "$tree" "$name" $((COUNT / 8)) || judge "$tree" "$name" "$COUNT" ||
      echo "$name not found in $COUNT ($new fail, $moved fail no more)"; } > "$tree/said"
    echo "$(cat "$tree/said")$(kept "$tree")"
  else
    echo "$name DOES NOT BUILD: $(grep -m1 error "$tree/log")"
  fi
  cp "$tree/kept" "$tree/$file"
}

share() { # share FOLDER NUMBER: every JOBSth of the table
  local n=0 name file expression
  while IFS='|' read -r name file expression; do
    [[ $name ]] || continue
    n=$((n + 1))
    ((n % JOBS == $2)) || continue
    ((${#names[@]} == 0)) || [[ " ${names[*]} " == *" $name "* ]] || continue
    try "$1" "$name" "$file" "$expression"
  done <<< "$mutants"
}

copy "$top/0"
failing "$top/0" "$COUNT" > "$top/known"
echo "without a mistake $(wc -l < "$top/known") of $COUNT fail"
for ((i = 1; i < JOBS; i++)); do cp -rp "$top/0" "$top/$i"; done # before any of them is changed
for ((i = 0; i < JOBS; i++)); do
  share "$top/$i" "$i" &
  pids+=($!)
done
wait "${pids[@]}"
