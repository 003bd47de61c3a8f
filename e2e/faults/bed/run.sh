#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--list | --plan SEED MEMBERS FAULTS]
# The fast fault bed: three real servers and agents and two operators against the light control plane, in namespaces of their own; faults by
# name, each from a healthy state, with a writer, a sampler and a checker. See docs/faults.md. Environment:
#   CASE=all            names or patterns, separated by commas; --list prints all
#   COUNT=1             how often
#   FLAVOUR=mariadb     or mysql
#   MODE=semiSync       or async
#   OVERLAP=12          faults that overlap instead of cases: COUNT rounds of so many; the next four are for these
#   MEMBERS=3           of the cluster
#   SEED=1              of the first round; the next one has the next. --plan prints what a seed chooses
#   SPOIL=              lost,twice,differ,table: one round each in which the checks must find what is spoilt behind the writers' backs
#   FAULTS_COMMIT       what the records name as the commit (default: commit.sh)
#   FAULTS_SECONDS      no new cycle or round after this
#   FAULTS_SPEC={}      more for the MysqlCluster's spec, as JSON
#   FAULTS_OPERATOR     more flags for the operators
#   FAULTS_VOLUMES=disk volumes on loop devices, not in memory: the cases that freeze a disk need that
#   FAULTS_ETCD=memory  etcd's files in memory: what is left is what its disk does not account for
#   FAULTS_KEEP=1       keep logs
#   FAULTS_RAW=file     a line of JSON per cycle is added to it; table.py makes one table of many such files
# Everything runs below one process in process, mount and network namespaces of its own: when that ends, however it ends, the kernel ends all the rest.
set -euo pipefail
cd "$(dirname "$0")/../../.."
: "${BUILD:=build}" "${FLAVOUR:=mariadb}" "${MODE:=semiSync}" "${CASE:=all}" "${COUNT:=1}" "${OVERLAP:=0}" "${MEMBERS:=3}" "${SEED:=1}"
driver=e2e/faults/bed/main.py
[[ ${1:-} != --list ]] || exec python3 -B "$driver" --list
[[ ${1:-} != --plan ]] || exec python3 -B "$driver" "$@"

skip() { echo "SKIPPED: $*" >&2; exit 77; }
[[ $(id -u) == 0 ]] || skip "the fault bed needs root"
for tool in python3 unshare nsenter setpriv ip iptables mariadb mariadbd; do
  command -v "$tool" > /dev/null || skip "$tool is missing (make deps)"
done
mysql_root=
[[ $FLAVOUR != mysql ]] || mysql_root=$(agent/tests/mysql-root.sh) || skip "there is no MySQL image"

if [[ $OVERLAP != 0 ]]; then
  : "${FAULTS_COMMIT:=$(e2e/faults/bed/commit.sh)}"
  # Nobody measures milliseconds here, and on a busy machine operators would lose a lease of 3 s in turn.
  : "${FAULTS_OPERATOR:=--lease-duration=15s --renew-deadline=10s --retry-period=2s}" "${FAULTS_ETCD:=memory}"
fi

tools=$BUILD/faults
mkdir -p "$tools"
build_tool() { # NAME FLAGS…
  local source=e2e/tools/$1.c target=$tools/$1
  shift
  [[ $target -nt $source && $target -nt e2e/tools/fault_client.h ]] || "${CC:-gcc}" -D_GNU_SOURCE -O2 -Wall -Wextra -Werror "$source" "$@" -o "$target"
}
read -ra client <<< "$(pkg-config --cflags --libs libmariadb)"
build_tool fault_writer "${client[@]}" -pthread
build_tool fault_sampler "${client[@]}" -pthread
build_tool slow_link

e2e/cluster/build-kubernetes.sh # here, because in the bed no other machine is in reach
# One of four places; what a run that was cut off left in it (files only) is removed.
work=
for n in 1 2 3 4; do
  exec 9> "/tmp/kube-mysql-bed$n.lock"
  ! flock -n 9 || { work=/tmp/kube-mysql-bed$n && break; }
done
[[ -n $work ]] || { echo "faults: four beds at a time are enough" >&2; exit 1; }
rm -rf "$work"
mkdir -p "$work"
bed=
# shellcheck disable=SC2317,SC2046 # called by trap; several words are meant
finish() {
  trap - EXIT INT TERM
  # unshare itself does not end by a signal while its child lives: the driver is told.
  [[ -z $bed ]] || { kill $(cat "/proc/$bed/task/$bed/children") "$bed" 2> /dev/null && wait "$bed"; }
  [[ -n ${FAULTS_KEEP:-} || -d $work/evidence ]] || rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# The first process of the new process namespace takes no signals that it does not handle: python does, the shell's exec keeps it.
unshare --net --mount --pid --fork --kill-child=KILL --mount-proc --propagation=private -- bash -c '
  mkdir -p /run/netns && mount -t tmpfs netns /run/netns && exec "$@"' bash \
  python3 -B "$driver" --work="$work" --tools="$(realpath "$tools")" --build="$(realpath "$BUILD")" --mysql-root="$mysql_root" --flavour="$FLAVOUR" \
  --mode="$MODE" --case="$CASE" --count="$COUNT" --seconds="${FAULTS_SECONDS:-86400}" --spec="${FAULTS_SPEC:-{\}}" \
  --overlap="$OVERLAP" --members="$MEMBERS" --seed="$SEED" --spoil="${SPOIL:-}" --commit="${FAULTS_COMMIT:-}" \
  --operator-flags="${FAULTS_OPERATOR:-}" ${FAULTS_ETCD:+--etcd="$FAULTS_ETCD"} ${RESULTS:+--results="$RESULTS"} ${FAULTS_RAW:+--raw="$FAULTS_RAW"} 9>&- &
bed=$!
rc=0
wait "$bed" || rc=$?
bed=
exit "$rc"
