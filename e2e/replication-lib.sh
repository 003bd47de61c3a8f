#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# replication-lib.sh: what stories about replicated clusters share: a writing client, questions to members. Source it after lib.sh.
# shellcheck disable=SC2034 # used by the stories

# The client runs on node 1 of the local cluster, so that it goes through kube-proxy as a pod would.
sql_writer_build() {
  local target=$KM_CACHE/bin/sql_writer source=e2e/tools/sql_writer.c
  [[ -x $target && $target -nt $source ]] && return 0
  mkdir -p "${target%/*}"
  # shellcheck disable=SC2046
  "${CC:-gcc}" -O2 -Wall -Wextra -Werror "$source" $(pkg-config --cflags --libs libmariadb) -o "$target.$$" && mv "$target.$$" "$target"
}

# writer_start CLUSTER SECONDS [PAUSE-US]: writes as root through the primary Service; writer_stop CLUSTER: ends it early;
# writer_end CLUSTER waits for its end and prints its last line
writer_start() {
  [[ -x $KM_CLUSTER_DIR/node.sh && -d $KM_RUN/node1 ]] || skip "the writing client needs the local cluster"
  sql_writer_build
  local dir=$E2E_WORK/$NS.$1
  mkdir -p "$dir"
  field secret "$1-mysql-accounts" .data.root | base64 -d > "$dir/password"
  rm -f "$dir/stop"
  SQL_WRITER_STOP=$dir/stop "$KM_CLUSTER_DIR/node.sh" enter 1 "$KM_CACHE/bin/sql_writer" "$(field svc "$1-mysql-primary" .spec.clusterIP)" 3306 root "$dir/password" "$2" "${3:-0}" \
    > "$dir/writer.log" 2>&1 &
  echo $! > "$dir/writer.pid"
}
writer_stop() { [[ ! -d $E2E_WORK/$NS.$1 ]] || : > "$E2E_WORK/$NS.$1/stop"; }
writer_end() {
  local dir=$E2E_WORK/$NS.$1
  while kill -0 "$(cat "$dir/writer.pid")" 2> /dev/null; do sleep 0.2; done
  tail -1 "$dir/writer.log"
}
# writer_result CLUSTER: nothing acknowledged is missing, nothing had to be given up
writer_result() {
  local line
  line=$(writer_end "$1")
  say "writer: $line"
  [[ $(jq -r '"\(.missing) \(.lost)"' <<< "$line" 2> /dev/null) == "0 0" ]] || { tail -5 "$E2E_WORK/$NS.$1/writer.log"; fail "acknowledged rows are missing"; }
  (($(jq .acknowledged <<< "$line") > 100)) || fail "the writer wrote next to nothing"
}

# server_pid POD: of its mysqld, as the host numbers it
server_pid() {
  local uid dir
  uid=$(field pod "$1" .metadata.uid)
  for dir in /proc/[0-9]*; do
    case $(cat "$dir/comm" 2> /dev/null) in mysqld | mariadbd) ;; *) continue ;; esac
    grep -q "${uid}" "$dir/cgroup" 2> /dev/null && echo "${dir#/proc/}" && return 0
  done
  return 1
}

primary() { field myc "$1" .status.currentPrimary; }
primary_is() { [[ $(primary "$1") == "$2" ]]; }
state_is() { field_is myc "$1" .status.state "$2"; }
# replicated NAME N: N members ready, all replicas follow, no switchover under way
replicated() {
  cluster_ready "$1" "$2" && state_is "$1" Healthy && { (($2 < 2)) || condition_is myc "$1" Replicated True; } &&
    field_is myc "$1" .status.transition.to ""
}
wait_replicated() { wait_until "${3:-180}" "replicated cluster $1 with $2 members" replicated "$1" "$2"; }
replicas_of() { local n; n=$(field myc "$1" .spec.replicas); for ((i = 0; i < n; i++)); do [[ $1-mysql-$i == "$(primary "$1")" ]] || echo "$1-mysql-$i"; done; }
read_only_of() { sql "$1" 'SELECT @@global.read_only'; }
# row_everywhere CLUSTER SQL VALUE: every member answers it
row_everywhere() {
  local n i
  n=$(field myc "$1" .spec.replicas)
  for ((i = 0; i < n; i++)); do [[ $(sql "$1-mysql-$i" "$2") == "$3" ]] || return 1; done
}
# data_equal CLUSTER: the writer's rows are the same on all members
data_equal() {
  local n i first="" other
  n=$(field myc "$1" .spec.replicas)
  for ((i = 0; i < n; i++)); do
    other=$(sql "$1-mysql-$i" 'SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT(id, filler))), 0) FROM writer.t') || return 1
    [[ -n $first ]] || first=$other
    [[ $other == "$first" ]] || return 1
  done
}
one_writable() {
  local n i writable=0
  n=$(field myc "$1" .spec.replicas)
  for ((i = 0; i < n; i++)); do [[ $(read_only_of "$1-mysql-$i") != 0 ]] || writable=$((writable + 1)); done
  ((writable == 1))
}
scale() { kn patch myc "$1" --type merge -p "{\"spec\":{\"replicas\":$2}}" > /dev/null; }
