#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check-license.sh [--write] [ROOT]   the licence stands at the top of every source file, as one line that tools read (https://spdx.dev/learn/handling-license-info/).
#
# Files: C, headers, shell, Python, YAML, make and Dockerfiles that git knows or would add; not the data of tests. The line is the first one, or the second behind "#!".
# It also holds LICENSE against the text's digest, so that it is the whole Apache License 2.0. --write adds the missing lines.
set -euo pipefail
write=
[[ ${1:-} != --write ]] || { write=1; shift; }
cd "${1:-$(dirname "$0")/..}"
tag='SPDX-License-Identifier: Apache-2.0'
text_digest=cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30

list() { # what git knows, and what it would add; without git every file
  git ls-files -z --cached --others --exclude-standard 2> /dev/null || find . -type f -not -path '*/.git/*' -printf '%P\0'
}

mapfile -d '' -t files < <(list | grep -zE '(\.(c|h|sh|inc|py|ya?ml|mk)|(^|/)(Makefile|Dockerfile)|^\.ci/run)$' |
  grep -zvE '/tests/data/|/corpus/' | sort -zu)
missing=()
while IFS= read -r file; do
  [[ -z $file || ! -f $file ]] || missing+=("$file")
done < <(((${#files[@]})) && awk -v tag="$tag" '
  function judge() { if (seen != "" && !ok) print seen }
  FNR == 1 { judge(); seen = FILENAME; ok = 0 }
  FNR <= 2 && ($0 == "# " tag || $0 == "/* " tag " */") && (FNR == 1 || first ~ /^#!/) { ok = 1 }
  FNR == 1 { first = $0 }
  FNR >= 2 { nextfile }
  END { judge() }' "${files[@]}" /dev/null 2> /dev/null || :)

add() { # add FILE: the line, below "#!" where there is one; the file keeps its mode
  local line="# $tag" new
  [[ $1 != *.[ch] ]] || line="/* $tag */"
  new=$(mktemp)
  awk -v line="$line" 'NR == 1 && /^#!/ { print; print line; next } NR == 1 { print line } { print }' "$1" > "$new"
  cat "$new" > "$1"
  rm -f "$new"
}

failed=0
for file in "${missing[@]}"; do
  if [[ -n $write ]]; then
    add "$file"
  else
    echo "$file: no line \"$tag\" at its top (build-aux/check-license.sh --write)"
    failed=1
  fi
done
if [[ $(sha256sum < LICENSE 2> /dev/null) != "$text_digest  -" ]]; then
  echo "LICENSE: it is not the text of the Apache License 2.0"
  failed=1
fi
((${#files[@]})) || { echo "license: no files"; failed=1; }
((failed)) || echo "license: ${#files[@]} files say what they are under"
exit $failed
