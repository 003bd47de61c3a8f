# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# Growth in place, shrink refused, storage.volumeSource, retained volumes with their data, deletion.volumes: Delete, a full volume.
cluster db mariadb
wait_ready db 1
sql db-mysql-0 'CREATE DATABASE keep; CREATE TABLE keep.t (id INT PRIMARY KEY); INSERT INTO keep.t VALUES (7)'
uid=$(field pod db-mysql-0 .metadata.uid)

say "growth in place"
kn patch myc db --type=merge -p '{"spec":{"storage":{"resources":{"requests":{"storage":"2Gi"}}}}}' > /dev/null
wait_until 60 "claim asks for 2Gi" field_is pvc data-db-mysql-0 .spec.resources.requests.storage 2Gi
wait_until 60 "claim has 2Gi" field_is pvc data-db-mysql-0 .status.capacity.storage 2Gi
wait_until 30 "settled" condition_is myc db Progressing False
expect_eq "pod was not touched" "$(field pod db-mysql-0 .metadata.uid)" "$uid"

say "shrink is refused with the field's path and the claim, everything else goes on"
kn patch myc db --type=merge -p '{"spec":{"storage":{"resources":{"requests":{"storage":"1Gi"}}}}}' > /dev/null
wait_until 60 "refused" condition_is myc db Accepted False
expect_match "the operator's message" "$(field myc db '.status.conditions[?(@.type=="Accepted")].message')" 'spec.storage.resources.requests.storage: cannot shrink to 1Gi: claim data-db-mysql-0 asks for 2Gi'
condition_is myc db Available True
expect_eq "pod was not touched" "$(field pod db-mysql-0 .metadata.uid)" "$uid"
kn patch myc db --type=merge -p '{"spec":{"storage":{"resources":{"requests":{"storage":"2Gi"}}}}}' > /dev/null
wait_until 60 "accepted again" condition_is myc db Accepted True

say "deleted and made again: the volume was retained, and the new root password is applied to the old data"
old_root=$(field secret db-mysql-accounts .data.root)
kn delete myc db --wait=true > /dev/null
wait_until 90 "pod is gone" gone pod db-mysql-0
wait_until 60 "StatefulSet is gone" gone sts db-mysql
wait_until 60 "accounts are gone" gone secret db-mysql-accounts
exists pvc data-db-mysql-0
cluster db mariadb '  replicas: 1
  storage: {resources: {requests: {storage: 2Gi}}}'
wait_ready db 1
[[ $(field secret db-mysql-accounts .data.root) != "$old_root" ]]
wait_until 60 "new password works on the old data" sql db-mysql-0 'SELECT 1'
expect_eq "row of the first life" "$(sql db-mysql-0 'SELECT id FROM keep.t')" 7

say "deletion.volumes: Delete"
kn patch myc db --type=merge -p '{"spec":{"deletion":{"volumes":"Delete"}}}' > /dev/null
wait_until 30 "claim belongs to the cluster" field_is pvc data-db-mysql-0 '.metadata.ownerReferences[0].name' db
kn patch myc db --type=merge -p '{"spec":{"deletion":{"volumes":"Retain"}}}' > /dev/null
wait_until 30 "claim is free again" field_is pvc data-db-mysql-0 '.metadata.ownerReferences' ''
kn patch myc db --type=merge -p '{"spec":{"deletion":{"volumes":"Delete"}}}' > /dev/null
wait_until 30 "claim belongs to the cluster" field_is pvc data-db-mysql-0 '.metadata.ownerReferences[0].name' db
kn delete myc db --wait=true > /dev/null
wait_until 120 "claim is gone" gone pvc data-db-mysql-0
