# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# long
# alone
# The operator dies while members are cloned, in the midst of a switchover and while the primary leaves: the same end, under a writer.
. e2e/replication-lib.sh
operators_killed() {
  k -n "$OPERATOR_NS" get pod -l app.kubernetes.io/component=operator -o name |
    xargs timeout 60 kubectl -n "$OPERATOR_NS" delete --grace-period=0 --force --wait=false > /dev/null 2>&1
}
cluster db mariadb '  replicas: 1
  storage: {resources: {requests: {storage: 2Gi}}}'
wait_ready db 1 180
sql db-mysql-0 'CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, filler LONGBLOB); USE shop;
  INSERT INTO shop.t SELECT seq, REPEAT(CHAR(65 + seq % 26), 500000) FROM seq_1_to_200'
writer_start db 300 1000

say "while members are cloned"
scale db 3
wait_until 60 "a copy on its way" field_matches myc db '.status.instances[*].seed.step' 'Copying'
operators_killed
wait_replicated db 3 180
wait_until 20 "all rows" row_everywhere db 'SELECT COUNT(*) FROM shop.t' 200

say "right after a switchover was asked for, at different moments"
for i in 1 2 3 4; do
  target=$((i % 3))
  kn annotate --overwrite myc db "kubemysql.dev/switchover-to=$target" > /dev/null
  sleep "0.$((i - 1))"
  operators_killed
  wait_until 60 "db-mysql-$target as primary" primary_is db "db-mysql-$target"
  wait_replicated db 3 60
  one_writable db || fail "not exactly one member takes writes"
done
expect_eq "primary" "$(primary db)" db-mysql-1

say "while members leave, the primary among them"
kn annotate myc db kubemysql.dev/switchover-to- > /dev/null
scale db 1
sleep 0.3
operators_killed
wait_until 60 "db-mysql-0 as primary" primary_is db db-mysql-0
operators_killed
wait_until 120 "one member" cluster_ready db 1
wait_until 60 "the others are gone" eval 'gone pod db-mysql-1 && gone pod db-mysql-2'
writer_stop db
writer_result db
expect_eq "rows" "$(sql db-mysql-0 'SELECT COUNT(*) FROM shop.t')" 200
expect_eq "kept volumes" "$(field myc db '.status.retainedVolumes[*]')" 'data-db-mysql-1 data-db-mysql-2'

say "and out again"
scale db 2
wait_replicated db 2 180
wait_until 20 "the same data everywhere" data_equal db
