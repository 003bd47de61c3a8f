#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check-objects.sh   list the objects in the cluster of KUBECONFIG that the CRDs of crds/ would refuse. Nothing of ours is changed.
#
# The API server itself judges: the CRDs are installed for a moment under a group of their own, check.kubemysql.dev, and each object is offered to it as
# one of that group, without storing it (server-side dry run). Objects that are refused stay as they are and go on working under the new CRDs:
# Kubernetes lets pass what an update does not touch. Only an update of the part in question has to mend it.
set -euo pipefail
cd "$(dirname "$0")/.."
# kubectl remembers for six hours what it has found, and would take `mysqlclusters` for those of the other group.
KUBECACHEDIR=$(mktemp -d)
export KUBECACHEDIR
trap 'rm -rf "$KUBECACHEDIR"' EXIT
group=check.kubemysql.dev
kinds=(mysqlconfigs mysqlclusters mysqlterminals mysqlbackups)

places() { # places KIND: the namespaces that have such objects; "-" for those of the cluster
  kubectl get "$1.kubemysql.dev" --all-namespaces --no-headers -o custom-columns=NS:.metadata.namespace 2> /dev/null | sed 's/^<none>$/-/' | sort -u
}

twins() { # the CRDs under the other group; no short names, so that nobody's kubectl means them
  kubectl kustomize crds | sed -E -e "s/^(  name: mysql[a-z]+)\.kubemysql\.dev$/\1.$group/" -e "s/^  group: kubemysql\.dev$/  group: $group/" \
    -e '/^    (shortNames|categories):$/d' -e '/^    - (my[a-z]*|kubemysql)$/d'
}

ready() { # whether the API server serves all of them
  local kind
  for kind in "${kinds[@]}"; do kubectl get --raw "/apis/$group/v1alpha1/$kind?limit=1" > /dev/null 2>&1 || return 1; done
}

offer() { # offer ARG…: what the API server says against the objects that `kubectl get ARG…` finds
  kubectl get "$@" -o yaml |
    sed -E -e "s|^(  )?(- )?apiVersion: kubemysql\.dev/|\1\2apiVersion: $group/|" -e '/^    (resourceVersion|uid|selfLink|generation):/d' |
    { kubectl create --dry-run=server -f - > /dev/null; } 2>&1 || :
}

declare -A found
for kind in "${kinds[@]}"; do
  found[$kind]=$(places "$kind") || found[$kind]=""
done
[[ -n ${found[*]// /} ]] || exit 0

trap 'twins | kubectl delete --wait=false --ignore-not-found -f - > /dev/null; rm -rf "$KUBECACHEDIR"' EXIT
twins | kubectl apply --server-side --force-conflicts -f - > /dev/null
for ((tries = 0; tries < 150; tries++)); do
  ready && break || sleep 0.2
done

refused=""
for kind in "${kinds[@]}"; do
  for place in ${found[$kind]}; do
    scope=(-n "$place")
    [[ $place != - ]] || scope=()
    while read -r line; do
      refused+="  ${place/#-/cluster}: $line"$'\n'
    done < <(offer "$kind.kubemysql.dev" "${scope[@]}")
  done
done
[[ -z $refused ]] || printf 'install: these objects break a rule of the new CRDs. They go on working, but a change of what is wrong has to mend it:\n%s' "$refused"
