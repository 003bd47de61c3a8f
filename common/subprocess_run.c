/* SPDX-License-Identifier: Apache-2.0 */
/* subprocess_run.c: the blocking form of subprocess.h. */
#include "common/base.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/subprocess_child.h"

#define READ_CHUNK_BYTES ((size_t)(16 * KM_KIB))
/* A pipe holds at most a MiB; what comes after the end of the child is a grandchild's. */
#define CHUNKS_PER_TURN 64

struct run {
    struct subprocess_child child;
    struct strbuf *out;
    struct strbuf *err_tail;
    const struct subprocess_options *options;
    int64_t deadline_ms; /* 0: none */
    int64_t watch_ms;    /* when to ask options->watch next */
    struct subprocess_result result;
};

static void keep_head(struct strbuf *sb, const char *data, size_t len)
{
    if (sb)
        strbuf_add(sb, data, MIN_OF(len, sb->max - sb->len));
}

static void keep_tail(struct strbuf *sb, const char *data, size_t len)
{
    if (len > sb->max) {
        data += len - sb->max;
        len = sb->max;
    }
    if (sb->len + len > sb->max)
        strbuf_consume(sb, sb->len + len - sb->max);
    strbuf_add(sb, data, len);
}

static void put_off_deadline(struct run *run)
{
    if (run->options->watch && run->deadline_ms > 0 && !run->result.timed_out)
        run->deadline_ms = clock_monotonic_ms() + run->options->timeout_ms;
}

/* Reads what is there; closes at the end. */
static void pump(struct run *run, int *fd, bool is_stdout)
{
    char chunk[READ_CHUNK_BYTES];
    ssize_t n = 1;
    unsigned chunks = 0;
    while (chunks++ < CHUNKS_PER_TURN && ((n = read(*fd, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR))) {
        if (n > 0 && is_stdout)
            keep_head(run->out, chunk, (size_t)n);
        else if (n > 0)
            keep_tail(run->err_tail, chunk, (size_t)n);
        if (n > 0)
            put_off_deadline(run);
    }
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        close(*fd);
        *fd = -1;
    }
}

static int wait_ms(const struct run *run)
{
    int64_t wait = run->child.pid_fd >= 0 ? INT_MAX : SUBPROCESS_POLL_MS;
    if (run->deadline_ms > 0)
        wait = MIN_OF(wait, MAX_OF(run->deadline_ms - clock_monotonic_ms(), 0));
    if (run->options->watch)
        wait = MIN_OF(wait, SUBPROCESS_WATCH_MS);
    return wait == INT_MAX ? -1 : (int)wait;
}

static void enforce_deadline(struct run *run)
{
    if (run->deadline_ms == 0 || clock_monotonic_ms() < run->deadline_ms)
        return;
    subprocess_child_kill(&run->child, run->result.timed_out ? SIGKILL : SIGTERM);
    run->deadline_ms = run->result.timed_out ? 0 : clock_monotonic_ms() + SUBPROCESS_TERM_GRACE_MS;
    run->result.timed_out = true;
    run->child.group_doomed = true;
}

static void ask_watch(struct run *run)
{
    if (!run->options->watch || run->result.enough || run->result.timed_out || clock_monotonic_ms() < run->watch_ms)
        return;
    switch (run->options->watch(run->options->watch_arg)) {
    case SUBPROCESS_WAITS:
        break;
    case SUBPROCESS_ADVANCES:
        put_off_deadline(run);
        break;
    case SUBPROCESS_ENOUGH:
        run->result.enough = true;
        run->child.group_doomed = true;
        subprocess_child_kill(&run->child, SIGKILL);
        break;
    }
    run->watch_ms = clock_monotonic_ms() + SUBPROCESS_WATCH_MS;
}

static void wait_for_end(struct run *run)
{
    bool ended = false;
    while (!ended) {
        struct pollfd fds[] = {
            {.fd = run->child.out_fd, .events = POLLIN},
            {.fd = run->child.err_fd, .events = POLLIN},
            {.fd = run->child.pid_fd, .events = POLLIN},
        };
        poll(fds, ARRAY_LEN(fds), wait_ms(run));
        /* Reaped before the pipes are emptied, so that nothing the child wrote is missed. */
        ended = subprocess_child_reap(&run->child, &run->result);
        if (run->child.out_fd >= 0 && (ended || fds[0].revents))
            pump(run, &run->child.out_fd, true);
        if (run->child.err_fd >= 0 && (ended || fds[1].revents))
            pump(run, &run->child.err_fd, false);
        if (!ended)
            ask_watch(run);
        if (!ended)
            enforce_deadline(run);
    }
}

/* The last line that says something, without its end; text is cut in place. */
static const char *last_line(char *text)
{
    size_t len = strlen(text);
    while (len > 0 && strchr("\r\n\t ", text[len - 1]))
        text[--len] = '\0';
    char *newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

static int report(const struct run *run, const char *program, const char *said, struct error *err)
{
    const char *colon = *said ? ": " : "";
    if (run->result.timed_out)
        return error_set(err, ERROR_TIMEOUT, "%s %s%s%s", program,
            run->options->watch ? "made no progress any more" : "did not end in time", colon, said);
    if (run->result.term_signal)
        return error_set(err, ERROR_IO, "%s was ended by signal %d (%s)%s%s", program, run->result.term_signal,
            strsignal(run->result.term_signal), colon, said);
    if (run->result.exit_code != 0)
        return error_set(err, ERROR_IO, "%s ended with status %d%s%s", program, run->result.exit_code, colon, said);
    return 0;
}

int subprocess_run(const struct subprocess_options *options, struct strbuf *out, struct strbuf *err_tail,
    struct subprocess_result *ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf own_tail;
    strbuf_init(&own_tail, SUBPROCESS_STDERR_MAX);
    struct run run = {.out = out, .err_tail = err_tail ? err_tail : &own_tail, .options = options};
    if (subprocess_child_spawn(&run.child, options, err) < 0)
        return -1;
    if (options->timeout_ms > 0)
        run.deadline_ms = clock_monotonic_ms() + options->timeout_ms;
    wait_for_end(&run);
    subprocess_child_destroy(&run.child);
    if (ret)
        *ret = run.result;
    if (run.result.enough || (!run.result.timed_out && run.result.exit_code == 0))
        return 0;
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, run.err_tail->max);
    strbuf_add(&text, run.err_tail->buf, run.err_tail->len);
    return report(&run, options->argv[0], last_line(text.buf), err);
}
