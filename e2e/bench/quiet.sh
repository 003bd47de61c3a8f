#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# writes, lists and CPU of an operator with CLUSTERS (1000) clusters during MINUTES (10) in which nothing happens
cd "$(dirname "$0")/../.." || exit 1
. e2e/bench/lib.sh
: "${CLUSTERS:=1000}" "${MINUTES:=10}"
bench_begin
bench_operator --log-level info
bench_clusters "$CLUSTERS"
bench_settled 15
have "$CLUSTERS" statefulsets
result_memory "$CLUSTERS clusters"
result "$CLUSTERS clusters: objects known" "$(metric kubemysql_informer_objects)" count

writes=$(audit_count "$is_write and ($is_lease | not)")
lists=$(audit_count '.verb == "list"')
leases=$(audit_count "$is_lease")
cpu_ms=$(operator_cpu_ms)
say "$MINUTES quiet minutes"
sleep "$(awk -v m="$MINUTES" 'BEGIN { print m * 60 }')"
result "quiet: writes" $(($(audit_count "$is_write and ($is_lease | not)") - writes)) count 0
result "quiet: lists" $(($(audit_count '.verb == "list"') - lists)) count 0
result "quiet: requests for the lease" $(($(audit_count "$is_lease") - leases)) count
result "quiet: CPU a minute" "$(awk -v d=$(($(operator_cpu_ms) - cpu_ms)) -v m="$MINUTES" 'BEGIN { printf "%.1f", d / m }')" ms
