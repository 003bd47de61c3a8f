#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A runner that cannot fail runs nothing: executables that pass, fail, say nothing, die, and a filter that matches none of them.
set -euo pipefail
run=$(cd "$(dirname "$0")/.." && pwd)/run-tests.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
unset RESULTS TEST_FILTER V
export KM_BUILD=$tree TEST_JOBS=1

make_test() { printf '#!/bin/bash\n%s\n' "$2" > "$tree/$1" && chmod +x "$tree/$1"; } # NAME SCRIPT
make_test good 'echo "[  PASSED  ] 2 test(s)."'
make_test bad 'echo "[  PASSED  ] 1 test(s)."; echo "[  FAILED  ] 1 test(s), listed below:"; exit 1'
make_test silent 'exit 0'
make_test dead 'echo "[  PASSED  ] 2 test(s)."; kill -SEGV $$'
make_test absent 'exit 77'
make_test sampled 'echo "crash points: 2 of 5 tried"; echo "crash points: 1 of 3 tried"; echo "[  PASSED  ] 2 test(s)."'
make_test swept 'echo "crash points: 5 of 5 tried"; echo "[  PASSED  ] 1 test(s)."'

# expect RC TEXT FILTER NAME…
expect() {
  local want=$1 text=$2 filter=$3 rc=0 out
  shift 3
  out=$(TEST_FILTER=$filter "$run" kind "${@/#/$tree/}" 2>&1) || rc=$?
  if [[ $rc != "$want" || $out != *"$text"* ]]; then
    printf 'run-tests-test: %s with filter "%s": expected %s and "%s", got %s:\n%s\n' "$*" "$filter" "$want" "$text" "$rc" "$out" >&2
    exit 1
  fi
}
expect 0 'kind: 2 passed, 0 failed (1 executables)' '' good
expect 1 'kind: 3 passed, 1 failed' '' good bad
expect 1 '1 failed' '' silent
expect 1 '1 failed' '' dead
expect 0 '2 passed, 0 failed, 1 skipped' '' good absent
expect 0 '2 passed, 0 failed' '*/good' good bad
expect 0 'kind: 4 passed, 0 failed, 3 of 8 crash points tried (2 executables)' '' good sampled
expect 0 'kind: 1 passed, 0 failed (1 executables)' '' swept
expect 1 'matches none of 2 executables' '*/other' good bad

# What took longest the last time begins first, what has no time yet before that.
for name in short long unknown; do make_test $name "echo $name >> $tree/began; [[ $name != long ]] || sleep 0.3; echo '[  PASSED  ] 1 test(s).'"; done
expect 0 '2 passed, 0 failed' '' short long
: > "$tree/began"
expect 0 '3 passed, 0 failed' '' short unknown long
[[ $(xargs < "$tree/began") == "unknown long short" ]] || { echo "run-tests-test: they began in the order: $(xargs < "$tree/began")" >&2; exit 1; }
echo "run-tests-test: ok"
