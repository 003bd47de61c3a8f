#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lib.sh: what the benchmarks share. Source it from the top of the checkout; then
#
#   bench_begin                     a fresh light control plane with our CRDs (its own instance), audit log on
#   bench_operator [FLAG…]          start the operator beside it, wait until it leads; sets operator_pid
#   bench_clusters N [FROM]         create N MysqlClusters in namespace "bench", as fast as the API server takes them
#   bench_load FILE [IN_FLIGHT]      send the requests of FILE; prints "SENT FAILED MILLISECONDS CPU_MILLISECONDS" (api_load.c)
#   bench_settled SECONDS           wait until the operator has written nothing for SECONDS
#   have N PLURAL                   fails unless namespace "bench" holds N of them
#   result NAME VALUE UNIT [AIM]    one line of the table; with an AIM also the ratio VALUE/AIM (at most 1 is reached)
#
# Everything is taken down at the end, also after a failure. The operator is the static one ($BUILD/static) if it is newer than the
# shared one, because that is what images hold; its log is $work/operator.log.
set -euo pipefail
. e2e/cluster/env.sh
. e2e/bench/figures.sh
: "${BUILD:=build}"
export INSTANCE=${BENCH_INSTANCE:-bench} KM_AUDIT=1
control_plane=e2e/cluster/control-plane.sh
metrics_port=${BENCH_METRICS_PORT:-18181}
work=$(mktemp -d)
operator_pid=
namespace=bench
audit_log=$KM_RUN-light-$INSTANCE/log/audit.log

