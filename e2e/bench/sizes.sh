#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sizes: functions and files of the source, binaries, images; what is not built is left out
cd "$(dirname "$0")/../.." || exit 1
set -euo pipefail
: "${BUILD:=build}"
line() { printf '%-44s %12s %-8s %10s %8s\n' "$1" "$2" "$3" "${4:--}" "${5:--}" | tee -a "${BENCH_RESULTS:-/dev/null}"; }
ratio() { awk -v v="$1" -v a="$2" 'BEGIN { printf "%.2f", v / a }'; }

report=$(build-aux/check-size.sh || true)
value() { sed -nE "s/^size: $1s:.*$2 ([0-9]+).*/\1/p" <<< "$report"; }
for what in 'function:median:' 'function:p90:' 'function:largest:60' 'file:median:' 'file:largest:800'; do
  IFS=: read -r kind rank limit <<< "$what"
  lines=$(value "$kind" "$rank")
  line "$kind, $rank" "${lines:-?}" lines "${limit:--}" "${limit:+$(ratio "${lines:-0}" "$limit")}"
done
for file in "$BUILD"/static/kube-mysql-{operator,agent} "$BUILD"/images/kube-mysql-{operator,agent}.oci.tar; do
  [[ -f $file ]] || continue
  line "${file#"$BUILD"/}" "$(awk -v b="$(stat -c %s "$file")" 'BEGIN { printf "%.2f", b / 1048576 }')" MiB
done
