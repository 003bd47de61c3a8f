#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# test.sh   tells whether this builds and works on this machine, stage by stage; the last line sums up: "N passed, N failed".
#
#   make test                 one compiler, unit tests, the simulation, integration tests but those that say "full:", images, and on the
#                             real cluster the stories that say "# core"
#   FULL=1                    what continuous integration runs: also the second compiler, sanitizers, linters, fuzzers,
#                             faults, all integration tests, unit tests that try every crash point, and more stories
#   LONG=1                    all there is: also integration tests under a sanitizer and with Oracle's client, the chart with helm, and the stories that say "# long".
#                             It takes hours, so it may be run in parts: a stage or story that has passed on this commit is not run again
#                             (build-aux/kept.sh); AGAIN=1 runs it again
#   STAGES="gcc check lint"   only these stages of the table below; STORIES="a b" only these stories of the stage "e2e"
#   STOP=1                    stop at the first stage that fails
#   TEST_MINUTES=84           a watch: a stage that would take longer than what is left of so many minutes, at the pace of this machine so far, is not begun
#                             and counts as skipped; one that runs when they are over is ended, and has failed. LONG=1 has none
#   BUILD=build               where to build; logs of the stages in $BUILD/test/
#
# What counts: every test case, fuzzer or story that a stage reports (by a line "KIND PASSED FAILED SKIPPED [UNSTEADY]" in the file
# $RESULTS), or the stage itself where it has no cases (a compiler run, a linter). A stage that fails without naming a failed
# case counts as one failed. A stage whose script does not exist counts as skipped, and says so. Unsteady is what failed, and passed
# when it was run once more, alone: it counts as passed, too.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=build-aux/kept.sh
. build-aux/kept.sh
: "${BUILD:=build}" "${FUZZ_SECONDS:=5}"
jobs=$(nproc)
make=(make --no-print-directory -j"$jobs" "BUILD=$BUILD" QUIET=1)
logs=$BUILD/test
mkdir -p "$logs"
RESULTS=$(realpath "$logs")/results
export FUZZ_SECONDS RESULTS
: > "$RESULTS"

build_gcc() { "${make[@]}" CC=gcc all unit-tests integration-tests; }
build_clang() { "${make[@]}" CC=clang "BUILD=$BUILD/clang" objects; } # nobody runs what it makes
cluster_running() { [[ -x e2e/cluster/status.sh ]] && e2e/cluster/status.sh > /dev/null 2>&1; }

