#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# package.sh FILE.tgz   the chart as one archive, as `helm package` makes it (links replaced by what they lead to), without helm and reproducibly.
# REGISTRY: the registry that its images come from by default.
set -euo pipefail
out=$(readlink -f -m "${1:?usage: package.sh FILE.tgz}")
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -rL kube-mysql "$work/"
cp ../../LICENSE "$work/kube-mysql/"
rm -f "$work"/kube-mysql/files/crds/kustomization.yaml "$work"/kube-mysql/files/components/*/kustomization.yaml
[[ -z ${REGISTRY:-} ]] || sed -i "s|^    repository: |&$REGISTRY/|" "$work/kube-mysql/values.yaml"
mkdir -p "$(dirname "$out")"
tar -C "$work" --sort=name --numeric-owner --owner=0 --group=0 --mode=u=rwX,go=rX --mtime=@0 --format=ustar -cf - kube-mysql | gzip -n -9 > "$out"
