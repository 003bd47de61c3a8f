#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# backup.sh   a backup by the agent into a store over TLS on loopback, against its floor in the same run: mariadb-backup's stream through zstd -1 to nowhere; memory and
# processor time of the child that uploads; the way back against zstd's own; and a restore against unpacking and preparing. Needs root, mariadb-server, mariadb-backup, zstd.
# Environment: AGENT (a static build if there is one), MIB (1024: size of the database), ROUNDS (3), STORE (volume; s3: the server of e2e/s3/up.sh), PLAIN=1 (neither
# compression nor TLS, S3 only: what the agent itself costs).
set -euo pipefail
cd "$(dirname "$0")/../.."
NAME=backup
. e2e/bench/agent_rig.inc
mib=${MIB:-1024} rounds=${ROUNDS:-3} base=${BENCH_PORT:-18300} kind=${STORE:-volume} plain=${PLAIN:-}

store=$(jq -nc --arg port $((base + 12)) '{bucket: "backup", volume: true, pathStyle: true, endpoint: "https://localhost:\($port)", connectTo: "127.0.0.1:\($port)", serverName: "localhost"}')
if [[ $kind == s3 ]]; then
  trap 'INSTANCE=bench e2e/s3/down.sh --purge > /dev/null 2>&1; rig_cleanup' EXIT
  # shellcheck disable=SC1090
  . "$(INSTANCE=bench S3_PORT=19700 e2e/s3/up.sh)"
  store=$(jq -nc --arg endpoint "$([[ $plain ]] && echo "$S3_ENDPOINT" || echo "$S3_TLS_ENDPOINT")" --rawfile ca "$S3_CA" --arg bucket "$S3_BUCKET" --arg region "$S3_REGION" \
    --arg key "$S3_ACCESS_KEY" --arg secret "$S3_SECRET_KEY" \
    '{endpoint: $endpoint, bucket: $bucket, region: $region, pathStyle: true, accessKey: $key, secretKey: $secret} + if ($endpoint | startswith("https")) then {ca: $ca} else {} end')
