#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A comparison of a text for people is found, over several lines too; values, other texts, names in comments and literals, tests and the rooms are none.
set -euo pipefail
check=$(cd "$(dirname "$0")/.." && pwd)/check-texts.py
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cd "$tree"
mkdir -p operator/cluster/tests operator/backup operator/api operator/kube common build-aux

file() { printf '%s\n' "${@:2}" > "$1"; } # NAME LINE…
file operator/cluster/a.c '/* str_eq(pod->reason, "x") */' '// strstr(message, "x")' 'bool a = str_eq(b->name, c->from) || b->reason == c->reason;' \
  'bool b = str_eq(name, "reason) strstr(");' 'bool c = strstr(list, ")") || reason_of(condition) == REASON_RETRYING;'
file operator/cluster/tests/a_test.c 'assert_true(str_eq(status.message, "x"));'
file operator/api/room.c 'bool a = strstr(message, "x");'
file operator/kube/room.c 'bool a = str_eq(reason, "x");'
file common/a.c 'bool a = strstr(message, "x");'

expect() { # RC TEXT
  local rc=0 out
  out=$("$check" 2>&1) || rc=$?
  [[ $rc == "$1" && $out == *"$2"* ]] || { printf 'check-texts-test: expected %s and "%s", got %s:\n%s\n' "$1" "$2" "$rc" "$out" >&2; exit 1; }
}
planted() { # CALL LINE…: it fails with the line, and passes without
  file operator/backup/b.c "${@:2}"
  expect 1 "make it a value: operator/backup/b.c: $1"
  : > operator/backup/b.c
  expect 0 '0 texts'
}
echo '# none' > build-aux/texts.txt
expect 0 '0 texts'
planted 'strstr(pod->problem_message, "my.cnf")' 'bool a = x && strstr(pod->problem_message, "my.cnf");'
planted 'str_eq(summary->reason, GAP)' 'bool a = str_eq(summary->reason, GAP);'
planted 'str_eq(backup->phase, names[DONE])' 'bool a = !str_eq(backup->phase, names[DONE]);'
planted 'str_starts_with(why, f(")"))' 'if (str_starts_with(why,' '        f(")")))'
planted 'str_eq(json_path_str(status, "condition.reason", ""), x)' 'bool a = str_eq(json_path_str(status, "condition.reason", ""), x);'
planted 'str_eq(first, "there is no other member")' 'bool a = str_eq(first, "there is no other member");'

file operator/backup/b.c 'bool a = str_eq(x.message, y.message);'
echo 'operator/backup/b.c: str_eq(x.message, y.message)' > build-aux/texts.txt
expect 0 '1 texts for people are compared'
file operator/backup/b.c 'bool a = str_eq(x.message, y.message), b = str_eq(x.message, y.message);'
expect 1 'make it a value: operator/backup/b.c: str_eq(x.message, y.message)'
: > operator/backup/b.c
expect 1 'not true any more: operator/backup/b.c: str_eq(x.message, y.message)'
echo "check-texts: its tests pass"
