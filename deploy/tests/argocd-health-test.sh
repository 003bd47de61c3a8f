#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What deploy/gitops/argocd-health.lua makes of statuses that the operator writes (the goldens of its reports), and of a cluster that it has not seen.
set -euo pipefail
cd "$(dirname "$0")/../.."
lua=$(command -v lua5.4 || command -v lua) || { echo "argocd-health: skipped, there is no lua"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0 cases=0

# health KIND SPEC STATUS-FILE GENERATION: "STATUS MESSAGE"
health() {
  {
    printf 'local function look(obj)\n' && cat deploy/gitops/argocd-health.lua && printf '\nend\nlocal health = look('
    jq -rn --arg kind "$1" --argjson spec "$2" --slurpfile status "$3" --argjson generation "$4" 'def lua:
      if type == "object" then "{" + ([to_entries[] | "[" + (.key | tojson) + "]=" + (.value | lua)] | join(",")) + "}"
      elif type == "array" then "{" + (map(lua) | join(",")) + "}" elif . == null then "nil" else tojson end;
      {kind: $kind, metadata: {generation: $generation}, spec: $spec, status: $status[0]} | lua'
    printf ')\nprint(health.status .. " " .. health.message)\n'
  } > "$dir/case.lua"
  "$lua" "$dir/case.lua"
}
expect() { # WHAT WANTED GOT
  cases=$((cases + 1))
  [[ $3 == $2* ]] || { printf 'argocd-health: %s: expected %s, got %s\n' "$1" "$2" "$3"; failed=1; }
}

echo null > "$dir/none"
expect "a new cluster" "Progressing the operator has not said" "$(health MysqlCluster '{}' "$dir/none" 1)"
for file in operator/cluster/tests/data/decide/*.status.json; do
  read -r ready reconciling stalled <<< "$(jq -r '[.conditions[] | {key: .type, value: .status}] | from_entries | "\(.Ready) \(.Reconciling) \(.Stalled)"' "$file")"
  generation=$(jq .observedGeneration "$file")
  wanted=Degraded
  [[ $ready != True ]] || wanted=Healthy
  [[ $stalled != True ]] || wanted=Degraded
  [[ $reconciling != True ]] || wanted=Progressing
  expect "$file" "$wanted " "$(health MysqlCluster '{"replicas": 3}' "$file" "$generation")"
done
expect "another generation" "Progressing the operator has not seen" "$(health MysqlCluster '{}' "$file" 99)"
jq -n '{observedGeneration: 1, conditions: [{type: "Ready", status: "True", reason: "Hibernated", message: "x"}]}' > "$dir/asleep"
expect "a hibernated one" "Suspended " "$(health MysqlCluster '{"replicas": 0}' "$dir/asleep" 1)"
expect "a terminal" "Healthy Hibernated: x" "$(health MysqlTerminal '{}' "$dir/asleep" 1)"
((failed == 0)) && echo "argocd-health: $cases cases pass"
exit "$failed"
