# SPDX-License-Identifier: Apache-2.0
# A backup every minute, the last two kept: older ones go with their data, nothing piles up, and the status tells of the newest. While no operator runs none is made; what was missed is caught up
# once, with the last of them. `suspend` ends it.
# alone
# long
# seconds 900
# shellcheck shell=bash
. e2e/stories/backup-faults.inc

scale_operator() { k -n "$OPERATOR_NS" scale deploy kube-mysql-operator --replicas="$1" > /dev/null; }
no_operator() { [[ -z $(operators -o name) ]]; }
names() { kn get myb -l kubemysql.dev/cluster=db,kubemysql.dev/scheduled=true -o 'jsonpath={.items[*].metadata.name}'; }
newest() { names | tr ' ' '\n' | sort | tail -1; }
newest_is() { [[ $(newest) == "$1" ]]; }
run_of() { date -u -d "@$1" +db-%Y%m%d%H%M; } # SECONDS
# The time in a name, in seconds.
time_of() { date -u -d "$(sed -E 's/.*-(....)(..)(..)(..)(..)$/\1-\2-\3 \4:\5/' <<< "$1")" +%s; }
seconds_of() { date -u -d "$(field myc db "$1")" +%s; } # JSONPATH
run_after() { [[ $(newest) > $1 ]] && field_is myb "$(newest)" .status.phase Completed; } # NAME
until_second() { while (($(date +%-S) != $1)); do sleep 0.2; done; }
two_and_no_more() { (($(names | wc -w) == 2)) && is_tidy && (($(objects | grep -c '/manifest.json$') == 2)); }
told() { field_is myc db .status.backup.lastBackup "$1" && [[ $(seconds_of .status.lastBackupTime) == $(date -u -d "$(field myb "$1" .status.completionTime)" +%s) ]]; }

# next_run: of the next minute, or of a later one when the machine is slow; checks what is said of it
next_run() {
  local before=$last next
  next=$(seconds_of .status.backup.nextBackupTime)
  [[ $before == db- ]] || expect_eq "nextBackupTime, after lastScheduleTime" $((next - $(seconds_of .status.backup.lastScheduleTime))) 60 || return 1
  wait_until 150 "a run after $before" run_after "$before"
  last=$(newest)
  (($(time_of "$last") >= next)) || fail "the run $last came before $next"
  wait_until 30 "a status that tells of $last" told "$last"
  wait_until 30 "the last two and no more" eval '(($(names | wc -w) <= 2)) && is_tidy'
  say "$last: $(field myb "$last" .status.message)"
}

s3_server
swift_bucket
replicas=$(k -n "$OPERATOR_NS" get deploy kube-mysql-operator -o 'jsonpath={.spec.replicas}')
cluster db mariadb "  replicas: 2
  storage: {resources: {requests: {storage: 1Gi}}}
  backup:
    schedule: '* * * * *'
    keep: {last: 2}
    destination: {$(s3_destination)}"
wait_replicated db 2 240
last=$(newest)
[[ -n $last ]] || last=db-
runs=()
for _ in 1 2 3 4; do
  next_run
  runs+=("$last")
done
wait_until 30 "the last two" two_and_no_more
expect_eq "what is kept" "$(names)" "${runs[2]} ${runs[3]}" || return 1

say "no operator for more than two minutes"
trap 'scale_operator "$replicas"' EXIT
scale_operator 0
wait_until 60 "no operator" no_operator
began=$SECONDS before=$(names)
while ((SECONDS - began < 125)); do sleep 1; done
expect_eq "backups" "$(names)" "$before" || return 1
until_second 15
caught_up=$(run_of "$(date +%s)")
scale_operator "$replicas"
wait_until 40 "the run $caught_up" exists myb "$caught_up"
for ((at = $(time_of "$last") + 60; at < $(time_of "$caught_up"); at += 60)); do
  ! exists myb "$(run_of "$at")" 2> /dev/null || fail "$(run_of "$at") was caught up, too"
done
wait_until 60 "its end" run_after "$last"
last=$caught_up
wait_until 30 "the last two" two_and_no_more
expect_eq "what is kept" "$(names)" "${runs[3]} $caught_up" || return 1
next_run

say "suspended"
kn patch myc db --type=merge -p '{"spec":{"backup":{"suspend":true}}}' > /dev/null
wait_until 30 "no next one" field_is myc db .status.backup.nextBackupTime ""
expect_eq "it is told" "$(field myc db .status.backup.suspended)" true
wait_until 60 "an end of what runs" eval 'field_is myb "$(newest)" .status.phase Completed'
last=$(newest)
holds_for 80 "no run after $last" newest_is "$last"
wait_until 30 "the last two" two_and_no_more

kn delete myb --all --timeout=90s > /dev/null || fail "backups do not go"
expect_eq "what is left in the bucket" "$(objects; uploads)" "" || return 1
swift DELETE "$S3_BUCKET"
swift DELETE "$S3_BUCKET%2Bsegments"
