/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/archive_round.h"

#include "agent/backup/archive_end.h"
#include "agent/backup/archive_logs.h"
#include "agent/backup/archive_segment.h"
#include "agent/backup/backup_child.h"
#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/json_fields.h"
#include "common/log.h"

/* The server removed the oldest log between two looks: everything is looked at again. */
#define TRIES 3

struct running {
    const struct archive_round *round;
    struct archive_word *word;
    enum gtid_flavour flavour;
    struct archive_end end;
    struct archive_logs logs;
    struct gtid_set *position; /* what is archived, with what the segment holds */
    char *after;
    struct archive_segment segment;
    bool gap;       /* the next segment is the other side of one */
    bool unsettled; /* the archive has what this server does not, and no segment says so yet */
    bool logs_failed, store_failed, full;
    /* The log that is being read. */
    const char *path;
    struct binlog_head head;
    uint64_t offset;
};

/* ---- one segment ---- */

/* As the member `key` of a description. *ret is replaced. */
static int print_position(const char *key, const struct gtid_set *set, char **ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, POSITION_TEXT_MAX);
    gtid_set_print(set, &text);
    if (text.overflowed)
        return error_set(err, ERROR_TOO_LARGE, "%s: the GTID set has more than %zu bytes", key, POSITION_TEXT_MAX);
    str_replace(ret, str_or_empty(text.buf));
    return 0;
}

static void describe(const struct running *running, struct binlog_segment *segment)
{
    const struct archive_task *task = running->round->task;
    const struct archive_order *order = running->round->order;
    const struct archive_memory *memory = &running->word->memory;

    *segment = (struct binlog_segment){
        .name = archive_name_next(&memory->newest, order->epoch, clock_realtime_ms(), order->named_after_ms),
        .gap = running->gap,
    };
    segment->chain = running->gap || memory->chain.sequence == 0 ? segment->name : memory->chain;
    memcpy(segment->ns, task->ns, sizeof(segment->ns));
    memcpy(segment->cluster, task->cluster, sizeof(segment->cluster));
    memcpy(segment->cluster_uid, task->cluster_uid, sizeof(segment->cluster_uid));
    memcpy(segment->writer, order->writer, sizeof(segment->writer));
    memcpy(segment->flavour, order->flavour, sizeof(segment->flavour));
    memcpy(segment->server_version, order->server_version, sizeof(segment->server_version));
    segment->after = running->after;
    if (segment->name.sequence > 1)
        memcpy(segment->previous, memory->digest, sizeof(segment->previous));
}

static void remember(struct running *running, const struct binlog_segment *segment, const char *digest)
{
    struct archive_memory *memory = &running->word->memory;

    memory->newest = segment->name;
    memcpy(memory->digest, digest, sizeof(memory->digest));
    archive_memory_set_until(memory, segment->until);
    memory->newest_ms = segment->last_ms;
    memory->chain = segment->chain;
    if (binlog_segment_name_compare(&segment->chain, &segment->name) == 0) {
        position_tell(memory->from_gtid, segment->after);
        memory->from_ms = segment->name.archived_ms;
    }
    if (segment->gap)
        memory->gap_ms = segment->name.archived_ms;
    running->word->segments++;
    running->word->stored_bytes += segment->stored_bytes;
}

static void remember_log(struct running *running)
{
    struct archive_memory *memory = &running->word->memory;

    json_copy_text(memory->file, sizeof(memory->file), strrchr(running->path, '/') + 1);
    memory->offset = running->offset;
    memory->head = archive_head_hash(&running->head);
}

static int write_segment(struct running *running, struct error *err)
{
    const struct archive_round *round = running->round;
    _cleanup_(freep) char *until = NULL;
    struct binlog_segment described;
    char digest[65];

    running->store_failed = true;
    describe(running, &described);
    if (print_position("until", running->position, &until, err) < 0) {
        running->logs_failed = true;
        return -1;
    }
    described.until = until;
    if (archive_segment_write(
            &running->segment, round->store, round->task, &described, digest, &running->logs_failed, err) < 0)
        return -1;
    running->store_failed = running->unsettled = running->gap = false;
    remember(running, &described, digest);
    remember_log(running);
    str_replace(&running->after, until);
    archive_segment_reset(&running->segment);
    round->tell(round->arg, running->word);
    return 0;
}

