#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# selftest.sh [STORY…]: prove that the local Kubernetes works and recovers. Stories: light, basic, leftovers, nodes
# (default: all of them). Needs that no full cluster is up, or KM_SELFTEST_FORCE=1 to take it down first. The last
# line is "selftest ok"; anything unexpected ends it with "FAILED" and what was expected.
# shellcheck disable=SC2016  # conditions are evaluated each time they are polled
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/full.sh"
export KUBECONFIG=$RUN/kubeconfig/admin
C=$KM_CLUSTER_DIR
foreign=''

fail() {
	printf 'FAILED: %s\n' "$*" >&2
	exit 1
}

# check TEXT CMD…: CMD must succeed
check() {
	local text=$1
	shift
	"$@" > /dev/null 2>&1 || fail "$text"
	say "ok: $text"
}

# until_true SECONDS TEXT CMD…
until_true() {
	local seconds=$1 text=$2
	shift 2
	wait_for "$seconds" "$@" 2> /dev/null || fail "$text (waited $seconds s)"
	say "ok: $text"
}

ktest() { timeout 20 kubectl -n km-selftest "$@"; }
pods_ready() { [[ $(ktest get statefulset db -o 'jsonpath={.status.readyReplicas}') == "$1" ]]; }
answers() { [[ $(ktest exec "$1" -- mariadb -uroot -S/run/mysqld/s -Ne "$2" 2> /dev/null) == "$3" ]]; }
claim_size() { [[ $(ktest get pvc "$1" -o 'jsonpath={.status.capacity.storage}') == "$2" ]]; }

db_up() {
	kubectl create namespace km-selftest > /dev/null
	ktest apply -f "$C/selftest/db.yaml" > /dev/null
	until_true 60 "two databases are ready, non-root on local volumes" pods_ready 2
}

db_down() {
	# content first: a namespace that finds itself not empty yet looks again only after ever longer pauses
	timeout 60 kubectl -n km-selftest delete statefulset,pod,pvc --all > /dev/null
	kubectl delete namespace km-selftest --wait=false > /dev/null
	until_true 60 "the namespace is gone" eval '! kubectl get namespace km-selftest'
	until_true 20 "volumes are deleted with their data" eval '[[ -z $(kubectl get pv -o name) && -z $(ls -A "$RUN"/node*/volumes/ | grep pvc) ]]'
}

# remains: whatever of the full cluster is left on the machine
remains() {
	grep -F "$RUN/" /proc/mounts || true
	ip -o link | grep -E ' (k8s0|cni0|kmv[0-9]+)[:@]' || true
	{ iptables-save; ip6tables-save; } | grep KUBE- || true
	find /sys/fs/cgroup -maxdepth 2 -name 'kube-mysql-node*'
	find /run/netns -name 'kmn*' -o -name 'cni-*' 2> /dev/null || true
	losetup -a | grep -F "$RUN/" || true
	grep -lzF "KM_DAEMON=$RUN/" /proc/[0-9]*/environ 2> /dev/null || true
	grep -lF " kube-mysql-node:$RUN/" /proc/[0-9]*/mountinfo 2> /dev/null || true
}

take_down() {
	"$C/down.sh" "$@" > /dev/null
	local left
	left=$(remains)
	[[ -z $left ]] || fail "down.sh left: $left"
	say "ok: nothing remains after down.sh $*"
}

story_light() {
	local a b
	export INSTANCE=selftest-a KM_AUDIT=1
	a=$("$C/control-plane.sh" up 2> /dev/null)
	b=$(INSTANCE=selftest-b "$C/control-plane.sh" up 2> /dev/null)
	check "two light control planes side by side" test "$a" != "$b"
	kubectl --kubeconfig="$a" apply -f "$C/selftest/db.yaml" > /dev/null
	until_true 20 "controllers make the StatefulSet's pods and claims" eval \
		'[[ $(kubectl --kubeconfig='"$a"' get pods,pvc -o name | wc -l) == 3 || $(kubectl --kubeconfig='"$a"' get pods,pvc -o name | wc -l) == 4 ]]'
	check "the other one knows nothing of it" eval '[[ -z $(kubectl --kubeconfig='"$b"' get pods -o name) ]]'
	check "the audit log has the write" grep -q '"verb":"create".*statefulsets' "$KM_RUN-light-selftest-a/log/audit.log"
	check "status" "$C/control-plane.sh" status
	kill -KILL "$(RUN=$KM_RUN-light-selftest-a daemon_pid etcd)"
	"$C/control-plane.sh" up > /dev/null 2>&1
	check "a killed etcd is started again, objects are kept" kubectl --kubeconfig="$a" get statefulset db
	"$C/control-plane.sh" down --purge
	INSTANCE=selftest-b "$C/control-plane.sh" down --purge
	check "light control planes are gone" eval '! ls -d "$KM_RUN"-light-selftest-[ab]'
	unset INSTANCE KM_AUDIT
}

