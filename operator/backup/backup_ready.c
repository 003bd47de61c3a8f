/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_ready.h"

#include "operator/api/condition_reason.h"
#include "operator/api/ready_conditions.h"

void backup_ready_set(const struct backup_snapshot *snapshot, struct backup_step *step)
{
    struct backup_status *next = &step->next;
    if (backup_phase_is_final(snapshot->last.phase) && !kube_conditions_find(&next->conditions, CONDITION_READY) &&
        !step->awaits_person)
        return;
    const struct kube_conditions others = next->conditions; /* setting some moves the others */
    struct ready_reason pending = {false, backup_phase_names[next->phase ? next->phase : BACKUP_PHASE_PENDING],
        str_empty(next->message) ? "the backup is not made yet" : next->message};
    struct ready_view view = {.ready = ready_reason_of(&others, CONDITION_BACKUP_COMPLETE, pending),
        .reconciling = {false, "Settled", "nothing is being done"},
        .stalled = {false, "NotStalled", "nothing has to be changed by hand"}};
    bool is_refused = next->phase == BACKUP_PHASE_PENDING &&
        reason_of(kube_conditions_find(&others, CONDITION_BACKUP_ACCEPTED)) == REASON_POD_REFUSED;
    if (is_refused) {
        view.ready.reason = reason_name(REASON_POD_REFUSED);
        view.stalled.message = "it may go on by itself";
    }
    if (next->phase == BACKUP_PHASE_FAILED)
        view.stalled =
            ready_reason_of(&others, CONDITION_BACKUP_FAILED, (struct ready_reason){true, "Failed", next->message});
    else if (step->awaits_person)
        view.stalled =
            (struct ready_reason){true, kube_conditions_find(&others, CONDITION_BACKUP_CLEAN)->reason, next->message};
    else if (is_refused && snapshot->store_refusal_stays)
        view.stalled = (struct ready_reason){true, view.ready.reason, view.ready.message};
    else if (next->phase != BACKUP_PHASE_COMPLETED)
        view.reconciling = (struct ready_reason){true, view.ready.reason, view.ready.message};
    ready_conditions_set(&next->conditions, &view, snapshot->generation, snapshot->now_ms);
}
