#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# up.sh: bring up the full local Kubernetes, or heal it. Idempotent: nothing to do costs a fraction of a second.
#
#   KUBERNETES_VERSION=1.36.3  which one; when another one runs, the cluster starts anew
#   NODES=3      number of nodes, also as first argument (default 1); more can be added while it runs, none is taken away
#   KM_AUDIT=1   at the API server's start: write $KM_RUN/log/audit.log, one JSON line per finished request
#   KM_RUN=DIR   where it lives (default /var/lib/kube-mysql-e2e)
#
# What is missing is installed (deps.sh) and built (build-kubernetes.sh, images.sh). Daemons that died are started
# again and the cluster keeps its objects; after a reboot of the machine, or when its certificates are damaged, it
# starts anew, with the image stores it had. Its kubeconfig is $KM_RUN/kubeconfig/admin.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/full.sh"

((EUID == 0)) || die "root is needed"
lock "$RUN.lock"
mkdir -p "$RUN/log"
mapfile -t present < <(full_nodes)
NODES=${NODES:-${1:-1}}
[[ $NODES =~ ^[1-$KM_MAX_NODES]$ ]] || die "NODES must be 1 to $KM_MAX_NODES"
mapfile -t wanted < <({ seq "$NODES"; printf '%s\n' "${present[@]}"; } | grep . | sort -nu)

all_well() {
	local n
	pki_valid && full_alive "${wanted[@]}" && [[ -e $RUN/complete && $(cat "$RUN/version") == "$KUBERNETES_VERSION" && $(cat "$RUN/boot") == "$(proc_boot_id)" && $(cat /sys/class/net/$KM_BRIDGE/ifalias 2> /dev/null) == "$RUN" ]] || return 1
	kube_wait_api
	for n in "${wanted[@]}"; do full_node_ready "$n" || return 1; done
	"$KM_CLUSTER_DIR/node.sh" load "${wanted[@]}"
}

# start_anew: throw away what an earlier boot, or a cluster with other certificates, left
start_anew() {
	say "$1: starting anew"
	"$KM_CLUSTER_DIR/down.sh"
	mkdir -p "$RUN/log"
}

cluster_objects() {
	kctl apply -f - > /dev/null << END
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: $KM_PROVISIONER
parameters: {kind: folder}
reclaimPolicy: Delete
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fixed-size}
provisioner: $KM_PROVISIONER
parameters: {kind: folder}
reclaimPolicy: Delete
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: false
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: small-fs}
provisioner: $KM_PROVISIONER
parameters: {kind: filesystem}
reclaimPolicy: Delete
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: kube-proxy}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:node-proxier}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: system:kube-proxy}]
END
}

dns_up() {
	mkdir -p "$RUN/dns"
	[[ -e $RUN/dns/hosts ]] || : > "$RUN/dns/hosts"
	daemon_ensure dnsmasq dnsmasq --keep-in-foreground --conf-file=/dev/null --user=root --pid-file= --no-resolv --no-hosts \
		--addn-hosts="$RUN/dns/hosts" --listen-address=$KM_HOST_IP --bind-interfaces --local=/cluster.local/ \
		--local=/in-addr.arpa/ --address=/#/ --no-negcache --log-facility=-
	daemon_ensure dns "$KM_CLUSTER_DIR/dns.sh"
}

control_plane_up() {
	local name
	for name in admin scheduler proxy $(seq -f node%g $KM_MAX_NODES); do kubeconfig_write "$name" $KM_HOST_IP; done
	kubeconfig_write kcm 127.0.0.1
	kube_etcd
	kube_apiserver
	kube_wait_api
	say "API server ready"
	kube_controller_manager
	kube_scheduler
	cluster_objects
	dns_up
	daemon_ensure volumes "$KM_CLUSTER_DIR/volumes.sh"
}

nodes_up() {
	local n pids=()
	for n in "${wanted[@]}"; do
		"$KM_CLUSTER_DIR/node.sh" up "$n" &
		pids+=($!)
	done
	# never a bare wait: the daemons are children too
	for n in "${pids[@]}"; do wait "$n" || die "a node did not start"; done
	kube_wait_controllers
	say "controllers work"
	for n in "${wanted[@]}"; do
		wait_for 120 full_node_ready "$n" || die "node$n is not Ready, logs: $RUN/log/kubelet$n.log"
		say "node$n Ready"
	done
}

if all_well; then
	say "up: ${#wanted[@]} node(s), KUBECONFIG=$RUN/kubeconfig/admin"
	exit 0
fi
"$KM_CLUSTER_DIR/deps.sh"
"$KM_CLUSTER_DIR/build-kubernetes.sh"
"$KM_CLUSTER_DIR/images.sh"
ulimit -n 20000 2> /dev/null || true
host_bridge
if [[ -s $RUN/boot && $(< "$RUN/boot") != "$(proc_boot_id)" ]]; then start_anew "the machine was restarted"; fi
if [[ -s $RUN/boot && $(cat "$RUN/version" 2> /dev/null) != "$KUBERNETES_VERSION" ]]; then start_anew "another version of Kubernetes ran"; fi
pki_valid || {
	[[ ! -d $RUN/pki ]] || start_anew "certificates are damaged"
	pki_make $KM_MAX_NODES
	say "certificates made"
}
proc_boot_id > "$RUN/boot"
echo "$KUBERNETES_VERSION" > "$RUN/version"
host_bridge
host_settings
host_netns_mount
control_plane_up
nodes_up
for name in "${FULL_DAEMONS[@]}"; do daemon_check "$name"; done
touch "$RUN/complete"
say "up: ${#wanted[@]} node(s), KUBECONFIG=$RUN/kubeconfig/admin"
[[ ! -e $KM_IMAGES/mysql.unavailable ]] || warn "no MySQL image: $(head -n 1 "$KM_IMAGES/mysql.unavailable")"
