#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install.sh [--plan] [--reset] [local]   install CRDs and operator into the cluster of KUBECONFIG, or bring an installation up to date.
#
# --plan: say what that would do, and change nothing: which images the operator and the members' agents have and would have, which clusters would have their
# members replaced, and which objects break a rule of the new CRDs (for that, CRDs of a group of their own are there for a moment: deploy/check-objects.sh).
# An operator that runs with flags which deploy/operator does not have is left as it is: an overlay or a component has set them, and that is what must be
# applied. --reset takes them away all the same.
# "local": with the images that `make images` builds (deploy/local). IMAGE_OPERATOR and IMAGE_AGENT: with these. Safe to repeat. A server that is
# older than deploy/minimum-kubernetes is left as it is. Objects that break a rule of the new CRDs are listed before these are applied. Waits until the
# operator serves, if the cluster has nodes at all (WAIT_SECONDS, 120).
set -euo pipefail
here=$(realpath "$0")
cd "$(dirname "$here")/.."
overlay=deploy/operator plan="" reset=""
for arg in "$@"; do
  case $arg in
    local) overlay=deploy/local ;;
    --plan) plan=1 ;;
    --reset) reset=1 ;;
    -h | --help) sed -n '3,/^set /{/^#/s/^# \{0,1\}//p}' "$here" && exit ;;
    *) echo "install: unknown argument $arg (--help lists what there is)" >&2 && exit 2 ;;
  esac
done
wait_seconds=${WAIT_SECONDS:-120}
namespace=kube-mysql-system

with_images() {
  sed -E ${IMAGE_OPERATOR:+-e "s|^( *(- )?image: ).*|\1$IMAGE_OPERATOR|"} ${IMAGE_AGENT:+-e "s|--agent-image=.*|--agent-image=$IMAGE_AGENT|"} -e ''
}

# Of a manifest or a live Deployment, as YAML: the image of the operator, and of the agent that it gives its clusters
operator_image() { sed -n 's/^ *\(- \)\{0,1\}image: *//p' | head -n 1; }
agent_image() { sed -n 's/^ *- --agent-image=//p' | head -n 1; }

