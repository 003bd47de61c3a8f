/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/replay_process.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "agent/backup/replay_fetch.h"
#include "agent/backup/replay_plan.h"
#include "agent/backup/replay_store.h"
#include "agent/backup/replay_word.h"
#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/log.h"

struct replay_process {
    struct replay_store store;
    struct backup_task task;
    struct replay_told told;
    struct position_pool *positions; /* of that */
    struct strbuf rest;              /* of descriptor 3 */
    struct replay_wish wish;
    struct replay_plan *plan;
    struct replay_fetch *fetch;
    struct replay_word word; /* what was said last */
    uint64_t applied;
    enum replay_reason reason;
    struct error error;
};

/* ---- words ---- */

static void say(const struct replay_word *word)
{
    _cleanup_(strbuf_release) struct strbuf line;

    strbuf_init(&line, REPLAY_LINE_MAX);
    replay_word_encode(word, &line);
    for (size_t at = 0; at < line.len;) {
        ssize_t n = write(STDERR_FILENO, line.buf + at, line.len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return; /* nobody listens: the next read of descriptor 3 ends it */
        at += (size_t)n;
    }
}

static const char *line_end(const struct strbuf *text)
{
    return text->len ? memchr(text->buf, '\n', text->len) : NULL;
}

/* Blocking. One line of descriptor 3. */
static int hear(struct replay_process *process, struct strbuf *line, struct error *err)
{
    char chunk[KM_KIB];
    const char *end;

    while (!(end = line_end(&process->rest))) {
        ssize_t n = read(BACKUP_CHILD_FD, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_set_errno(err, errno, "reading descriptor %d", BACKUP_CHILD_FD);
        if (n == 0)
            return error_set(err, ERROR_CANCELLED, "init has gone");
        strbuf_add(&process->rest, chunk, (size_t)n);
        if (process->rest.overflowed)
            return error_set(err, ERROR_TOO_LARGE, "a word of init is too long");
    }
    size_t len = (size_t)(end - process->rest.buf);
    strbuf_add(line, process->rest.buf, len);
    strbuf_consume(&process->rest, len + 1);
    return 0;
}

/* Words that wait are taken; more are waited for while too many batches lie there. */
static int await_applied(struct replay_process *process, struct error *err)
{
    for (;;) {
        struct pollfd poll_fd = {.fd = BACKUP_CHILD_FD, .events = POLLIN};
        bool must = process->word.number >= process->applied + REPLAY_BATCHES_AHEAD;
        bool waits = line_end(&process->rest) != NULL;
        if (!must && !waits && poll(&poll_fd, 1, 0) == 0)
            return 0;
        _cleanup_(strbuf_release) struct strbuf line;
        strbuf_init(&line, REPLAY_LINE_MAX);
        if (hear(process, &line, err) < 0)
            return -1;
        process->applied++;
    }
}

/* ---- the plan ---- */

static int on_name(void *arg, const char *name, struct error *err)
{
    struct replay_process *process = arg;

    return replay_plan_add(process->plan, name, err);
}

static int read_meta(void *arg, const struct binlog_segment_name *name, struct strbuf *out, struct error *err)
{
    struct replay_process *process = arg;
    char printed[BINLOG_SEGMENT_NAME_SIZE];

    binlog_segment_name_print(name, printed);
    _cleanup_(freep) char *object = xasprintf("%s/%s.json", process->wish.folder, printed);
    if (replay_store_get(&process->store, object, BINLOG_SEGMENT_META_MAX, out, err) == 0)
        return 0;
    return error_prefix(err, "%s", object);
}

static int make_plan(struct replay_process *process, struct error *err)
{
    _cleanup_(freep) char *under = xasprintf("%s/", process->wish.folder);

    process->plan = replay_plan_new(&process->wish, err);
    if (!process->plan)
        return -1;
    if (replay_store_list(&process->store, under, on_name, process, err) < 0)
        return error_prefix(err, "%s", under);
    if (replay_plan_make(process->plan, read_meta, process, err) < 0) {
        process->reason = replay_plan_reason(process->plan);
        /* What was listed and is not there any more was cleared away meanwhile. */
        if (process->reason == REPLAY_STORE_FAILED && err->kind == ERROR_NOT_FOUND)
            process->reason = REPLAY_GAP;
        return -1;
    }
    process->word.said = REPLAY_SAID_PLAN;
    process->word.segments = replay_plan_count(process->plan);
    process->word.total_bytes = replay_plan_raw_bytes(process->plan);
    say(&process->word);
    return 0;
}

/* ---- batches ---- */

static void note_reached(struct replay_process *process)
{
    const struct replay_cut *cut = replay_fetch_cut(process->fetch);

    position_pool_unref(process->word.positions);
    process->word.positions = position_pool_new(POSITION_TEXT_MAX);
    process->word.gtid = position_print(process->word.positions, replay_cut_reached(cut));
    process->word.at_ms = replay_cut_reached_ms(cut);
}

static int end_batch(struct replay_process *process, struct error *err)
{
    uint64_t number = 0;

    if (replay_fetch_end_batch(process->fetch, &number, err) < 0)
        return -1;
    if (number == 0)
        return 0;
    process->word.said = REPLAY_SAID_BATCH;
    process->word.number = number;
    note_reached(process);
    if (!position_is_whole(process->word.gtid))
        return error_set(err, ERROR_TOO_LARGE, "the position has more than %zu bytes", POSITION_TEXT_MAX);
    say(&process->word);
    return 0;
}

static int fetch_all(struct replay_process *process, struct error *err)
{
    const struct replay_cut *cut = replay_fetch_cut(process->fetch);

    for (size_t i = 0; i < replay_plan_count(process->plan) && !replay_cut_stopped(cut); i++) {
        const struct replay_step *step = replay_plan_step(process->plan, i);
        if (await_applied(process, err) < 0 || replay_fetch_step(process->fetch, step, &process->reason, err) < 0)
            return -1;
        process->word.segment = i + 1;
        process->word.bytes += step->raw_bytes;
        if (replay_fetch_is_full(process->fetch) && end_batch(process, err) < 0)
            return -1;
    }
    if (replay_plan_count(process->plan) > 0 && replay_cut_check(cut, &process->reason, err) < 0)
        return -1;
    return end_batch(process, err);
}

static int run(struct replay_process *process, struct error *err)
{
    const struct replay_fetch_options fetch = {
        .store = &process->store, .wish = &process->wish, .dir = process->told.spool};

    if (make_plan(process, err) < 0)
        return -1;
    if (*process->told.spool) {
        process->fetch = replay_fetch_new(&fetch, err);
        if (!process->fetch || fetch_all(process, err) < 0)
            return -1;
        note_reached(process);
    }
    process->word.said = REPLAY_SAID_END;
    say(&process->word);
    return 0;
}

/* ---- life ---- */

static int prepare(struct replay_process *process, const struct backup_child_options *options, struct error *err)
{
    const struct backup_task *task = &process->task;
    _cleanup_(strbuf_release) struct strbuf line;

    strbuf_init(&line, REPLAY_LINE_MAX);
    if (backup_child_read_task(&process->task, &process->rest, err) < 0 || hear(process, &line, err) < 0 ||
        replay_told_decode(line.buf, line.len, process->positions, &process->told, err) < 0)
        return -1;
    if (!task->binlogs_folder)
        return error_set(err, ERROR_INVALID, "the task names no folder of binary logs");
    bool mariadb = str_eq(process->told.flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB));
    process->wish = (struct replay_wish){
        .flavour = mariadb ? GTID_MARIADB : GTID_MYSQL,
        .folder = task->binlogs_folder,
        .gtid = str_or_empty(process->told.gtid),
        .backup_ms = process->told.backup_ms,
        .until_gtid = str_or_empty(task->until_gtid),
        .until_ms = task->until_ms,
        .key = task->sealed ? task->key : NULL,
    };
    process->store.loop = loop_new();
    process->store.store = backup_child_open_store(process->store.loop, options, &task->store, err);
    return process->store.store ? 0 : -1;
}

/* What went wrong on this side of the store is not the store's fault. */
static const char *reason_of(const struct replay_process *process)
{
    switch (process->error.kind) {
    case ERROR_TOO_LARGE:
        return "VolumeTooSmall";
    case ERROR_IO:
    case ERROR_INTERNAL:
        return "ToolFailed";
    default:
        return backup_child_reason(&process->error);
    }
}

static void say_failed(struct replay_process *process)
{
    struct replay_word word = {.said = REPLAY_SAID_FAILED};
    const char *reason = replay_reason_names[process->reason];

    snprintf(word.reason, sizeof(word.reason), "%s", *reason ? reason : reason_of(process));
    snprintf(word.message, sizeof(word.message), "%s", process->error.message);
    say(&word);
}

int replay_process_run(const struct backup_child_options *options, struct error *err)
{
    struct replay_process *process = xnew(struct replay_process);

    backup_child_hide();
    strbuf_init(&process->rest, BACKUP_CHILD_LINE_MAX + REPLAY_LINE_MAX);
    process->positions = position_pool_new(POSITION_TEXT_MAX);
    int rc = prepare(process, options, &process->error);
    if (rc == 0)
        rc = run(process, &process->error);
    if (rc < 0) {
        say_failed(process);
        *err = process->error;
    }
    replay_fetch_free(process->fetch);
    replay_plan_free(process->plan);
    object_store_free(process->store.store);
    if (process->store.loop)
        loop_free(process->store.loop);
    strbuf_release_secret(&process->rest);
    backup_task_release(&process->task);
    replay_word_release(&process->word);
    position_pool_unref(process->positions);
    free(process);
    return rc;
}
