#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# long.sh FOLDER   the long run: TOTAL (1000000) schedules for each of both families with three and with five members, from seed FIRST (1) on, in chunks of
# CHUNK (5000), JOBS (2) at a time, at the lowest priority. Whatever ends it, the next call with the same FOLDER goes on where it stopped. `long.sh FOLDER --sum` only sums up.
#
# FOLDER/commit, FOLDER/simulate (by fast.sh): what is run; made by the first call from a tree without changes, and kept: a folder is a run of one commit, whatever
# becomes of the tree. FOLDER/results has a line for each chunk that is complete: commit, family, members, first seed, schedules, violations, seconds of real time.
# FOLDER/violations has a line for each schedule that failed: family, members, seed, kind, text. Repeat one with
# `FOLDER/simulate --seed=N --count=1 --family=F --members=N --story`.
# Ends with 1 if there are violations. Options for simulate in OPTIONS (say, --faults=20), the same in each call.
set -euo pipefail
here=$(realpath "$0")
folder=$(realpath -m "${1:?FOLDER}")
: "${TOTAL:=1000000}" "${FIRST:=1}" "${CHUNK:=5000}" "${JOBS:=2}" "${OPTIONS:=}"

# long.sh FOLDER chunk FAMILY MEMBERS SEED
run_chunk() {
  local family=$1 members=$2 seed=$3 out start=$SECONDS rc=0
  out=$(mktemp "$folder/chunk.XXXXXX")
  # shellcheck disable=SC2086 # the words of OPTIONS
  "$folder/simulate" --seed="$seed" --count="$CHUNK" --keep-going --family="$family" --members="$members" $OPTIONS > "$out" || rc=$?
  if ((rc <= 1)) && grep -q "^simulation: $CHUNK schedules, " "$out"; then
    sed -n "s/^seed \([0-9]*\): \([A-Za-z]*\): /$family $members \1 \2 /p" "$out" >> "$folder/violations"
    echo "$(cat "$folder/commit") $family $members $seed $CHUNK $(sed -n 's/^simulation: .* \([0-9]*\) with a violation.*/\1/p' "$out")" \
      $((SECONDS - start)) >> "$folder/results"
  else
    echo "$family, $members members, from seed $seed on: simulate ended with $rc" >&2
  fi
  rm -f "$out"
}

sum() {
  awk '{ pair = $2 ", " $3 " members"; n[pair] += $5; bad[pair] += $6; s[pair] += $7; all += $5; allbad += $6; commit = $1 }
    END {
      for (pair in n) printf "%s: %d schedules, %d with a violation, %.0f a second\n", pair, n[pair], bad[pair], n[pair] / (s[pair] ? s[pair] : 1)
      printf "commit %s: %d schedules, %d with a violation\n", commit, all, allbad
      exit allbad > 0 }' "$folder/results" | sort -r
}

case ${2:-} in
chunk)
  run_chunk "$3" "$4" "$5"
  exit
  ;;
--sum)
  sum
  exit
  ;;
esac

if [[ ! -x $folder/simulate ]]; then
  cd "$(dirname "$here")/../.."
  if [[ -n $(git status --porcelain -- common operator agent e2e/simulation Makefile build-aux) ]]; then
    echo "the tree has changes: no commit would say what was run" >&2
    exit 2
  fi
  JOBS=$JOBS e2e/simulation/fast.sh "$folder/simulate.new"
  git rev-parse --short=12 HEAD > "$folder/commit"
  mv "$folder/simulate.new" "$folder/simulate"
fi
touch "$folder/results"
rm -f "$folder"/chunk.*
[[ ! -e $folder/violations ]] || sort -u -o "$folder/violations" "$folder/violations" # a chunk that was told and not noted is run again

# Chunks of all four pairs in turn, so that an early look tells of each.
for ((seed = FIRST; seed < FIRST + TOTAL; seed += CHUNK)); do
  for pair in "mysql 3" "mariadb 3" "mysql 5" "mariadb 5"; do
    grep -q "^[^ ]* $pair $seed $CHUNK " "$folder/results" || echo "$pair $seed"
  done
done > "$folder/due"
TOTAL=$TOTAL CHUNK=$CHUNK OPTIONS=$OPTIONS nice -n 19 xargs -a "$folder/due" -r -P "$JOBS" -L 1 "$here" "$folder" chunk
sum
