# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# spec.port: a running cluster's Services change at once, and back; no pod is touched, the terminal follows.
. e2e/replication-lib.sh
cluster db mariadb '  replicas: 2
  storage: {resources: {requests: {storage: 1Gi}}}
  terminal: {}'
wait_replicated db 2
wait_until 60 "terminal is available" condition_is myt db Available True
lives() { kn get pods db-mysql-0 db-mysql-1 -o 'jsonpath={.items[*].metadata.uid} {.items[*].status.containerStatuses[*].restartCount}'; }
port_of() { field svc "db-mysql-$1" '.spec.ports[?(@.name=="mysql")].port'; }
ports_are() { [[ $(port_of primary)/$(port_of replicas)/$(field myc db .status.port) == "$1/$1/$1" ]]; }
# from HOST PORT [OPTION…]   a query through a Service
from() { kn exec db-terminal -- mysql --connect-timeout=3 "${@:3}" -h "$1" -P "$2" -N -B -e 'SELECT @@hostname'; }
terminal_has() { [[ $(kn exec db-terminal -- sh -c 'echo "$MYSQL_HOST:$MYSQL_PORT"; mysql -N -B -e "SELECT @@port"') == *":$1"$'\n'3306 ]]; }
expect_eq "ports without spec.port" "$(port_of primary) $(port_of replicas) $(field myc db .status.port)" "3306 3306 3306"
wait_until 30 "the terminal's port" terminal_has 3306
before=$(lives)

say "another port: both Services at once, servers and pods as they are"
kn patch myc db --type=merge -p '{"spec":{"port":3307}}' > /dev/null
wait_until 10 "Services and status" ports_are 3307
wait_until 60 "a new terminal" terminal_has 3307
wait_until 20 "the primary answers there" eval '[[ $(from db-mysql-primary 3307) == "$(primary db)" ]]'
wait_until 20 "a replica answers there" eval '[[ $(from db-mysql-replicas 3307) == db-mysql-1 ]]'
if from db-mysql-primary 3306 2> /dev/null; then fail "the old port still answers"; fi
expect_eq "a member's own name" "$(from db-mysql-1.db-mysql 3306)" db-mysql-1
expect_eq "port of the headless Service" "$(field svc db-mysql '.spec.ports[?(@.name=="mysql")].port')" 3306
expect_eq "pods and containers" "$(lives)" "$before"

say "a spec that is not accepted changes no port"
kn patch myc db --type=merge -p '{"spec":{"port":3308,"mycnf":{"skip_grant_tables":true}}}' > /dev/null
wait_until 30 "refusal" condition_is myc db Accepted False
sleep 2
expect_eq "ports" "$(port_of primary) $(port_of replicas) $(field myc db .status.port)" "3307 3307 3307"

say "left out again: 3306"
kn patch myc db --type=json -p '[{"op":"remove","path":"/spec/port"},{"op":"remove","path":"/spec/mycnf"}]' > /dev/null
wait_until 30 "Services and status" ports_are 3306
wait_until 60 "the terminal's port" terminal_has 3306
expect_eq "pods and containers" "$(lives)" "$before"

say "a bad port: the API server names it"
patch_refused db 'spec.port' '{"spec":{"port":70000}}'
