#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# chart-test.sh   what helm makes of the chart: by default and with all components the same objects as kustomize; each value does what it says; bad values and old
# servers are refused.
#
# Helm is the one in PATH, or is built once as a Go module with the `go` in PATH (some minutes, kept in ~/.cache/kube-mysql). Without either, and without kubectl,
# the test is skipped, and says so. Nothing is sent to a server. Time with helm built: about 10 s.
set -euo pipefail
cd "$(dirname "$0")/../.."
helm_version=3.19.5
chart=deploy/helm/kube-mysql
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export KUBECONFIG=/dev/null HELM_CACHE_HOME=$dir/cache HELM_CONFIG_HOME=$dir/config HELM_DATA_HOME=$dir/data
failed=0 cases=0

skip() {
  echo "chart: SKIPPED: $*"
  [[ -z ${RESULTS:-} ]] || echo "chart 0 0 1" >> "$RESULTS"
  exit 0
}

find_helm() {
  local folder=${XDG_CACHE_HOME:-$HOME/.cache}/kube-mysql/helm-$helm_version
  if [[ $(command -v helm) && $(helm version --template '{{.Version}}') == v3.* ]]; then
    helm=helm
    return
  fi
  helm=$folder/helm
  [[ ! -x $helm ]] || return 0
  command -v go > /dev/null || skip "there is neither helm nor go"
  echo "chart: building helm $helm_version (some minutes, once)"
  mkdir -p "$folder"
  GOBIN=$dir/bin GOFLAGS=-mod=mod go install -trimpath -ldflags=-s "helm.sh/helm/v3/cmd/helm@v$helm_version" > "$dir/build" 2>&1 ||
    { tail -20 "$dir/build"; skip "helm does not build here"; }
  mv "$dir/bin/helm" "$helm"
}
command -v kubectl > /dev/null || skip "there is no kubectl"
find_helm

render() { # render [FLAG…]: the chart's objects
  "$helm" template kube-mysql "$chart" --namespace kube-mysql-system --kube-version 1.34.0 "$@" 2> "$dir/err" || { cat "$dir/err" >&2; return 1; }
}
# objects: YAML on standard input as one sorted list of JSON objects, one in a line
objects() { kubectl patch --local -f - --type=merge -p '{}' -o json | jq -cS 'if .kind == "List" then .items[] else . end' | sort; }

failure() {
  echo "chart: $*"
  failed=$((failed + 1))
}
same() { # same WHAT FILE FILE
  cases=$((cases + 1))
  diff "$2" "$3" > "$dir/diff" || { failure "$1: kustomize (<) and helm (>) differ:"; cut -c1-600 "$dir/diff"; }
}
holds() { # holds WHAT JQ-CONDITION FLAG…: true of the array of all objects
  local what=$1 condition=$2
  shift 2
  cases=$((cases + 1))
  render "$@" | objects | jq -es "$condition" > /dev/null || failure "$what does not hold with $*"
}
refused() { # refused TEXT FLAG…
  local text=$1 out
  shift
  cases=$((cases + 1))
  if out=$("$helm" template kube-mysql $chart "$@" 2>&1 > /dev/null); then
    failure "accepted: $*"
  elif [[ $out != *"$text"* ]]; then
    failure "expected \"$text\" for $*, got: $out"
  fi
}

lint=$("$helm" lint --strict $chart 2>&1) || failure "lint: $lint"
cases=$((cases + 1))

