/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/replay_chain.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/tls.h"

struct replay_slot {
    size_t first; /* entry */
    uint32_t count, epoch;
    int64_t chosen; /* entry; -1: not settled yet */
};

struct replay_epoch {
    size_t first; /* slot */
    struct gtid_set *limit;
};

const char *const replay_reason_names[REPLAY_REASON_COUNT] = {
    [REPLAY_STORE_FAILED] = "",
    [REPLAY_GAP] = "GapInArchive",
    [REPLAY_NOT_COVERED] = "TargetNotCovered",
    [REPLAY_TOO_NEW] = "BackupTooNew",
    [REPLAY_DAMAGED] = "BackupDamaged",
    [REPLAY_KEY] = "KeyInvalid",
};

/* ---- names ---- */

int replay_chain_add(struct replay_chain *chain, const char *object, struct error *err)
{
    return segment_list_add(&chain->list, object, err);
}

static void make_slots(struct replay_chain *chain)
{
    struct replay_slot *slot = NULL;

    chain->slots = xreallocarray(NULL, chain->list.count + 1, sizeof(*chain->slots));
    chain->epochs = xreallocarray(NULL, chain->list.count + 1, sizeof(*chain->epochs));
    for (size_t i = 0; i < chain->list.count; i++) {
        const struct binlog_segment_name *name = &chain->list.entries[i].name;
        const struct binlog_segment_name *last = slot ? &chain->list.entries[slot->first].name : NULL;
        if (last && binlog_segment_name_same_place(last, name)) {
            slot->count++;
            continue;
        }
        if (!last || last->epoch != name->epoch)
            chain->epochs[chain->epoch_count++] = (struct replay_epoch){.first = chain->slot_count};
        slot = &chain->slots[chain->slot_count++];
        *slot = (struct replay_slot){.first = i, .count = 1, .epoch = (uint32_t)(chain->epoch_count - 1), .chosen = -1};
    }
    chain->limits_from = chain->epoch_count ? chain->epoch_count - 1 : 0;
}

void replay_chain_sort(struct replay_chain *chain)
{
    segment_list_sort(&chain->list);
    segment_list_drop_logs(&chain->list);
    make_slots(chain);
    chain->metas = xreallocarray(NULL, chain->list.count + 1, sizeof(struct replay_meta *));
    for (size_t i = 0; i <= chain->list.count; i++)
        chain->metas[i] = NULL;
}

const struct binlog_segment_name *replay_chain_name(const struct replay_chain *chain, size_t slot)
{
    return &chain->list.entries[chain->slots[slot].first].name;
}

bool replay_chain_is_before(const struct replay_chain *chain, size_t slot, int64_t ms)
{
    const struct replay_slot *it = &chain->slots[slot];

    return chain->list.entries[it->first + it->count - 1].name.archived_ms < ms; /* sorted by time */
}

/* ---- descriptions ---- */

static int refuse(enum replay_reason *reason, enum replay_reason why)
{
    *reason = why;
    return -1;
}

static int check_identity(
    const struct replay_wish *wish, const struct binlog_segment *segment, enum replay_reason *reason, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf folder;

    strbuf_init(&folder, KM_KIB);
    binlog_folder_of(segment->ns, segment->cluster, segment->cluster_uid, &folder);
    if (!str_eq(folder.buf, wish->folder)) {
        error_set(err, ERROR_PROTOCOL, "it is a segment of %.200s", folder.buf);
        return refuse(reason, REPLAY_DAMAGED);
    }
    bool mariadb = str_eq(segment->flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));
    if (mariadb != (wish->flavour == GTID_MARIADB)) {
        error_set(err, ERROR_PROTOCOL, "it is of %.16s", segment->flavour);
        return refuse(reason, REPLAY_DAMAGED);
    }
    if (segment->sealed == (wish->key != NULL))
        return 0;
    if (segment->sealed)
        error_set(err, ERROR_FORBIDDEN, "it is encrypted (key %s), and no key was given", segment->key_id);
    else
        error_set(err, ERROR_FORBIDDEN, "it is not encrypted, but a key was given: nobody vouches for its content");
    return refuse(reason, REPLAY_KEY);
}

