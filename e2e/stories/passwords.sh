# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016 # expanded later, by eval or in the pod
# A user's password: from a Secret, missing Secret and key, changed, and since when it is in force; root's reaches the terminal; a wrong one in the volume heals.
cluster db mariadb '  replicas: 1
  database: shop
  username: keeper
  passwordSecret: {name: mine, key: pw}
  terminal: {}
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
account() { field myc db ".status.accounts[?(@.name==\"$1\")].$2"; } # NAME FIELD
account_is() { [[ $(account "$1" "$2") == "$3" ]]; }
told() { [[ $(kn get events --field-selector "reason=$1" -o 'jsonpath={.items[*].message}') == *"$2"* ]]; }
wait_until 30 "it is told to be in force" account_is keeper applied true
expect_eq "where it is kept" "$(account keeper secret) $(account root secret)" "mine db-mysql-accounts"
root_since=$(account root since)
pod=$(field pod db-mysql-0 .metadata.uid)
set_password second
wait_until 40 "the change is seen, and not in force yet" told PasswordChanged 'keeper (Secret mine)'
begin=$SECONDS
wait_until 30 "the changed password is applied" enter second
say "in force $((SECONDS - begin)) s after the operator has seen it"
wait_until 10 "that is told" account_is keeper applied true
wait_until 10 "and is an event" told PasswordApplied 'keeper (Secret mine)'
expect_eq "since when that of root is in force" "$(account root since)" "$root_since"
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
wait_until 40 "new root password works" sql db-mysql-0 'SELECT 1'
begin=$SECONDS
terminal() { kn exec db-terminal -- mariadb -N -B -e 'SELECT 42'; }
wait_until 20 "the terminal has it" terminal
say "the terminal gets in $((SECONDS - begin)) s after the server has the new password"

