#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# up.sh: a real S3 server on this machine: OpenStack Swift with its S3 interface, signatures checked, multipart uploads. Without a service manager.
#
# Prints the path of a file with S3_ENDPOINT, S3_TLS_ENDPOINT, S3_CA, S3_REGION, S3_BUCKET and keys, nothing else, on stdout. What runs already is left running;
# settings: env.sh. The file holds two accounts: one that may do everything, and one that has no right to anything (S3_GUEST_…).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
exec 3>&1 1>&2

[[ -d $KM_S3_SWIFT ]] || die "python3-swift is not installed: e2e/s3/deps.sh"
lock "$RUN.lock"
mkdir -p "$RUN/srv/d1" "$RUN/cache"
chmod 700 "$RUN"
/usr/bin/python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.km", b"x")' "$RUN/srv" || die "$RUN has no extended attributes"

random() { openssl rand -hex "$1"; }

write() { # FILE < TEXT: whole or not at all
	cat > "$1.new"
	mv "$1.new" "$1"
}

make_keys() {
	[[ -s $RUN/secrets ]] || (umask 077; printf 'SECRET=%s\nGUEST=%s\nSALT=%s\n' "$(random 20)" "$(random 20)" "$(random 8)" | write "$RUN/secrets")
	# shellcheck disable=SC1091
	. "$RUN/secrets"
}

make_certificate() {
	[[ ! -s $RUN/tls.crt || ! -s $RUN/ca.crt || $(cat "$RUN/tls.for" 2> /dev/null) != "$S3_ADDRESS" ]] || return 0
	(
		umask 077
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj '/CN=local S3 CA' \
			-keyout "$RUN/ca.key" -out "$RUN/ca.crt"
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj '/CN=local S3' -keyout "$RUN/tls.key" -out "$RUN/tls.csr"
		openssl x509 -req -in "$RUN/tls.csr" -CA "$RUN/ca.crt" -CAkey "$RUN/ca.key" -CAcreateserial -days 3650 -out "$RUN/tls.crt" \
			-extfile <(printf 'subjectAltName=IP:%s,IP:127.0.0.1,DNS:localhost,DNS:s3.local,DNS:*.s3.local\n' "$S3_ADDRESS")
	) 2> /dev/null
	printf '%s\n' "$S3_ADDRESS" > "$RUN/tls.for"
}

storage_conf() { # NAME PORT MORE
	cat <<- END
		[DEFAULT]
		bind_ip = 127.0.0.1
		bind_port = $2
		workers = 0
		user = $(id -un)
		swift_dir = $RUN
		devices = $RUN/srv
		mount_check = false
		disable_fallocate = true
		log_level = WARNING
		[pipeline:main]
		pipeline = $1-server
		[app:$1-server]
		use = egg:swift#$1
		recon_cache_path = $RUN/cache
	END
}

# Part numbers up to 10,000 as S3 has them; Swift itself stops at 1,000 unless told.
proxy_conf() { # PORT [MORE]
	cat <<- END
		[DEFAULT]
		bind_ip = $S3_ADDRESS
		bind_port = $1
		workers = 0
		user = $(id -un)
		swift_dir = $RUN
		log_level = WARNING
		${2:-}
		[pipeline:main]
		pipeline = catch_errors cache listing_formats s3api tempauth bulk slo proxy-server
		[app:proxy-server]
		use = egg:swift#proxy
		account_autocreate = true
		recheck_account_existence = 5
		recheck_container_existence = 5
		node_timeout = 60
		[filter:catch_errors]
		use = egg:swift#catch_errors
		[filter:cache]
		paste.filter_factory = km_swift_server:cache_factory
		[filter:listing_formats]
		use = egg:swift#listing_formats
		[filter:s3api]
		use = egg:swift#s3api
		location = $S3_REGION
		max_upload_part_num = 10000
		storage_domain = s3.local
		[filter:tempauth]
		use = egg:swift#tempauth
		user_km_backup = $SECRET .admin
		user_km_guest = $GUEST
		[filter:bulk]
		use = egg:swift#bulk
		[filter:slo]
		use = egg:swift#slo
		max_manifest_segments = 10000
		max_manifest_size = 16777216
	END
}

