# SPDX-License-Identifier: Apache-2.0
# Backups into a store that spoils requests: each kind of fault at each stage of an upload and its check, and at every part. All are completed at the first attempt, and nothing but them lies in
# the bucket; they go under faults, too. A new cluster is made of one while answers break off.
# long
# seconds 900
# shellcheck shell=bash
. e2e/stories/backup-faults.inc

stages=(begin part complete manifest check list)
# taken NAME KIND STAGE [COUNT]: it is completed in spite of so many faults
taken() {
  wait_backup "$1"
  expect_spoilt "$2" "$3" "$1" || return 1
  (($(spoilt "$2" "$3" "$1") >= ${4:-1})) || fail "only $(spoilt "$2" "$3" "$1") faults at $3 of $1"
  expect_eq "attempts of $1 ($(field myb "$1" '.status.failures[*].message'))" "$(field myb "$1" .status.attempt)" 1 || return 1
}

faults_cluster 64
for kind in 500 503 slow:1 cut torn drop; do
  say "$kind, once at each request of a stage"
  for stage in "${stages[@]}"; do
    name=${kind%:*}-$stage count=1
    [[ $stage != part ]] || count=12
    spoil "$kind $stage 1 -$name-"
    backup "$name" "$(s3_destination)" physical
    taken "$name" "$kind" "$stage" "$count"
  done
  tidy 60
  [[ $kind != drop ]] || break
  spoil "$kind delete 1" "$kind list 1" "$kind uploads 1"
  kn delete myb --all --timeout=120s > /dev/null || fail "backups do not go"
  expect_spoilt "$kind" delete "" || return 1
  expect_eq "what is left in the bucket" "$(objects; uploads)" "" || return 1
done

say "no answer at all to a part"
spoil "mute part.2 1"
backup mute "$(s3_destination)" physical
taken mute mute part
tidy 60

say "six at once: a member gives one at a time, and nobody loses an attempt by waiting"
spoil
for i in 1 2 3 4 5 6; do backup "many-$i" "$(s3_destination)" physical; done
for i in 1 2 3 4 5 6; do
  wait_backup "many-$i"
  expect_eq "attempts of many-$i ($(field myb "many-$i" '.status.failures[*].message'))" "$(field myb "many-$i" .status.attempt)" 1 || return 1
done
tidy 60

say "a new cluster, while answers break off"
spoil "torn get 2" "drop check 1"
faults_restored from-drop drop-complete
expect_spoilt torn get "" || return 1
spoil
faults_end
