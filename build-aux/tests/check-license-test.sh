#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checker notices a file without the line, one that has it too low, another licence and a changed LICENSE; --write mends files and changes nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0
tag='SPDX-License-Identifier: Apache-2.0'

mkdir -p "$dir/a/tests/data" "$dir/b"
cp LICENSE "$dir/LICENSE"
printf '/* %s */\nint x;\n' "$tag" > "$dir/a/good.c"
printf '#!/bin/bash\n# %s\n' "$tag" > "$dir/good.sh"
printf 'a: 1\n' > "$dir/a/tests/data/golden.yaml"
printf '{}\n' > "$dir/none.json"

build-aux/check-license.sh "$dir" > "$dir/out" || { echo "good files were refused:"; cat "$dir/out"; failed=1; }
[[ $(< "$dir/out") == "license: 2 files say what they are under" ]] || { echo "expected two files, got: $(< "$dir/out")"; failed=1; }

refused() { # refused FILE: it is named, and nothing else is
  local out
  if out=$(build-aux/check-license.sh "$dir"); then
    echo "not noticed: $1"
    failed=1
  elif [[ $out != "$1"* || $(wc -l <<< "$out") != 1 ]]; then
    printf 'expected one line about %s, got:\n%s\n' "$1" "$out"
    failed=1
  fi
}
try() { # try FILE TEXT: refused, mended by --write
  printf '%b' "$2" > "$dir/$1"
  refused "$1"
  build-aux/check-license.sh --write "$dir" > /dev/null
  build-aux/check-license.sh "$dir" > /dev/null || { echo "$1 was not mended"; failed=1; }
  [[ $(grep -vF "$tag" "$dir/$1") == "$(printf '%b' "$2" | grep -vF "$tag")" ]] || { echo "$1: another line changed"; failed=1; }
  rm "$dir/$1"
}
try b/none.h 'int y;\n'
try b/low.c "int y;\n/* $tag */\n"
try b/other.c '/* SPDX-License-Identifier: MIT */\nint y;\n'
try b/none.sh '#!/bin/bash\nset -e\n'
try b/none.yaml 'a: 1\n'
try Makefile 'all:\n'
try b/Dockerfile 'FROM scratch\n'
try b/none.py 'x = 1\n'

sed -i 's/copyright/Copyright/' "$dir/LICENSE"
refused LICENSE
((failed)) || echo "check-license: its tests pass"
exit $failed
