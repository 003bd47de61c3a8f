#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--list]
# Faults on the local Kubernetes with three nodes or more (NODES=3 e2e/cluster/up.sh): pods, kubelets, kube-proxy. Writers on node1 and, where a
# node is only cut off, on the primary's. See docs/faults.md. Exit code 77: there is no such cluster. The operator must be installed (e2e/lib.sh).
#   CASE=all            names or patterns, separated by commas; --list prints all
#   COUNT=1             how often
#   FLAVOUR=mariadb     or mysql
#   MODE=semiSync       or async
#   FAULTS_SECONDS      no new cycle after this
#   FAULTS_SPEC={}      more for the MysqlCluster's spec, as JSON
#   FAULTS_KEEP=1       keep the cluster in namespace "bed"
#   FAULTS_RAW=file     as in the fast bed
set -euo pipefail
cd "$(dirname "$0")/../../.."
: "${BUILD:=build}" "${FLAVOUR:=mariadb}" "${MODE:=semiSync}" "${CASE:=all}" "${COUNT:=1}"
driver=e2e/faults/real/driver.py
[[ ${1:-} != --list ]] || exec python3 -B "$driver" --list
# shellcheck source=e2e/lib.sh
. e2e/lib.sh

[[ $(id -u) == 0 ]] || skip "the fault bed needs root"
(($(find "$KM_RUN" -mindepth 2 -maxdepth 2 -path '*/node[1-9]/kubelet' 2> /dev/null | wc -l) >= 3)) || skip "the local cluster has fewer than 3 nodes"
need_flavour "$FLAVOUR"
install_operator || fail "the operator could not be installed"

tools=$BUILD/faults
mkdir -p "$tools"
read -ra client <<< "$(pkg-config --cflags --libs libmariadb)"
for tool in fault_writer fault_sampler; do
  [[ $tools/$tool -nt e2e/tools/$tool.c && $tools/$tool -nt e2e/tools/fault_client.h ]] ||
    "${CC:-gcc}" -D_GNU_SOURCE -O2 -Wall -Wextra -Werror "e2e/tools/$tool.c" "${client[@]}" -pthread -o "$tools/$tool"
done

work=/tmp/kube-mysql-realbed
exec 9> "$work.lock"
flock -n 9 || fail "another run is at it"
rm -rf "$work"
mkdir -p "$work"
rc=0
python3 -B "$driver" --work="$work" --tools="$(realpath "$tools")" --flavour="$FLAVOUR" --mode="$MODE" --case="$CASE" --count="$COUNT" \
  --seconds="${FAULTS_SECONDS:-86400}" --spec="${FAULTS_SPEC:-{\}}" ${FAULTS_KEEP:+--keep} ${RESULTS:+--results="$RESULTS"} ${FAULTS_RAW:+--raw="$FAULTS_RAW"} 9>&- || rc=$?
[[ -d $work/evidence ]] || rm -rf "$work"
exit "$rc"
