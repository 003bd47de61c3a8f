#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run-fuzzers.sh FUZZER…   run each libFuzzer executable for FUZZ_SECONDS (30), two at a time.
#
# Inputs: seeds from a folder `corpus/NAME` beside the fuzzer's source, and what earlier runs found, kept in the user's cache
# (outside the checkout). A crash leaves its input in $BUILD/fuzz-findings and fails the run; make it a unit test.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
seconds=${FUZZ_SECONDS:-30}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kube-mysql/fuzz
export seconds cache

fuzz_one() {
  local exe=$1 name src corpus findings log rc=0
  name=$(basename "$exe")
  src=${exe#*/fuzz/}          # build/fuzz/common/fuzz/json_fuzz → common/fuzz/json_fuzz
  corpus=$cache/$name
  findings=$(dirname "${exe%"$src"}")/fuzz-findings
  log=$findings/$name.log
  mkdir -p "$corpus" "$findings"
  local dirs=("$corpus")
  [[ ! -d $(dirname "$src")/corpus/${name%_fuzz} ]] || dirs+=("$(dirname "$src")/corpus/${name%_fuzz}")
  setarch "$(uname -m)" -R timeout --kill-after=10 $((seconds + 60)) "$exe" -max_total_time="$seconds" -timeout=10 \
    -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1 -artifact_prefix="$findings/$name-" "${dirs[@]}" > "$log" 2>&1 &
  local pid=$!
  # shellcheck disable=SC2064 # this pid
  trap "kill $pid; exit 143" TERM INT
  wait $pid || rc=$?
  trap - TERM INT
  if ((rc)); then
    printf '\n---- FAILED %s (%d)\n%s\n----\n' "$name" $rc "$(tail -40 "$log")"
    return 1
  fi
  printf '  %-28s %10s runs, corpus %s\n' "$name" "$(awk '/number_of_executed_units/ { print $2 }' "$log")" "$(find "$corpus" -type f | wc -l)"
}
export -f fuzz_one

export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
passed=0 failed=0
if (($#)); then
  failed_list=$(mktemp)
  trap 'rm -f "$failed_list"' EXIT
  export failed_list
  printf '%s\0' "$@" | xargs -0 -n1 -P "${FUZZ_JOBS:-2}" bash -c 'fuzz_one "$1" || echo "$1" >> "$failed_list"' _
  failed=$(wc -l < "$failed_list")
  passed=$(($# - failed))
fi
echo "fuzz: $passed passed, $failed failed ($# fuzzers, $seconds s each)"
[[ -z ${RESULTS:-} ]] || echo "fuzz $passed $failed 0" >> "$RESULTS"
((failed == 0))
