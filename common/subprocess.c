/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/subprocess.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/subprocess_child.h"

/* Chunks of one pipe that are handed out in one turn, so that a chatty child cannot starve the loop. */
#define CHUNKS_PER_TURN 16
/* A pipe holds at most a MiB; what comes after that is a grandchild's. */
#define CHUNKS_AT_END 64
#define STDERR_LINE_MAX ((size_t)(4 * KM_KIB))

struct subprocess {
    struct loop *loop;
    struct subprocess_child child;
    struct subprocess_ops ops;
    void *arg;
    struct loop_fd *out_watch;
    struct loop_fd *err_watch;
    struct loop_fd *exit_watch;
    struct loop_fd *in_watch;
    struct loop_fd *control_watch;
    struct loop_timer exit_poll;
    struct loop_timer deadline;
    struct strbuf control; /* what waits for the control pipe; secret */
    struct strbuf line;    /* of standard error, begun but not ended */
    struct subprocess_result result;
    bool paused;       /* standard output */
    bool ended;        /* reaped, but what it wrote is held back */
    bool control_ends; /* once nothing waits for it */
    bool in_callback;
    bool freed; /* by a callback: nothing more is called, the outermost frame frees */
};

const char *subprocess_name(const char *const *argv)
{
    const char *slash = strrchr(argv[0], '/');

    if (str_eq(argv[0], "/proc/self/exe") && argv[1])
        return argv[1];
    return slash ? slash + 1 : argv[0];
}

/* ---- callbacks that may free the process ---- */

static void give_data(struct subprocess *process, const char *data, size_t len)
{
    if (!process->freed && process->ops.stdout_data)
        process->ops.stdout_data(process->arg, data, len);
}

static void give_line(struct subprocess *process)
{
    if (!process->freed && process->ops.stderr_line && process->line.len > 0)
        process->ops.stderr_line(process->arg, process->line.buf);
    strbuf_reset(&process->line);
}

static void give_stderr(struct subprocess *process, const char *data, size_t len)
{
    for (size_t i = 0; i < len && !process->freed; i++) {
        if (data[i] != '\n' && data[i] != '\r' && data[i] != '\0')
            strbuf_addc(&process->line, data[i]);
        if (data[i] == '\n' || process->line.len == process->line.max)
            give_line(process);
    }
}

static void really_free(struct subprocess *process)
{
    strbuf_release(&process->line);
    strbuf_release_secret(&process->control);
    free(process);
}

static void leave_callback(struct subprocess *process)
{
    process->in_callback = false;
    if (process->freed)
        really_free(process);
}

/* ---- pipes ---- */

