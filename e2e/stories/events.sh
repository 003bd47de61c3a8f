# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC1091,SC2016 # expanded later, by eval
# long
# What the life of a cluster is told as: made, rolled by hand, a replica's pod deleted, hibernated and awake without a single
# Warning; a failover with its steps in the order in which they happened, as kubectl lists them.
. e2e/stories/failover.inc
storage='  storage: {resources: {requests: {storage: 1Gi}}}'
# as kubectl prints them: by name of the event, which is what the API server lists by
events_of() { kn get events -o 'jsonpath={range .items[?(@.involvedObject.kind=="MysqlCluster")]}{.involvedObject.name}{" "}{.type}{" "}{.reason}{" "}{.message}{"\n"}{end}' | sed -n "s/^$1 //p"; }
warnings_of() { events_of "$1" | grep '^Warning' || true; }
no_warning() {
  sleep 1 # events are written a moment later
  local found
  found=$(warnings_of db)
  [[ -z $found ]] || { events_of db; fail "$1: $found"; }
}
reasons_of() { events_of db | grep -oE '^(Normal|Warning) (Failover|Switchover)[A-Za-z]*' | cut -d' ' -f2; }

say "a new cluster"
cluster db mariadb "  replicas: 3
$storage"
wait_replicated db 3 240
no_warning "a new cluster"

if command -v promtool > /dev/null; then
  say "what operators and agents serve is as Prometheus wants it"
  metrics_of() { k get --raw "/api/v1/namespaces/$1/pods/$2:8080/proxy/metrics"; }
  for pod in $(k -n "$OPERATOR_NS" get pods -l app.kubernetes.io/component=operator -o 'jsonpath={.items[*].metadata.name}'); do
    metrics_of "$OPERATOR_NS" "$pod" | promtool check metrics || fail "metrics of $pod"
  done
  for pod in db-mysql-0 db-mysql-1; do metrics_of "$NS" "$pod" | promtool check metrics || fail "metrics of $pod"; done
fi
expect_match "operatorVersion" "$(field myc db .status.operatorVersion)" "^$(cat VERSION)\\+[0-9a-f]{12}"

say "a roll"
kn patch myc db --type merge -p '{"spec":{"podTemplate":{"metadata":{"annotations":{"example.org/rolled":"1"}}}}}' > /dev/null
wait_until 120 "the roll begins" eval '[[ $(events_of db) == *PodReplaced* ]]'
wait_until 240 "the roll ends" eval '[[ $(reasons_of | grep -c SwitchoverDone) -ge 1 ]] && replicated db 3'
no_warning "a roll"

say "the pod of a replica"
read -r replica < <(replicas_of db) # head would end the other one with SIGPIPE
uid=$(field pod "$replica" .metadata.uid)
kn delete pod "$replica" --wait=false > /dev/null
wait_until 60 "another pod" eval '[[ $(field pod '"$replica"' .metadata.uid) != '"$uid"' ]]'
wait_replicated db 3
no_warning "a deleted pod"

say "sleep and wake"
scale db 0
wait_until 60 "no pods" eval '[[ -z $(kn get pods -l app.kubernetes.io/instance=db,app.kubernetes.io/component=database -o name) ]]'
no_warning "hibernation"
scale db 3
wait_replicated db 3 240
no_warning "waking"

say "a failover, in the order in which it happened"
old=$(primary db)
kill -KILL "$(server_pid "$old")"
wait_until 60 "a failover" eval '[[ $(reasons_of | grep -c "FailoverDone\|FailoverUndone") == 1 ]]'
events_of db
reasons_of | grep '^Failover' | paste -sd' ' > "$E2E_WORK/$NS.order"
expect_match "order of a failover" "$(cat "$E2E_WORK/$NS.order")" '^FailoverStarted (FailoverWaits )?FailoverChosen (FailoverDone|FailoverUndone)$'
expect_eq "order of a switchover" "$(reasons_of | grep '^Switchover' | head -2 | paste -sd' ')" 'SwitchoverStarted SwitchoverDone'

say "the claims stay"
kn delete myc db > /dev/null
wait_until 30 "an event that names them" eval '[[ $(events_of db) == *"the cluster is deleted, its data is not"*"kubectl delete pvc "*data-db-mysql-1* ]]'
wait_until 60 "no pods" eval '[[ -z $(kn get pods -l app.kubernetes.io/instance=db,app.kubernetes.io/component=database -o name) ]]'
cluster db mariadb "  replicas: 1
$storage"
wait_ready db 1 180
wait_until 10 "whose data that is" eval '[[ $(events_of db) == *"PrimaryChosen"*"is taken over"* ]]'
