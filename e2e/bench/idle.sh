#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# memory of an operator that leads and has nothing to do
cd "$(dirname "$0")/../.." || exit 1
. e2e/bench/lib.sh
bench_begin
bench_operator --log-level info
sleep "${IDLE_SECONDS:-10}"
result_memory idle 8
result "idle: objects known" "$(metric kubemysql_informer_objects)" count
result "idle: open descriptors" "$(metric process_open_fds)" count
result "idle: size of the binary" "$(mib "$(($(stat -Lc %s "/proc/$operator_pid/exe") / 1024))")" MiB
