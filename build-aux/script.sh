#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# script.sh SCRIPT [ARG…]   run a script of the project; say clearly when it is not there (exit code 77: skipped)
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ ! -x $1 ]]; then
  echo "$1: not there yet, SKIPPED" >&2
  exit 77
fi
exec "$@"
