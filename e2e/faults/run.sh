#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--full] [--verbose] [--list] [STORY|STEP [FAULT [REQUEST]]]
# Every API call of the operator failing in turn, the operator killed after every write: each run must end in the same world as
# an undisturbed one. See docs/testing-faults.md. Stories: life scale grow restart. Environment:
#   FAULTS_FULL=1       every fault on every request (an hour), instead of a sample (minutes)
#   FAULTS_SECONDS=540  no new case after this; what remains is reported as skipped
#   FAULTS_OPERATOR     the binary under test (default: built here with the address and undefined-behaviour sanitizers)
#   FAULTS_KEEP=1       leave control plane and logs for a look
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=build}"

command -v python3 > /dev/null || { echo "faults: python3 is missing (make deps)" >&2; exit 1; }
operator=${FAULTS_OPERATOR:-}
if [[ -z $operator ]]; then
  operator=$BUILD/asan/kube-mysql-operator
  make --no-print-directory BUILD="$BUILD/asan" SANITIZE=address "$operator"
fi

# Agents listen on addresses of their own. An EndpointSlice may not hold any of loopback, so the run has a network namespace with a network
# that is all local. It goes with its last process. Before, because no other machine is in reach there: what has to be fetched.
if [[ -z ${FAULTS_NETWORK:-} ]]; then
  e2e/cluster/build-kubernetes.sh
  exec env FAULTS_NETWORK=10.77 FAULTS_OPERATOR="$operator" unshare --net -- "$0" "$@"
fi
ip link set lo up
ip route add local "$FAULTS_NETWORK.0.0/16" dev lo

# A control plane of our own: two runs in one world would disturb each other. What a run that was cut off left behind is ended.
work=
for n in "" -2 -3 -4; do
  exec 9> "/tmp/kube-mysql-faults$n.lock"
  INSTANCE=faults$n
  ! flock -n 9 || { work=$(mktemp -d) && break; }
done
[[ -n $work ]] || { echo "faults: four runs at a time are enough" >&2; exit 1; }
export INSTANCE
control_plane() { e2e/cluster/control-plane.sh "$@" 9>&-; } # daemons must not hold the lock
driver=
# shellcheck disable=SC2317 # called by trap
finish() {
  trap - EXIT INT TERM
  if [[ -n $driver ]]; then
    kill "$driver" 2> /dev/null && wait "$driver"
  fi
  if [[ -n ${FAULTS_KEEP:-} ]]; then
    echo "faults: logs in $work; the control plane is in the network namespace of its processes (nsenter --net=/proc/PID/ns/net)"
    INSTANCE=$INSTANCE e2e/cluster/control-plane.sh status
    echo "INSTANCE=$INSTANCE e2e/cluster/control-plane.sh down --purge ends it"
  else
    control_plane down --purge > /dev/null 2>&1
    rm -rf "$work"
  fi
}
trap finish EXIT
trap 'exit 130' INT TERM

[[ -n ${FAULTS_KEEP:-} ]] || control_plane down > /dev/null 2>&1 || true
kubeconfig=$(control_plane up)
k() { timeout 60 kubectl --kubeconfig="$kubeconfig" "$@"; }
for file in crds/mysql*.yaml deploy/operator/{namespace,service_account,cluster_role}.yaml; do k apply -f "$file" > /dev/null; done
k wait --for=condition=Established crd --all --timeout=30s > /dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=faultproxy -addext subjectAltName=IP:127.0.0.1 \
  -keyout "$work/proxy.key" -out "$work/proxy.crt" 2> /dev/null

export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1
python3 -B e2e/faults/faults.py --operator="$operator" --kubeconfig="$kubeconfig" --work="$work" --seconds="${FAULTS_SECONDS:-540}" \
  ${FAULTS_FULL:+--full} ${RESULTS:+--results="$RESULTS"} "$@" 9>&- &
driver=$!
rc=0
wait "$driver" || rc=$?
driver=
exit "$rc"
