#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cutting a large list into objects, against memcpy and jansson; the aim is 1 GB/s (1000 us/MB)
set -euo pipefail
cd "$(dirname "$0")/../.."
: "${BUILD:=build}" "${CC:=gcc}"
make --no-print-directory QUIET=1 BUILD="$BUILD" "$BUILD/libcommon.a"
exe=$(mktemp)
trap 'rm -f "$exe"' EXIT
"$CC" -std=gnu17 -O2 -D_GNU_SOURCE -I. e2e/bench/json_scan_bench.c "$BUILD/libcommon.a" -ljansson -o "$exe"
out=$(timeout 300 "$exe")
printf '%s\n' "$out"
awk '/^cutter, 16 KiB/ { us = 1e6 / $5
  printf "%-44s %12.0f %-8s %10d %8.2f\n", "list of Pods: cut into objects", us, "us/MB", 1000, us / 1000 }' <<< "$out" |
  tee -a "${BENCH_RESULTS:-/dev/null}"
