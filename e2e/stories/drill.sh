# Restore drills: the newest backup and what was archived after it become a scratch cluster by schedule, its tables are checked, and nothing of it is left, though the operator is killed in its
# middle. A backup that cannot be restored is told. A cluster that is deleted takes a drill that is under way along.
# alone
# long
# shellcheck shell=bash
. e2e/stories/backup.inc

operators() { k -n "$OPERATOR_NS" get pod -l app.kubernetes.io/component=operator "$@"; }
scratch() { field myc db .status.backup.drill.cluster; }
is_made() { [[ -n $(scratch) ]] && exists myc "$(scratch)"; }
# nothing_is_left NAME: of the scratch cluster of that name
nothing_is_left() { [[ -z $(kn get myc,sts,pvc,pod,secret -o name | grep -- "$1") ]]; }
no_clusters() { [[ -z $(kn get myc -o name) ]]; }
orders() { sql "$1" 'SELECT GROUP_CONCAT(id ORDER BY id) FROM shop.orders'; } # POD
set_schedule() { kn patch myc db --type=merge -p "{\"spec\":{\"backup\":{\"drill\":{\"schedule\":\"$1\"}}}}" > /dev/null; }

s3_server
cluster db mariadb "  replicas: 1
  storage: {resources: {requests: {storage: 1Gi}}}
  backup:
    destination: {$(s3_destination)}
    encryption: {keySecret: {name: backup-key}}
    binlogs: {enabled: true, intervalSeconds: 3}
    drill: {schedule: '0 0 1 1 *', deadlineSeconds: 240}"
wait_ready db 1 120
wait_until 30 "the word that there is no backup" condition_says myc db RestoreVerified '^NoBackup'
sql db-mysql-0 'CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY); INSERT INTO shop.orders VALUES (1)' > /dev/null
backup base "$(s3_destination)" physical '  encryption: {keySecret: {name: backup-key}}'
wait_backup base
sql db-mysql-0 'INSERT INTO shop.orders VALUES (2)' > /dev/null
wait_until 90 "an archive that goes on from it" field_matches myc db .status.backup.recoverableFrom .

say "by schedule, with archived binary logs, the operator killed in its middle"
set_schedule '* * * * *'
wait_until 90 "a scratch cluster" is_made
name=$(scratch)
expect_eq "its backups" "$(field myc "$name" .spec.backup)" "" || return 1
expect_eq "its point" "$(field myc "$name" .spec.restoreFrom.pointInTime)" latest || return 1
operators -o name | xargs timeout 60 kubectl -n "$OPERATOR_NS" delete --grace-period=0 --force > /dev/null 2>&1
wait_until 200 "a verified restore" condition_is myc db RestoreVerified True
say "$(condition_text myc db RestoreVerified)"
expect_match "what it says" "$(condition_text myc db RestoreVerified)" 'base was restored with archived binary logs' || return 1
expect_eq "status.verified of the backup" "$(field myb base .status.verified.result)" Passed || return 1
expect_match "when" "$(field myc db .status.backup.lastVerifiedRestore)" '^20' || return 1
wait_until 90 "its end" nothing_is_left "$name"
expect_eq "rows of the cluster" "$(orders db-mysql-0)" 1,2 || return 1

say "with a key that is another"
kn patch myc db --type=merge -p '{"spec":{"backup":{"binlogs":{"enabled":false}}}}' > /dev/null
kn patch secret backup-key --type=merge -p "{\"stringData\":{\"key\":\"$(openssl rand -hex 32)\"}}" > /dev/null
wait_until 200 "the failure" condition_is myc db RestoreVerified False
say "$(condition_text myc db RestoreVerified)"
expect_match "the reason" "$(condition_text myc db RestoreVerified)" '^KeyInvalid' || return 1
expect_eq "status.verified of the backup" "$(field myb base .status.verified.result)" Failed || return 1

say "the cluster goes with a drill under way"
wait_until 120 "another one" is_made
kn delete myc db --wait=false > /dev/null
wait_until 90 "the end of both" no_clusters
