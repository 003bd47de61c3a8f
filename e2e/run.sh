#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [STORY…]   end-to-end stories on a real Kubernetes (make e2e STORIES="…"); without a name: all but those that say "# long", with LONG=1 those, too,
# but none that has passed on this commit before (build-aux/kept.sh; AGAIN=1 runs it again), with CORE=1 only those that say "# core".
#
# Each story is a file in stories/, runs in a namespace of its own (which enforces the "restricted" Pod Security Standard unless the story
# says "# privileged") and fails at the first expectation that does not hold. Exit code 77 is "skipped", with the reason printed. The
# operator is installed first (from the images of this checkout) if it is not there or not of this build. Environment: KUBECONFIG (default:
# the local cluster, which is brought up), E2E_JOBS (2 stories at a time), E2E_STORY_SECONDS (400: how long a story may take; one that says
# "# seconds N" at least N), KEEP=1 leaves the namespaces of failed stories, RESULTS as in build-aux/test.sh.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=e2e/lib.sh
. e2e/lib.sh
# shellcheck source=build-aux/kept.sh
. build-aux/kept.sh
# shellcheck source=e2e/versions-lib.sh
. e2e/versions-lib.sh
: "${E2E_JOBS:=2}" "${E2E_STORY_SECONDS:=400}"

stories=() passed=0 unsteady=0
if (($#)); then
  for name in "$@"; do
    file=e2e/stories/${name%.sh}.sh
    [[ -f $file ]] || { echo "no story $name; there are: $(cd e2e/stories && echo *.sh)" >&2; exit 2; }
    stories+=("$file")
  done
else
  for file in e2e/stories/*.sh; do
    [[ -z ${LONG:-} ]] && grep -q '^# long' "$file" && continue
    [[ -z ${CORE:-} ]] || grep -q '^# core' "$file" || continue
    if [[ -n ${LONG:-} && -z ${AGAIN:-} ]] && read -r rc seconds ended < <(kept_get stories "$(basename "$file" .sh)") && ((rc == 0)); then
      printf '  ok      %-28s %4d s, %s on this commit\n' "$(basename "$file" .sh)" "$seconds" "$(kept_ago "$ended")"
      ((++passed))
      continue
    fi
    stories+=("$file")
  done
fi

work=$(mktemp -d)
export E2E_WORK=$work
children=()
# shellcheck disable=SC2317 # called by trap
finish() {
  trap - EXIT INT TERM
  for pid in "${children[@]}"; do kill "$pid" 2> /dev/null; done
  rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# One story in its namespace; leaves "RC SECONDS" in $work/NAME.rc and its output in $work/NAME.log
run_story() {
  local file=$1 name start seconds dir rc=0
  name=$(basename "$file" .sh)
  seconds=$(sed -n 's/^# seconds //p' "$file")
  ((${seconds:-0} > E2E_STORY_SECONDS)) || seconds=$E2E_STORY_SECONDS
  start=$SECONDS
  # Names of namespaces carry the run, so that leftovers of an earlier run that are still going away do not matter.
  NS=e2e-${name//./-}-$(printf '%04x' $((RANDOM % 65536)))
  export NS
  k create namespace "$NS" > /dev/null && k label namespace "$NS" kubemysql.dev/e2e=true > /dev/null
  grep -q '^# privileged' "$file" || k label namespace "$NS" pod-security.kubernetes.io/enforce=restricted > /dev/null
  # shellcheck disable=SC2016 # expanded by the inner shell
  timeout --kill-after=10 "$seconds" bash -c '. e2e/lib.sh; set -eEuo pipefail; trap story_failed ERR; . "$1"' story "$file" \
    > "$work/$name.log" 2>&1 < /dev/null || rc=$?
  for dir in "$work/$NS".*; do [[ ! -d $dir ]] || : > "$dir/stop"; done # writing clients of a story that did not come to its end
  if ((rc != 0 && rc != 77)); then
    ((rc != 124)) || echo "no end within $seconds s" >> "$work/$name.log"
    story_evidence "$NS" >> "$work/$name.log" 2>&1
  fi
  if ((rc == 0 || rc == 77)) || [[ -z ${KEEP:-} ]]; then
    story_cleanup "$NS" >> "$work/$name.log" 2>&1
  fi
  echo "$rc $((SECONDS - start))" > "$work/$name.rc"
  kept_add stories "$name" "$rc" $((SECONDS - start))
  case $rc in
    0) printf '  ok      %-28s %4d s\n' "$name" $((SECONDS - start)) ;;
    77) printf '  SKIPPED %-28s %s\n' "$name" "$(grep -m1 '^SKIPPED' "$work/$name.log")" ;;
    *)
      printf '  FAILED  %-28s %4d s\n' "$name" $((SECONDS - start))
      # What the story said, whole; of the evidence the end.
      sed '/^---- evidence/,$d; s/^/    | /' "$work/$name.log" | tail -n 60
      sed -n '/^---- evidence/,$p' "$work/$name.log" | sed 's/^/    | /' | tail -n "${E2E_LOG_LINES:-120}"
      ;;
  esac
}

if [[ -z ${km_given_kubeconfig:-} ]]; then
  e2e/cluster/up.sh || { echo "e2e: the local cluster is not up" >&2; exit 1; }
fi
install_operator || { echo "e2e: the operator could not be installed" >&2; exit 1; }

# Stories that stop or replace the operator run alone, after the others.
alone=() together=()
for file in "${stories[@]}"; do
  if grep -q '^# alone' "$file"; then alone+=("$file"); else together+=("$file"); fi
done
for file in "${together[@]}"; do
  while (($(jobs -rp | wc -l) >= E2E_JOBS)); do sleep 0.2; done
  run_story "$file" &
  children+=($!)
done
for pid in "${children[@]}"; do wait "$pid" 2> /dev/null; done # jobs has told of some already
children=()
# One that replaces the operator may have failed in the midst of it: the next begins with this build's.
for file in "${alone[@]}"; do
  install_operator && run_story "$file"
done

# Machines are shared and noisy: what failed is told above in full and runs once more, alone; two at most.
again=()
for file in "${stories[@]}"; do
  read -r rc _ < "$work/$(basename "$file" .sh).rc" || rc=1
  ((rc == 0 || rc == 77)) || again+=("$file")
done
if ((${#again[@]} <= 2)); then
  for file in "${again[@]}"; do
    install_operator && run_story "$file"
    read -r rc _ < "$work/$(basename "$file" .sh).rc" || rc=1
    ((rc != 0)) || { echo "  UNSTEADY $(basename "$file" .sh): failed, then passed when it ran alone"; ((++unsteady)); }
  done
fi

failed=0 skipped=0
for file in "${stories[@]}"; do
  read -r rc _ < "$work/$(basename "$file" .sh).rc" || rc=1
  case $rc in 0) ((passed++)) ;; 77) ((skipped++)) ;; *) ((failed++)) ;; esac
done
tables_print "$work/tables"
echo "e2e: $passed passed, $failed failed, $skipped skipped$( ((unsteady == 0)) || echo ", $unsteady unsteady")"
[[ -z ${RESULTS:-} ]] || echo "e2e $passed $failed $skipped $unsteady" >> "$RESULTS"
((failed == 0))
