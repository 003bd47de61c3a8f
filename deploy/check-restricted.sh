#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check-restricted.sh FILE.json…   hold pod specs against the Pod Security Standard "restricted".
#
# Reads Kubernetes objects as JSON ("-": standard input; kubectl get -o json, golden files): Pods, anything with spec.template
# (StatefulSets, Deployments, Jobs), Lists, arrays. Prints one line for each violation; fails if there is any, or if there was no pod spec at all.
# For API servers before 1.25, which have no Pod Security admission, and for tests without any server.
# https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
set -euo pipefail
(($#)) || { echo "usage: $0 FILE.json..." >&2; exit 2; }

# shellcheck disable=SC2016 # jq's own variables
program='
def pods: # every pod spec as {name, spec}
  if type == "array" then .[] | pods
  elif .kind == "List" or (.items | type) == "array" then .items[] | pods
  elif .spec.template.spec.containers then {name: "\(.kind // "?") \(.metadata.name // "?")", spec: .spec.template.spec}
  elif .spec.jobTemplate then .spec.jobTemplate | pods
  elif .spec.containers then {name: "\(.kind // "?") \(.metadata.name // "?")", spec: .spec}
  else empty end;
def containers: (.containers // []) + (.initContainers // []) + (.ephemeralContainers // []);
def need($ok; $message): if $ok then empty else $message end;

def pod_violations:
  need(.hostNetwork != true; "hostNetwork"),
  need(.hostPID != true; "hostPID"),
  need(.hostIPC != true; "hostIPC"),
  need((.securityContext.sysctls // []) | length == 0; "securityContext.sysctls"),
  need(.securityContext.windowsOptions.hostProcess != true; "hostProcess"),
  ((.volumes // [])[] | (keys - ["name", "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"])[]
    as $type | "volume of type \($type)");

def container_violations($pod):
  (.securityContext // {}) as $own | ($pod.securityContext // {}) as $shared
  | def setting($key): if $own | has($key) then $own[$key] else $shared[$key] end;
  need($own.privileged != true; "privileged"),
  need($own.allowPrivilegeEscalation == false; "allowPrivilegeEscalation must be false"),
  need(setting("runAsNonRoot") == true; "runAsNonRoot must be true"),
  need(setting("runAsUser") != 0; "runAsUser must not be 0"),
  need(setting("seccompProfile").type | IN("RuntimeDefault", "Localhost"); "seccompProfile must be RuntimeDefault or Localhost"),
  need($own.capabilities.drop // [] | index("ALL"); "capabilities must drop ALL"),
  need((($own.capabilities.add // []) - ["NET_BIND_SERVICE"]) | length == 0; "capabilities.add"),
  need(($own.procMount // "Default") == "Default"; "procMount"),
  need([.ports[]?.hostPort // 0] | all(. == 0); "hostPort"),
  need($own.windowsOptions.hostProcess != true; "hostProcess"),
  # Beyond the standard, a rule of this project:
  need($own.readOnlyRootFilesystem == true; "readOnlyRootFilesystem must be true");

[.[] | pods] as $pods
| if ($pods | length) == 0 then "no pod spec found" else empty end,
  ($pods[] | .name as $name | .spec as $pod
   | ($pod | pod_violations | "\($name): \(.)"),
     ($pod | containers[] | .name as $container | container_violations($pod) | "\($name): container \($container): \(.)"))
'
violations=$(cat -- "$@" | jq -rs "$program")
[[ -z $violations ]] || { echo "$violations"; exit 1; }
