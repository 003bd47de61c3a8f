#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lint-shell.sh   shellcheck over every shell script of the project (by ending or by first line).
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t scripts < <(
  { git ls-files --cached --others --exclude-standard 2>/dev/null || find . -type f; } | sort -u | while read -r f; do
    [[ -f $f ]] || continue
    if [[ $f == *.sh ]] || head -c 64 "$f" | LC_ALL=C grep -aqE '^#!.*[/ ](ba)?sh'; then echo "$f"; fi
  done)
((${#scripts[@]} == 0)) || shellcheck --external-sources --source-path=SCRIPTDIR --severity=warning "${scripts[@]}"
echo "lint: ${#scripts[@]} shell scripts clean"