static void close_pipe(int *fd, struct loop_fd **watch)
{
    loop_fd_free(steal_ptr(*watch));
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* False at the end of the pipe. */
static bool pump(struct subprocess *process, int fd, bool is_stdout, unsigned max_chunks)
{
    char chunk[SUBPROCESS_READ_MAX];
    while (max_chunks-- > 0 && !process->freed && !(is_stdout && process->paused)) {
        const ssize_t n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno == EAGAIN;
        if (is_stdout)
            give_data(process, chunk, (size_t)n);
        else
            give_stderr(process, chunk, (size_t)n);
    }
    return true;
}

static void on_stdout(int fd, unsigned what, void *arg)
{
    UNUSED(what);
    struct subprocess *process = arg;
    process->in_callback = true;
    if (!pump(process, fd, true, CHUNKS_PER_TURN))
        close_pipe(&process->child.out_fd, &process->out_watch);
    leave_callback(process);
}

static void on_stderr(int fd, unsigned what, void *arg)
{
    UNUSED(what);
    struct subprocess *process = arg;
    process->in_callback = true;
    if (!pump(process, fd, false, CHUNKS_PER_TURN))
        close_pipe(&process->child.err_fd, &process->err_watch);
    leave_callback(process);
}

/* ---- the end ---- */

/* What the child wrote is in the pipes. Their end is not waited for: a grandchild may hold them open for ever. */
static void drain(struct subprocess *process)
{
    if (process->child.out_fd >= 0)
        pump(process, process->child.out_fd, true, CHUNKS_AT_END);
    if (process->child.err_fd >= 0 && !process->freed)
        pump(process, process->child.err_fd, false, CHUNKS_AT_END);
    give_line(process);
}

static void stop_watching(struct subprocess *process)
{
    close_pipe(&process->child.out_fd, &process->out_watch);
    close_pipe(&process->child.err_fd, &process->err_watch);
    close_pipe(&process->child.in_fd, &process->in_watch);
    close_pipe(&process->child.control_fd, &process->control_watch);
    loop_fd_free(steal_ptr(process->exit_watch));
    loop_timer_release(&process->exit_poll);
    loop_timer_release(&process->deadline);
}

static void check_exit(struct subprocess *process)
{
    if (!process->ended && !subprocess_child_reap(&process->child, &process->result))
        return;
    process->ended = true;
    loop_fd_free(steal_ptr(process->exit_watch));
    loop_timer_cancel(&process->exit_poll);
    if (process->paused)
        return;
    process->in_callback = true;
    drain(process);
    if (!process->freed && !process->paused) {
        stop_watching(process);
        process->ops.exited(process->arg, &process->result);
    }
    leave_callback(process);
}

static void on_exit_fd(int fd, unsigned what, void *arg)
{
    UNUSED(fd);
    UNUSED(what);
    check_exit(arg);
}

static void on_exit_poll(void *arg)
{
    struct subprocess *process = arg;
    if (!process->ended)
        loop_timer_arm(&process->exit_poll, SUBPROCESS_POLL_MS);
    check_exit(process);
}

static void on_deadline(void *arg)
{
    struct subprocess *process = arg;
    subprocess_child_kill(&process->child, process->result.timed_out ? SIGKILL : SIGTERM);
    if (!process->result.timed_out)
        loop_timer_arm(&process->deadline, SUBPROCESS_TERM_GRACE_MS);
    process->result.timed_out = true;
    process->child.group_doomed = true;
}

/* ---- on the loop ---- */

struct subprocess *subprocess_start(struct loop *loop, const struct subprocess_options *options,
    const struct subprocess_ops *ops, void *arg, struct error *err)
{
    struct subprocess_child child;
    if (subprocess_child_spawn(&child, options, err) < 0)
        return NULL;
    struct subprocess *process = xnew(struct subprocess);
    process->loop = loop;
    process->child = child;
    process->ops = *ops;
    process->arg = arg;
    strbuf_init(&process->line, options->line_max ? options->line_max : STDERR_LINE_MAX);
    strbuf_init(&process->control, SUBPROCESS_CONTROL_MAX);
    if (child.out_fd >= 0)
        process->out_watch = loop_fd_new(loop, child.out_fd, LOOP_READABLE, on_stdout, process);
    process->err_watch = loop_fd_new(loop, child.err_fd, LOOP_READABLE, on_stderr, process);
    loop_timer_init(&process->exit_poll, loop, on_exit_poll, process);
    loop_timer_init(&process->deadline, loop, on_deadline, process);
    if (child.pid_fd >= 0)
        process->exit_watch = loop_fd_new(loop, child.pid_fd, LOOP_READABLE, on_exit_fd, process);
    else
        loop_timer_arm(&process->exit_poll, SUBPROCESS_POLL_MS);
    if (options->timeout_ms > 0)
        loop_timer_arm(&process->deadline, options->timeout_ms);
    return process;
}

/* ---- flow control ---- */

void subprocess_pause_stdout(struct subprocess *process)
{
    process->paused = true;
    loop_fd_free(steal_ptr(process->out_watch));
}

void subprocess_resume_stdout(struct subprocess *process)
{
    if (!process->paused)
        return;
    process->paused = false;
    if (process->ended)
        loop_timer_arm(&process->exit_poll, 0);
    else if (process->child.out_fd >= 0)
        process->out_watch = loop_fd_new(process->loop, process->child.out_fd, LOOP_READABLE, on_stdout, process);
}

static void on_stdin_writable(int fd, unsigned what, void *arg)
{
    struct subprocess *process = arg;
    UNUSED(fd);
    UNUSED(what);
    loop_fd_free(steal_ptr(process->in_watch));
    process->in_callback = true;
    if (process->ops.stdin_ready)
        process->ops.stdin_ready(process->arg);
    leave_callback(process);
}

ssize_t subprocess_write(struct subprocess *process, const void *data, size_t len)
{
    const char *bytes = data;
    size_t taken = 0;
    const int fd = process->child.in_fd;
    if (fd < 0)
        return -1;
    while (taken < len) {
        const ssize_t n = write(fd, bytes + taken, len - taken);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            return -1;
        if (n < 0)
            break;
        taken += (size_t)n;
    }
    if (taken < len && !process->in_watch)
        process->in_watch = loop_fd_new(process->loop, fd, LOOP_WRITABLE, on_stdin_writable, process);
    return (ssize_t)taken;
}

void subprocess_close_stdin(struct subprocess *process)
{
    close_pipe(&process->child.in_fd, &process->in_watch);
}

/* -1: the child does not read any more; its end will tell why. */
static int push_control(struct subprocess *process);

static void on_control_writable(int fd, unsigned what, void *arg)
{
    struct subprocess *process = arg;
    UNUSED(fd);
    UNUSED(what);
    loop_fd_free(steal_ptr(process->control_watch));
    (void)(push_control(process) == 0);
}

static int push_control(struct subprocess *process)
{
    while (process->control.len > 0) {
        const ssize_t n = write(process->child.control_fd, process->control.buf, process->control.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            if (!process->control_watch)
                process->control_watch =
                    loop_fd_new(process->loop, process->child.control_fd, LOOP_WRITABLE, on_control_writable, process);
            return 0;
        }
        if (n < 0) {
            strbuf_release_secret(&process->control);
            close_pipe(&process->child.control_fd, &process->control_watch);
            return -1;
        }
        strbuf_consume(&process->control, (size_t)n);
    }
    strbuf_release_secret(&process->control);
    if (process->control_ends)
        close_pipe(&process->child.control_fd, &process->control_watch);
    return 0;
}

int subprocess_control(struct subprocess *process, const void *data, size_t len)
{
    if (process->child.control_fd < 0 || process->control_ends)
        return -1;
    if (len > SUBPROCESS_CONTROL_MAX - process->control.len)
        return -1;
    strbuf_add(&process->control, data, len);
    return push_control(process);
}

void subprocess_close_control(struct subprocess *process)
{
    process->control_ends = true;
    if (process->control.len == 0)
        close_pipe(&process->child.control_fd, &process->control_watch);
}

void subprocess_kill(struct subprocess *process, int signum)
{
    subprocess_child_kill(&process->child, signum);
}

void subprocess_free(struct subprocess *process)
{
    if (!process || process->freed)
        return;
    process->freed = true;
    stop_watching(process);
    subprocess_child_destroy(&process->child);
    if (!process->in_callback)
        really_free(process);
}
