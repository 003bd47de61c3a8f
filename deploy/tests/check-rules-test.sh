#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checker of alerts accepts ours, and notices a metric and a label that do not exist, and rules without any metric.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

deploy/check-rules.sh || { echo "our own rules were refused"; failed=1; }

bad() { # bad EXPECTED SED-EDIT
  local out
  sed "$2" deploy/samples/prometheus-rule.yaml > "$dir/rules.yaml"
  if out=$(deploy/check-rules.sh "$dir/rules.yaml" 2>&1); then
    echo "not noticed: $2"
    failed=1
  elif [[ $out != *"$1"* ]]; then
    printf 'expected "%s" for %s, got:\n%s\n' "$1" "$2" "$out"
    failed=1
  fi
}

bad 'kubemysql_leaders, which nothing exports' 's/kubemysql_leader /kubemysql_leaders /'
bad 'kubemysql_cluster_last_backup, which nothing' 's/kubemysql_cluster_last_backup_timestamp_seconds/kubemysql_cluster_last_backup/'
bad 'label kind of kubemysql_cluster_condition' 's/condition{type=/condition{kind=/'
bad 'names no metrics' 's/kubemysql_/other_/g'
exit $failed