make_configuration() {
	umask 077
	printf '[swift-hash]\nswift_hash_path_suffix = %s\n[storage-policy:0]\nname = one\ndefault = yes\n' "$SALT" | write "$RUN/swift.conf"
	storage_conf account $((S3_PORT + 2)) | write "$RUN/account.conf"
	storage_conf container $((S3_PORT + 3)) | write "$RUN/container.conf"
	storage_conf object $((S3_PORT + 4)) | write "$RUN/object.conf"
	proxy_conf "$S3_PORT" | write "$RUN/proxy.conf"
	proxy_conf $((S3_PORT + 1)) "cert_file = $RUN/tls.crt
key_file = $RUN/tls.key" | write "$RUN/proxy-tls.conf"
	# Rings hold ports; making them takes a second or more.
	[[ -s $RUN/object.ring.gz && $(cat "$RUN/rings.for" 2> /dev/null) == "$S3_PORT" ]] && return
	/usr/bin/python3 "$KM_S3_DIR/swift_server.py" rings "$RUN" 127.0.0.1 $((S3_PORT + 2)) $((S3_PORT + 3)) $((S3_PORT + 4))
	printf '%s\n' "$S3_PORT" | write "$RUN/rings.for"
}

# Through Swift's own interface, so that nothing of S3's is needed to have a bucket.
make_bucket() {
	local url="http://$S3_ADDRESS:$S3_PORT" token
	token=$(curl -fsS -D - -o /dev/null -H 'X-Auth-User: km:backup' -H "X-Auth-Key: $SECRET" "$url/auth/v1.0" | sed -n 's/^x-auth-token: *\([^\r]*\).*/\1/Ip')
	curl -fsS -o /dev/null -X PUT -H "X-Auth-Token: $token" "$url/v1/AUTH_km/$S3_BUCKET"
}

tell() {
	umask 077
	write "$RUN/env" <<- END
		S3_ENDPOINT=http://$S3_ADDRESS:$S3_PORT
		S3_TLS_ENDPOINT=https://$S3_ADDRESS:$((S3_PORT + 1))
		S3_CA=$RUN/ca.crt
		S3_REGION=$S3_REGION
		S3_BUCKET=$S3_BUCKET
		S3_ACCESS_KEY=km:backup
		S3_SECRET_KEY=$SECRET
		S3_GUEST_ACCESS_KEY=km:guest
		S3_GUEST_SECRET_KEY=$GUEST
	END
	printf '%s\n' "$RUN/env" >&3
}

configured() { cat "$RUN"/*.conf "$RUN/rings.for" "$RUN/tls.crt" 2> /dev/null | sha256sum || true; }
before=$(configured)
make_keys
make_certificate
make_configuration
if [[ $before != "$(configured)" ]]; then
	for name in "${S3_SERVERS[@]}"; do
		daemon_stop "$name"
	done
fi
for name in "${S3_SERVERS[@]}"; do
	daemon_ensure "$name" /usr/bin/python3 "$KM_S3_DIR/swift_server.py" "${name%-tls}" "$RUN" "$RUN/$name.conf" 3>&- # who reads the path waits for the end of this file
done
for offset in 0 1 2 3 4; do
	address=127.0.0.1
	((offset > 1)) || address=$S3_ADDRESS
	wait_for 60 bash -c ": < /dev/tcp/$address/$((S3_PORT + offset))" || die "no server on port $((S3_PORT + offset)): $(tail -n 5 "$RUN"/log/*.log)"
done
wait_for 60 make_bucket || die "the bucket cannot be made: $(tail -n 5 "$RUN/log/proxy.log")"
tell
