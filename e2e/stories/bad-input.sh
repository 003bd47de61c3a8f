# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# Bad input: a clear message with the field's path, from the API server or from the condition Accepted.
# refused FIELD SPEC…: the API server refuses it, or the condition names the field
# core
n=0
refused() {
  n=$((n + 1))
  local name=bad-$n err=$E2E_WORK/$NS.$n.err
  if cluster "$name" mariadb "$2" 2> "$err"; then
    wait_until 30 "$1 is named in the condition" condition_says myc "$name" Accepted "$1"
    condition_is myc "$name" Accepted False || fail "Accepted is not False for $1"
    expect_eq "StatefulSet of $name" "$(kn get sts "$name-mysql" --ignore-not-found -o name)" ""
  else
    grep -qE -- "$1" "$err" || { cat "$err"; fail "the API server's message does not name $1"; }
  fi
  say "refused: $1"
}
storage='  storage: {resources: {requests: {storage: 1Gi}}}'
refused 'spec.replicas' "  replicas: -1
$storage"
refused 'spec.replicas' "  replicas: 4711
$storage"
refused 'spec.storage' '  replicas: 1
  storage: {volumeSource: {emptyDir: {}}, resources: {requests: {storage: 1Gi}}}'
refused 'spec.storage' '  replicas: 1
  storage: {resources: {requests: {storage: banana}}}'
refused 'spec.storage.resources.limits' '  replicas: 1
  storage: {resources: {requests: {storage: 1Gi}, limits: {storage: 2Gi}}}'
refused 'spec.mycnf.datadir' "  mycnf: {datadir: /tmp}
$storage"
refused 'spec.mycnf' "  mycnf: {\"max_connections\\n[client]\": 1}
$storage"
refused 'spec.database|spec.username|spec: .*username needs database' "  username: alone
$storage"
refused 'spec.config.spec.flavour|flavour' "  replicas: 1
$storage
  config: {name: e2e-mariadb, spec: {flavour: oracle8i}}"

refused 'spec.config.spec.images.mysql' "  replicas: 1
$storage
  config: {spec: {flavour: mariadb}}"

say "storage may be left out: a claim of 1Gi"
cluster small mariadb '  replicas: 1'
wait_until 30 "a claim" eval '[[ $(kn get pvc -o jsonpath="{.items[*].spec.resources.requests.storage}" -l app.kubernetes.io/instance=small) == 1Gi ]]'
kn delete myc small > /dev/null

say "a name too long for derived objects"
long=a123456789012345678901234567890123456789012345678
if cluster "$long" mariadb 2> "$E2E_WORK/$NS.long"; then
  wait_until 30 "condition names metadata.name" condition_says myc "$long" Accepted 'metadata.name'
else
  grep -q metadata.name "$E2E_WORK/$NS.long" || fail "the API server's message does not name metadata.name"
fi

say "a new cluster with an image that cannot be pulled, or a my.cnf that the server rejects: said, and mended by a correction"
cluster pull mariadb '  config: {name: e2e-mariadb, spec: {images: {mysql: "registry.local/nothing:1"}}}
  replicas: 1
  storage: {resources: {requests: {storage: 1Gi}}}'
cluster reject mariadb '  mycnf: {no_such_option: 1}
  replicas: 1
  storage: {resources: {requests: {storage: 1Gi}}}'
wait_until 60 "the image and its field are named" condition_says myc pull Healthy 'images.mysql.*registry.local/nothing:1'
wait_until 60 "the key and its field are named" condition_says myc reject Healthy 'mycnf.*no_such_option'
wait_until 20 "it goes no further by itself" condition_says myc reject Stalled 'MycnfRejected: spec.mycnf.no_such_option: '
expect_match "nextAction" "$(field myc reject .status.nextAction)" '^correct spec.mycnf.no_such_option: '
kn patch myc pull --type=json -p '[{"op":"remove","path":"/spec/config/spec"}]' > /dev/null
kn patch myc reject --type=json -p '[{"op":"remove","path":"/spec/mycnf"}]' > /dev/null
wait_ready pull 1
wait_ready reject 1
