#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long.sh FOLDER [MINUTES]
# The long run: beds side by side, each through all cases again and again, until the time (90 minutes) is over; then one table of all of it.
# FOLDER keeps a line of JSON per cycle, the output of each round and the evidence of what failed; a run that goes on in the same folder adds to it.
# Environment: BEDS, what each bed runs: FLAVOUR-MODE, separated by spaces (up to four).
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder=${1:?usage: long.sh FOLDER [MINUTES]}
end=$((SECONDS + ${2:-90} * 60))
: "${BEDS:=mariadb-semiSync mariadb-semiSync mysql-semiSync}"
mkdir -p "$folder"
folder=$(realpath "$folder")

# One bed. Each third round is in mode async. A round that is given up, as its bed is not healthy any more, is followed by the next one.
bed() { # NUMBER FLAVOUR-MODE
  local flavour=${2%-*} mode round=0 name log left evidence run=
  trap '[[ -z $run ]] || kill "$run"; exit 130' TERM
  while left=$((end - SECONDS)) && ((left > 120)); do
    round=$((round + 1))
    ((round % 3)) && mode=${2#*-} || mode=async
    name=$1-$flavour-$mode-$round-$(date +%H%M%S)
    log=$folder/$name.log
    FAULTS_SECONDS=$left FAULTS_RAW=$folder/$flavour-$mode.json FLAVOUR=$flavour MODE=$mode CASE=${CASE:-all} COUNT=1 \
      e2e/faults/bed/run.sh > "$log" 2>&1 &
    run=$!
    wait "$run" || true
    run=
    evidence=$(sed -n 's/^evidence of failed cycles: //p' "$log")
    [[ -z $evidence ]] || cp -a "$evidence" "$folder/$name.evidence"
    echo "$name: $(grep -c '^  ok ' "$log" || true) ok, $(grep -c '^  FAILED ' "$log" || true) failed"
    grep -q '^bed: .* stands' "$log" || { echo "$name: the bed does not stand, see $log" && return 1; }
  done
}

pids=() number=0
trap 'kill "${pids[@]}" 2> /dev/null || true; exit 130' INT TERM
for what in $BEDS; do
  number=$((number + 1))
  bed "$number" "$what" &
  pids+=($!)
  sleep 15 # they would start their servers at the same moment
done
wait
python3 -B e2e/faults/bed/table.py "$folder"/*.json
