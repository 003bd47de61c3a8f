/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_visit.h"

#include "common/clock.h"

struct backup_memory *backup_visit_memory(const struct backup_visit *visit)
{
    struct backup_memory *memory = backup_memories_find(&visit->controller->memories, visit->context.key);
    return memory && str_eq(memory->uid, visit->context.uid) ? memory : NULL;
}

void backup_visit_drop_look(struct backup_visit *visit)
{
    if (visit->looked) {
        backup_step_release(&visit->step);
        backup_snapshot_release(&visit->snapshot);
    }
    visit->looked = false;
}

bool backup_visit_look(struct backup_visit *visit)
{
    const struct backup_memory *memory = backup_visit_memory(visit);
    backup_visit_drop_look(visit);
    if (!memory ||
        !backup_gather(
            &visit->controller->sources, &visit->controller->memories, memory, clock_realtime_ms(), &visit->snapshot))
        return false;
    backup_decide(&visit->snapshot, &visit->step);
    visit->looked = true;
    return true;
}
