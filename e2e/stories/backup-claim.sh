# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A claim for backups that has a size: made when it is missing, kept when the cluster and its volumes go with a last backup, and the cluster comes back from it; one that is there
# is left as it is.
. e2e/replication-lib.sh
playground() {
  cluster db mariadb '  replicas: 1
  storage: {resources: {requests: {storage: 1Gi}}}
  backup: {destination: {persistentVolumeClaim: {claimName: safe, path: /shop, size: 1Gi}}}
  deletion: {finalBackup: true, volumes: Delete}
  restoreFrom: {latest: true, orEmpty: true}'
  wait_ready db 1 240
}
final_backup() { kn get myb -l kubemysql.dev/final-backup=true -o 'jsonpath={.items[*].metadata.name}'; }
no_claims() { [[ -z $(kn get pvc -l kubemysql.dev/cluster=db -o name) ]]; }

say "made for a cluster that begins empty"
playground
expect_eq "phase of the first restore" "$(field myc db .status.restore.phase)" Empty
expect_eq "claims for backups" "$(kn get pvc -l kubemysql.dev/backup-claim=db -o name)" persistentvolumeclaim/safe
uid=$(field pvc safe .metadata.uid)
expect_eq "its size" "$(field pvc safe .spec.resources.requests.storage)" 1Gi
sql db-mysql-0 'CREATE DATABASE keep; CREATE TABLE keep.t (id INT PRIMARY KEY); INSERT INTO keep.t VALUES (42)'

say "the cluster goes with its volumes; the claim and a backup stay"
kn delete myc db --wait=false > /dev/null
wait_until 240 "its end" gone myc db
wait_until 90 "the end of the members' claims" no_claims
name=$(final_backup)
expect_eq "phase of the last backup" "$(field myb "$name" .status.phase)" Completed
expect_match "where it lies" "$(field myb "$name" .status.location)" '^pvc:safe/shop/'
holds_for 5 "the claim stays" field_is pvc safe .metadata.uid "$uid"
expect_eq "owner and deletion of the claim" "$(field pvc safe .metadata.ownerReferences)$(field pvc safe .metadata.deletionTimestamp)" ""

say "made again under its name: with its data"
playground
expect_eq "phase of the restore" "$(field myc db .status.restore.phase)" Completed
expect_eq "the row" "$(sql db-mysql-0 'SELECT id FROM keep.t')" 42
expect_eq "the claim" "$(field pvc safe .metadata.uid)" "$uid"

say "a backup with a destination of its own; a claim that is there is left as it is"
kn apply -f - > /dev/null << YAML
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: mine}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
YAML
for claim in mine other; do
  kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlBackup
metadata: {name: onto-$claim}
spec: {cluster: db, destination: {persistentVolumeClaim: {claimName: $claim, size: 2Gi}}}
YAML
  wait_until 180 "backup onto $claim" field_is myb "onto-$claim" .status.phase Completed
done
expect_eq "claims that were made" "$(kn get pvc -l kubemysql.dev/backup-claim=db -o 'jsonpath={.items[*].metadata.name}')" "other safe"
expect_eq "size of the one that was there" "$(field pvc mine .spec.resources.requests.storage)" 1Gi
kn annotate myc db kubemysql.dev/skip-final-backup=true > /dev/null
