#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dns.sh: keep dnsmasq's hosts file equal to the API's Services and Endpoints. Started by up.sh as a daemon.
# A record per pod of a headless Service (host name, or its address with dashes), the Service's own name, and back
# from the address to the pod's name. publishNotReadyAddresses holds because the endpoints controller puts such pods
# among the addresses. TTL 0; no SRV, no ExternalName, nothing outside the cluster.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
. "$KM_CLUSTER_DIR/lib/watch.sh"
RUN=$KM_RUN API_PORT=6443
D=$RUN/dns

write_hosts() {
	api /api/v1/services > "$D/services.json" && api /api/v1/endpoints > "$D/endpoints.json" || return 1
	jq -rn --slurpfile s "$D/services.json" --slurpfile e "$D/endpoints.json" '
		def domain: "\(.name).\(.namespace).svc.cluster.local";
		($s[0].items | map({key: "\(.metadata.namespace)/\(.metadata.name)", value: (.spec.clusterIP // "")}) | from_entries) as $ip
		| ($e[0].items[] | .metadata as $m | select($ip["\($m.namespace)/\($m.name)"] == "None")
			| .subsets[]?.addresses[]?
			| "\(.ip) \(.hostname // (.ip | gsub("\\."; "-"))).\($m | domain) \($m | domain)"),
		($s[0].items[] | select(.spec.clusterIP != "None" and (.spec.clusterIP // "") != "")
			| "\(.spec.clusterIP) \(.metadata | domain)")' | sort -u > "$D/hosts.new" || return 1
	cmp -s "$D/hosts.new" "$D/hosts" && return 0
	mv "$D/hosts.new" "$D/hosts"
	kill -HUP "$(daemon_pid dnsmasq)"
}

mkdir -p "$D"
watch_loop "$D/fifo" write_hosts /api/v1/services /api/v1/endpoints
