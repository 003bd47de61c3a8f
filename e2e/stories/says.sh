# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# long
# What a new cluster says that does not come up: a pod or claim that the API server refuses, in its words and within five
# seconds; an image that cannot be pulled, a container that cannot be made, a key that a Secret lacks. The next action is
# what the user has to do, and once that is done the cluster comes up.
storage='  storage: {resources: {requests: {storage: 1Gi}}}'
set_is_there() { exists sts "$1-mysql" > /dev/null; }
# CLUSTER WORDS: the condition and the next action say them
tells() { condition_says myc "$1" Healthy "$2" && field_matches myc "$1" .status.nextAction "$2"; }
told_in_five() {
  wait_until 20 "StatefulSet of $1" set_is_there "$1"
  local begun=$SECONDS
  wait_until 5 "$1: the API server's words" tells "$1" "$2"
  say "told after $((SECONDS - begun)) s: $(field myc "$1" .status.nextAction)"
  expect_match "nextAction" "$(field myc "$1" .status.nextAction)" "^$3"
}

say "a ResourceQuota that has room for two pods of three"
kn create quota pods --hard=pods=2 > /dev/null
cluster quota mariadb "  replicas: 3
$storage"
told_in_five quota 'PodRefused: pods "quota-mysql-[0-2]" is forbidden: exceeded quota: pods' \
  "raise the ResourceQuota of namespace $NS"
kn delete quota pods > /dev/null
wait_until 15 "it is not said any longer than it is so" eval '! condition_says myc quota Healthy PodRefused'
wait_ready quota 3 240
expect_eq "nextAction" "$(field myc quota .status.nextAction)" ""
kn delete myc quota > /dev/null

say "a ResourceQuota that has no room for the claim"
kn create quota disks --hard=requests.storage=500Mi > /dev/null
cluster disk mariadb "  replicas: 1
$storage"
told_in_five disk 'PodRefused: persistentvolumeclaims "data-disk-mysql-0" is forbidden: exceeded quota: disks' \
  "raise the ResourceQuota of namespace $NS"
kn delete quota disks > /dev/null
kn delete myc disk > /dev/null

say "a podTemplate that the Pod Security level of the namespace forbids"
cluster host mariadb "  replicas: 1
  podTemplate: {spec: {hostNetwork: true}}
$storage"
wait_until 10 "host: the API server's words" eval 'condition_says myc host Accepted "TemplateRefused" &&
  field_matches myc host .status.nextAction "pods \"host-mysql-0\" is forbidden: violates PodSecurity \"restricted.*hostNetwork"'
expect_match "nextAction" "$(field myc host .status.nextAction)" '^take out of the podTemplate what the Pod Security level'
expect_eq "no StatefulSet is made of it" "$(set_is_there host && echo made || true)" ""
expect_eq "state" "$(field myc host .status.state)" Incomplete
kn patch myc host --type=json -p '[{"op":"remove","path":"/spec/podTemplate"}]' > /dev/null
wait_ready host 1
kn delete myc host > /dev/null

say "an image that cannot be pulled, a container that cannot be made, a key that the Secret lacks"
cluster pull mariadb "  config: {name: e2e-mariadb, spec: {images: {mysql: \"registry.local/nothing:1\"}}}
  replicas: 3
$storage"
cluster key mariadb "  replicas: 1
  podTemplate: {spec: {containers: [{name: mysql, env: [{name: SITE, valueFrom: {secretKeyRef: {name: nowhere, key: site}}}]}]}}
$storage"
kn create secret generic login --from-literal=pass=secret-value > /dev/null
cluster login mariadb "  replicas: 1
  database: app
  username: app
  passwordSecret: {name: login, key: password}
$storage"
wait_until 60 "the image and its field" field_matches myc pull .status.nextAction \
  '^set spec.config.spec.images.mysql to an image that can be pulled \(now registry.local/nothing:1\)'
expect_match "reason" "$(condition_text myc pull Healthy)" '^(ErrImagePull|ImagePullBackOff): 0 of 3 members'
wait_until 60 "the container and the Secret" field_matches myc key .status.nextAction \
  '^make what container mysql is made of.*CreateContainerConfigError.*"nowhere" not found'
wait_until 60 "the keys that are there" field_matches myc login .status.nextAction \
  '^set spec.passwordSecret.key \(now password\) to a key that Secret login has: pass;'
! kn get myc login -o json | grep -q secret-value || fail "the status has a value of the Secret"
kn patch myc pull --type=json -p '[{"op":"remove","path":"/spec/config/spec"}]' > /dev/null
kn create secret generic nowhere --from-literal=site=here > /dev/null
kn patch myc login --type=merge -p '{"spec":{"passwordSecret":{"key":"pass"}}}' > /dev/null
wait_ready pull 3 240
wait_ready key 1
wait_ready login 1
