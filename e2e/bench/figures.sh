#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# figures.sh: (sourced) what every benchmark prints figures with.

# result NAME VALUE UNIT [AIM]: one line of the table; with an AIM also the ratio VALUE/AIM (at most 1 is reached)
result() {
  local ratio=-
  [[ -z ${4:-} ]] || ratio=$(awk -v v="$2" -v a="$4" 'BEGIN { if (a > 0) printf "%.2f", v / a; else print (v == 0 ? "ok" : "over") }')
  printf '%-44s %12s %-8s %10s %8s\n' "$1" "$2" "$3" "${4:--}" "$ratio" | tee -a "${BENCH_RESULTS:-/dev/null}"
}

# quantile FILE Q: of one number a line, in any order
quantile() { sort -n "$1" | awk -v q="$2" '{ v[NR] = $1 } END { if (NR) { i = int(q * NR + 0.9999); print v[i < 1 ? 1 : i] } }'; }