story_basic() {
	"$C/up.sh"
	local t=$SECONDS
	"$C/up.sh" > /dev/null
	check "a second up.sh has nothing to do" test $((SECONDS - t)) -le 3
	check "status.sh" "$C/status.sh"
	check "RBAC is on" eval '[[ $(kubectl auth can-i list secrets --as=system:serviceaccount:default:default) == no ]]'
	db_up
	check "DNS names of pods" ktest exec db-0 -- getent hosts db-1.db db-1.db.km-selftest.svc.cluster.local
	ktest patch pvc data-db-0 -p '{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}' > /dev/null
	until_true 10 "a claim grows" claim_size data-db-0 2Gi
	ktest apply -f "$C/selftest/small.yaml" > /dev/null
	until_true 30 "a pod on a small file system" ktest wait --for=condition=Ready pod/small --timeout=1s
	check "that can be full" eval '! ktest exec small -- dd if=/dev/zero of=/data/x bs=1M count=400'
	ktest patch pvc small -p '{"spec":{"resources":{"requests":{"storage":"600Mi"}}}}' > /dev/null
	until_true 10 "its claim grows" claim_size small 600Mi
	check "and its file system with it" ktest exec small -- dd if=/dev/zero of=/data/y bs=1M count=200
	db_down
	take_down
}

# cut_off SECONDS: kill up.sh in the middle of its work
cut_off() {
	{ timeout -s KILL "$1" "$C/up.sh" || true; } > /dev/null 2>&1
}

node1_images() { ctr --address "$RUN/node1/containerd.sock" --namespace k8s.io images "$@"; }

story_leftovers() {
	local name pid
	"$C/up.sh" > /dev/null
	db_up
	answers db-0 "create database kept; select 1" 1 || fail "cannot write"
	for name in "${FULL_DAEMONS[@]}" containerd1 kubelet1 proxy1; do kill -KILL "$(daemon_pid "$name")"; done
	"$C/up.sh" > /dev/null
	check "all daemons killed: healed" "$C/status.sh"
	until_true 60 "the databases go on" pods_ready 2
	until_true 20 "with their data" answers db-0 "show databases like 'kept'" kept
	node1_images rm registry.local/mariadb:10.11 > /dev/null
	check "an image is gone from a node" eval '! node1_images ls -q | grep -qx registry.local/mariadb:10.11'
	"$C/up.sh" > /dev/null
	check "it is imported again" eval 'node1_images ls -q | grep -qx registry.local/mariadb:10.11'
	check "and kubelet does not remove it" eval 'node1_images ls "name==registry.local/mariadb:10.11" | grep -q pinned=pinned'

	sleep 1000 &
	foreign=$!
	kill -KILL "$(daemon_pid scheduler)" "$(daemon_pid kubelet1)"
	echo "$foreign" > "$RUN/pids/scheduler"
	echo "$foreign 1 $(proc_boot_id)" > "$RUN/pids/kubelet1"
	"$C/up.sh" > /dev/null
	check "pid files that point at a foreign process: healed" "$C/status.sh"
	pid=$(daemon_pid volumes)
	rm "$RUN/pids/volumes"
	"$C/up.sh" > /dev/null
	check "a daemon whose pid file was lost is replaced" eval "! proc_start_time $pid"
	: > "$RUN/pki/apiserver.crt"
	"$C/up.sh" > /dev/null
	check "a half-written certificate: it runs" "$C/status.sh"
	kubectl create namespace km-selftest > /dev/null
	echo "an earlier boot" > "$RUN/boot"
	"$C/up.sh" > /dev/null
	check "after a restart of the machine: it runs" "$C/status.sh"
	check "and was started anew" eval '! kubectl get namespace km-selftest'

	db_up
	echo "$foreign 1 $(proc_boot_id)" > "$RUN/pids/dns"
	kill -KILL "$(daemon_pid containerd1)" "$(daemon_pid ns1)"
	take_down
	check "the foreign process was left alone" proc_start_time "$foreign"
	for name in 0.4 1.5 4 9; do
		cut_off "$name"
		"$C/up.sh" > /dev/null
		check "up.sh cut off after $name s: the next one succeeds" "$C/status.sh"
		take_down
	done
	cut_off 6
	take_down --purge
	check "a purge leaves no run folder" test ! -e "$RUN"
}

node_is() { [[ $(kubectl get node "$1" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') == "$2" ]]; }

story_nodes() {
	NODES=2 "$C/up.sh"
	db_up
	# one pod for each node, by hand, to see the network between them
	check "a pod runs on each node" eval '[[ $(ktest get pods -o "jsonpath={.items[*].spec.nodeName}" | tr " " "\n" | sort -u | wc -l) == 2 ]]'
	check "names across nodes" ktest exec db-0 -- getent hosts db-1.db
	check "packets across nodes" ktest exec db-0 -- bash -c 'exec 3<> /dev/tcp/db-1.db/3306'
	"$C/node.sh" cut 2
	until_true 40 "a node cut off is NotReady" node_is node2 Unknown
	"$C/node.sh" heal 2
	until_true 40 "healed, it is Ready" node_is node2 True
	"$C/node.sh" crash 2
	until_true 40 "a crashed node is NotReady" node_is node2 Unknown
	"$C/node.sh" up 2
	until_true 60 "started again, it is Ready" node_is node2 True
	until_true 90 "the database on it runs again" pods_ready 2
	take_down
}

((EUID == 0)) || die "root is needed"
(($#)) || set -- light basic leftovers nodes
if "$C/status.sh" > /dev/null && [[ "$*" != light ]]; then
	[[ ${KM_SELFTEST_FORCE:-} == 1 ]] || die "a full cluster is up; KM_SELFTEST_FORCE=1 takes it down first"
	"$C/down.sh"
fi
trap '[[ -z $foreign ]] || kill $foreign 2> /dev/null || true' EXIT
for story in "$@"; do
	[[ $(type -t "story_$story") == function ]] || die "no such story: $story"
	say "story: $story"
	"story_$story"
done
say "selftest ok"
