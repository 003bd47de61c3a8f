#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install.sh [local]   install CRDs and operator into the cluster of KUBECONFIG, or bring an installation up to date.
#
# "local": with the images that `make images` builds (deploy/local). IMAGE_OPERATOR and IMAGE_AGENT: with these. Safe to repeat. A server that is
# older than deploy/minimum-kubernetes is left as it is. Objects that break a rule of the new CRDs are listed before these are applied. Waits until the
# operator serves, if the cluster has nodes at all (WAIT_SECONDS, 120).
set -euo pipefail
cd "$(dirname "$0")/.."
overlay=deploy/operator
[[ ${1:-} != local ]] || overlay=deploy/local
wait_seconds=${WAIT_SECONDS:-120}
namespace=kube-mysql-system

with_images() {
  sed -E ${IMAGE_OPERATOR:+-e "s|^( *(- )?image: ).*|\1$IMAGE_OPERATOR|"} ${IMAGE_AGENT:+-e "s|--agent-image=.*|--agent-image=$IMAGE_AGENT|"} -e ''
}

command -v kubectl > /dev/null || { echo "install: kubectl is missing" >&2; exit 1; }

minimum=$(< deploy/minimum-kubernetes)
version=$(kubectl get --raw /version | sed -n 's/.*"gitVersion": *"v\([0-9]*\.[0-9]*\).*/\1/p')
[[ -n $version ]] || { echo "install: the API server does not say its version; nothing was changed" >&2; exit 1; }
if [[ $(printf '%s\n' "$minimum" "$version" | sort -V | head -n 1) != "$minimum" ]]; then
  echo "install: the API server is Kubernetes $version, kube-mysql needs $minimum or later; nothing was changed" >&2
  exit 1
fi

deploy/check-objects.sh

apply=(kubectl apply --server-side --force-conflicts -f -)
kubectl kustomize crds | "${apply[@]}"
kubectl wait --for=condition=Established --timeout=60s \
  crd/mysqlconfigs.kubemysql.dev crd/mysqlclusters.kubemysql.dev crd/mysqlterminals.kubemysql.dev \
  crd/mysqlbackups.kubemysql.dev
# The namespace first: --server-side in one go does not wait for it.
"${apply[@]}" < deploy/operator/namespace.yaml
kubectl kustomize "$overlay" | with_images | "${apply[@]}"

if [[ -n $(kubectl get nodes -o name) ]]; then
  kubectl -n $namespace rollout status deployment/kube-mysql-operator --timeout="${wait_seconds}s"
else
  echo "install: the cluster has no nodes, so the operator is not waited for"
fi