/* ---- reading ---- */

static int on_transaction(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct running *running = arg;

    if (!gtid_set_contains(running->position, &transaction->gtid)) {
        if (!archive_segment_has_room(&running->segment, transaction) && write_segment(running, err) < 0)
            return -1;
        running->full = running->word->segments >= ARCHIVE_ROUND_SEGMENTS;
        if (running->full)
            return error_set(err, ERROR_CANCELLED, "the round is full");
        gtid_set_add(running->position, &transaction->gtid);
        archive_segment_add(&running->segment, running->path, &running->head, transaction);
    }
    running->offset = transaction->to;
    return 0;
}

static int read_log(struct running *running, const char *path, uint64_t offset, struct error *err)
{
    binlog_head_release(&running->head);
    running->path = path;
    running->offset = offset;
    return binlog_file_scan_from(path, running->flavour, offset, &running->head, on_transaction, running, err);
}

static int read_logs(struct running *running, size_t first, uint64_t offset, struct error *err)
{
    for (size_t i = first; i < running->logs.files.n; i++) {
        if (read_log(running, running->logs.files.v[i], i == first ? offset : 0, err) == 0)
            continue;
        running->logs_failed |= !running->store_failed;
        return running->full ? 0 : -1;
    }
    if (running->segment.count > 0 && write_segment(running, err) < 0)
        return -1;
    if (running->unsettled)
        *running->word->memory.file = '\0'; /* what the archive has is not where these logs were read to */
    else
        remember_log(running);
    return 0;
}

/* ---- where to begin ---- */

static int older(void *arg, struct gtid_set **ret, struct error *err)
{
    return archive_end_older(arg, ret, err);
}

/* A file of that name with that beginning is still there: everything before the offset is archived. */
static bool find_remembered(struct running *running, const struct archive_memory *memory, size_t *ret_file)
{
    for (size_t i = 0; *memory->file && i < running->logs.files.n; i++) {
        const char *path = running->logs.files.v[i];
        struct binlog_head head;
        if (!str_eq(strrchr(path, '/') + 1, memory->file))
            continue;
        bool same = binlog_file_scan(path, running->flavour, &head, NULL, NULL, NULL) == 0 &&
            archive_head_hash(&head) == memory->head;
        binlog_head_release(&head);
        *ret_file = i;
        return same;
    }
    return false;
}

static int open_logs(struct running *running, struct error *err)
{
    running->logs_failed = true;
    archive_logs_release(&running->logs);
    if (archive_logs_open(running->round->data_dir, running->flavour, &running->logs, err) < 0)
        return -1;
    running->logs_failed = false;
    return 0;
}

static int take_position(struct running *running, struct gtid_set *position, struct error *err)
{
    gtid_set_free(running->position);
    running->position = position;
    if (print_position("after", position, &running->after, err) == 0)
        return 0;
    running->logs_failed = true;
    return -1;
}

/* *ret false: what the round before knew is not enough. */
static int go_on(struct running *running, bool *ret, struct error *err)
{
    const struct archive_memory *memory = &running->round->order->memory;
    size_t file = 0;

    *ret = false;
    if (!*memory->file)
        return 0;
    if (archive_end_confirm(&running->end, memory, ret, err) < 0)
        return -1;
    if (!*ret)
        return 0;
    if (open_logs(running, err) < 0)
        return -1;
    struct gtid_set *position = gtid_set_parse(running->flavour, str_or_empty(memory->until), NULL);
    *ret = position && find_remembered(running, memory, &file);
    if (!*ret) {
        gtid_set_free(position);
        return 0;
    }
    archive_memory_keep(&running->word->memory, memory);
    if (take_position(running, position, err) < 0)
        return -1;
    return read_logs(running, file, memory->offset, err);
}

static void tidy(struct running *running)
{
    struct error err = ERROR_INIT;

    if (archive_end_tidy(&running->end, clock_realtime_ms(), &err) < 0)
        log_warn("what was left in the archive could not be removed", LOG_ERR(&err));
}

