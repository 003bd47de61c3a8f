/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subprocess.h: runs a program (posix_spawn), no shell in between.
 *
 * Two forms: on the loop with callbacks, and blocking for `init` and worker threads. The child gets a clean signal
 * mask, the given environment (NULL: ours), no descriptors but 0, 1, 2 and, if wished, 3. Secrets are passed by file,
 * standard input or the control pipe, never in argv or env (I9).
 */
#ifndef KM_COMMON_SUBPROCESS_H
#define KM_COMMON_SUBPROCESS_H

#include "common/base.h"

#include <sys/types.h>

#include "common/error.h"
#include "common/loop.h"
#include "common/strbuf.h"

enum subprocess_watch {
    SUBPROCESS_WAITS,
    SUBPROCESS_ADVANCES,
    SUBPROCESS_ENOUGH, /* it has done what it was started for: SIGKILL, and that is no failure */
};
#define SUBPROCESS_WATCH_MS 100

struct subprocess_options {
    const char *const *argv; /* argv[0] is a path, or a name searched in PATH */
    const char *const *env;  /* NULL-terminated, or NULL for ours */
    const char *stdin_data;  /* NULL: /dev/null */
    size_t stdin_len;
    bool stdin_pipe; /* on the loop only: fed by subprocess_write; stdin_data is not used */
    /* On the loop only: descriptors that become the child's standard input or output instead, so that bulk data flows
     * between two children without us (a pipe of subprocess_pipe). Taken over: closed here when subprocess_start
     * returns, whatever it returns. 0: none. */
    int in_fd, out_fd;
    bool control_pipe; /* on the loop only: descriptor 3 of the child is a pipe that subprocess_control feeds */
    size_t pipe_bytes; /* wish for the capacity of the pipes of standard input and output; 0: the kernel's default */
    size_t line_max;   /* of standard error: a longer one comes in pieces; 0: 4 KiB */
    bool new_process_group; /* so that a kill reaches its children too */
    int64_t timeout_ms;     /* 0: none; then SIGTERM, and SIGKILL 5 s later */
    /* Blocking only: asked every SUBPROCESS_WATCH_MS, may be NULL. With it timeout_ms counts from the last thing that
     * the child wrote or that `watch` called progress. */
    enum subprocess_watch (*watch)(void *arg);
    void *watch_arg;
};

/* What stdout_data gets at once at most: bulk data wants few turns, and a piece that is still in the processor's cache
 * when it is passed on. On the stack. */
#define SUBPROCESS_READ_MAX ((size_t)(128 * KM_KIB))
/* A task, and an order with two positions. */
#define SUBPROCESS_CONTROL_MAX ((size_t)(384 * KM_KIB))

/* What to call it in messages: the program's file name; of this program itself ("/proc/self/exe") the command that it
 * is given. */
const char *subprocess_name(const char *const *argv);

struct subprocess_result {
    int exit_code;   /* -1 if ended by a signal */
    int term_signal; /* 0 if it exited */
    bool timed_out;
    bool enough; /* `watch` said so */
};

/* Blocking. Output is gathered into *out (may be NULL: discarded; beyond out->max dropped); the tail of standard error
 * into *err_tail (may be NULL). Returns 0 only for exit code 0, and when `watch` had enough; otherwise
 * ERROR_IO/ERROR_TIMEOUT with program, status and the last line it said. */
int subprocess_run(const struct subprocess_options *options, struct strbuf *out, struct strbuf *err_tail,
    struct subprocess_result *ret, struct error *err) KM_MUST_CHECK;

struct subprocess;
struct subprocess_ops {
    void (*stdout_data)(void *arg, const char *data, size_t len);      /* may be NULL */
    void (*stderr_line)(void *arg, const char *line);                  /* may be NULL */
    void (*exited)(void *arg, const struct subprocess_result *result); /* after both pipes are drained */
    void (*stdin_ready)(void *arg); /* once after subprocess_write took less than it was given; may be NULL */
};
struct subprocess *subprocess_start(struct loop *loop, const struct subprocess_options *options,
    const struct subprocess_ops *ops, void *arg, struct error *err);
/* Takes what fits into the pipe now and returns how much, or -1 when the child no longer reads (`exited` will tell
 * why). */
ssize_t subprocess_write(struct subprocess *process, const void *data, size_t len) KM_MUST_CHECK;
void subprocess_close_stdin(struct subprocess *process); /* the child reads its end */
/* Onto the control pipe; what does not fit now waits in memory that is wiped, at most SUBPROCESS_CONTROL_MAX of it. -1
 * when that is too little, or the child has closed its end. */
int subprocess_control(struct subprocess *process, const void *data, size_t len) KM_MUST_CHECK;
void subprocess_close_control(struct subprocess *process); /* after what waits has been written */
/* A pipe between two children. pipe_bytes: as in the options. */
int subprocess_pipe(int *ret_read, int *ret_write, size_t pipe_bytes, struct error *err) KM_MUST_CHECK;
/* While paused no stdout_data runs, and the child is held back by its pipe; `exited` comes after what was held back. */
void subprocess_pause_stdout(struct subprocess *process);
void subprocess_resume_stdout(struct subprocess *process);
void subprocess_kill(struct subprocess *process, int signum);
/* Kills (SIGKILL) if it still runs, reaps, frees; no callback afterwards. */
void subprocess_free(struct subprocess *process);

#endif
