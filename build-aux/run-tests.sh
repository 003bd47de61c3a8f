#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run-tests.sh KIND EXECUTABLE…   run cmocka executables, count their cases, fail if any failed.
#
# Environment: TEST_JOBS (2) at a time; TEST_TIMEOUT (300) seconds each; TEST_FILTER, a glob over the paths;
# SANITIZE as in the Makefile; RESULTS, a file that gets one line "KIND PASSED FAILED SKIPPED UNSTEADY" appended.
# An executable that ends with 77 without naming cases counts as one skipped case; one that dies (signal, sanitizer,
# time) counts as one failed case more. What failed runs once more, alone, and is called unsteady if it passes then.
# A line for each executable, with its cases and seconds; its output only if it did not pass. V=1 shows all.
# Where stories tried some of their crash points only (lines "crash points: N of M tried"), the last line says how many of all.
# Those that took longest the last time begin first: $KM_BUILD/KIND-times, if KM_BUILD is set.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
kind=$1
shift

# One executable, in its own process: prints "PASSED FAILED SKIPPED PATH" as its last line.
run_one() {
  local exe=$1 log passed failed skipped rc=0 start=${EPOCHREALTIME/[.,]/}
  log=$(mktemp "$KM_TEST_TMP/log.XXXXXX")
  # Sanitizers map fixed address ranges; address space randomisation of newer kernels gets in their way.
  local prefix=()
  [[ ${SANITIZE:-plain} == plain ]] || prefix=(setarch "$(uname -m)" -R)
  "${prefix[@]}" timeout --kill-after=10 "${TEST_TIMEOUT:-300}" "$exe" > "$log" 2>&1 < /dev/null &
  local pid=$!
  # timeout leads a process group of its own and passes a signal on to all of it, servers that the test started included.
  # shellcheck disable=SC2064 # this pid
  trap "kill $pid; exit 143" TERM INT
  wait $pid || rc=$?
  trap - TERM INT
  read -r passed failed skipped < <(awk '
    /^\[  PASSED  \] [0-9]+ test/ { p += $4 }
    /^\[  FAILED  \] [0-9]+ test/ { f += $4 }
    /^\[  SKIPPED \] [0-9]+ test/ { s += $4 }
    END { print p + 0, f + 0, s + 0 }' "$log")
  if ((rc == 77 && passed + failed + skipped == 0)); then
    skipped=1
  elif ((rc != 0 && failed == 0)) || ((rc == 0 && passed + failed + skipped == 0)); then
    failed=1
    echo "$exe: ended with $rc and $passed passed cases" >> "$log"
    ((rc != 124)) || echo "$exe: no end within ${TEST_TIMEOUT:-300} s" >> "$log"
  fi
  if ((failed)); then
    printf '\n---- FAILED %s\n%s\n----\n' "$exe" "$(tail -c 20000 "$log")"
  elif [[ ${V:-} ]]; then
    cat "$log"
  fi
  local ms=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
  ((failed)) || echo "$ms $exe" >> "$KM_TEST_TMP/times"
  printf '  %-7s %-72s %4d cases %4d s\n' "$( ((failed)) && echo FAILED || echo ok)" "${exe##*/obj/}" $((passed + failed)) $((ms / 1000))
  ((failed || !skipped)) || printf '  SKIPPED %d of %s: %s\n' "$skipped" "${exe##*/obj/}" "$(grep -m1 -iE 'skip(ped)?:' "$log")"
  # What a sanitizer found is no matter of luck (a leak is, where a failed case left its things behind).
  local final=
  ! grep -qE 'ERROR: AddressSanitizer|WARNING: ThreadSanitizer|runtime error:' "$log" || final=final
  echo "$passed $failed $skipped $exe $final" >> "$KM_TEST_TMP/counts"
  ((failed)) || awk '/^crash points: [0-9]+ of [0-9]+ tried$/ { print $3, $5 }' "$log" >> "$KM_TEST_TMP/crash-points"
}
export -f run_one

KM_TEST_TMP=$(mktemp -d)
TMPDIR=$KM_TEST_TMP
export KM_TEST_TMP TMPDIR
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1:detect_leaks=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}
# Documents are thousands of small pieces of memory, taken and given back at once: glibc keeps only a few of them at hand.
export GLIBC_TUNABLES=${GLIBC_TUNABLES:-glibc.malloc.tcache_count=65535}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}
trap 'rm -rf "$KM_TEST_TMP"' EXIT
touch "$KM_TEST_TMP/counts" "$KM_TEST_TMP/times" "$KM_TEST_TMP/crash-points"

