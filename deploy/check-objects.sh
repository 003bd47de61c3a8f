#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check-objects.sh   list the objects in the cluster of KUBECONFIG that the CRDs of crds/ would refuse. Nothing of ours is changed.
#
# The API server itself judges: the CRDs are installed for a moment under a group of their own, check.kubemysql.dev, and each object is offered to it as
# one of that group, without storing it (server-side dry run). Objects that are refused stay as they are and go on working under the new CRDs:
# Kubernetes lets pass what an update does not touch. Only an update of the part in question has to mend it.
# An object that is being deleted, or whose namespace is, is left out, which one line tells: no rule will meet it any
# more, and in such a namespace the API server takes no object, whatever its rules. An answer that does not come, or
# says nothing of an object, as that somebody may not make one, ends it with 1: what it could not ask is not told as
# wrong, nor as right.
set -euo pipefail
cd "$(dirname "$0")/.."
# kubectl remembers for six hours what it has found, and would take `mysqlclusters` for those of the other group.
KUBECACHEDIR=$(mktemp -d)
export KUBECACHEDIR
trap 'rm -rf "$KUBECACHEDIR"' EXIT
group=check.kubemysql.dev
kinds=(mysqlconfigs mysqlclusters mysqlterminals mysqlbackups)
errors=$KUBECACHEDIR/errors
ending=$KUBECACHEDIR/ending # "KIND NAMESPACE/NAME", a line each

give_up() { # give_up WHAT: with what kubectl said
  echo "install: $1: $(head -n 3 "$errors" | tr '\n' ' ')" >&2
  echo "install: nothing was changed; the objects are not checked, so try it again" >&2
  exit 1
}

places() { # places KIND: the namespaces that have such objects; "-" for those of the cluster
  if ! kubectl get "$1.kubemysql.dev" --all-namespaces --no-headers -o custom-columns=NS:.metadata.namespace > "$errors.places" 2> "$errors"; then
    grep -q "the server doesn't have a resource type" "$errors" # nothing was installed yet
    return
  fi
  sed 's/^<none>$/-/' "$errors.places" | sort -u
}

twins() { # the CRDs under the other group; no short names, so that nobody's kubectl means them
  kubectl kustomize crds | sed -E -e "s/^(  name: mysql[a-z]+)\.kubemysql\.dev$/\1.$group/" -e "s/^  group: kubemysql\.dev$/  group: $group/" \
    -e '/^    (shortNames|categories):$/d' -e '/^    - (my[a-z]*|kubemysql)$/d'
}

ready() { # whether the API server serves all of them
  local kind
  for kind in "${kinds[@]}"; do kubectl get --raw "/apis/$group/v1alpha1/$kind?limit=1" > /dev/null 2> "$errors" || return 1; done
}

# What kubectl says of one line. It says something of an object, whatever words that has; else it may be that it got no answer.
says_nothing() {
  ! grep -qE '^(The [A-Za-z]+ "|\* )' <<< "$1" &&
    grep -qE "[Tt]imeout|timed out|[Uu]nable to connect|connection (refused|reset)|deadline exceeded|EOF|\((ServiceUnavailable|InternalError|TooManyRequests|Unauthorized|Forbidden|NotFound)\)|no matches for kind" <<< "$1"
}

remaining() { # remaining KIND NAMESPACE: of a List as YAML what is not being deleted; the rest is noted
  local namespace=${2#-}
  awk -v "prefix=$1 ${namespace:+$namespace/}" -v "ending=$ending" '
    function end_item() {
      if (is_ending) print prefix name >> ending
      else printf "%s", item
      item = name = is_ending = ""
    }
    /^(- |[a-z])/ { end_item() }
    { item = item $0 "\n" }
    /^    name: / && !name { name = $2 }
    /^    deletionTimestamp: / { is_ending = 1 }
    END { end_item() }'
}

# Of what the API server says against creating objects: that their namespace is being deleted. It is noted, and the
# rest is printed.
without_ending_namespaces() { # without_ending_namespaces KIND
  local line words='"([^"]*)" is forbidden: .* in namespace ([^ ]*) because it is being terminated'
  while read -r line; do
    if [[ $line =~ $words ]]; then echo "$1 ${BASH_REMATCH[2]}/${BASH_REMATCH[1]}" >> "$ending"; else echo "$line"; fi
  done
}

offer() { # offer KIND NAMESPACE: what the API server says against these objects; "-": those of the cluster
  local objects line scope=(-n "$2")
  [[ $2 != - ]] || scope=()
  objects=$(kubectl get "$1.kubemysql.dev" "${scope[@]}" -o yaml 2> "$errors") || return 1
  objects=$(remaining "$1" "$2" <<< "$objects")
  [[ $objects == *$'\n- '* ]] || return 0
  sed -E -e "s|^(  )?(- )?apiVersion: kubemysql\.dev/|\1\2apiVersion: $group/|" -e '/^    (resourceVersion|uid|selfLink|generation):/d' <<< "$objects" |
    kubectl create --dry-run=server -f - 2>&1 > /dev/null | without_ending_namespaces "$1" > "$errors.said" || :
  while read -r line; do
    ! says_nothing "$line" || { echo "$line" > "$errors" && return 1; }
  done < "$errors.said"
  cat "$errors.said"
}

declare -A found
for kind in "${kinds[@]}"; do
  found[$kind]=$(places "$kind") || give_up "the $kind that there are could not be listed"
done
[[ -n ${found[*]// /} ]] || exit 0

trap 'twins | kubectl delete --wait=false --ignore-not-found -f - > /dev/null; rm -rf "$KUBECACHEDIR"' EXIT
twins | kubectl apply --server-side --force-conflicts -f - > /dev/null
for ((tries = 0; tries < 150; tries++)); do
  ! ready || break
  sleep 0.2
done
ready || give_up "the API server does not serve the CRDs that judge"

refused=""
for kind in "${kinds[@]}"; do
  for place in ${found[$kind]}; do
    said=$(offer "$kind" "$place") || give_up "the $kind of ${place/#-/the cluster} could not be checked"
    while read -r line; do
      [[ -z $line ]] || refused+="  ${place/#-/cluster}: $line"$'\n'
    done <<< "$said"
  done
done
[[ -z $refused ]] || printf 'install: these objects break a rule of the new CRDs. They go on working, but a change of what is wrong has to mend it:\n%s' "$refused"
[[ ! -s $ending ]] || {
  left=$(paste -s -d , "$ending")
  echo "install: not checked, as they are being deleted or their namespace is: ${left//,/, }"
}
