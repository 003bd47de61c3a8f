# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# long
# MariaDB: what goes wrong between a primary and its replicas: passwords, errant transactions, rows that differ, nobody left to acknowledge.
# Each is named, nothing is skipped or thrown away, and what can heal does.
. e2e/replication-lib.sh
problem_is() { field_is myc db ".status.instances[?(@.name==\"$1\")].problem" "$2"; }
message_of() { field myc db ".status.instances[?(@.name==\"$1\")].message"; }
event_says() { kn get events -o 'jsonpath={range .items[?(@.involvedObject.name=="db")]}{.reason}{" "}{.message}{"\n"}{end}' | grep -qE "$1"; }
behind_replicas() {
  kn get endpointslices -l kubernetes.io/service-name=db-mysql-replicas -o 'jsonpath={.items[*].endpoints[?(@.conditions.ready==true)].targetRef.name}'
}
replication_password() { printf '{"data":{"replication":"%s"}}' "$(printf %s "$1" | base64)"; }
# by_hand POD SQL: what somebody does on a replica: root may write in its pod, read-only or not
by_hand() { sql "$@"; }

# An errant member would be set aside and copied anew else.
cluster db mariadb '  replicas: 3
  failover: {reseed: false}
  storage: {resources: {requests: {storage: 1Gi}}}'
wait_replicated db 3 240
sql db-mysql-0 'CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, v INT); INSERT INTO shop.t VALUES (1, 1), (2, 2)'
wait_until 20 "rows on all members" row_everywhere db 'SELECT SUM(v) FROM shop.t' 3

say "another replication password in the Secret: applied everywhere, no commit waits for it"
writer_start db 120 1000
kn patch secret db-mysql-accounts --type merge -p "$(replication_password 'second one')" > /dev/null
uses_password() { # PASSWORD: replicas are configured with it
  local i
  for i in 1 2; do [[ $(kn exec "db-mysql-$i" -c mysql -- sed -n 6p /var/lib/mysql/data/master.info) == "$1" ]] || return 1; done
}
wait_until 150 "replicas enter with it" uses_password 'second one'
wait_replicated db 3 30
writer_stop db
gap=$(writer_end db | jq .maxGapMs)
((gap < 4000)) || fail "a changed password kept commits waiting for $gap ms"
writer_result db

say "the account's password is changed on the primary by hand: named, set right again"
refused() { problem_is db-mysql-1 ReplicationRefused || event_says 'ReplicationRefused .*Access denied for user'; }
for _ in 1 2 3 4 5; do # set right within ten seconds: now and then before anybody is refused
  sql db-mysql-0 "ALTER USER replication@'%' IDENTIFIED BY 'stolen'; KILL USER replication"
  wait_until 10 "the refusal" refused > /dev/null && break
done
wait_until 10 "its event" event_says 'ReplicationRefused .*Access denied for user'
wait_replicated db 3 60

say "a request for a member that is not there"
kn annotate --overwrite myc db kubemysql.dev/switchover-to=nobody > /dev/null
wait_until 20 "nextAction names it" field_matches myc db .status.nextAction 'switchover-to: there is no member "nobody"'
expect_eq "primary" "$(primary db)" db-mysql-0

say "a row that is missing on a replica: stopped with the server's words, never skipped"
by_hand db-mysql-1 'SET sql_log_bin = 0; DELETE FROM shop.t WHERE id = 2'
sql db-mysql-0 'UPDATE shop.t SET v = 20 WHERE id = 2'
wait_until 20 "the problem" problem_is db-mysql-1 ReplicationStopped
expect_match "the server's words" "$(message_of db-mysql-1)" "Can't find record in 't'"
wait_until 10 "the condition" condition_says myc db Replicated "ReplicaNotFollowing: 1 of 2 replicas follow; db-mysql-1: .*Can't find record"
wait_until 10 "the event" event_says "ReplicationStopped .*db-mysql-1: .*Can't find record"
wait_until 20 "only the other one behind -replicas" eval '[[ $(behind_replicas) == db-mysql-2 ]]'
sql db-mysql-0 'INSERT INTO shop.t VALUES (3, 3)'
holds_for 15 "it stays stopped" problem_is db-mysql-1 ReplicationStopped
expect_eq "what comes after is not applied" "$(sql db-mysql-1 'SELECT COUNT(*) FROM shop.t')" 1
by_hand db-mysql-1 'SET sql_log_bin = 0; INSERT INTO shop.t VALUES (2, 2)'
sql db-mysql-1 'START SLAVE SQL_THREAD'
wait_replicated db 3 30
expect_eq "rows after the repair" "$(sql db-mysql-1 'SELECT GROUP_CONCAT(id, "=", v ORDER BY id) FROM shop.t')" '1=1,2=20,3=3'

