#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# planned switchover of three members under a writing client: how long writes waited, and what failed for good (FLAVOUR=mariadb SWITCHOVERS=50)
#
# On the local Kubernetes (e2e/cluster/up.sh) with the operator of this checkout. The client (e2e/tools/sql_writer.c) runs on the node and
# writes through the primary Service, one row after the other on one connection, with a retry after each error. "Writes waited" is the time
# between its last acknowledged row on the old primary and the first on the new one, once for each switchover, with PAUSE=3 s between two, as kube-proxy by
# default writes its rules at most once a second: right after other changes of Services the new route comes up to a second late; "longest pause otherwise" is what the
# same client sees without any switchover in the same run. Time to Ready is that of a new cluster of three, from apply to the third Ready.
cd "$(dirname "$0")/../.." || exit 1
. e2e/lib.sh
. e2e/bench/figures.sh
. e2e/replication-lib.sh
set -euo pipefail
: "${FLAVOUR:=mariadb}" "${SWITCHOVERS:=50}" "${PAUSE:=3}"
NS=bench-switchover-$$ E2E_WORK=$(mktemp -d)
export NS E2E_WORK
# shellcheck disable=SC2317 # called by trap
cleanup() {
  writer_stop db
  story_cleanup "$NS" > /dev/null 2>&1 || true
  rm -rf "$E2E_WORK"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

install_operator
k create namespace "$NS" > /dev/null
started=$(date +%s%3N)
cluster db "$FLAVOUR" '  replicas: 3
  storage: {resources: {requests: {storage: 2Gi}}}'
wait_until 300 "three ready members" field_is myc db .status.readyReplicas 3
ready=$(date +%s%3N)
wait_replicated db 3 60
result "three members Ready after apply, $FLAVOUR" "$((ready - started))" ms
for i in 0 1 2; do
  kn get pod "db-mysql-$i" -o json | jq -r '
    (.metadata.creationTimestamp | fromdate) as $t0 | def at(c): ([.status.conditions[] | select(.type == c) | .lastTransitionTime | fromdate][0] // 0) - $t0;
    "  \(.metadata.name): scheduled +\(at("PodScheduled")) s, seeded +\(at("Initialized")) s, ready +\(at("Ready")) s"'
done

writer_start db "$((SWITCHOVERS * (PAUSE + 6) + 20))"
sleep 5 # the client alone
log=$E2E_WORK/$NS.db/writer.log
for ((i = 1; i <= SWITCHOVERS; i++)); do
  target=$((i % 3))
  echo "SWITCH $(date +%s%3N)" >> "$E2E_WORK/switches"
  kn annotate --overwrite myc db "kubemysql.dev/switchover-to=$target" > /dev/null
  wait_until 60 "db-mysql-$target as primary" primary_is db "db-mysql-$target"
  wait_until 60 "the end of switchover $i" eval '[[ -z $(field myc db .status.transition.to) ]] && condition_is myc db Replicated True'
  { field myc db .status.lastSwitchover.writesBlockedMs; echo; } >> "$E2E_WORK/blocked"
  sleep "$PAUSE"
done
writer_stop db
last=$(writer_end db)

# The longest pause that began between one request and the next belongs to that switchover.
awk '/^SWITCH/ { s[++n] = $2 } /^GAP/ { for (i = n; i >= 1; i--) if ($2 + $3 >= s[i]) { if ($3 > max[i]) max[i] = $3; next } if ($3 > rest) rest = $3 }
  END { for (i = 1; i <= n; i++) print max[i] + 0 > "'"$E2E_WORK/gaps"'"; print rest + 0 > "'"$E2E_WORK/rest"'" }' "$E2E_WORK/switches" "$log"
result "switchover: writes waited, p50, $FLAVOUR" "$(quantile "$E2E_WORK/gaps" 0.5)" ms 60
result "switchover: writes waited, p99" "$(quantile "$E2E_WORK/gaps" 0.99)" ms 250
result "  of that no member took writes, p50" "$(quantile "$E2E_WORK/blocked" 0.5)" ms
result "  the same, p99" "$(quantile "$E2E_WORK/blocked" 0.99)" ms
[[ -z ${RAW:-} ]] || paste "$E2E_WORK/gaps" "$E2E_WORK/blocked" > "$RAW"
result "  longest pause of the client before" "$(cat "$E2E_WORK/rest")" ms
result "switchovers" "$SWITCHOVERS" ""
result "transactions that failed for good" "$(jq .lost <<< "$last")" "" 0
result "acknowledged rows that are missing" "$(jq .missing <<< "$last")" "" 0
result "  attempts that were tried again" "$(jq .errors <<< "$last")" ""
result "  rows written" "$(jq .acknowledged <<< "$last")" ""