fi
# Of all processes of the S3 server.
server_ticks() {
  local file sum=0
  for file in "${S3_CA%/*}"/pids/*; do sum=$((sum + $(ticks "$(cut -d' ' -f1 "$file")"))); done
  echo "$sum"
}
# task ID: what the operator would say
task() {
  jq -nc --arg id "$1" --argjson store "$store" --arg how "$([[ $plain ]] && echo none || echo zstd)" \
    '{id: $id, namespace: "ns", cluster: "bench", folder: "ns/bench/backups/\($id)", compression: $how, store: $store}'
}

donor_start "$base"
if [[ $kind == volume ]]; then
  mkdir "$dir/backup"
  chown mysql "$dir/backup"
  pod store
  agent_command store $((base + 10)) store --directory="$dir/backup"
fi
donor_fill "$mib" "CONCAT(RANDOM_BYTES(1000), REPEAT(UUID(), 30), RANDOM_BYTES(750), REPEAT('x', 670))" # half of a row packs well

bytes=0 upload_peak=0 used=0 init_peak=0 server_before=0 server_used=0
for round in $(seq "$rounds"); do
  start=$(now_ms)
  "${tool[@]}" 2> /dev/null | zstd -q -1 > "$dir/floor.zst"
  floor_ms=$(($(now_ms) - start))

  if [[ $kind == s3 ]]; then # what the server itself takes, without TLS, in its own language
    token=$(curl -fsS -D - -o /dev/null -H "X-Auth-User: $S3_ACCESS_KEY" -H "X-Auth-Key: $S3_SECRET_KEY" "$S3_ENDPOINT/auth/v1.0" | sed -n 's/^x-auth-token: *\([^\r]*\).*/\1/Ip')
    start=$(now_ms)
    curl -fsS -H "X-Auth-Token: $token" -T "$dir/floor.zst" "$S3_ENDPOINT/v1/AUTH_km/$S3_BUCKET/floor" > /dev/null
    rate "$(stat -c %s "$dir/floor.zst")" $(($(now_ms) - start)) >> "$dir/server"
  fi

  [[ $kind != s3 ]] || server_before=$(server_ticks)
  door "$base" POST /v1/backups "$(task "b-$round")" > /dev/null
  state=Running
  while [[ $state == Running ]]; do
    child=$(pgrep -P "$donor_agent" -f ' upload ' || true)
    if [[ -n $child ]]; then
      keep_max upload_peak "$(peak "$child")"
      p=$(ticks "$child"); used=${p:-$used}
    fi
    sleep 0.05
    status=$(door "$base" GET /v1/status)
    state=$(jq -r .backup.state <<< "$status")
  done
  [[ $state == Completed ]] || { echo "backup: $status" >&2; exit 1; }
  bytes=$(jq .backup.rawBytes <<< "$status")
  rate "$bytes" "$floor_ms" >> "$dir/floor"
  rate "$bytes" "$(jq '.backup | .completedMs - .startedMs' <<< "$status")" >> "$dir/ours"
  [[ $kind != s3 ]] || server_used=$(($(server_ticks) - server_before))
  rate "$(jq .backup.storedBytes <<< "$status")" "$(jq '.backup | .completedMs - .startedMs' <<< "$status")" >> "$dir/stored"

  start=$(now_ms)
  zstd -q -d < "$dir/floor.zst" | cat > /dev/null
  rate "$bytes" $(($(now_ms) - start)) >> "$dir/floor-back"
  task "b-$round" > "$dir/words"
  start=$(now_ms)
  "$dir/agent" download --tls-dir="$dir/donor/tls" 3< "$dir/words" 2> /dev/null | cat > /dev/null
  rate "$bytes" $(($(now_ms) - start)) >> "$dir/ours-back"

  install -d -o mysql "$dir/unpacked"
  start=$(now_ms)
  zstd -q -d < "$dir/floor.zst" | "${as_mysql[@]}" mbstream -x -C "$dir/unpacked"
  "${as_mysql[@]}" mariadb-backup --prepare "--target-dir=$dir/unpacked" > /dev/null 2>&1
  rate "$bytes" $(($(now_ms) - start)) >> "$dir/floor-restore"
  rm -rf "$dir/unpacked"

  pod member
  agent_command member $((base + 21)) init
  member=$started
  order $((base + 21)) '{"epoch":1}'
  start=$(now_ms)
  order $((base + 21)) "{\"epoch\":1,\"seed\":\"restore\",\"restoreId\":\"b-$round\"}"
  door $((base + 21)) PUT /v1/restore "$(task "b-$round")" > /dev/null
  while kill -0 "$member" 2> /dev/null; do
    keep_max init_peak "$(peak "$member")"
    sleep 0.05
  done
  wait "$member" || { cat "$dir/member/init.log" >&2; exit 1; }
  rate "$bytes" $(($(now_ms) - start)) >> "$dir/restore"
  rm -rf "$dir/member"
done

line() { printf '%-52s %6s %s\n' "$@"; }
ratio() { line "  of the floor" "$(awk -v o="$1" -v f="$2" 'BEGIN { printf "%.0f", 100 * o / f }')" "%${3:+  (aim $3)}"; }
floor=$(median < "$dir/floor") ours=$(median < "$dir/ours") floor_back=$(median < "$dir/floor-back") ours_back=$(median < "$dir/ours-back")
floor_restore=$(median < "$dir/floor-restore") restore=$(median < "$dir/restore")
printf 'stream of %d MiB, median of %d rounds, store: %s%s\n' $((bytes >> 20)) "$rounds" "$kind" "${plain:+, no compression, no TLS}"
line "mariadb-backup | zstd -1 (floor)" "$floor" MiB/s
line "the agent, into the store" "$ours" MiB/s
ratio "$ours" "$floor" 95
line "  of that stored" "$(median < "$dir/stored")" MiB/s
[[ $kind != s3 ]] || line "curl into the same server, no TLS, nothing else" "$(median < "$dir/server")" MiB/s
line "zstd -d (floor of the way back)" "$floor_back" MiB/s
line "download" "$ours_back" MiB/s
ratio "$ours_back" "$floor_back"
line "zstd -d | mbstream, prepare (floor of a restore)" "$floor_restore" MiB/s
line "restore by init, synced and started once" "$restore" MiB/s
ratio "$restore" "$floor_restore" 90
line "the child that uploads, peak RSS" "$upload_peak" KiB
line "its processor time for each GiB" "$(per_gib "$used" "$bytes")" s
[[ $kind != s3 ]] || line "the S3 server's processor time for each GiB" "$(per_gib "$server_used" "$bytes")" s
line "init that restores, peak RSS" "$init_peak" KiB
