# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A changed MysqlConfig that three clusters name: one cluster after the other gets it; one whose check fails stops the rest, and nobody is harmed.
# long
. e2e/replication-lib.sh

names=(first second third)
config() { # MYCNF, as flow mapping
  k apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlConfig
metadata: {name: cfg-$NS}
spec:
  images: {mysql: "registry.local/mariadb:10.11", agent: "registry.local/kube-mysql-agent:dev"}
  mycnf: $1
YAML
}
value() { local name; for name in "${names[@]}"; do sql "$name-mysql-0" "SELECT @@$1"; done | sort | uniq -c | tr -s ' \n' ' '; }
uids() { kn get pods -l app.kubernetes.io/component=database -o 'jsonpath={range .items[*]}{.metadata.uid}{"\n"}{end}' | sort; }
marked() { kn get sts -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{.metadata.annotations.kubemysql\.dev/agent-turn}{"\n"}{end}' | awk 'NF > 1' | wc -l; }
count_ready() { kn get myc -o 'jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}' | grep -c True; }
waiting() { kn get myc -o 'jsonpath={range .items[*]}{.status.nextAction}{"\n"}{end}' | grep -c "waits for $NS/.*, whose turn it is"; }
# follow VARIABLE VALUE: until all servers have it; sets $most, clusters on turn at a time, and $least, clusters that are ready
follow() {
  local n ready deadline=$((SECONDS + 300))
  most=0 least=${#names[@]}
  until [[ $(value "$1" 2> /dev/null) == " 3 $2 " && $(marked) == 0 && $(count_ready) == 3 ]]; do
    n=$(marked) ready=$(count_ready)
    ((n <= most)) || most=$n
    ((ready >= least)) || least=$ready
    ((SECONDS < deadline)) || fail "$1 is $(value "$1"), not $2 everywhere"
    sleep 0.2
  done
}

config '{back_log: 100, max_connections: 50}'
for name in "${names[@]}"; do
  kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlCluster
metadata: {name: $name}
spec:
  config: {name: cfg-$NS}
  replicas: 1
  storage: {resources: {requests: {storage: 1Gi}}}
YAML
done
wait_until 240 "three clusters" eval '[[ $(count_ready) == 3 ]]'
expect_eq "back_log" "$(value back_log)" " 3 100 "
before=$(uids)

say "an option that no server knows: one tries it, the others wait, all serve"
config '{back_log: 100, max_connections: 50, no_such_option: 1}'
wait_until 120 "two clusters that wait" eval '[[ $(waiting) == 2 ]]'
holds_for 10 "nobody is replaced" eval '[[ $(uids) == "$before" && $(waiting) == 2 ]]'
expect_eq "servers that answer" "$(value max_connections)" " 3 50 "
kn get myc
kn get myc -o 'jsonpath={range .items[*]}{.status.nextAction}{"\n"}{end}'

say "set right: what servers take up while they run comes to one after the other, and nobody is replaced"
config '{back_log: 100, max_connections: 60}'
follow max_connections 60
((most <= 1)) || fail "$most clusters are on their turn at a time" # a turn may be over between two looks
expect_eq "pods" "$(uids)" "$before"

say "what needs a restart: one cluster after the other, the others serve"
config '{back_log: 200, max_connections: 60}'
follow back_log 200
expect_eq "clusters on their turn at a time, at most" "$most" 1
((least >= 2)) || fail "$least of 3 clusters were ready at a time"
expect_eq "pods that are as before" "$(comm -12 <(uids) <(echo "$before") | wc -l)" 0
