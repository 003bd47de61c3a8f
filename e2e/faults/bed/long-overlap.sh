#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long-overlap.sh FOLDER [MINUTES]
# The long run of faults that overlap: beds side by side, each round after round with the next seed, until the time (90 minutes) is over; then one table.
# FOLDER keeps a line of JSON per round, the output of each bed and the evidence of what failed. A run that goes on in the same folder takes the seeds that
# come next. The programs of $BUILD are copied at the beginning, so that all rounds of one run are of one commit, whatever is built meanwhile.
# Environment: BEDS, what each bed runs: FLAVOUR-MEMBERS, several with commas between them take turns, separated by spaces (up to four beds);
# OVERLAP=12, faults of a round; ROUNDS=8, of a bed before it is made anew.
set -euo pipefail
cd "$(dirname "$0")/../../.."
folder=${1:?usage: long-overlap.sh FOLDER [MINUTES]}
end=$((SECONDS + ${2:-90} * 60))
: "${BUILD:=build}" "${OVERLAP:=12}" "${ROUNDS:=8}" "${BEDS:=mariadb-3,mariadb-5 mysql-3,mysql-5}"
mkdir -p "$folder/programs"
folder=$(realpath "$folder")

commit=$(e2e/faults/bed/commit.sh)
programs=$(mktemp -d "$folder/programs/$commit.XXXX")
cp "$BUILD/kube-mysql-operator" "$BUILD/kube-mysql-agent" "$programs"

# One bed. A run that is given up, as its bed is not healthy any more, is followed by the next one.
bed() { # NUMBER FLAVOUR-MEMBERS,…
  local kinds kind flavour members turn=0 name log left evidence raw seed run=
  IFS=, read -ra kinds <<< "$2"
  trap '[[ -z $run ]] || kill "$run"; exit 130' TERM
  while left=$((end - SECONDS)) && ((left > 150)); do
    kind=${kinds[turn % ${#kinds[@]}]} turn=$((turn + 1))
    flavour=${kind%-*} members=${kind#*-}
    raw=$folder/$1-$kind.json
    touch "$raw"
    seed=$(python3 -B e2e/faults/bed/overlap_table.py --next "${1}0001" "$raw") # beds of one kind have seeds of their own
    name=$1-$kind-$seed-$(date +%H%M%S)
    log=$folder/$name.log
    BUILD=$programs FAULTS_COMMIT=$commit FAULTS_SECONDS=$left FAULTS_RAW=$raw FLAVOUR=$flavour MEMBERS=$members SEED=$seed COUNT=$ROUNDS OVERLAP=$OVERLAP \
      e2e/faults/bed/run.sh > "$log" 2>&1 &
    run=$!
    wait "$run" || true
    run=
    evidence=$(sed -n 's/^evidence of failed rounds: //p' "$log")
    [[ -z $evidence ]] || cp -a "$evidence" "$folder/$name.evidence"
    echo "$name: $(tail -n 1 "$log")"
    grep -q '^bed: .* stands' "$log" || { echo "$name: the bed does not stand, see $log" && sleep 20; }
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
python3 -B e2e/faults/bed/overlap_table.py "$folder"/*.json
