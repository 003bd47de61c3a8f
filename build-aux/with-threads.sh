#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# with-threads.sh EXECUTABLE…   those that have common/worker.h in them, which alone begins threads; fails if none has.
set -euo pipefail
found=0
for each in "$@"; do
  if nm "$each" | grep -q ' worker_new$'; then
    echo "$each"
    found=1
  fi
done
((found)) || { echo "with-threads.sh: no executable begins threads: is that so?" >&2; exit 1; }
