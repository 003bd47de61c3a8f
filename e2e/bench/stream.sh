#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# stream.sh   memory of the child that uploads and of the one that downloads, for a stream of SMALL (1) and of LARGE (20) GiB, into a store on a volume over TLS: is it flat?
# The stream is made up: a half of it packs well. Needs LARGE / 2 GiB of disk in /tmp. Environment: AGENT (a static build if there is one).
set -euo pipefail
cd "$(dirname "$0")/../.."
NAME=stream
. e2e/bench/agent_rig.inc
base=${BENCH_PORT:-18400} small=${SMALL:-1} large=${LARGE:-20}
free=$(($(stat -f -c '%a * %S' /tmp) >> 30))
((free > large * 6 / 10 + 1)) || { echo "stream: skipped: $free GiB are free in /tmp" >&2; exit 77; }

mkdir "$dir/backup"
chown mysql "$dir/backup"
pod store
agent_command store "$base" store --directory="$dir/backup"
for _ in $(seq 100); do curl -sf "http://127.0.0.1:$((base + 1))/ready" > /dev/null && break; sleep 0.1; done
for _ in $(seq 32); do
  head -c 4194304 /dev/urandom
  yes "$RANDOM a line as dumps have them" | head -c 4194304 || true
done > "$dir/piece" # 256 MiB

# watch PID: the largest peak until it ends; sets peak_kib, anon_kib, used_ticks
watch() {
  peak_kib=0 anon_kib=0 used_ticks=0
  while kill -0 "$1" 2> /dev/null; do
    keep_max peak_kib "$(peak "$1")"
    keep_max anon_kib "$(anon "$1")"
    p=$(ticks "$1"); used_ticks=${p:-$used_ticks}
    sleep 0.05
  done
  wait "$1" || { cat "$dir/child.log" >&2; exit 1; }
}
# stream GIB: there and back
stream() {
  local bytes=$(($1 << 30)) start task
  task=$(jq -nc --arg id "g-$1" --arg port $((base + 2)) '{id: $id, namespace: "ns", cluster: "bench", folder: "ns/bench/backups/\($id)", compression: "zstd", store:
    {bucket: "backup", volume: true, pathStyle: true, endpoint: "https://localhost:\($port)", connectTo: "127.0.0.1:\($port)", serverName: "localhost"}}')
  printf '%s\n{"commit":{"gtid":"0-1-1","flavour":"mariadb","serverVersion":"10.11.0-MariaDB","donor":"donor-0","dataBytes":%d,"stream":"xbstream"}}\n' "$task" "$bytes" > "$dir/words"
  start=$(now_ms)
  "$dir/agent" upload --tls-dir="$dir/store/tls" 3< "$dir/words" < <(for _ in $(seq $(($1 * 4))); do cat "$dir/piece"; done) > "$dir/child.log" 2>&1 &
  watch $!
  printf '%3d GiB up:   %6d KiB (anonymous %6d), %5s s of processor for each GiB, %4s MiB/s\n' "$1" "$peak_kib" "$anon_kib" "$(per_gib "$used_ticks" "$bytes")" "$(rate "$bytes" $(($(now_ms) - start)))"
  echo "$task" > "$dir/words"
  start=$(now_ms)
  "$dir/agent" download --tls-dir="$dir/store/tls" 3< "$dir/words" > >(wc -c > "$dir/count") 2> "$dir/child.log" &
  watch $!
  printf '%3d GiB down: %6d KiB (anonymous %6d), %5s s of processor for each GiB, %4s MiB/s\n' "$1" "$peak_kib" "$anon_kib" "$(per_gib "$used_ticks" "$bytes")" "$(rate "$bytes" $(($(now_ms) - start)))"
  sleep 0.5
  [[ $(cat "$dir/count") == "$bytes" ]] || { echo "stream: $(cat "$dir/count") of $bytes bytes came back" >&2; exit 1; }
  rm -rf "$dir/backup/ns"
}
stream "$small"
stream "$large"