# The stories run on the local Kubernetes; one that was up before is used and left alone.
cluster_is_ours=
end_to_end() {
  # shellcheck disable=SC2086 # names of stories
  e2e/cluster/up.sh && e2e/cluster/load-image.sh "$BUILD"/images/*.oci.tar && CORE=$core_only e2e/run.sh ${STORIES:-}
}

# Five minutes of faults that overlap, in both families; each commit has its own choice of them, and always the same.
overlapping() {
  local flavour seed rc=0 each
  seed=$((16#$(git rev-parse --short=6 HEAD 2> /dev/null | cut -c1-6 || echo 1)))
  for flavour in mariadb mysql; do
    each=0
    FLAVOUR=$flavour OVERLAP=10 COUNT=99 SEED=$seed FAULTS_SECONDS=100 e2e/faults/bed/run.sh || each=$?
    if ((each == 77)); then echo "faults 0 0 1" >> "$RESULTS"; elif ((each)); then rc=$each; fi
  done
  return $rc
}

# In the order of what they tell: on a machine where the minutes are not enough, the last ones are not begun.
# name, seconds it may take, about so many it takes (two cores, nothing cached but Kubernetes), script it cannot do without (or -), command
stages=(
  "deps              1200    60 -                                make deps"
  "gcc                600   150 -                                build_gcc"
  "clang              600    40 -                                build_clang"
  "format              60     5 -                                ${make[*]} format-check"
  "check              600   150 -                                ${make[*]} -k check"
  "simulate           300   100 -                                ${make[*]} check-simulate"
  "asan              1200   450 -                                TEST_TIMEOUT=600 ${make[*]} check-asan"
  "kubernetes        2400     5 e2e/cluster/build-kubernetes.sh  e2e/cluster/images.sh && e2e/cluster/build-kubernetes.sh"
  "images             600    60 images/build.sh                  ${make[*]} images"
  "e2e               2700   800 e2e/run.sh                       end_to_end"
  "integration       2700  1300 -                                CORE=\$core_only ${make[*]} check-integration"
  "bed               1500   280 e2e/faults/bed/run.sh            overlapping"
  "faults            1500   550 e2e/faults/run.sh                e2e/faults/run.sh"
  "tsan              1500    60 -                                ${make[*]} check-tsan"
  "lint               900   270 -                                ${make[*]} lint"
  "fuzz               600   120 -                                ${make[*]} fuzz"
  "integration-asan  1500  1200 -                                TEST_FILTER='!(*_mysql_itest)' ${make[*]} check-integration-asan"
  "libmysqlclient    2400  1500 build-aux/run-libmysqlclient.sh    ${make[*]} check-libmysqlclient"
  "chart             1500   300 deploy/tests/chart-test.sh       deploy/tests/chart-test.sh"
)
fatal=" deps gcc "  # without these the others say nothing new
building=" deps gcc kubernetes images " # what others need: run each time, also where they have passed before; their minutes are told apart
# These need the local Kubernetes, or the images of the servers. Both are built (once, then cached) beside the stages before them; stage "kubernetes" waits for that.
on_kubernetes=" kubernetes integration integration-asan bed faults e2e "

sum() { awk -v column="$1" -v from="$2" 'NR > from { n += $column } END { print n + 0 }' "$RESULTS"; }
passed=0 failed=0 skipped=0 unsteady=0 failures=() built=0
watch=${TEST_MINUTES:-$([[ -n ${LONG:-} ]] || echo 84)}
expected=0 spent=0 # seconds that the stages so far were to take, and took; without those that build what others need

# One stage, under a time limit, its output shown and kept.
run_stage() {
  local name=$1 limit=$2 needs=$3 watched=
  shift 3
  local start=$SECONDS before rc=0 p f s u
  printf '\n==== %s (about %s)\n' "$name" "$(minutes_left "$name")"
  if [[ $needs != - && ! -x $needs ]]; then
    echo "==== $name SKIPPED: $needs does not exist"
    skipped=$((skipped + 1))
    return 0
  fi
  [[ $name != e2e || -z ${LONG:-} ]] || limit=28800
  if [[ -n $watch ]] && ((watch * 60 - SECONDS < limit)); then
    watched=1
    limit=$((watch * 60 > SECONDS ? watch * 60 - SECONDS : 1))
  fi
  before=$(wc -l < "$RESULTS")
  timeout --kill-after=20 "$limit" bash -c "$(declare -f build_gcc build_clang end_to_end overlapping); $(declare -p make BUILD core_only); $*" \
    < /dev/null > >(tee "$logs/$name.log") 2>&1 &
  child=$!
  wait $child || rc=$?
  child=
  p=$(sum 2 "$before") f=$(sum 3 "$before") s=$(sum 4 "$before") u=$(sum 5 "$before")
  if ((rc == 124)) && [[ -n $watched ]]; then
    stopped="the watch ended $name"
    echo "==== $name: ended after $watch minutes in all (TEST_MINUTES)"
  elif ((rc == 124)); then
    echo "==== $name: no end within $limit s"
  fi
  if ((rc != 0 && f == 0)); then
    f=1
  elif ((rc == 0 && p + f + s == 0)); then
    if (($(wc -l < "$RESULTS") > before)); then
      echo "==== $name SKIPPED: it has no cases"
      s=1
    else
      p=1
    fi
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) unsteady=$((unsteady + u))
  ((f == 0)) || failures+=("$name")
  if [[ $building == *" $name "* ]]; then
    built=$((built + SECONDS - start))
  else
    spent=$((spent + SECONDS - start)) expected=$((expected + seconds_of[$name]))
  fi
  printf '==== %s %s in %d s (%d passed, %d failed, %d skipped%s)\n' \
    "$name" "$( ((f)) && echo FAILED || echo ok)" $((SECONDS - start)) "$p" "$f" "$s" "$( ((u == 0)) || echo ", $u unsteady")"
  if ((rc != 124)) && [[ -z ${STORIES:-}${TEST_FILTER:-} ]]; then
    kept_add stages "$(measure "$name")" "$p" "$f" "$s" "$u" $((SECONDS - start))
    ((f)) || kept_seconds_add "$(measure "$name")" $((SECONDS - start))
  fi
  ((f == 0))
}

# measure STAGE: under which name its result and its seconds are kept; what these stages do depends on the kind of run
kind=${LONG:+long}
kind=${kind:-${FULL:+full}}
measure() {
  case $1 in
  e2e) echo "e2e-${kind:-core}" ;;
  integration) echo "integration${core_only:+-core}" ;;
  check | asan) echo "$1${core_only:+-core}" ;; # every third crash point
  *) echo "$1" ;;
  esac
}

# minutes_left STAGE: what it and the stages after it take, about
minutes_left() {
  local stage name left=0 reached=
  for stage in "${stages[@]}"; do
    read -r name _ <<< "$stage"
    [[ $name != "$1" ]] || reached=1
    [[ -z $reached || -n ${passed_before[$name]} ]] || left=$((left + seconds_of[$name]))
  done
  if ((left < 90)); then echo "$left s left"; else echo "$(((left + 30) / 60)) minutes left"; fi
}

# fits STAGE: whether it ends before the watch does, if this machine goes on as fast as so far
fits() {
  local seconds=${seconds_of[$1]}
  [[ -n $watch ]] || return 0
  ((expected < 300 || spent < expected)) || seconds=$((seconds * spent / expected))
  ((seconds == 0 || SECONDS + seconds <= watch * 60))
}

# In the background and waited for, so that a signal to us is acted on at once; timeout hands it on to the stage.
child='' builder=''
finish() {
  trap - EXIT INT TERM
  local each
  for each in $child $builder; do
    kill "$each" 2> /dev/null
    wait "$each"
  done
  if [[ -n $cluster_is_ours ]]; then
    INSTANCE=e2e timeout 60 e2e/s3/down.sh --purge > "$logs/s3-down.log" 2>&1
    timeout 120 e2e/cluster/down.sh > "$logs/cluster-down.log" 2>&1
  fi
  printf '\n'
  ((${#failures[@]} == 0)) || printf 'failed stages: %s (logs in %s)\n' "${failures[*]}" "$logs"
  printf 'took %d s: %d minutes of building, %d of testing\n' "$SECONDS" $((built / 60)) $(((SECONDS - built) / 60))
  local closing="$passed passed, $failed failed"
  ((skipped == 0)) || closing+=", $skipped skipped"
  ((unsteady == 0)) || closing+=", $unsteady unsteady"
  echo "$closing" | tee "$logs/summary"
  ((failed == 0 && passed > 0)) && exit 0
  exit 1
}
interrupted() {
  failed=$((failed + 1))
  failures+=(interrupted)
  finish
}
trap finish EXIT
trap interrupted INT TERM

core=" deps gcc check simulate kubernetes integration images e2e "
long=" integration-asan libmysqlclient chart "
[[ -z ${LONG:-} ]] || FULL=1
core_only=$([[ -n ${FULL:-} ]] || echo 1)
known=" "
for stage in "${stages[@]}"; do
  read -r name _ <<< "$stage"
  known+="$name "
done
for name in ${STAGES:-}; do
  [[ $known == *" $name "* ]] || { echo "unknown stage $name; there are:$known"; failed=1; exit 1; }
done

# selected NAME: whether this run has that stage
selected() {
  [[ -z ${STAGES:-} || " $STAGES " == *" $1 "* ]] && [[ -n ${STAGES:-}${LONG:-} || $long != *" $1 "* ]] &&
    [[ -n ${STAGES:-}${FULL:-} || $core == *" $1 "* ]]
}

# build_kubernetes: begin to, when a stage to come needs it, and the images of the servers. Their own locks make that stage wait.
build_kubernetes() {
  local stage name
  [[ -x e2e/cluster/build-kubernetes.sh && -z $builder ]] || return 0
  for stage in "${stages[@]}"; do
    read -r name _ <<< "$stage"
    [[ $on_kubernetes == *" $name "* ]] && selected "$name" || continue
    timeout --kill-after=20 3600 nice bash -c 'e2e/cluster/images.sh; e2e/cluster/build-kubernetes.sh' < /dev/null > "$logs/kubernetes-build.log" 2>&1 &
    builder=$!
    return 0
  done
}

# Of each stage of this run: the seconds that it takes, about, and with LONG=1 its kept result where that says that it has passed on this commit
declare -A seconds_of passed_before
for stage in "${stages[@]}"; do
  read -r name _ about _ <<< "$stage"
  seconds_of[$name]=0 passed_before[$name]=
  selected "$name" || continue
  [[ $name != integration || -z $core_only ]] || about=500
  seconds_of[$name]=$(kept_seconds "$(measure "$name")" "$about")
  if [[ -n ${LONG:-} && -z ${AGAIN:-}${STAGES:-}${STORIES:-} && $building != *" $name "* && $name != e2e ]]; then
    passed_before[$name]=$(kept_get stages "$name" | awk '$1 > 0 && $2 == 0')
  fi
done

stopped=
for stage in "${stages[@]}"; do
  read -r name limit _ needs command <<< "$stage"
  selected "$name" || continue
  [[ $name == deps ]] || build_kubernetes # what it needs comes with deps
  if [[ -n $stopped ]]; then
    echo "==== $name SKIPPED: $stopped"
    skipped=$((skipped + 1))
    continue
  fi
  if [[ -n ${passed_before[$name]} ]]; then
    read -r p f s u seconds ended <<< "${passed_before[$name]}"
    passed=$((passed + p)) skipped=$((skipped + s)) unsteady=$((unsteady + u))
    printf '\n==== %s passed on this commit %s, in %d s (%d passed, %d skipped)\n' "$name" "$(kept_ago "$ended")" "$seconds" "$p" "$s"
    continue
  fi
  if ! fits "$name"; then
    echo "==== $name SKIPPED: what is left of $watch minutes (TEST_MINUTES) is not enough for it"
    skipped=$((skipped + 1))
    continue
  fi
  if [[ $name == e2e && -x $needs ]] && ! cluster_running; then
    cluster_is_ours=1
  fi
  # shellcheck disable=SC2086 # the command's words
  run_stage "$name" "$limit" "$needs" $command || [[ -n $stopped || -z ${STOP:-} && $fatal != *" $name "* ]] || stopped="$name failed"
done
