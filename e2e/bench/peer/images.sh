#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# images.sh: build what peer.sh compares with, without an engine, into $KM_CACHE/peer, each once; prints the source folder, then the archives:
#   mariadb-operator-$PEER_VERSION.oci.tar  registry.local/mariadb-operator:$PEER_VERSION   its one binary, from the source of that release
#   mariadb-peer.oci.tar  registry.local/mariadb-peer:10.11               our image registry.local/mariadb:10.11 with what the peer expects of an image besides:
#                                                                       the entry point of the official image, and a server that listens on all addresses
#
#   PEER_VERSION=v26.6.0         which release
#   PEER_REPOSITORY=URL          where it is cloned from: the git repository mariadb-operator/mariadb-operator on GitHub, or a mirror
#   PEER_ENTRYPOINT=URL          where the official image's recipe is cloned from: MariaDB/mariadb-docker there, or a mirror; at the commit below
#
# Needs go 1.26, git and the images of the local Kubernetes (e2e/cluster/images.sh). Compiling takes three to six minutes, once.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../cluster/env.sh"
: "${PEER_VERSION:=v26.6.0}"
: "${PEER_REPOSITORY:?the git repository of mariadb-operator}" "${PEER_ENTRYPOINT:?the git repository of mariadb-docker}"
ENTRYPOINT_COMMIT=1b6429ba3544e134715c15f8c56cc6f665f827c9
D=$KM_CACHE/peer

# fetch_source URL REF FOLDER: one commit of a repository; the folder appears by one rename
fetch_source() {
	[[ ! -d $3 ]] || return 0
	rm -rf "$3.new"
	git init -q "$3.new"
	git -C "$3.new" fetch -q --depth 1 "$1" "$2"
	git -C "$3.new" -c advice.detachedHead=false checkout -q FETCH_HEAD
	mv "$3.new" "$3"
}

# A layer of its own: /bin/mariadb-operator, as its Dockerfile has it.
build_operator() {
	local source=$1 out=$D/mariadb-operator-$PEER_VERSION.oci.tar work
	[[ ! -s $out ]] || return 0
	[[ $KM_GO ]] || die "go is missing"
	say "compiling mariadb-operator $PEER_VERSION" >&2
	work=$(mktemp -d "$D/work.XXXXXX")
	mkdir -p "$work/root/bin"
	(cd "$source" && CGO_ENABLED=0 "$KM_GO" build -trimpath -ldflags '-s -w' -o "$work/root/bin/mariadb-operator" ./cmd/controller) >&2
	tar -C "$work/root" --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$work/rootfs.tar" bin
	"$KM_CLUSTER_DIR/mkimage.sh" "$work/rootfs.tar" "registry.local/mariadb-operator:$PEER_VERSION" "$out" \
		'{"Entrypoint":["/bin/mariadb-operator"],"User":"65532:65532"}' > /dev/null
	rm -rf "$work"
}

# The layer of our image with some files after it: what comes later in a layer replaces what came before.
build_mariadb() {
	local source=$1 ours=$KM_IMAGES/mariadb.oci.tar out=$D/mariadb-peer.oci.tar work layer manifest
	[[ ! $out -nt $ours || ! $out -nt ${BASH_SOURCE[0]} ]] || return 0
	work=$(mktemp -d "$D/work.XXXXXX")
	manifest=$(tar -xOf "$ours" index.json | jq -r '.manifests[0].digest | sub(":"; "/")')
	layer=$(tar -xOf "$ours" "blobs/$manifest" | jq -r '.layers[0].digest | sub(":"; "/")')
	tar -xOf "$ours" "blobs/$layer" > "$work/rootfs.tar"
	mkdir -p "$work/root/usr/local/bin" "$work/root/etc/mysql/mariadb.conf.d" "$work/root/docker-entrypoint-initdb.d" "$work/root/run/mysqld"
	chmod 1777 "$work/root/run/mysqld"
	cp "$source/10.11/docker-entrypoint.sh" "$source/10.11/healthcheck.sh" "$work/root/usr/local/bin"
	# What its Dockerfile does to the packages' option files.
	tar -xOf "$work/rootfs.tar" ./etc/mysql/mariadb.conf.d/50-server.cnf | sed -E 's/^(bind-address|log|user\s)/#&/' \
		> "$work/root/etc/mysql/mariadb.conf.d/50-server.cnf"
	printf '[mariadb]\nhost-cache-size=0\nskip-name-resolve\n' > "$work/root/etc/mysql/mariadb.conf.d/05-skipcache.cnf"
	(cd "$work/root" && find . -mindepth 1 -printf '%P\n' | sort | tar --no-recursion --mtime=@0 --owner=0 --group=0 --numeric-owner -T - --transform='s#^#./#' -rf "$work/rootfs.tar")
	"$KM_CLUSTER_DIR/mkimage.sh" "$work/rootfs.tar" registry.local/mariadb-peer:10.11 "$out" \
		'{"Entrypoint":["docker-entrypoint.sh"],"Cmd":["mariadbd"],"User":"999:999","Env":["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin","HOME=/tmp","LANG=C.UTF-8"]}' > /dev/null
	rm -rf "$work"
}

mkdir -p "$D"
lock "$D/lock"
rm -rf "$D"/work.*
fetch_source "$PEER_REPOSITORY" "refs/tags/$PEER_VERSION" "$D/mariadb-operator-$PEER_VERSION"
fetch_source "$PEER_ENTRYPOINT" "$ENTRYPOINT_COMMIT" "$D/mariadb-docker-$ENTRYPOINT_COMMIT"
build_operator "$D/mariadb-operator-$PEER_VERSION"
build_mariadb "$D/mariadb-docker-$ENTRYPOINT_COMMIT"
printf '%s\n' "$D/mariadb-operator-$PEER_VERSION" "$D/mariadb-operator-$PEER_VERSION.oci.tar" "$D/mariadb-peer.oci.tar"
