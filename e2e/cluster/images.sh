#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# images.sh: build the images the cluster needs into $KM_IMAGES, each an OCI archive:
#   pause.oci.tar     registry.local/pause:1          the pods' sandbox process
#   mariadb.oci.tar   registry.local/mariadb:10.11    MariaDB from Debian 12
#   mysql.oci.tar     registry.local/mysql:9.7        MySQL from Debian's unstable release, in the image only
#
# The database images hold a server, its clients, backup tools and bash; user mysql is 999:999 and is the default
# user; no script runs at start (pods bring their own agent). The root file system may be mounted read-only.
# An archive is rebuilt when missing or when its recipe (this script) has changed; it appears by one rename.
# When the MySQL image cannot be built, $KM_IMAGES/mysql.unavailable says why and all else goes on.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

PACKAGES_COMMON=bash,tini,curl,netbase,iputils-ping,procps,ca-certificates
PACKAGES_MARIADB=$PACKAGES_COMMON,mariadb-server,mariadb-client,mariadb-backup,mariadb-plugin-provider-lz4,bind9-dnsutils
PACKAGES_MYSQL=$PACKAGES_COMMON,mysql-server-core,mysql-client-core,mysql-common,bind9-dnsutils
ENVIRONMENT='"Env":["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin","HOME=/tmp"]'

# recipe NAME: what the archive depends on
recipe() { sha256sum "$KM_CLUSTER_DIR/images.sh" "$KM_CLUSTER_DIR/mkimage.sh" "$KM_CLUSTER_DIR/images/"* | cut -d' ' -f1 | sha256sum | cut -c1-16; }

current() { [[ -s $KM_IMAGES/$1.oci.tar && $(cat "$KM_IMAGES/$1.recipe" 2> /dev/null) == "$(recipe)" ]]; }

# finish NAME ROOTFS IMAGE CONFIG
finish() {
	rm -f "$KM_IMAGES/$1.recipe"
	"$KM_CLUSTER_DIR/mkimage.sh" "$2" "$3" "$KM_IMAGES/$1.oci.tar" "$4" > /dev/null
	recipe > "$KM_IMAGES/$1.recipe"
	rm -f "$KM_IMAGES/$1.unavailable"
	say "image $3: $(($(stat -c %s "$KM_IMAGES/$1.oci.tar") >> 20)) MiB"
}

# bootstrap SUITE PACKAGES OUT.tar [OPTION…]: a minimal root file system, user mysql made before any package can
bootstrap() {
	local suite=$1 packages=$2 out=$3 what
	shift 3
	local options=()
	for what in man doc locale info lintian; do options+=("--dpkgopt=path-exclude=/usr/share/$what/*"); done
	# shellcheck disable=SC2016  # $1 is the hook's own argument
	mmdebstrap --quiet --variant=essential --mode=root --include="$packages" "${options[@]}" "$@" \
		--essential-hook='echo mysql:x:999: >> "$1/etc/group"
			echo "mysql:x:999:999:MySQL Server:/var/lib/mysql:/bin/false" >> "$1/etc/passwd"
			echo "mysql:!:19000::::::" >> "$1/etc/shadow"' \
		--customize-hook='test "$(chroot "$1" id -u mysql):$(chroot "$1" id -g mysql)" = 999:999' \
		--customize-hook='rm -rf "$1"/var/lib/mysql/* "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* "$1"/var/log/*.log "$1"/var/log/apt
			install -d -o 999 -g 999 -m 0750 "$1/var/lib/mysql" "$1/var/lib/mysql-files"
			install -d -o 999 -g 999 -m 0755 "$1/run/mysqld"' \
		"$suite" "$out"
}

build_pause() {
	gcc -static -Os -s -o "$1/pause" "$KM_CLUSTER_DIR/images/pause.c"
	tar -C "$1" --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$1/rootfs.tar" pause
	finish pause "$1/rootfs.tar" registry.local/pause:1 '{"Entrypoint":["/pause"],"User":"65535:65535","Env":["PATH=/"]}'
}

build_mariadb() {
	bootstrap bookworm "$PACKAGES_MARIADB" "$1/rootfs.tar"
	finish mariadb "$1/rootfs.tar" registry.local/mariadb:10.11 '{"Entrypoint":["mariadbd"],"User":"999:999",'"$ENVIRONMENT}"
}

# The unstable release's file may be older than its validity says on a mirror; that is no reason to refuse it.
build_mysql() {
	# shellcheck disable=SC2016
	bootstrap sid "$PACKAGES_MYSQL" "$1/rootfs.tar" --aptopt='Acquire::Check-Valid-Until "false"' \
		--customize-hook='chroot "$1" mysqld --version'
	finish mysql "$1/rootfs.tar" registry.local/mysql:9.7 '{"Entrypoint":["mysqld"],"User":"999:999",'"$ENVIRONMENT}"
}

# make NAME: build it in a scratch folder, unless it is current
make_image() {
	local work rc=0
	current "$1" && return 0
	say "building image $1"
	work=$(mktemp -d "$KM_IMAGES/work.$1.XXXXXX")
	(set -e; "build_$1" "$work") > "$KM_IMAGES/$1.log" 2>&1 || rc=$?
	grep -a '^ *[0-9.]*s  ' "$KM_IMAGES/$1.log" || true
	rm -rf "$work"
	return $rc
}

# A MySQL image that cannot be built now is reported, never fatal; an older archive of it goes on being used.
make_mysql() {
	make_image mysql && return 0
	tail -n 5 "$KM_IMAGES/mysql.log" >&2
	warn "***** the MySQL image cannot be built (see $KM_IMAGES/mysql.log) *****"
	[[ -s $KM_IMAGES/mysql.oci.tar ]] && { warn "the MySQL image of an earlier recipe is used"; return 0; }
	{ echo "image registry.local/mysql:9.7 could not be built on $(date -u +%FT%TZ):"; tail -n 5 "$KM_IMAGES/mysql.log"; } > "$KM_IMAGES/mysql.unavailable"
}

main() {
	mkdir -p "$KM_IMAGES"
	current pause && current mariadb && current mysql && return 0
	lock "$KM_CACHE/images.lock"
	rm -rf "$KM_IMAGES"/work.* "$KM_IMAGES"/*.oci.tar.??????
	command -v mmdebstrap > /dev/null || die "mmdebstrap is missing: run e2e/cluster/deps.sh"
	make_image pause || { cat "$KM_IMAGES/pause.log" >&2; die "image pause"; }
	make_image mariadb || { tail "$KM_IMAGES/mariadb.log" >&2; die "image mariadb, log: $KM_IMAGES/mariadb.log"; }
	make_mysql
}

main "$@"
