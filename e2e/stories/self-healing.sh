# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A child deleted or edited by hand comes back; an object of the same name that is not ours is never touched.
# core
cluster db mariadb
wait_ready db 1

say "deleted by hand"
for child in svc/db-mysql svc/db-mysql-primary svc/db-mysql-replicas cm/db-mysql-config pdb/db-mysql endpointslice/db-mysql-primary sa/db-mysql; do
  old=$(field "${child%/*}" "${child#*/}" .metadata.uid)
  kn delete "$child" > /dev/null
  wait_until 30 "$child is back" field_matches "${child%/*}" "${child#*/}" .metadata.uid .
  [[ $(field "${child%/*}" "${child#*/}" .metadata.uid) != "$old" ]]
done
kn delete sts db-mysql --cascade=orphan > /dev/null
wait_until 30 "StatefulSet is back" exists sts db-mysql
wait_ready db 1

say "edited by hand"
kn patch svc db-mysql --type=merge -p '{"spec":{"publishNotReadyAddresses":false}}' > /dev/null
wait_until 20 "headless Service is as it was" field_is svc db-mysql .spec.publishNotReadyAddresses true
kn patch cm db-mysql-config --type=merge -p '{"data":{"my.cnf":"[mysqld]\n"}}' > /dev/null
wait_until 20 "my.cnf is as it was" eval '[[ $(field cm db-mysql-config .data.my\\.cnf) == *log_bin* ]]'
kn patch endpointslice db-mysql-primary --type=json -p '[{"op":"replace","path":"/endpoints","value":[]}]' > /dev/null
wait_until 20 "route is as it was" eval '[[ -n $(field endpointslice db-mysql-primary ".endpoints[0].addresses[0]") ]]'
kn label svc db-mysql-primary app.kubernetes.io/managed-by- > /dev/null
wait_until 20 "label is back" field_is svc db-mysql-primary '.metadata.labels.app\.kubernetes\.io/managed-by' kube-mysql
for service in db-mysql db-mysql-primary db-mysql-replicas; do # the list's key is changed, the name is not
  kn patch svc $service --type=merge -p '{"spec":{"ports":[{"name":"mysql","port":3307,"targetPort":3306,"protocol":"TCP"}]}}' > /dev/null
  wait_until 20 "port of $service is as it was" eval "[[ \$(field svc $service '.spec.ports[?(@.name==\"mysql\")].port') == 3306 ]]"
done
kn scale sts db-mysql --replicas=0 > /dev/null
wait_until 20 "replicas are as wanted" field_is sts db-mysql .spec.replicas 1
wait_ready db 1

say "deleted and made anew at once, while a pod of the old StatefulSet is still there"
held() { kn patch pod db-mysql-0 --type=merge -p "{\"metadata\": {\"finalizers\": $1}}" > /dev/null; }
trap 'held null || true' EXIT
old=$(field pod db-mysql-0 .metadata.uid)
held '["kubemysql.dev/e2e"]'
kn delete myc db > /dev/null
cluster db mariadb
wait_until 60 "the StatefulSet names the pod" field_is sts db-mysql '.metadata.annotations.kubemysql\.dev/awaited-pods' db-mysql-0
sleep 22 # by then the StatefulSet controller pauses for 20 s
expect_eq "pod that is held" "$(field pod db-mysql-0 .metadata.uid)" "$old"
held null
wait_until 8 "the next pod" eval '[[ $(field pod db-mysql-0 .metadata.uid) =~ . && $(field pod db-mysql-0 .metadata.uid) != "$old" ]]'
wait_ready db 1

say "deleted alone and applied again: it goes on with what is there"
old=$(field pod db-mysql-0 .metadata.uid)
passwords=$(field secret db-mysql-accounts .data)
kn delete myc db --cascade=orphan > /dev/null
cluster db mariadb
wait_ready db 1
expect_eq "pod" "$(field pod db-mysql-0 .metadata.uid)" "$old"
expect_eq "passwords" "$(field secret db-mysql-accounts .data)" "$passwords"
expect_eq "owner of the StatefulSet" "$(field sts db-mysql '.metadata.ownerReferences[0].uid')" "$(field myc db .metadata.uid)"

say "what people add themselves stays"
kn annotate svc db-mysql-primary mine=kept > /dev/null
sleep 2
expect_eq "annotation" "$(field svc db-mysql-primary .metadata.annotations.mine)" kept

say "an object of the same name that is not ours"
kn create configmap two-mysql-config --from-literal=whose=mine > /dev/null
kn create secret generic three-mysql-accounts --from-literal=whose=mine > /dev/null
cluster two mariadb
cluster three mariadb
wait_until 30 "condition names the ConfigMap" condition_says myc two ChildConflict 'ConfigMap two-mysql-config'
wait_until 30 "condition names the Secret" condition_says myc three ChildConflict 'Secret three-mysql-accounts'
expect_eq "foreign ConfigMap" "$(field cm two-mysql-config .data)" '{"whose":"mine"}'
expect_match "foreign Secret" "$(field secret three-mysql-accounts .data)" '^.{0,4}whose'
kn delete configmap two-mysql-config > /dev/null
wait_until 60 "goes on when it is out of the way" field_matches cm two-mysql-config .data log_bin