int replay_check_segment(const struct replay_wish *wish, const struct binlog_segment_name *name, const char *text,
    size_t len, struct position_pool *positions, struct binlog_segment *ret, enum replay_reason *ret_reason,
    struct error *err)
{
    char printed[BINLOG_SEGMENT_NAME_SIZE];

    binlog_segment_name_print(name, printed);
    if (binlog_segment_decode(text, len, wish->key, positions, ret, err) < 0) {
        *ret_reason = err->kind == ERROR_FORBIDDEN ? REPLAY_KEY : REPLAY_DAMAGED;
        return error_prefix(err, "%s.json", printed);
    }
    if (binlog_segment_name_compare(&ret->name, name) != 0) {
        *ret_reason = REPLAY_DAMAGED;
        return error_set(err, ERROR_PROTOCOL, "%s.json is that of another segment", printed);
    }
    if (check_identity(wish, ret, ret_reason, err) < 0)
        return error_prefix(err, "%s.json", printed);
    return 0;
}

static void free_meta(struct replay_meta *meta)
{
    if (!meta)
        return;
    gtid_set_free(meta->after);
    gtid_set_free(meta->until);
    free(meta);
}

static int make_meta(struct replay_chain *chain, const struct segment_entry *entry,
    const struct binlog_segment *segment, struct replay_meta **ret, struct error *err)
{
    struct gtid_set *after = gtid_set_parse(chain->wish->flavour, segment->after, err);
    struct gtid_set *until = after ? gtid_set_parse(chain->wish->flavour, segment->until, err) : NULL;

    if (!until) {
        gtid_set_free(after);
        return refuse(&chain->reason, REPLAY_DAMAGED);
    }
    struct replay_meta *meta = xnew(struct replay_meta);
    *meta = (struct replay_meta){
        .name = entry->name,
        .after = after,
        .until = until,
        .first_ms = segment->first_ms,
        .last_ms = segment->last_ms,
        .raw_bytes = segment->raw_bytes,
        .gap = segment->gap,
        .has_log = entry->has_log,
    };
    memcpy(meta->previous, segment->previous, sizeof(meta->previous));
    *ret = meta;
    return 0;
}

static const struct replay_meta *load(struct replay_chain *chain, size_t index, struct error *err)
{
    const struct segment_entry *entry = &chain->list.entries[index];
    _cleanup_(strbuf_release) struct strbuf text = {0};
    struct binlog_segment segment;

    if (chain->metas[index])
        return chain->metas[index];
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    strbuf_init(&text, BINLOG_SEGMENT_META_MAX + 1);
    if (chain->read(chain->arg, &entry->name, &text, err) < 0 ||
        replay_check_segment(chain->wish, &entry->name, text.buf, text.len, positions, &segment, &chain->reason, err) <
            0 ||
        make_meta(chain, entry, &segment, &chain->metas[index], err) < 0)
        return NULL;
    tls_sha256_hex(text.buf, text.len, chain->metas[index]->sha256);
    return chain->metas[index];
}

void replay_chain_drop(struct replay_chain *chain, size_t slot)
{
    const struct replay_slot *it = &chain->slots[slot];

    for (size_t i = it->first; i < it->first + it->count; i++)
        free_meta(steal_ptr(chain->metas[i]));
}

/* ---- which of several counts ---- */

static bool has_successor(const struct replay_chain *chain, size_t slot)
{
    if (slot + 1 >= chain->slot_count)
        return false;
    const struct binlog_segment_name *name = replay_chain_name(chain, slot);
    const struct binlog_segment_name *next = replay_chain_name(chain, slot + 1);
    return next->epoch == name->epoch && next->sequence == name->sequence + 1;
}

