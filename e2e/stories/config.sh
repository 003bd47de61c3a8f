# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# Config merge, key by key; a changed MysqlConfig reaches the servers of the clusters that use it, without a restart if it can; a missing one is
# reported and heals.
# core
kn get ns "$NS" > /dev/null
cluster_spec() {
  kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlCluster
metadata: {name: db}
spec:
  config:
    name: cfg-$NS
    spec: {mycnf: {max_connections: 77}}
  mycnf: {table_open_cache: 333}
  replicas: 1
  storage: {resources: {requests: {storage: 1Gi}}}
YAML
}
config() {
  k apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlConfig
metadata: {name: cfg-$NS}
spec:
  images: {mysql: "registry.local/mariadb:10.11", agent: "registry.local/kube-mysql-agent:dev"}
  mycnf: {max_connections: 55, table_open_cache: 222, thread_cache_size: $1}
YAML
}
trap 'k delete mysqlconfig "cfg-$NS" --ignore-not-found > /dev/null' EXIT

say "a MysqlConfig that does not exist is named"
cluster_spec
wait_until 30 "condition" condition_says myc db Accepted "ConfigNotFound: spec.config.name: .*cfg-$NS"
expect_eq "StatefulSet" "$(kn get sts -o name)" ""

say "it heals when the MysqlConfig appears"
config 11
wait_ready db 1
variables() { sql db-mysql-0 'SELECT CONCAT_WS(",", @@max_connections, @@table_open_cache, @@thread_cache_size)'; }
expect_eq "inline wins over named, the cluster's own over both" "$(variables)" 77,333,11
expect_eq "merged configuration in status" "$(field myc db .status.configSpec.mycnf.max_connections)" 77

say "a change of the MysqlConfig reaches the server, without a restart"
life() { field pod db-mysql-0 '.metadata.uid} {.status.containerStatuses[*].restartCount}{.status.initContainerStatuses[*].restartCount'; }
before=$(life)
config 12
wait_until 120 "new value in the server" eval '[[ $(variables) == 77,333,12 ]]'
wait_ready db 1
wait_until 20 "the member counts as updated" field_is myc db .status.updatedReplicas 1
expect_eq "the pod and its containers" "$(life)" "$before"

say "what the server was told at run time is in force after a restart of it, too"
kn exec db-mysql-0 -c mysql -- bash -c 'kill -TERM 1' || true
wait_until 60 "the server was started anew" field_matches pod db-mysql-0 '.status.containerStatuses[?(@.name=="mysql")].restartCount' '^[1-9]'
wait_ready db 1
wait_until 30 "the values after the restart" eval '[[ $(variables) == 77,333,12 ]]'
expect_eq "the pod" "$(life | cut -d" " -f1)" "${before%% *}"
