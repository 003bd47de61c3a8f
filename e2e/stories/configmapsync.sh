# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval
# ConfigMapSync: copies come with both sides' consent, follow the source within a second, come back, and go; what is somebody else's stays.
# long
# alone
. e2e/stories/kinds.inc
other=$NS-o
# shellcheck disable=SC2317 # called by trap
finish_story() {
  without_kind configmapsync configmapsyncs
  k delete namespace "$other" --wait=false > /dev/null
}
trap finish_story EXIT
k create namespace "$other" > /dev/null
k label namespace "$other" kubemysql.dev/e2e=true > /dev/null
ko() { k -n "$other" "$@"; }
copy() { ko get configmap conf -o "jsonpath={$1}" --ignore-not-found; }
copy_is() { [[ $(copy "$1") == "$2" ]]; }
no_copy() { [[ -z $(ko get configmap conf --ignore-not-found -o name) ]]; }
reason_is() { [[ $(field cms shared '.status.conditions[?(@.type=="Ready")].reason') == "$1" ]]; }

say "without the component the operator has no rights for it"
account=system:serviceaccount:$OPERATOR_NS:kube-mysql-operator
[[ $(k auth can-i list namespaces --as="$account" 2> /dev/null) != yes ]] || fail "the operator may list namespaces"
with_kind configmapsync configmapsyncs
[[ $(k auth can-i list namespaces --as="$account" 2> /dev/null) == yes ]] || fail "the operator may not list namespaces"

say "refused until both sides consent"
kn create configmap conf --from-literal=a=1 --from-literal=b=2 > /dev/null
kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: ConfigMapSync
metadata: {name: shared}
spec: {sourceNamespace: $NS, configMapName: conf, destinationNamespace: $other}
YAML
wait_until 30 "refusal by the source" condition_says cms shared Ready "NotAllowed: .*ConfigMap $NS/conf does not name"
kn annotate configmap conf "kubemysql.dev/configmapsync-to=$other" > /dev/null
wait_until 30 "refusal by the destination" condition_says cms shared Ready "NotAllowed: .*namespace $other does not name"
no_copy || fail "there is a copy without consent"
k annotate namespace "$other" "kubemysql.dev/configmapsync-from=$NS" > /dev/null
kn wait cms/shared --for=condition=Ready --timeout=30s > /dev/null
copy_is .data.a 1
expect_eq "copies" "$(field cms shared .status.copies)" 1
expect_match "time" "$(field cms shared .status.lastSyncTime)" '^20'

say "an edit arrives within a second"
kn patch configmap conf --type=merge -p '{"data":{"a":"3","b":null,"c":"4"},"binaryData":{"d":"AAE="}}' > /dev/null
begin=$(date +%s%N)
until copy_is .data.c 4; do (($(date +%s%N) - begin < 5000000000)) || fail "the copy does not follow"; done
took=$((($(date +%s%N) - begin) / 1000000))
say "seen after $took ms"
((took < 1000)) || fail "the copy follows after $took ms"
expect_eq "what was taken away" "$(copy .data.b)" ""
expect_eq "bytes" "$(copy .binaryData.d)" AAE=

say "what is spoilt or deleted comes back"
ko patch configmap conf --type=merge -p '{"data":{"a":"mine","x":"more"}}' > /dev/null
wait_until 10 "its content" copy_is .data '{"a":"3","c":"4"}'
ko delete configmap conf > /dev/null
wait_until 10 "the copy" copy_is .data.a 3

say "a settled ConfigMapSync is not written to"
version=$(field cms shared .metadata.resourceVersion)/$(copy .metadata.resourceVersion)
sleep 5
expect_eq "versions" "$(field cms shared .metadata.resourceVersion)/$(copy .metadata.resourceVersion)" "$version"

say "the source goes: the copy stays, and follows again"
kn delete configmap conf > /dev/null
wait_until 30 "condition" reason_is SourceNotFound
copy_is .data.a 3
kn create configmap conf --from-literal=a=anew > /dev/null
kn annotate configmap conf "kubemysql.dev/configmapsync-to=*" > /dev/null
wait_until 10 "the new content" copy_is .data.a anew

say "consent is taken back"
k annotate namespace "$other" kubemysql.dev/configmapsync-from- > /dev/null
wait_until 10 "no copy" no_copy
wait_until 10 "condition" reason_is NotAllowed

say "somebody else's ConfigMap is left alone"
ko create configmap conf --from-literal=mine=1 > /dev/null
k annotate namespace "$other" "kubemysql.dev/configmapsync-from=*" > /dev/null
wait_until 30 "condition" reason_is ForeignObject
expect_eq "its content" "$(copy .data.mine)" 1
ko delete configmap conf > /dev/null
wait_until 40 "the copy" copy_is .data.a anew

say "by labels"
kn patch cms shared --type=merge -p "{\"spec\":{\"destinationNamespace\":null,\"namespaceSelector\":{\"matchLabels\":{\"sync\":\"$NS\"}}}}" > /dev/null
wait_until 10 "no copy" no_copy
k label namespace "$other" "sync=$NS" > /dev/null
wait_until 10 "the copy" copy_is .data.a anew

say "bad specs and system namespaces are refused by the API server"
for bad in '{"destinationNamespace":"kube-system"}' "{\"destinationNamespace\":\"$NS\"}" '{"namespaceSelector":null}' \
  '{"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"In"}]}}'; do
  if kn patch cms shared --type=merge -p "{\"spec\":$bad}" > /dev/null 2>&1; then fail "the API server takes $bad"; fi
done

say "deletion removes the copy"
kn delete cms shared --timeout=30s > /dev/null
no_copy || fail "the copy is still there"
exists configmap conf > /dev/null
