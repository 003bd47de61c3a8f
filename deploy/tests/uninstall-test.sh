#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What uninstall.sh asks of kubectl: stored backups stay unless --with-backup-data is given, and nothing of ours goes without --with-databases.
# The kubectl here writes down what it is asked, and knows two MysqlBackups, one of them deleted already.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

cat > "$dir/kubectl" << 'SH'
#!/bin/bash
echo "$*" >> "${0%/*}/asked"
case "$*" in
  "get mysqlbackups.kubemysql.dev "*custom-columns*) printf 'shops   first   <none>\nshops   second   2026-11-23T06:00:00Z\n' ;;
  "get persistentvolumeclaims "*"-l kubemysql.dev/backup-claim "*) printf 'shops   safe\n' ;;
  "get mysqlbackups.kubemysql.dev "*) printf 'mysqlbackup.kubemysql.dev/first\nmysqlbackup.kubemysql.dev/second\n' ;;
esac
SH
chmod +x "$dir/kubectl"

run() { # run ARG…: what is asked that changes MysqlBackups
  : > "$dir/asked"
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
expect "with databases" "$round"$'\n'"$round" "$(run --with-databases || :)"
expect "with what is stored" "$all"$'\n'"$all" "$(run --with-databases --with-backup-data || :)"
grep -q '^delete -f deploy/components/configmapsync/cluster_role.yaml ' "$dir/asked" || { echo "the roles of an opt-in kind stay"; failed=1; }
for wrong in --with-backup-data --all; do
  ! PATH=$dir:$PATH deploy/uninstall.sh "$wrong" > /dev/null 2>&1 || { echo "accepted: $wrong"; failed=1; }
done
((failed)) || echo "uninstall: its test passes"
exit $failed
