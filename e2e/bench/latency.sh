#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# from the change of a MysqlCluster to the operator's first write because of it, at rest: CHANGES (500) times one option of my.cnf
#
# Both ends are times of the API server's audit log, in microseconds: the change is answered (its watchers are told at that time), our first
# write arrives. The controller manager stands still, so nothing else moves; servers, operator and client run with raised priority,
# because neighbours on the machine would be measured otherwise. The floor is a write by the client that made the change, which
# knows already what to write and sends it as soon as it has the answer. Environment: PAUSE_MS (250) between two changes.
cd "$(dirname "$0")/../.." || exit 1
. e2e/bench/lib.sh
: "${CHANGES:=500}"

change_lines() {
  local i
  for ((i = 0; i < CHANGES; i++)); do
    printf 'PATCH\t/apis/kubemysql.dev/v1alpha1/namespaces/bench/mysqlclusters/c1?fieldManager=user\t{"spec":{"mycnf":{"max_connections":%d}}}\n' $((1000 + i))
    [[ -z ${1:-} ]] || printf 'PATCH\t/api/v1/namespaces/bench/configmaps/floor?fieldManager=floor&force=true\t%s\n' \
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"floor","namespace":"bench"},"data":{"n":"'$i'"}}'
    printf 'SLEEP\t%d\n' "${PAUSE_MS:-250}"
  done
}

# gaps WRITER   microseconds from each change to WRITER's first write after it; changes that nothing follows are not counted
gaps() {
  jq -r --arg writer "$1" 'select(.verb == "patch") | (.objectRef.resource == "mysqlclusters" and .objectRef.subresource == null) as $change
    | if $change and (.userAgent == "kube-load") then [.stageTimestamp, "change"]
      elif ($change | not) and (.userAgent | startswith($writer)) and .objectRef.resource != "leases" then [.requestReceivedTimestamp, "write"]
      else empty end | @tsv' "$work/slice" |
    awk '{ split($1, t, /[T:Z]/); print (t[2] * 3600 + t[3] * 60 + t[4]) * 1000000, $2 }' | sort -n |
    awk '$2 == "change" { at = $1; next } at { printf "%.0f\n", $1 - at; at = 0 }' | sort -n
}
quantile() { awk -v q="$2" '{ v[NR] = $1 } END { i = int(NR * q + 0.999999); printf "%.2f", v[i < 1 ? 1 : i] / 1000 }' "$1"; }
measure() { # measure FLAG WRITER FILE
  local skip
  skip=$(wc -l < "$audit_log")
  change_lines "$1" > "$work/changes"
  nice -n -15 "$work/api_load" "$work/changes" 1 > /dev/null
  sleep 2
  tail -n +$((skip + 1)) "$audit_log" > "$work/slice"
  gaps "$2" > "$3"
}

bench_begin
bench_load /dev/null > /dev/null || true
bench_operator --log-level warn
bench_clusters 1
bench_settled 3
controllers stop
cpu=$(operator_cpu_ms)
shielded
measure '' kube-mysql/ "$work/ours"
cpu=$(($(operator_cpu_ms) - cpu))
bench_operator_stop
measure floor kube-load "$work/floor"
seen=$(wc -l < "$work/ours")
say "load of the machine: $(cut -d' ' -f1-3 /proc/loadavg)"
((seen * 100 >= CHANGES * 95)) || { say "only $seen of $CHANGES changes were followed by a write before the next"; exit 1; }
result "change of a MysqlCluster to first write, p50" "$(quantile "$work/ours" 0.5)" ms 2.5
result "change of a MysqlCluster to first write, p99" "$(quantile "$work/ours" 0.99)" ms 8
result "  floor: a client that knows what to write, p50" "$(quantile "$work/floor" 0.5)" ms
result "  floor: a client that knows what to write, p99" "$(quantile "$work/floor" 0.99)" ms
result "  CPU of the operator a change" "$(awk -v c="$cpu" -v n="$CHANGES" 'BEGIN { printf "%.2f", c / n }')" ms
