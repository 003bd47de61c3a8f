/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/storage_class_question.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "operator/cluster/state/storage_class.h"

/* An error other than "not found", as of a server that is overloaded or a missing right, leaves what was known. */
bool storage_class_take_answer(struct storage_class_memory *known, const char *name, const struct error *err)
{
    if (!str_eq(known->name, name)) /* another one is waited for by now */
        return false;
    known->is_asked = false;
    bool is_missing = err ? err->kind == ERROR_NOT_FOUND : false, is_told = !err || is_missing;
    if (!is_told || is_missing == known->is_missing)
        return false;
    known->is_missing = is_missing;
    return true;
}

static bool take_answer(
    const struct api_asker *asker, struct cluster_memory *memory, const void *about, const struct error *err)
{
    UNUSED(asker);
    return storage_class_take_answer(&memory->storage_class, about, err);
}

int64_t storage_class_due_ms(struct storage_class_memory *known, const struct cluster_member *suspect, int64_t now_ms)
{
    const char *name = suspect ? str_or_empty(suspect->claim->storage_class) : NULL;
    if (!str_eq(known->name, name)) {
        free(known->name);
        *known = (struct storage_class_memory){.name = name ? xstrdup(name) : NULL, .since_ms = now_ms};
    }
    if (!name || (str_empty(name) && known->is_missing))
        return -1;
    int64_t due_ms =
        known->asked_ms ? known->asked_ms + STORAGE_CLASS_ASK_AGAIN_MS : known->since_ms + STORAGE_CLASS_ASK_AFTER_MS;
    return MAX_OF(0, due_ms - now_ms);
}

int64_t storage_class_ask(
    const struct api_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot)
{
    int64_t now_ms = clock_monotonic_ms();
    struct storage_class_memory *known = &memory->storage_class;
    int64_t due_ms = storage_class_due_ms(known, storage_class_suspect(snapshot), now_ms);
    if (due_ms != 0)
        return MAX_OF(0, due_ms);
    known->asked_ms = now_ms;
    if (str_empty(known->name)) {
        known->is_missing = true;
        return 1;
    }
    if (!known->is_asked) {
        known->is_asked = true;
        const struct api_question question = {.resource = asker->storage_classes,
            .read = known->name,
            .answer = take_answer,
            .about = xstrdup(known->name),
            .free_about = free};
        api_ask(asker, snapshot->ns, snapshot->name, snapshot->uid, &question);
    }
    return STORAGE_CLASS_ASK_AGAIN_MS;
}
