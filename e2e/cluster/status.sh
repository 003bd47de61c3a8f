#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# status.sh: what of the full local Kubernetes runs. Exit status 0 when all of it does.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/full.sh"

[[ -d $RUN ]] || { echo "not there ($RUN)"; exit 1; }
mapfile -t nodes < <(full_nodes)
rc=0
names=("${FULL_DAEMONS[@]}")
for n in "${nodes[@]}"; do names+=("ns$n" "containerd$n" "kubelet$n" "proxy$n"); done
for name in "${names[@]}"; do
	if pid=$(daemon_pid "$name"); then
		printf '%-12s pid %-8s %5d MiB\n' "$name" "$pid" $(($(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status") / 1024))
	else
		printf '%-12s not running\n' "$name"
		rc=1
	fi
done
if ((${#nodes[@]} == 0)); then rc=1; fi
if daemon_alive apiserver; then
	timeout 10 kubectl --kubeconfig="$RUN/kubeconfig/admin" get nodes --no-headers 2>&1 || rc=1
	for n in "${nodes[@]}"; do full_node_ready "$n" || rc=1; done
fi
[[ ! -e $KM_IMAGES/mysql.unavailable ]] || echo "MySQL image unavailable: $(head -n 1 "$KM_IMAGES/mysql.unavailable")"
echo "KUBECONFIG=$RUN/kubeconfig/admin"
exit $rc
