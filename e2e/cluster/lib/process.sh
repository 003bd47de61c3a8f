# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Messages, locks, waiting, and daemons known by pid file. No daemon is ever looked up by name: a pid file holds
# "PID STARTTIME BOOT_ID", and a process counts as ours only when all three agree, so a stale file can never
# point at a foreign process. Every daemon also carries KM_DAEMON=$RUN/NAME in its environment, by which one is
# found whose pid file was lost (a run cut off in the moment between the two).

: "${KM_T0:=$(date +%s%N)}"

say() {
	local t=$((($(date +%s%N) - KM_T0) / 10000000))
	printf '%4d.%02ds  %s\n' $((t / 100)) $((t % 100)) "$*"
}

warn() { printf 'warning: %s\n' "$*" >&2; }

die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# lock FILE: hold an exclusive lock until this script ends (fd 9; daemons are started without it). A script
# started by the holder inherits the right by the environment.
lock() {
	[[ ${KM_LOCKED:-} != "$1" ]] || return 0
	mkdir -p "$(dirname "$1")"
	exec 9>> "$1"
	flock -n 9 || {
		say "waiting for another run (lock $1)"
		flock -w "${KM_LOCK_TIMEOUT:-900}" 9 || die "$1 is still held by another run"
	}
	export KM_LOCKED=$1
}

# wait_for SECONDS CMD…: poll until CMD succeeds.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" > /dev/null 2>&1; do
		if ((SECONDS >= end)); then
			warn "timeout: $*"
			return 1
		fi
		sleep 0.1
	done
}

# proc_start_time PID: clock ticks since boot; empty and false for a process that is gone (a zombie is gone).
# Not $(< FILE): a file that is gone ends a shell with "set -e" even behind "||" (bash 5.2).
proc_start_time() {
	local stat
	{ read -r stat < "/proc/$1/stat"; } 2> /dev/null || return 1
	stat=${stat##*) }
	[[ $stat != Z* && $stat != X* ]] || return 1
	# fields after "PID (comm) ": state is 3, start time is 22
	# shellcheck disable=SC2086
	set -- $stat
	printf '%s\n' "${20}"
}

proc_boot_id() { cat /proc/sys/kernel/random/boot_id; }

# The functions below work on $RUN/pids/NAME and $RUN/log/NAME.log; RUN is set by the caller.

# daemon_pid NAME: print the pid of the living daemon, or fail.
daemon_pid() {
	local pid start boot now
	read -r pid start boot 2> /dev/null < "$RUN/pids/$1" || return 1
	[[ $pid =~ ^[0-9]+$ && $boot == "$(proc_boot_id)" ]] || return 1
	now=$(proc_start_time "$pid") && [[ $now == "$start" ]] || return 1
	printf '%s\n' "$pid"
}

daemon_alive() { daemon_pid "$1" > /dev/null; }

# daemon_orphans NAME: pids of daemons of that name other than the one in the pid file. Only leaders of a session are
# meant: what a daemon has started carries its environment too, but is in its session (containerd's shims live on).
daemon_orphans() {
	local file pid stat known
	known=$(daemon_pid "$1") || known=0
	grep -lzxF "KM_DAEMON=$RUN/$1" /proc/[0-9]*/environ 2> /dev/null | while read -r file; do
		pid=${file//[!0-9]/}
		[[ $pid != "$known" ]] || continue
		{ read -r stat < "/proc/$pid/stat"; } 2> /dev/null || continue
		# shellcheck disable=SC2086
		set -- "$1" ${stat##*) }
		[[ $5 != "$pid" || $2 == Z ]] || echo "$pid"
	done || true
}

# daemon_start NAME CMD…: own session, output to the log, no lock inherited.
daemon_start() {
	local name=$1 pid
	shift
	mkdir -p "$RUN/pids" "$RUN/log"
	for pid in $(daemon_orphans "$name"); do
		kill -KILL "$pid" 2> /dev/null || true
		wait_for 5 eval "! proc_start_time $pid" || true
	done
	env -u KM_LOCKED KM_DAEMON="$RUN/$name" setsid nohup "$@" >> "$RUN/log/$name.log" 2>&1 < /dev/null 9>&- &
	pid=$!
	printf '%s %s %s\n' "$pid" "$(proc_start_time "$pid" || echo 0)" "$(proc_boot_id)" > "$RUN/pids/$name.new"
	mv "$RUN/pids/$name.new" "$RUN/pids/$name"
}

# daemon_ensure NAME CMD…: start it unless it lives. Sets DAEMON_STARTED=1 when it had to.
daemon_ensure() {
	# shellcheck disable=SC2034
	DAEMON_STARTED=0
	daemon_alive "$1" && return 0
	DAEMON_STARTED=1
	daemon_start "$@"
}

# daemon_stop NAME [SIGNAL]: end it and wait; KILL after 8 s. A stale pid file is only removed.
daemon_stop() {
	local pid i
	if pid=$(daemon_pid "$1"); then
		kill -"${2:-TERM}" "$pid" 2> /dev/null || true
		for ((i = 0; i < 160; i++)); do
			daemon_alive "$1" || break
			((i != 80)) || kill -KILL "$pid" 2> /dev/null || true
			sleep 0.1
		done
	fi
	for pid in $(daemon_orphans "$1"); do kill -KILL "$pid" 2> /dev/null || true; done
	rm -f "$RUN/pids/$1"
}

# daemon_check NAME: die with the end of its log when it is gone.
daemon_check() {
	daemon_alive "$1" && return 0
	tail -n 15 "$RUN/log/$1.log" >&2 || true
	die "$1 has ended; its log: $RUN/log/$1.log"
}
