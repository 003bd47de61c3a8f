#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build-version.sh COMMIT   another version of the project, from this clone's history: its images and what installs them. For stories about upgrades.
#
# Prints a folder: deploy/ and crds/ as that commit has them, and kube-mysql-{operator,agent}-COMMIT.oci.tar with the images registry.local/kube-mysql-operator:COMMIT
# and registry.local/kube-mysql-agent:COMMIT (the first 7 digits). Made once, outside the checkout, and kept in $KM_CACHE/versions (20 MB each); the folder appears by one rename. What the build
# says goes to stderr. Exit code 77: the commit is not in this clone (a shallow one, or none of git's).
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=e2e/cluster/env.sh
. e2e/cluster/env.sh

(($# == 1)) || { echo "usage: build-version.sh COMMIT" >&2; exit 2; }
if ! commit=$(git rev-parse --verify --quiet "$1^{commit}" 2> /dev/null); then
  echo "commit $1 is not in this clone (git fetch --unshallow brings it)"
  exit 77
fi
tag=${commit:0:7}
there=$KM_CACHE/versions/$tag
mkdir -p "$KM_CACHE/versions"
exec 9> "$KM_CACHE/versions/.lock"
flock 9
if [[ ! -d $there ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work" "$there.new"' EXIT
  git archive "$commit" | tar -x -C "$work"
  env -u MAKEFLAGS -u BUILD make -C "$work" --no-print-directory -j"$(nproc)" QUIET=1 images TAG="$tag" REGISTRY=registry.local >&2 9>&-
  rm -rf "$there.new"
  mkdir "$there.new"
  cp -r "$work/deploy" "$work/crds" "$there.new/"
  for name in operator agent; do cp "$work/build/images/kube-mysql-$name.oci.tar" "$there.new/kube-mysql-$name-$tag.oci.tar"; done
  mv "$there.new" "$there"
fi
echo "$there"
