# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A my.cnf change is taken up while the servers run; what needs a restart rolls one pod at a time, each ready before the next, the primary last, and
# so does an image; what the server rejects never reaches a member.
# core
. e2e/replication-lib.sh
cluster db mariadb '  replicas: 2
  storage: {resources: {requests: {storage: 1Gi}}}'
wait_replicated db 2
expect_eq "primary" "$(primary db)" db-mysql-0
sql db-mysql-0 'CREATE DATABASE keep; CREATE TABLE keep.t (id INT PRIMARY KEY); INSERT INTO keep.t VALUES (42)'
uids() { echo "$(field pod db-mysql-0 .metadata.uid) $(field pod db-mysql-1 .metadata.uid)"; }
lives() { uids; kn get pods db-mysql-0 db-mysql-1 -o 'jsonpath={.items[*].status.containerStatuses[*].restartCount}'; }

say "a variable that the servers can change: no pod is touched"
before=$(lives)
kn patch myc db --type=merge -p '{"spec":{"mycnf":{"max_connections":99}}}' > /dev/null
wait_until 90 "both servers have it" row_everywhere db 'SELECT @@max_connections' 99
wait_until 30 "both members count as updated" field_is myc db .status.updatedReplicas 2
wait_replicated db 2 30
expect_eq "pods and containers" "$(lives)" "$before"
expect_eq "primary" "$(primary db)" db-mysql-0

say "a variable that needs a restart rolls, in order, and an Event names it"
read -r old0 old1 <<< "$(uids)"
kn patch myc db --type=merge -p '{"spec":{"mycnf":{"back_log":77}}}' > /dev/null
order=''
for _ in $(seq 600); do
  read -r now0 now1 <<< "$(uids 2> /dev/null)"
  [[ $order != *1* && -n $now1 && $now1 != "$old1" ]] && order+=1
  [[ $order != *0* && -n $now0 && $now0 != "$old0" ]] && order+=0
  [[ $order == ?? ]] && break
  sleep 0.3
done
expect_eq "order of replacement" "$order" 10
wait_until 20 "an Event that names the variable" eval '[[ $(kn get events -o jsonpath="{.items[?(@.reason==\"PodReplaced\")].message}") == *"my.cnf changes back_log, which needs a restart"* ]]'
wait_replicated db 2
row_everywhere db 'SELECT CONCAT(@@back_log, " ", @@max_connections)' '77 99' || fail "a member has other values"
wait_until 20 "data is kept" row_everywhere db 'SELECT id FROM keep.t' 42
expect_eq "updated members" "$(field myc db .status.updatedReplicas)" 2

say "a key that the server rejects: named, running members untouched, undo heals"
before=$(uids)
kn patch myc db --type=merge -p '{"spec":{"mycnf":{"no_such_option":1}}}' > /dev/null
wait_until 90 "condition names the key" condition_says myc db Accepted 'MycnfRejected: .*no[_-]such[_-]option'
expect_match "nextAction says what is blocked" "$(field myc db .status.nextAction)" 'blocked'
expect_eq "members" "$(uids)" "$before"
condition_is myc db Available True
if field cm db-mysql-config '.data' | grep -q no_such; then fail "the rejected key reached the ConfigMap"; fi
expect_eq "updated members" "$(field myc db .status.updatedReplicas)" 0
kn patch myc db --type=json -p '[{"op":"remove","path":"/spec/mycnf/no_such_option"}]' > /dev/null
wait_until 60 "accepted again" condition_is myc db Accepted True
wait_until 60 "check pod is gone" gone pod db-mysql-check
expect_eq "members after undo" "$(uids)" "$before"

say "a key that the operator must own: refused with its path"
for key in datadir server_id read_only; do
  kn patch myc db --type=merge -p "{\"spec\":{\"mycnf\":{\"$key\":\"1\"}}}" > /dev/null 2> "$E2E_WORK/$NS.err" ||
    { grep -q "$key" "$E2E_WORK/$NS.err" && continue; }
  wait_until 30 "condition names spec.mycnf.$key" condition_says myc db Accepted "spec.mycnf.$key"
  kn patch myc db --type=json -p "[{\"op\":\"remove\",\"path\":\"/spec/mycnf/$key\"}]" > /dev/null
done
wait_until 30 "accepted again" condition_is myc db Accepted True

say "an image that cannot be pulled: named, running members untouched, undo heals"
kn patch myc db --type=merge -p '{"spec":{"config":{"spec":{"images":{"mysql":"registry.local/nothing:1"}}}}}' > /dev/null
wait_until 120 "condition says so" condition_says myc db Accepted 'ImagePullFailed: .*spec.images'
expect_eq "members" "$(uids)" "$before"
expect_eq "rows" "$(sql db-mysql-0 'SELECT id FROM keep.t')" 42
kn patch myc db --type=json -p '[{"op":"remove","path":"/spec/config/spec"}]' > /dev/null
wait_until 60 "accepted again" condition_is myc db Accepted True
expect_eq "members after undo" "$(uids)" "$before"
