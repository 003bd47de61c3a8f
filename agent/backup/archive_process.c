/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/archive_process.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <unistd.h>

#include "agent/backup/archive_round.h"
#include "common/alloc.h"
#include "common/json_fields.h"

struct archive_process {
    struct archive_store store;
    struct loop_fd *watch;
    struct archive_task task;
    struct archive_order order;
};

static void end_now(struct archive_process *process)
{
    process->store.cancelled = true;
    loop_fd_free(steal_ptr(process->watch));
}

/* Nothing more is said on it but its end. */
static void on_control(int fd, unsigned what, void *arg)
{
    char byte;

    UNUSED(what);
    ssize_t n = read(fd, &byte, 1);
    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        end_now(arg);
}

static void on_signal(int signum, void *arg)
{
    UNUSED(signum);
    end_now(arg);
}

/* Waits until it is read: words are few. */
static void tell(void *arg, const struct archive_word *word)
{
    _cleanup_(strbuf_release) struct strbuf line;

    UNUSED(arg);
    strbuf_init(&line, ARCHIVE_WORD_MAX);
    archive_word_encode(word, &line);
    while (line.len > 0) {
        ssize_t n = write(STDOUT_FILENO, line.buf, line.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        strbuf_consume(&line, (size_t)n);
    }
}

static int read_words(struct archive_process *process, struct error *err)
{
    struct strbuf rest;
    size_t len = 0;

    strbuf_init(&rest, BACKUP_CHILD_LINE_MAX + ARCHIVE_WORD_MAX);
    int rc = backup_child_read_line(&rest, &len, err);
    if (rc == 0) {
        rc = archive_task_decode(rest.buf, len, &process->task, err);
        OPENSSL_cleanse(rest.buf, len);
        strbuf_consume(&rest, len + 1);
    }
    if (rc == 0)
        rc = backup_child_read_line(&rest, &len, err);
    if (rc == 0)
        rc = archive_order_decode(rest.buf, len, &process->order, err);
    strbuf_release_secret(&rest);
    return rc;
}

static int start(struct archive_process *process, const struct backup_child_options *options, struct error *err)
{
    if (read_words(process, err) < 0)
        return -1;
    process->store.loop = loop_new();
    process->watch = loop_fd_new(process->store.loop, BACKUP_CHILD_FD, LOOP_READABLE, on_control, process);
    loop_on_signal(process->store.loop, SIGTERM, on_signal, process);
    loop_on_signal(process->store.loop, SIGINT, on_signal, process);
    process->store.store = backup_child_open_store(process->store.loop, options, &process->task.store, err);
    return process->store.store ? 0 : -1;
}

static void release(struct archive_process *process)
{
    loop_fd_free(process->watch);
    object_store_free(process->store.store);
    if (process->store.loop)
        loop_free(process->store.loop);
    archive_task_release(&process->task);
    archive_memory_release(&process->order.memory);
}

static void tell_failure(const struct error *err)
{
    struct archive_word word = {.ended = true};

    json_copy_text(word.error_reason, sizeof(word.error_reason), backup_child_reason(err));
    json_copy_text(word.message, sizeof(word.message), err->message);
    tell(NULL, &word);
}

int archive_process_run(const struct backup_child_options *options, const char *data_dir, struct error *err)
{
    struct archive_process process = {0};
    struct archive_word word;
    int rc = -1;

    backup_child_hide();
    if (start(&process, options, err) < 0) {
        tell_failure(err);
    } else {
        struct archive_round round = {
            .store = &process.store, .task = &process.task, .order = &process.order, .data_dir = data_dir, .tell = tell};
        rc = archive_round_run(&round, &word, err);
        tell(NULL, &word);
        archive_memory_release(&word.memory);
    }
    release(&process);
    return rc;
}
