#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check that needs no helm notices when the chart says something else than the manifests: a changed manifest, template, value, CRD, component or version.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

mkdir "$dir/tree"
cp -a deploy crds "$dir/tree/"
cd "$dir/tree"
cp -a . "$dir/good"
deploy/helm/generate.sh --check || { echo "our own chart was refused"; failed=1; }

bad() { # bad EXPECTED FILE SED-EDIT
  local out
  sed -i -E "$3" "$2"
  ! cmp -s "$2" "$dir/good/$2" || { echo "this edit changes nothing: $3"; failed=1; }
  if out=$(deploy/helm/generate.sh --check); then
    echo "not noticed: $2: $3"
    failed=1
  elif [[ $out != *"$1"* ]]; then
    printf 'expected "%s" for %s, got:\n%s\n' "$1" "$3" "$out"
    failed=1
  fi
  cp "$dir/good/$2" "$2"
}
chart=deploy/helm/kube-mysql
bad 'cluster_role.yaml is not' deploy/operator/cluster_role.yaml 's/verbs: \[get\]/verbs: [get, list]/'
bad 'deployment.yaml is not' $chart/templates/deployment.yaml '/readOnlyRootFilesystem/d'
bad 'should say' deploy/operator/deployment.yaml 's/replicas: 2/replicas: 3/'
bad 'should say' deploy/operator/deployment.yaml 's/memory: 64Mi/memory: 65Mi/'
bad 'should say' $chart/values.yaml 's/^replicas: 2/replicas: 1/'
bad 'should say' $chart/values.yaml 's/repository: kube-mysql-agent/repository: agent/'
bad 'should say' deploy/operator/deployment.yaml 's/imagePullPolicy: IfNotPresent/imagePullPolicy: Always/'
bad 'has not exactly once' deploy/operator/deployment.yaml 's/serviceAccountName:/serviceAccount:/'
bad 'appVersion another' deploy/operator/deployment.yaml 's/(kube-mysql-agent:).*/\19.9.9/'
bad 'lists other files' crds/kustomization.yaml '/mysqlterminals/d'
bad 'not in the namespace' deploy/components/pod-monitor/pod_monitor.yaml 's/^  namespace: .*/  namespace: monitoring/'
bad 'has not the flag' deploy/components/configmapsync/kustomization.yaml 's/--enable=configmapsync/--enable=other/'
bad 'not bound in the namespace' deploy/components/configmapsync/cluster_role.yaml 's/^    namespace: .*/    namespace: other/'
touch $chart/templates/extra.yaml
[[ $(deploy/helm/generate.sh --check) == *"extra.yaml has no manifest"* ]] || { echo "not noticed: a template more"; failed=1; }
((failed)) || echo "chart: the tests of its generator pass"
exit $failed
