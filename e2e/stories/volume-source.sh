# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# storage.volumeSource instead of claims; hibernate (replicas 0) and back.
cluster db mariadb '  replicas: 1
  storage: {volumeSource: {emptyDir: {}}}'
wait_ready db 1
expect_eq "claims" "$(kn get pvc -o name)" ""
expect_match "status shows the source" "$(field myc db .status.storageVolumeSource)" emptyDir
patch_refused db 'spec.storage.*cannot change between' '{"spec":{"storage":{"volumeSource":null,"resources":{"requests":{"storage":"1Gi"}}}}}'
condition_is myc db Available True

say "hibernate with claims, and back with the data"
cluster nap mariadb
wait_ready nap 1
sql nap-mysql-0 'CREATE DATABASE keep; CREATE TABLE keep.t (id INT PRIMARY KEY); INSERT INTO keep.t VALUES (9)'
kn scale myc nap --replicas=0 > /dev/null
wait_until 90 "pod is gone" gone pod nap-mysql-0
wait_until 30 "says so" condition_says myc nap Available Hibernated
expect_eq "endpoints of the primary Service" "$(field endpointslice nap-mysql-primary '.endpoints[*].addresses')" ""
kn scale myc nap --replicas=1 > /dev/null
wait_ready nap 1
expect_eq "row" "$(sql nap-mysql-0 'SELECT id FROM keep.t')" 9
