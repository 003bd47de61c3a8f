#!/bin/bash
# backup.sh   a backup by the agent into a volume's store (TLS on loopback), against its floor in the same run: mariadb-backup's stream through zstd -1 to nowhere; the memory and
# the processor time of the child that uploads; and the way back, against zstd's own. Needs root, mariadb-server, mariadb-backup, zstd.
# Environment: AGENT (a static build if there is one), MIB (1024: size of the database), ROUNDS (3).
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
agent=${AGENT:-}
if [[ -z $agent ]]; then
  agent=$build/static/kube-mysql-agent
  [[ -x $agent ]] || agent=$build/kube-mysql-agent
fi
mib=${MIB:-1024} rounds=${ROUNDS:-3}
[[ -x $agent ]] || { echo "backup: $agent is missing: make" >&2; exit 1; }
if [[ $EUID != 0 ]] || ! command -v mariadb-backup zstd > /dev/null || ! id mysql > /dev/null 2>&1; then
  echo "backup: skipped: needs root, mariadb-backup, zstd and the user mysql" >&2
  exit 77
fi
dir=$(mktemp -d /tmp/km-backup-XXXXXX)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2> /dev/null || true; done
  wait 2> /dev/null || true
  rm -rf "$dir"
}
trap cleanup EXIT
chmod 755 "$dir"
cp "$agent" "$dir/agent"
base=${BENCH_PORT:-18300}
as_mysql=(setpriv --reuid=mysql --regid=mysql --clear-groups)

# certificate NAME FILE: of the benchmark's own CA
certificate() {
  openssl ecparam -name prime256v1 -genkey -noout -out "$2.key"
  openssl req -new -key "$2.key" -subj "/CN=$1" -out "$dir/request" 2> /dev/null
  openssl x509 -req -in "$dir/request" -CA "$dir/ca.crt" -CAkey "$dir/ca.key" -CAcreateserial -days 1 -out "$2.crt" \
    -extfile <(printf 'subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n') 2> /dev/null
}
openssl ecparam -name prime256v1 -genkey -noout -out "$dir/ca.key"
openssl req -x509 -new -key "$dir/ca.key" -subj /CN=bench -days 1 -out "$dir/ca.crt"
certificate kube-mysql-operator "$dir/operator"
mkdir -p "$dir"/donor/{vol,run,config,accounts,tls} "$dir/backup"
cp "$dir/ca.crt" "$dir/donor/tls/"
certificate kube-mysql-agent "$dir/donor/tls/tls"
printf '{"namespace":"ns","cluster":"bench","clusterUID":"u","serviceDomain":"b.ns.svc","serverIdBase":1}' > "$dir/donor/config/instance.json"
printf '[mysqld]\nbind_address=127.0.0.1\ninnodb_buffer_pool_size=256M\nsync_binlog=0\ninnodb_flush_log_at_trx_commit=2\n' > "$dir/donor/config/my.cnf"
for account in root replication monitor; do echo -n "pw$account" > "$dir/donor/accounts/$account"; done
chown -R mysql "$dir/donor" "$dir/backup"

