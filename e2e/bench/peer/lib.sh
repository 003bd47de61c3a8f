# SPDX-License-Identifier: Apache-2.0
# lib.sh: (sourced by peer.sh, after e2e/replication-lib.sh) what is asked of either operator, by the same names:
#
#   SYSTEM_install               its custom resources and its controller
#   SYSTEM_create                a cluster "db" of three members in $NS
#   SYSTEM_primary               the pod that its status names
#   SYSTEM_well                  three members are ready, two of them follow the third, no change is under way
#   SYSTEM_account DIR           the writer's password goes to DIR/password; prints the address of the Service for writes
#   SYSTEM_tells                 what an eye would look at when it does not get well
#   SYSTEM_remove                what was made
# shellcheck shell=bash

# ---- kube-mysql
ours_install() { install_operator; }
ours_create() {
  cluster db mariadb '  replicas: 3
  storage: {resources: {requests: {storage: 1Gi}}}
  deletion: {volumes: Delete}'
}
ours_primary() { primary db; }
ours_well() { replicated db 3 && field_is myc db .status.semiSync true; }
ours_account() {
  field secret db-mysql-accounts .data.root | base64 -d > "$1/password"
  field svc db-mysql-primary .spec.clusterIP
}
ours_tells() { story_evidence "$NS"; }
ours_remove() { story_cleanup "$NS"; }

# ---- mariadb-operator
PEER_NS=mariadb-system
peer_install() {
  local built source
  mapfile -t built < <(e2e/bench/peer/images.sh)
  ((${#built[@]} == 3)) || fail "the peer could not be built"
  source=${built[0]}
  e2e/cluster/load-image.sh "${built[@]:1}"
  wait_until 120 "an earlier namespace to be gone" eval "[[ \$(k get namespace $PEER_NS --ignore-not-found -o 'jsonpath={.status.phase}') != Terminating ]]"
  k create namespace "$PEER_NS" --dry-run=client -o yaml | k apply -f - > /dev/null
  k apply --server-side --force-conflicts -f "$source/config/crd/bases" > /dev/null
  k apply -f "$source/config/rbac/service_account.yaml" -f "$source/config/rbac/role.yaml" -f "$source/config/rbac/role_binding.yaml" > /dev/null
  sed "s/@TAG@/$PEER_VERSION/" e2e/bench/peer/operator.yaml | k apply -f - > /dev/null
  wait_until 120 "the peer's operator" k -n "$PEER_NS" rollout status deployment/mariadb-operator --timeout=5s
}
peer_uninstall() {
  local source=$KM_CACHE/peer/mariadb-operator-$PEER_VERSION
  [[ -d $source ]] || return 0
  k -n "$PEER_NS" delete deployment mariadb-operator --ignore-not-found
  k delete --ignore-not-found --wait=false -f "$source/config/rbac/role_binding.yaml" -f "$source/config/rbac/role.yaml"
  k delete --ignore-not-found --wait=false -f "$source/config/crd/bases"
  k delete namespace "$PEER_NS" --ignore-not-found --wait=false
}
peer_create() {
  sed "s/@PASSWORD@/$(tr -dc a-z0-9 < /dev/urandom | head -c 24)/g; s/@ACK_TIMEOUT@/$PEER_ACK_TIMEOUT/" e2e/bench/peer/cluster.yaml | kn apply -f - > /dev/null
}
peer_primary() { field mariadb db .status.currentPrimary; }
peer_well() {
  kn get mariadb db -o json | jq -e '
    (.status.conditions | map({(.type): .status}) | add) as $is | .status.currentPrimary as $primary
    | $is.Ready == "True" and $is.ReplicationConfigured == "True" and $is.PrimarySwitched != "False"
      and .spec.replication.primary.podIndex == .status.currentPrimaryPodIndex
      and ([.status.replication.roles | to_entries[] | select(.value == "Replica") | .key] | sort) == (["db-0", "db-1", "db-2"] - [$primary])
      and ([.status.replication.replicas[] | select(.slaveIORunning and .slaveSQLRunning and .secondsBehindMaster == 0)] | length) == 2' &&
    kn get pods -l app.kubernetes.io/instance=db -o json |
    jq -e '[.items[] | select(any(.status.conditions[]; .type == "Ready" and .status == "True"))] | length == 3'
}
peer_account() {
  field secret db .data.root-password | base64 -d > "$1/password"
  field svc db-primary .spec.clusterIP
}
peer_tells() {
  kn get mariadb,pods,pvc,endpointslices -o wide
  kn get mariadb db -o json | jq -c '.spec.replication.primary, .status'
  kn get events --sort-by=.lastTimestamp -o custom-columns=O:.involvedObject.name,R:.reason,M:.message --no-headers | tail -25
  k -n "$PEER_NS" logs deployment/mariadb-operator --tail=40
}
peer_remove() {
  kn delete mariadb --all --timeout=40s --ignore-not-found
  k delete namespace "$NS" --wait=false --ignore-not-found
}
