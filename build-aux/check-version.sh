#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check-version.sh [--write] [ROOT]   the version stands in the file VERSION; whatever else has to spell it out says the same. --write makes it so.
#
# The programs (--version), tags and labels of `make release` and its install.yaml take it from the file. It is spelt out in the chart (Chart.yaml), in the
# image names of manifests, README and docs, and in the labels of the Dockerfiles; CHANGELOG.md needs a section for it.
set -euo pipefail
write=
[[ ${1:-} != --write ]] || { write=1; shift; }
cd "${1:-$(dirname "$0")/..}"
version=$(< VERSION)
failed=0
number='[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?'

[[ $version =~ ^$number$ ]] || { echo "VERSION: \"$version\" is not a version like 1.2.3"; exit 1; }

# PATTERN is what stands before a version; FILES where it may stand.
places() {
  echo "kube-mysql-(operator|agent): deploy README.md docs e2e images"
  echo "^(version|appVersion): deploy/helm/kube-mysql/Chart.yaml"
  echo "org\.opencontainers\.image\.version= images"
}
total=0
while read -r pattern files; do
  separator=
  [[ $pattern != ^* ]] || separator=' '
  # shellcheck disable=SC2086 # several names
  mapfile -t hits < <(grep -rHnoE "$pattern$separator$number" $files 2> /dev/null || :)
  ((${#hits[@]})) || { echo "version: nothing says \"$pattern\" in $files"; failed=1; }
  for hit in "${hits[@]}"; do
    total=$((total + 1))
    [[ ${hit##*[:= ]} != "$version" ]] || continue
    if [[ -n $write ]]; then
      sed -E -i "s/($pattern$separator)$number/\1$version/" "${hit%%:*}"
      sed -E -i "s/(kube-mysql-(operator|agent):)$number/\1$version/g" "${hit%%:*}"
    else
      echo "$hit, but VERSION says $version (build-aux/check-version.sh --write)"
      failed=1
    fi
  done
done < <(places)
grep -qF "## $version" CHANGELOG.md || { echo "CHANGELOG.md: no section \"## $version\""; failed=1; }
((failed)) || echo "version: $version, in $total places"
exit $failed
