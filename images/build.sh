#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh   OCI archives of operator and agent in $BUILD/images, from the static binaries in $BUILD/static, without an engine.
# The same content as the Dockerfiles beside this give: one binary, user 65532, the public certificate authorities (ca-certificates.sh); the operator's also
# has time zones for schedules, the agent's those for the tables of servers (zoneinfo.sh). Archives are reproducible: owner, modes, order and time of files are fixed, so the same binary gives the same digest.
#   TAG=dev              REGISTRY=registry.local
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BUILD:=build}" "${TAG:=dev}" "${REGISTRY:=registry.local}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$BUILD/images"

for name in kube-mysql-operator kube-mysql-agent; do
  binary=$BUILD/static/$name
  if [[ ! -x $binary ]]; then
    echo "images: $binary is missing (make static)" >&2
    exit 1
  fi
  mkdir "$work/$name"
  install -m 0755 "$binary" "$work/$name/$name"
  content=("$name" etc)
  images/ca-certificates.sh "$work/$name/etc/ssl/certs/ca-certificates.crt"
  if [[ $name == kube-mysql-agent ]]; then
    images/zoneinfo.sh --archive "$work/$name/zoneinfo.tar"
    content+=(zoneinfo.tar)
  fi
  if [[ $name == kube-mysql-operator ]]; then
    images/zoneinfo.sh "$work/$name/usr/share/zoneinfo"
    content+=(usr)
  fi
  tar -C "$work/$name" --sort=name --numeric-owner --owner=0 --group=0 --mode=u=rwX,go=rX --mtime=@0 --format=ustar -cf "$work/$name.tar" "${content[@]}"
  e2e/cluster/mkimage.sh "$work/$name.tar" "$REGISTRY/$name:$TAG" "$BUILD/images/$name.oci.tar" \
    '{"Entrypoint":["/'$name'"],"User":"65532:65532","Env":["PATH=/"]}' > /dev/null
  printf '  %-44s %9d bytes, %s\n' "$BUILD/images/$name.oci.tar" "$(stat -c %s "$BUILD/images/$name.oci.tar")" "$REGISTRY/$name:$TAG"
done
