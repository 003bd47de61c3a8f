#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What uninstall.sh asks of kubectl: stored backups stay unless --with-backup-data is given, and nothing of ours goes without --with-databases.
# A dry run changes nothing; databases go only with somebody's word; who may see objects may do so as long as there are any.
# The kubectl here writes down what it is asked, and knows two MysqlBackups, one of them deleted already, and a MysqlCluster.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

cat > "$dir/kubectl" << 'SH'
#!/bin/bash
echo "$*" >> "${0%/*}/asked"
case "$*" in
  "kustomize deploy/operator") printf 'kind: Deployment\n---\nkind: ClusterRole\nmetadata:\n  labels:\n    rbac.authorization.k8s.io/aggregate-to-view: "true"\n  name: kube-mysql-view\n---\nkind: ClusterRole\nmetadata:\n  labels:\n    kubemysql.dev/people: "true"\n  name: kube-mysql-diagnose\n' ;;
  "get clusterroles "*" -o name") for role in $*; do [[ $role != kube-mysql-* || $role == *-app-* ]] || echo "clusterrole.rbac.authorization.k8s.io/$role"; done ;;
  "delete "*"-f -"*) cat >> "${0%/*}/deleted" ;;
  "get mysqlclusters.kubemysql.dev "*) printf 'shops   shop   Delete\n' ;;
  "get mysqlbackups.kubemysql.dev "*GOES*) printf 'shops   first   <none>\nshops   second   2026-11-23T06:00:00Z\n' ;;
  "get persistentvolumeclaims "*"-l kubemysql.dev/backup-claim "*) printf 'shops   safe\n' ;;
  "get mysqlbackups.kubemysql.dev "*) printf 'shops   first\nshops   second\n' ;;
esac
SH
chmod +x "$dir/kubectl"

run() { # run ARG…: what is asked that changes MysqlBackups
  : > "$dir/asked"
  : > "$dir/deleted"
  PATH=$dir:$PATH deploy/uninstall.sh "$@" > "$dir/said" || return
  grep -q '^shops   safe$' "$dir/said" || echo "the claim for backups is not listed"
  ! grep -E '(delete|patch).* (pvc|persistentvolumeclaims?) ' "$dir/asked" || echo "a claim is changed"
  grep -E '(patch|delete) mysqlbackups' "$dir/asked" | sed 's/ --ignore-not-found.*//; s/ --type=merge -p / /'
}
expect() { # expect WHAT WANTED GOT
  [[ $2 == "$3" ]] || { printf '%s: expected:\n%s\ngot:\n%s\n' "$1" "$2" "$3"; failed=1; }
}

round='-n shops patch mysqlbackups.kubemysql.dev first {"spec":{"deletionPolicy":"Retain"}}
-n shops delete mysqlbackups.kubemysql.dev first
-n shops delete mysqlbackups.kubemysql.dev second'
all='delete mysqlbackups.kubemysql.dev --all --all-namespaces'
expect "the operator alone" "" "$(run || :)"
expect "with databases" "$round"$'\n'"$round" "$(run --with-databases --yes || :)"
expect "with what is stored" "$all"$'\n'"$all" "$(run --with-databases --with-backup-data --yes || :)"
grep -q '^  name: kube-mysql-operator-configmapsync$' "$dir/deleted" || { echo "the roles of an opt-in kind stay"; failed=1; }
! grep -qE 'aggregate-to-|kubemysql.dev/people' "$dir/deleted" || { echo "who may see the objects may not any more, while there are some"; failed=1; }
grep -q '^kind: Deployment$' "$dir/deleted" || { echo "the operator stays"; failed=1; }
grep -q '^  mysqlclusters/shop in namespace shops, its volumes: deleted$' "$dir/said" || { echo "the cluster is not listed, or without what becomes of its volumes"; failed=1; }

for args in "" --dry-run; do
  # shellcheck disable=SC2086 # words
  expect "roles of people $args" "" "$(run $args || :)"
  grep -qF 'the roles of people (kube-mysql-view, kube-mysql-diagnose, kube-mysql-configmapsync-view, kube-mysql-configmapsync-edit) stay' "$dir/said" ||
    { echo "the roles that stay are not all named: $(< "$dir/said")"; failed=1; }
done
for args in --dry-run "--dry-run --with-databases --with-backup-data"; do
  # shellcheck disable=SC2086 # words
  expect "$args" "" "$(run $args || :)"
  ! grep -E '(^| )(delete|patch|apply|create) ' "$dir/asked" | grep -v -- '--dry-run=server' || { echo "$args changes something"; failed=1; }
  grep -q '^  mysqlclusters/shop in namespace shops' "$dir/said" || { echo "$args does not list the cluster"; failed=1; }
done
: > "$dir/asked"
! PATH=$dir:$PATH deploy/uninstall.sh --with-databases < /dev/null > /dev/null 2>&1 || { echo "databases go without anybody's word"; failed=1; }
! grep -E '(^| )(delete|patch) ' "$dir/asked" || { echo "something is changed without anybody's word"; failed=1; }
for wrong in --with-backup-data --all; do
  ! PATH=$dir:$PATH deploy/uninstall.sh "$wrong" > /dev/null 2>&1 || { echo "accepted: $wrong"; failed=1; }
done
[[ $(deploy/uninstall.sh --help) == "uninstall.sh ["*"--dry-run"* ]] || { echo "--help does not say what there is" && failed=1; }
((failed)) || echo "uninstall: its test passes"
exit $failed
