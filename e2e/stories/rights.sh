# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# Least privilege: what the operator may not do; its pods fit the restricted profile; database pods have no rights at all.
# core
account=system:serviceaccount:$OPERATOR_NS:kube-mysql-operator
may() { [[ $(k auth can-i "$@" --as="$account" -A 2> /dev/null) == yes ]]; }
may get secrets || fail "the operator cannot read Secrets by name"
for forbidden in "list secrets" "watch secrets" "delete namespaces" "create clusterrolebindings" "get nodes" "create deployments" "exec pods" "impersonate users"; do
  # shellcheck disable=SC2086 # two words
  if may $forbidden; then fail "the operator may $forbidden"; fi
done
[[ $(k get clusterrole kube-mysql-operator -o json | jq '[.rules[] | select((.verbs + .resources + .apiGroups) | index("*"))] | length') == 0 ]]
k -n "$OPERATOR_NS" get pods -o json > "$E2E_WORK/$NS.operator.json"
deploy/check-restricted.sh "$E2E_WORK/$NS.operator.json"

cluster db mariadb
wait_ready db 1
expect_eq "token in the database pod" "$(field pod db-mysql-0 '.spec.automountServiceAccountToken')" false
if kn exec db-mysql-0 -c agent -- test -e /var/run/secrets/kubernetes.io 2> /dev/null; then fail "the database pod has a token"; fi
for forbidden in "get secrets" "get pods" "list configmaps" "get mysqlclusters.kubemysql.dev" "create pods" "get endpoints"; do
  # shellcheck disable=SC2086 # two words
  if k auth can-i $forbidden --as="system:serviceaccount:$NS:db-mysql" -n "$NS" > /dev/null 2>&1; then fail "database pods may $forbidden"; fi
done
say "a team sees what is offered, and its cluster with pods and events; no Secret, and nothing of other namespaces"
team() { [[ $(k auth can-i "$@" --as=somebody --as-group="$NS-team" 2> /dev/null) == "$wanted" ]] || fail "can-i $*: not $wanted"; }
wanted=no
team list mysqlconfigs
k create clusterrolebinding "$NS-catalogue" --clusterrole=kube-mysql-catalogue --group="$NS-team" > /dev/null
trap 'k delete clusterrolebinding "$NS-catalogue" > /dev/null' EXIT
for role in view diagnose; do kn create rolebinding "team-$role" "--clusterrole=kube-mysql-$role" --group="$NS-team" > /dev/null; done
wanted=yes
team list mysqlconfigs
for what in mysqlclusters pods events pods/log persistentvolumeclaims resourcequotas; do team get "$what" -n "$NS"; done
wanted=no
for what in "get secrets" "create pods" "create pods/exec" "delete mysqlclusters" "update mysqlclusters"; do
  # shellcheck disable=SC2086 # two words
  team $what -n "$NS"
done
team update mysqlconfigs
team list mysqlclusters -n default
team list pods -n default
kn get pods -o json > "$E2E_WORK/$NS.pods.json"
deploy/check-restricted.sh "$E2E_WORK/$NS.pods.json"
say "memory limit of the operator"
expect_eq "limit" "$(k -n "$OPERATOR_NS" get deploy kube-mysql-operator -o 'jsonpath={.spec.template.spec.containers[0].resources.limits.memory}')" 64Mi
