# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# long
# alone
# The operator's own death under a writer: leader killed, leader frozen beyond its lease, no operator at all. Databases serve on, nobody but a leader acts.
. e2e/replication-lib.sh
deployment() { k -n "$OPERATOR_NS" get deploy kube-mysql-operator -o "jsonpath={$1}"; }
leader() { k -n "$OPERATOR_NS" get lease kube-mysql-operator -o jsonpath='{.spec.holderIdentity}'; }
another_leader() { [[ -n $(leader) && $(leader) != "$old" ]]; }
two_operators() { [[ $(deployment .status.readyReplicas) == 2 ]]; }
last_end() { k -n "$OPERATOR_NS" get pod "$1" -o "jsonpath={.status.containerStatuses[0].lastState.terminated.$2}"; }
versions() { kn get sts,svc,cm,endpointslice,pdb,sa -o jsonpath='{.items[*].metadata.resourceVersion}'; }

# operator_pid POD: as the host numbers it
operator_pid() {
  local uid dir
  uid=$(k -n "$OPERATOR_NS" get pod "$1" -o jsonpath='{.metadata.uid}')
  for dir in /proc/[0-9]*; do
    [[ $(cat "$dir/comm" 2> /dev/null) == kube-mysql-oper* ]] || continue
    grep -q "$uid" "$dir/cgroup" 2> /dev/null && echo "${dir#/proc/}" && return 0
  done
  return 1
}

the_new_leader_works() {
  kn patch myc db --type=merge -p "{\"spec\":{\"services\":{\"primary\":{\"annotations\":{\"by\":\"$1\"}}}}}" > /dev/null
  wait_until 30 "the new leader works" field_is svc db-mysql-primary .metadata.annotations.by "$1"
}

wait_until 60 "two operators" two_operators
cluster db mariadb '  replicas: 3
  storage: {resources: {requests: {storage: 1Gi}}}'
wait_replicated db 3 240
epoch=$(field myc db .status.epoch)
writer_start db 240

say "kill -9 of the leader"
wait_until 30 "a leader" eval '[[ -n $(leader) ]]'
old=$(leader)
pid=$(operator_pid "${old%%_*}")
kill -KILL "$pid"
began=$(date +%s%3N)
wait_until 15 "another leader" another_leader
say "another one leads after $(($(date +%s%3N) - began)) ms"
the_new_leader_works after-kill

say "the leader stands still for 30 s"
wait_until 60 "two operators" two_operators
old=$(leader)
pod=${old%%_*} restarts=$(k -n "$OPERATOR_NS" get pod "${old%%_*}" -o 'jsonpath={.status.containerStatuses[0].restartCount}')
pid=$(operator_pid "$pod")
kill -STOP "$pid"
wait_until 15 "another leader" another_leader
the_new_leader_works after-stop
sleep 20
before=$(versions)
new=$(leader)
kill -CONT "$pid" 2> /dev/null || true # the kubelet may have lost patience with it
wait_until 30 "the end of the old leader" eval '[[ $(k -n "$OPERATOR_NS" get pod "$pod" -o "jsonpath={.status.containerStatuses[0].restartCount}") -gt $restarts ]]'
expect_match "its exit code" "$(last_end "$pod" exitCode)" '^(1|137)$'
sleep 2
expect_eq "the leader" "$(leader)" "$new"
expect_eq "resourceVersions" "$(versions)" "$before"

say "no operator for 20 s"
replicas=$(deployment .spec.replicas)
k -n "$OPERATOR_NS" scale deploy kube-mysql-operator --replicas=0 > /dev/null
wait_until 60 "no operator" eval '[[ -z $(k -n "$OPERATOR_NS" get pod -l app.kubernetes.io/component=operator -o name) ]]'
expect_eq "the lease's holder" "$(leader)" ""
primary=$(field myc db .status.currentPrimary)
before=$(sql "$primary" "SHOW GLOBAL STATUS LIKE 'Com_insert'" | cut -f2)
sleep 20
(($(sql "$primary" "SHOW GLOBAL STATUS LIKE 'Com_insert'" | cut -f2) > before)) || fail "nothing is written without an operator"
expect_eq "pods that are ready" "$(kn get pods -o json | jq '[.items[] | select(any(.status.conditions[]; .type == "Ready" and .status == "True"))] | length')" 3
k -n "$OPERATOR_NS" scale deploy kube-mysql-operator --replicas="$replicas" > /dev/null
wait_until 60 "two operators" two_operators
old=
wait_until 30 "a leader" another_leader
the_new_leader_works after-none

writer_stop db
writer_result db
expect_eq "the epoch: nobody failed over" "$(field myc db .status.epoch)" "$epoch"
