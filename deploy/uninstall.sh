#!/bin/bash
# uninstall.sh [--with-databases]   remove the operator from the cluster of KUBECONFIG. Safe to repeat.
#
# Databases keep running without an operator, so CRDs and clusters stay as long as there is any MysqlCluster. With --with-databases
# all MysqlBackups, MysqlTerminals and MysqlClusters are deleted first, while the operator still runs: volumes go as spec.deletion.volumes says (they
# are kept by default), and a cluster with spec.deletion.finalBackup goes when that is stored (WAIT_SECONDS: how long each kind may take).
set -euo pipefail
cd "$(dirname "$0")/.."
gone=(--ignore-not-found --timeout="${WAIT_SECONDS:-120}s")
kinds=(mysqlbackups.kubemysql.dev mysqlterminals.kubemysql.dev mysqlclusters.kubemysql.dev mysqlconfigs.kubemysql.dev)

objects() { # names of all objects of a kind, nothing if the kind is not installed
  kubectl get "$1" --all-namespaces -o name 2> /dev/null || :
}

if [[ ${1:-} == --with-databases ]]; then
  for kind in "${kinds[@]}" mysqlbackups.kubemysql.dev; do # again: clusters that went may have left a last one
    scope=(--all-namespaces)
    [[ $kind != mysqlconfigs* ]] || scope=()
    [[ -z $(objects "$kind") ]] || kubectl delete "$kind" --all "${scope[@]}" "${gone[@]}"
  done
fi

kubectl kustomize deploy/operator | kubectl delete -f - "${gone[@]}"
left=$(for kind in "${kinds[@]}"; do objects "$kind"; done)
if [[ -n $left ]]; then
  echo "uninstall: the CRDs stay, because these objects exist (--with-databases deletes them):"
  echo "$left"
  exit 0
fi
kubectl kustomize crds | kubectl delete -f - "${gone[@]}"
