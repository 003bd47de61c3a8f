# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The host's part of the full cluster: bridge, system settings, leftovers. Source env.sh first; the caller sets RUN.

HOST_SYSCTLS=(net.ipv4.ip_forward net.bridge.bridge-nf-call-iptables vm.overcommit_memory kernel.panic_on_oops)

# host_settings: what kubelet and the pods' network need; the old values are kept for host_restore
host_settings() {
	local key
	if [[ ! -s $RUN/sysctl.saved ]]; then
		for key in "${HOST_SYSCTLS[@]}"; do
			[[ ! -e /proc/sys/${key//.//} ]] || echo "$key=$(sysctl -n "$key")"
		done > "$RUN/sysctl.new"
		mv "$RUN/sysctl.new" "$RUN/sysctl.saved"
	fi
	for key in "${HOST_SYSCTLS[@]}"; do sysctl -qw "$key=1" 2> /dev/null || true; done
}

# host_bridge: make it, or fail when another run folder's cluster owns it
host_bridge() {
	local owner
	if ip link show "$KM_BRIDGE" > /dev/null 2>&1; then
		owner=$(cat "/sys/class/net/$KM_BRIDGE/ifalias")
		[[ -z $owner || $owner == "$RUN" ]] || die "the full cluster of $owner is up; only one can be (KM_RUN=$owner down.sh ends it)"
	else
		ip link add "$KM_BRIDGE" type bridge
	fi
	ip link set "$KM_BRIDGE" alias "$RUN"
	ip addr replace "$KM_HOST_IP/24" dev "$KM_BRIDGE"
	ip link set "$KM_BRIDGE" up
}

# host_netns_mount: `ip netns add` would bind /run/netns over itself; done once here and shared, its files stay removable
host_netns_mount() {
	mkdir -p /run/netns
	mountpoint -q /run/netns && return 0
	mount --bind /run/netns /run/netns
	mount --make-shared /run/netns
	touch "$RUN/netns-mounted"
}

# host_iptables_clean: remove all chains of kube-proxy and kubelet, and the rules that jump to them; nothing else
host_iptables_clean() {
	local family table rules
	for family in iptables ip6tables; do
		for table in filter nat mangle raw; do
			rules=$($family-save -t $table 2> /dev/null | awk -v t="$table" '
				BEGIN { print "*" t }
				/^:KUBE-/ { name = substr($1, 2); flush = flush "-F " name "\n"; drop = drop "-X " name "\n" }
				/^-A / && $2 !~ /^KUBE-/ && / -[jg] KUBE-/ { sub(/^-A/, "-D"); unhook = unhook $0 "\n" }
				END { printf "%s%s%sCOMMIT\n", unhook, flush, drop }')
			[[ $rules != *-X* ]] || $family-restore --noflush <<< "$rules" || warn "chains of $family $table remain"
		done
	done
}

# host_restore: undo all of the above
host_restore() {
	host_iptables_clean
	if [[ ! -e /sys/class/net/$KM_BRIDGE || $(cat "/sys/class/net/$KM_BRIDGE/ifalias") == "$RUN" ]]; then
		ip link del cni0 2> /dev/null || true
		ip link del "$KM_BRIDGE" 2> /dev/null || true
	fi
	if [[ -e $RUN/netns-mounted && -z $(ls -A /run/netns 2> /dev/null) ]]; then
		umount /run/netns 2> /dev/null || true
	fi
	rm -f "$RUN/netns-mounted"
	if [[ -s $RUN/sysctl.saved ]]; then
		sysctl -qp "$RUN/sysctl.saved" > /dev/null 2>&1 || true
		rm -f "$RUN/sysctl.saved"
	fi
}
