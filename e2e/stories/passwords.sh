# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A user's password: from a Secret, missing Secret and key, changed; wrong root password in the volume heals.
cluster db mariadb '  replicas: 1
  database: shop
  username: keeper
  passwordSecret: {name: mine, key: pw}
  storage: {resources: {requests: {storage: 1Gi}}}'
wait_until 60 "missing Secret is named" condition_says myc db Accepted 'SecretMissing: spec.passwordSecret.name: .*mine'
kn create secret generic mine --from-literal=other=x > /dev/null
wait_until 60 "missing key is named" condition_says myc db Accepted 'SecretMissing: spec.passwordSecret.key: .*pw'
set_password() { kn create secret generic mine "--from-literal=pw=$1" --dry-run=client -o yaml | kn apply -f - > /dev/null 2>&1; }
set_password 'first "quoted\" one'
wait_ready db 1
enter() { # PASSWORD
  printf '[client]\nuser=keeper\npassword="%s"\nhost=127.0.0.1\nprotocol=tcp\n' "$1" |
    kn exec -i db-mysql-0 -c mysql -- bash -c 'exec mariadb --defaults-file=/dev/stdin -N -B -e "SELECT DATABASE()" shop'
}
wait_until 60 "the user enters" enter 'first \"quoted\\\" one'
pod=$(field pod db-mysql-0 .metadata.uid)
set_password second
wait_until 150 "the changed password is applied" enter second
if enter 'first \"quoted\\\" one' > /dev/null 2>&1; then fail "the old password still works"; fi
expect_eq "pod was not touched" "$(field pod db-mysql-0 .metadata.uid)" "$pod"

say "root's password changed behind our back is set right again"
sql db-mysql-0 "SET sql_log_bin=0; ALTER USER root@localhost IDENTIFIED BY 'stolen'"
kn delete pod db-mysql-0 > /dev/null
wait_ready db 1
wait_until 60 "the Secret's password works" sql db-mysql-0 'SELECT 1'

say "a Secret of ours deleted by hand comes back, and its new password is applied"
old=$(field secret db-mysql-accounts .data.root)
kn delete secret db-mysql-accounts > /dev/null
kn annotate myc db touch=1 > /dev/null
kn patch myc db --type=merge -p '{"spec":{"username":"keeper2"}}' > /dev/null
wait_until 60 "Secret is back" exists secret db-mysql-accounts
[[ $(field secret db-mysql-accounts .data.root) != "$old" ]]
wait_until 150 "new root password works" sql db-mysql-0 'SELECT 1'
