#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# uninstall.sh [--dry-run] [--with-databases [--with-backup-data] [--yes]]   remove the operator from the cluster of KUBECONFIG. Safe to repeat.
#
# Databases keep running without an operator, so CRDs, the roles view and edit of our kinds, and clusters stay as long as there is any MysqlCluster. With --with-databases
# all ConfigMapSyncs, Apps, MysqlBackups, MysqlTerminals, MysqlClusters and MysqlConfigs are deleted first, while the operator still runs: volumes go as spec.deletion.volumes says (they
# are kept by default), and a cluster with spec.deletion.finalBackup goes when that is stored (WAIT_SECONDS: how long each kind may take).
# What MysqlBackups have stored stays where it is, as their deletionPolicy is set to Retain before. --with-backup-data: it goes as deletionPolicy says; that of
# scheduled backups is Delete. Claims that the operator has made for backups stay in any case, and are listed at the end.
# --dry-run changes nothing and lists what would go. --with-databases lists that, too, and asks; --yes is the answer where nobody can be asked.
set -euo pipefail
here=$(realpath "$0")
cd "$(dirname "$here")/.."
gone=(--ignore-not-found --timeout="${WAIT_SECONDS:-120}s")
kinds=(configmapsyncs.kubemysql.dev apps.kubemysql.dev mysqlbackups.kubemysql.dev mysqlterminals.kubemysql.dev mysqlclusters.kubemysql.dev mysqlconfigs.kubemysql.dev)
databases="" data="" dry="" yes=""
for arg in "$@"; do
  case $arg in
    --dry-run) dry=1 ;;
    --yes) yes=1 ;;
    --with-databases) databases=1 ;;
    --with-backup-data) data=1 ;;
    -h | --help) sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "$here" && exit ;;
    *) echo "uninstall: unknown argument $arg (--help lists what there is)" >&2 && exit 2 ;;
  esac
done
[[ -z $data || -n $databases ]] || { echo "uninstall: --with-backup-data needs --with-databases" >&2 && exit 2; }

objects() { # all objects of a kind, a line each; nothing if the kind is not installed
  local line ns name rest columns=NS:.metadata.namespace,NAME:.metadata.name
  [[ $1 != mysqlclusters* ]] || columns+=,VOLUMES:.spec.deletion.volumes
  kubectl get "$1" --all-namespaces --no-headers -o custom-columns="$columns" 2> /dev/null | while read -r ns name rest; do
    line="${1%%.*}/$name"
    [[ $ns == "<none>" ]] || line+=" in namespace $ns"
    [[ -z $rest ]] || line+=", its volumes: $([[ $rest == Delete ]] && echo deleted || echo kept)"
    echo "  $line"
  done || :
}

all_objects() {
  local kind
  for kind in "${kinds[@]}"; do objects "$kind"; done
}

remove() { # remove ARG…: kubectl delete, or what that would delete
  if [[ -n $dry ]]; then kubectl delete --dry-run=server --ignore-not-found "$@"; else kubectl delete "$@" "${gone[@]}"; fi
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

# without_peoples_roles: the same manifests without the roles of people: those that Kubernetes aggregates into view and edit, and those that somebody may have bound
without_peoples_roles() {
  awk 'function end() { if (text !~ /aggregate-to-|kubemysql.dev\/people/) printf "%s---\n", text; text = "" } /^---$/ { end(); next } { text = text $0 "\n" } END { end() }'
}

# peoples_roles: the names of those roles, of the opt-in kinds, too, that are installed
peoples_roles() {
  local names
  mapfile -t names < <(installed | awk 'function end() { if (people) print name; people = 0 } /^---$/ { end() } /^  name: / { name = $2 } /aggregate-to-|kubemysql.dev\/people/ { people = 1 } END { end() }')
  kubectl get clusterroles "${names[@]}" --ignore-not-found -o name 2> /dev/null | sed 's|.*/||' | paste -sd ' ' | sed 's/ /, /g' || :
}

list=$(all_objects)
if [[ -n $databases && -n $list ]]; then
  printf 'uninstall: these objects %s:\n%s\n' "$([[ -n $dry ]] && echo "would be deleted" || echo "are to be deleted")" "$list"
  [[ -z $data ]] || echo "uninstall: and what backups have stored, where their deletionPolicy is Delete"
  if [[ -z $dry$yes ]]; then
    [[ -t 0 ]] || { echo "uninstall: nobody can be asked here; --yes deletes them. Nothing was changed" >&2 && exit 2; }
    read -r -p "Delete them? Type yes: " answer
    [[ $answer == yes ]] || { echo "uninstall: nothing was changed" && exit 1; }
  fi
fi
if [[ -n $databases && -z $dry ]]; then
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

further=(deploy/components/*/crd.yaml) # those of the opt-in kinds
left=""
[[ -n $dry && -n $databases ]] || left=$(all_objects)
installed() {
  kubectl kustomize deploy/operator
  for crd in "${further[@]}"; do printf -- '---\n' && cat "${crd%/*}/cluster_role.yaml"; done
}
# Who may see and edit our objects may do so as long as there are any.
if [[ -n $left ]]; then installed | without_peoples_roles; else installed; fi | remove -f -
if [[ -n $left ]]; then
  roles=$(peoples_roles)
  echo "uninstall: the CRDs${roles:+ and the roles of people ($roles)} stay, because these objects exist (--with-databases deletes them):"
  echo "$left"
  exit 0
fi
kubectl kustomize crds | remove -f -
for crd in "${further[@]}"; do remove -f "$crd"; done
