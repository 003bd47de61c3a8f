/* SPDX-License-Identifier: Apache-2.0 */
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

static enum gtid_flavour flavour_of(bool mariadb)
{
    return mariadb ? GTID_MARIADB : GTID_MYSQL;
}

void archive_held_release(struct archive_held *held)
{
    gtid_set_free(held->set);
    *held = (struct archive_held){0};
}

void archive_held_add(struct archive_held *held, bool mariadb, const char *gtid)
{
    struct gtid_set *set = position_parse(flavour_of(mariadb), gtid);
    struct gtid_set *before = held->set;
    if (!set || (before && held->mariadb != mariadb)) {
        held->unreadable = true;
        gtid_set_free(set);
        return;
    }
    held->mariadb = mariadb;
    held->set = before ? gtid_set_intersect(before, set) : set;
    if (before) {
        gtid_set_free(before);
        gtid_set_free(set);
    }
}

bool archive_may_begin_at(const struct binlog_segment *segment, const struct archive_held *held)
{
    bool mariadb = str_eq(segment->flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));
    if (!held->set || held->unreadable || mariadb != held->mariadb)
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *after = position_parse(flavour_of(mariadb), segment->after);
    enum gtid_relation relation = after ? gtid_set_compare(after, held->set) : GTID_DIVERGED;
    return relation == GTID_SUBSET || relation == GTID_EQUAL;
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
