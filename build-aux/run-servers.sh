#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run-servers.sh EXECUTABLE…   integration tests on other servers than this machine's: SERVERS="mariadb-11.8 mysql-5.6 …" (e2e/cluster/server-tree.sh).
#
# A server that cannot be had is told and skipped. Tests of mariadb-backup's files are left out where an image has no such tool: what is copied by statements there is
# in made_mariadb_itest.
set -uo pipefail
shopt -s extglob
cd "$(dirname "$0")/.." || exit 1
failed=0
for server in ${SERVERS:-mariadb-11.8}; do
  if ! root=$(e2e/cluster/server-tree.sh "$server"); then
    echo "servers: $server cannot be had here: skipped"
    continue
  fi
  tests=()
  for test in "$@"; do
    case $server:$test in
      layout-mysql:*/@(made_mysql|agent_init)_itest) tests+=("$test") ;;
      layout-mysql:* | layout-*:*/@(failover|relay|healing)_mariadb_itest | mariadb-*:*/agent_init_itest | *:*/made_mysql_itest) ;;
      mysql-*:*/old_mysql_itest) tests+=("$test") ;;
      mysql-*:* | *:*/old_mysql_itest) ;;
      *:*/seed_itest) [[ ! -x $root/usr/bin/mariadb-backup ]] || tests+=("$test") ;;
      *) tests+=("$test") ;;
    esac
  done
  root_of=KM_TEST_MARIADB_ROOT
  [[ $server != *mysql* ]] || root_of=KM_TEST_MYSQL_ROOT
  env "$root_of=$root" TEST_TIMEOUT="${TEST_TIMEOUT:-900}" TEST_JOBS="${TEST_JOBS:-2}" build-aux/run-tests.sh "$server" "${tests[@]}" || failed=1
done
exit "$failed"
