# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# long
# seconds 900
# MySQL 5.6, which old applications still run on: one member, its account, a terminal, a backup by statements and a new
# cluster of it. More members are refused with the reason, and so is a backup by files.
. e2e/replication-lib.sh
. e2e/versions-lib.sh

instance_says() { field_matches myc "$1" ".status.instances[$2].message" "$3"; }
server_waits() { # CLUSTER   its first member's server was never started
  expect_eq "whether a server was started" \
    "$(field pod "$1-mysql-0" '.status.containerStatuses[?(@.name=="mysql")].state.waiting.reason')" PodInitializing
}
TOO_MANY='replicas: 2 is not possible with this server: mysql 5\.6\.[0-9]+ has no super_read_only'
TOO_MANY+=' and no lossless semi-sync'

server_image mysql-5.6
say "two members are refused, before there is a data folder"
version_cluster two "$image" 2
wait_until 120 "the reason" instance_says two 0 "$TOO_MANY"
server_waits two
condition_is myc two Ready False || fail "it is Ready"
kn patch myc two --type=merge -p '{"spec":{"replicas":1}}' > /dev/null
wait_ready two 1 180
kn delete myc two --wait=false > /dev/null

say "one member, its account, a terminal"
version_cluster db "$image" 1 '  terminal: {}'
wait_ready db 1 180
expect_match "the server" "$(server_versions db)" '^5\.6\.'
wait_until 60 "terminal is available" condition_is myt db Available True
expect_match "a query from the terminal" "$(kn exec db-terminal -- mysql -N -B -e 'SELECT @@version')" '^5\.6\.'
password=$(field secret db-mysql-accounts .data.user | base64 -d)
as_account() { # SQL
  kn exec db-terminal -- env MYSQL_PWD="$password" bash -c \
    'mysql --no-defaults -h "$MYSQL_HOST" -u writer -N -B writer -e "$0"' "$1"
}
as_account 'CREATE TABLE t (id INT PRIMARY KEY, filler VARCHAR(99)) ENGINE=InnoDB'
as_account 'INSERT INTO t VALUES (1, "one"), (2, "zwölf")'
expect_eq "rows of the account" "$(as_account 'SELECT COUNT(*) FROM t')" 2
if as_account 'CREATE DATABASE more' 2> /dev/null; then fail "the account may make databases"; fi

say "a second member is refused later, too, and the first one serves on"
uid=$(field pod db-mysql-0 .metadata.uid)
scale db 2
wait_until 120 "the reason" instance_says db 1 "$TOO_MANY"
expect_eq "rows meanwhile" "$(as_account 'SELECT COUNT(*) FROM t')" 2
scale db 1
wait_ready db 1 120
expect_eq "the first member's pod" "$(field pod db-mysql-0 .metadata.uid)" "$uid"

backup() { # NAME METHOD
  kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlBackup
metadata: {name: $1}
spec:
  cluster: db
  method: $2
  deadlineSeconds: 300
  destination: {persistentVolumeClaim: {claimName: backups, size: 1Gi}}
YAML
  wait_until 120 "the end of backup $1" field_matches myb "$1" .status.phase '^(Completed|Failed)$'
}
say "a backup by files fails at once and says why"
backup files physical
expect_match "the end" "$(condition_text myb files Failed)" \
  '^MethodImpossible: .*MySQL 5\.6\.[^ ]+ has no CLONE: only logical is possible'
expect_eq "attempts" "$(field myb files .status.attempt)" 1

say "a backup by statements, and a new cluster of it"
backup statements logical
expect_eq "phase ($(field myb statements .status.message))" "$(field myb statements .status.phase)" Completed
as_account 'INSERT INTO t VALUES (3, "later")'
version_cluster again "$image" 1 '  restoreFrom: {backup: {name: statements}}'
wait_ready again 1 180
rows='SELECT GROUP_CONCAT(id, HEX(filler) ORDER BY id) FROM writer.t'
expect_eq "its rows" "$(sql again-mysql-0 "$rows")" "$(as_account "$rows WHERE id < 3")"
sql again-mysql-0 'INSERT INTO writer.t VALUES (4, "new")'
