/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/upload_process.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <unistd.h>

#include "agent/backup/dump_position.h"
#include "agent/backup/upload.h"
#include "common/alloc.h"

#define PIPE_BYTES (1 * KM_MIB)
#define WORDS_CHUNK 4096

struct upload_process {
    struct loop *loop;
    struct backup_task task;
    struct object_store *store;
    struct upload *upload;
    struct loop_fd *data_watch; /* while there is room */
    struct loop_fd *word_watch;
    struct loop_timer tell;
    struct strbuf words;       /* of the agent, not a whole line yet */
    struct backup_word word;   /* the commit */
    struct dump_position dump; /* logical: the dump's own word, for a commit without one */
    bool committed, data_ended;
    struct error error;
};

static void tell(struct upload_process *process, bool wait)
{
    backup_child_tell(STDOUT_FILENO, upload_report(process->upload), wait);
}

static void on_tell(void *arg)
{
    struct upload_process *process = arg;

    tell(process, false);
    loop_timer_arm(&process->tell, BACKUP_CHILD_TELL_MS);
}

static void abort_upload(struct upload_process *process, const char *why)
{
    struct error err = ERROR_INIT;

    error_set(&err, ERROR_CANCELLED, "%s", why);
    loop_fd_free(steal_ptr(process->data_watch));
    upload_abort(process->upload, &err);
}

/* The agent may have seen the tool's end before all of its data was read here. */
static void commit_if_complete(struct upload_process *process)
{
    if (!process->committed || !process->data_ended)
        return;
    struct backup_commit *commit = &process->word.commit;
    if (str_empty(commit->gtid) && process->task.method == BACKUP_METHOD_LOGICAL && !process->dump.found) {
        abort_upload(process, "gtid: the dump does not tell which transactions it holds, or its GTID set is too long");
        return;
    }
    if (str_empty(commit->gtid))
        commit->gtid = process->dump.gtid;
    upload_commit(process->upload, commit);
}

/* ---- the tool's data ---- */

static void watch_data(struct upload_process *process);

static void on_data(int fd, unsigned what, void *arg)
{
    static char chunk[PACK_FEED_MAX];
    struct upload_process *process = arg;
    size_t room = upload_room(process->upload);

    UNUSED(what);
    if (room == 0) {
        loop_fd_free(steal_ptr(process->data_watch));
        return;
    }
    ssize_t n = read(fd, chunk, MIN_OF(room, sizeof(chunk)));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0) {
        abort_upload(process, "the tool's data cannot be read");
        return;
    }
    if (n > 0) {
        if (process->task.method == BACKUP_METHOD_LOGICAL)
            dump_position_feed(&process->dump, chunk, (size_t)n);
        upload_feed(process->upload, chunk, (size_t)n);
        return;
    }
    process->data_ended = true;
    dump_position_end(&process->dump);
    loop_fd_free(steal_ptr(process->data_watch));
    upload_end_data(process->upload);
    commit_if_complete(process);
}

static void watch_data(struct upload_process *process)
{
    if (!process->data_watch && !process->data_ended && upload_room(process->upload) > 0)
        process->data_watch = loop_fd_new(process->loop, STDIN_FILENO, LOOP_READABLE, on_data, process);
}

static void on_changed(void *arg)
{
    watch_data(arg);
}

/* ---- the agent's words ---- */

static void take_word(struct upload_process *process, const char *line, size_t len)
{
    struct backup_word word = {0};

    if (backup_word_decode(line, len, &word, NULL) < 0) {
        abort_upload(process, "the agent is not understood");
        return;
    }
    if (word.has_keys)
        object_store_set_keys(process->store, word.keys.access_key, word.keys.secret_key, word.keys.session_token);
    if (!word.is_commit || process->committed) {
        backup_word_release(&word);
        return;
    }
    process->committed = true;
    process->word = word;
    commit_if_complete(process);
}

