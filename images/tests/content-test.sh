#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# content-test.sh   what is in the images of $BUILD/images: the program, the notices, an SBOM that names what a program like ours cannot do without, with versions
# and the program's digest, and nothing that it has not got; labels with the version. Prints what is missing.
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=build}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
version=$(< VERSION)

expect() { # expect WHAT COMMAND…
  local what=$1
  shift
  "$@" > "$dir/said" 2>&1 || { echo "images: $name: not so: $what"; cat "$dir/said"; failed=1; }
}
blob() { echo "$dir/$name/blobs/${1/://}"; }

for name in kube-mysql-operator kube-mysql-agent; do
  mkdir -p "$dir/$name/root"
  tar -C "$dir/$name" -xf "$BUILD/images/$name.oci.tar"
  manifest=$(blob "$(jq -r '.manifests[0].digest' "$dir/$name/index.json")")
  config=$(blob "$(jq -r .config.digest "$manifest")")
  tar -C "$dir/$name/root" -xf "$(blob "$(jq -r '.layers[0].digest' "$manifest")")"
  root=$dir/$name/root
  sbom=$root/licenses/$name.spdx.json
  expect "labels say the version" jq -e --arg v "$version" '.config.Labels["org.opencontainers.image.version"] == $v and .config.User == "65532:65532"' "$config"
  expect "the program says the version" test "$("$root/$name" --version)" = "$version"
  expect "LICENSE is ours" cmp LICENSE "$root/licenses/LICENSE"
  expect "the LGPL is there" grep -q 'Version 2.1, February 1999' "$root/licenses/LGPL-2.1.txt"
  expect "the SBOM has the program's digest" jq -e --arg d "$(sha256sum < "$root/$name" | cut -d' ' -f1)" '.packages[0].checksums[0].checksumValue == $d' "$sbom"
  linked=$(jq -r '(.relationships | map(select(.relationshipType == "STATIC_LINK").relatedSpdxElement)) as $ids
    | .packages[] | select(.SPDXID | IN($ids[])) | .sourceInfo' "$sbom" | sed -n 's/^built from: \([^ ]*\) .*/\1/p' | sort)
  want="curl expat glibc jansson libevent libzstd nghttp2 openssl"
  [[ $name == *operator ]] && want+=" libyaml" || want+=" mariadb zlib"
  for library in $want; do
    expect "the SBOM has $library" grep -qx "$library" <<< "$linked"
    expect "the notices have $library" grep -qE "^  $library +[0-9]" "$root/licenses/THIRD-PARTY.txt"
  done
  [[ $name != *operator ]] || expect "the operator has no MySQL client" test "${linked/mariadb/}" = "$linked"
  for data in ca-certificates tzdata; do
    expect "the SBOM has $data beside the program" jq -e --arg id "SPDXRef-$data" '.relationships | any(.relationshipType == "CONTAINS" and .relatedSpdxElement == $id)' "$sbom"
    expect "the notices have $data" grep -qE "^  $data +[0-9]" "$root/licenses/THIRD-PARTY.txt"
  done
  expect "time zones are there" test -s "$root/zoneinfo.tar" -o -s "$root/usr/share/zoneinfo/Europe/Berlin"
  expect "certificates are there" test -s "$root/etc/ssl/certs/ca-certificates.crt"
  expect "each package of the SBOM has a version and a purl" jq -e '.packages[1:] | length > 7 and
    all((.versionInfo | test("^[0-9]")) and (.externalRefs[0].referenceLocator | test("^pkg:deb/debian/[a-z0-9.+%-]+@.+upstream=")))' "$sbom"
  expect "what the SBOM relates exists" jq -e '[.packages[].SPDXID] as $ids | .relationships | length == ($ids | length) and all(.relatedSpdxElement | IN($ids[]))' "$sbom"
done
((failed)) || echo "images: content, notices and SBOMs are whole"
exit $failed
