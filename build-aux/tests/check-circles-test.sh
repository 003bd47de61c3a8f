#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A circle of two files and one of three are found; calls one way, calls between folders, names in comments and texts, and static functions of one name are none.
set -euo pipefail
check=$(cd "$(dirname "$0")/.." && pwd)/check-circles.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir -p common operator/x agent/tests build-aux

file() { printf '%s\n' "${@:2}" > "$1.c"; } # NAME LINE…
file common/a 'int a(void)' '{' '    return b();' '}'
file common/b '/* a() calls this. */' 'int b(void)' '{' '    return text("a()") + same();' '}' 'static int same(void)' '{' '    return 0;' '}'
file common/c 'static int same(void)' '{' '    return a();' '}' 'int c(void)' '{' '    return same();' '}'
file operator/x/d 'int d(void)' '{' '    return e();' '}'
file operator/x/e 'int e(void)' '{' '    return f();' '}'
file operator/x/f 'int f(void)' '{' '    return d();' '}'
file agent/tests/g 'int g(void)' '{' '    return h();' '}'
file agent/tests/h 'int h(void)' '{' '    return g();' '}'

expect() { # RC TEXT
  local rc=0 out
  out=$("$check" 2>&1) || rc=$?
  [[ $rc == "$1" && $out == *"$2"* ]] || { printf 'check-circles-test: expected %s and "%s", got %s:\n%s\n' "$1" "$2" "$rc" "$out" >&2; exit 1; }
}
[[ $("$check" --list) == "operator/x: d e f" ]] || { echo "check-circles-test: the list is wrong: $("$check" --list)" >&2; exit 1; }
echo '# none' > build-aux/circles.txt
expect 1 'in a circle: operator/x: d e f'
echo 'operator/x: d e f' > build-aux/circles.txt
expect 0 '3 of them call each other in 1 circles'
file common/b 'int b(void)' '{' '    return a();' '}'
expect 1 'in a circle: common: a b'
file common/b 'int b(void)' '{' '    return 0;' '}'
file operator/x/f 'int f(void)' '{' '    return 0;' '}'
expect 1 'not true any more: operator/x: d e f'
echo "check-circles: its tests pass"
