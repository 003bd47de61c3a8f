#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clone.sh   throughput of a clone from agent to agent over TLS on loopback, against the floor of the same tools in the same run: mariadb-backup's
# stream piped into mbstream, and piped to nowhere; and the memory of everybody while streaming. Needs root, mariadb-server and mariadb-backup.
# Environment: AGENT (a static build if there is one), MIB (1024: size of the database), ROUNDS (3).
set -euo pipefail
cd "$(dirname "$0")/../.."
NAME=clone
. e2e/bench/agent_rig.inc
mib=${MIB:-1024} rounds=${ROUNDS:-3} base=${BENCH_PORT:-18200}

donor_start "$base"
donor_fill "$mib" "CONCAT(RANDOM_BYTES(1000), RANDOM_BYTES(1000), RANDOM_BYTES(1000), RANDOM_BYTES(500))"
idle=$(rss "$donor_agent")

bytes=$("${tool[@]}" 2> /dev/null | wc -c)
donor_ticks=0 init_ticks=0 donor_peak=0 init_peak=0 tool_peak=0 unpack_peak=0
for round in $(seq "$rounds"); do
  start=$(now_ms)
  "${tool[@]}" 2> /dev/null > /dev/null
  rate "$bytes" $(($(now_ms) - start)) >> "$dir/null"

  install -d -o mysql "$dir/floor"
  start=$(now_ms)
  "${tool[@]}" 2> /dev/null | "${as_mysql[@]}" mbstream -x -C "$dir/floor"
  rate "$bytes" $(($(now_ms) - start)) >> "$dir/unpack"
  rm -rf "$dir/floor"

  pod member
  agent_command member $((base + 11)) init
  member=$started donor_before=$(ticks "$donor_agent") t=0
  order $((base + 11)) '{"epoch":1}'
  order $((base + 11)) "{\"epoch\":1,\"seed\":\"clone\",\"donorHost\":\"localhost\",\"donorPort\":$((base + 3)),\"donorAgentPort\":$((base + 2))}"
  while kill -0 "$member" 2> /dev/null; do
    keep_max donor_peak "$(rss "$donor_agent")"
    keep_max init_peak "$(peak "$member")"
    p=$(ticks "$member"); t=${p:-$t}
    for child in $(pgrep -P "$donor_agent" || true); do keep_max tool_peak "$(peak "$child")"; done
    for child in $(pgrep -P "$member" || true); do keep_max unpack_peak "$(peak "$child")"; done
    sleep 0.1
  done
  wait "$member" || { cat "$dir/member/init.log" >&2; exit 1; }
  donor_ticks=$((donor_ticks + $(ticks "$donor_agent") - donor_before)) init_ticks=$((init_ticks + t))
  # From the order to the last byte unpacked, as both agents' logs have it.
  rate "$bytes" "$(sed -n 's/.*"a copy of the data went out".*"ms":\([0-9]*\).*/\1/p' "$dir/donor/run.log" | tail -n 1)" >> "$dir/clone"
  rm -rf "$dir/member"
done

null=$(median < "$dir/null") unpack=$(median < "$dir/unpack") clone=$(median < "$dir/clone")
printf 'stream of %d MiB, median of %d rounds\n' $((bytes >> 20)) "$rounds"
printf '%-48s %6s MiB/s\n' "mariadb-backup to nowhere" "$null" "mariadb-backup into mbstream (floor)" "$unpack" "agent to agent, TLS" "$clone"
awk -v c="$clone" -v u="$unpack" 'BEGIN { printf "%-48s %6.0f %%  (aim 95)\n", "of the floor", 100 * c / u }'
printf '%-48s %6d KiB (idle %d, aim 16384)\n' "donor's agent while streaming, RSS" "$donor_peak" "$idle"
printf '%-48s %6d KiB\n' "receiver's init, peak RSS" "$init_peak" "mariadb-backup at the donor, peak RSS" "$tool_peak" \
  "mbstream and prepare at the receiver, peak RSS" "$unpack_peak"
printf '%-48s %6s s for each GiB\n' "donor's agent, processor time" "$(per_gib "$donor_ticks" $((bytes * rounds)))" \
  "receiver's init, processor time" "$(per_gib "$init_ticks" $((bytes * rounds)))"
