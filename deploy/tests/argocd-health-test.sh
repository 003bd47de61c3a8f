#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What deploy/gitops/argocd-health.lua makes of statuses that the operator writes (the goldens of its reports), and of a cluster that it has not seen.
set -euo pipefail
cd "$(dirname "$0")/../.."
lua=$(command -v lua5.4 || command -v lua) || { echo "argocd-health: skipped, there is no lua"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# One line of Lua for each case: what it is, what the answer begins with, and the object.
# shellcheck disable=SC2016 # a jq program
cases='
  def lua:
    if type == "object" then "{" + ([to_entries[] | "[" + (.key | tojson) + "]=" + (.value | lua)] | join(",")) + "}"
    elif type == "array" then "{" + (map(lua) | join(",")) + "}" elif . == null then "nil" else tojson end;
  def case($what; $wanted; $kind; $spec; $status; $generation):
    "{" + ($what | tojson) + "," + ($wanted | tojson) + "," +
      ({kind: $kind, metadata: {generation: $generation}, spec: $spec, status: $status} | lua) + "},";
  def condition($type): any(.conditions[]; .type == $type and .status == "True");
  {observedGeneration: 1, conditions: [{type: "Ready", status: "True", reason: "Hibernated", message: "x"}]} as $asleep
  | case("a new cluster"; "Progressing the operator has not said"; "MysqlCluster"; {}; null; 1),
    case("a hibernated one"; "Suspended "; "MysqlCluster"; {replicas: 0}; $asleep; 1),
    case("a terminal"; "Healthy Hibernated: x"; "MysqlTerminal"; {}; $asleep; 1),
    case("another generation"; "Progressing the operator has not seen"; "MysqlCluster"; {}; $asleep; 99),
    (inputs | case(input_filename;
      if condition("Reconciling") then "Progressing " elif condition("Stalled") then "Degraded "
      elif condition("Ready") then "Healthy " else "Degraded " end;
      "MysqlCluster"; {replicas: 3}; .; .observedGeneration))'
{
  printf 'local function look(obj)\n'
  cat deploy/gitops/argocd-health.lua
  printf '\nend\nlocal cases = {\n'
  jq -rn "$cases" operator/cluster/tests/data/decide/*.status.json
  cat << 'LUA'
}
local failed = 0
for _, case in ipairs(cases) do
  local health = look(case[3])
  local got = health.status .. " " .. health.message
  if got:sub(1, #case[2]) ~= case[2] then
    print("argocd-health: " .. case[1] .. ": expected " .. case[2] .. ", got " .. got)
    failed = failed + 1
  end
end
if failed > 0 then os.exit(1) end
print("argocd-health: " .. #cases .. " cases pass")
LUA
} > "$dir/cases.lua"
"$lua" "$dir/cases.lua"
