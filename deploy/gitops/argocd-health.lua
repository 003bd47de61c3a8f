-- SPDX-License-Identifier: Apache-2.0
-- Argo CD's view of MysqlCluster, MysqlTerminal and MysqlBackup (docs/gitops.md), by the rules of kstatus: Reconciling, Stalled, then Ready.
-- Variables and the value to return are Argo CD's: https://argo-cd.readthedocs.io/en/stable/operator-manual/health/#custom-health-checks
local health = {status = "Progressing", message = "the operator has not said anything yet"}
local status = obj.status or {}
local told = {}
for _, condition in ipairs(status.conditions or {}) do
  told[condition.type] = condition
end
local function is_true(type)
  return told[type] ~= nil and told[type].status == "True"
end
local function say(word, type)
  health.status = word
  health.message = told[type].reason .. ": " .. (told[type].message or "")
end
if status.observedGeneration ~= nil and status.observedGeneration ~= obj.metadata.generation then
  health.message = "the operator has not seen this generation yet"
elseif obj.kind == "MysqlCluster" and obj.spec ~= nil and obj.spec.replicas == 0 and is_true("Ready") then
  health.status = "Suspended"
  health.message = "spec.replicas is 0; the data is kept"
elseif is_true("Reconciling") then
  say("Progressing", "Reconciling")
elseif is_true("Stalled") then
  say("Degraded", "Stalled")
elseif is_true("Ready") then
  say("Healthy", "Ready")
elseif told["Ready"] ~= nil then
  say("Degraded", "Ready")
end
return health
