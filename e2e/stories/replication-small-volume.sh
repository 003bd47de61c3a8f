# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# long
# MariaDB: a volume too small for a copy of the data: said with both numbers before the first byte; a larger volume heals it.
. e2e/replication-lib.sh
exists storageclass small-fs || skip "this cluster has no storage class small-fs (volumes with a size of their own)"
cluster db mariadb '  replicas: 1
  mycnf: {innodb_log_file_size: 16777216}
  storage: {storageClassName: small-fs, resources: {requests: {storage: 600Mi}}}'
wait_ready db 1
# Not in the binary log, which would need as much again. What is left then is too little for writes, but reads and copies go on (agent/volume_room.h).
sql db-mysql-0 'CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, filler LONGBLOB)'
# Who writes so fast that ten seconds of it would fill the volume loses the connection, and what counts is the fastest of the last minute: so ten rows at a
# time, then a minute of rest, then the last of them slowly.
rows() { printf 'INSERT INTO t SELECT seq, REPEAT(CHAR(65 + seq %% 26), 500000) FROM seq_%d_to_%d; DO SLEEP(%s);' "$1" $(($1 + 9)) "$2"; }
fill() { for ((row = $1; row < $2; row += 10)); do rows $row "$3"; done; }
for part in "$(fill 1 300 0.5)" "$(fill 301 600 0.5)" 'DO SLEEP(50)' 'DO SLEEP(15)' "$(fill 601 710 2.5)"; do
  sql db-mysql-0 "SET sql_log_bin = 0; $part" shop
done

say "too small: said, with both numbers, and nothing begun"
scale db 2
wait_until 60 "the problem" field_is myc db '.status.instances[?(@.name=="db-mysql-1")].problem' SeedFailed
message=$(field myc db '.status.instances[?(@.name=="db-mysql-1")].message')
expect_match "message" "$message" 'the data volume is too small: the copy needs [0-9]+ MiB .*, [0-9]+ MiB are free'
wait_until 10 "the condition" condition_says myc db Healthy '(SeedFailed|VolumeFull): '
expect_match "nextAction" "$(field myc db .status.nextAction)" 'too small|grow spec.storage.resources.requests.storage'
expect_eq "bytes that were taken" "$(field myc db '.status.instances[?(@.name=="db-mysql-1")].seed.percent')" ''
holds_for 10 "it does not look well between attempts" condition_is myc db Healthy False
condition_is myc db Available True || fail "the primary does not serve"

say "a larger volume heals it"
kn patch myc db --type=merge -p '{"spec":{"storage":{"resources":{"requests":{"storage":"900Mi"}}}}}' > /dev/null
wait_replicated db 2 180
wait_until 20 "all rows" row_everywhere db 'SELECT COUNT(*) FROM shop.t' 710
