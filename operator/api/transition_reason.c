/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/transition_reason.h"

static const char *const names[TRANSITION_REASON_COUNT] = {
    [TRANSITION_NO_REASON] = "",
    [TRANSITION_SERVER_DOWN] = "ServerDown",
    [TRANSITION_SERVER_HUNG] = "ServerHung",
    [TRANSITION_STORAGE_STALLED] = "StorageStalled",
    [TRANSITION_ACKNOWLEDGEMENTS_LOST] = "AcknowledgementsLost",
    [TRANSITION_MEMBER_LOST] = "MemberLost",
    [TRANSITION_PRIMARY_BEHIND] = "PrimaryBehind",
    [TRANSITION_STATUS_OUTDATED] = "StatusOutdated",
    [TRANSITION_TARGET_EMPTIED] = "TargetEmptied",
    [TRANSITION_CANNOT_APPLY] = "CannotApply",
    [TRANSITION_CANNOT_OPEN] = "CannotOpen",
    [TRANSITION_REQUESTED] = "Requested",
    [TRANSITION_POD_DELETED] = "PodDeleted",
    [TRANSITION_SCALE_IN] = "ScaleIn",
    [TRANSITION_ROLL] = "Roll",
    [TRANSITION_VOLUME_FULL] = "VolumeFull",
    [TRANSITION_FINAL_BACKUP] = "FinalBackup",
    [TRANSITION_OTHER] = "Other",
};

const char *transition_reason_name(enum transition_reason reason)
{
    return reason < TRANSITION_REASON_COUNT ? names[reason] : names[TRANSITION_OTHER];
}

enum transition_reason transition_reason_parse(const char *name)
{
    for (int i = 0; i < TRANSITION_REASON_COUNT; i++) {
        if (str_eq(names[i], str_or_empty(name)))
            return (enum transition_reason)i;
    }
    return TRANSITION_OTHER;
}

bool transition_reason_is_failure(enum transition_reason reason)
{
    return reason >= TRANSITION_SERVER_DOWN && reason <= TRANSITION_CANNOT_OPEN;
}
