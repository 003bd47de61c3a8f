#!/bin/bash
# clone.sh   throughput of a clone from agent to agent over TLS on loopback, against the floor of the same tools in the same run: mariadb-backup's
# stream piped into mbstream, and piped to nowhere; and the memory of everybody while streaming. Needs root, mariadb-server and mariadb-backup.
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
[[ -x $agent ]] || { echo "clone: $agent is missing: make" >&2; exit 1; }
if [[ $EUID != 0 ]] || ! command -v mariadb-backup > /dev/null || ! id mysql > /dev/null 2>&1; then
  echo "clone: skipped: needs root, mariadb-backup and the user mysql" >&2
  exit 77
fi
dir=$(mktemp -d /tmp/km-clone-XXXXXX)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2> /dev/null || true; done
  wait 2> /dev/null || true
  rm -rf "$dir"
}
trap cleanup EXIT
chmod 755 "$dir"
cp "$agent" "$dir/agent"

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

# pod NAME BASE: folders like the mounts of a pod
pod() {
  mkdir -p "$dir/$1"/{vol,run,config,accounts,tls}
  cp "$dir/ca.crt" "$dir/$1/tls/"
  certificate kube-mysql-agent "$dir/$1/tls/tls"
  printf '{"namespace":"ns","cluster":"bench","clusterUID":"u","serviceDomain":"b.ns.svc","serverIdBase":1}' > "$dir/$1/config/instance.json"
  printf '[mysqld]\nbind_address=127.0.0.1\ninnodb_buffer_pool_size=256M\nsync_binlog=0\ninnodb_flush_log_at_trx_commit=2\n' > "$dir/$1/config/my.cnf"
  for account in root replication monitor; do echo -n "pw$account" > "$dir/$1/accounts/$account"; done
  chown -R mysql "$dir/$1"
}

# agent_command NAME BASE COMMAND: in the background; sets started
agent_command() {
  setpriv --reuid=mysql --regid=mysql --clear-groups "$dir/agent" "$3" --data-volume="$dir/$1/vol" --run-dir="$dir/$1/run" \
    --config-dir="$dir/$1/config" --accounts-dir="$dir/$1/accounts" --tls-dir="$dir/$1/tls" --termination-log="$dir/$1/end" \
    --bind=127.0.0.1 --plain-port=$(($2 + 1)) --tls-port=$(($2 + 2)) --mysql-port=$(($2 + 3)) --pod-name="$1-${2: -1}" \
    2>> "$dir/$1/$3.log" &
  started=$!
  pids+=("$started")
}

