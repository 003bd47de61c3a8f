# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A changed pod template is tried before any of two members is touched: a node selector that no node fits, a field that does not exist, a class and a
# Secret that are not there. Commits go on, the condition says what is wrong, and what is taken back or comes true is in force by itself. A value that the
# server changes is told. An older server than the data's is refused.
# long
# seconds 900
. e2e/replication-lib.sh
cluster db mariadb '  replicas: 2
  storage: {resources: {requests: {storage: 1Gi}}}'
wait_replicated db 2
sql db-mysql-0 'CREATE DATABASE keep; CREATE TABLE keep.t (id INT AUTO_INCREMENT PRIMARY KEY)'
lives() { kn get pods db-mysql-0 db-mysql-1 -o 'jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[*].restartCount} {end}'; }
template() { kn patch myc db --type=merge -p "{\"spec\":{\"podTemplate\":$1}}" > /dev/null; }
takes_back() {
  template null
  wait_until 60 "accepted again" condition_is myc db Accepted True
  wait_until 60 "no check pod" gone pod db-mysql-check
  wait_until 60 "in force" condition_is myc db Ready True
  expect_eq "members" "$(lives)" "$before"
}
# refused WHAT REGEX: the condition says so, nobody is touched, and commits go on.
refused() {
  wait_until 60 "the condition: $1" condition_says myc db Accepted "$2"
  say "$(condition_text myc db Accepted)"
  sql "$(primary db)" 'INSERT INTO keep.t VALUES ()'
  expect_eq "members after $1" "$(lives)" "$before"
  condition_is myc db Available True
  if kn get statefulset db-mysql -o yaml | grep -qE 'disk: none|tolerationz|no-such|later'; then fail "$1 reached the StatefulSet"; fi
}
before=$(lives)

say "a node selector that no node fits"
template '{"spec":{"nodeSelector":{"disk":"none"}}}'
refused "a selector" 'Unschedulable: .*nodes are available'
takes_back

say "a field that does not exist"
template '{"spec":{"tolerationz":[{"operator":"Exists"}]}}'
refused "a misspelt field" 'TemplateRefused: .*tolerationz'
takes_back

say "a priority class that does not exist"
template '{"spec":{"priorityClassName":"no-such"}}'
refused "a missing class" 'TemplateRefused: .*no-such'
takes_back

say "a Secret that comes later: it goes on by itself"
template '{"spec":{"containers":[{"name":"mysql","env":[{"name":"LATER","valueFrom":{"secretKeyRef":{"name":"later","key":"k"}}}]}]}}'
refused "a missing Secret" 'PodNotStarted: .*later'
kn create secret generic later --from-literal=k=v > /dev/null
wait_until 120 "the first member is replaced" eval '[[ $(lives) != "$before" ]]'
wait_until 180 "in force" condition_is myc db Ready True
wait_replicated db 2 180
expect_eq "rows" "$(sql "$(primary db)" 'SELECT COUNT(*) FROM keep.t')" 4
expect_match "the template" "$(kn get statefulset db-mysql -o yaml)" 'name: LATER'
before=$(lives)

say "a value that the server changes"
kn patch myc db --type=merge -p '{"spec":{"mycnf":{"max_allowed_packet":"5G"}}}' > /dev/null
wait_until 90 "it is told" condition_says myc db Accepted 'Accepted: .*max_allowed_packet.* adjusted to 1073741824'
wait_until 60 "no check pod" gone pod db-mysql-check
wait_until 20 "an Event" eval '[[ $(kn get events -o jsonpath="{.items[?(@.reason==\"MycnfAdjusted\")].message}") == *max_allowed_packet* ]]'
condition_says myc db Accepted 'adjusted to 1073741824' || fail "it is told no more"
expect_eq "members" "$(lives)" "$before"

say "a new cluster whose pods the API server refuses"
cluster new mariadb '  podTemplate: {spec: {priorityClassName: no-such}}
  storage: {resources: {requests: {storage: 1Gi}}}'
wait_until 30 "the condition" condition_says myc new Accepted 'TemplateRefused: .*no-such'
gone statefulset new-mysql || fail "it has a StatefulSet already"
kn patch myc new --type=merge -p '{"spec":{"podTemplate":null}}' > /dev/null
wait_ready new 1 180
condition_is myc new Accepted True
