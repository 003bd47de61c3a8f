/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/archive_chain.h"

bool archive_chain_newest(const struct segment_list *chain, size_t *ret_first, size_t *ret_end)
{
    size_t end = chain->count;

    while (end > 0 && !chain->entries[end - 1].has_meta)
        end--;
    if (end == 0)
        return false;
    size_t first = end - 1;
    while (first > 0 && binlog_segment_name_same_place(&chain->entries[first - 1].name, &chain->entries[end - 1].name))
        first--;
    *ret_first = first;
    *ret_end = end;
    return true;
}

/* Whether a chain goes on from a to b. How far an earlier epoch went only its descriptions tell. */
static bool follows(const struct binlog_segment_name *a, const struct binlog_segment_name *b)
{
    if (binlog_segment_name_same_place(a, b))
        return true;
    return a->epoch == b->epoch ? a->sequence + 1 == b->sequence : b->sequence == 1;
}

size_t archive_chain_begin(const struct segment_list *chain, size_t newest, const struct binlog_segment_name *from)
{
    size_t begin = newest;

    for (size_t i = newest; i-- > 0;) {
        const struct segment_entry *entry = &chain->entries[i];
        if (!entry->has_meta)
            continue;
        if (binlog_segment_name_compare(&entry->name, from) < 0 || !follows(&entry->name, &chain->entries[begin].name))
            break;
        begin = i;
    }
    return begin;
}

bool archive_entry_is_orphan(const struct segment_entry *entry, int64_t now_ms)
{
    return entry->has_log && !entry->has_meta && entry->name.archived_ms + ARCHIVE_ORPHAN_MS < now_ms;
}

struct binlog_segment_name archive_name_next(
    const struct binlog_segment_name *newest, uint64_t epoch, int64_t now_ms, int64_t after_ms)
{
    bool goes_on = newest->sequence > 0 && newest->epoch == epoch;

    return (struct binlog_segment_name){
        .epoch = epoch,
        .sequence = goes_on ? newest->sequence + 1 : 1,
        .archived_ms = MAX_OF(now_ms / 1000, after_ms / 1000 + 1) * 1000,
    };
}
