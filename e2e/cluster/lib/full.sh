# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What up.sh, down.sh, status.sh and load-image.sh share about the full cluster.
# shellcheck source=env.sh
. "$(dirname "${BASH_SOURCE[0]}")/../env.sh"
# shellcheck source=lib/pki.sh
. "$KM_CLUSTER_DIR/lib/pki.sh"
# shellcheck source=lib/kube.sh
. "$KM_CLUSTER_DIR/lib/kube.sh"
# shellcheck source=lib/host.sh
. "$KM_CLUSTER_DIR/lib/host.sh"

# shellcheck disable=SC2034
RUN=$KM_RUN API_BIND=0.0.0.0 API_ADVERTISE=$KM_HOST_IP API_PORT=6443 ETCD_PORT=2379 ETCD_PEER_PORT=2380 KCM_PORT=10257 SCHEDULER_PORT=10259

FULL_DAEMONS=(etcd apiserver kcm scheduler dnsmasq dns volumes)

# full_nodes: numbers of the nodes that have a folder with more than an image store
full_nodes() {
	local d
	for d in "$RUN"/node[1-9]; do [[ ! -d $d/kubelet ]] || echo "${d##*node}"; done
}

# full_alive [NODES…]: every daemon lives
full_alive() {
	local name n
	for name in "${FULL_DAEMONS[@]}"; do daemon_alive "$name" || return 1; done
	for n in "$@"; do
		for name in ns containerd kubelet proxy; do daemon_alive "$name$n" || return 1; done
	done
}

# full_node_ready N: the API says Ready, and the kubelet itself answers (the API learns of a dead one late)
full_node_ready() {
	curl -sf -k -m 2 --cert "$RUN/pki/apiserver-kubelet.crt" --key "$RUN/pki/apiserver-kubelet.key" \
		"https://${KM_HOST_IP%.*}.$1:10250/healthz" > /dev/null &&
		[[ $(kctl get node "node$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}' 2> /dev/null) == True ]]
}
