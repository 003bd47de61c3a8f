#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check-rules.sh [FILE]   every metric that the alerts (deploy/samples/prometheus-rule.yaml) ask for is one that our code exports, with the labels that they use.
#
# A name counts as exported if it stands as a whole string in a source file of operator/, agent/ or common/ (tests aside). Labels are those of the same
# declaration (.labels = {...}); where it has none there, only the name is checked.
set -euo pipefail
cd "$(dirname "$0")/.."
file=${1:-deploy/samples/prometheus-rule.yaml}
failed=0

mapfile -t names < <(grep -o 'kubemysql_[a-z0-9_]*\|mysql_[a-z]*_[a-z0-9_]*' "$file" | sort -u)
if ((${#names[@]} < 5)); then
  echo "rules: $file names no metrics" >&2
  exit 1
fi
mapfile -t sources < <(find operator agent common -name '*.c' -not -path '*/tests/*' -not -path '*/fuzz/*')

for name in "${names[@]}"; do
  if ! grep -qF "\"$name\"" "${sources[@]}"; then
    echo "rules: $file asks for $name, which nothing exports"
    failed=1
    continue
  fi
  # Labels in braces behind the name, in the rules; and those of its declaration.
  used=$(grep -o "$name{[^}]*}" "$file" | grep -o '[a-z_]*=' | tr -d = | sort -u || true)
  declared=$(grep -hF -A6 "\"$name\"" "${sources[@]}" | grep -m1 -o 'labels = {[^}]*}' || true)
  for label in $used; do
    if [[ -n $declared && $declared != *"\"$label\""* ]]; then
      echo "rules: $file asks for label $label of $name, which has $declared"
      failed=1
    fi
  done
done
((failed)) || echo "rules: ${#names[@]} metrics are exported"
exit $failed
