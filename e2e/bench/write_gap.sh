#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# for how long writes waited, as the status tells it, beside the writers' gap, for each way to lose or move a primary (TOLD=20 FLAVOURS="mariadb mysql" MEMBERS="3 2")
#
# On the fast fault bed (docs/faults.md), which needs no Kubernetes. Of each cycle: the gap of five writers that write all the time (from the last acknowledgement of the old
# primary to the first of another server), writesBlockedMs, its uncertainty, routeMs, the writers' own interval (their longest pause in the two seconds before) and how
# long the first of them took to be there again. A gap is inside if it differs from what is told by no more than uncertainty, interval and that time together.
#   CASES        names of the bed's cases: killed, frozen, crashed, cut off, deleted, deleted by force, evicted, rolled, moved by annotation
#   WRITE_GAP_RAW     file to which the cycles are added (a line of JSON each; e2e/faults/bed/write_gap.py prints any number of such files)
#   FAULTS_SECONDS  no new cycle of a bed after this
set -euo pipefail
cd "$(dirname "$0")/../.."
. e2e/bench/figures.sh
: "${TOLD:=20}" "${FLAVOURS:=mariadb mysql}" "${MEMBERS:=3 2}"
: "${CASES:=switchover,rolled,pod-evicted,pod-deleted,pod-deleted-now,mysqld-killed,mysqld-frozen-10s,node-crashed,node-frozen,cut-primary-off}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
raw=${WRITE_GAP_RAW:-$work/cycles}
for members in $MEMBERS; do
  for flavour in $FLAVOURS; do
    # A cycle that fails is in the output, and in the figures as far as anything was told.
    FLAVOUR=$flavour CASE=$CASES COUNT=$TOLD FAULTS_RAW=$raw FAULTS_SPEC="{\"replicas\": $members}" FAULTS_ETCD=${FAULTS_ETCD:-memory} e2e/faults/bed/run.sh ||
      echo "told: the bed of $members members ($flavour) has failed cycles" >&2
  done
done
python3 -B e2e/faults/bed/write_gap.py "$raw" > "$work/table" || true
cat "$work/table"
result "changes of the primary that were told" "$(grep -c ' gap .* told ' "$work/table" || true)" ""
result "gaps of writers outside of what was told" "$(grep -c ' OUTSIDE ' "$work/table" || true)" "" 0
