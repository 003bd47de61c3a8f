#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# control-plane.sh up|down|status [--purge]
# A light control plane without nodes: etcd, API server (RBAC on), controller manager. It starts in seconds, on free
# ports of loopback, beside the full cluster and beside others of its kind.
#
#   INSTANCE=NAME    one of several (letters, digits, dashes); the run state is $KM_RUN-light[-NAME]
#   KM_AUDIT=1       write $RUN/log/audit.log, one JSON line per finished request
#
# "up" is idempotent, starts what has died, and prints one line on stdout: the path of the KUBECONFIG. Progress goes
# to stderr. "down" ends it and throws its objects away (certificates stay; --purge removes them too).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
. "$KM_CLUSTER_DIR/lib/pki.sh"
. "$KM_CLUSTER_DIR/lib/kube.sh"

INSTANCE=${INSTANCE:-}
[[ $INSTANCE =~ ^[a-zA-Z0-9-]{0,32}$ ]] || die "INSTANCE must be letters, digits and dashes"
RUN=$KM_RUN-light${INSTANCE:+-$INSTANCE}
API_BIND=${KM_LIGHT_BIND:-127.0.0.1}
API_ADVERTISE=${KM_LIGHT_ADVERTISE:-10.200.0.1}

port_free() { ! (: < "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

# choose_ports: four neighbouring ports nobody uses and no other instance has taken; kept in $RUN/ports
choose_ports() {
	local base taken
	if [[ -s $RUN/ports ]]; then
		base=$(< "$RUN/ports")
	else
		(
			lock "$KM_RUN-light.ports.lock"
			taken=$(cat "$KM_RUN"-light*/ports 2> /dev/null || true)
			for ((base = ${KM_LIGHT_PORT:-16440}; base < 17440; base += 10)); do
				[[ $'\n'$taken$'\n' != *$'\n'$base$'\n'* ]] || continue
				if port_free "$base" && port_free $((base + 1)) && port_free $((base + 2)) && port_free $((base + 3)); then
					echo "$base" > "$RUN/ports"
					exit 0
				fi
			done
			die "no free ports"
		)
		base=$(< "$RUN/ports")
	fi
	API_PORT=$base ETCD_PORT=$((base + 1)) ETCD_PEER_PORT=$((base + 2)) KCM_PORT=$((base + 3)) SCHEDULER_PORT=0
}

running() { daemon_alive etcd && daemon_alive apiserver && daemon_alive kcm; }

up() {
	"$KM_CLUSTER_DIR/build-kubernetes.sh"
	mkdir -p "$RUN/log"
	choose_ports
	pki_valid || {
		kube_stop
		pki_make 0
		say "certificates"
	}
	# After a reboot nothing of the old objects is worth keeping; a half-made etcd folder or another version's is not either.
	[[ $(cat "$RUN/version" 2> /dev/null) == "$KUBERNETES_VERSION" ]] || kube_stop
	running || [[ -s $RUN/boot && $(< "$RUN/boot") == "$(proc_boot_id)" ]] || kube_stop
	proc_boot_id > "$RUN/boot"
	echo "$KUBERNETES_VERSION" > "$RUN/version"
	running && [[ -s $RUN/kubeconfig/admin ]] && kube_wait_api && return 0
	: > "$RUN/log/apiserver.log"
	kubeconfig_write admin 127.0.0.1
	kubeconfig_write kcm 127.0.0.1
	kube_etcd
	kube_apiserver
	kube_wait_api
	say "API server ready on port $API_PORT"
	kube_controller_manager
	kube_wait_controllers
	say "controllers work"
}

down() {
	kube_stop
	rm -rf "${RUN:?}"/{pids,log,boot,version,ports}
	[[ ${1:-} != --purge ]] || rm -rf "$RUN"
}

status() {
	local name rc=0
	for name in etcd apiserver kcm; do
		if daemon_alive $name; then echo "$name: running, pid $(daemon_pid $name)"; else echo "$name: not running"; rc=1; fi
	done
	echo "KUBECONFIG=$RUN/kubeconfig/admin"
	return $rc
}

case ${1:-} in
	up)
		lock "$RUN.lock" >&2
		up >&2
		echo "$RUN/kubeconfig/admin"
		;;
	down)
		lock "$RUN.lock" >&2
		down "${2:-}"
		;;
	status) status ;;
	*)
		sed -n '3,12s/^# \{0,1\}//p' "$0" >&2
		exit 2
		;;
esac
