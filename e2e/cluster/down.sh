#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# down.sh [--purge]: end the full local Kubernetes and remove all it made on the machine: processes, mounts, network
# namespaces, interfaces, iptables rules, cgroups, volumes with their data. Certificates and the nodes' image stores are
# kept for the next up.sh; --purge removes the whole run folder. Works from any state an earlier run was cut off in.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/full.sh"

((EUID == 0)) || die "root is needed"
lock "$RUN.lock"
pids=()
for d in "$RUN"/node[1-9]; do
	[[ -d $d ]] || continue
	"$KM_CLUSTER_DIR/node.sh" down "${d##*node}" &
	pids+=($!)
done
for p in "${pids[@]}"; do wait "$p" || die "a node could not be taken down"; done
((${#pids[@]} == 0)) || say "nodes down"
for name in volumes dns dnsmasq; do daemon_stop $name; done
kube_stop
host_restore
rm -rf "${RUN:?}"/{dns,volumes,log,pids,boot,version,complete,pki.new,kubeconfig}
rmdir /var/lib/kubelet /var/log/pods /var/log/containers 2> /dev/null || true
if [[ ${1:-} == --purge ]]; then
	! grep -qF " $RUN/" /proc/mounts || die "still mounted: $(grep -F " $RUN/" /proc/mounts)"
	rm -rf "${RUN:?}"
fi
say "down"
