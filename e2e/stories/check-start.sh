# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# What the check passes must start, in both families: a value that a look at the options lets pass and a start refuses is named before any member is
# touched, also one that only the running server's SET refuses; what servers take up while they run is not started for, and stays as fast as it was.
# long
# seconds 900
. e2e/replication-lib.sh
lives() { kn get pods "$c-mysql-0" "$c-mysql-1" -o 'jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount} {end}'; }
since() { echo "$((($(date +%s%N) - $1) / 1000000)) ms"; }
# mycnf JSON: changes spec.mycnf; `begin` is when.
mycnf() {
  kn patch myc "$c" --type=merge -p "{\"spec\":{\"mycnf\":$1}}" > /dev/null
  begin=$(date +%s%N)
}
untouched() {
  sql "$(primary "$c")" 'INSERT INTO keep.t VALUES ()'
  expect_eq "members after $1" "$(lives)" "$before"
  condition_is myc "$c" Available True
}
takes_back() {
  mycnf "{\"$1\":null}"
  wait_until 60 "accepted again" condition_is myc "$c" Accepted True
  wait_until 60 "no check pod" gone pod "$c-mysql-check"
  wait_until 60 "in force" condition_is myc "$c" Ready True
  expect_eq "members" "$(lives)" "$before"
}
takes() { [[ $(sql "$c-mysql-0" "SELECT @@$1") == "$2" && $(sql "$c-mysql-1" "SELECT @@$1") == "$2" ]]; }

for c in mariadb mysql; do
  [[ $c == mariadb ]] || mysql_image_there || continue
  cluster "$c" "$c" '  replicas: 2
  storage: {resources: {requests: {storage: 1Gi}}}'
  wait_replicated "$c" 2
  sql "$c-mysql-0" 'CREATE DATABASE keep; CREATE TABLE keep.t (id INT AUTO_INCREMENT PRIMARY KEY)'
  before=$(lives)

  say "$c: what servers take up while they run"
  mycnf '{"max_connections":177}'
  wait_until 60 "taken up" takes max_connections 177
  say "$c: taken up after $(since "$begin")"
  untouched "a value that is taken up"

  say "$c: an option that does not exist"
  mycnf '{"max_conections":99}'
  wait_until 60 "the condition" condition_says myc "$c" Accepted 'MycnfRejected: .*max_conections'
  say "$c: refused after $(since "$begin")"
  untouched "a wrong option"
  takes_back max_conections

  say "$c: a value that only a start finds"
  mycnf '{"default_time_zone":"Nowhere/Land"}'
  wait_until 120 "the condition" condition_says myc "$c" Accepted 'MycnfRejected: spec.mycnf.default_time_zone: default_time_zone = Nowhere/Land: .*does not start: .*time zone'
  say "$c: refused after $(since "$begin"): $(condition_text myc "$c" Accepted)"
  untouched "a time zone that does not exist"
  expect_eq "the ConfigMap" "$(kn get configmap "$c-mysql-config" -o yaml | grep -c Nowhere || :)" 0
  takes_back default_time_zone

  say "$c: a value that the look lets pass, and the running server refuses"
  mycnf '{"default_storage_engine":"NOPE"}'
  wait_until 120 "the condition" condition_says myc "$c" Accepted 'MycnfRejected: spec.mycnf.default_storage_engine: default_storage_engine = NOPE: .*does not start'
  say "$c: refused after $(since "$begin"): $(condition_text myc "$c" Accepted)"
  untouched "a storage engine that does not exist"
  takes_back default_storage_engine

  say "$c: a variable that needs a restart, and a size that the check does not write"
  mycnf '{"back_log":333,"innodb_temp_data_file_path":"ibtmp1:300M:autoextend"}'
  wait_until 120 "the first member is replaced" eval '[[ $(lives) != "$before" ]]'
  say "$c: replaced after $(since "$begin")"
  wait_until 180 "in force on both" takes back_log 333
  wait_replicated "$c" 2 180
  wait_until 20 "an Event" eval '[[ $(kn get events -o jsonpath="{.items[?(@.reason==\"ServerTried\")].message}") == *"ibtmp1:256M:autoextend instead of"* ]]'
  wait_until 60 "no check pod" gone pod "$c-mysql-check"
  expect_eq "rows" "$(sql "$(primary "$c")" 'SELECT COUNT(*) FROM keep.t')" 4
  kn delete myc "$c" --wait=false > /dev/null
done
