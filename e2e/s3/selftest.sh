#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# selftest.sh: prove that up.sh heals what died, starts nothing twice, keeps objects, and that down.sh leaves nothing. An instance of its own.
set -euo pipefail
export INSTANCE=selftest-$$ S3_PORT=${S3_PORT:-19500}
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
trap '"$KM_S3_DIR/down.sh" --purge' EXIT

running() { # processes that carry the mark of this instance
	grep -lzE "^KM_DAEMON=$RUN/" /proc/[0-9]*/environ 2> /dev/null | wc -l
}

# Through a pipe, as callers do: a server that keeps it open would hang them.
up() { ENV=$("$KM_S3_DIR/up.sh"); }

read_back() {
	local token url="http://$S3_ADDRESS:$S3_PORT"
	# shellcheck disable=SC1090
	. "$ENV"
	token=$(curl -fsS -D - -o /dev/null -H "X-Auth-User: $S3_ACCESS_KEY" -H "X-Auth-Key: $S3_SECRET_KEY" "$url/auth/v1.0" | sed -n 's/^x-auth-token: *\([^\r]*\).*/\1/Ip')
	[[ ${1:-} != put ]] || curl -fsS -o /dev/null -X PUT -H "X-Auth-Token: $token" --data-binary 'kept' "$url/v1/AUTH_km/$S3_BUCKET/key"
	curl -fsS -H "X-Auth-Token: $token" "$url/v1/AUTH_km/$S3_BUCKET/key"
}

expect() { # WHAT GOT WANTED
	[[ $2 == "$3" ]] || die "$1: $2, wanted $3"
	say "ok: $1"
}

up
expect 'servers after up' "$(running)" ${#S3_SERVERS[@]}
expect 'an object' "$(read_back put)" kept
pids=$(sort "$RUN"/pids/*)
up
expect 'a second up restarts nothing' "$(sort "$RUN"/pids/*)" "$pids"
kill -KILL "$(daemon_pid object)"
rm "$RUN/pids/proxy" # as after a run that was cut off in the wrong moment
up
expect 'servers after one was killed and one was lost' "$(running)" ${#S3_SERVERS[@]}
expect 'the object after that' "$(read_back)" kept
"$KM_S3_DIR/down.sh"
expect 'servers after down' "$(running)" 0
up
expect 'the object after down and up' "$(read_back)" kept
"$KM_S3_DIR/down.sh" --purge
expect 'servers after a purge' "$(running)" 0
expect 'files after a purge' "$(compgen -G "$RUN*" || true)" ''
