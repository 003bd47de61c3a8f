#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh   OCI archives of operator and agent in $BUILD/images, from the static binaries in $BUILD/static, without an engine.
# The same content as the Dockerfiles beside this give (content.sh): one program, public certificate authorities, the operator's time zones, notices and SBOM; user
# 65532. Archives are reproducible: owner, modes, order and time of files are fixed, so the same binary gives the same digest.
#   TAG=dev              REGISTRY=registry.local
#   CONTENT=FOLDER       take what content.sh made there (FOLDER/NAME), for another machine too: ARCH=arm64
#   OUT=$BUILD/images    where to, END=.oci.tar how names end
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BUILD:=build}" "${TAG:=dev}" "${REGISTRY:=registry.local}" "${CONTENT:=}" "${ARCH:=}" "${END:=.oci.tar}"
: "${OUT:=$BUILD/images}"
version=$(< VERSION)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$OUT"

# mkimage.sh asks uname for the architecture that an image is for.
if [[ -n $ARCH ]]; then
  uname() { [[ $ARCH == arm64 ]] && echo aarch64 || echo x86_64; }
  export ARCH
  export -f uname
fi

for name in kube-mysql-operator kube-mysql-agent; do
  content=$CONTENT/$name
  if [[ -z $CONTENT ]]; then
    content=$work/$name
    images/content.sh "$name" "$content"
    said=$("$content/$name" --version)
    [[ $said == "$version" ]] || { echo "images: $name says it is $said, VERSION says $version" >&2; exit 1; }
  fi
  mapfile -t parts < <(ls "$content")
  tar -C "$content" --sort=name --numeric-owner --owner=0 --group=0 --mode=u=rwX,go=rX --mtime=@0 --format=ustar -cf "$work/$name.tar" "${parts[@]}"
  config=$(jq -cn --arg name "$name" --arg version "$version" '{Entrypoint: ["/" + $name], User: "65532:65532", Env: ["PATH=/"],
    Labels: {"org.opencontainers.image.title": $name, "org.opencontainers.image.licenses": "Apache-2.0", "org.opencontainers.image.version": $version}}')
  e2e/cluster/mkimage.sh "$work/$name.tar" "$REGISTRY/$name:$TAG" "$OUT/$name$END" "$config" > /dev/null
  printf '  %-44s %9d bytes, %s\n' "$OUT/$name$END" "$(stat -c %s "$OUT/$name$END")" "$REGISTRY/$name:$TAG"
done
