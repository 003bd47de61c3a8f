#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mysql-root.sh: prints the folder that holds the root file system of the MySQL image of e2e/cluster/images.sh, unpacked beside the archive
# in the cache. Fails when there is no such image: building it takes minutes and belongs to the end-to-end tests.
set -euo pipefail

images=${KM_IMAGES:-${KM_CACHE:-$HOME/.cache/kube-mysql}/images}
archive=$images/mysql.oci.tar
[[ -s $archive ]] || { echo "no $archive: run e2e/cluster/images.sh" >&2; exit 1; }
root=${images%/images}/mysql-root-$(cat "$images/mysql.recipe")

if [[ ! -d $root ]]; then
	exec 9> "$root.lock"
	flock 9
	work=$(mktemp -d "$root.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	tar -C "$work" -xf "$archive"
	mkdir "$work/root"
	layer=$(find "$work/blobs/sha256" -type f -size +1M)
	tar -C "$work/root" -xf "$layer"
	mkdir -p "$work/root/host"
	chmod 755 "$work/root"
	[[ -d $root ]] || mv "$work/root" "$root"
fi
echo "$root"
