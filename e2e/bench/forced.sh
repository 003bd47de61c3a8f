#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# a primary's pod deleted by force under a writing client: how long writes waited, and what was lost (FLAVOUR=mariadb FORCED=50 MEMBERS=3)
#
# On the local Kubernetes (e2e/cluster/up.sh) with the operator of this checkout. The client (e2e/tools/sql_writer.c) runs on the node and writes through the
# primary Service, one row after the other on one connection, without a time-out for reads, with a retry after each error. What it waited is the longest time
# between two acknowledged rows from one deletion to the next. Between two all members are ready again. What the status tells is printed beside it.
cd "$(dirname "$0")/../.." || exit 1
. e2e/lib.sh
. e2e/bench/figures.sh
. e2e/replication-lib.sh
set -euo pipefail
: "${FLAVOUR:=mariadb}" "${FORCED:=50}" "${MEMBERS:=3}"
NS=bench-forced-$$ E2E_WORK=$(mktemp -d)
export NS E2E_WORK SQL_WRITER_PATIENT=1
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
cluster db "$FLAVOUR" "  replicas: $MEMBERS
  storage: {resources: {requests: {storage: 1Gi}}}"
wait_replicated db "$MEMBERS" 300
wait_until 60 "acknowledgements" field_is myc db .status.semiSync true
writer_start db "$((FORCED * 60 + 60))"
sleep 3
log=$E2E_WORK/$NS.db/writer.log
told() { field myc db ".status.$1" | jq -c '{reason, writesBlockedMs, started: .startedAt}'; }
for ((i = 1; i <= FORCED; i++)); do
  from=$(primary db) uid=$(field pod "$(primary db)" .metadata.uid)
  switched=$(field myc db .status.lastSwitchover.startedAt) failed=$(field myc db .status.lastFailover.startedAt)
  echo "FORCED $(date +%s%3N)" >> "$E2E_WORK/forced"
  kn delete pod "$from" --grace-period=0 --force > /dev/null 2>&1
  wait_until 60 "another primary than $from" eval "[[ \$(primary db) != $from ]]"
  wait_until 60 "a new pod of $from" eval "uid_now=\$(field pod $from .metadata.uid) && [[ \$uid_now && \$uid_now != $uid ]]"
  wait_until 60 "its server" eval "kn get pod $from -o json | jq -e '.status.conditions[] | select(.type == \"Ready\" and .status == \"True\")'"
  wait_replicated db "$MEMBERS" 120
  [[ $(field myc db .status.lastSwitchover.startedAt) == "$switched" ]] || printf 'switchover %s\n' "$(told lastSwitchover)" >> "$E2E_WORK/told.$i"
  [[ $(field myc db .status.lastFailover.startedAt) == "$failed" ]] || printf 'failover %s\n' "$(told lastFailover)" >> "$E2E_WORK/told.$i"
  printf '  %3d  %-12s %s\n' "$i" "$from" "$(tr '\n' ' ' < "$E2E_WORK/told.$i" 2> /dev/null)"
  sleep 2
  [[ -z ${LOGS:-} ]] || k -n "$OPERATOR_NS" logs -l app.kubernetes.io/component=operator --tail=200 | grep -F "$NS" > "$LOGS.$i" || true
done
writer_stop db
last=$(writer_end db)
awk '/^FORCED/ { s[++n] = $2 } /^GAP/ { for (i = n; i >= 1; i--) if ($2 + $3 >= s[i]) { if ($3 > max[i]) max[i] = $3; next } if ($3 > rest) rest = $3 }
  END { for (i = 1; i <= n; i++) print max[i] + 0 > "'"$E2E_WORK/gaps"'"; print rest + 0 > "'"$E2E_WORK/rest"'" }' "$E2E_WORK/forced" "$log"
tr '\n' ' ' < "$E2E_WORK/gaps"
echo
[[ -z ${RAW:-} ]] || cp "$log" "$RAW"
result "deleted by force: writes waited, p50, $FLAVOUR" "$(quantile "$E2E_WORK/gaps" 0.5)" ms 400
result "  longest" "$(quantile "$E2E_WORK/gaps" 1)" ms 2500
result "  by a switchover" "$(grep -l ^switchover "$E2E_WORK"/told.* 2> /dev/null | wc -l)" "of $FORCED"
result "  longest pause of the client before" "$(cat "$E2E_WORK/rest")" ms
result "transactions that failed for good" "$(jq .lost <<< "$last")" "" 0
result "acknowledged rows that are missing" "$(jq .missing <<< "$last")" "" 0
result "  rows written" "$(jq .acknowledged <<< "$last")" ""
