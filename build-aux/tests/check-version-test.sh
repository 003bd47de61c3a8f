#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checker notices each place that says another version, a changelog without a section, and a bad version; --write mends all places.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

mkdir -p "$dir"/{deploy/helm/kube-mysql,deploy/operator,docs,e2e,images/agent}
cp deploy/helm/kube-mysql/Chart.yaml "$dir/deploy/helm/kube-mysql/"
cp deploy/operator/deployment.yaml "$dir/deploy/operator/"
cp images/agent/Dockerfile "$dir/images/agent/"
cp README.md CHANGELOG.md VERSION "$dir/"
check() { build-aux/check-version.sh "$@" "$dir" 2>&1; }

out=$(check) || { echo "the good version was refused: $out"; failed=1; }
places=$(wc -w <<< "$(grep -rhoE '0\.2\.0' "$dir/deploy" "$dir/images" "$dir/README.md" || :)")
[[ $(< VERSION) != 0.2.0 || $out == *"in $places places" ]] || { echo "there are $places places, but: $out"; failed=1; }
cp -r "$dir" "$dir.good"
trap 'rm -rf "$dir" "$dir.good"' EXIT

bad() { # bad EXPECTED FILE SED-EDIT
  local out
  sed -i -E "$3" "$dir/$2"
  if out=$(check); then
    echo "not noticed: $2: $3"
    failed=1
  elif [[ $out != *"$1"* ]]; then
    printf 'expected "%s" for %s, got:\n%s\n' "$1" "$3" "$out"
    failed=1
  fi
  [[ $2 == VERSION || $2 == CHANGELOG.md ]] || { check --write > /dev/null && diff -r "$dir" "$dir.good"; } || { echo "--write did not mend $2"; failed=1; }
  cp "$dir.good/$2" "$dir/$2"
}
bad Chart.yaml deploy/helm/kube-mysql/Chart.yaml 's/^version: .*/version: 9.9.9/'
bad Chart.yaml deploy/helm/kube-mysql/Chart.yaml 's/^appVersion: .*/appVersion: 9.9.9-rc.1/'
bad deployment.yaml deploy/operator/deployment.yaml 's/kube-mysql-agent:[0-9.]+/kube-mysql-agent:9.9.9/'
bad Dockerfile images/agent/Dockerfile 's/version=[0-9.]+/version=9.9.9/'
bad README.md README.md '0,/kube-mysql-operator:[0-9.]+/s//kube-mysql-operator:9.9.9/'
bad 'no section' CHANGELOG.md "s/^## $(< VERSION)/## next/"
bad 'is not a version' VERSION 's/.*/latest/'
((failed)) || echo "check-version: its tests pass"
exit $failed
