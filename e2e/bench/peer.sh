#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# the primary of three is killed, ours and another operator's in turn, on the same nodes: how long no commit was acknowledged (KILLS=10 KILL=server|pod)
# only by name: it takes half an hour, and fetches and compiles the other operator
#
# On the local Kubernetes (e2e/cluster/up.sh) with the operator of this checkout beside mariadb-operator (e2e/bench/peer/: version and settings), both with three
# members of the same MariaDB and semi-synchronous replication. The client (e2e/tools/sql_writer.c) runs on the node, only beside the cluster whose turn it is, and
# commits one row after the other through the Service for writes, with PAUSE_US between two, and a retry after each error. A figure is the longest time between two
# acknowledgements from the kill until three members are well again. Environment:
#   KILL=server         SIGKILL to mariadbd; KILL=pod deletes the pod without grace (kubectl delete --grace-period=0 --force)
#   SYSTEMS="ours peer" which of both
#   OUT=DIR             where the times of all acknowledgements go (default $BUILD/bench/peer-$KILL)
#   PICTURE=FILE.svg    draw the round that is each one's median (e2e/bench/peer/picture.py)
#   PEER_ACK_TIMEOUT=1s semiSyncAckTimeout of the peer, whose default is 10s: its failover waits for it once
#   PEER_VERSION, PEER_REPOSITORY, PEER_ENTRYPOINT as at the head of e2e/bench/peer/images.sh
cd "$(dirname "$0")/../.." || exit 1
. e2e/lib.sh
. e2e/bench/figures.sh
. e2e/replication-lib.sh
. e2e/bench/peer/lib.sh
set -euo pipefail
: "${BUILD:=build}" "${KILLS:=10}" "${KILL:=server}" "${SYSTEMS:=ours peer}" "${PAUSE_US:=2000}" "${PEER_VERSION:=v26.6.0}" "${PEER_ACK_TIMEOUT:=1s}"
: "${OUT:=$BUILD/bench/peer-$KILL}"
WELL_SECONDS=240 # three members, each of which may wait for kubelet's back-off
E2E_WORK=$(mktemp -d)
export PEER_VERSION
declare -A name=([ours]=kube-mysql [peer]=mariadb-operator)
case $KILL in server | pod) ;; *) fail "KILL is server or pod, not $KILL" ;; esac

# turn SYSTEM: whose namespace it is from here on
turn() { NS=bench-$1-$$; }