# order BASE JSON: until the door is open
order() {
  for _ in $(seq 200); do
    curl -sf --cacert "$dir/ca.crt" --cert "$dir/operator.crt" --key "$dir/operator.key" -X PUT -d "$2" \
      "https://localhost:$(($1 + 2))/v1/role" > /dev/null && return 0
    sleep 0.05
  done
  echo "clone: the agent at $1 takes no order" >&2
  return 1
}
sql() { setpriv --reuid=mysql --regid=mysql --clear-groups mariadb --socket="$dir/donor/run/mysqld.sock" -e "$1"; }
peak() { awk '/VmHWM/ { print $2 }' "/proc/$1/status" 2> /dev/null || echo 0; }
rss() { awk '/VmRSS/ { print $2 }' "/proc/$1/status" 2> /dev/null || echo 0; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
rate() { awk -v b="$1" -v ms="$2" 'BEGIN { printf "%.0f", b / 1048576 / (ms / 1000) }'; }
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat" 2> /dev/null || true; } # user and system time of one process
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

base=${BENCH_PORT:-18200}
pod donor "$base"
agent_command donor "$base" init
order "$base" '{"epoch":1,"seed":"initialise"}'
wait "$started"
agent_command donor "$base" server
agent_command donor "$base" run
donor_agent=$started
for _ in $(seq 200); do [[ -S $dir/donor/run/mysqld.sock ]] && sql 'select 1' > /dev/null 2>&1 && break; sleep 0.1; done
order "$base" '{"epoch":1,"role":"primary"}'
sleep 2
sql "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(4000)) ENGINE=InnoDB"
for _ in $(seq $((mib / 64))); do
  sql "SET sql_log_bin=0; USE d; INSERT INTO d.t (v) SELECT CONCAT(RANDOM_BYTES(1000), RANDOM_BYTES(1000), RANDOM_BYTES(1000), RANDOM_BYTES(500)) FROM seq_1_to_16000"
done
sql "FLUSH TABLES d.t FOR EXPORT; UNLOCK TABLES" # dirty pages are written: all rounds copy the same
tool=(setpriv --reuid=mysql --regid=mysql --clear-groups mariadb-backup "--defaults-file=$dir/donor/run/my.cnf" --backup --stream=xbstream
  "--socket=$dir/donor/run/mysqld.sock" --user=mysql "--datadir=$dir/donor/vol/data" "--target-dir=$dir/donor/run/bench")
idle=$(rss "$donor_agent")

bytes=$("${tool[@]}" 2> /dev/null | wc -c)
touch "$dir/null" "$dir/unpack" "$dir/clone"
donor_ticks=0 init_ticks=0 donor_peak=0 init_peak=0 tool_peak=0 unpack_peak=0
for round in $(seq "$rounds"); do
  start=$(now_ms)
  "${tool[@]}" 2> /dev/null > /dev/null
  rate "$bytes" $(($(now_ms) - start)) >> "$dir/null"; echo >> "$dir/null"

  install -d -o mysql "$dir/floor"
  start=$(now_ms)
  "${tool[@]}" 2> /dev/null | setpriv --reuid=mysql --regid=mysql --clear-groups mbstream -x -C "$dir/floor"
  rate "$bytes" $(($(now_ms) - start)) >> "$dir/unpack"; echo >> "$dir/unpack"
  rm -rf "$dir/floor"

  pod member $((base + 11))
  agent_command member $((base + 11)) init
  member=$started donor_before=$(ticks "$donor_agent") t=0
  order $((base + 11)) '{"epoch":1}'
  order $((base + 11)) "{\"epoch\":1,\"seed\":\"clone\",\"donorHost\":\"localhost\",\"donorPort\":$((base + 3)),\"donorAgentPort\":$((base + 2))}"
  while kill -0 "$member" 2> /dev/null; do
    p=$(rss "$donor_agent"); ((p <= donor_peak)) || donor_peak=$p
    p=$(peak "$member"); ((${p:-0} <= init_peak)) || init_peak=$p
    p=$(ticks "$member"); t=${p:-$t}
    for child in $(pgrep -P "$donor_agent" || true); do p=$(peak "$child"); ((${p:-0} <= tool_peak)) || tool_peak=$p; done
    for child in $(pgrep -P "$member" || true); do p=$(peak "$child"); ((${p:-0} <= unpack_peak)) || unpack_peak=$p; done
    sleep 0.1
  done
  wait "$member" || { cat "$dir/member/init.log" >&2; exit 1; }
  donor_ticks=$((donor_ticks + $(ticks "$donor_agent") - donor_before)) init_ticks=$((init_ticks + t))
  # From the order to the last byte unpacked, as both agents' logs have it.
  sed -n 's/.*"a copy of the data went out".*"ms":\([0-9]*\).*/\1/p' "$dir/donor/run.log" | tail -n 1 > "$dir/ms"
  rate "$bytes" "$(cat "$dir/ms")" >> "$dir/clone"; echo >> "$dir/clone"
  rm -rf "$dir/member"
done
sed -i '/^$/d' "$dir/null" "$dir/unpack" "$dir/clone"

null=$(median < "$dir/null") unpack=$(median < "$dir/unpack") clone=$(median < "$dir/clone")
printf 'stream of %d MiB, median of %d rounds\n' $((bytes >> 20)) "$rounds"
printf '%-44s %6s MiB/s\n' "mariadb-backup to nowhere" "$null" "mariadb-backup into mbstream (floor)" "$unpack" "agent to agent, TLS" "$clone"
awk -v c="$clone" -v u="$unpack" 'BEGIN { printf "%-44s %6.0f %%  (aim 95)\n", "of the floor", 100 * c / u }'
printf '%-44s %6d KiB (idle %d, aim 16384)\n' "donor's agent while streaming, RSS" "$donor_peak" "$idle"
printf '%-44s %6d KiB\n' "receiver's init, peak RSS" "$init_peak" "mariadb-backup at the donor, peak RSS" "$tool_peak" \
  "mbstream and prepare at the receiver, peak RSS" "$unpack_peak"
awk -v d="$donor_ticks" -v i="$init_ticks" -v b="$bytes" -v n="$rounds" -v hz="$(getconf CLK_TCK)" 'BEGIN { gib = n * b / 1073741824
  printf "%-44s %6.2f s for each GiB\n", "donor\047s agent, processor time", d / hz / gib
  printf "%-44s %6.2f s for each GiB\n", "receiver\047s init, processor time", i / hz / gib }'
