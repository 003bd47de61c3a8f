#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# load-image.sh ARCHIVE…: import image archives (OCI or docker) into all nodes, those made later too. The same tag with
# changed content replaces the image; pods that start from now on use it (imagePullPolicy IfNotPresent or Never).
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/full.sh"

(($# >= 1)) || die "usage: load-image.sh ARCHIVE…"
lock "$RUN.lock"
mkdir -p "$RUN/images"
for archive in "$@"; do
	[[ -s $archive ]] || die "no such archive: $archive"
	name=$(basename "$archive")
	name=${name%.tar}.tar
	cp --reflink=auto "$archive" "$RUN/images/.$name.new"
	mv "$RUN/images/.$name.new" "$RUN/images/$name"
done
mapfile -t nodes < <(full_nodes)
if ((${#nodes[@]})); then "$KM_CLUSTER_DIR/node.sh" load "${nodes[@]}"; fi