# agent_command COMMAND PORT-BASE [OPTION…]: in the background; sets started
agent_command() {
  "${as_mysql[@]}" "$dir/agent" "$1" --data-volume="$dir/donor/vol" --run-dir="$dir/donor/run" --config-dir="$dir/donor/config" \
    --accounts-dir="$dir/donor/accounts" --tls-dir="$dir/donor/tls" --termination-log="$dir/end" --bind=127.0.0.1 \
    --plain-port=$(($2 + 1)) --tls-port=$(($2 + 2)) --mysql-port=$(($2 + 3)) --pod-name=donor-0 "${@:3}" 2>> "$dir/$1.log" &
  started=$!
  pids+=("$started")
}
# door METHOD PATH [BODY]
door() {
  curl -sf --cacert "$dir/ca.crt" --cert "$dir/operator.crt" --key "$dir/operator.key" -X "$1" ${3:+-d "$3"} "https://localhost:$((base + 2))$2"
}
order() { # BODY: until the door is open
  for _ in $(seq 200); do
    door PUT /v1/role "$1" > /dev/null && return 0
    sleep 0.05
  done
  echo "backup: the agent takes no order" >&2
  return 1
}
sql() { "${as_mysql[@]}" mariadb --socket="$dir/donor/run/mysqld.sock" -e "$1"; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
rate() { awk -v b="$1" -v ms="$2" 'BEGIN { printf "%.0f\n", b / 1048576 / (ms / 1000) }'; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
member() { sed -n "s/.*\"backup\":{[^}]*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<< "$2"; }

agent_command init "$base"
order '{"epoch":1,"seed":"initialise"}'
wait "$started"
agent_command server "$base"
agent_command run "$base"
donor_agent=$started
agent_command store $((base + 10)) --directory="$dir/backup"
for _ in $(seq 200); do [[ -S $dir/donor/run/mysqld.sock ]] && sql 'select 1' > /dev/null 2>&1 && break; sleep 0.1; done
order '{"epoch":1,"role":"primary"}'
sleep 2
sql "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(4000)) ENGINE=InnoDB"
for _ in $(seq $((mib / 64))); do # half of a row packs well
  sql "SET sql_log_bin=0; USE d; INSERT INTO d.t (v) SELECT CONCAT(RANDOM_BYTES(1000), REPEAT(UUID(), 30), RANDOM_BYTES(750), REPEAT('x', 670)) FROM seq_1_to_16000"
done
sql "FLUSH TABLES d.t FOR EXPORT; UNLOCK TABLES" # dirty pages are written: all rounds copy the same
tool=("${as_mysql[@]}" mariadb-backup "--defaults-file=$dir/donor/run/my.cnf" --backup --stream=xbstream
  "--socket=$dir/donor/run/mysqld.sock" --user=mysql "--datadir=$dir/donor/vol/data" "--target-dir=$dir/donor/run/bench")

# task ID: what the operator would say
task() {
  printf '{"id":"%s","namespace":"ns","cluster":"bench","folder":"ns/bench/backups/%s","store":{"bucket":"backup","volume":true,"pathStyle":true,"endpoint":"https://localhost:%d","connectTo":"127.0.0.1:%d","serverName":"localhost"}}' \
    "$1" "$1" $((base + 12)) $((base + 12))
}

touch "$dir"/{floor,ours,floor-back,ours-back}
bytes=0 peak=0 ticks=0
for round in $(seq "$rounds"); do
  start=$(now_ms)
  "${tool[@]}" 2> /dev/null | zstd -q -1 > "$dir/floor.zst"
  floor_ms=$(($(now_ms) - start))

  door POST /v1/backups "$(task "b-$round")" > /dev/null
  state=Running
  while [[ $state == Running ]]; do
    child=$(pgrep -P "$donor_agent" -f ' upload ' || true)
    if [[ -n $child ]]; then
      p=$(awk '/VmHWM/ { print $2 }' "/proc/$child/status" 2> /dev/null || true)
      ((${p:-0} <= peak)) || peak=$p
      p=$(awk '{ print $14 + $15 }' "/proc/$child/stat" 2> /dev/null || true)
      ticks=${p:-$ticks}
    fi
    sleep 0.05
    status=$(door GET /v1/status)
    state=$(member state "$status")
  done
  [[ $state == Completed ]] || { echo "backup: $status" >&2; exit 1; }
  bytes=$(member rawBytes "$status")
  rate "$bytes" "$floor_ms" >> "$dir/floor"
  rate "$bytes" $(($(member completedMs "$status") - $(member startedMs "$status"))) >> "$dir/ours"

  start=$(now_ms)
  zstd -q -d < "$dir/floor.zst" | cat > /dev/null
  rate "$bytes" $(($(now_ms) - start)) >> "$dir/floor-back"
  task "b-$round" > "$dir/words"
  echo >> "$dir/words"
  start=$(now_ms)
  "$dir/agent" download --tls-dir="$dir/donor/tls" 3< "$dir/words" 2> /dev/null | cat > /dev/null
  rate "$bytes" $(($(now_ms) - start)) >> "$dir/ours-back"
done

floor=$(median < "$dir/floor") ours=$(median < "$dir/ours") floor_back=$(median < "$dir/floor-back") ours_back=$(median < "$dir/ours-back")
printf 'stream of %d MiB, median of %d rounds\n' $((bytes >> 20)) "$rounds"
printf '%-52s %6s MiB/s\n' "mariadb-backup | zstd -1 (floor)" "$floor" "the agent, TLS, into a store" "$ours" "zstd -d (floor of the way back)" "$floor_back" \
  "download" "$ours_back"
awk -v o="$ours" -v f="$floor" 'BEGIN { printf "%-52s %6.0f %%  (aim 95)\n", "of the floor", 100 * o / f }'
printf '%-52s %6d KiB\n' "the child that uploads, peak RSS" "$peak"
awk -v t="$ticks" -v b="$bytes" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "%-52s %6.2f s\n", "its processor time for each GiB", t / hz / (b / 1073741824) }'
