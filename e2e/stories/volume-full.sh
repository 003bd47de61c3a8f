# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A volume that is full: said, not killed; heals when there is room again.
exists storageclass small-fs || skip "this cluster has no storage class small-fs (volumes with a size of their own)"
cluster db mariadb '  replicas: 1
  mycnf: {innodb_log_file_size: 16777216}
  storage: {storageClassName: small-fs, resources: {requests: {storage: 400Mi}}}'
wait_ready db 1
restarts() { field pod db-mysql-0 '.status.containerStatuses[*].restartCount'; }
before=$(restarts)
# In the container without a memory limit: the page cache of the file counts.
kn exec db-mysql-0 -c mysql -- bash -c 'dd if=/dev/zero of=/var/lib/mysql/filler bs=1M count=2000 2> /dev/null; true'
wait_until 60 "condition names the volume" condition_says myc db Healthy 'VolumeFull'
expect_match "message" "$(condition_text myc db Healthy)" 'db-mysql-0'
sleep 5
expect_eq "restarts" "$(restarts)" "$before"
kn exec db-mysql-0 -c mysql -- rm -f /var/lib/mysql/filler
wait_until 60 "healthy again" condition_is myc db Healthy True