static bool goes_further(const struct replay_meta *a, const struct replay_meta *b)
{
    enum gtid_relation relation = gtid_set_compare(a->until, b->until);

    return relation == GTID_SUPERSET || relation == GTID_EQUAL;
}

/* By its successor's word; without one, the furthest. */
static int settle(struct replay_chain *chain, size_t slot, const struct replay_meta *next, struct error *err)
{
    struct replay_slot *it = &chain->slots[slot];
    const struct replay_meta *best = NULL;
    char printed[BINLOG_SEGMENT_NAME_SIZE];

    for (size_t i = it->first; i < it->first + it->count; i++) {
        const struct replay_meta *meta = load(chain, i, err);
        if (!meta)
            return -1;
        if (next ? !str_eq(next->previous, meta->sha256) : best && !goes_further(meta, best))
            continue;
        best = meta;
        it->chosen = (int64_t)i;
    }
    if (it->chosen >= 0)
        return 0;
    binlog_segment_name_print(&next->name, printed);
    error_set(err, ERROR_PROTOCOL, "what %s.json names as the segment before it is not there, or was altered", printed);
    return refuse(&chain->reason, REPLAY_DAMAGED);
}

const struct replay_meta *replay_chain_meta(struct replay_chain *chain, size_t slot, struct error *err)
{
    size_t last = slot;

    while (chain->slots[last].count > 1 && chain->slots[last].chosen < 0 && has_successor(chain, last))
        last++;
    for (size_t i = last + 1; i-- > slot;) {
        struct replay_slot *it = &chain->slots[i];
        const struct replay_meta *next = NULL;
        if (it->count == 1)
            it->chosen = (int64_t)it->first;
        if (it->chosen < 0 && i < last && !(next = load(chain, (size_t)chain->slots[i + 1].chosen, err)))
            return NULL;
        if (it->chosen < 0 && settle(chain, i, next, err) < 0)
            return NULL;
        if (i > slot + 1 && i < last)
            replay_chain_drop(chain, i + 1);
    }
    return load(chain, (size_t)chain->slots[slot].chosen, err);
}

/* ---- limits ---- */

/* The one before the epoch at `limits_from`. */
static int next_limit(struct replay_chain *chain, struct error *err)
{
    const struct replay_epoch *later = &chain->epochs[chain->limits_from];
    struct replay_epoch *earlier = &chain->epochs[chain->limits_from - 1];
    struct gtid_set *limit = NULL;

    /* Whether an epoch's beginning may be missing is the plan's question, where it goes over it. */
    if (replay_chain_name(chain, later->first)->sequence == 1) {
        const struct replay_meta *meta = replay_chain_meta(chain, later->first, err);
        if (!meta)
            return -1;
        limit = gtid_set_intersect(meta->after, later->limit ? later->limit : meta->after);
        replay_chain_drop(chain, later->first);
    } else if (later->limit) {
        limit = gtid_set_intersect(later->limit, later->limit);
    }
    earlier->limit = limit;
    chain->limits_from--;
    return 0;
}

int replay_chain_limit(struct replay_chain *chain, size_t slot, const struct gtid_set **ret, struct error *err)
{
    uint32_t epoch = chain->slots[slot].epoch;

    while (chain->limits_from > epoch) {
        if (next_limit(chain, err) < 0)
            return -1;
    }
    *ret = chain->epochs[epoch].limit;
    return 0;
}

void replay_chain_release(struct replay_chain *chain)
{
    for (size_t i = 0; chain->metas && i < chain->list.count; i++)
        free_meta(chain->metas[i]);
    for (size_t i = 0; i < chain->epoch_count; i++)
        gtid_set_free(chain->epochs[i].limit);
    free(chain->metas);
    segment_list_release(&chain->list);
    free(chain->slots);
    free(chain->epochs);
}
