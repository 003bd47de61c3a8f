# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A cluster is deleted and made anew on its kept volumes with fewer members: whatever volume holds the newest data, every row is there. First the only member that is
# wanted has older data than the others, then it has none.
. e2e/stories/failover.inc

rows() { sql db-mysql-0 'SELECT COUNT(*) FROM shop.t'; }
has_rows() { [[ $(rows) == "$1" ]]; }
deleted() {
  local i
  kn delete myc db --wait=true > /dev/null
  if [[ -n ${frozen:-} ]]; then # it would be waited for as long as a stop may take
    wait_until 60 "the deletion of db-mysql-0" field_matches pod db-mysql-0 .metadata.deletionTimestamp .
    kill -KILL "$frozen"
    frozen=
  fi
  for i in 0 1 2; do wait_until 120 "the end of db-mysql-$i" gone pod "db-mysql-$i"; done
  wait_until 60 "the end of the StatefulSet" gone sts db-mysql
  wait_until 60 "the end of the accounts" gone secret db-mysql-accounts
}
made_anew() {
  cluster db mariadb
  wait_ready db 1 240
  expect_eq "primary" "$(primary db)" db-mysql-0
  wait_until 60 "the end of the other members" eval 'gone pod db-mysql-1 && gone pod db-mysql-2'
  expect_eq "kept volumes" "$(field myc db '.status.retainedVolumes[*]')" 'data-db-mysql-1 data-db-mysql-2'
}
three_members() {
  cluster db mariadb '  replicas: 3
  storage: {resources: {requests: {storage: 1Gi}}}'
  wait_replicated db 3 240
}
primary_on_2() {
  kn annotate --overwrite myc db kubemysql.dev/switchover-to=2 > /dev/null
  wait_until 60 "db-mysql-2 as primary" primary_is db db-mysql-2
  wait_replicated db 3 60
}

three_members
wait_until 60 "acknowledgements" field_is myc db .status.semiSync true
sql db-mysql-0 'CREATE DATABASE shop; USE shop; CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t SELECT seq FROM seq_1_to_100'
primary_on_2

say "db-mysql-0 stands still while the others take rows, and then the cluster is deleted"
frozen=$(server_pid db-mysql-0)
kill -STOP "$frozen"
sql db-mysql-2 'INSERT INTO t SELECT seq FROM seq_101_to_200' shop
deleted

say "made anew with one member, whose volume lacks a hundred rows"
made_anew
has_rows 200 || fail "db-mysql-0 has $(rows) of 200 rows"

say "three members again, deleted, and the volume of db-mysql-0 is gone"
three_members
primary_on_2
sql db-mysql-2 'INSERT INTO t SELECT seq FROM seq_201_to_300' shop
deleted
kn delete pvc data-db-mysql-0 > /dev/null
made_anew
has_rows 300 || fail "db-mysql-0 has $(rows) of 300 rows"
