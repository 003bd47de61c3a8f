# Restore in place: a cluster of two gets the data of its backup, and then of a moment after it, though the operator is killed in its middle. A damaged piece, and a wish that cannot be meant, leave
# the data that is there. The old data goes when all follow; the archive begins anew.
# long
# shellcheck shell=bash
. e2e/stories/backup.inc

operators() { k -n "$OPERATOR_NS" get pod -l app.kubernetes.io/component=operator "$@"; }
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
wish() { kn annotate myc db "kubemysql.dev/restore-in-place=$1" --overwrite > /dev/null; }
phase_is() { field_is myc db .status.restoreInPlace.phase "$1"; }
in_place_says() { condition_says myc db RestoredInPlace "$1"; }
orders() { sql "$1" 'SELECT GROUP_CONCAT(id ORDER BY id) FROM shop.orders'; } # POD
insert() { sql "$(primary db)" "INSERT INTO shop.orders VALUES ($1)" > /dev/null; }
recoverable_until() { local until; until=$(field myc db .status.backup.recoverableUntil); [[ -n $until && ! $until < $1 ]]; }
volume_of() { kn exec "$1" -c mysql -- ls /var/lib/mysql; } # POD
is_tidy() { ! volume_of "$1" | grep -q 'data\.'; }
# holds ORDERS: all members have these rows, and only these
holds() {
  wait_replicated db 2 300
  for pod in db-mysql-0 db-mysql-1; do expect_eq "rows of $pod" "$(orders "$pod")" "$1" || return 1; done
}

s3_server
cluster db mariadb "  replicas: 2
  storage: {resources: {requests: {storage: 2Gi}}}
  backup:
    destination: {$(s3_destination)}
    encryption: {keySecret: {name: backup-key}}
    binlogs: {enabled: true, intervalSeconds: 3}"
wait_replicated db 2 300
uid=$(field myc db .metadata.uid)
sql "$(primary db)" 'CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY); INSERT INTO shop.orders VALUES (1)' > /dev/null
backup base "$(s3_destination)" physical '  encryption: {keySecret: {name: backup-key}}'
wait_backup base
insert 2
sleep 2
moment=$(now)
sleep 2
insert 3
wait_until 90 "an archive up to there" recoverable_until "$(now)"

say "what cannot be meant is said while the cluster serves"
wish base@noon
wait_until 30 "the refusal" in_place_says '^InvalidWish'
wish nothing
wait_until 60 "the refusal" in_place_says '^BackupMissing'
holds 1,2,3

say "the data of the backup, the operator killed in its middle"
wish base
wait_until 60 "the restore" phase_is Restoring
expect_eq "addresses of the route" "$(field endpointslice db-mysql-primary '.endpoints[*].addresses[0]')" "" || return 1
operators -o name | xargs timeout 60 kubectl -n "$OPERATOR_NS" delete --grace-period=0 --force > /dev/null 2>&1
wait_until 400 "its end" phase_is Completed
say "$(condition_text myc db RestoredInPlace)"
holds 1
member=$(field myc db .status.restoreInPlace.member)
wait_until 60 "an end of the old data" is_tidy "$member"
insert 4
holds 1,4
wait_until 60 "acknowledgements" field_is myc db .status.semiSync true

say "a moment after the backup, from the archive of its own time"
wish "base@$moment"
wait_until 60 "the restore" phase_is Restoring
wait_until 400 "its end" phase_is Completed
expect_match "its binary logs" "$(field myc db .status.restoreInPlace.source.binlogsFolder)" "$uid\$" || return 1
expect_eq "number of the wish that the data is of" "$(field myc db .status.restoreInPlace.taken)" 3 || return 1
holds 1,2

say "another backup, after it, makes the new history recoverable"
backup second "$(s3_destination)" physical '  encryption: {keySecret: {name: backup-key}}'
wait_backup second
expect_eq "its history" "$(field myb second .status.history)" "$uid-r3" || return 1
wait_until 90 "an archive that goes on from it" recoverable_until "$(now)"

say "with a key that is another: the old data serves"
kn patch secret backup-key --type=merge -p "{\"stringData\":{\"key\":\"$(openssl rand -hex 32)\"}}" > /dev/null
wish base@latest
wait_until 200 "the failure" in_place_says '^KeyInvalid'
say "$(condition_text myc db RestoredInPlace)"
holds 1,2
insert 5
holds 1,2,5
