#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check-size.sh   no file over 800 lines, no function over 60, main.c up to 120; prints how lengths are distributed. The line that names the licence is not counted.
# A function's length runs from the line of its name to its closing brace, as universal ctags sees them.
set -euo pipefail
cd "$(dirname "$0")/.."
max_file=800 max_function=60 max_main=120

dirs=()
for dir in common operator agent kubectl e2e; do
  [[ ! -d $dir ]] || dirs+=("$dir")
done
mapfile -t files < <(find "${dirs[@]}" /dev/null -name '*.[ch]' | sort)
if ((${#files[@]} == 0)); then
  echo "size: no files"
  exit 0
fi
bad=0

lengths=$(awk 'FNR == 1 && NR > 1 { print n, name } FNR == 1 { n = 0; name = FILENAME } !/SPDX-License-Identifier/ { n++ } END { print n, name }' "${files[@]}")
while read -r lines file; do
  limit=$max_file
  [[ ${file##*/} != main.c ]] || limit=$max_main
  if ((lines > limit)); then
    echo "$file: $lines lines, the limit is $limit"
    bad=1
  fi
done <<< "$lengths"

# name, file, line, length; longest last
functions=$(ctags -o - --languages=C --kinds-C=f --fields=+ne --langmap=C:.c.h --output-format=json "${files[@]}" |
  jq -r 'select(.end != null) | [.end - .line + 1, .name, "\(.path):\(.line)"] | @tsv' | sort -n)
while read -r length name where; do
  echo "$where: $name has $length lines, the limit is $max_function"
  bad=1
done < <(awk -v max="$max_function" 'NF && $1 > max' <<< "$functions")

report() { # report LABEL LISTING: rank statistics of its first column, which is sorted
  awk -v label="$1" 'NF { v[++n] = $1; last = $0 }
    END { if (n) printf "size: %s: %d, median %d, p90 %d, largest %s\n", label, n, v[int((n + 1) / 2)], v[int(n * 0.9 + 0.5)], last }' \
    <<< "$2"
}
is_product='!/\/(tests|fuzz)\//'
report 'functions' "$(awk "$is_product" <<< "$functions" | tr '\t' ' ')"
report 'functions in tests' "$(awk "!($is_product)" <<< "$functions" | tr '\t' ' ')"
report 'files' "$(sort -n <<< "$lengths")"
exit $bad
