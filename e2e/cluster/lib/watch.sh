# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Loops that follow the API: used by dns.sh and volumes.sh. Source env.sh first; the caller sets RUN and API_PORT.

# api PATH [CURL OPTIONS]: one request as administrator
api() {
	local path=$1
	shift
	curl -sS --fail -m 10 --cacert "$RUN/pki/ca.crt" --cert "$RUN/pki/admin.crt" --key "$RUN/pki/admin.key" "$@" \
		"https://127.0.0.1:$API_PORT$path"
}

# watch_loop FIFO HANDLER PATH…: call HANDLER soon after any change below one of the paths, many changes at once
# counted as one, at least every 10 s, and again soon when it fails. Never returns. The watches end with this
# process however it ends (they are told by the kernel).
watch_loop() {
	local fifo=$1 handler=$2 path wait=1 i
	shift 2
	local -A watches=()
	rm -f "$fifo"
	mkfifo "$fifo"
	exec 3<> "$fifo"
	while :; do
		for path in "$@"; do
			[[ -z ${watches[$path]:-} ]] || proc_start_time "${watches[$path]}" > /dev/null || unset "watches[$path]"
			[[ -z ${watches[$path]:-} ]] || continue
			setpriv --pdeathsig KILL curl -sSN --fail --cacert "$RUN/pki/ca.crt" --cert "$RUN/pki/admin.crt" --key "$RUN/pki/admin.key" \
				-H 'Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1' \
				"https://127.0.0.1:$API_PORT$path?watch=1&timeoutSeconds=3600" > "$fifo" 3>&- &
			watches[$path]=$!
		done
		if "$handler"; then wait=1; else wait=0.03; fi
		# wake early when a watch has to be renewed
		for ((i = 0; i < 10; i++)); do
			! IFS= read -r -t "$wait" -u 3 _ || break
			for path in "$@"; do proc_start_time "${watches[$path]}" > /dev/null || break 2; done
		done
		while IFS= read -r -t 0.02 -u 3 _; do :; done
	done
}
