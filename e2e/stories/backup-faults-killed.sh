# SPDX-License-Identifier: Apache-2.0
# Backups whose donor, tool or operator is killed in the middle, the operator at each stage: each is completed, what was begun before is gone from the bucket, and nothing runs on.
# alone
# long
# seconds 900
# shellcheck shell=bash
. e2e/stories/backup-faults.inc

two_operators() { [[ $(operators --no-headers | grep -c '1/1 *Running') == 2 ]]; }
begin_slowly() { # NAME [MORE-YAML]
  backup "$1" "$(s3_destination)" physical "  rateLimitBytesPerSecond: 4000000
${2:-}"
  wait_until 60 "parts of $1" has_parts "$1"
  expect_eq "phase of $1" "$(field myb "$1" .status.phase)" Running || return 1
}
# process POD PATTERN: a process of that pod by its command line, as the host numbers it
process() {
  local uid dir
  uid=$(field pod "$1" .metadata.uid)
  for dir in /proc/[0-9]*; do
    cat "$dir/cmdline" 2> /dev/null | tr '\0' ' ' | grep -qE "$2" || continue
    grep -q "$uid" "$dir/cgroup" 2> /dev/null && echo "${dir#/proc/}" && return 0
  done
  return 1
}
# completed_again NAME REASON: at its second attempt, and the first failed for that reason
completed_again() {
  wait_backup "$1"
  say "$1: $(field myb "$1" '.status.failures[0].reason}: {.status.failures[0].message')"
  expect_eq "attempts of $1" "$(field myb "$1" .status.attempt)" 2 || return 1
  expect_match "why" "$(field myb "$1" '.status.failures[0].reason')" "$2" || return 1
  tidy 90
}

faults_cluster 64
say "the donor's pod is killed"
begin_slowly donor
kn delete pod "$(field myb donor .status.donor)" --grace-period=0 --force > /dev/null 2>&1
completed_again donor DonorLost
wait_replicated db 2 240

say "the child that sends is killed; the tool is"
begin_slowly sender
kill -KILL "$(process "$(field myb sender .status.donor)" '^/proc/self/exe upload ')"
completed_again sender .
begin_slowly tool
kill -KILL "$(process "$(field myb tool .status.donor)" '^[^ ]*(mariadb-backup|mariabackup)')"
completed_again tool ToolFailed

for stage in begin part.3 complete manifest check list; do
  name=operator-${stage//./}
  say "the operators are killed at $stage"
  wait_until 60 "two operators" two_operators
  spoil "slow:4 $stage 1 -$name-"
  backup "$name" "$(s3_destination)" physical
  wait_until 90 "the request" was_spoilt slow:4 "$stage" "-$name-"
  kill_operators
  wait_backup "$name"
  expect_eq "attempts of $name" "$(field myb "$name" .status.attempt)" 1 || return 1
done
tidy 60

say "the operators are killed before they begin, and while they remove"
wait_until 60 "two operators" two_operators
backup at-once "$(s3_destination)" physical
kill_operators
wait_backup at-once
wait_until 60 "two operators" two_operators
spoil "slow:4 delete 1"
kn delete myb operator-complete at-once --wait=false > /dev/null
wait_until 60 "the request" was_spoilt slow:4 delete ""
kill_operators
wait_until 90 "their end" gone myb operator-complete
wait_until 90 "their end" gone myb at-once
tidy 60

say "a new cluster"
faults_restored from-donor donor
faults_end
