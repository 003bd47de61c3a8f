#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo-lib.sh: what demo.sh and demo-clean.sh share. Source it from the top of the checkout.
# shellcheck disable=SC2034 # used by the scripts that source this file
#
# Whose cluster: the local one (e2e/cluster), or, if KUBECONFIG names another, that one. What the demo brought along is marked, so that
# demo-clean takes away that and nothing else: a file beside the local cluster's state when the demo brought that cluster up, an
# annotation on the operator's namespace when the demo installed the operator ("operator") and the CRDs ("operator,crds").

demo_given_path=$PATH
demo_given_kubeconfig=${KUBECONFIG:-}
# shellcheck source=e2e/lib.sh
. e2e/lib.sh
: "${BUILD:=build}"
DEMO_NS=kube-mysql-demo
DEMO_LABEL=kubemysql-demo=true
DEMO_ANNOTATION=kubemysql.dev/demo
DEMO_CLUSTER_MARK=$KM_RUN.demo
NS=$DEMO_NS
demo_local_kubeconfig=$KM_RUN/kubeconfig/admin
demo_start_us=${EPOCHREALTIME/./}

demo_is_local() { [[ -z $demo_given_kubeconfig || $demo_given_kubeconfig == "$demo_local_kubeconfig" ]]; }

# On somebody else's cluster people use the kubectl that they know, and not the local cluster's.
if ! demo_is_local; then PATH=$demo_given_path:$PATH; fi

# Lines with the time since the start: "12.3 s  text"
line() {
  local us=$((${EPOCHREALTIME/./} - demo_start_us))
  printf '%5d.%d s  %s\n' $((us / 1000000)) $((us / 100000 % 10)) "$*"
}
step() { printf '\n'; line "==> $*"; }
indent() { sed -u 's/^/           | /'; }
# stop MESSAGE [WHAT-TO-DO]…
stop() {
  printf '\n%s FAILED: %s\n' "${0##*/}" "$1" >&2
  shift
  (($# == 0)) || printf '  %s\n' "$@" >&2
  exit 1
}

demo_reachable() { timeout 15 kubectl version --request-timeout=10s > /dev/null 2>&1; }
# The CRDs carry the mark too, for a clean-up that was cut off after the namespace had gone.
demo_mark() {
  local object mark='{.metadata.annotations.kubemysql\.dev/demo}'
  for object in "namespace/$OPERATOR_NS" crd/mysqlclusters.kubemysql.dev; do
    if k get "$object" > /dev/null 2>&1; then
      k get "$object" -o "jsonpath=$mark"
      return
    fi
  done
}
demo_operator_there() { k -n "$OPERATOR_NS" get deployment kube-mysql-operator > /dev/null 2>&1; }
demo_crds_there() { k get crd mysqlclusters.kubemysql.dev > /dev/null 2>&1; }
