# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# App: the sample, with an image of our own, answers HTTP through its Service; it is kept equal to the spec; what is somebody else's stays; all goes with it.
# long
# alone
# privileged: the sample's web server listens on port 80, as root, as nginx does
. e2e/stories/kinds.inc
trap 'without_kind app apps' EXIT

# registry.local/web:1: busybox's httpd, which says the variable GREETING.
web_image() {
  local root=$E2E_WORK/$NS.web
  mkdir -p "$root/tree/bin" "$root/tree/www/cgi-bin" "$root/tree/tmp"
  (cd "$root" && apt-get -qq download busybox-static 2> /dev/null && dpkg-deb -x busybox-static_*.deb unpacked)
  cp "$root/unpacked/bin/busybox" "$root/tree/bin/busybox"
  printf '#!/bin/busybox sh\nprintf "Content-Type: text/plain\\r\\n\\r\\n%%s\\n" "$GREETING"\n' > "$root/tree/www/cgi-bin/hello"
  chmod 755 "$root/tree/www/cgi-bin/hello"
  tar -C "$root/tree" --mtime=@0 --owner=0 --group=0 --numeric-owner -cf "$root/layer.tar" .
  e2e/cluster/mkimage.sh "$root/layer.tar" registry.local/web:1 "$root/web.oci.tar" \
    '{"Entrypoint":["/bin/busybox","httpd","-f","-p","80","-h","/www"],"Env":["PATH=/bin"]}' > /dev/null
  e2e/cluster/load-image.sh "$root/web.oci.tar" > /dev/null
}
web_image || skip "no image of a web server (busybox-static) could be made"

say "without the component the operator has no rights for it"
account=system:serviceaccount:$OPERATOR_NS:kube-mysql-operator
if [[ $(k auth can-i create deployments.apps --as="$account" -A 2> /dev/null) == yes ]]; then fail "the operator may create Deployments"; fi
with_kind app apps
web=app.kubemysql.dev

say "the sample is ready, and answers through its Service"
sed 's|^  image: .*|  image: registry.local/web:1|' deploy/samples/app.yaml | kn apply -f - > /dev/null
kn wait "$web/web" --for=condition=Ready --timeout=55s > /dev/null
expect_eq "available" "$(field $web web .status.availableReplicas)" 2
expect_eq "the Deployment's condition" "$(condition $web web Available)" True
kn run client --image=registry.local/mariadb:10.11 --restart=Never --command -- sleep 600 > /dev/null
kn wait pod/client --for=condition=Ready --timeout=55s > /dev/null
answer() { kn exec client -- curl -sS --max-time 5 "http://web.$NS.svc:8080/cgi-bin/hello"; }
answers() { [[ $(answer) == "$1" ]]; }
wait_until 30 "an answer" answers hello

say "settled: nothing is written"
versions() { echo "$(field $web web .metadata.resourceVersion) $(field deployment web .metadata.resourceVersion) $(field service web .metadata.resourceVersion)"; }
before=$(versions)
sleep 5
expect_eq "versions" "$(versions)" "$before"

say "an image that does not exist is named, with the pod"
kn patch "$web" web --type=merge -p '{"spec":{"image":"registry.local/no-such:1"}}' > /dev/null
says_image() { [[ $(kn get "$web" web -o jsonpath='{.status.conditions[?(@.type=="Ready")].message}') == *"pods are available; web-"*ImagePull*no-such* ]]; }
wait_until 60 "the pod's reason" says_image
kn patch "$web" web --type=merge -p '{"spec":{"image":"registry.local/web:1"}}' > /dev/null
kn rollout status deployment/web --timeout=55s > /dev/null
wait_until 60 "ready" condition_is $web web Ready True

say "what is changed by hand goes back"
address=$(field service web .spec.clusterIP)
kn scale deployment web --replicas=5 > /dev/null
kn set env deployment/web MORE=x > /dev/null
kn patch service web --type=merge -p '{"spec":{"type":"NodePort","selector":{"x":"y"}}}' > /dev/null
wait_until 20 "replicas" field_is deployment web .spec.replicas 2
wait_until 20 "variables" field_is deployment web '.spec.template.spec.containers[0].env[*].name' GREETING
wait_until 20 "type" field_is service web .spec.type ClusterIP
wait_until 20 "selector" field_is service web .spec.selector '{"kubemysql.dev/app":"web"}'
expect_eq "clusterIP" "$(field service web .spec.clusterIP)" "$address"
kn delete service web > /dev/null
wait_until 20 "the Service" exists service web
wait_until 60 "ready" condition_is $web web Ready True
wait_until 30 "an answer" answers hello

say "a restart by kubectl is not undone"
kn rollout restart deployment/web > /dev/null
kn rollout status deployment/web --timeout=55s > /dev/null
[[ -n $(field deployment web '.spec.template.metadata.annotations') ]] || fail "the annotation is gone"

say "the spec is followed"
kn patch $web web --type=merge -p '{"spec":{"envs":[{"name":"GREETING","value":"again"}],"replicas":1}}' > /dev/null
wait_until 60 "an answer" answers again
kn wait "$web/web" --for=condition=Ready --timeout=55s > /dev/null
kn scale $web/web --replicas=2 > /dev/null
wait_until 60 "two pods" field_is $web web .status.availableReplicas 2

say "an image that is not there: in progress, with the Deployment's numbers"
kn patch $web web --type=merge -p '{"spec":{"image":"registry.local/nothing:1"}}' > /dev/null
wait_until 30 "not ready" condition_is $web web Ready False
wait_until 30 "answers go on" answers again

say "somebody else's Service is left alone"
kn create service clusterip taken --tcp=80:80 > /dev/null
kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: App
metadata: {name: taken}
spec: {image: "registry.local/web:1", ports: [{port: 8080, targetPort: 80}]}
YAML
wait_until 30 "condition" condition_says $web taken Ready 'ForeignObject: Service taken'
expect_eq "its port" "$(field service taken '.spec.ports[0].port')" 80

say "bad specs are refused by the API server"
for bad in '{"replicas":-1}' '{"ports":[{"port":0}]}' '{"ports":[{"port":1},{"port":2}]}' '{"envs":[{"name":"a=b"}]}'; do
  if kn patch $web web --type=merge -p "{\"spec\":$bad}" > /dev/null 2>&1; then fail "the API server takes $bad"; fi
done

say "a namespace that enforces restricted: refused pods are told, and a security context lets them in"
k label namespace "$NS" pod-security.kubernetes.io/enforce=restricted > /dev/null
kn apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: App
metadata: {name: strict}
spec: {image: "registry.local/web:1"}
YAML
wait_until 20 "condition" condition_says $web strict Stalled 'violates PodSecurity'
expect_eq "Ready" "$(condition $web strict Ready)" False
kn patch $web strict --type=merge -p '{"spec":{"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]},"runAsNonRoot":true,"runAsUser":1000,"seccompProfile":{"type":"RuntimeDefault"}}}}' > /dev/null
kn wait $web/strict --for=condition=Ready --timeout=55s > /dev/null
expect_eq "Stalled" "$(condition $web strict Stalled)" False

say "all goes with it"
kn delete $web web taken strict --timeout=30s > /dev/null
wait_until 60 "the Deployment is gone" gone deployment web
wait_until 30 "the Service is gone" gone service web
exists service taken > /dev/null
