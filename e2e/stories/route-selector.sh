# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A selector that somebody gives the primary's Service by hand goes, with what Kubernetes makes of it; those of the others come back.
# long
. e2e/replication-lib.sh
cluster db mariadb '  replicas: 2
  storage: {resources: {requests: {storage: 1Gi}}}
  terminal: {}'
wait_replicated db 2
wait_until 60 "terminal is available" condition_is myt db Available True
event_says() { kn get events -o 'jsonpath={range .items[?(@.involvedObject.kind=="MysqlCluster")]}{.involvedObject.name}{" "}{.reason}{" "}{.message}{"\n"}{end}' | grep -qE "$1"; }
slices() { kn get endpointslice -l "kubernetes.io/service-name=$1" -o 'jsonpath={.items[*].metadata.name}'; }
endpoints() { kn get endpoints db-mysql-primary --ignore-not-found -o 'jsonpath={.subsets}' 2> /dev/null; } # empty ones lead nowhere
cleared() { [[ -z $(field svc db-mysql-primary .spec.selector) && $(slices db-mysql-primary) == db-mysql-primary && -z $(endpoints) ]]; }
version() { kn get svc,endpointslice -o 'jsonpath={range .items[*]}{.metadata.name}={.metadata.resourceVersion} {end}'; }
# reached   whom twenty new connections through the primary's Service come to
reached() { kn exec db-terminal -- sh -c 'for i in $(seq 20); do mysql --connect-timeout=3 -h db-mysql-primary -N -B -e "SELECT @@hostname" || echo refused; done' | sort -u | tr '\n' ' '; }
expect_eq "whom clients reach" "$(reached)" "$(primary db) "

say "a selector that finds nobody, and one that finds all members"
for selector in '{"app":"x"}' '{"kubemysql.dev/cluster":"db"}'; do
  kn patch svc db-mysql-primary -p "{\"spec\":{\"selector\":$selector}}" > /dev/null
  wait_until 10 "the route is the operator's alone, after $selector" cleared
  holds_for 8 "it stays so, after $selector" cleared
  expect_eq "whom clients reach after $selector" "$(reached)" "$(primary db) "
done
wait_until 20 "an Event of the selector" event_says '^db RouteCleared Service db-mysql-primary .*: spec.selector$'
wait_until 20 "an Event of the EndpointSlices" event_says '^db RouteCleared .*EndpointSlice db-mysql-primary-'
wait_until 20 "an Event of the Endpoints" event_says '^db RouteCleared .*: Endpoints db-mysql-primary'

say "what is left of a selector, as after a crash: one of Kubernetes' EndpointSlices, and Endpoints that it mirrors"
labels=$(field svc db-mysql-primary .metadata.labels)
kn apply -f - > /dev/null << YAML
{"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "db-mysql-primary", "labels": $labels},
 "subsets": [{"addresses": [{"ip": "10.244.1.250"}], "ports": [{"name": "mysql", "port": 3306}]}]}
---
{"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
 "metadata": {"name": "db-mysql-primary-left1", "labels": $(jq -c '. + {
   "kubernetes.io/service-name": "db-mysql-primary", "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}' <<< "$labels")},
 "endpoints": [{"addresses": ["10.244.1.250"]}], "ports": [{"name": "mysql", "port": 3306}]}
YAML
wait_until 10 "the route is the operator's alone" cleared
holds_for 8 "it stays so" cleared
wait_until 20 "an Event of what was there" event_says '^db RouteCleared .*EndpointSlice db-mysql-primary-left1'
expect_eq "whom clients reach" "$(reached)" "$(primary db) "

say "selectors of the other Services are as they were"
for service in db-mysql db-mysql-replicas; do
  before=$(field svc $service .spec.selector)
  for selector in '{"app":"x"}' null; do
    kn patch svc $service --type=merge -p "{\"spec\":{\"selector\":$selector}}" > /dev/null
    wait_until 10 "selector of $service, after $selector" field_is svc $service .spec.selector "$before"
  done
done
wait_until 20 "replicas are reached" eval '[[ $(kn exec db-terminal -- mysql --connect-timeout=3 -h db-mysql-replicas -N -B -e "SELECT @@hostname") == db-mysql-1 ]]'

say "nothing is written while nothing is wrong"
sleep 3
before=$(version)
sleep 20
expect_eq "Services and EndpointSlices" "$(version)" "$before"
