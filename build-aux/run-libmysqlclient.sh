#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run-libmysqlclient.sh   builds the agent with Oracle's libmysqlclient and runs the tests that talk to servers with it, in both families.
#
# Headers and libraries are those of Debian's unstable release, in a tree of their own (e2e/cluster/server-tree.sh libmysqlclient); the compiler is this machine's. Where that
# tree cannot be had, or no MySQL, the tests are told and skipped. What is built lies in $BUILD/libmysqlclient.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BUILD:=build}" "${JOBS:=$(nproc)}"
build=$BUILD/libmysqlclient
tests=()
for each in agent_init agent_run {replication,healing,close}_{mariadb,mysql}; do tests+=("$build/agent/tests/${each}_itest"); done

rc=0
tree=$(e2e/cluster/server-tree.sh libmysqlclient) || rc=$?
if ((rc)); then
  echo "libmysqlclient: it cannot be had here: skipped"
  [[ -z ${RESULTS:-} ]] || echo "libmysqlclient 0 0 1" >> "$RESULTS"
  exit 0
fi
# The servers' user, who starts the agent, may not look into root's cache.
mkdir -p "$build/lib"
cp -a "$tree"/usr/lib/x86_64-linux-gnu/*.so* "$tree/usr/lib/mysql/plugin" "$build/lib"
libs=$(realpath "$build/lib")
# The unstable release's cmocka calls deprecated what the tests' oldest one needs.
make --no-print-directory -j"$JOBS" QUIET=1 BUILD="$build" SYSROOT="$tree" SYSROOT_LIBS="$libs" EXTRA_CFLAGS=-Wno-error=deprecated-declarations \
  all "$build/kube-mysql-agent-hosted" "$build/zoneinfo.tar" "${tests[@]}"
if ! readelf --dynamic "$build/kube-mysql-agent" | grep -q 'NEEDED.*libmysqlclient'; then
  echo "libmysqlclient: $build/kube-mysql-agent is not linked with it" >&2
  exit 1
fi
# The tests' own clients enter MariaDB by mysql_native_password, which Oracle's library has as a plugin only.
KM_TEST_CLIENT_PLUGINS=$libs/plugin KM_BUILD=$(realpath "$build") TEST_TIMEOUT=${TEST_TIMEOUT:-900} TEST_JOBS=${TEST_JOBS:-2} build-aux/run-tests.sh libmysqlclient "${tests[@]}"
