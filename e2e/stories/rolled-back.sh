# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# What the check passes and a member's server does not start with: the roll goes back after three ends, the operator killed in its midst; the cluster
# takes writes all the time; a new member is made of what ran before; an annotation tries it again, and a corrected spec is applied.
# alone
# long
# seconds 900
. e2e/replication-lib.sh
operators() { k -n "$OPERATOR_NS" get pod -l app.kubernetes.io/component=operator "$@"; }
uid() { field pod "db-mysql-$1" .metadata.uid; }
revision() { field pod "db-mysql-$1" '.metadata.labels.controller-revision-hash'; }
rolled_back() { condition_is myc db RolledBack True; }
# The image's plugins are hidden by an empty claim, which a check pod has no part in; the server is told to use one of them.
break_it() {
  kn patch myc db --type=merge -p '{"spec":{"mycnf":{"plugin_load_add":"ha_archive","default_storage_engine":"ARCHIVE"},"podTemplate":{"spec":{
    "volumes":[{"name":"hides","persistentVolumeClaim":{"claimName":"hides"}}],
    "containers":[{"name":"mysql","volumeMounts":[{"name":"hides","mountPath":"/usr/lib/mysql/plugin"}]}]}}}}' > /dev/null
}

cluster db mariadb '  replicas: 3
  storage: {resources: {requests: {storage: 1Gi}}}'
kn apply -f - > /dev/null << YAML
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: hides}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 100Mi}}}
YAML
wait_replicated db 3
wait_until 30 "what runs is known to be good" field_matches myc db .status.roll.proven '^[0-9a-f]{16}$'
expect_eq "primary" "$(primary db)" db-mysql-0
ran=$(revision 2)
before="$(uid 0) $(uid 1)"
writer_start db 600

say "the check passes, and the server of the first member that is replaced ends three times"
begin=$SECONDS
break_it
wait_until 180 "the roll has failed" rolled_back
say "failed after $((SECONDS - begin)) s: $(condition_text myc db RolledBack)"
operators -o name | xargs timeout 60 kubectl -n "$OPERATOR_NS" delete --grace-period=0 --force > /dev/null 2>&1
expect_match "why" "$(condition_text myc db RolledBack)" '^ServerEnded: .*db-mysql-2: .*(ARCHIVE|storage engine)'
wait_until 120 "another operator" eval '[[ $(operators --no-headers | grep -c "1/1 *Running") == 2 ]]'
wait_until 180 "all members are ready" field_is myc db .status.readyReplicas 3
say "all ready again after $((SECONDS - begin)) s"
expect_eq "template of the member that went back" "$(revision 2)" "$ran"
expect_eq "the others" "$(uid 0) $(uid 1)" "$before"
expect_eq "Stalled, Ready, Available, Accepted" "$(condition myc db Stalled) $(condition myc db Ready) $(condition myc db Available) $(condition myc db Accepted)" "True False True True"
expect_match "next action" "$(field myc db .status.nextAction)" 'correct what was changed last.*roll-again'
wait_until 30 "my.cnf of before" eval '[[ $(field cm db-mysql-config .data) != *ARCHIVE* ]]'
holds_for 20 "it is not tried again" rolled_back
expect_eq "the others after a while" "$(uid 0) $(uid 1)" "$before"

say "tried again by annotation: it fails again"
kn annotate myc db kubemysql.dev/roll-again=1 > /dev/null
wait_until 60 "tried again" eval '! rolled_back'
wait_until 180 "failed again" rolled_back
wait_until 120 "three members" field_is myc db .status.readyReplicas 3
wait_until 60 "all are of what ran" eval '[[ "$(revision 0) $(revision 1) $(revision 2)" == "$ran $ran $ran" ]]'
expect_eq "the others" "$(uid 0) $(uid 1)" "$before"

say "a new member is made of what runs"
kn patch myc db --type=merge -p '{"spec":{"replicas":4}}' > /dev/null
wait_until 180 "four members" field_is myc db .status.readyReplicas 4
expect_eq "its template" "$(revision 3)" "$ran"
rolled_back || fail "the failure is forgotten"

say "a corrected spec is applied"
kn patch myc db --type=json -p '[{"op":"remove","path":"/spec/podTemplate"}]' > /dev/null
wait_until 300 "all have it" row_everywhere db 'SELECT @@default_storage_engine' ARCHIVE
wait_replicated db 4 180
wait_until 60 "Ready" condition_is myc db Ready True
expect_eq "RolledBack and Stalled" "$(condition myc db RolledBack) $(condition myc db Stalled)" " False"
writer_stop db
writer_result db
