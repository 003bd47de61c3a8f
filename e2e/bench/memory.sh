#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# memory of the operator: idle; 1,000 clusters; CLUSTERS (3334) clusters with PODS (10000) Pods; all watches answered 410 at once
#
# The Pods are made by a generator after one that the StatefulSet controller made of our template, three for each cluster; then the controller
# manager stands still and nothing runs them, so no agent is connected to. "410 at once": the API server is killed and started
# again; its watch caches begin at the newest version, so every watch that is resumed is told that its version is gone, and all lists
# are read again at the same time. The peak is the resident maximum since just before.
cd "$(dirname "$0")/../.." || exit 1
. e2e/bench/lib.sh
: "${CLUSTERS:=3334}" "${PODS:=10000}"
export REPLICAS=3

pod_template() {
  local i
  for ((i = 0; i < 300; i++)); do
    timeout 30 kubectl -n bench get pod c1-mysql-0 -o json > "$work/pod.json" 2> /dev/null && return 0
    sleep 0.2
  done
  say "the controller manager makes no Pod"
  return 1
}

# Requests that make the Pods which the StatefulSets want, as their controller would.
pod_lines() {
  timeout 300 kubectl get --raw /apis/apps/v1/namespaces/bench/statefulsets > "$work/sets"
  jq -r '.items[] | "\(.metadata.name) \(.metadata.uid)"' "$work/sets" | sort -V | head -n "$(((PODS + REPLICAS - 1) / REPLICAS))" |
    jq -rR --slurpfile template "$work/pod.json" --argjson replicas "$REPLICAS" '
      split(" ") as [$set, $uid] | ($set | rtrimstr("-mysql")) as $cluster | range($replicas) as $ordinal | "\($set)-\($ordinal)" as $pod
      | ($template[0] | del(.status, .metadata.managedFields, .metadata.uid, .metadata.resourceVersion, .metadata.creationTimestamp, .metadata.selfLink))
      | (.. | strings) |= (if . == "c1-mysql-0" then $pod elif . == "c1" then $cluster
                           elif startswith("c1-mysql") then $set + ltrimstr("c1-mysql") else . end)
      | .metadata.ownerReferences[0].uid = $uid
      | "POST\t/api/v1/namespaces/bench/pods\t\(tojson)"'
}

pod_count() { timeout 60 kubectl get --raw '/api/v1/namespaces/bench/pods?limit=1' | jq '(.items | length) + (.metadata.remainingItemCount // 0)'; }

restart_api_server() {
  local pid argv variables
  pid=$(control_plane_pid apiserver)
  mapfile -d '' -t argv < "/proc/$pid/cmdline"
  mapfile -d '' -t variables < "/proc/$pid/environ"
  kill -KILL "$pid"
  while kill -0 "$pid" 2> /dev/null; do sleep 0.05; done
  setsid env -i "${variables[@]}" "${argv[@]}" >> "$KM_RUN-light-$INSTANCE/log/apiserver.log" 2>&1 < /dev/null 8>&- &
  pid=$!
  sleep 0.2
  echo "$pid $(proc_start_time "$pid") $(proc_boot_id)" > "$KM_RUN-light-$INSTANCE/pids/apiserver"
}

bench_begin
bench_load /dev/null > /dev/null || true
# The API server may be away for longer than a lease lasts.
bench_operator --log-level warn --lease-duration 600s --renew-deadline 500s
sleep "${IDLE_SECONDS:-10}"
result_memory idle 8

bench_clusters 1
pod_template
controllers stop
bench_clusters 999 2
bench_settled 5
have 1000 statefulsets
result_memory "1000 clusters"
result "  objects known" "$(metric kubemysql_informer_objects)" count

bench_clusters $((CLUSTERS - 1000)) 1001
bench_settled 5
say "making Pods"
pod_lines > "$work/pods"
result "  bytes of a generated Pod as sent" "$(($(wc -c < "$work/pods") / $(wc -l < "$work/pods")))" bytes
for _ in 1 2 3; do # those of c1 are there, and a server under load fails now and then: what is missing is made again
  bench_load "$work/pods" > "$work/pods.result" 2> /dev/null || true
  pods=$(pod_count)
  ((pods < PODS)) || break
done
bench_settled 5
((pods >= PODS)) || { say "only $pods Pods"; exit 1; }
result_memory "$CLUSTERS clusters, $pods Pods" 16
result "  objects known" "$(metric kubemysql_informer_objects)" count
result "  bytes of a Pod in a list" "$(($(timeout 60 kubectl get --raw '/api/v1/namespaces/bench/pods?limit=200' | wc -c) / 200))" bytes

lists=$(metric kubemysql_informer_lists_total)
informers=$(curl -sf "127.0.0.1:$metrics_port/metrics" | grep -c '^kubemysql_informer_objects')
say "restarting the API server; $informers informers"
echo 5 > "/proc/$operator_pid/clear_refs"
restart_api_server
for ((i = 0; i < 600; i++)); do
  (($(metric kubemysql_informer_lists_total) < lists + informers - 1)) || break
  sleep 0.2
done
bench_settled 5
result "410 everywhere: lists read again" "$(($(metric kubemysql_informer_lists_total) - lists))" count
result_memory "410 everywhere"
