#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# agent_bench.sh   figures of `kube-mysql-agent run` beside a real mariadbd: memory, CPU at one probe a second (scraped or not), and the
# latency of /ready for 64 concurrent clients, while the server runs and while it is stopped with SIGSTOP. Needs root and mariadb-server.
# Environment: AGENT (a static build if there is one), SECONDS_EACH (5), QUIET_SECONDS (30).
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
agent=${AGENT:-}
if [[ -z $agent ]]; then
  agent=$build/static/kube-mysql-agent
  [[ -x $agent ]] || agent=$build/kube-mysql-agent
fi
each=${SECONDS_EACH:-5}
quiet=${QUIET_SECONDS:-30}
[[ -x $agent ]] || { echo "agent_bench: $agent is missing: make" >&2; exit 1; }
if [[ $EUID != 0 ]] || ! command -v mariadbd > /dev/null || ! id mysql > /dev/null 2>&1; then
  echo "agent_bench: skipped: needs root, mariadbd and the user mysql" >&2
  exit 77
fi

dir=$(mktemp -d /tmp/km-bench-XXXXXX)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do
    kill -CONT "$pid" 2> /dev/null || true
    kill -KILL "$pid" 2> /dev/null || true
  done
  wait 2> /dev/null || true
  rm -rf "$dir"
}
trap cleanup EXIT

mkdir -p "$dir"/{vol,run,config,accounts,tls}
cp "$agent" "$dir/agent"
gcc -O2 -D_GNU_SOURCE -o "$dir/http_latency" e2e/bench/http_latency.c
printf '{"namespace":"ns","cluster":"bench","clusterUID":"u","serviceDomain":"b.ns.svc","serverIdBase":1}' \
  > "$dir/config/instance.json"
printf '[mysqld]\nbind_address=127.0.0.1\nskip_networking=1\ninnodb_buffer_pool_size=32M\n' > "$dir/config/my.cnf"
head -c 12 /dev/urandom | base64 > "$dir/accounts/root"
# init takes its order from whoever has the operator's certificate.
openssl ecparam -name prime256v1 -genkey -noout -out "$dir/ca.key"
openssl req -x509 -new -key "$dir/ca.key" -subj /CN=bench -days 1 -out "$dir/tls/ca.crt"
for name in kube-mysql-agent:tls/tls kube-mysql-operator:operator; do
  openssl ecparam -name prime256v1 -genkey -noout -out "$dir/${name#*:}.key"
  openssl req -new -key "$dir/${name#*:}.key" -subj "/CN=${name%:*}" -out "$dir/request" 2> /dev/null
  openssl x509 -req -in "$dir/request" -CA "$dir/tls/ca.crt" -CAkey "$dir/ca.key" -CAcreateserial -days 1 -out "$dir/${name#*:}.crt" \
    -extfile <(printf 'subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth,clientAuth\n') 2> /dev/null
done
chown -R mysql "$dir"
port=${BENCH_PORT:-18085}
flags=(--data-volume="$dir/vol" --run-dir="$dir/run" --config-dir="$dir/config" --accounts-dir="$dir/accounts"
  --tls-dir="$dir/tls" --termination-log="$dir/end" --bind=127.0.0.1 --plain-port="$port" --tls-port=$((port + 1)) --pod-name=bench-0)
as_mysql=(setpriv --reuid=mysql --regid=mysql --clear-groups)

order() {
  curl -sf --cacert "$dir/tls/ca.crt" --cert "$dir/operator.crt" --key "$dir/operator.key" -X PUT -d "$1" \
    "https://localhost:$((port + 1))/v1/role" > /dev/null
}

"${as_mysql[@]}" "$dir/agent" init "${flags[@]}" 2> "$dir/init.log" &
init=$!
pids+=("$init")
for _ in $(seq 100); do order '{"epoch":1,"seed":"initialise"}' && break; sleep 0.1; done
wait "$init" || { cat "$dir/init.log" >&2; exit 1; }
"${as_mysql[@]}" "$dir/agent" server "${flags[@]}" 2> "$dir/server.log" &
server=$!
pids+=("$server")
"${as_mysql[@]}" "$dir/agent" run "${flags[@]}" 2> "$dir/run.log" &
run=$!
pids+=("$run")
for _ in $(seq 100); do
  [[ $(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/ready") == 200 ]] && break
  sleep 0.1
done

field() { awk -v name="$1" '$1 == name ":" { print $2 }' "$2"; }
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
memory() { printf '%s: RSS %d KiB, PSS %d KiB\n' "$1" "$(field VmRSS "/proc/$run/status")" "$(field Pss "/proc/$run/smaps_rollup")"; }
cpu() { # cpu LABEL
  local before after
  before=$(ticks "$run")
  sleep "$quiet"
  after=$(ticks "$run")
  awk -v label="$1" -v t=$((after - before)) -v hz="$(getconf CLK_TCK)" -v s="$quiet" \
    'BEGIN { printf "%s: %.3f %% of a core\n", label, 100 * t / hz / s }'
}

sleep 2
memory "memory, quiet"
cpu "cpu, a probe a second"
curl -s -o /dev/null "http://127.0.0.1:$port/metrics"
cpu "cpu, a probe with counters a second (scraped)"
normal=$("$dir/http_latency" "$port" /ready 64 "$each")
echo "/ready, 64 clients, server runs: $normal"
kill -STOP "$server"
sleep 3
stopped=$("$dir/http_latency" "$port" /ready 64 "$each")
echo "/ready, 64 clients, server stopped: $stopped"
kill -CONT "$server"
memory "memory, after the load"
p99() { awk '{ for (i = 1; i < NF; i++) if ($i == "p99_us") print $(i + 1) }' <<< "$1"; }
awk -v a="$(p99 "$stopped")" -v b="$(p99 "$normal")" 'BEGIN { printf "ratio p99 stopped/running: %.2f\n", a / b }'
