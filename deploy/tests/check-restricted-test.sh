#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The checker accepts a good pod and names every single way of breaking one.
set -euo pipefail
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

cat > "$dir/good.json" << 'JSON'
{"kind": "Pod", "metadata": {"name": "p"}, "spec": {
  "securityContext": {"runAsNonRoot": true, "runAsUser": 999, "seccompProfile": {"type": "RuntimeDefault"}},
  "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "persistentVolumeClaim": {"claimName": "c"}}],
  "initContainers": [{"name": "i", "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}}],
  "containers": [{"name": "c", "ports": [{"containerPort": 1}],
    "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}}}]}}
JSON

./check-restricted.sh "$dir/good.json" || { echo "the good pod was refused"; failed=1; }
jq '{kind: "List", items: [{kind: "StatefulSet", metadata, spec: {template: {spec: .spec}}}]}' "$dir/good.json" > "$dir/list.json"
./check-restricted.sh "$dir/list.json" || { echo "the good StatefulSet was refused"; failed=1; }

bad() { # bad EXPECTED JQ-EDIT
  local out
  jq "$2" "$dir/good.json" > "$dir/bad.json"
  if out=$(./check-restricted.sh "$dir/bad.json"); then
    echo "not noticed: $2"
    failed=1
  elif [[ $out != *"$1"* || $(wc -l <<< "$out") != 1 ]]; then
    printf 'expected one line with "%s" for %s, got:\n%s\n' "$1" "$2" "$out"
    failed=1
  fi
}
bad hostNetwork '.spec.hostNetwork = true'
bad hostPID '.spec.hostPID = true'
bad hostIPC '.spec.hostIPC = true'
bad sysctls '.spec.securityContext.sysctls = [{name: "a", value: "b"}]'
bad 'volume of type hostPath' '.spec.volumes[0] = {name: "a", hostPath: {path: "/"}}'
bad 'c: privileged' '.spec.containers[0].securityContext.privileged = true'
bad 'i: allowPrivilegeEscalation' 'del(.spec.initContainers[0].securityContext.allowPrivilegeEscalation)'
bad 'c: allowPrivilegeEscalation' '.spec.containers[0].securityContext.allowPrivilegeEscalation = true'
bad 'c: runAsNonRoot' '.spec.containers[0].securityContext.runAsNonRoot = false'
bad 'i: runAsUser' '.spec.initContainers[0].securityContext.runAsUser = 0'
bad 'c: seccompProfile' '.spec.containers[0].securityContext.seccompProfile = {type: "Unconfined"}'
bad 'c: capabilities must drop' '.spec.containers[0].securityContext.capabilities = {drop: ["NET_RAW"]}'
bad 'c: capabilities.add' '.spec.containers[0].securityContext.capabilities.add = ["SYS_ADMIN"]'
bad 'c: procMount' '.spec.containers[0].securityContext.procMount = "Unmasked"'
bad 'c: hostPort' '.spec.containers[0].ports[0].hostPort = 80'
bad 'c: readOnlyRootFilesystem' 'del(.spec.containers[0].securityContext.readOnlyRootFilesystem)'
bad 'no pod spec' '{kind: "ConfigMap"}'
bad 'e: capabilities must drop' '.spec.ephemeralContainers = [.spec.containers[0] | .name = "e" | del(.securityContext.capabilities)]'
jq 'del(.spec.securityContext)' "$dir/good.json" > "$dir/bad.json"
[[ $(./check-restricted.sh "$dir/bad.json" | wc -l) == 4 ]] || { echo "a pod without securityContext must have four violations"; failed=1; }

# The operator's own pod. kubectl only turns YAML into JSON here, without any server.
if command -v kubectl > /dev/null; then
  KUBECONFIG=/dev/null kubectl patch --local -f operator/deployment.yaml -p '{}' -o json | ./check-restricted.sh - ||
    { echo "the operator's Deployment does not fit"; failed=1; }
else
  echo "check-restricted: no kubectl, so the operator's Deployment is not checked"
fi

((failed == 0)) && echo "check-restricted: its tests pass"
exit $failed