# shellcheck disable=SC2317 # called by trap
cleanup() {
  local system
  trap - EXIT INT TERM
  for system in $SYSTEMS; do
    turn "$system"
    writer_stop db
    "${system}_remove" > /dev/null 2>&1 || true
  done
  [[ " $SYSTEMS " != *" peer "* ]] || peer_uninstall > /dev/null 2>&1 || true
  rm -rf "$E2E_WORK"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

create() {
  k create namespace "$NS" > /dev/null
  "$1_create"
  wait_until 400 "three members of ${name[$1]}" "$1_well"
}

# The writer of replication-lib.sh with the address and the account of either.
start_writer() {
  local dir=$E2E_WORK/$NS.db address
  mkdir -p "$dir"
  rm -f "$dir/stop"
  address=$("$1_account" "$dir")
  SQL_WRITER_STOP=$dir/stop SQL_WRITER_ACKS=$2 "$KM_CLUSTER_DIR/node.sh" enter 1 "$KM_CACHE/bin/sql_writer" "$address" 3306 root "$dir/password" 900 "$PAUSE_US" \
    > "$dir/writer.log" 2>&1 &
  echo $! > "$dir/writer.pid"
}

# kill_primary SYSTEM: prints the moment in ms, and whose
kill_primary() {
  local from pid
  from=$("$1_primary")
  if [[ $KILL == pod ]]; then
    printf '%s %s\n' "$((${EPOCHREALTIME/./} / 1000))" "$from"
    kn delete pod "$from" --grace-period=0 --force > /dev/null 2>&1
  else
    pid=$(server_pid "$from")
    kill -KILL "$pid"
    printf '%s %s\n' "$((${EPOCHREALTIME/./} / 1000))" "$from"
  fi
}

acknowledged_since() { (($(tail -n 1 "$2") > $1)); }

# A cluster that does not get well is told about and made anew, and its writer is not heard to the end: the other one's rounds go on.
get_well() {
  wait_until "$WELL_SECONDS" "three members of ${name[$1]} after round $2" "$1_well" && return 0
  "$1_tells" > "$OUT/$1.$2.told" 2>&1 || true
  echo "$1 $2" >> "$OUT/made-anew"
  kill -KILL "$(cat "$E2E_WORK/$NS.db/writer.pid")" 2> /dev/null || true
  "$1_remove" > /dev/null 2>&1 || true
  wait_until 180 "the namespace to be gone" eval "[[ -z \$(k get namespace $NS --ignore-not-found -o name) ]]"
  create "$1"
}

# one round: RESULT line "system round kill-ms longest-ms since-ms from to acknowledged missing load"
kill_one() {
  local system=$1 i=$2 acks=$E2E_WORK/$1.$2.acks at from last load
  sleep 5
  start_writer "$system" "$acks"
  wait_until 60 "the first rows" eval "[[ -s $acks ]]"
  sleep 4
  load=$(cut -d' ' -f1 /proc/loadavg)
  read -r at from < <(kill_primary "$system")
  wait_until 120 "a commit after the kill" acknowledged_since "$at" "$acks" || true
  sleep 5
  get_well "$system" "$i"
  sleep 2
  writer_stop db
  last=$(writer_end db)
  jq -e .acknowledged <<< "$last" > /dev/null 2>&1 || last=$(printf '{"acknowledged":%d,"missing":0}' "$(wc -l < "$acks")")
  awk -v at="$at" 'NR > 1 && $1 >= at && $1 - p > g { g = $1 - p; s = p } { p = $1 } END { print g + 0, s + 0 }' "$acks" > "$E2E_WORK/gap"
  mv "$acks" "$OUT"
  printf '%s %d %d %s %s %s %d %d %s\n' "$system" "$i" "$at" "$(cat "$E2E_WORK/gap")" "$from" "$("${system}_primary")" \
    "$(jq .acknowledged <<< "$last")" "$(jq .missing <<< "$last")" "$load" | tee -a "$OUT/rounds"
}

# figures SYSTEM
figures() {
  awk -v s="$1" '$1 == s { print $4 }' "$OUT/rounds" > "$E2E_WORK/$1"
  [[ -s $E2E_WORK/$1 ]] || return 0
  result "$KILL killed, ${name[$1]}: no commit for, p50" "$(quantile "$E2E_WORK/$1" 0.5)" ms
  result "  longest of $(wc -l < "$E2E_WORK/$1")" "$(quantile "$E2E_WORK/$1" 1)" ms
  result "  acknowledged rows that are missing" "$(awk -v s="$1" '$1 == s { n += $9 } END { print n + 0 }' "$OUT/rounds")" "of $(awk -v s="$1" '$1 == s { n += $8 } END { print n + 0 }' "$OUT/rounds")"
  result "  clusters that had to be made anew" "$(grep -c "^$1 " "$OUT/made-anew" || true)" ""
}

rm -rf "$OUT"
mkdir -p "$OUT"
printf 'ours kube-mysql %s\npeer mariadb-operator %s\n' "$(cat VERSION)" "${PEER_VERSION#v}" > "$OUT/names"
: > "$OUT/rounds"
: > "$OUT/made-anew"
sql_writer_build
for system in $SYSTEMS; do
  say "installing ${name[$system]}"
  "${system}_install"
  turn "$system"
  create "$system"
done
for ((i = 1; i <= KILLS; i++)); do
  for system in $SYSTEMS; do
    turn "$system"
    kill_one "$system" "$i"
  done
done
for system in $SYSTEMS; do figures "$system"; done
if [[ $SYSTEMS == *ours*peer* ]]; then
  awk -v a="$(quantile "$E2E_WORK/peer" 0.5)" -v b="$(quantile "$E2E_WORK/ours" 0.5)" 'BEGIN { printf "%.1f\n", a / b }' > "$E2E_WORK/ratio"
  result "ratio of both medians" "$(cat "$E2E_WORK/ratio")" "x"
fi
result "load average at the kills, from" "$(awk '{ print $10 }' "$OUT/rounds" | sort -n | head -n 1)" ""
result "  to" "$(awk '{ print $10 }' "$OUT/rounds" | sort -n | tail -n 1)" ""
[[ -z ${PICTURE:-} ]] || e2e/bench/peer/picture.py "$OUT" "$KILL" "$PICTURE"
