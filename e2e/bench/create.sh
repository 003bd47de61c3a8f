#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# CLUSTERS (1000) clusters created at once: time until all children exist, against raw writes of the very same objects
#
# Each of ROUNDS (3) does the same on the same API server: the operator makes its children of clusters that a load generator posts; then it
# is stopped, and the load generator writes clusters and children itself, once by POST and once by server-side apply, into namespaces of
# their own: the faster of both is the floor. The controller manager stands still meanwhile, so nobody else writes. Besides the time, which
# neighbours on the machine disturb, the processor time of API server, etcd and writer is compared, which they disturb less.
cd "$(dirname "$0")/../.." || exit 1
. e2e/bench/lib.sh
: "${CLUSTERS:=1000}" "${ROUNDS:=3}"
children=(serviceaccounts configmaps secrets services endpointslices.discovery.k8s.io poddisruptionbudgets.policy statefulsets.apps)
ours='app.kubernetes.io/managed-by=kube-mysql'

now_us() { local t=$EPOCHREALTIME; echo "${t/[.,]/}"; }
timestamp_us() { awk -v s="$(date -u -d "${1%.*}Z" +%s)" -v f="${1#*.}" 'BEGIN { sub(/Z/, "", f); printf "%d", s * 1000000 + substr(f "000000", 1, 6) }'; }

# The clusters with their children as they were written: without what the server and the status writers add.
# shellcheck disable=SC2016 # a jq program
strip='.items[] | . as $o | {apiVersion: ($o.apiVersion // $list.apiVersion), kind: ($o.kind // ($list.kind | rtrimstr("List")))} + $o
  | del(.status, .metadata.managedFields, .metadata.uid, .metadata.resourceVersion, .metadata.generation, .metadata.creationTimestamp,
    .metadata.selfLink)
  | if .kind == "Service" and .spec.clusterIP != "None" then del(.spec.clusterIP, .spec.clusterIPs) else . end'

dump() { # dump VERB NAMESPACE   lines for bench_load, clusters first
  local resource
  for resource in mysqlclusters "${children[@]}"; do
    timeout 120 kubectl -n "$namespace" get "$resource" ${3:+-l "$ours"} -o json > "$work/dump.json"
    jq -r --arg verb "$1" --arg ns "$2" --arg plural "${resource%%.*}" ". as \$list | $strip"'
      | .metadata.namespace = $ns | (if .apiVersion | contains("/") then "/apis/" else "/api/" end + .apiVersion) as $root
      | "\($root)/namespaces/\($ns)/\($plural)" as $path
      | if $verb == "POST" then "POST\t\($path)" else "PATCH\t\($path)/\(.metadata.name)?fieldManager=floor&force=true" end
        + "\t\(tojson)"' "$work/dump.json"
  done
}

# sample_cpu FILE   "time, processor time of servers and operator", once a second until it is killed
sample_cpu() {
  while sleep 1; do echo "$(now_us) $(($(servers_cpu_ms) + $(operator_cpu_ms)))"; done > "$1" 2> /dev/null
}

by_operator() { # by_operator ROUND   sets ours_ms, ours_cpu_ms
  namespace=ours$1
  timeout 30 kubectl create namespace "$namespace" > /dev/null
  bench_operator --log-level warn --watch-namespaces "$namespace"
  local start cpu own last sampler
  cluster_lines "$CLUSTERS" > "$work/clusters"
  cpu=$(($(servers_cpu_ms) + $(operator_cpu_ms))) own=$(operator_cpu_ms) start=$(now_us)
  sample_cpu "$work/samples" &
  sampler=$!
  bench_load "$work/clusters" > "$work/clusters.result"
  bench_settled 3
  kill "$sampler"
  operator_part_ms=$(($(operator_cpu_ms) - own))
  last=$(grep -F '"userAgent":"kube-mysql/' "$audit_log" | grep -F "\"namespace\":\"$namespace\"" |
    jq -r 'select(.responseStatus.code == 201 and .objectRef.resource != "events") | .stageTimestamp' | sort | tail -n 1)
  last=$(timestamp_us "$last")
  ours_ms=$(((last - start) / 1000))
  ours_cpu_ms=$(awk -v end="$last" -v from="$cpu" '{ c = $2 } $1 >= end { exit } END { print c - from }' "$work/samples")
  ours_cpu_ms=$((ours_cpu_ms + $(cut -d' ' -f4 "$work/clusters.result")))
  bench_operator_stop
  local resource
  for resource in configmaps statefulsets poddisruptionbudgets endpointslices; do have "$CLUSTERS" "$resource"; done
}

by_hand() { # by_hand VERB ROUND   sets hand_ms, hand_cpu_ms
  local target cpu
  target=$(tr '[:upper:]' '[:lower:]' <<< "$1")$2
  timeout 30 kubectl create namespace "$target" > /dev/null
  dump "$1" "$target" > "$work/load"
  cpu=$(servers_cpu_ms)
  read -r sent _ hand_ms own < <(bench_load "$work/load")
  ((sent == CLUSTERS * 12)) || { say "$sent requests, not $((CLUSTERS * 12))"; return 1; }
  hand_cpu_ms=$(($(servers_cpu_ms) - cpu + own))
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

bench_begin
bench_load /dev/null > /dev/null || true # built outside of what is measured
controllers stop
for ((round = 1; round <= ROUNDS; round++)); do
  by_operator "$round"
  by_hand POST "$round"
  post_ms=$hand_ms post_cpu_ms=$hand_cpu_ms
  by_hand PATCH "$round"
  floor_ms=$((post_ms < hand_ms ? post_ms : hand_ms))
  floor_cpu_ms=$((post_cpu_ms < hand_cpu_ms ? post_cpu_ms : hand_cpu_ms))
  say "round $round: operator $ours_ms ms, POST $post_ms ms, apply $hand_ms ms; CPU $ours_cpu_ms (the operator in all $operator_part_ms), $post_cpu_ms, $hand_cpu_ms ms; load $(cut -d' ' -f1 /proc/loadavg)"
  echo "$ours_ms" >> "$work/ours"
  echo "$floor_ms" >> "$work/floor"
  awk -v a="$ours_ms" -v b="$floor_ms" 'BEGIN { print a / b }' >> "$work/ratio"
  awk -v a="$ours_cpu_ms" -v b="$floor_cpu_ms" 'BEGIN { print a / b }' >> "$work/cpu_ratio"
done
result "$CLUSTERS clusters at once: until all children exist" "$(median "$work/ours")" ms
result "  floor: raw writes of the same objects" "$(median "$work/floor")" ms
result "  ratio of times (median of rounds)" "$(median "$work/ratio")" x 1.25
result "  ratio of CPU until then, servers and writer" "$(median "$work/cpu_ratio")" x
