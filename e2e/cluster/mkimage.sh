#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mkimage.sh ROOTFS.tar NAME:TAG OUT.tar [CONFIG_JSON] [ENTRY]
# Make an OCI archive with one uncompressed layer, by hand and reproducibly (same layer, same archive content).
# CONFIG_JSON is the OCI image "config" object, e.g. '{"Env":["PATH=/usr/bin:/bin"],"User":"999:999"}'.
# ENTRY is short for {"Entrypoint":[ENTRY]}. OUT.tar appears by one rename.
set -euo pipefail

(($# >= 3)) || { sed -n '3,6s/^# //p' "$0" >&2; exit 2; }
layer=$(readlink -e "$1") || { echo "error: no such file: $1" >&2; exit 1; }
name=$2
out=$(readlink -f -m "$3")
config=${4:-'{}'}
[[ -z ${5:-} ]] || config=$(jq -cn --argjson c "$config" --arg e "$5" '$c + {Entrypoint: [$e]}')
case $(uname -m) in aarch64) arch=arm64 ;; *) arch=amd64 ;; esac
created=2026-01-01T00:00:00Z

mkdir -p "$(dirname "$out")"
work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work"' EXIT
tree=$work/tree
mkdir -p "$tree/blobs/sha256"

# add_blob FILE: move it into the blobs; print "DIGEST SIZE".
add_blob() {
	local digest
	digest=$(sha256sum < "$1" | cut -d' ' -f1)
	mv "$1" "$tree/blobs/sha256/$digest"
	printf 'sha256:%s %s\n' "$digest" "$(stat -c %s "$tree/blobs/sha256/$digest")"
}

ln "$layer" "$work/layer" 2> /dev/null || cp "$layer" "$work/layer"
read -r layer_digest layer_size < <(add_blob "$work/layer")

jq -cn --argjson c "$config" --arg d "$layer_digest" --arg a "$arch" --arg t "$created" '
	{architecture: $a, os: "linux", created: $t, config: $c, rootfs: {type: "layers", diff_ids: [$d]},
	 history: [{created: $t, created_by: "mkimage.sh"}]}' > "$work/config"
read -r config_digest config_size < <(add_blob "$work/config")

jq -cn --arg c "$config_digest" --argjson cs "$config_size" --arg l "$layer_digest" --argjson ls "$layer_size" '
	{schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
	 config: {mediaType: "application/vnd.oci.image.config.v1+json", digest: $c, size: $cs},
	 layers: [{mediaType: "application/vnd.oci.image.layer.v1.tar", digest: $l, size: $ls}]}' > "$work/manifest"
read -r manifest_digest manifest_size < <(add_blob "$work/manifest")

echo '{"imageLayoutVersion":"1.0.0"}' > "$tree/oci-layout"
jq -cn --arg m "$manifest_digest" --argjson ms "$manifest_size" --arg n "$name" --arg a "$arch" '
	{schemaVersion: 2, manifests: [{mediaType: "application/vnd.oci.image.manifest.v1+json", digest: $m, size: $ms,
	 annotations: {"io.containerd.image.name": $n, "org.opencontainers.image.ref.name": $n},
	 platform: {architecture: $a, os: "linux"}}]}' > "$tree/index.json"

tar -C "$tree" --sort=name --mtime="$created" --owner=0 --group=0 --numeric-owner -cf "$work/archive" oci-layout index.json blobs
mv "$work/archive" "$out"
echo "$out: $name, $(stat -c %s "$out") bytes"