# Flags of the operator but --agent-image, a line each.
flags() { sed -n 's/^ *- \(--[a-z].*\)/\1/p' | grep -v '^--agent-image=' | sort || :; }
# What else an overlay often sets, a line each: "replicas: 2", "priorityClassName: …", and all of resources.
settings() {
  awk '
    /^  replicas: / || /^ *priorityClassName: / { sub(/^ */, ""); print }
    /^ *resources:$/ { match($0, /[^ ]/); depth = RSTART; inside = 1; part = ""; next }
    inside { match($0, /[^ ]/)
      if (RSTART <= depth) inside = 0
      else { sub(/^ */, ""); gsub(/"/, ""); if (/:$/) part = substr($0, 1, length($0) - 1) "."; else print "resources." part $0 } }' | sort
}

# lost FLAGS-OR-SETTINGS LIVE MANIFEST: of the operator that runs, what the manifest does not say
lost() { comm -23 <("$1" <<< "$2") <("$1" <<< "$3"); }

# What is there. No answer is not the same as nothing.
ask() { kubectl "$@" --ignore-not-found || { echo "install: that was no answer; nothing was changed, so try it again" >&2 && return 1; }; }

# Without its status, which has replicas, too.
live_operator() { ask -n $namespace get deployment kube-mysql-operator -o yaml | sed '/^status:/,$d'; }

# change WHAT NOW WANTED
change() {
  if [[ -z $2 ]]; then
    echo "  $1: $3 (there is none)"
  elif [[ $2 == "$3" ]]; then
    echo "  $1: $3 (stays)"
  else
    echo "  $1: $2 -> $3"
  fi
}

# What becomes of the members of each cluster. The operator goes from one cluster to the next (--max-unavailable-clusters).
clusters() {
  local now=$1 wanted=$2 sets cluster ns set image members name paused own
  local columns='NS:.metadata.namespace,NAME:.metadata.name,IMAGE:.spec.template.spec.initContainers[?(@.name=="inject")].image,MEMBERS:.spec.replicas'
  sets=$(ask get statefulsets --all-namespaces -l app.kubernetes.io/managed-by=kube-mysql --no-headers -o custom-columns="$columns") || return 1
  [[ -z $sets ]] ||
    while read -r ns set image members; do
      name=${set%-mysql}
      cluster=$(ask -n "$ns" get mysqlclusters.kubemysql.dev "$name" -o 'jsonpath={.spec.paused}/{.status.configSpec.images.agent}' < /dev/null) || return 1
      IFS=/ read -r paused own <<< "$cluster"
      if [[ $paused == true ]]; then
        echo "  $ns/$name: stays as it is while spec.paused is true; it fails over, unless spec.failover.enabled is false"
      elif [[ $image == "$wanted" || $members == 0 ]]; then
        echo "  $ns/$name: stays as it is"
      elif [[ -n $own || $image != "$now" ]]; then
        echo "  $ns/$name: stays as it is, its configuration names the agent ${own:-$image}"
      else
        echo "  $ns/$name: its $members members are replaced, one after the other, the primary last"
      fi
    done <<< "$sets"
}

show_plan() {
  local live line
  live=$(live_operator) || return 1
  echo "install: the API server is Kubernetes $version, and this would be brought about:"
  change "operator" "$(operator_image <<< "$live")" "$(operator_image <<< "$manifest")"
  change "agent" "$(agent_image <<< "$live")" "$(agent_image <<< "$manifest")"
  while read -r line; do echo "  operator: $line is not in $overlay; install.sh stops there unless it has --reset: apply your overlay instead"; done < <(lost flags "$live" "$manifest")
  while read -r line; do echo "  operator: $line is set back"; done < <(lost settings "$live" "$manifest")
  clusters "$(agent_image <<< "$live")" "$(agent_image <<< "$manifest")"
}

command -v kubectl > /dev/null || { echo "install: kubectl is missing" >&2; exit 1; }

minimum=$(< deploy/minimum-kubernetes)
version=$(kubectl get --raw /version | sed -n 's/.*"gitVersion": *"v\([0-9]*\.[0-9]*\).*/\1/p')
[[ -n $version ]] || { echo "install: the API server does not say its version; nothing was changed" >&2; exit 1; }
if [[ $(printf '%s\n' "$minimum" "$version" | sort -V | head -n 1) != "$minimum" ]]; then
  echo "install: the API server is Kubernetes $version, kube-mysql needs $minimum or later; nothing was changed" >&2
  exit 1
fi

manifest=$(kubectl kustomize "$overlay" | with_images)
deploy/check-objects.sh
if [[ -n $plan ]]; then
  show_plan || exit 1
  exit 0
fi

live=$(live_operator)
lost=$(lost flags "$live" "$manifest")
if [[ -n $lost && -z $reset ]]; then
  echo "install: the operator runs with ${lost//$'\n'/ }, which an overlay or a component has set and $overlay does not; nothing was changed." >&2
  echo "install: apply that overlay with the new version (kubectl apply --server-side -k OVERLAY), or take the flags away with --reset" >&2
  exit 1
fi

apply=(kubectl apply --server-side --force-conflicts -f -)
kubectl kustomize crds | "${apply[@]}"
kubectl wait --for=condition=Established --timeout=60s \
  crd/mysqlconfigs.kubemysql.dev crd/mysqlclusters.kubemysql.dev crd/mysqlterminals.kubemysql.dev \
  crd/mysqlbackups.kubemysql.dev
# The namespace first: --server-side in one go does not wait for it.
"${apply[@]}" < deploy/operator/namespace.yaml
"${apply[@]}" <<< "$manifest"

if [[ -n $(kubectl get nodes -o name) ]]; then
  kubectl -n $namespace rollout status deployment/kube-mysql-operator --timeout="${wait_seconds}s"
else
  echo "install: the cluster has no nodes, so the operator is not waited for"
fi
