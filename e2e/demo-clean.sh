#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo-clean.sh   undo make demo (make demo-clean). Safe to repeat; --dry-run (or DEMO_DRY_RUN=1) only says what it would do.
#
# Takes away what the demo brought along, as demo-lib.sh marks it: the demo's namespace with its clusters, terminals and volumes, its
# MysqlConfigs, the operator and the CRDs if the demo installed them, and the local Kubernetes if the demo brought it up. What was built
# and downloaded stays, so that the next demo is quick. DEMO_KEEP_OPERATOR=1 leaves operator and CRDs, DEMO_KEEP_CLUSTER=1 the
# local Kubernetes.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=e2e/demo-lib.sh
. e2e/demo-lib.sh
: "${DEMO_DRY_RUN:=}" "${DEMO_KEEP_OPERATOR:=}" "${DEMO_KEEP_CLUSTER:=}"
case ${1:-} in
  '') ;;
  --dry-run) DEMO_DRY_RUN=1 ;;
  *) stop "unknown argument $1" ;;
esac

run() {
  if [[ -n $DEMO_DRY_RUN ]]; then line "would run: $*"; else "$@" 2>&1 | indent; fi
}

cluster_down() {
  step "the local Kubernetes, with everything in it"
  ((EUID == 0)) || stop "root is needed to take down the local Kubernetes"
  run e2e/cluster/down.sh || stop "the local Kubernetes could not be taken down" "look: make cluster-status"
  run rm -f "$DEMO_CLUSTER_MARK"
}

# Clusters first, while the operator runs; then the namespace, which takes whatever is left.
remove_databases() {
  step "namespace $DEMO_NS: databases, terminals, volumes"
  if [[ -n $(k get namespace "$DEMO_NS" --ignore-not-found -o name) ]]; then
    if demo_crds_there; then
      run timeout 150 kubectl -n "$DEMO_NS" delete mysqlterminals,mysqlclusters --all --timeout=120s || stop "the clusters do not go away" \
        "look: kubectl -n $DEMO_NS get myc,myt,pods"
    fi
    run timeout 150 kubectl delete namespace "$DEMO_NS" --ignore-not-found --timeout=120s || stop "namespace $DEMO_NS does not go away" \
      "look: kubectl get namespace $DEMO_NS -o yaml"
  fi
  ! demo_crds_there || run timeout 60 kubectl delete mysqlconfigs -l "$DEMO_LABEL" --timeout=30s
}

remove_operator() {
  local mark
  mark=$(demo_mark)
  step "the operator"
  if [[ -n $DEMO_KEEP_OPERATOR ]]; then
    line "stays (DEMO_KEEP_OPERATOR)"
  elif [[ $mark == operator,crds ]]; then
    run deploy/uninstall.sh || stop "the operator could not be removed"
  elif [[ $mark == operator ]]; then
    line "the CRDs were there before the demo: they stay"
    run bash -c 'set -o pipefail; kubectl kustomize deploy/operator | kubectl delete -f - --ignore-not-found --timeout=120s' ||
      stop "the operator could not be removed"
  else
    line "was not installed by the demo: it stays"
  fi
}

if demo_is_local && [[ -e $DEMO_CLUSTER_MARK && -z $DEMO_KEEP_CLUSTER ]]; then
  cluster_down
elif ! command -v kubectl > /dev/null || ! demo_reachable; then
  demo_is_local || stop "the API server of KUBECONFIG=$demo_given_kubeconfig does not answer"
  line "the local Kubernetes does not run, nothing to do"
else
  remove_databases
  remove_operator
  if demo_is_local; then line "the local Kubernetes was not brought up by the demo, or is to be kept: it stays (make cluster-down)"; fi
fi
run rm -rf "$BUILD/demo"
echo
line "done. Builds and caches stay: $BUILD, $KM_CACHE"
