#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lib.sh: what stories, demo and fault tests share. Source it from the top of the checkout.
# shellcheck disable=SC2034 # used by the stories

[[ -n ${KUBECONFIG:-} ]] && km_given_kubeconfig=$KUBECONFIG
# shellcheck source=e2e/cluster/env.sh
. e2e/cluster/env.sh
[[ -n ${km_given_kubeconfig:-} ]] && KUBECONFIG=$km_given_kubeconfig
export KUBECONFIG
OPERATOR_NS=kube-mysql-system

# Every call has an end: an API server that hangs must fail a story, not stop the run.
k() { timeout 60 kubectl "$@"; }
kn() { timeout 60 kubectl -n "$NS" "$@"; }

say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*"; }
failure= # what was said last, for those who tell it elsewhere
failed() {
  failure=$*
  echo "FAILED: $*"
}
fail() {
  failed "$@"
  exit 1
}
skip() {
  echo "SKIPPED: $*"
  exit 77
}
# shellcheck disable=SC2317 # called by trap
story_failed() {
  local file=${BASH_SOURCE[1]:-}
  echo "FAILED at ${file##*/}:${BASH_LINENO[0]}: $BASH_COMMAND"
}

# wait_until SECONDS WHAT COMMAND…   polls; says what it waited for when it gives up
wait_until() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" > /dev/null 2>&1; do
    ((SECONDS < end)) || { failed "waited in vain for: $what ($*)"; return 1; }
    sleep 0.3
  done
}
# holds_for SECONDS WHAT COMMAND…   the opposite: it must stay true
holds_for() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  while ((SECONDS < end)); do
    "$@" > /dev/null 2>&1 || { failed "did not stay true: $what ($*)"; return 1; }
    sleep 0.5
  done
}
expect_eq() { # WHAT ACTUAL EXPECTED
  [[ $2 == "$3" ]] || { failed "$1 is '$2', expected '$3'"; return 1; }
}
expect_match() { # WHAT ACTUAL REGEX
  [[ $2 =~ $3 ]] || { failed "$1 is '$2', expected to match '$3'"; return 1; }
}

# field KIND NAME JSONPATH   (without braces)
field() { kn get "$1" "$2" -o "jsonpath={$3}"; }
field_is() { [[ $(field "$1" "$2" "$3") == "$4" ]]; }
field_matches() { [[ $(field "$1" "$2" "$3") =~ $4 ]]; }
condition() { field "$1" "$2" ".status.conditions[?(@.type==\"$3\")].status"; } # KIND NAME TYPE
condition_is() { [[ $(condition "$1" "$2" "$3") == "$4" ]]; }
condition_text() { field "$1" "$2" ".status.conditions[?(@.type==\"$3\")].reason}: {.status.conditions[?(@.type==\"$3\")].message"; }
condition_says() { [[ $(condition_text "$1" "$2" "$3") =~ $4 ]]; }
exists() { kn get "$1" "$2"; }
gone() { [[ -z $(kn get "$1" "$2" --ignore-not-found -o name) ]]; }

# cluster_ready NAME N: the operator has seen the newest spec and N members are ready
cluster_ready() {
  [[ $(field myc "$1" '.status.readyReplicas}/{.metadata.generation') == "$2/$(field myc "$1" .status.observedGeneration)" ]] &&
    condition_is myc "$1" Available True && condition_is myc "$1" Progressing False
}
wait_ready() { wait_until "${3:-120}" "cluster $1 with $2 ready members" cluster_ready "$1" "$2"; }

# sql POD SQL [DATABASE]   as root through the server's socket; the password goes by standard input
sql() {
  local password client
  password=$(field secret "${1%-mysql-*}-mysql-accounts" .data.root | base64 -d)
  # shellcheck disable=SC2016 # expanded in the pod
  client='c=$(command -v mariadb || command -v mysql || ls /opt/*/bin/mariadb); exec "$c" --defaults-extra-file=/dev/stdin --socket=/run/mysqld/mysqld.sock -uroot -N -B -e "$1" $2'
  printf '[client]\npassword="%s"\n' "$password" | kn exec -i "$1" -c mysql -- bash -c "$client" sql "$2" "${3:-}"
}

