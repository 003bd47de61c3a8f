# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# alone
# The operator killed in mid-creation, again and again; leader hand-over on SIGTERM; both end in the same world.
operators() { k -n "$OPERATOR_NS" get pod -l app.kubernetes.io/component=operator "$@"; }
leader() { k -n "$OPERATOR_NS" get lease kube-mysql-operator -o jsonpath='{.spec.holderIdentity}'; }

say "killed in mid-creation"
for i in 1 2 3; do
  cluster "db$i" mariadb
  operators -o name | xargs timeout 60 kubectl -n "$OPERATOR_NS" delete --grace-period=0 --force > /dev/null 2>&1
  sleep 0.$((i * 3))
done
for i in 1 2 3; do wait_ready "db$i" 1 180; done
objects() { kn get sts,svc,cm,pdb,sa,secret -l "kubemysql.dev/cluster=$1" -o name | wc -l; }
for i in 1 2 3; do wait_until 30 "eleven objects of db$i" eval "[[ \$(objects db$i) == 11 ]]"; done

say "hand-over on SIGTERM"
wait_until 60 "two operators" eval '[[ $(operators --no-headers | grep -c "1/1 *Running") == 2 ]]'
wait_until 30 "a leader" eval '[[ -n $(leader) ]]'
old=$(leader)
k -n "$OPERATOR_NS" delete pod "${old%%_*}" --wait=false > /dev/null
wait_until 20 "another leader" eval '[[ -n $(leader) && $(leader) != "$old" ]]'
kn patch myc db1 --type=merge -p '{"spec":{"services":{"primary":{"annotations":{"by":"the-new-leader"}}}}}' > /dev/null
wait_until 30 "the new leader works" field_is svc db1-mysql-primary .metadata.annotations.by the-new-leader

say "what no operator has seen yet is not done, by kstatus' rules: it looks at observedGeneration"
k -n "$OPERATOR_NS" scale deployment/kube-mysql-operator --replicas=0 > /dev/null
wait_until 60 "no operator" eval '[[ -z $(operators -o name) ]]'
cluster unseen mariadb
expect_eq "status" "$(field myc unseen .status)" '{"observedGeneration":0}'
k -n "$OPERATOR_NS" scale deployment/kube-mysql-operator --replicas=2 > /dev/null
wait_ready unseen 1 180
kn delete myc unseen --wait=true > /dev/null

say "a restart writes nothing into a settled world"
wait_until 60 "two operators" eval '[[ $(operators --no-headers | grep -c "1/1 *Running") == 2 ]]'
for i in 1 2 3; do wait_ready "db$i" 1; done
versions() { kn get myc,sts,svc,cm,endpointslice,pdb,sa -o jsonpath='{.items[*].metadata.resourceVersion}'; }
before=$(versions)
old=$(leader)
operators -o name | xargs timeout 60 kubectl -n "$OPERATOR_NS" delete --wait=false > /dev/null
wait_until 60 "another leader" eval '[[ -n $(leader) && $(leader) != "$old" ]]'
sleep 5
expect_eq "resourceVersions" "$(versions)" "$before"
