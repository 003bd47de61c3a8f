/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/restore_reason.h"

static const char *const names[RESTORE_REASON_COUNT] = {
    [RESTORE_REASON_NONE] = "",
    [RESTORE_REASON_API_UNAVAILABLE] = "ApiUnavailable",
    [RESTORE_REASON_STORE_UNAVAILABLE] = "StoreUnavailable",
    [RESTORE_REASON_TOOL_FAILED] = "ToolFailed",
    [RESTORE_REASON_STORE_REFUSED] = "StoreRefused",
    [RESTORE_REASON_VOLUME_TOO_SMALL] = "VolumeTooSmall",
    [RESTORE_REASON_SECRET_MISSING] = "SecretMissing",
    [RESTORE_REASON_SECRET_INVALID] = "SecretInvalid",
    [RESTORE_REASON_BACKUP_INCOMPLETE] = "BackupIncomplete",
    [RESTORE_REASON_BACKUP_FAILED] = "BackupFailed",
    [RESTORE_REASON_BACKUP_UNSUITABLE] = "BackupUnsuitable",
    [RESTORE_REASON_BACKUP_MISSING] = "BackupMissing",
    [RESTORE_REASON_TARGET_INVALID] = "TargetInvalid",
    [RESTORE_REASON_TARGET_NOT_COVERED] = "TargetNotCovered",
    [RESTORE_REASON_REPLAY_FAILED] = "ReplayFailed",
    [RESTORE_REASON_KEY_INVALID] = "KeyInvalid",
    [RESTORE_REASON_BACKUP_DAMAGED] = "BackupDamaged",
    [RESTORE_REASON_BACKUP_TOO_NEW] = "BackupTooNew",
    [RESTORE_REASON_SERVER_MISMATCH] = "ServerMismatch",
    [RESTORE_REASON_COPY_UNUSABLE] = "CopyUnusable",
    [RESTORE_REASON_GAP_IN_ARCHIVE] = "GapInArchive",
    [RESTORE_REASON_OTHER] = "Other",
};

const char *restore_reason_name(enum restore_reason reason)
{
    return names[reason];
}

enum restore_reason restore_reason_parse(const char *name)
{
    for (int reason = 0; reason < RESTORE_REASON_COUNT; reason++) {
        if (strcmp(str_or_empty(name), names[reason]) == 0)
            return (enum restore_reason)reason;
    }
    return RESTORE_REASON_OTHER;
}