selected=()
for exe in "$@"; do
  # shellcheck disable=SC2053 # TEST_FILTER is a glob
  [[ -z ${TEST_FILTER:-} || $exe == $TEST_FILTER ]] && selected+=("$exe")
done
if ((${#selected[@]} == 0 && $# > 0)); then
  echo "$kind: TEST_FILTER='$TEST_FILTER' matches none of $# executables, of which the first is $1" >&2
  exit 1
fi
times=${KM_BUILD:+$KM_BUILD/$kind-times}
# Longest first. What has no time yet comes before all others, those of whole operators in front.
in_order() {
  awk -v times="$times" '
    BEGIN { while (times != "" && (getline line < times) > 0) { split(line, f, " "); ms[f[2]] = f[1] } }
    { print ($0 in ms) ? ms[$0] : (/\/operator\/tests\// ? 2e9 : 1e9), NR, $0 }' | sort -k1,1nr -k2,2n | cut -d' ' -f3-
}
((${#selected[@]})) && printf '%s\n' "${selected[@]}" | in_order |
  tr '\n' '\0' | xargs -0 -n1 -P "${TEST_JOBS:-2}" bash -c 'run_one "$1"' _

# Machines are shared and noisy: what failed is told above in full and run once more, alone. Three at most, and only what
# was no sanitizer's finding; more than that is no accident.
mapfile -t again < <(awk '$2 > 0 && $5 != "final" { print $4 }' "$KM_TEST_TMP/counts")
final=$(awk '$2 > 0 && $5 == "final" { n++ } END { print n + 0 }' "$KM_TEST_TMP/counts")
unsteady=0
if ((${#again[@]} > 0 && ${#again[@]} <= 3 && final == 0)); then
  for exe in "${again[@]}"; do
    awk -v exe="$exe" '$4 != exe' "$KM_TEST_TMP/counts" > "$KM_TEST_TMP/others"
    mv "$KM_TEST_TMP/others" "$KM_TEST_TMP/counts"
    run_one "$exe"
    [[ $(awk -v exe="$exe" '$4 == exe { print $2 }' "$KM_TEST_TMP/counts") != 0 ]] || {
      echo "  UNSTEADY $exe: failed, then passed when it ran alone"
      unsteady=$((unsteady + 1))
    }
  done
fi

# The newest time of each, also of those that did not run this time.
if [[ $times ]]; then
  cat "$times" "$KM_TEST_TMP/times" 2> /dev/null | awk '{ ms[$2] = $1 } END { for (exe in ms) print ms[exe], exe }' > "$times.$$"
  mv "$times.$$" "$times"
fi

read -r passed failed skipped ran < <(awk '{ p += $1; f += $2; s += $3; n++ } END { print p + 0, f + 0, s + 0, n + 0 }' \
  "$KM_TEST_TMP/counts")
((failed += ${#selected[@]} - ran))
suffix=
((skipped)) && suffix=", $skipped skipped"
((unsteady)) && suffix+=", $unsteady unsteady"
suffix+=$(awk '{ tried += $1; all += $2 } END { if (tried < all) printf ", %d of %d crash points tried", tried, all }' \
  "$KM_TEST_TMP/crash-points")
echo "$kind: $passed passed, $failed failed$suffix (${#selected[@]} executables)"
[[ -z ${RESULTS:-} ]] || echo "$kind $passed $failed $skipped $unsteady" >> "$RESULTS"
((failed == 0))
