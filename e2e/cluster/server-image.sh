#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# server-image.sh NAME: an image of the tree that server-tree.sh makes of NAME, as an OCI archive; prints the archive's path.
#   mariadb-11.8    $KM_IMAGES/mariadb-11.8.oci.tar    registry.local/mariadb:11.8
#   layout-opt      $KM_IMAGES/layout-opt.oci.tar      registry.local/layout:opt
#
# As the images of images.sh: the tree's user mysql is the default user, no script runs at start, the root file system may be mounted read-only. Built when it is
# missing or its tree has changed. Ends with 77 where the tree cannot be had.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

name=${1:?NAME}
root=$("$KM_CLUSTER_DIR/server-tree.sh" "$name")
archive=$KM_IMAGES/$name.oci.tar
recipe="${root##*/} $(sha256sum "$KM_CLUSTER_DIR/mkimage.sh" "${BASH_SOURCE[0]}" | cut -d' ' -f1 | sha256sum | cut -c1-16)"
mkdir -p "$KM_IMAGES"
if [[ ! -s $archive || $(cat "$KM_IMAGES/$name.recipe" 2> /dev/null) != "$recipe" ]]; then
	work=$(mktemp -d "$KM_IMAGES/work.$name.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	# What tests leave in the tree, and where they mount this machine, is not part of it.
	tar -C "$root" --numeric-owner --exclude='./host' --exclude='./tmp/*' --exclude='./dev/*' --exclude='./proc/*' -cf "$work/rootfs.tar" .
	rm -f "$KM_IMAGES/$name.recipe"
	user=$(awk -F: '$1 == "mysql" { print $3 ":" $4 }' "$root/etc/passwd")
	server=$(cd "$root" && find usr opt -name mariadbd -o -name mysqld -type f | head -n 1)
	"$KM_CLUSTER_DIR/mkimage.sh" "$work/rootfs.tar" "registry.local/${name%%-*}:${name#*-}" "$archive" \
		'{"Entrypoint":["/'"$server"'"],"User":"'"$user"'","Env":["PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/mysql/bin","HOME=/tmp"]}' > /dev/null
	echo "$recipe" > "$KM_IMAGES/$name.recipe"
fi
echo "$archive"
