# SPDX-License-Identifier: Apache-2.0
# A store that refuses for good, at each stage: backups have failed by their deadline, say what the store said, and leave nothing, also where removing is refused for a time. Keys that are
# rotated, in time or late, end no backup.
# long
# seconds 1000
# shellcheck shell=bash
. e2e/stories/backup-faults.inc

stages=(begin part.3 complete manifest check)
declare -A words=([403]=AccessDenied [500]=InternalError) seconds=([403]=30 [500]=40)
name_of() { echo "b$1-${2//./}"; } # KIND STAGE
keys() { kn create secret generic backup-s3 --from-literal=accessKey="$1" --from-literal=secretKey="$2" --dry-run=client -o yaml | kn apply -f - > /dev/null 2>&1; }

faults_cluster 64
say "refused for good"
for kind in 403 500; do
  for stage in "${stages[@]}"; do
    name=$(name_of "$kind" "$stage")
    spoil "$kind $stage * -$name-"
    backup "$name" "$(s3_destination)" physical "  deadlineSeconds: ${seconds[$kind]}"
    wait_until 90 "the end of $name" backup_over "$name"
    say "$name: $(condition_text myb "$name" Failed)"
    expect_eq "phase of $name" "$(field myb "$name" .status.phase)" Failed || return 1
    expect_spoilt "$kind" "${stage%.*}" "-$name-" || return 1
    expect_match "its reason" "$(condition_text myb "$name" Failed)" "${words[$kind]}" || return 1
  done
done
tidy 90
expect_eq "objects in the bucket" "$(objects; uploads)" "" || return 1

say "what failed cannot be removed for a time"
spoil "403 part.3 * -stuck-" "500 abort * -stuck-" "403 uploads * stuck" "403 delete * -stuck-"
backup stuck "$(s3_destination)" physical '  deadlineSeconds: 30'
wait_until 120 "its end" field_is myb stuck .status.phase Failed
wait_until 60 "the word that something is left" condition_is myb stuck Clean False
say "$(condition_text myb stuck Clean)"
[[ -n $(leftovers) ]] || fail "nothing is left, though nothing could be removed"
spoil
wait_until 60 "the word that nothing is left" condition_is myb stuck Clean True
tidy 10

say "keys are rotated in the middle, the old ones die first"
backup rotated "$(s3_destination)" physical '  rateLimitBytesPerSecond: 4000000'
wait_until 60 "parts" has_parts rotated
spoil "deny $S3_ACCESS_KEY"
wait_until 30 "a refusal of the old ones" was_spoilt deny part ""
keys "$S3_GUEST_ACCESS_KEY" "$S3_GUEST_SECRET_KEY"
wait_backup rotated
expect_eq "attempts" "$(field myb rotated .status.attempt)" 1 || return 1
tidy 30

say "keys are revoked, the new ones come late"
spoil
backup late "$(s3_destination)" physical '  rateLimitBytesPerSecond: 4000000'
wait_until 60 "parts" has_parts late
spoil "deny $S3_GUEST_ACCESS_KEY"
wait_until 150 "the refusal" condition_says myb late Accepted '^StoreRefused: .*InvalidAccessKeyId'
say "$(condition_text myb late Accepted)"
keys "$S3_ACCESS_KEY" "$S3_SECRET_KEY"
wait_backup late
expect_eq "attempts" "$(field myb late .status.attempt)" 2 || return 1
tidy 60

say "a new cluster"
faults_restored from-rotated rotated
faults_end
