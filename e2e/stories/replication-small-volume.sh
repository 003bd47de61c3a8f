# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# MariaDB: a volume too small for a copy of the data: said with both numbers before the first byte; a larger volume heals it.
. e2e/replication-lib.sh
exists storageclass small-fs || skip "this cluster has no storage class small-fs (volumes with a size of their own)"
cluster db mariadb '  replicas: 1
  mycnf: {innodb_log_file_size: 16777216}
  storage: {storageClassName: small-fs, resources: {requests: {storage: 600Mi}}}'
wait_ready db 1
# Not in the binary log, which would need as much again; and the last third slowly: a volume that has filled fast within a minute is closed for writes earlier
# (agent/volume_room.h).
{
  echo 'CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, filler LONGBLOB); USE shop; SET sql_log_bin = 0;'
  for ((row = 1; row < 500; row += 100)); do
    echo "INSERT INTO t SELECT seq, REPEAT(CHAR(65 + seq % 26), 500000) FROM seq_${row}_to_$((row + 99));"
  done
  echo 'DO SLEEP(62);'
  for ((row = 501; row < 750; row += 5)); do
    echo "INSERT INTO t SELECT seq, REPEAT(CHAR(65 + seq % 26), 500000) FROM seq_${row}_to_$((row + 4)); DO SLEEP(0.8);"
  done
} > "$E2E_WORK/$NS.sql"
timeout 150 kubectl -n "$NS" exec -i db-mysql-0 -c mysql -- mariadb < "$E2E_WORK/$NS.sql"
condition_is myc db Healthy True || fail "the donor's volume is full: $(condition_text myc db Healthy)"

say "too small: said, with both numbers, and nothing begun"
scale db 2
wait_until 60 "the problem" field_is myc db '.status.instances[?(@.name=="db-mysql-1")].problem' SeedFailed
message=$(field myc db '.status.instances[?(@.name=="db-mysql-1")].message')
expect_match "message" "$message" 'the data volume is too small: the copy needs [0-9]+ MiB .*, [0-9]+ MiB are free'
wait_until 10 "the condition" condition_says myc db Healthy 'SeedFailed: .*db-mysql-1.*too small'
expect_match "nextAction" "$(field myc db .status.nextAction)" 'db-mysql-1.*too small'
expect_eq "bytes that were taken" "$(field myc db '.status.instances[?(@.name=="db-mysql-1")].seed.percent')" ''
holds_for 10 "it does not look well between attempts" condition_says myc db Healthy 'SeedFailed: .*db-mysql-1.*too small'
condition_is myc db Available True || fail "the primary does not serve"

say "a larger volume heals it"
kn patch myc db --type=merge -p '{"spec":{"storage":{"resources":{"requests":{"storage":"900Mi"}}}}}' > /dev/null
wait_replicated db 2 180
wait_until 20 "all rows" row_everywhere db 'SELECT COUNT(*) FROM shop.t' 750
