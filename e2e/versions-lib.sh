#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# versions-lib.sh: how a server's image is tried by nothing but the Kubernetes API: the stories versions-* and
# upgrade-*, and make conformance. It knows no image's name and no version: servers are asked. Source it after lib.sh
# and replication-lib.sh.
# shellcheck disable=SC2016 # expanded later, by eval or in the pod
# shellcheck disable=SC2034 # used by the stories
#
# The writing client is pod "writer" (tools/pod_writer.sh), with the image that is tried; it writes as an application
# does: by an account of its own, through the primary Service. Environment: RUN_AS_USER (the image's own user; 999 if
# unset), STORAGE_CLASS (the default class if unset).

# ---- the table ----

# table_row FIELD…   a row of the table that is printed at the end of the run
table_row() {
  local IFS=$'\t'
  mkdir -p "$E2E_WORK/tables"
  printf '%s\n' "$*" >> "$E2E_WORK/tables/$table_name"
}
table_name=versions
declare -A table_heads=(
  [versions]='image|server|one ready s|three ready s|switchover ms|killed ms|longest ms|rows|result'
  [upgrade]='from|to|roll s|longest ms|result'
)
# tables_print DIR   all tables that are there
tables_print() {
  local file
  for file in "$1"/*; do
    [[ -f $file ]] || continue
    echo "${file##*/}:"
    { echo "${table_heads[${file##*/}]//|/$'\t'}"; cat "$file"; } | awk -F '\t' '
      { for (i = 1; i <= NF; i++) { cell[NR, i] = $i; if (length($i) > width[i]) width[i] = length($i) } fields[NR] = NF }
      END { for (r = 1; r <= NR; r++) { line = ""; for (i = 1; i <= fields[r]; i++) line = line sprintf("  %-" (i < fields[r] ? width[i] : 1) "s", cell[r, i]); print line } }'
  done
}

# ---- images of the local cluster ----

# server_image SERVER   makes an image of it (cluster/server-image.sh), loads it into the local cluster, and sets
# image to its name. A server that cannot be had skips the story.
server_image() {
  local archive loaded rc=0
  image=registry.local/${1%%-*}:${1#*-}
  case $1 in
    mariadb-10.11) return 0 ;; # these two come with the cluster
    mysql-9.7) need_flavour mysql; return 0 ;;
  esac
  archive=$(e2e/cluster/server-image.sh "$1") || rc=$?
  ((rc != 77)) || skip "server $1 cannot be had here"
  ((rc == 0)) || fail "no image of server $1"
  loaded=$KM_RUN/images/${archive##*/}
  [[ -e $loaded && ! $archive -nt $loaded ]] || e2e/cluster/load-image.sh "$archive"
}

# ---- the cluster ----

# version_cluster NAME IMAGE REPLICAS [MORE-YAML indented by two]
version_cluster() {
  kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlCluster
metadata: {name: $1}
spec:
  config:
    spec:
      images: {mysql: "$2"}
${RUN_AS_USER:+      podSecurity: {runAsUser: $RUN_AS_USER\}}
  replicas: $3
  database: writer
  username: writer
  storage: {${STORAGE_CLASS:+storageClassName: "$STORAGE_CLASS", }resources: {requests: {storage: 2Gi}}}
${4:-}
YAML
}
# What the product itself says of a cluster that is not as it should be, on one line.
cluster_word() {
  kn get myc "$1" -o json 2> /dev/null | jq -r '
    ([.status.conditions[]? | select((.type == "Accepted" or .type == "Ready") and .status == "False") | "\(.type)=False \(.reason): \(.message)"] | first // empty),
    (.status.instances[]? | select((.message // "") != "") | "\(.name): \(.message)"),
    (.status.nextAction // empty | select(. != "") | "next: \(.)")' | head -n 3 | paste -sd '|' | sed 's/|/; /g'
}
server_versions() { field myc "$1" '.status.instances[*].version'; }
# roll_pod_uids CLUSTER: "NAME UID" of each member
member_uids() { kn get pod -l "kubemysql.dev/cluster=$1,app.kubernetes.io/component=database" -o 'jsonpath={range .items[*]}{.metadata.name} {.metadata.uid}{"\n"}{end}'; }

# ---- the writing client ----

writer_pod() { # CLUSTER IMAGE
  kn create configmap writer --from-file=writer.sh=e2e/tools/pod_writer.sh > /dev/null
  kn apply -f - > /dev/null << YAML
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 0
  securityContext: {runAsNonRoot: true, runAsUser: ${RUN_AS_USER:-999}, runAsGroup: ${RUN_AS_USER:-999}, fsGroup: ${RUN_AS_USER:-999}, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: writer
      image: "$2"
      command: [bash, /writer/writer.sh]
      env: [{name: WRITER_HOST, value: $1-mysql-primary}, {name: WRITER_PASSWORD, value: /password/user}]
      securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
      volumeMounts: [{name: writer, mountPath: /writer}, {name: password, mountPath: /password}, {name: tmp, mountPath: /tmp}]
  volumes:
    - {name: writer, configMap: {name: writer}}
    - {name: password, secret: {secretName: $1-mysql-accounts, items: [{key: user, path: user}], defaultMode: 0440}}
    - {name: tmp, emptyDir: {}}
YAML
  wait_until 60 "the writing client ($(field pod writer '.status.phase}: {.status.containerStatuses[*].state'))" writer_has 100
}
writer_log() { kn logs writer 2> /dev/null; }
# What it has written; its table is asked through the primary Service, by itself.
writer_has() { (($(kn exec writer -- cat /tmp/rows) >= $1)); }
writer_lives() { field_is pod writer .status.phase Running || { failed "the writing client has ended: $(writer_log | tail -n 2 | paste -sd ' ')"; return 1; }; }
# writer_phase WORD: what comes now is counted by that name; writer_gap WORD: the longest pause of it, in ms, once
# another phase has begun
writer_phase() {
  writer_lives && kn exec writer -- bash -c 'echo "$0" > /tmp/phase.new && mv /tmp/phase.new /tmp/phase' "$1"
}
phase_over() { writer_log | grep -q "^PHASE $1 "; }
writer_gap() {
  wait_until 30 "writes after $1" phase_over "$1" >&2 || return 1
  writer_log | sed -n "s/^PHASE $1 [0-9]* //p" | tail -n 1
}
# writer_over: ends it; its account of every acknowledged row. Sets writer_rows and writer_longest.
writer_over() {
  local line missing
  kn exec writer -- touch /tmp/stop
  wait_until 60 "the writing client's end" field_matches pod writer .status.phase '^(Succeeded|Failed)$'
  line=$(writer_log | grep '^END ') || { failed "the writing client says nothing: $(writer_log | tail -n 2)"; return 1; }
  say "writer: $line"
  read -r _ writer_rows missing writer_longest _ <<< "$line"
  expect_eq "the number of acknowledged rows that are missing" "$missing" 0 || return 1
  ((writer_rows > 100)) || { failed "the writing client wrote next to nothing"; return 1; }
}
