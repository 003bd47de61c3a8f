/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/slow_log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/mysql/session.h"
#include "common/alloc.h"
#include "common/log.h"
#include "common/worker.h"

#define CONNECT_TIMEOUT_S 2
#define IO_TIMEOUT_S 10

/* ---- the reader ---- */

void slow_reader_init(struct slow_reader *reader, const char *path, int out)
{
    *reader = (struct slow_reader){.path = path, .out = out, .fd = -1, .rest = xmalloc(SLOW_LOG_LINE_MAX)};
}

void slow_reader_release(struct slow_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->rest);
    *reader = (struct slow_reader){.fd = -1};
}

/* Whoever reads it has gone: there is nobody to tell. */
static void put(const struct slow_reader *reader, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t written = write(reader->out, data, len);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        data += written;
        len -= (size_t)written;
    }
}

static void put_line(struct slow_reader *reader)
{
    put(reader, SLOW_LOG_PREFIX, sizeof(SLOW_LOG_PREFIX) - 1);
    put(reader, reader->rest, reader->rest_len);
    put(reader, "\n", 1);
    reader->rest_len = 0;
}

static void take(struct slow_reader *reader, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n') {
            put_line(reader);
            continue;
        }
        reader->rest[reader->rest_len++] = data[i];
        if (reader->rest_len == SLOW_LOG_LINE_MAX)
            put_line(reader);
    }
}

static char *old_path(const struct slow_reader *reader)
{
    return xasprintf("%s.old", reader->path);
}

/* Up to so many bytes; less at its end. */
static void read_some(struct slow_reader *reader, uint64_t limit)
{
    char buf[16 * KM_KIB];

    for (uint64_t done = 0; done < limit;) {
        ssize_t got = read(reader->fd, buf, sizeof(buf));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        take(reader, buf, (size_t)got);
        reader->offset += (uint64_t)got;
        done += (uint64_t)got;
    }
}

/* Somebody has removed it, or emptied it. */
static void look_at_file(struct slow_reader *reader)
{
    struct stat st;

    if (fstat(reader->fd, &st) < 0 || (st.st_nlink == 0 && !reader->renamed)) {
        close(reader->fd);
        reader->fd = -1;
    } else if ((uint64_t)st.st_size < reader->offset) {
        reader->offset = 0;
        (void)(lseek(reader->fd, 0, SEEK_SET) == 0);
    }
}

static void skip_what_is_too_much(struct slow_reader *reader)
{
    char text[96];
    struct stat st;

    if (fstat(reader->fd, &st) < 0 || (uint64_t)st.st_size < reader->offset + SLOW_LOG_BEHIND_MAX)
        return;
    int len = snprintf(text, sizeof(text), "# kube-mysql: %llu bytes are left out",
        (unsigned long long)((uint64_t)st.st_size - reader->offset));
    if (reader->rest_len > 0)
        put_line(reader);
    memcpy(reader->rest, text, (size_t)len);
    reader->rest_len = (size_t)len;
    put_line(reader);
    reader->offset = (uint64_t)st.st_size;
    (void)(lseek(reader->fd, st.st_size, SEEK_SET) == 0);
}

bool slow_reader_turn(struct slow_reader *reader)
{
    if (reader->fd >= 0)
        look_at_file(reader);
    if (reader->fd < 0) {
        reader->fd = open(reader->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        reader->offset = 0;
    }
    if (reader->fd < 0)
        return false;
    skip_what_is_too_much(reader);
    read_some(reader, SLOW_LOG_TURN_BYTES);
    if (!reader->renamed && reader->offset >= SLOW_LOG_ROTATE_BYTES) {
        _cleanup_(freep) char *old = old_path(reader);
        reader->renamed = rename(reader->path, old) == 0;
    }
    return reader->renamed;
}

void slow_reader_rotated(struct slow_reader *reader)
{
    _cleanup_(freep) char *old = old_path(reader);

    read_some(reader, SLOW_LOG_BEHIND_MAX);
    close(reader->fd);
    unlink(old);
    reader->fd = -1;
    reader->renamed = false;
}

/* ---- the thread ---- */

struct slow_log {
    struct worker *worker;
    struct loop_timer timer;
    struct session_options options;
    bool running;
    struct slow_reader reader; /* from submit to done the thread's */
};

static int begin_new_file(const struct slow_log *log, struct error *err)
{
    struct session *session = session_open(&log->options, err);
    int rc = session ? session_exec(session, "FLUSH LOCAL SLOW LOGS", err) : -1;

    session_close(session);
    return rc;
}

/* A server that does not answer goes on with the renamed one, which is read meanwhile. */
static void run(void *arg)
{
    struct slow_log *log = arg;
    struct error err = ERROR_INIT;

    if (!slow_reader_turn(&log->reader))
        return;
    if (begin_new_file(log, &err) == 0)
        slow_reader_rotated(&log->reader);
    else
        log_warn("the slow query log cannot be rotated yet", LOG_ERR(&err));
}

static void done(void *arg)
{
    ((struct slow_log *)arg)->running = false;
}

static void on_timer(void *arg)
{
    struct slow_log *log = arg;
    struct worker_job job = {.run = run, .done = done, .arg = log};

    loop_timer_arm(&log->timer, SLOW_LOG_INTERVAL_MS);
    if (log->running)
        return;
    log->running = true;
    if (worker_submit(log->worker, &job) < 0)
        abort(); /* one at a time cannot fill the queue */
}

struct slow_log *slow_log_new(struct loop *loop, const struct agent_paths *paths, const char *user, int fd)
{
    struct slow_log *log = xnew(struct slow_log);

    log->worker = worker_new(loop, "slow log");
    log->options = (struct session_options){
        .socket = paths->socket, .user = user, .connect_timeout_s = CONNECT_TIMEOUT_S, .io_timeout_s = IO_TIMEOUT_S};
    slow_reader_init(&log->reader, paths->slow_log, fd);
    loop_timer_init(&log->timer, loop, on_timer, log);
    loop_timer_arm(&log->timer, SLOW_LOG_INTERVAL_MS);
    return log;
}

void slow_log_free(struct slow_log *log)
{
    if (!log)
        return;
    loop_timer_release(&log->timer);
    worker_free(log->worker);
    slow_reader_release(&log->reader);
    free(log);
}
