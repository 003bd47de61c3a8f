/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/archive_end.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/backup_seal.h"
#include "common/log.h"
#include "common/tls.h"

/* Names share all but so many digits of the sequence number with those that are listed to confirm what was known. */
#define BLOCK_DIGITS 2
#define BLOCK 100

void archive_end_release(struct archive_end *end)
{
    segment_list_release(&end->names);
    gtid_set_free(end->limit);
    end->limit = NULL;
}

/* ---- descriptions ---- */

static int damaged(struct archive_end *end)
{
    end->damaged = true;
    return -1;
}

static bool is_ours(const struct archive_end *end, const struct binlog_segment *segment)
{
    const struct archive_task *task = end->task;
    bool mariadb = str_eq(segment->flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));

    return str_eq(segment->ns, task->ns) && str_eq(segment->cluster, task->cluster) &&
        str_eq(segment->cluster_uid, task->cluster_uid) && mariadb == (end->flavour == GTID_MARIADB);
}

/* Sealed by the key of today, or not at all if there is none. */
static bool has_our_seal(const struct archive_end *end, const struct binlog_segment *segment)
{
    char key_id[17] = "";

    if (end->task->sealed)
        backup_key_id(end->task->key, key_id);
    return segment->sealed == end->task->sealed && str_eq(segment->key_id, key_id);
}

/* One of another key (it was rotated) is believed what it says: who restores with that key checks it. */
static int check(struct archive_end *end, const struct binlog_segment_name *name, const struct strbuf *text,
    struct position_pool *positions, struct binlog_segment *ret, struct error *err)
{
    if (binlog_segment_decode(text->buf, text->len, NULL, positions, ret, err) < 0)
        return -1;
    if (binlog_segment_name_compare(&ret->name, name) != 0)
        return error_set(err, ERROR_PROTOCOL, "it is that of another segment");
    if (!is_ours(end, ret))
        return error_set(err, ERROR_PROTOCOL, "it is of another cluster");
    if (!ret->sealed || !has_our_seal(end, ret))
        return 0;
    return binlog_segment_decode(text->buf, text->len, end->task->key, positions, ret, err);
}

/* Its positions are taken into the pool. */
static int read_segment(struct archive_end *end, const struct binlog_segment_name *name,
    struct position_pool *positions, struct binlog_segment *ret, char ret_digest[static 65], struct error *err)
{
    char printed[BINLOG_SEGMENT_NAME_SIZE];
    _cleanup_(strbuf_release) struct strbuf text;

    binlog_segment_name_print(name, printed);
    _cleanup_(freep) char *object = xasprintf("%s/%s.json", end->task->folder, printed);
    strbuf_init(&text, BINLOG_SEGMENT_META_MAX);
    if (archive_store_get(end->store, object, BINLOG_SEGMENT_META_MAX, &text, err) < 0)
        return error_prefix(err, "%s.json", printed);
    tls_sha256_hex(text.buf, text.len, ret_digest);
    if (check(end, name, &text, positions, ret, err) == 0)
        return 0;
    error_prefix(err, "%s.json", printed);
    return damaged(end);
}

static struct gtid_set *parse(struct archive_end *end, const char *text, struct error *err)
{
    struct gtid_set *set = gtid_set_parse(end->flavour, text, err);

    if (!set)
        damaged(end); /* its decoder has read it: not to be expected */
    return set;
}

/* ---- names ---- */

struct listing {
    struct segment_list *chain;
    struct error error;
};

static int on_entry(void *arg, const struct object_entry *entry)
{
    struct listing *listing = arg;

    return segment_list_add(listing->chain, entry->name, &listing->error);
}

static int list_under(struct archive_end *end, const char *under, struct segment_list *chain, struct error *err)
{
    struct listing listing = {.chain = chain};

    if (archive_store_list(end->store, under, on_entry, &listing, err) == 0)
        return 0;
    if (listing.error.kind == ERROR_NONE)
        return error_prefix(err, "listing %s", end->task->folder);
    *err = listing.error;
    return damaged(end);
}

