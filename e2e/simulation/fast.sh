#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fast.sh OUT   builds simulate as the program OUT for long runs: optimised as a whole (LTO) and by a profile of 100 schedules, without hardening. With gcc
# alone; it takes three times as long as a plain build and makes a quarter more schedules a second. Then all kept schedules and some random ones run in it and in
# the plain build, and must print the same digests: what was optimised away would be seen.
# JOBS (2).
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$(realpath -m "${1:?OUT}")
: "${JOBS:=2}"
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

optimise='-O2 -g1 -flto=auto'
build() { # build FLAGS... : of the profile
  make --no-print-directory -j"$JOBS" QUIET=1 CC=gcc BUILD="$tree/build" HARDENING= OPT_plain="$optimise $*" "$tree/build/simulate"
}
# Both families with three and with five members; $2 schedules of each, from seed $3 on.
each_pair() {
  local family members
  for family in mysql mariadb; do
    for members in 3 5; do
      "$1" --keep-going --digests --family=$family --members=$members --count="$2" --seed="$3" || true # violations are no matter here
    done
  done | grep ': digest '
}

make --no-print-directory -j"$JOBS" QUIET=1 build/simulate
build -fprofile-generate -fprofile-update=single
each_pair "$tree/build/simulate" 25 900001 > /dev/null
build -fprofile-use -fprofile-partial-training -Wno-missing-profile
digests_of() { # digests_of SIMULATE FILE
  { "$1" --keep-going --digests e2e/simulation/regressions/*.json | grep ': digest ' || true; each_pair "$1" 25 910001; } > "$2"
}
digests_of build/simulate "$tree/plain"
digests_of "$tree/build/simulate" "$tree/fast"
if [[ ! -s $tree/plain ]] || ! cmp "$tree/plain" "$tree/fast"; then
  echo "the fast build does something else than the plain one" >&2
  exit 1
fi
mkdir -p "$(dirname "$out")"
cp "$tree/build/simulate" "$out"
