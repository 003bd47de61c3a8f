#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# an earlier version and this one in turns: three members ready, switchover, server killed, server frozen (BEFORE=604752d FLAVOUR=mariadb ROUNDS=2 EACH=5 KINDS="switchover killed frozen")
#
# only by name
# On the local Kubernetes (e2e/cluster/up.sh). Each round installs the operator of commit BEFORE and makes a cluster of three with that version's agents, then the same with this checkout's;
# every second round begins with this one. A client (e2e/tools/sql_writer.c) writes through the primary Service meanwhile, one row after the other, with a retry after each error. Its longest
# pause between two acknowledged rows is what is compared, each time from one fault to the next: EACH switchovers, EACH kills of the primary's server, and EACH times the primary's server is frozen
# for FROZEN (6) seconds (a client that is connected to it hangs as long). A version's figure is the median over all rounds; a ratio up to 1.1 is none worse. Memory is that of the operator's process that leads, at the end of its turn.
cd "$(dirname "$0")/../.." || exit 1
. e2e/lib.sh
. e2e/bench/figures.sh
. e2e/replication-lib.sh
set -euo pipefail
: "${BEFORE:=604752d0f7bdb3ab8d3071d7ba7c856b0b09a942}" "${FLAVOUR:=mariadb}" "${ROUNDS:=2}" "${EACH:=5}" "${FROZEN:=6}" "${KINDS:=switchover killed frozen}"
E2E_WORK=$(mktemp -d)
export E2E_WORK NS=
old=$(e2e/build-version.sh "$BEFORE")
before=$(basename "$old")
image=$([[ $FLAVOUR == mysql ]] && echo mysql:9.7 || echo mariadb:10.11)
frozen=
# shellcheck disable=SC2317 # called by trap
cleanup() {
  [[ -z $frozen ]] || kill -CONT "$frozen" 2> /dev/null || true
  if [[ -n $NS ]]; then
    writer_stop db
    story_cleanup "$NS" > /dev/null 2>&1 || true
  fi
  deploy/install.sh local > /dev/null 2>&1 || true
  rm -rf "$E2E_WORK"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

leader() { k -n "$OPERATOR_NS" get lease kube-mysql-operator -o jsonpath='{.spec.holderIdentity}'; }
leader_runs() { # TAG
  local pod
  pod=$(leader)
  [[ $(k -n "$OPERATOR_NS" get pod "${pod%%_*}" -o 'jsonpath={.spec.containers[0].image}') == "registry.local/kube-mysql-operator:$1" ]]
}
operator_kib() { # the resident memory of the operator's process that leads
  local pod uid dir
  pod=$(leader)
  uid=$(k -n "$OPERATOR_NS" get pod "${pod%%_*}" -o jsonpath='{.metadata.uid}')
  for dir in /proc/[0-9]*; do
    [[ $(cat "$dir/comm" 2> /dev/null) == kube-mysql-oper* ]] && grep -q "$uid" "$dir/cgroup" 2> /dev/null && awk '/^VmRSS/ { print $2 }' "$dir/status" && return 0
  done
}
operator_of() { # TAG
  if [[ $1 == "$before" ]]; then
    k annotate namespace "$OPERATOR_NS" kubemysql.dev/e2e-mark- > /dev/null 2>&1 || true
    IMAGE_OPERATOR=registry.local/kube-mysql-operator:$1 IMAGE_AGENT=registry.local/kube-mysql-agent:$1 "$old/deploy/install.sh" local > /dev/null
  else
    deploy/install.sh local > /dev/null
  fi
  wait_until 90 "operator $1 in the lead" leader_runs "$1"
}

calm() { wait_replicated db 3 180 && wait_until 60 "acknowledgements" field_is myc db .status.semiSync true && sleep 2; }
moved() { [[ $(primary db) != "$1" && -z $(field myc db .status.transition.to) && -z $(field myc db .status.transition.from) ]]; }
# fault KIND: noted with its time, then everything is well again
fault() {
  local from
  from=$(primary db)
  echo "FAULT $(date +%s%3N) $1" >> "$E2E_WORK/faults"
  case $1 in
  switchover) kn annotate --overwrite myc db "kubemysql.dev/switchover-to=$(((${from##*-} + 1) % 3))" > /dev/null ;;
  killed) kill -KILL "$(server_pid "$from")" ;;
  frozen)
    frozen=$(server_pid "$from")
    kill -STOP "$frozen"
    sleep "$FROZEN"
    kill -CONT "$frozen"
    frozen=
    ;;
  esac
  wait_until 90 "another primary than $from" moved "$from"
  calm
}
turn() { # TAG ROUND
  local started last kind
  NS=bench-before-$2-${1:0:3}-$$
  operator_of "$1"
  k create namespace "$NS" > /dev/null
  k apply -f - > /dev/null << YAML
apiVersion: kubemysql.dev/v1alpha1
kind: MysqlConfig
metadata: {name: $NS}
spec:
  images: {mysql: "registry.local/$image", agent: "registry.local/kube-mysql-agent:$1"}
YAML
  : > "$E2E_WORK/faults"
  started=$(date +%s%3N)
  cluster db "$FLAVOUR" "  config: {name: $NS}
  replicas: 3
  storage: {resources: {requests: {storage: 2Gi}}}"
  wait_until 300 "three ready members" field_is myc db .status.readyReplicas 3
  echo $(($(date +%s%3N) - started)) >> "$E2E_WORK/$1.ready"
  calm
  writer_start db 900
  sleep 5
  for kind in $KINDS; do
    for ((i = 0; i < EACH; i++)); do fault "$kind"; done
  done
  operator_kib >> "$E2E_WORK/$1.memory"
  writer_stop db
  last=$(writer_end db)
  awk -v to="$E2E_WORK/$1." '/^FAULT/ { s[++n] = $2; kind[n] = $3 } /^GAP/ { for (i = n; i >= 1; i--) if ($2 + $3 >= s[i]) { if ($3 > max[i]) max[i] = $3; next } }
    END { for (i = 1; i <= n; i++) print max[i] + 0 >> (to kind[i]) }' "$E2E_WORK/faults" "$E2E_WORK/$NS.db/writer.log"
  jq -r '"\(.missing) \(.lost)"' <<< "$last" >> "$E2E_WORK/$1.lost"
  story_cleanup "$NS" > /dev/null 2>&1 || true
  wait_until 180 "the end of $NS" eval "! k get namespace $NS > /dev/null 2>&1"
  NS=
}

