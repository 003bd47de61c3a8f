#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# uninstall.sh [--with-databases [--with-backup-data]]   remove the operator from the cluster of KUBECONFIG. Safe to repeat.
#
# Databases keep running without an operator, so CRDs and clusters stay as long as there is any MysqlCluster. With --with-databases
# all ConfigMapSyncs, Apps, MysqlBackups, MysqlTerminals, MysqlClusters and MysqlConfigs are deleted first, while the operator still runs: volumes go as spec.deletion.volumes says (they
# are kept by default), and a cluster with spec.deletion.finalBackup goes when that is stored (WAIT_SECONDS: how long each kind may take).
# What MysqlBackups have stored stays where it is, as their deletionPolicy is set to Retain before. --with-backup-data: it goes as deletionPolicy says; that of
# scheduled backups is Delete. Claims that the operator has made for backups stay in any case, and are listed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
gone=(--ignore-not-found --timeout="${WAIT_SECONDS:-120}s")
kinds=(configmapsyncs.kubemysql.dev apps.kubemysql.dev mysqlbackups.kubemysql.dev mysqlterminals.kubemysql.dev mysqlclusters.kubemysql.dev mysqlconfigs.kubemysql.dev)
databases="" data=""
for arg in "$@"; do
  case $arg in
    --with-databases) databases=1 ;;
    --with-backup-data) data=1 ;;
    *) echo "uninstall: unknown argument $arg" >&2 && exit 2 ;;
  esac
done
[[ -z $data || -n $databases ]] || { echo "uninstall: --with-backup-data needs --with-databases" >&2 && exit 2; }

objects() { # names of all objects of a kind, nothing if the kind is not installed
  kubectl get "$1" --all-namespaces -o name 2> /dev/null || :
}

# One by one: what a schedule makes meanwhile, with the policy Delete, waits for the second round.
delete_backups() {
  local list ns name goes
  list=$(kubectl get "$1" --all-namespaces --no-headers -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name,GOES:.metadata.deletionTimestamp)
  while read -r ns name goes; do
    [[ -n $ns ]] || continue
    if [[ $goes == "<none>" ]]; then # one that goes already goes as was wanted then
      kubectl -n "$ns" patch "$1" "$name" --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'
    fi
    kubectl -n "$ns" delete "$1" "$name" "${gone[@]}"
  done <<< "$list"
}

backup_claims() {
  local list
  list=$(kubectl get persistentvolumeclaims --all-namespaces -l kubemysql.dev/backup-claim --no-headers \
    -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name 2> /dev/null || :)
  [[ -z $list ]] || printf 'uninstall: these claims hold stored backups and stay; "kubectl -n NAMESPACE delete pvc NAME" removes one with all that is on it:\n%s\n' "$list"
}
trap backup_claims EXIT

if [[ -n $databases ]]; then
  for kind in "${kinds[@]}" mysqlbackups.kubemysql.dev; do # again: clusters that went may have left a last one
    scope=(--all-namespaces)
    [[ $kind != mysqlconfigs* ]] || scope=()
    if [[ -z $(objects "$kind") ]]; then
      continue
    elif [[ $kind == mysqlbackups* && -z $data ]]; then
      delete_backups "$kind"
    else
      kubectl delete "$kind" --all "${scope[@]}" "${gone[@]}"
    fi
  done
fi

kubectl kustomize deploy/operator | kubectl delete -f - "${gone[@]}"
further=(deploy/components/*/crd.yaml) # those of the opt-in kinds
for crd in "${further[@]}"; do kubectl delete -f "${crd%/*}/cluster_role.yaml" "${gone[@]}"; done
left=$(for kind in "${kinds[@]}"; do objects "$kind"; done)
if [[ -n $left ]]; then
  echo "uninstall: the CRDs stay, because these objects exist (--with-databases deletes them):"
  echo "$left"
  exit 0
fi
kubectl kustomize crds | kubectl delete -f - "${gone[@]}"
for crd in "${further[@]}"; do kubectl delete -f "$crd" "${gone[@]}"; done
