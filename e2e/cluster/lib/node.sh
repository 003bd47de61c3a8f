# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Parts of a node: its namespaces, cgroups, processes and configuration files. Source env.sh first; the caller sets
#   RUN  N (number)  D ($RUN/nodeN, the node's folder)
#
# Every node has its own mount namespace, because kubelet has /var/log/pods, /var/log/containers and
# /var/lib/kubelet/device-plugins hard-coded, and so that all mounts of pods vanish with the node. A holder process
# keeps it. In it a tmpfs named "kube-mysql-node:$D" lies over /run/netns: the mark by which the node's processes
# (containerd, shims, kubelet, kube-proxy, whatever they started) are known for certain.
# node1 lives in the host's network namespace, the others in their own, joined by the bridge.

node_mark() { printf 'kube-mysql-node:%s' "$D"; }

# node_processes: pids in the node's mount namespace
node_processes() {
	grep -lF " $(node_mark) " /proc/[0-9]*/mountinfo 2> /dev/null | cut -d/ -f3 || true
}

# The node's cgroup: one folder in each version 1 hierarchy, or a single one of version 2.
node_cgroups() {
	local c
	if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
		echo "/sys/fs/cgroup/kube-mysql-node$N"
		return
	fi
	for c in /sys/fs/cgroup/*/; do
		[[ ! -e ${c}cgroup.procs ]] || echo "${c}kube-mysql-node$N"
	done
}

node_cgroups_make() {
	local c f
	if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
		echo "+cpu +cpuset +memory +pids +io" > /sys/fs/cgroup/cgroup.subtree_control
	fi
	for c in $(node_cgroups); do
		mkdir -p "$c"
		for f in cpuset.cpus cpuset.mems; do
			[[ ! -e $c/$f || ! -s ${c%/*}/$f || -n $(< "$c/$f") ]] || cat "${c%/*}/$f" > "$c/$f"
		done
		[[ $c != /sys/fs/cgroup/kube-mysql-node* ]] || echo "+cpu +cpuset +memory +pids +io" > "$c/cgroup.subtree_control"
	done
}

# node_cgroup_processes: pids of all containers
node_cgroup_processes() {
	local c
	for c in $(node_cgroups); do
		[[ ! -d $c ]] || find "$c" -name cgroup.procs -exec cat {} + 2> /dev/null || true
	done | sort -un
}

node_cgroups_remove() {
	local c
	for c in $(node_cgroups); do
		[[ ! -d $c ]] || find "$c" -depth -type d -exec rmdir {} + 2> /dev/null || true
	done
}

# node_kill_all [keep]: KILL everything on the node at once; "keep" spares the namespace's holder
# shellcheck disable=SC2120 # node.sh passes "keep"
node_kill_all() {
	local holder='' round pids
	[[ ${1:-} != keep ]] || holder=$(daemon_pid "ns$N") || true
	for ((round = 0; round < 50; round++)); do
		pids=$({ node_processes; node_cgroup_processes; } | grep -vx "${holder:-0}" || true)
		# a zombie keeps its place in the cgroup until it is reaped; it counts as gone
		pids=$(for p in $pids; do proc_start_time "$p" > /dev/null && echo "$p"; done || true)
		[[ -n $pids ]] || return 0
		# shellcheck disable=SC2086
		kill -KILL $pids 2> /dev/null || true
		sleep 0.1
	done
	warn "node$N: processes remain: $pids"
}

# node_network: addresses and routes. Pods on different nodes reach each other without masquerade.
node_network() {
	local net=kmn$N prefix=${KM_HOST_IP%.*} i
	((N != 1)) || return 0
	if ! ip netns exec "$net" true 2> /dev/null || ! ip -n "$net" link show eth0 > /dev/null 2>&1; then
		node_network_remove
		ip netns add "$net"
		ip link add "kmv$N" type veth peer name eth0 netns "$net"
		ip link set "kmv$N" master "$KM_BRIDGE" up
		ip -n "$net" link set lo up
		ip -n "$net" addr add "$prefix.$N/24" dev eth0
		ip -n "$net" link set eth0 up
		ip -n "$net" route add default via "$KM_HOST_IP"
		ip netns exec "$net" sysctl -qw net.ipv4.ip_forward=1
		ip netns exec "$net" sysctl -qw net.bridge.bridge-nf-call-iptables=1 2> /dev/null || true
	fi
	ip link set "kmv$N" up
	ip route replace "10.244.$N.0/24" via "$prefix.$N"
	for ((i = 2; i <= KM_MAX_NODES; i++)); do
		((i == N)) || ip -n "$net" route replace "10.244.$i.0/24" via "$prefix.$i"
	done
}

node_network_remove() {
	ip link del "kmv$N" 2> /dev/null || true
	ip netns del "kmn$N" 2> /dev/null || true
	rm -f "/run/netns/kmn$N" 2> /dev/null || true
}

# node_namespace: the holder and $D/enter, a script that runs a command on the node
node_namespace() {
	local net=''
	((N == 1)) || net="--net=/run/netns/kmn$N"
	mkdir -p "$D/logpods" "$D/logcontainers" "$D/varlibkubelet" /var/log/pods /var/log/containers /var/lib/kubelet /run/netns
	if ! daemon_alive "ns$N"; then
		node_kill_all # nothing may go on in a namespace that lost its holder
		rm -f "$D/ns-ready"
		# shellcheck disable=SC2016
		daemon_start "ns$N" unshare --mount --uts --propagation private sh -ec '
			hostname "$2"
			mount --bind "$1/logpods" /var/log/pods
			mount --bind "$1/logcontainers" /var/log/containers
			mount --bind "$1/varlibkubelet" /var/lib/kubelet
			mount -t tmpfs "$3" /run/netns
			: > "$1/ns-ready"
			exec sleep infinity' sh "$D" "node$N" "$(node_mark)"
		wait_for 10 test -e "$D/ns-ready" || die "node$N: no mount namespace, log: $RUN/log/ns$N.log"
	fi
	cat > "$D/enter.new" << END
#!/bin/sh
# enter CMD…: run a command on node$N (its mount, host name and network namespaces)
exec nsenter $net --mount=/proc/$(daemon_pid "ns$N")/ns/mnt --uts=/proc/$(daemon_pid "ns$N")/ns/uts "\$@"
END
	chmod +x "$D/enter.new"
	mv "$D/enter.new" "$D/enter"
}

node_config_containerd() {
	mkdir -p "$D/cni"
	cat > "$D/containerd.toml" << END
version = 3
root = "$D/containerd/root"
state = "$D/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.erofs", "io.containerd.snapshotter.v1.blockfile", "io.containerd.internal.v1.opt", "io.containerd.nri.v1.nri"]
[grpc]
  address = "$D/containerd.sock"
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "registry.local/pause:1"
[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true   # works without CAP_SYS_RESOURCE, where runc would fail with a misleading message
  [plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
        BinaryName = "/usr/sbin/runc"
        SystemdCgroup = false
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "$D/cni"
END
	cat > "$D/cni/10-bridge.conflist" << END
{"cniVersion": "0.4.0", "name": "k8s$N", "plugins": [
 {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
  "ipam": {"type": "host-local", "dataDir": "$D/cni-ipam", "ranges": [[{"subnet": "10.244.$N.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
	echo '{"cniVersion": "0.4.0", "name": "lo", "type": "loopback"}' > "$D/cni/99-loopback.conf"
}

node_config_kubelet() {
	: > "$D/resolv.conf"
	cat > "$D/kubelet.yaml" << END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 0.0.0.0
port: 10250
readOnlyPort: 0
healthzBindAddress: 127.0.0.1
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $RUN/pki/ca.crt}}
authorization: {mode: Webhook}
tlsCertFile: $RUN/pki/node$N.crt
tlsPrivateKeyFile: $RUN/pki/node$N.key
volumePluginDir: $D/flexvolume
cgroupDriver: cgroupfs
containerRuntimeEndpoint: unix://$D/containerd.sock
cgroupRoot: /kube-mysql-node$N
cgroupsPerQOS: true
enforceNodeAllocatable: [pods]
failSwapOn: false
clusterDNS: [$KM_HOST_IP]
clusterDomain: cluster.local
resolvConf: $D/resolv.conf
podCIDR: 10.244.$N.0/24
maxPods: 100
kubeAPIQPS: 50
kubeAPIBurst: 100
evictionHard: {memory.available: 100Mi, nodefs.available: "1%", imagefs.available: "1%", nodefs.inodesFree: "1%"}
imageGCHighThresholdPercent: 100   # imported images are never removed: there is no registry to pull them from
imageGCLowThresholdPercent: 99
nodeStatusUpdateFrequency: 4s
syncFrequency: 10s
END
	! kubernetes_since 31 || echo "failCgroupV1: false" >> "$D/kubelet.yaml"
	cat > "$D/proxy.yaml" << END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
bindAddress: 0.0.0.0
clientConnection: {kubeconfig: $RUN/kubeconfig/proxy}
clusterCIDR: $KM_POD_CIDR
hostnameOverride: node$N
mode: iptables
conntrack: {maxPerCore: 0}
iptables: {minSyncPeriod: 0s, syncPeriod: 30s}
metricsBindAddress: 127.0.0.1:10249
END
}
