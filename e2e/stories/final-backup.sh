# A cluster that is deleted under a writer goes only when its last backup is stored, and a new one of its name has every row that was acknowledged, up to the
# deletion. One that cannot be backed up stays until it is told to go without.
# shellcheck shell=bash
. e2e/stories/backup.inc

# One manifest for the first time and for the return.
playground() {
  cluster db mariadb "  replicas: 2
  storage: {resources: {requests: {storage: 1Gi}}}
  backup: {destination: {$(s3_destination)}, encryption: {keySecret: {name: backup-key}}}
  deletion: {finalBackup: true, volumes: Delete}
  restoreFrom: {latest: true, orEmpty: true}"
  wait_replicated db 2 240
}
final_backup() { kn get myb -l kubemysql.dev/final-backup=true -o 'jsonpath={.items[*].metadata.name}'; }
is_closed() { gone myc db || field_matches myc db .status.finalBackup.closedTime .; }
no_claims() { [[ -z $(kn get pvc -l kubemysql.dev/cluster=db -o name) ]]; }
route_is_empty() { [[ -z $(kn get endpointslice db-mysql-primary -o 'jsonpath={.endpoints[*].addresses}') ]]; }
waits_for_secret() { field_matches myc db .status.nextAction 'there is no Secret backup-s3.*skip-final-backup=true'; }

s3_server
playground
expect_eq "phase of the first restore" "$(field myc db .status.restore.phase)" Empty || return 1

say "deleted under a writer"
SQL_WRITER_ONCE=1 writer_start db 300 2000
wait_until 30 "rows" eval '(($(sql "$(primary db)" "SELECT COUNT(*) FROM writer.t") > 200))'
kn delete myc db --wait=false > /dev/null
wait_until 60 "the closed primary" is_closed
route_is_empty || fail "the route is there though the primary is closed"
say "$(condition_text myc db FinalBackup || echo gone)"
line=$(writer_end db)
rows=$(jq .acknowledged <<< "$line")
say "writer: $line"
((rows > 200)) || fail "the writer wrote next to nothing"
wait_until 180 "its end" gone myc db
name=$(final_backup)
expect_match "the name of the last backup" "$name" '^db-final-[0-9]{14}$' || return 1
expect_eq "its phase" "$(field myb "$name" .status.phase)" Completed || return 1
expect_eq "its policy" "$(field myb "$name" .spec.deletionPolicy)" Retain || return 1
wait_until 90 "the end of the claims" no_claims
expect_eq "what is left of the backup" "$(field myb "$name" .status.phase)" Completed || return 1

say "made again under its name"
playground
expect_eq "phase of the restore" "$(field myc db .status.restore.phase)" Completed || return 1
expect_eq "rows up to the last one that was acknowledged" "$(sql "$(primary db)" "SELECT COUNT(*) FROM writer.t WHERE id <= $rows")" "$rows" || return 1
((($(sql "$(primary db)" 'SELECT MAX(id) FROM writer.t') - rows) <= 1)) || fail "there are rows that nobody wrote"
wait_until 60 "the same rows on both members" data_equal db

say "it stays as long as it cannot be backed up, and goes by a word"
kn delete secret backup-s3 > /dev/null
kn delete myc db --wait=false > /dev/null
wait_until 90 "the reason" waits_for_secret
holds_for 5 "it stays" exists myc db
say "$(field myc db .status.nextAction)"
kn annotate myc db kubemysql.dev/skip-final-backup=true > /dev/null
wait_until 60 "its end" gone myc db
