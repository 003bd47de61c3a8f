# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# long
# MariaDB: a copy of the data on its way, and the donor's tool, the donor or the receiver dies in mid-stream. Nothing half is started, another donor is
# used, and all ends well without anybody's help.
. e2e/replication-lib.sh
seed_is() { field_matches myc db ".status.instances[?(@.name==\"$1\")].seed.step} {.status.instances[?(@.name==\"$1\")].seed.donor" "$2"; }
# hold_donor POD: stops the next backup tool of that member in mid-stream; held_by POD: it stands still; tool_kill POD
find_tool='for dir in /proc/[0-9]*; do
  if [[ $(tr "\0" " " < $dir/cmdline) == *maria*backup* && $(cat $dir/comm) == maria*backup* ]]; then pid=${dir#/proc/}; fi
done 2> /dev/null'
hold_donor() {
  timeout 60 kubectl -n "$NS" exec "$1" -c agent -- bash -c "pid=; while [[ -z \$pid ]]; do sleep 0.02; $find_tool; done; sleep 0.2; kill -STOP \$pid; echo held" \
    > "$E2E_WORK/$NS.held" 2>&1 &
}
held() { grep -q held "$E2E_WORK/$NS.held"; }
tool_kill() { kn exec "$1" -c agent -- bash -c "pid=; $find_tool; kill -KILL \$pid"; }
new_claim() { # POD: what a person does to have it seeded anew
  kn delete pvc "data-$1" --wait=false > /dev/null
  kn delete pod "$1" > /dev/null
}
no_data() { kn exec "$1" -c init -- bash -c '[[ ! -e /var/lib/mysql/data ]]'; }

cluster db mariadb '  replicas: 2
  storage: {resources: {requests: {storage: 2Gi}}}'
wait_replicated db 2 240
sql db-mysql-0 'CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, filler LONGBLOB); USE shop;
  INSERT INTO shop.t SELECT seq, REPEAT(CHAR(65 + seq % 26), 500000) FROM seq_1_to_300'
wait_until 60 "the rows on both" row_everywhere db 'SELECT COUNT(*) FROM shop.t' 300

say "scale out; the donor's tool dies in mid-stream: another donor"
hold_donor db-mysql-1
scale db 3
wait_until 60 "a stream that stands still" held
wait_until 10 "progress in the status" seed_is db-mysql-2 'Copying db-mysql-1'
no_data db-mysql-2 || fail "half a copy is where the data belong"
tool_kill db-mysql-1
wait_until 20 "another donor" seed_is db-mysql-2 '.* db-mysql-0'
wait_replicated db 3 90
wait_until 20 "all rows" row_everywhere db 'SELECT COUNT(*) FROM shop.t' 300

say "the donor's pod goes in mid-stream: another donor"
hold_donor db-mysql-1
new_claim db-mysql-2
wait_until 60 "a stream that stands still" held
wait_until 10 "progress in the status" seed_is db-mysql-2 'Copying db-mysql-1'
kn delete pod db-mysql-1 --wait=false > /dev/null
wait_until 60 "another donor" seed_is db-mysql-2 '.* db-mysql-0'
wait_replicated db 3 120
wait_until 20 "all rows" row_everywhere db 'SELECT COUNT(*) FROM shop.t' 300

say "the receiver's pod goes in mid-stream: it starts over"
hold_donor db-mysql-1
new_claim db-mysql-2
wait_until 60 "a stream that stands still" held
wait_until 10 "progress in the status" seed_is db-mysql-2 'Copying db-mysql-1'
uid=$(field pod db-mysql-2 .metadata.uid)
kn delete pod db-mysql-2 > /dev/null
wait_until 60 "another pod" eval '[[ $(field pod db-mysql-2 .metadata.uid) != "$uid" ]]'
wait_replicated db 3 120
wait_until 20 "all rows" row_everywhere db 'SELECT COUNT(*) FROM shop.t' 300
wait_until 20 "no tool is left behind" eval '! kn exec db-mysql-1 -c agent -- bash -c "pid=; $find_tool; [[ -n \$pid ]]"'
