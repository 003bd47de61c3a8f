# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# long
# MariaDB: two members crash or go at once, the primary among them; a member that was away for longer than the primary keeps its binary logs.
# The namespace, and with it every host's name, has "purged" in it: errors that quote names prove nothing.
. e2e/replication-lib.sh
event_says() { kn get events -o 'jsonpath={range .items[?(@.involvedObject.kind=="MysqlCluster")]}{.involvedObject.name}{" "}{.reason}{" "}{.message}{"\n"}{end}' | grep -qE "$1"; }
claims() { kn get pvc -o 'jsonpath={.items[*].metadata.uid}'; }
cluster db mariadb '  replicas: 3
  storage: {resources: {requests: {storage: 1Gi}}}'
wait_replicated db 3 240
pods=$(kn get pods -l kubemysql.dev/cluster=db -o 'jsonpath={.items[*].metadata.uid}')

# The third alone cannot prove that it has all that was acknowledged. With the end of the primary's binary logs, which its agent still serves, it has:
# so it takes over at once. When the primary's server is back first, that one goes on. Neither loses anything; the writer's rows tell.
say "the servers of the primary and of a replica crash at once: the primary, or the third with all that the primary had"
writer_start db 120 1000
sleep 2
crashes=()
for pod in db-mysql-0 db-mysql-1; do
  kn exec "$pod" -c mysql -- bash -c 'kill -SEGV 1' > /dev/null 2>&1 &
  crashes+=($!)
done
wait_until 30 "it is noticed" eval '! state_is db Healthy'
wait "${crashes[@]}" || true # the shells in these containers may have gone with them
wait_replicated db 3 120
case $(primary db) in
  db-mysql-0) ;;
  db-mysql-2)
    expect_eq "what may be lost" "$(field myc db .status.lastFailover.mayBeLost)" ""
    expect_match "what was taken over" "$(field myc db '.status.lastFailover.from} {.status.lastFailover.to} {.status.lastFailover.salvaged')" '^db-mysql-0 db-mysql-2 '
    ;;
  *) fail "the primary is $(primary db), whose server crashed and who was none" ;;
esac
one_writable db || fail "not exactly one member takes writes"
expect_eq "pods" "$(kn get pods -l kubemysql.dev/cluster=db -o 'jsonpath={.items[*].metadata.uid}')" "$pods"

say "the pods of the primary and of a replica are deleted at once: one primary"
uid=$(field pod db-mysql-2 .metadata.uid)
kn delete pod db-mysql-0 db-mysql-1 --grace-period=0 --force > /dev/null 2>&1
wait_until 30 "it is noticed" eval '! state_is db Healthy'
wait_replicated db 3 120
one_writable db || fail "not exactly one member takes writes"
expect_eq "the pod of the third" "$(field pod db-mysql-2 .metadata.uid)" "$uid"
writer_stop db
writer_result db
wait_until 20 "the same data everywhere" data_equal db

primary=$(primary db)
away=$(replicas_of db | tail -1)
say "$away is away, and the binary logs of $primary are purged beyond its position"
kn apply -f - > /dev/null << YAML
apiVersion: v1
kind: ResourceQuota
metadata: {name: two-pods}
spec: {hard: {pods: "2"}}
YAML
wait_until 20 "the quota" field_is quota two-pods .status.hard.pods 2
kn delete pod "$away" > /dev/null
sql "$primary" 'CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY); FLUSH BINARY LOGS; INSERT INTO shop.t VALUES (1); FLUSH BINARY LOGS'
log=$(sql "$primary" 'SHOW MASTER STATUS' | cut -f1)
wait_until 30 "purged logs" eval '[[ $(sql "$primary" "PURGE BINARY LOGS TO \"$log\"; SHOW BINARY LOGS" | wc -l) == 1 ]]'
before=$(claims)
say "back: named, marked, its pod replaced, seeded again, by itself"
kn delete quota two-pods > /dev/null
kn annotate sts db-mysql e2e/look=again > /dev/null # Kubernetes' own back-off would take its time
wait_until 60 "the problem" event_says "^db BinlogsPurged Healthy: .*$away: .*Could not find GTID state requested"
wait_until 60 "the replacement" event_says "^db PodReplaced .*the primary no longer has the binary logs"
wait_replicated db 3 120
expect_eq "claims" "$(claims)" "$before"
wait_until 20 "the row" row_everywhere db 'SELECT id FROM shop.t' 1
wait_until 20 "the same data everywhere" data_equal db
