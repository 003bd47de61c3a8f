#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [NAME…]   run benchmarks (make bench NAME=…); without a name: all but those that say "# only by name". --list names them.
#
# Each prints lines "what, value, unit, aim, ratio"; a ratio of at most 1 reaches the aim. They run one after another, each on a
# control plane of its own. Environment: BUILD, OPERATOR (a binary), and what the head of each file names.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
names=()
for file in e2e/bench/*.sh; do
  name=$(basename "$file" .sh)
  [[ " run lib figures " == *" $name "* ]] || names+=("$name")
done
by_name() { grep -q '^# only by name' "e2e/bench/$1.sh"; }
if [[ ${1:-} == --list ]]; then
  for name in "${names[@]}"; do sed -n "3s/^# /$name: /p" "e2e/bench/$name.sh"; done
  exit 0
fi
if (($#)); then
  names=("$@")
else
  for i in "${!names[@]}"; do ! by_name "${names[i]}" || unset "names[i]"; done
fi
BENCH_RESULTS=$(mktemp)
export BENCH_RESULTS
trap 'rm -f "$BENCH_RESULTS"' EXIT
failed=0
for name in "${names[@]}"; do
  [[ -x e2e/bench/$name.sh ]] || { echo "no benchmark $name; there are: ${names[*]}" >&2; exit 2; }
  echo "==== $name"
  "e2e/bench/$name.sh" || { echo "==== $name FAILED"; failed=$((failed + 1)); }
done
printf '\n%-44s %12s %-8s %10s %8s\n' what value unit aim ratio
cat "$BENCH_RESULTS"
((failed == 0))