# The MysqlConfigs that the stories use: one per flavour, by images of the local cluster.
configs() {
  k apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlConfig
metadata: {name: e2e-mariadb}
spec:
  images: {mysql: "registry.local/mariadb:10.11", agent: "registry.local/kube-mysql-agent:dev"}
---
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlConfig
metadata: {name: e2e-mysql}
spec:
  images: {mysql: "registry.local/mysql:9.7", agent: "registry.local/kube-mysql-agent:dev"}
YAML
}
mysql_image_there() { [[ -f $KM_IMAGES/mysql.oci.tar ]]; }
# need_flavour FLAVOUR: skips the story when the image could not be built
need_flavour() { [[ $1 != mysql ]] || mysql_image_there || skip "the MySQL image could not be built on this day (sid in motion)"; }

# cluster NAME FLAVOUR [SPEC-YAML indented by two]   applies a MysqlCluster
cluster() {
  local spec=${3:-}
  [[ -n $spec ]] || spec='  replicas: 1
  storage: {resources: {requests: {storage: 1Gi}}}'
  [[ $spec == *'  config:'* ]] || spec="  config: {name: e2e-$2}
$spec"
  kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlCluster
metadata: {name: $1}
spec:
$spec
YAML
}

# patch_refused NAME REGEX PATCH   the API server refuses this merge patch of a MysqlCluster, and its message matches
patch_refused() {
  local answer
  if answer=$(kn patch myc "$1" --type=merge -p "$3" 2>&1); then
    echo "FAILED: the API server takes $3"
    return 1
  fi
  expect_match "the API server's answer to $3" "$answer" "$2"
}

# Installs CRDs and operator of this checkout when they are not what runs already. The operator's image digest is the mark.
deploy_operator() {
  local mark archives=("${BUILD:-build}"/images/kube-mysql-{operator,agent}.oci.tar)
  [[ -f ${archives[0]} && -f ${archives[1]} ]] || { echo "images are missing: make images" >&2; return 1; }
  mark=$(cat "${archives[@]}" crds/*.yaml deploy/*.yaml deploy/*/*.yaml 2> /dev/null | sha256sum | cut -c1-32)
  if [[ $(k get namespace "$OPERATOR_NS" -o "jsonpath={.metadata.annotations['kubemysql\.dev/e2e-mark']}" 2> /dev/null) != "$mark" ]] ||
    ! k get crd mysqlclusters.kubemysql.dev > /dev/null 2>&1 || ! k -n "$OPERATOR_NS" get deployment kube-mysql-operator > /dev/null 2>&1; then
    e2e/cluster/load-image.sh "${archives[@]}" && deploy/install.sh local &&
      k -n "$OPERATOR_NS" delete pod --all --wait=false > /dev/null || return 1
    k annotate --overwrite namespace "$OPERATOR_NS" "kubemysql.dev/e2e-mark=$mark" > /dev/null
  fi
  wait_until 90 "the operator" k -n "$OPERATOR_NS" rollout status deployment/kube-mysql-operator --timeout=5s || return 1
}
install_operator() { deploy_operator && configs; }

# story_evidence NS: what a person would look at first
story_evidence() {
  echo "---- evidence from $1"
  k -n "$1" get myc,myb,myt,sts,pod,svc,pvc,endpointslice -o wide
  k -n "$1" get myc,myb -o json | jq -c '.items[] | {name: .metadata.name, status: .status}'
  k -n "$1" get events --sort-by=.lastTimestamp -o custom-columns=O:.involvedObject.name,R:.reason,M:.message --no-headers | tail -25
  local pod
  for pod in $(k -n "$1" get pod -o name); do
    echo "-- $pod"
    k -n "$1" get "$pod" -o json | jq -c '[.status.initContainerStatuses[]?, .status.containerStatuses[]? | {name, ready, restartCount, state, lastState}]'
    k -n "$1" logs "$pod" --all-containers --tail=15 --prefix 2>&1
  done
  echo "-- operator"
  k -n "$OPERATOR_NS" logs -l app.kubernetes.io/component=operator --tail=40 2>&1 | grep -F "$1" | tail -25
}

story_cleanup() {
  k -n "$1" annotate myc --all kubemysql.dev/skip-final-backup=true # one that waits for its last backup would hold the namespace
  k -n "$1" annotate myb --all kubemysql.dev/skip-data-deletion=true > /dev/null # so would one whose Secrets went before it
  k -n "$1" delete myc,myt --all --wait=false --ignore-not-found
  k delete namespace "$1" --wait=false
  k get mysqlconfig -o name | grep -F "/$1" | while read -r config; do k delete "$config"; done
  true
}
