#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# hand-over between two operators: SIGTERM and kill -9 of the leader, a leader that was stopped, an API server that is away (TERMS=20 KILLS=10)
#
# Two operators on a light control plane with one cluster of three, whose agents are doubles (e2e/faults/agents.py). "Leads": from the signal until
# the other one says so; "streams open": until it has a status stream to every agent. What must hold besides is checked: a standby has no
# stream; a stopped leader ends when it goes on; agents get no order while the API server is away. Memory is that of both after the last round.
cd "$(dirname "$0")/../.." || exit 1
. e2e/bench/lib.sh
bench_begin
# All that takes part comes before everything else on the machine: these are figures of latency, and it mostly sleeps.
renice -n -18 -p "$(control_plane_pid apiserver)" "$(control_plane_pid etcd)" "$(control_plane_pid kcm)" > /dev/null 2>&1 || true
nice -n -15 python3 -B e2e/bench/leader.py --operator="$(operator_binary)" --kubeconfig="$KUBECONFIG" --work="$work" --api-server="$(control_plane_pid apiserver)" \
  --terms="${TERMS:-20}" --kills="${KILLS:-10}" --pauses="${PAUSES:-2}" --clusters="${CLUSTERS:-1}" > "$work/leader.result" 8>&- ||
  { cat "$work/leader.result"; exit 1; }
while IFS=$'\t' read -r what value unit aim; do result "$what" "$value" "$unit" "$aim"; done < "$work/leader.result"
