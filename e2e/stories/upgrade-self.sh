# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval
# long
# alone
# seconds 3000
# An upgrade of kube-mysql itself, and back and again, under writers: 604752d, which knew no reigns, runs a cluster of each family; this version's operator takes over with the
# old agents; the agents are rolled; the old operator comes back for a while, with new agents and with a status that this version wrote; and this version takes over for good. With each pair
# of versions the primary is moved and killed.
. e2e/stories/failover.inc
. e2e/stories/upgrade-self.inc

# ---- the clusters ----

ready() { wait_replicated "$1" 3 600; }
armed() { wait_until 60 "acknowledgements of $1" field_is myc "$1" .status.semiSync true; }
conditions_true() {
  local type
  for type in Accepted Available Healthy Replicated; do wait_until 60 "condition $type of $1" condition_is myc "$1" "$type" True; done
}
reigns_of() { field myc "$1" .status.reigns; }
tell_reigns() { echo "$1: $(reigns_of "$1")"; }
has_reign_of_its_primary() { field_is myc "$1" '.status.reigns[0].primary' "$(primary "$1")" && field_is myc "$1" '.status.reigns[0].opened' true; }
has_no_reigns() { [[ -z $(reigns_of "$1") ]]; }

declare -A epoch from
remember() { epoch[$1]=$(field myc "$1" .status.epoch) from[$1]=$(primary "$1"); }
nobody_moved() {
  expect_eq "the epoch of $1" "$(field myc "$1" .status.epoch)" "${epoch[$1]}"
  expect_eq "the primary of $1" "$(primary "$1")" "${from[$1]}"
}
order_switchover() {
  remember "$1"
  kn annotate myc "$1" kubemysql.dev/switchover-to- > /dev/null # the same value again would be no new order
  wait_until 30 "the end of the order before" field_is myc "$1" .status.switchoverDone ""
  kn annotate --overwrite myc "$1" "kubemysql.dev/switchover-to=$(((${from[$1]##*-} + 1) % 3))" > /dev/null
}
switched_over() {
  wait_until 120 "$1-mysql-$(((${from[$1]##*-} + 1) % 3)) as primary" primary_is "$1" "$1-mysql-$(((${from[$1]##*-} + 1) % 3))"
  wait_until 120 "the end of the switchover of $1" field_is myc "$1" .status.transition.to ""
}
kill_server() {
  remember "$1"
  kill -KILL "$(server_pid "${from[$1]}")"
}
another_leads() { [[ $(primary "$1") != "${from[$1]}" ]] && field_is myc "$1" .status.lastFailover.from "${from[$1]}" && field_is myc "$1" .status.transition.from ""; }
failed_over_from() {
  wait_until 120 "a failover from ${from[$1]}" another_leads "$1"
  field myc "$1" .status.lastFailover | jq -c '{from, to, reason, epoch, candidateWhy, mayBeLost}'
}
move_and_kill() {
  say "$1: a switchover, and the primary is killed"
  each order_switchover
  each switched_over
  each ready
  each kill_server
  each failed_over_from
  each ready
}

# longest pause that a writer saw since the last call, in ms
declare -A told
tell_pauses() {
  local family log gaps
  for family in "${families[@]}"; do
    log=$E2E_WORK/$NS.$family/writer.log
    gaps=$(grep -c ^GAP "$log" || true)
    say "$family, $1: longest pause of writes $(tail -n "+$((${told[$family]:-0} + 1))" "$log" | sed -n 's/^GAP [0-9]* \([0-9]*\).*/\1/p' | sort -n | tail -n 1) ms"
    told[$family]=$gaps
  done
}

# ---- the story ----

# A server that is killed is seen at once; nobody fails over because a machine is busy, which would look as if the upgrade had done it.
make_cluster() {
  cluster "$1" "$1" "  config: {name: $NS-$1}
  replicas: 3
  failover: {hungMilliseconds: 30000, silenceMilliseconds: 30000, writesBlockedMilliseconds: 30000, stalledMilliseconds: 30000}
  storage: {resources: {requests: {storage: 2Gi}}}"
}
start_writer() { writer_start "$1" 2900 20000; }
rows_are_kept() {
  writer_stop "$1"
  writer_result "$1"
  wait_until 60 "the same data on every member of $1" data_equal "$1"
}

say "$old_tag with its agents"
e2e/cluster/load-image.sh "$old"/kube-mysql-{operator,agent}-"$old_tag".oci.tar
operator_of "$old_tag"
agents_of "$old_tag"
each make_cluster
each ready
each armed
each start_writer
sleep 2
each kill_server
each failed_over_from
each ready
each has_no_reigns
tell_pauses "killed under $old_tag"

say "this version's operator is installed over it; the agents stay"
each remember
operator_of dev
for family in "${families[@]}"; do wait_until 60 "a reign in the status of $family" has_reign_of_its_primary "$family"; done
each ready
each conditions_true
sleep 10
each nobody_moved
tell_pauses "exchange of the operator"
each tell_reigns
move_and_kill "new operator, old agents"
tell_pauses "new operator, old agents"

say "the agents follow, one member at a time, and in the middle of it the old operator comes back"
each remember
agents_of dev
release_turns() { kn annotate statefulset --all kubemysql.dev/agent-turn- > /dev/null; } # all families at the same time
for family in "${families[@]}"; do
  wait_until 300 "a new agent in $family" eval "release_turns; [[ \$(member_agents $family) == *dev* ]]"
done
each tell_agents
k -n "$OPERATOR_NS" set image deployment/kube-mysql-operator "*=registry.local/kube-mysql-operator:$old_tag" > /dev/null
wait_until 60 "operator $old_tag in the lead" leads "$old_tag"
each tell_agents
for family in "${families[@]}"; do
  wait_until 900 "the roll of $family" eval "[[ \$(member_agents $family) == 'dev dev dev' && \$(field myc $family .status.updatedReplicas) == 3 ]]"
done
each ready
tell_pauses "roll of the agents"
move_and_kill "old operator, new agents"
each has_no_reigns # none of the past stay beside what it wrote
tell_pauses "old operator, new agents"

say "this version again, now for good"
each remember
operator_of dev
for family in "${families[@]}"; do wait_until 60 "a reign in the status of $family" has_reign_of_its_primary "$family"; done
each ready
sleep 5
each nobody_moved
tell_pauses "exchange of the operator"
move_and_kill "new operator, new agents"
tell_pauses "new operator, new agents"
each conditions_true
each one_writable
each rows_are_kept