static int list_block(
    struct archive_end *end, const struct binlog_segment_name *name, struct segment_list *chain, struct error *err)
{
    char printed[BINLOG_SEGMENT_NAME_SIZE];

    binlog_segment_name_print(name, printed);
    printed[strcspn(printed, "-") + 1 + strcspn(strchr(printed, '-') + 1, "-") - BLOCK_DIGITS] = '\0';
    _cleanup_(freep) char *under = xasprintf("%s/%s", end->task->folder, printed);
    return list_under(end, under, chain, err);
}

int archive_end_confirm(struct archive_end *end, const struct archive_memory *memory, bool *ret, struct error *err)
{
    struct binlog_segment_name next = memory->newest;
    _cleanup_(segment_list_release) struct segment_list chain = {0};
    size_t first = 0;
    size_t last = 0;

    *ret = false;
    if (!memory->known || memory->newest.sequence == 0 || memory->newest.epoch != end->epoch)
        return 0;
    next.sequence++;
    if (list_block(end, &memory->newest, &chain, err) < 0)
        return -1;
    if (next.sequence % BLOCK == 0 && list_block(end, &next, &chain, err) < 0)
        return -1;
    segment_list_sort(&chain);
    if (!archive_chain_newest(&chain, &first, &last))
        return 0;
    for (size_t i = first; i < last; i++) {
        const struct segment_entry *entry = &chain.entries[i];
        *ret |= entry->has_meta && entry->has_log && binlog_segment_name_compare(&entry->name, &memory->newest) == 0;
    }
    return 0;
}

/* ---- the end ---- */

