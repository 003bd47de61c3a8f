#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gate.sh [SECONDS]   what every change has to pass: each schedule of regressions/, which must find nothing any more; then random ones for about SECONDS (80) of
# real time, both families with three and with five members, JOBS (as many as there are processors) at a time.
#
# From seed 1300 on, so that a change fails only for what it has done; searching on is the task of long.sh. SEED=N sets it. What fails is told with the command that
# repeats it; it stops nothing, so that all is told. open/known-seeds lists those that lose rows in a way that is not mended: they are told, and do not fail.
# What loses or doubles anything fails. A cluster that stays closed or members that stay different are only told (--ignore), and a deleted cluster that is applied anew
# is left out (--without): docs/simulation.md, "What it still finds", and docs/simulation-findings.md.
# Cases: every kept schedule, and each pair of family and members. BUILD (build); RESULTS as in build-aux/test.sh.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
: "${BUILD:=build}" "${JOBS:=$(nproc)}"
seconds=${1:-80}
seed=${SEED:-1300}
simulate=$BUILD/simulate
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

passed=0 failed=0
"$simulate" --keep-going e2e/simulation/regressions/*.json > "$out/regressions"
sed '$d; /^  /d' "$out/regressions" | sed '/^simulation: /d'
for schedule in e2e/simulation/regressions/*.json; do
  if grep -qF "$schedule, seed " "$out/regressions"; then failed=$((failed + 1)); else passed=$((passed + 1)); fi
done
grep -q '^simulation: ' "$out/regressions" || failed=$((failed + 1)) # it ended before its sum
echo "regressions: $passed pass, $failed fail"

# All pairs at a time: with fewer processors each has its share of them, and all end together.
pairs=("mysql 3" "mysql 5" "mariadb 3" "mariadb 5")
((JOBS > ${#pairs[@]})) && JOBS=${#pairs[@]}
each=$((seconds * JOBS / ${#pairs[@]}))
((each > 0)) || each=1
run_pair() { # run_pair SIMULATE SEED SECONDS OUT FAMILY MEMBERS
  "$1" --seed="$2" --seconds="$3" --keep-going --family="$5" --members="$6" --without=recreate \
    --ignore=stuck --ignore=unequal > "$4/$5-$6" 2>&1
  echo $? > "$4/$5-$6.rc"
}
export -f run_pair
printf '%s\n' "${pairs[@]}" |
  xargs -P "$JOBS" -L 1 bash -c 'run_pair "$@"' _ "$simulate" "$seed" "$each" "$out"
for pair in "${pairs[@]}"; do
  read -r family members <<< "$pair"
  log=$out/$family-$members
  new=0
  while read -r _ at rest; do
    known=
    grep -q "^$family $members ${at%:} " e2e/simulation/open/known-seeds && known=' (known)'
    [[ -n $known ]] || new=$((new + 1))
    echo "make simulate SEED=${at%:} COUNT=1 FLAVOUR=$family MEMBERS=$members$known: $rest"
  done < <(grep '^seed ' "$log")
  echo "$family, $members members, from seed $seed on: $(sed -n 's/^simulation: //p' "$log")"
  grep '^  ' "$log" # by kind, those that are only told as well
  # 1: something was found, 0: nothing; else it did not come to its end
  if [[ $(cat "$log.rc" 2> /dev/null) == [01] ]] && grep -q '^simulation: ' "$log" && ((new == 0)); then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "simulate: $passed passed, $failed failed"
[[ -z ${RESULTS:-} ]] || echo "simulate $passed $failed 0" >> "$RESULTS"
((failed == 0))
