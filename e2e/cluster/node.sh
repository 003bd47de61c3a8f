#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# node.sh VERB N…: one node of the full cluster, or several
#   up       start what does not run: containerd, kubelet, kube-proxy; the node's folder and images are kept
#   crash    the machine is gone: everything on it dies at once, what is on disk stays; "up" brings it back
#   cut      N >= 2: its network cable is pulled (no API server, DNS, other nodes); "heal" plugs it in
#   heal
#   down     end it and throw away everything but its image store
#   load     import the archives of $KM_IMAGES and $KM_RUN/images it does not have yet
#   enter N CMD…   run a command on the node
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
. "$KM_CLUSTER_DIR/lib/node.sh"
RUN=$KM_RUN

node_ctr() { ctr --address "$D/containerd.sock" --namespace k8s.io "$@"; }

# archive_id FILE: digest of what an archive holds
archive_id() { tar -xOf "$1" index.json 2> /dev/null | sha256sum | cut -d' ' -f1; }

# archive_images FILE: names of the images that an archive holds (OCI, else docker)
archive_images() {
	{ tar -xOf "$1" index.json || tar -xOf "$1" manifest.json; } 2> /dev/null |
		jq -r 'if type == "array" then .[].RepoTags[]? else .manifests[].annotations["io.containerd.image.name"] // empty end'
}

# has_images NAMES WANTED: whether all wanted ones are among the names, each on a line of its own
has_images() { [[ -z $(comm -13 <(sort <<< "$1") <(sort <<< "$2")) ]]; }

# load_images: import each archive unless its content was imported before and its images are still there. They are
# pinned: kubelet, which removes images when its disk is nearly full, could not pull them again.
load_images() {
	local archive stamp id names wanted name
	mkdir -p "$D/containerd/root/imported"
	names=$(node_ctr images ls -q)
	for archive in "$KM_IMAGES"/*.oci.tar "$RUN"/images/*.tar; do
		[[ -s $archive ]] || continue
		stamp=$D/containerd/root/imported/${archive##*/}
		id=$(archive_id "$archive")
		wanted=$(archive_images "$archive")
		if [[ $(cat "$stamp" 2> /dev/null) == "$id" ]] && has_images "$names" "$wanted"; then continue; fi
		"$D/enter" ctr --address "$D/containerd.sock" --namespace k8s.io images import "$archive" >> "$RUN/log/import$N.log" 2>&1 ||
			die "node$N cannot import $archive, log: $RUN/log/import$N.log"
		while read -r name; do
			[[ -z $name ]] || node_ctr images label "$name" io.cri-containerd.pinned=pinned > /dev/null
		done <<< "$wanted"
		echo "$id" > "$stamp"
		say "node$N: image ${archive##*/} imported"
	done
}

containerd_up() {
	daemon_ensure "containerd$N" "$D/enter" containerd --config "$D/containerd.toml"
	wait_for 30 node_ctr version || { daemon_check "containerd$N"; die "node$N: containerd does not answer"; }
}

# forget_containers: a new node starts without the containers its image store remembers from an earlier life
forget_containers() {
	local ids
	ids=$(node_ctr containers ls -q)
	[[ -n $ids ]] || return 0
	# shellcheck disable=SC2086
	node_ctr containers delete $ids > /dev/null 2>&1 || true
	daemon_stop "containerd$N"
	containerd_up
}

node_up() {
	mkdir -p "$D"
	node_cgroups_make
	node_network
	node_namespace
	node_config_containerd
	node_config_kubelet
	containerd_up
	[[ -e $D/kubelet ]] || forget_containers
	load_images
	mkdir -p "$D/kubelet" "$D/volumes"
	# kubelet would wait seconds for a cloud's metadata service otherwise
	daemon_ensure "kubelet$N" "$D/enter" env AWS_EC2_METADATA_DISABLED=true kubelet --config="$D/kubelet.yaml" \
		--kubeconfig="$RUN/kubeconfig/node$N" --root-dir="$D/kubelet" --cert-dir="$D/self-signed" \
		--v="${KM_KUBELET_V:-0}" --hostname-override="node$N" --node-ip="${KM_HOST_IP%.*}.$N"
	daemon_ensure "proxy$N" "$D/enter" kube-proxy --config="$D/proxy.yaml"
}

node_crash() {
	node_kill_all keep
	rm -f "$RUN/pids/kubelet$N" "$RUN/pids/proxy$N" "$RUN/pids/containerd$N"
}

node_down() {
	node_kill_all
	rm -f "$RUN/pids/kubelet$N" "$RUN/pids/proxy$N" "$RUN/pids/containerd$N" "$RUN/pids/ns$N"
	node_network_remove
	node_cgroups_remove
	# The namespace's mounts went with its last process. Should one be there nevertheless, nothing below may be removed.
	! grep -qF " $D/" /proc/mounts || die "node$N: still mounted: $(grep -F " $D/" /proc/mounts)"
	[[ ! -d $D ]] || find "$D" -mindepth 1 -maxdepth 1 ! -name containerd -exec rm -rf {} +
	rm -rf "$D/containerd/state"
}

link() {
	((N >= 2)) || die "node1 shares the host's network, it cannot be cut"
	ip link set "kmv$N" "$1"
}

verb=${1:-}
[[ $verb =~ ^(up|crash|cut|heal|down|load|enter)$ && ${2:-} =~ ^[1-9]$ ]] || { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
shift
if [[ $verb == enter ]]; then
	script=$RUN/node$1/enter
	shift
	exec "$script" "$@"
fi
lock "$RUN.lock"
for N in "$@"; do
	D=$RUN/node$N
	[[ $verb == up || -d $D ]] || die "there is no node$N"
	((N <= KM_MAX_NODES)) || die "at most $KM_MAX_NODES nodes"
	case $verb in
		up) node_up ;;
		crash) node_crash ;;
		cut) link down ;;
		heal) link up ;;
		down) node_down ;;
		load) load_images ;;
	esac
done
