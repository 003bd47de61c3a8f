/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/attempt_reason.h"

#include "common/json_fields.h"
#include "operator/api/backup_store_pod.h"

static const char *const names[ATTEMPT_REASON_COUNT] = {
    [ATTEMPT_OTHER] = "",
    [ATTEMPT_DONOR_LOST] = "DonorLost",
    [ATTEMPT_TASK_NOT_TAKEN] = "TaskNotTaken",
    [ATTEMPT_DEADLINE_EXCEEDED] = "DeadlineExceeded",
    [ATTEMPT_DELETED] = "Deleted",
    [ATTEMPT_AGENT_OUTDATED] = BACKUP_STORE_AGENT_OUTDATED,
    [ATTEMPT_STORE_REFUSED] = "StoreRefused",
    [ATTEMPT_METHOD_IMPOSSIBLE] = "MethodImpossible",
};

const char *attempt_reason_name(enum attempt_reason reason)
{
    return names[reason];
}

enum attempt_reason attempt_reason_of(const char *name)
{
    return (enum attempt_reason)json_name_index(names, ATTEMPT_REASON_COUNT, str_or_empty(name));
}
