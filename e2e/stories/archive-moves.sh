# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# long
# seconds 900
# Binary logs are archived once in five minutes, a replica is copied anew and becomes the primary at once, by a wish and by a roll: the archive has no gap, and a restore in place goes to a
# moment behind it.
. e2e/stories/backup.inc

archived() { condition_is myc db BinlogsArchived True; }
now() { date -u +%Y-%m-%dT%H:%M:%SZ; }
copy_anew() { # POD
  local uid
  uid=$(field pvc "data-$1" .metadata.uid)
  kn delete pvc "data-$1" --wait=false > /dev/null
  kn delete pod "$1" > /dev/null
  wait_until 120 "another volume of $1" eval "[[ \$(field pvc data-$1 .metadata.uid) != $uid ]]"
  wait_replicated db 3 240
}

moves() { # FLAVOUR METHOD
  local target moment
  cluster db "$1" '  replicas: 3
  storage: {resources: {requests: {storage: 1Gi}}}
  backup:
    destination: {persistentVolumeClaim: {claimName: safe, size: 2Gi}}
    binlogs: {enabled: true, intervalSeconds: 300}'
  wait_replicated db 3 300
  sql "$(primary db)" 'CREATE DATABASE marks; CREATE TABLE marks.t (id INT PRIMARY KEY)'
  wait_until 90 "an archive" archived
  backup "base-$1" 'persistentVolumeClaim: {claimName: safe}' "$2"
  wait_backup "base-$1"

  say "$1: a replica is copied, and is wished as the primary"
  sql "$(primary db)" 'INSERT INTO marks.t VALUES (1)'
  target=$(replicas_of db | sed -n '$p')
  copy_anew "$target"
  kn annotate --overwrite myc db "kubemysql.dev/switchover-to=${target##*-}" > /dev/null
  wait_until 60 "$target primary" primary_is db "$target"
  wait_replicated db 3 120
  sql "$(primary db)" 'INSERT INTO marks.t VALUES (2)'

  say "$1: another one is copied, and a roll moves the primary"
  copy_anew "$(replicas_of db | sed -n 1p)"
  sql "$(primary db)" 'INSERT INTO marks.t VALUES (3)'
  kn patch myc db --type merge -p '{"spec": {"podTemplate": {"metadata": {"annotations": {"e2e/roll": "1"}}}}}' > /dev/null
  wait_until 300 "the roll" field_is myc db '.status.conditions[?(@.type=="Progressing")].reason' Settled
  wait_replicated db 3 240
  moment=$(now)
  sleep 2
  sql "$(primary db)" 'INSERT INTO marks.t VALUES (4)'

  say "$1: no gap, and back to $moment in place"
  kn patch myc db --type merge -p '{"spec": {"backup": {"binlogs": {"intervalSeconds": 2}}}}' > /dev/null
  wait_until 120 "the archive at $moment" eval '[[ $(field myc db .status.backup.recoverableUntil) > '"$moment"' ]]'
  expect_eq "gap" "$(field myc db .status.backup.archive.gapTime)" ""
  kn annotate myc db "kubemysql.dev/restore-in-place=base-$1@$moment" > /dev/null
  wait_until 240 "the restore" field_is myc db .status.restoreInPlace.phase Completed
  expect_eq "marks" "$(sql "$(primary db)" 'SELECT GROUP_CONCAT(id ORDER BY id) FROM marks.t')" 1,2,3
  kn delete myc db > /dev/null
  wait_until 120 "its end" gone myc db
  kn delete pvc -l kubemysql.dev/cluster=db --wait=false > /dev/null
}

moves mariadb physical
! mysql_image_there || moves mysql logical
