# Restore drills: the newest backup and what was archived after it become a scratch cluster by schedule, its tables are checked, and nothing of it is left; also when the operator is killed in its
# middle. A backup that cannot be restored is told, and forgotten once one can.
# shellcheck shell=bash
# alone
# long
. e2e/stories/backup.inc

operators() { k -n "$OPERATOR_NS" get pod -l app.kubernetes.io/component=operator "$@"; }
scratch() { field myc db .status.backup.drill.cluster; }
is_made() { [[ -n $(scratch) ]] && exists myc "$(scratch)"; }
# nothing_is_left NAME: of the scratch cluster of that name
nothing_is_left() { [[ -z $(kn get myc,sts,pvc,pod,secret -o name | grep -- "$1") ]]; }
verified_after() { local at; at=$(field myc db .status.backup.lastVerifiedRestore); [[ -n $at && $at > $1 ]]; } # TIME
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
set_drill() { kn patch myc db --type=merge -p "{\"spec\":{\"backup\":{\"drill\":$1}}}" > /dev/null; } # JSON

s3_server
cluster db mariadb "  replicas: 1
  storage: {resources: {requests: {storage: 1Gi}}}
  backup:
    destination: {$(s3_destination)}
    encryption: {keySecret: {name: backup-key}}
    binlogs: {enabled: true, intervalSeconds: 3}
    drill: {schedule: '* * * * *', deadlineSeconds: 300}"
wait_ready db 1 120
wait_until 30 "the word that there is no backup" condition_says myc db RestoreVerified '^NoBackup'
sql db-mysql-0 'CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY); INSERT INTO shop.orders VALUES (1)' > /dev/null
backup base "$(s3_destination)" physical '  encryption: {keySecret: {name: backup-key}}'
wait_backup base
sql db-mysql-0 'INSERT INTO shop.orders VALUES (2)' > /dev/null

say "a drill by schedule"
wait_until 120 "a scratch cluster" is_made
name=$(scratch)
expect_eq "backups of the scratch cluster" "$(field myc "$name" .spec.backup)" "" || return 1
wait_until 240 "a verified restore" condition_is myc db RestoreVerified True
say "$(condition_text myc db RestoreVerified)"
expect_eq "status.verified of the backup" "$(field myb base .status.verified.result)" Passed || return 1
expect_match "its tables" "$(field myc db .status.backup.drill.verifiedTables)" '^[1-9]' || return 1
wait_until 90 "its end" nothing_is_left "$name"

say "with archived binary logs, the operator killed in its middle"
wait_until 120 "one that replays" field_is myc db .status.backup.drill.replaysBinlogs true
before=$(now)
operators -o name | xargs timeout 60 kubectl -n "$OPERATOR_NS" delete --grace-period=0 --force > /dev/null 2>&1
wait_until 300 "a verified restore" verified_after "$before"
say "$(condition_text myc db RestoreVerified)"
expect_match "what it says" "$(condition_text myc db RestoreVerified)" 'with archived binary logs' || return 1

say "a backup whose key is gone"
kn patch myc db --type=merge -p '{"spec":{"backup":{"binlogs":{"enabled":false}}}}' > /dev/null
key=$(field secret backup-key .data.key)
kn patch secret backup-key --type=merge -p "{\"stringData\":{\"key\":\"$(openssl rand -hex 32)\"}}" > /dev/null
wait_until 300 "the failure" condition_is myc db RestoreVerified False
say "$(condition_text myc db RestoreVerified)"
expect_match "the reason" "$(condition_text myc db RestoreVerified)" '^KeyInvalid' || return 1
expect_eq "status.verified of the backup" "$(field myb base .status.verified.result)" Failed || return 1
kn patch secret backup-key --type=merge -p "{\"data\":{\"key\":\"$key\"}}" > /dev/null
wait_until 300 "a verified restore" condition_is myc db RestoreVerified True

say "switched off in its middle"
wait_until 120 "another one" is_made
name=$(scratch)
set_drill null
wait_until 90 "nothing of it" nothing_is_left "$name"
expect_eq "rows of the cluster" "$(sql db-mysql-0 'SELECT GROUP_CONCAT(id ORDER BY id) FROM shop.orders')" 1,2 || return 1

say "the cluster goes with a drill under way"
set_drill '{"schedule": "* * * * *"}'
wait_until 120 "another one" is_made
kn delete myc db --wait=false > /dev/null
no_clusters() { [[ -z $(kn get myc -o name) ]]; }
wait_until 90 "the end of both" no_clusters
