#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# print-sizes.sh FILE…   bytes of each program and whether it needs shared libraries
set -euo pipefail
for f in "$@"; do
  [[ -f $f && -x $f ]] || continue
  needed=$(readelf -d "$f" | grep -c NEEDED || true)
  printf '  %-44s %9d bytes, %s\n' "$f" "$(stat -c %s "$f")" "$([[ $needed == 0 ]] && echo 'no shared libraries' || echo "$needed shared libraries")"
done
