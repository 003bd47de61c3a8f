#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# conformance.sh IMAGE…   whether kube-mysql works with a server's image, on any cluster: make conformance IMAGE="mysql:8.4 mariadb:11.4"
#
# What the stories versions-* do with the images of the local cluster (stories/versions.inc), with an image of yours, in
# a namespace of its own that is removed afterwards: one member, three, a changed variable with and without a restart, a
# switchover, the primary killed, a replica's volume lost, backup and restore, under a client that checks every
# acknowledged row. Nothing but the Kubernetes API is used. Prints a table; exit status 1 when an image fails, and its
# row says why. It takes 3 to 10 minutes for each image. Environment:
#   KUBECONFIG                   the cluster. Its nodes must be able to pull the images. kubectl and jq are needed here.
#   IMAGE_OPERATOR, IMAGE_AGENT  the operator is installed with these (deploy/install.sh), or brought up to date; without
#                                them one that is installed is used as it is
#   RUN_AS_USER                  the image's own user (999; percona/percona-server: 1001)
#   STORAGE_CLASS                of the volumes, the default class if unset; five of 2 GiB
#   VERSION_WAIT                 seconds for each step (300)
#   KEEP=1                       the namespace of an image that failed stays
#   BUILD=build                  logs in $BUILD/conformance/
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
given_path=$PATH
stop() {
  printf 'conformance: %s\n' "$1" >&2
  shift
  (($# == 0)) || printf '  %s\n' "$@" >&2
  exit 2
}
(($#)) || stop 'no image: make conformance KUBECONFIG=… IMAGE=mysql:8.4'
[[ -n ${KUBECONFIG:-} ]] || stop "KUBECONFIG must name the cluster" "the local one: KUBECONFIG=/var/lib/kube-mysql-e2e/kubeconfig/admin"
# shellcheck source=e2e/lib.sh
. e2e/lib.sh
# shellcheck source=e2e/versions-lib.sh
. e2e/versions-lib.sh
# People use the kubectl that they know; the local cluster's is what remains.
PATH=$given_path:$PATH
: "${BUILD:=build}" "${VERSION_WAIT:=300}"
logs=$BUILD/conformance
mkdir -p "$logs"
work=$(mktemp -d)
export E2E_WORK=$work VERSION_WAIT RUN_AS_USER STORAGE_CLASS given_path
child=''
# shellcheck disable=SC2317 # called by trap
finish() {
  trap - EXIT INT TERM
  [[ -z $child ]] || { kill "$child" 2> /dev/null; wait "$child"; }
  [[ -z ${NS:-} ]] || story_cleanup "$NS" > /dev/null 2>&1
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

for tool in kubectl jq; do command -v "$tool" > /dev/null || stop "$tool is missing"; done
k version > /dev/null 2>&1 || stop "the API server of $KUBECONFIG does not answer"
operator_there() { k -n "$OPERATOR_NS" get deployment kube-mysql-operator -o 'jsonpath={.spec.template.spec.containers[0].image}' 2> /dev/null; }
if [[ -n ${IMAGE_OPERATOR:-} && -n ${IMAGE_AGENT:-} ]]; then
  deploy/install.sh || stop "the operator could not be installed"
elif [[ -n ${IMAGE_OPERATOR:-}${IMAGE_AGENT:-} ]]; then
  stop "IMAGE_OPERATOR and IMAGE_AGENT belong together"
elif [[ -z $(operator_there) ]]; then
  stop "no operator is installed in that cluster" "IMAGE_OPERATOR and IMAGE_AGENT must name images that it can pull (README.md)"
fi
echo "operator $(operator_there), Kubernetes $(k version -o json 2> /dev/null | jq -r .serverVersion.gitVersion)"

# try IMAGE   in a namespace of its own; the image's row is in the table then, whatever happens
try() {
  local image=$1 rc=0 log
  NS=conformance-$(printf '%04x' $((RANDOM % 65536)))
  export NS
  log=$logs/$(tr -c 'a-zA-Z0-9.\n' '-' <<< "$image").log
  k create namespace "$NS" > /dev/null || stop "namespace $NS could not be made"
  k label namespace "$NS" pod-security.kubernetes.io/enforce=restricted > /dev/null
  echo "$image in namespace $NS, log: $log"
  # shellcheck disable=SC2016 # expanded by the inner shell
  bash -c '. e2e/lib.sh; PATH=$given_path:$PATH; set -eEuo pipefail; trap story_failed ERR; . e2e/stories/versions.inc; story_version "$1"' conformance "$image" \
    > >(tee "$log" | grep --line-buffered -E '^[0-9]{2}:|^FAILED' | sed -u 's/^/  /') 2>&1 < /dev/null &
  child=$!
  wait "$child" || rc=$?
  child=''
  ((rc == 0)) || story_evidence "$NS" >> "$log" 2>&1
  if ((rc != 0)) && [[ -n ${KEEP:-} ]]; then echo "namespace $NS stays"; else story_cleanup "$NS" >> "$log" 2>&1; fi
  NS=''
  ((rc == 0))
}

failed=0
for image in "$@"; do try "$image" || failed=$((failed + 1)); done
tables_print "$work/tables"
echo "conformance: $(($# - failed)) of $# images passed"
((failed == 0))
