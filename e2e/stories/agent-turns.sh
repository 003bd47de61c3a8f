# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# Another agent image: --plan says whose members are replaced; one cluster after the other gets it; one whose check fails stops the rest, and nobody is harmed.
# long
# alone
. e2e/replication-lib.sh
agent=registry.local/kube-mysql-agent
trap 'deploy/install.sh local > /dev/null' EXIT

names=(first second third)
with_agent() { IMAGE_AGENT=$agent:$1 deploy/install.sh "${@:2}" local; }
image_of() { field sts "$1-mysql" '.spec.template.spec.initContainers[?(@.name=="inject")].image'; }
images() { local name; for name in "${names[@]}"; do image_of "$name" && echo; done | sort | uniq -c | tr -s ' \n' ' '; }
marked() { kn get sts -o 'jsonpath={range .items[*]}{.metadata.name}{" "}{.metadata.annotations.kubemysql\.dev/agent-turn}{"\n"}{end}' | awk 'NF == 2' | wc -l; }
next_agent() { # the same image under another tag
  local root=$E2E_WORK/$NS.next
  mkdir -p "$root"
  tar -C "$root" -xf build/images/kube-mysql-agent.oci.tar
  sed -i "s|$agent:dev|$agent:next|g" "$root"/*.json
  tar -C "$root" -cf "$E2E_WORK/kube-mysql-agent-next.oci.tar" oci-layout index.json blobs
  e2e/cluster/load-image.sh "$E2E_WORK/kube-mysql-agent-next.oci.tar" > /dev/null
}
each_ready() { local name; for name in "${names[@]}"; do condition_is myc "$name" Ready True || return 1; done; }
waiting() { kn get myc -o 'jsonpath={range .items[*]}{.status.nextAction}{"\n"}{end}' | grep -c "waits for $NS/.*, whose turn it is"; }

# No configuration names the agent: it is the operator's.
for name in "${names[@]}"; do
  kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlCluster
metadata: {name: $name}
spec:
  config: {spec: {images: {mysql: "registry.local/mariadb:10.11"}}}
  replicas: 1
  storage: {resources: {requests: {storage: 1Gi}}}
YAML
done
wait_until 240 "three clusters" each_ready
expect_eq "agents" "$(images)" " 3 $agent:dev "

say "what an exchange of the agent would do, without doing it"
plan=$(with_agent next --plan)
for name in "${names[@]}"; do
  grep -qxF "  $NS/$name: its 1 members are replaced, one after the other, the primary last" <<< "$plan" || fail "the plan does not name $name: $plan"
done
expect_eq "agents" "$(images)" " 3 $agent:dev "

say "an agent that is nowhere to be had: one tries it, the others wait, all serve"
with_agent missing > /dev/null
wait_until 120 "two clusters that wait" eval '[[ $(waiting) == 2 ]]'
holds_for 10 "all are as they were" eval 'each_ready && [[ $(images) == " 3 $agent:dev " && $(waiting) == 2 ]]'
expect_eq "check pods" "$(kn get pods -o name | grep -c -- '-check$')" 1
kn get myc

say "an agent that is there: one after the other"
next_agent
with_agent next > /dev/null
most=0
for _ in $(seq 900); do
  n=$(marked)
  ((n <= most)) || most=$n
  [[ $(images) == " 3 $agent:next " && $n == 0 ]] && break
  sleep 0.2
done
expect_eq "agents" "$(images)" " 3 $agent:next "
expect_eq "clusters on their turn at a time, at most" "$most" 1
wait_until 60 "all are ready" each_ready