e2e/cluster/load-image.sh "$old"/kube-mysql-{operator,agent}-"$before".oci.tar > /dev/null
for ((round = 1; round <= ROUNDS; round++)); do
  if ((round % 2)); then both=("$before" dev); else both=(dev "$before"); fi
  for version in "${both[@]}"; do
    say "round $round of $ROUNDS: $version"
    turn "$version" "$round"
  done
done
for kind in ready:"apply to three ready" switchover:"switchover, writes waited" killed:"server killed, writes waited" frozen:"server frozen for $FROZEN s, writes waited" memory:"memory of the operator"; do
  [[ " ready memory $KINDS " == *" ${kind%%:*} "* ]] || continue
  unit=ms
  [[ $kind != memory:* ]] || unit=KiB
  for version in "$before" dev; do
    printf '  %s %s: %s\n' "$version" "${kind#*:}" "$(tr '\n' ' ' < "$E2E_WORK/$version.${kind%%:*}")"
  done
  result "${kind#*:}, p50, $FLAVOUR, $before" "$(quantile "$E2E_WORK/$before.${kind%%:*}" 0.5)" "$unit"
  result "  this version" "$(quantile "$E2E_WORK/dev.${kind%%:*}" 0.5)" "$unit" "$(quantile "$E2E_WORK/$before.${kind%%:*}" 0.5)"
done
for version in "$before" dev; do
  result "acknowledged rows missing, rows given up, $version" "$(awk '{ m += $1; l += $2 } END { print m "+" l }' "$E2E_WORK/$version.lost")" ""
done