# The only thing that helm adds: it keeps CRDs.
without_policy() { jq -cS 'if .kind == "CustomResourceDefinition" then del(.metadata.annotations["helm.sh/resource-policy"]) |
  if .metadata.annotations == {} then del(.metadata.annotations) else . end else . end' | sort; }
kubectl kustomize deploy | objects > "$dir/kustomize"
render --set namespace.create=true | objects | without_policy > "$dir/helm"
same "the default" "$dir/kustomize" "$dir/helm"
(($(wc -l < "$dir/helm") > 10)) || failure "there are only $(wc -l < "$dir/helm") objects"

top=$(realpath --relative-to="$dir" deploy)
{ printf 'resources: [%s]\ncomponents:\n' "$top"; (cd deploy && printf -- "- $top/%s\n" components/{metrics-service,pod-monitor,prometheus-rule,dashboards,app,configmapsync}); } \
  > "$dir/kustomization.yaml"
all=(--set "components.metricsService=true,components.podMonitor=true,components.prometheusRule=true,components.dashboards=true,components.app=true,components.configMapSync=true")
kubectl kustomize "$dir" | objects > "$dir/kustomize-all"
render --set namespace.create=true "${all[@]}" | objects | without_policy > "$dir/helm-all"
same "all components" "$dir/kustomize-all" "$dir/helm-all"
(($(wc -l < "$dir/helm-all") == $(wc -l < "$dir/helm") + 17)) || failure "all components are $(wc -l < "$dir/helm-all") objects"

REGISTRY=r.example deploy/helm/package.sh "$dir/chart.tgz"
chart_folder=$chart chart=$dir/chart.tgz
render --set namespace.create=true "${all[@]}" --set images.operator.repository=kube-mysql-operator,images.agent.repository=kube-mysql-agent |
  objects | without_policy > "$dir/helm-packed"
same "the packed chart" "$dir/kustomize-all" "$dir/helm-packed"
[[ $(render | grep -c 'r\.example/kube-mysql-') == 2 ]] || failure "the packed chart does not name its registry"
chart=$chart_folder

deployment='(map(select(.kind == "Deployment")) | first) as $d | $d.spec.template.spec as $pod | $pod.containers[0] as $c |'
crds='map(select(.kind == "CustomResourceDefinition"))'
holds "each CRD is kept" "$crds"' | length > 3 and all(.metadata.annotations["helm.sh/resource-policy"] == "keep")'
holds "no CRDs" "$crds | length == 0" --set crds.enabled=false
holds "no Namespace" 'map(select(.kind == "Namespace")) | length == 0'
holds "another namespace everywhere" '(tostring | contains("kube-mysql-system") | not) and all(.metadata.namespace == null or .metadata.namespace == "data")' \
  --namespace data "${all[@]}" --set crds.enabled=false
holds "images by tag and registry" "$deployment"' $c.image == "r.example/o:1.2.3" and ($c.args | index("--agent-image=r.example/a:2.0.0"))' \
  --set images.operator.repository=r.example/o,images.operator.tag=1.2.3,images.agent.repository=r.example/a,images.agent.tag=2.0.0
digest=sha256:$(printf x | sha256sum | cut -c1-64)
holds "images by digest" "$deployment"' $c.image == "kube-mysql-operator@'"$digest"'" and ($c.args | index("--agent-image=kube-mysql-agent@'"$digest"'"))' \
  --set images.operator.digest="$digest",images.agent.digest="$digest",images.agent.tag=2.0.0
holds "pull policy and secrets" "$deployment"' $c.imagePullPolicy == "Always" and $pod.imagePullSecrets == [{name: "registry"}]' \
  --set 'imagePullPolicy=Always,imagePullSecrets[0].name=registry'
holds "replicas" "$deployment"' $d.spec.replicas == 3' --set replicas=3
holds "no replicas" "$deployment"' $d.spec.replicas == 0' --set replicas=0
holds "resources" "$deployment"' $c.resources == {requests: {cpu: "1", memory: "16Mi"}, limits: {memory: "1Gi"}}' \
  --set-string resources.requests.cpu=1 --set resources.limits.memory=1Gi
holds "watched namespaces" "$deployment"' $c.args | index("--watch-namespaces=a,b")' --set 'watchNamespaces={a,b}'
holds "a kind is off unless it is wanted" "$deployment"' ($c.args | length == 1) and all(.metadata.name | test("configmapsync|-app") | not)'
holds "ConfigMapSync without its CRD" "$deployment"' $c.args[1:] == ["--enable=configmapsync", "--configmapsync-without-consent"] and
  any(.kind == "ClusterRole" and .metadata.name == "kube-mysql-operator-configmapsync") and all(.kind != "CustomResourceDefinition")' \
  --set components.configMapSync=true,configMapSync.withoutConsent=true,crds.enabled=false
holds "further flags" "$deployment"' $c.args[1:] == ["--log-level=debug", "--qps=10"]' --set 'extraArgs={--log-level=debug,--qps=10}'
holds "priority class, nodes" "$deployment"' $pod.priorityClassName == "high" and $pod.nodeSelector == {zone: "a"} and $pod.tolerations == [{operator: "Exists"}]' \
  --set 'priorityClassName=high,nodeSelector.zone=a,tolerations[0].operator=Exists'
holds "restricted pods" "$deployment"' $pod.securityContext.runAsNonRoot and $c.securityContext.readOnlyRootFilesystem'

refused 'kubeVersion: >=1.30.0-0' --kube-version 1.29.14
"$helm" template kube-mysql $chart --kube-version 1.30.0-eks-1 > /dev/null 2>&1 || failure "1.30.0 is refused"
refused replica --set replica=3
refused replicas --set replicas=many
refused watchNamespaces --set watchNamespaces=a
refused prometheusRules --set components.prometheusRules=true
refused digest --set images.agent.digest=latest
refused extraArgs --set 'extraArgs={log-level}'
refused imagePullPolicy --set imagePullPolicy=Sometimes

[[ -z ${RESULTS:-} ]] || echo "chart $((cases - failed)) $failed 0" >> "$RESULTS"
echo "chart: $((cases - failed)) of $cases cases hold, with helm $("$helm" version --template '{{.Version}}')"
((failed == 0))