static void take_words(struct upload_process *process)
{
    const char *end;

    while ((end = memchr(process->words.buf, '\n', process->words.len))) {
        size_t len = (size_t)(end - process->words.buf);
        take_word(process, process->words.buf, len);
        OPENSSL_cleanse(process->words.buf, len);
        strbuf_consume(&process->words, len + 1);
    }
}

static void on_word(int fd, unsigned what, void *arg)
{
    struct upload_process *process = arg;
    char chunk[WORDS_CHUNK];

    UNUSED(what);
    ssize_t n = read(fd, chunk, sizeof(chunk));
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0) {
        strbuf_add(&process->words, chunk, (size_t)n);
        OPENSSL_cleanse(chunk, sizeof(chunk));
        take_words(process);
        return;
    }
    loop_fd_free(steal_ptr(process->word_watch));
    if (!process->committed)
        abort_upload(process, "it was ended before the tool's data was complete");
}

static void on_signal(int signum, void *arg)
{
    UNUSED(signum);
    abort_upload(arg, "it was ended by a signal");
}

/* ---- life ---- */

static void on_ended(void *arg, const struct error *err)
{
    struct upload_process *process = arg;

    if (err)
        process->error = *err;
    loop_stop(process->loop);
}

static void start(struct upload_process *process)
{
    struct upload_options options = {
        .loop = process->loop,
        .store = process->store,
        .task = &process->task,
        .part_bytes = BACKUP_PART_BYTES,
        .piece_bytes = BACKUP_PIECE_BYTES,
        .changed = on_changed,
        .ended = on_ended,
        .arg = process,
    };

    (void)(fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK) < 0);
    (void)(fcntl(STDIN_FILENO, F_SETPIPE_SZ, (int)PIPE_BYTES) < 0);
    (void)(fcntl(BACKUP_CHILD_FD, F_SETFL, O_NONBLOCK) < 0);
    process->upload = upload_new(&options);
    process->word_watch = loop_fd_new(process->loop, BACKUP_CHILD_FD, LOOP_READABLE, on_word, process);
    loop_timer_init(&process->tell, process->loop, on_tell, process);
    loop_timer_arm(&process->tell, 0);
    loop_on_signal(process->loop, SIGTERM, on_signal, process);
    loop_on_signal(process->loop, SIGINT, on_signal, process);
    watch_data(process);
    take_words(process); /* that came together with the task */
}

static void stop(struct upload_process *process)
{
    loop_timer_release(&process->tell);
    loop_fd_free(process->data_watch);
    loop_fd_free(process->word_watch);
    upload_free(process->upload);
    object_store_free(process->store);
    if (process->loop)
        loop_free(process->loop);
    strbuf_release_secret(&process->words);
    dump_position_release(&process->dump);
    backup_word_release(&process->word);
    backup_task_release(&process->task);
}

/* Before there is an upload there is nothing to clean; but a last word is owed. */
static void tell_failure(const struct upload_process *process, const struct error *err)
{
    struct backup_report report = {0};

    memcpy(report.id, process->task.id, sizeof(report.id));
    backup_report_fail(&report, backup_child_reason(err), err->message);
    backup_child_tell(STDOUT_FILENO, &report, true);
}

int upload_process_run(const struct backup_child_options *options, struct error *err)
{
    struct upload_process process = {0};

    backup_child_hide();
    strbuf_init(&process.words, BACKUP_CHILD_LINE_MAX);
    dump_position_init(&process.dump);
    if (backup_child_read_task(&process.task, &process.words, &process.error) == 0) {
        process.loop = loop_new();
        process.store = backup_child_open_store(process.loop, options, &process.task.store, &process.error);
    }
    if (process.store) {
        start(&process);
        loop_run(process.loop);
        tell(&process, true);
    } else {
        tell_failure(&process, &process.error);
    }
    stop(&process);
    if (process.error.kind == ERROR_NONE)
        return 0;
    *err = process.error;
    return -1;
}
