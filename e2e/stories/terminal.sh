# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# spec.terminal added and taken away; a terminal that is not ours is left alone; another namespace needs the cluster's consent.
# core
cluster db mariadb
wait_ready db 1

say "added and taken away"
kn patch myc db --type=merge -p '{"spec":{"terminal":{}}}' > /dev/null
wait_until 60 "terminal is available" condition_is myt db Available True
kn patch myc db --type=json -p '[{"op":"remove","path":"/spec/terminal"}]' > /dev/null
wait_until 60 "terminal is gone" gone myt db
wait_until 60 "its pod is gone" gone pod db-terminal
wait_until 60 "its Secret is gone" gone secret db-terminal

say "a terminal of somebody else's, of the same name, is left alone"
kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlTerminal
metadata: {name: db, labels: {whose: mine}}
spec: {cluster: {name: db}}
YAML
wait_until 60 "own terminal" condition_is myt db Available True
kn patch myc db --type=merge -p '{"spec":{"terminal":{}}}' > /dev/null
sleep 2
kn patch myc db --type=json -p '[{"op":"remove","path":"/spec/terminal"}]' > /dev/null
sleep 2
expect_eq "label of the foreign terminal" "$(field myt db .metadata.labels.whose)" mine
expect_eq "owner of the foreign terminal" "$(field myt db .metadata.ownerReferences)" ""

say "from another namespace: refused until the cluster allows it"
other=$NS-o
k create namespace "$other" > /dev/null
k label namespace "$other" kubemysql.dev/e2e=true > /dev/null
trap 'k delete namespace "$other" --wait=false > /dev/null' EXIT
k -n "$other" apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlTerminal
metadata: {name: far}
spec: {cluster: {name: db, namespace: $NS}}
YAML
far() { [[ $(k -n "$other" get myt far -o "jsonpath={.status.conditions[?(@.type==\"$1\")].status}/{.status.conditions[?(@.type==\"$1\")].reason}") =~ $2 ]]; }
wait_until 30 "refusal" far Accepted '^False/NotAllowed'
kn patch myc db --type=merge -p "{\"spec\":{\"terminalNamespaces\":[\"$other\"]}}" > /dev/null
wait_until 60 "far terminal is available" far Available '^True'
expect_eq "query from another namespace" "$(k -n "$other" exec far-terminal -- mysql -N -B -e 'SELECT @@hostname')" db-mysql-0

say "consent taken back: pod and Secret go"
kn patch myc db --type=json -p '[{"op":"remove","path":"/spec/terminalNamespaces"}]' > /dev/null
wait_until 30 "refusal" far Accepted '^False/NotAllowed'
wait_until 60 "its pod is gone" eval '[[ -z $(k -n "$other" get pod far-terminal --ignore-not-found -o name) ]]'
wait_until 30 "its Secret is gone" eval '[[ -z $(k -n "$other" get secret far-terminal --ignore-not-found -o name) ]]'

say "a pod that was deleted comes back"
kn delete pod db-terminal --wait=true > /dev/null
wait_until 60 "pod is back" field_is pod db-terminal '.status.containerStatuses[0].ready' true

say "a cluster that does not exist is named"
kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlTerminal
metadata: {name: lost}
spec: {cluster: {name: nowhere}}
YAML
wait_until 30 "condition names it" condition_says myt lost Accepted 'ClusterNotFound: .*nowhere'
