/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_visit.h"

#include "common/clock.h"

#define IDLE_MS (10 * 60 * 1000)

struct backup_memory *backup_visit_memory(const struct backup_visit *visit)
{
    struct backup_memory *memory = backup_memories_find(&visit->controller->memories, visit->key);
    return memory && str_eq(memory->uid, visit->uid) ? memory : NULL;
}

static void drop_look(struct backup_visit *visit)
{
    if (visit->looked) {
        backup_step_release(&visit->step);
        backup_snapshot_release(&visit->snapshot);
    }
    visit->looked = false;
}

void backup_visit_finish(struct backup_visit *visit, const struct error *err)
{
    struct reconcile *run = visit->run;
    struct backup_memory *memory = backup_visit_memory(visit);
    struct error error = err ? *err : visit->error;
    int64_t again_ms = visit->again_ms > 0 ? visit->again_ms : IDLE_MS;
    if (memory)
        *memory->begins_with = '\0';
    drop_look(visit);
    free(visit->key);
    free(visit->uid);
    free(visit);
    if (error.kind == ERROR_EXISTS) /* somebody else's pod of that name: only they can change that */
        reconcile_finish(run, NULL, MIN_OF(again_ms, BACKUP_RECHECK_MS));
    else if (error.kind)
        reconcile_finish(run, &error, 0);
    else
        reconcile_finish(run, NULL, again_ms);
}

bool backup_visit_look(struct backup_visit *visit)
{
    const struct backup_memory *memory = backup_visit_memory(visit);
    drop_look(visit);
    if (!memory ||
        !backup_gather(
            &visit->controller->sources, &visit->controller->memories, memory, clock_realtime_ms(), &visit->snapshot))
        return false;
    backup_decide(&visit->snapshot, &visit->step);
    visit->looked = true;
    return true;
}
