#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# archive lag under load: how old what is not in the archive yet may be, while clients write as fast as they can (FLAVOUR=mariadb INTERVAL=5 SECONDS_LONG=120)
#
# On the local Kubernetes (e2e/cluster/up.sh) with the operator of this checkout, two members and the S3 server of e2e/s3. The lag is the operator's metric, read twice a second; what
# was archived is told beside it. One client writes small transactions, another one transactions of a megabyte that does not pack.
cd "$(dirname "$0")/../.." || exit 1
. e2e/lib.sh
. e2e/bench/figures.sh
. e2e/stories/backup.inc
set -euo pipefail
: "${FLAVOUR:=mariadb}" "${INTERVAL:=5}" "${SECONDS_LONG:=120}"
NS=bench-archive-$$ E2E_WORK=$(mktemp -d)
export NS E2E_WORK
# shellcheck disable=SC2317 # called by trap
cleanup() {
  writer_stop db
  story_cleanup "$NS" > /dev/null 2>&1 || true
  rm -rf "$E2E_WORK"
}
trap cleanup EXIT
trap 'exit 130' INT TERM
operators() { k -n "$OPERATOR_NS" get pod -l app.kubernetes.io/component=operator -o jsonpath='{.items[*].metadata.name}'; }
# metric NAME: of the one that leads
metric() {
  local pod
  for pod in $(operators); do
    k get --raw "/api/v1/namespaces/$OPERATOR_NS/pods/$pod:8080/proxy/metrics" 2> /dev/null || true
  done | awk -v m="$1{" -v ns="namespace=\"$NS\"" 'index($0, m) == 1 && index($0, ns) { v = $2 } END { if (v != "") print v }'
}

# bulk POD SECONDS: transactions of a megabyte
bulk() {
  local password
  password=$(field secret db-mysql-accounts .data.root | base64 -d)
  # shellcheck disable=SC2016 # expanded in the pod
  printf '[client]\npassword="%s"\n' "$password" | timeout $(($2 + 30)) kubectl -n "$NS" exec -i "$1" -c mysql -- bash -c '
    c=$(command -v mariadb || command -v mysql); cat > /tmp/bulk.cnf
    yes "INSERT INTO bulk.t (v) SELECT RANDOM_BYTES(1000) FROM bulk.thousand; TRUNCATE TABLE bulk.t;" |
      timeout "$1" "$c" --defaults-extra-file=/tmp/bulk.cnf --socket=/run/mysqld/mysqld.sock -uroot; true' bulk "$2" > /dev/null 2>&1
}

install_operator > /dev/null
k create namespace "$NS" > /dev/null
s3_server
cluster db "$FLAVOUR" "  replicas: 2
  storage: {resources: {requests: {storage: 4Gi}}}
  backup:
    destination: {$(s3_destination)}
    binlogs: {enabled: true, intervalSeconds: $INTERVAL}"
wait_replicated db 2 240
wait_until 60 "an archive" condition_is myc db BinlogsArchived True
pod=$(primary db)
sql "$pod" "CREATE DATABASE bulk; CREATE TABLE bulk.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(1000)); CREATE TABLE bulk.thousand (id INT PRIMARY KEY)" > /dev/null
sql "$pod" "INSERT INTO bulk.thousand SELECT a.n * 100 + b.n * 10 + c.n FROM $(for x in a b c; do echo "(SELECT 0 n$(printf ' UNION SELECT %d' {1..9})) $x"; done | paste -sd,)" > /dev/null
writer_start db "$((SECONDS_LONG + 30))"
bulk "$pod" "$((SECONDS_LONG + 15))" &
sleep 10
end=$((SECONDS + SECONDS_LONG))
while ((SECONDS < end)); do
  metric kubemysql_cluster_archive_lag_seconds >> "$E2E_WORK/lag"
  sleep 0.5
done
bytes=$(metric kubemysql_cluster_archive_bytes_total) segments=$(metric kubemysql_cluster_archive_segments_total)
writer_stop db
last=$(writer_end db)
printf '%-52s %10s %s\n' "archive lag, p50 ($FLAVOUR, interval $INTERVAL s)" "$(quantile "$E2E_WORK/lag" 0.5)" s "  p99" "$(quantile "$E2E_WORK/lag" 0.99)" s \
  "  longest of $(wc -l < "$E2E_WORK/lag")" "$(quantile "$E2E_WORK/lag" 1)" s "rows written" "$(jq .acknowledged <<< "$last")" "" \
  "archived" "$bytes" "bytes in $segments segments" "condition BinlogsArchived" "$(condition myc db BinlogsArchived)" ""