static int find_start(struct running *running, struct archive_start *start, struct error *err)
{
    const struct archive_memory *memory = &running->word->memory;
    bool empty = memory->newest.sequence == 0;
    _cleanup_(gtid_set_freep) struct gtid_set *archived =
        empty ? NULL : gtid_set_parse(running->flavour, str_or_empty(memory->until), err);
    bool own = !empty && str_eq(running->end.writer, running->round->order->writer);
    _cleanup_(gtid_set_freep) struct gtid_set *own_after =
        own ? gtid_set_intersect(running->end.limit, running->end.limit) : NULL; /* going back changes it */
    struct archive_wish wish = {
        .archived = archived,
        .executed = str_or_empty(running->round->order->executed),
        .own_after = own_after,
        .own_last_s = running->end.last_ms / 1000,
        .older = older,
        .arg = &running->end,
    };

    if (!empty && !archived)
        return -1;
    /* What it has is not known then, and what is not known must not count as nothing. */
    if (!position_is_whole(wish.executed)) {
        running->logs_failed = true;
        return error_set(err, ERROR_TOO_LARGE, "executed: the GTID set has more than %zu bytes", POSITION_TEXT_MAX);
    }
    if (open_logs(running, err) < 0)
        return -1;
    if (archive_logs_find(&running->logs, &wish, start, err) < 0) {
        running->logs_failed = !running->end.damaged && !running->round->store->cancelled;
        return -1;
    }
    /* Within an epoch a segment begins where the one before it ends, or on the other side of a gap. */
    bool same_epoch = memory->newest.epoch == running->round->order->epoch;
    running->gap = !empty && (!start->agrees || (start->rewound && same_epoch));
    running->unsettled = running->gap || start->rewound;
    if (running->gap)
        log_warn("there is a gap between the archive and the binary logs", LOG_STR("archived", memory->until));
    return take_position(running, steal_ptr(start->after), err);
}

static int begin_anew(struct running *running, struct error *err)
{
    _cleanup_(archive_start_release) struct archive_start start = {0};

    if (archive_end_find(&running->end, &running->word->memory, err) < 0)
        return -1;
    tidy(running);
    if (find_start(running, &start, err) < 0)
        return -1;
    return read_logs(running, start.file, start.offset, err);
}

/* ---- the round ---- */

static int run_once(struct running *running, struct error *err)
{
    bool known = false;

    error_clear(err);
    archive_segment_reset(&running->segment);
    running->logs_failed = running->store_failed = running->full = running->gap = running->unsettled = false;
    running->end.damaged = false;
    if (go_on(running, &known, err) < 0)
        return -1;
    return known ? 0 : begin_anew(running, err);
}

static const char *reason_of(const struct running *running, const struct error *err)
{
    if (running->logs_failed && err->kind != ERROR_CANCELLED)
        return "BinlogsUnreadable";
    return running->end.damaged ? "ArchiveDamaged" : backup_child_reason(err);
}

static void release(struct running *running)
{
    archive_end_release(&running->end);
    archive_logs_release(&running->logs);
    gtid_set_free(running->position);
    archive_segment_reset(&running->segment);
    binlog_head_release(&running->head);
    free(running->after);
}

int archive_round_run(const struct archive_round *round, struct archive_word *ret, struct error *err)
{
    bool mariadb = str_eq(round->order->flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));
    struct running running = {.round = round, .word = ret, .flavour = mariadb ? GTID_MARIADB : GTID_MYSQL};
    int rc = -1;

    *ret = (struct archive_word){.began_ms = clock_realtime_ms()};
    strvec_init(&running.logs.files);
    running.end = (struct archive_end){
        .store = round->store, .task = round->task, .flavour = running.flavour, .epoch = round->order->epoch};
    for (int i = 0; i < TRIES; i++) {
        rc = run_once(&running, err);
        if (rc == 0 || !running.logs_failed || err->kind != ERROR_NOT_FOUND || ret->segments > 0)
            break;
    }
    ret->ended = true;
    ret->full = running.full;
    if (rc < 0) {
        json_copy_text(ret->error_reason, sizeof(ret->error_reason), reason_of(&running, err));
        json_copy_text(ret->message, sizeof(ret->message), err->message);
    }
    release(&running);
    return rc;
}
