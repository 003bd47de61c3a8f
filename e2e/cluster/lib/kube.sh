# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# etcd, API server, controller manager and scheduler of one cluster. Source env.sh and lib/pki.sh first; the caller sets
#   RUN  API_BIND  API_ADVERTISE  API_PORT  ETCD_PORT  ETCD_PEER_PORT  KCM_PORT  SCHEDULER_PORT
# State: $RUN/etcd, pids in $RUN/pids, logs in $RUN/log. All client ports but the API server's are on loopback.

kube_etcd() {
	local url=http://127.0.0.1
	daemon_ensure etcd etcd --name=local --data-dir="$RUN/etcd" \
		--listen-client-urls="$url:$ETCD_PORT" --advertise-client-urls="$url:$ETCD_PORT" \
		--listen-peer-urls="$url:$ETCD_PEER_PORT" --initial-advertise-peer-urls="$url:$ETCD_PEER_PORT" \
		--initial-cluster="local=$url:$ETCD_PEER_PORT" --logger=zap --log-level=warn --quota-backend-bytes=4294967296
	# An API server takes most of a minute to trust an etcd that came back; a new one takes seconds.
	((DAEMON_STARTED == 0)) || daemon_stop apiserver KILL
}

# kube_audit_options: with KM_AUDIT=1 one line of JSON per finished request, without bodies, in $RUN/log/audit.log
kube_audit_options() {
	[[ ${KM_AUDIT:-0} == 1 ]] || return 0
	cat > "$RUN/audit-policy.yaml" << END
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules: [{level: Metadata}]
END
	printf '%s\n' "--audit-policy-file=$RUN/audit-policy.yaml" "--audit-log-path=$RUN/log/audit.log" --audit-log-mode=blocking \
		--audit-log-maxsize=500 --audit-log-maxbackup=2
}

kube_apiserver() {
	local pki=$RUN/pki audit=()
	mapfile -t audit < <(kube_audit_options)
	daemon_ensure apiserver kube-apiserver --etcd-servers="http://127.0.0.1:$ETCD_PORT" \
		--bind-address="$API_BIND" --secure-port="$API_PORT" --advertise-address="$API_ADVERTISE" \
		--tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" --cert-dir="$RUN/self-signed" \
		--kubelet-client-certificate="$pki/apiserver-kubelet.crt" --kubelet-client-key="$pki/apiserver-kubelet.key" \
		--kubelet-preferred-address-types=InternalIP \
		--service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
		--requestheader-client-ca-file="$pki/ca.crt" --requestheader-allowed-names=front-proxy --requestheader-username-headers=X-Remote-User \
		--requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra- \
		--proxy-client-cert-file="$pki/frontproxy.crt" --proxy-client-key-file="$pki/frontproxy.key" \
		--authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged=true \
		--service-cluster-ip-range="$KM_SERVICE_CIDR" --event-ttl=1h --profiling=false \
		--default-not-ready-toleration-seconds="${KM_TOLERATION_S:-30}" --default-unreachable-toleration-seconds="${KM_TOLERATION_S:-30}" \
		${audit[@]+"${audit[@]}"}
}

kube_controller_manager() {
	local config=$RUN/kubeconfig/kcm pki=$RUN/pki
	daemon_ensure kcm kube-controller-manager --kubeconfig="$config" --authentication-kubeconfig="$config" --authorization-kubeconfig="$config" \
		--bind-address=127.0.0.1 --secure-port="$KCM_PORT" --leader-elect=false --cert-dir="$RUN/self-signed" \
		--controllers='*,bootstrapsigner,tokencleaner' --pvclaimbinder-sync-period=2s --use-service-account-credentials=true \
		--flex-volume-plugin-dir="$RUN/flexvolume" \
		--service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" \
		--cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key" \
		--cluster-cidr="$KM_POD_CIDR" --allocate-node-cidrs=false --service-cluster-ip-range="$KM_SERVICE_CIDR" \
		--kube-api-qps=500 --kube-api-burst=1000 --concurrent-statefulset-syncs=20 \
		--node-monitor-period=2s --node-monitor-grace-period="${KM_NODE_GRACE:-16s}"
}

kube_scheduler() {
	local config=$RUN/kubeconfig/scheduler
	daemon_ensure scheduler kube-scheduler --kubeconfig="$config" --authentication-kubeconfig="$config" --authorization-kubeconfig="$config" \
		--bind-address=127.0.0.1 --secure-port="$SCHEDULER_PORT" --leader-elect=false --cert-dir="$RUN/self-signed" \
		--kube-api-qps=200 --kube-api-burst=400
}

# kctl ARGS…: kubectl as the cluster's administrator
kctl() { kubectl --kubeconfig="$RUN/kubeconfig/admin" "$@"; }

# kube_wait_api: until the API server answers ready; fails at once with its log when a daemon has ended
kube_wait_api() {
	local end=$((SECONDS + 90))
	until curl -sf -m 2 --cacert "$RUN/pki/ca.crt" --cert "$RUN/pki/admin.crt" --key "$RUN/pki/admin.key" \
		"https://127.0.0.1:$API_PORT/readyz" > /dev/null; do
		daemon_check etcd
		daemon_check apiserver
		((SECONDS < end)) || die "the API server is not ready; its log: $RUN/log/apiserver.log"
		sleep 0.1
	done
}

# kube_wait_controllers: until the controllers work, seen by what they make in every namespace
kube_wait_controllers() {
	# shellcheck disable=SC2016
	wait_for 60 eval '[[ -n $(kctl -n default get serviceaccount default -o name) && -n $(kctl -n default get configmap kube-root-ca.crt -o name) ]]' || {
		daemon_check kcm
		die "the controllers do not work; log: $RUN/log/kcm.log"
	}
}

# kube_stop: the state is thrown away, so nothing needs a gentle end
kube_stop() {
	local name
	for name in scheduler kcm apiserver etcd; do daemon_stop $name KILL; done
	rm -rf "$RUN/etcd" "$RUN/self-signed" "$RUN/flexvolume" "$RUN/audit-policy.yaml"
}