say() { printf '%s  %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

operator_binary() {
  local static=$BUILD/static/kube-mysql-operator shared=$BUILD/kube-mysql-operator
  if [[ -n ${OPERATOR:-} ]]; then
    echo "$OPERATOR"
  elif [[ -x $static && ! $shared -nt $static ]]; then
    echo "$static"
  else
    echo "$shared"
  fi
}

bench_end() {
  local rc=$?
  trap - EXIT INT TERM
  bench_operator_stop || true
  controllers go 2> /dev/null || true
  ((rc == 0)) || { say "failed ($rc); the operator's last words:"; tail -n 5 "$work/operator.log" >&2 2> /dev/null || true; }
  timeout 60 "$control_plane" down > /dev/null 2>&1 || true
  rm -rf "$work"
  exit "$rc"
}

bench_begin() {
  # Two on one control plane would take it from each other. BENCH_INSTANCE and BENCH_METRICS_PORT name another.
  exec 8> "$KM_RUN-light-$INSTANCE.bench.lock"
  flock -w 3600 8 || { say "another benchmark uses the control plane $INSTANCE"; exit 1; }
  trap bench_end EXIT
  trap 'exit 130' INT TERM
  [[ -x $(operator_binary) ]] || { say "no operator in $BUILD: make first"; exit 1; }
  timeout 60 "$control_plane" down > /dev/null 2>&1 || true
  e2e/cluster/build-kubernetes.sh >&2 8>&-
  KUBECONFIG=$(timeout 300 "$control_plane" up 8>&-)
  export KUBECONFIG
  timeout 60 kubectl apply -k crds > /dev/null
  timeout 60 kubectl wait --for=condition=Established crd --all --timeout=30s > /dev/null
  timeout 30 kubectl create namespace bench > /dev/null
}

metric() { curl -sf --max-time 5 "127.0.0.1:$metrics_port/metrics" | awk -v m="$1" 'index($1, m) == 1 { n += $2 } END { print n + 0 }'; }

bench_operator() {
  "$(operator_binary)" --kubeconfig "$KUBECONFIG" --leader-namespace default --bind-address 127.0.0.1 \
    --metrics-port "$metrics_port" --log-format json --agent-image example.invalid/kube-mysql-agent:bench "$@" 2> "$work/operator.log" 8>&- &
  operator_pid=$!
  for ((i = 0; i < 300; i++)); do
    [[ $(metric kubemysql_leader 2> /dev/null) != 1 ]] || return 0
    kill -0 "$operator_pid" 2> /dev/null || { say "the operator ended"; return 1; }
    sleep 0.1
  done
  say "the operator does not lead"
  return 1
}

bench_operator_stop() {
  [[ -n $operator_pid ]] || return 0
  kill "$operator_pid" 2> /dev/null || true
  wait "$operator_pid" || true
  operator_pid=
}

# Its helper in C, built once a run from the layers it needs.
bench_load() {
  if [[ ! -x $work/api_load ]]; then
    local objects
    mapfile -t objects < <(printf '%s\n' operator/kube/*.c | sed "s#^#$BUILD/obj/#; s#c\$#o#")
    make --no-print-directory QUIET=1 BUILD="$BUILD" "${objects[@]}" "$BUILD/libcommon.a" > /dev/null
    # shellcheck disable=SC2046 # words
    "${CC:-gcc}" -std=gnu17 -O2 -D_GNU_SOURCE -I. e2e/bench/api_load.c "${objects[@]}" "$BUILD/libcommon.a" \
      $(pkg-config --libs libcurl jansson libevent libevent_openssl libevent_pthreads openssl yaml-0.1 libzstd) -o "$work/api_load"
  fi
  timeout 900 "$work/api_load" "$@"
}

# cluster_json NAME   what a user would write, on one line
cluster_json() {
  printf '{"apiVersion":"kubemysql.dev/v1alpha1","kind":"MysqlCluster","metadata":{"name":"%s","namespace":"%s"},"spec":{"replicas":%d,%s,%s}}' \
    "$1" "$namespace" "${REPLICAS:-1}" '"config":{"spec":{"images":{"mysql":"docker.io/library/mysql:8.4"},"mycnf":{"max_connections":"100"}}}' \
    '"storage":{"volumeSource":{"emptyDir":{}}}'
}

cluster_lines() {
  for ((i = ${2:-1}; i < ${2:-1} + $1; i++)); do
    printf 'POST\t/apis/kubemysql.dev/v1alpha1/namespaces/%s/mysqlclusters\t%s\n' "$namespace" "$(cluster_json "c$i")"
  done
}

bench_clusters() {
  say "creating $1 clusters"
  cluster_lines "$@" > "$work/clusters"
  bench_load "$work/clusters" > "$work/clusters.result"
}

# have N PLURAL   N objects of the kind are there: what is measured has really happened
have() {
  local count
  count=$(timeout 60 kubectl -n "$namespace" get "$2" --no-headers -o name | wc -l)
  ((count == $1)) || { say "$count $2, not $1"; return 1; }
}

# The operator's own requests so far, by a jq filter over audit events: ours, "leases" apart.
audit_count() {
  grep -F '"userAgent":"kube-mysql/' "$audit_log" 2> /dev/null | jq -c "select($1)" | wc -l
}
is_write='(.verb | IN("create", "update", "patch", "delete"))'
is_lease='(.objectRef.resource == "leases")'

control_plane_pid() { cut -d' ' -f1 "$KM_RUN-light-$INSTANCE/pids/$1"; }

# controllers stop|go   the controller manager stands still, so that nobody else writes
controllers() {
  local pid
  pid=$(control_plane_pid kcm)
  case $1 in stop) kill -STOP "$pid" ;; go) kill -CONT "$pid" ;; esac
}

bench_settled() {
  local quiet=0 before=-1 now
  for ((i = 0; i < 900 && quiet < $1; i++)); do
    now=$(metric 'kubemysql_api_requests_total')
    if [[ $now == "$before" && $(metric kubemysql_active_workers) == 0 ]]; then
      quiet=$((quiet + 1))
    else
      quiet=0
    fi
    before=$now
    sleep 1
  done
  ((quiet >= $1)) || { say "the operator does not come to rest"; return 1; }
}

# VmRSS and the like, in KiB; Pss from smaps_rollup.
operator_kib() {
  awk -v k="$1:" '$1 == k { print $2 }' "/proc/$operator_pid/status" "/proc/$operator_pid/smaps_rollup" | head -n 1
}
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz) }' "/proc/$1/stat"; }
operator_cpu_ms() { cpu_ms "$operator_pid"; }
servers_cpu_ms() { echo $(($(cpu_ms "$(control_plane_pid apiserver)") + $(cpu_ms "$(control_plane_pid etcd)"))); }

# shielded   the servers and the operator come before everything else on the machine: for figures of latency, while they mostly sleep
shielded() { renice -n -15 -p "$(control_plane_pid apiserver)" "$(control_plane_pid etcd)" "$operator_pid" > /dev/null 2>&1 || true; }
mib() { awk -v k="$1" 'BEGIN { printf "%.2f", k / 1024 }'; }

result_memory() {
  local what=$1 aim=${2:-}
  result "$what: resident" "$(mib "$(operator_kib VmRSS)")" MiB "$aim"
  result "$what: proportional" "$(mib "$(operator_kib Pss)")" MiB "$aim"
  result "$what: anonymous" "$(mib "$(operator_kib RssAnon)")" MiB
  result "$what: peak resident" "$(mib "$(operator_kib VmHWM)")" MiB
}
