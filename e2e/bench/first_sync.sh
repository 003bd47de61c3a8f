#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# an informer's first sync of 10,000 Pods, against curl reading the same list to nowhere; and the memory it leaves
#
# Rounds alternate, medians count. Environment: PODS (10000), ROUNDS (5), KEEP=1 uses and leaves the control plane of KUBECONFIG.
set -euo pipefail
cd "$(dirname "$0")/../.."
. e2e/bench/lib.sh
: "${CC:=gcc}" "${PODS:=10000}" "${ROUNDS:=5}"

# shellcheck disable=SC2154 # lib.sh sets them
cleanup() {
  [[ ${KEEP:-} ]] || timeout 60 "$control_plane" down > /dev/null 2>&1 || true
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# Only the layers that an informer needs.
mapfile -t objects < <(printf '%s\n' operator/kube/*.c operator/api/*.c | sed "s#^#$BUILD/obj/#; s#c\$#o#")
make --no-print-directory QUIET=1 BUILD="$BUILD" "${objects[@]}" "$BUILD/libcommon.a" > /dev/null
# shellcheck disable=SC2046 # words
"$CC" -std=gnu17 -O2 -D_GNU_SOURCE -I. e2e/bench/first_sync.c "${objects[@]}" "$BUILD/libcommon.a" \
  $(pkg-config --libs libcurl jansson libevent libevent_openssl libevent_pthreads openssl yaml-0.1 libzstd) -o "$work/first_sync"

if [[ ! ${KEEP:-} ]]; then
  timeout 60 "$control_plane" down > /dev/null 2>&1 || true
  KUBECONFIG=$(timeout 300 "$control_plane" up)
fi
export KUBECONFIG
kubectl get namespace bench > /dev/null 2>&1 || kubectl create namespace bench > /dev/null
for _ in {1..50}; do # Pods need the account, which the controller manager makes
  kubectl -n bench get serviceaccount default > /dev/null 2>&1 && break
  sleep 0.2
done
if (($(timeout 120 "$work/first_sync" sync | cut -d' ' -f2) < PODS)); then
  say "making $PODS Pods"
  timeout 600 "$work/first_sync" make "$PODS"
fi

# What curl needs of the kubeconfig, in files of our own.
raw() { kubectl config view --raw --flatten --minify -o "jsonpath={$1}"; }
(umask 077
  raw '.clusters[0].cluster.certificate-authority-data' | base64 -d > "$work/ca"
  raw '.users[0].user.client-certificate-data' | base64 -d > "$work/cert"
  raw '.users[0].user.client-key-data' | base64 -d > "$work/key")
server=$(raw '.clusters[0].cluster.server')
floor() {
  # Not under its own name: the API server indents what it sends to curl.
  curl -sf -A first-sync -o /dev/null -w '%{time_total} %{size_download}\n' --cacert "$work/ca" --cert "$work/cert" --key "$work/key" \
    "$server/api/v1/pods"
}

floor > /dev/null # both find a warm server
for ((i = 0; i < ROUNDS; i++)); do
  floor >> "$work/floor"
  timeout 120 "$work/first_sync" sync >> "$work/ours"
done
median() { sort -n "$1" | awk -v c="$2" '{ v[NR] = $c } END { print v[int((NR + 1) / 2)] }'; }
floor_ms=$(median "$work/floor" 1 | awk '{ printf "%.0f", $1 * 1000 }')
ours_ms=$(median "$work/ours" 1)
read -r _ synced rss peak before < <(tail -n1 "$work/ours")
((synced >= PODS)) || { say "only $synced of $PODS Pods"; exit 1; }
say "the list has $(median "$work/floor" 2) bytes; rounds: floor $(cut -d' ' -f1 "$work/floor" | tr '\n' ' ')s, ours $(cut -d' ' -f1 "$work/ours" | tr '\n' ' ')ms"
result "first sync of $PODS Pods" "$ours_ms" ms "$(awk -v f="$floor_ms" 'BEGIN { printf "%.0f", f * 1.1 }')"
result "  curl reading that list" "$floor_ms" ms
result "  bytes kept per Pod (resident)" "$(((rss - before) * 1024 / synced))" bytes
result "  peak above what is kept" "$((peak - rss))" KiB