static bool goes_further(enum gtid_flavour flavour, const char *a, const char *b)
{
    _cleanup_(gtid_set_freep) struct gtid_set *left = gtid_set_parse(flavour, a, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *right = gtid_set_parse(flavour, b, NULL);
    enum gtid_relation relation = left && right ? gtid_set_compare(left, right) : GTID_DIVERGED;

    return relation == GTID_SUPERSET || relation == GTID_EQUAL;
}

/* The newest place; of several segments the one that goes further. *positions is replaced. */
static int choose_newest(struct archive_end *end, size_t first, size_t last, struct position_pool **positions,
    size_t *ret_index, struct binlog_segment *ret, char ret_digest[static 65], struct error *err)
{
    bool found = false;

    for (size_t i = first; i < last; i++) {
        const struct segment_entry *entry = &end->names.entries[i];
        _cleanup_(position_pool_unrefp) struct position_pool *own = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
        struct binlog_segment segment;
        char digest[65];
        if (!entry->has_meta || !entry->has_log)
            continue;
        if (read_segment(end, &entry->name, own, &segment, digest, err) < 0)
            return -1;
        if (found && !goes_further(end->flavour, segment.until, ret->until))
            continue;
        found = true;
        *ret = segment;
        position_pool_unref(*positions);
        *positions = position_pool_ref(own);
        *ret_index = i;
        memcpy(ret_digest, digest, sizeof(digest));
    }
    if (found)
        return 0;
    char printed[BINLOG_SEGMENT_NAME_SIZE];
    binlog_segment_name_print(&end->names.entries[first].name, printed);
    error_set(err, ERROR_PROTOCOL, "%s.log is missing", printed);
    return damaged(end);
}

static int find_begin(struct archive_end *end, size_t newest, const struct binlog_segment *segment,
    struct archive_memory *ret, struct error *err)
{
    const struct binlog_segment_name *from = segment->chain.sequence ? &segment->chain : &segment->name;
    size_t begin = archive_chain_begin(&end->names, newest, from);
    _cleanup_(position_pool_unrefp) struct position_pool *own = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
    struct binlog_segment first = *segment;
    char digest[65];

    if (!has_our_seal(end, segment)) {
        position_tell(ret->from_gtid, segment->until);
        ret->from_ms = segment->name.archived_ms;
        return 0;
    }
    if (begin != newest && read_segment(end, &end->names.entries[begin].name, own, &first, digest, err) < 0)
        return -1;
    ret->chain = first.name;
    position_tell(ret->from_gtid, first.after);
    ret->from_ms = first.name.archived_ms;
    ret->gap_ms = first.gap ? first.name.archived_ms : 0;
    return 0;
}

int archive_end_find(struct archive_end *end, struct archive_memory *ret, struct error *err)
{
    _cleanup_(freep) char *under = xasprintf("%s/", end->task->folder);
    _cleanup_(position_pool_unrefp) struct position_pool *positions = NULL;
    struct binlog_segment segment;
    size_t first = 0;
    size_t last = 0;
    size_t newest = 0;

    archive_memory_release(ret);
    segment_list_release(&end->names);
    if (list_under(end, under, &end->names, err) < 0)
        return -1;
    segment_list_sort(&end->names);
    ret->known = true;
    if (!archive_chain_newest(&end->names, &first, &last))
        return 0;
    if (choose_newest(end, first, last, &positions, &newest, &segment, ret->digest, err) < 0)
        return -1;
    if (segment.name.epoch > end->epoch) {
        error_set(err, ERROR_CONFLICT, "the archive has segments of epoch %llu, this primary is of %llu",
            (unsigned long long)segment.name.epoch, (unsigned long long)end->epoch);
        return damaged(end);
    }
    ret->newest = segment.name;
    archive_memory_set_until(ret, segment.until);
    ret->newest_ms = segment.last_ms;
    gtid_set_free(end->limit);
    end->limit = parse(end, segment.after, err);
    end->at = newest;
    end->begins = segment.gap;
    end->limit_told = false;
    memcpy(end->writer, segment.writer, sizeof(end->writer));
    end->last_ms = segment.last_ms;
    return end->limit ? find_begin(end, newest, &segment, ret, err) : -1;
}

/* ---- further back ---- */

static struct gtid_set *copy_of(const struct gtid_set *set)
{
    return gtid_set_intersect(set, set);
}

static bool is_within(const struct gtid_set *a, const struct gtid_set *b)
{
    enum gtid_relation relation = gtid_set_compare(a, b);

    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

/* What the segment at entry `at` says, as far as older ones count. */
static int take_older(
    struct archive_end *end, const struct binlog_segment *segment, struct gtid_set **ret, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *until = parse(end, segment->until, err);
    _cleanup_(gtid_set_freep) struct gtid_set *after = until ? parse(end, segment->after, err) : NULL;

    if (!after)
        return -1;
    end->begins = segment->gap;
    if (gtid_set_compare(until, end->limit) == GTID_SUBSET)
        *ret = copy_of(until);
    if (!is_within(after, end->limit))
        return 0;
    gtid_set_free(end->limit);
    end->limit = steal_ptr(after);
    end->limit_told = false;
    return 0;
}

int archive_end_older(struct archive_end *end, struct gtid_set **ret, struct error *err)
{
    *ret = NULL;
    while (end->limit && !*ret) {
        if (!end->limit_told) {
            end->limit_told = true;
            *ret = copy_of(end->limit);
            return 0;
        }
        while (end->at > 0 && !end->names.entries[end->at - 1].has_meta)
            end->at--;
        if (end->at == 0 || end->begins)
            return 0;
        end->at--;
        _cleanup_(position_pool_unrefp) struct position_pool *own = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
        struct binlog_segment segment;
        char digest[65];
        if (read_segment(end, &end->names.entries[end->at].name, own, &segment, digest, err) < 0 ||
            take_older(end, &segment, ret, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- what was left ---- */

int archive_end_tidy(struct archive_end *end, int64_t now_ms, struct error *err)
{
    _cleanup_(freep) char *under = xasprintf("%s/", end->task->folder);

    for (size_t i = 0; i < end->names.count; i++) {
        const struct segment_entry *entry = &end->names.entries[i];
        char printed[BINLOG_SEGMENT_NAME_SIZE];
        if (!archive_entry_is_orphan(entry, now_ms))
            continue;
        binlog_segment_name_print(&entry->name, printed);
        _cleanup_(freep) char *object = xasprintf("%s%s.log", under, printed);
        log_info("a log that belongs to no segment is removed", LOG_STR("name", object));
        if (archive_store_delete(end->store, object, err) < 0)
            return -1;
    }
    return archive_store_abort_uploads(end->store, under, err);
}