say "nobody acknowledges: commits wait, it is said for whom, and they go on"
kn apply -f - > /dev/null << YAML
apiVersion: v1
kind: ResourceQuota
metadata: {name: no-more-pods}
spec: {hard: {pods: "1"}}
YAML
wait_until 20 "the quota" field_is quota no-more-pods .status.hard.pods 1
rows() { sql db-mysql-0 'SELECT COUNT(*) FROM writer.t'; }
before=$(rows)
writer_start db 120 1000
wait_until 20 "the writer writes" eval '(($(rows) > before + 100))'
kn delete pod db-mysql-1 db-mysql-2 > /dev/null
wait_until 20 "the condition" condition_says myc db WritesBlocked 'AcknowledgementsMissing: .*wait for 1 acknowledgement, 0 replicas give them; awaited: .*db-mysql-1.*db-mysql-2'
wait_until 10 "the event" event_says 'AcknowledgementsMissing WritesBlocked: '
before=$(rows)
sleep 3
expect_eq "rows that readers see meanwhile" "$(rows)" "$before"
expect_eq "primary" "$(primary db)" db-mysql-0
kn delete quota no-more-pods > /dev/null
kn annotate sts db-mysql e2e/look=again > /dev/null # Kubernetes' own back-off would take its time
wait_replicated db 3 90
wait_until 10 "the condition is gone" eval '[[ -z $(condition myc db WritesBlocked) ]]'
writer_stop db
gap=$(writer_end db | jq .maxGapMs)
((gap > 3000)) || fail "commits did not wait: $gap ms at most"
writer_result db

say "a transaction of a replica's own: named, out of the Service, no successor, and not thrown away"
uid=$(field pod db-mysql-2 .metadata.uid)
by_hand db-mysql-2 'CREATE DATABASE errant'
sql db-mysql-0 'INSERT INTO shop.t VALUES (4, 4)'
wait_until 30 "the problem" problem_is db-mysql-2 ErrantTransactions
wait_until 10 "its number" field_matches myc db '.status.instances[?(@.name=="db-mysql-2")].errantTransactions' '^0-[0-9]+-[0-9]+$'
wait_until 10 "the condition" condition_says myc db Replicated 'db-mysql-2: it holds transactions that the primary has not'
wait_until 20 "only the other one behind -replicas" eval '[[ $(behind_replicas) == db-mysql-1 ]]'
kn annotate --overwrite myc db kubemysql.dev/switchover-to=2 > /dev/null
wait_until 20 "nextAction says why not" field_matches myc db .status.nextAction 'Requested.*blocked: db-mysql-2: it holds transactions that the primary has not'
kn annotate myc db kubemysql.dev/switchover-to- > /dev/null
kn delete pod db-mysql-2 > /dev/null
wait_until 60 "another pod" eval '[[ $(field pod db-mysql-2 .metadata.uid) != "$uid" ]]'
wait_until 60 "named again by the next pod" problem_is db-mysql-2 ErrantTransactions
expect_eq "the database that it alone has" "$(sql db-mysql-2 "SHOW DATABASES LIKE 'errant'")" errant
expect_match "its number" "$(field myc db '.status.instances[?(@.name=="db-mysql-2")].errantTransactions')" '^0-[0-9]+-[0-9]+$'
expect_eq "primary" "$(primary db)" db-mysql-0
say "its claim is deleted by a person: it is seeded anew"
kn delete pvc data-db-mysql-2 --wait=false > /dev/null
kn delete pod db-mysql-2 > /dev/null
wait_replicated db 3 120
expect_eq "errant database" "$(sql db-mysql-2 "SHOW DATABASES LIKE 'errant'")" ""
wait_until 20 "rows on all members" row_everywhere db 'SELECT GROUP_CONCAT(id, "=", v ORDER BY id) FROM shop.t' '1=1,2=20,3=3,4=4'
