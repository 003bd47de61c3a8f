#include "common/base.h"

#include "operator/backup/archive_retention.h"

#include "common/agent_api.h"

static bool same_name(const struct binlog_segment_name *a, const struct binlog_segment_name *b)
{
    return a->epoch == b->epoch && a->sequence == b->sequence && a->archived_ms == b->archived_ms;
}

bool archive_batch_add(struct archive_batch *batch, const char *name)
{
    struct binlog_segment_name parsed;
    bool is_meta;
    if (!binlog_segment_name_parse(name, &parsed, &is_meta))
        return true;
    struct archive_entry *last = batch->count > 0 ? &batch->entries[batch->count - 1] : NULL;
    if (!last || !same_name(&last->name, &parsed)) {
        batch->more = batch->count == ARRAY_LEN(batch->entries);
        if (batch->more)
            return false;
        last = &batch->entries[batch->count++];
        *last = (struct archive_entry){.name = parsed};
    }
    last->has_meta = last->has_meta || is_meta;
    last->has_log = last->has_log || !is_meta;
    return true;
}

bool archive_may_begin_at(const struct binlog_segment *segment, const struct archive_backup *backups, size_t count)
{
    bool mariadb = str_eq(segment->flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));
    enum gtid_flavour flavour = mariadb ? GTID_MARIADB : GTID_MYSQL;
    _cleanup_(gtid_set_freep) struct gtid_set *after = gtid_set_parse(flavour, segment->after, NULL);
    for (size_t i = 0; i < count && after; i++) {
        _cleanup_(gtid_set_freep) struct gtid_set *held = gtid_set_parse(flavour, backups[i].gtid, NULL);
        enum gtid_relation relation = held ? gtid_set_compare(after, held) : GTID_DIVERGED;
        if (relation != GTID_SUBSET && relation != GTID_EQUAL)
            return false;
    }
    return after && count > 0;
}

/* Two writers may have made the same number twice: which of them counts is not asked here, both stay. */
size_t archive_cut(const struct archive_batch *batch, size_t at, int64_t now_ms)
{
    const struct binlog_segment_name *first = &batch->entries[at].name;
    size_t ret = 0;
    for (; ret < at; ret++) {
        const struct binlog_segment_name *name = &batch->entries[ret].name;
        bool same = name->epoch == first->epoch && name->sequence == first->sequence;
        if (same || name->archived_ms > now_ms - ARCHIVE_KEEP_MS)
            break;
    }
    return ret;
}

bool archive_search_next(const struct archive_search *search, size_t *ret_probe)
{
    if (search->high <= search->low + 1)
        return false;
    *ret_probe = search->low + (search->high - search->low) / 2;
    return true;
}

void archive_search_take(struct archive_search *search, size_t probe, bool may_begin)
{
    if (may_begin)
        search->low = probe;
    else
        search->high = probe;
}
