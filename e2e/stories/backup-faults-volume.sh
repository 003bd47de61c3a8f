# SPDX-License-Identifier: Apache-2.0
# A backup onto a volume that is full: it has failed by its deadline and says why, and nothing of it is left. One that is under way when there is room again is completed, and a new cluster is made of it.
# long
# privileged
# seconds 600
# shellcheck shell=bash
. e2e/stories/backup-faults.inc
exists storageclass small-fs > /dev/null || skip "this cluster has no storage class small-fs (volumes with a size of their own)"

files() { kn exec look -- find /stored -type f ! -name filler; }
to_volume() { backup "$1" 'persistentVolumeClaim: {claimName: small}' physical "${2:-}"; }
retried() { field_matches myb "$1" '.status.failures[*].message' "$2"; }

faults_cluster 64
kn apply -f - > /dev/null << 'YAML'
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: small}
spec: {storageClassName: small-fs, accessModes: [ReadWriteOnce], resources: {requests: {storage: 400Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: look}
spec:
  securityContext: {runAsUser: 0, fsGroup: 999}
  containers:
    - {name: look, image: "registry.local/mariadb:10.11", command: [sleep, "3600"], volumeMounts: [{name: stored, mountPath: /stored}]}
  volumes: [{name: stored, persistentVolumeClaim: {claimName: small}}]
  terminationGracePeriodSeconds: 1
YAML
kn wait pod look --for=condition=Ready --timeout=60s > /dev/null
say "40 MiB are free"
kn exec look -- bash -c 'fallocate -l $(($(df --output=avail -B1 /stored | tail -1) - 40 * 1024 * 1024)) /stored/filler'
to_volume full '  deadlineSeconds: 40'
wait_until 120 "its end" backup_over full
say "$(condition_text myb full Failed)"
expect_eq "its phase" "$(field myb full .status.phase)" Failed || return 1
expect_match "its reason" "$(condition_text myb full Failed)" 'No space left on device' || return 1
wait_until 60 "nothing of it on the volume" eval '[[ -z $(files) ]]'

say "room comes while it is tried"
to_volume later
wait_until 90 "a first attempt that failed" retried later 'No space left on device'
kn exec look -- rm /stored/filler
wait_until 240 "its end" backup_over later
wait_backup later
wait_until 60 "one backup on the volume" eval '[[ $(files | sed "s|/[^/]*$||" | sort -u | wc -l) == 1 ]]'
expect_match "what is there" "$(files)" "/$(field myb later .status.id)/manifest.json" || return 1
faults_restored from-volume later
kn delete pod look > /dev/null
faults_end
