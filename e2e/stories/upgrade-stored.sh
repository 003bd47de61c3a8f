# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval
# long
# alone
# seconds 1500
# What an earlier version stored: 604752d makes a backup of a cluster of each family and archives its binary logs, MySQL's into a bucket, MariaDB's onto a volume. This version's operator
# takes over with the old agents, which cannot write to a volume any more: backup and archive wait there and say so. The agents follow, and the archive goes on. New clusters are made of
# the old backup and of all that was archived since, over both versions: not a row is missing.
. e2e/stories/backup.inc
. e2e/stories/failover.inc
. e2e/stories/upgrade-self.inc

now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
destination() { if [[ $1 == mysql ]]; then s3_destination; else echo 'persistentVolumeClaim: {claimName: backups}'; fi; }
method() { if [[ $1 == mysql ]]; then echo logical; else echo physical; fi; }

make_cluster() {
  cluster "$1" "$1" "  config: {name: $NS-$1}
  replicas: 2
  failover: {hungMilliseconds: 30000, silenceMilliseconds: 30000, writesBlockedMilliseconds: 30000, stalledMilliseconds: 30000}
  storage: {resources: {requests: {storage: 2Gi}}}
  backup:
    destination: {$(destination "$1")}
    encryption: {keySecret: {name: backup-key}}
    binlogs: {enabled: true, intervalSeconds: 3}"
}
ready() { wait_replicated "$1" 2 600; }
armed() { wait_until 60 "acknowledgements of $1" field_is myc "$1" .status.semiSync true; }
start_writer() { writer_start "$1" 1400 20000; }
archives() { wait_until 120 "an archive of $1" condition_is myc "$1" BinlogsArchived True; }
begin_backup() { # NAME CLUSTER
  kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlBackup
metadata: {name: $1-$2}
spec: {cluster: $2, method: $(method "$2"), destination: {$(destination "$2")}, encryption: {keySecret: {name: backup-key}}}
YAML
}
backup_ended() { wait_backup "$1-$2"; }
make_marks() { sql "$(primary "$1")" 'CREATE DATABASE marks; CREATE TABLE marks.t (id INT PRIMARY KEY)' > /dev/null; }
try_mark() { sql "$(primary "$2")" "REPLACE INTO marks.t VALUES ($1)" > /dev/null 2>&1; }
mark() { wait_until 60 "mark $1 in $2" try_mark "$1" "$2"; }
recoverable() { local until; until=$(field myc "$2" .status.backup.recoverableUntil); [[ -n $until && ! $until < $1 ]]; }
archived_until_now() {
  wait_until 180 "an archive of $1 until now" recoverable "$(now)" "$1"
  say "$1: recoverable from $(field myc "$1" '.status.backup.recoverableFrom} until {.status.backup.recoverableUntil'); $(condition_text myc "$1" BinlogsArchived)"
}

# from_old CLUSTER: a cluster of the backup that the old version made, and of everything that was archived after it
from_old() {
  cluster "again-$1" "$1" "  replicas: 1
  storage: {resources: {requests: {storage: 2Gi}}}
  restoreFrom: {backup: {name: old-$1}, pointInTime: latest}"
}
rows() { sql "$1" "SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT(id, filler))), 0), COALESCE(MAX(id), 0) FROM writer.t"; } # POD
holds_everything() {
  wait_ready "again-$1" 1 300
  expect_eq "phase of the restore of $1" "$(field myc "again-$1" .status.restore.phase)" Completed
  expect_eq "marks of again-$1" "$(sql "again-$1-mysql-0" 'SELECT GROUP_CONCAT(id ORDER BY id) FROM marks.t')" 1,2,3
  expect_eq "rows of again-$1" "$(rows "again-$1-mysql-0")" "$(rows "$(primary "$1")")"
  say "again-$1: $(condition_text myc "again-$1" Restored)"
}

say "$old_tag with its agents: a backup, and an archive"
e2e/cluster/load-image.sh "$old"/kube-mysql-{operator,agent}-"$old_tag".oci.tar
operator_of "$old_tag"
agents_of "$old_tag"
s3_server
kn apply -f - > /dev/null << 'YAML'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: backups}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 2Gi}}}
YAML
each make_cluster
each ready
each armed
each make_marks
each start_writer
each archives
each begin_backup old
each backup_ended old
each mark 1
each archived_until_now

say "this version's operator is installed over it; the agents stay"
operator_of dev
wait_until 60 "the word that the archive on the volume waits" condition_says myc mariadb BinlogsArchived '^AgentOutdated: '
say "mariadb: $(condition_text myc mariadb BinlogsArchived)"
begin_backup between mariadb
wait_until 60 "the word that a backup onto the volume waits" condition_says myb between-mariadb Accepted '^AgentOutdated: '
say "between-mariadb: $(condition_text myb between-mariadb Accepted)"
each mark 2
[[ " ${families[*]} " != *" mysql "* ]] || archived_until_now mysql
expect_eq "phase of the backup that waits" "$(field myb between-mariadb .status.phase)" Pending

say "the agents follow"
agents_of dev
for family in "${families[@]}"; do
  wait_until 600 "new agents in $family" eval "[[ \$(member_agents $family) == 'dev dev' && \$(field myc $family .status.updatedReplicas) == 2 ]]"
done
each ready
each archives
backup_ended between mariadb
each mark 3
for family in "${families[@]}"; do
  writer_stop "$family"
  writer_result "$family"
done
each archived_until_now

say "new clusters of what the old version stored, and of what came after it"
each from_old
each holds_everything
