/*
 * subprocess.h: runs a program (posix_spawn), no shell in between.
 *
 * Two forms: on the loop with callbacks, and blocking for `init` and worker threads. The child gets a clean signal mask, the given
 * environment (NULL: ours), no descriptors but 0, 1, 2. Secrets are passed by file or standard input, never in argv or env (I9).
 */
#ifndef KM_COMMON_SUBPROCESS_H
#define KM_COMMON_SUBPROCESS_H

#include "common/base.h"

#include "common/error.h"
#include "common/loop.h"
#include "common/strbuf.h"

struct subprocess_options {
    const char *const *argv; /* argv[0] is a path, or a name searched in PATH */
    const char *const *env;  /* NULL-terminated, or NULL for ours */
    const char *stdin_data;  /* NULL: /dev/null */
    size_t stdin_len;
    bool new_process_group; /* so that a kill reaches its children too */
    int64_t timeout_ms;     /* 0: none; then SIGTERM, and SIGKILL 5 s later */
};

struct subprocess_result {
    int exit_code;   /* -1 if ended by a signal */
    int term_signal; /* 0 if it exited */
    bool timed_out;
};

/* Blocking. Output is gathered into *out (may be NULL: discarded; beyond out->max dropped); the tail of standard error into *err_tail
 * (may be NULL). Returns 0 only for exit code 0; otherwise ERROR_IO/ERROR_TIMEOUT with program, status and the last line it said. */
int subprocess_run(const struct subprocess_options *options, struct strbuf *out, struct strbuf *err_tail,
    struct subprocess_result *ret, struct error *err) KM_MUST_CHECK;

struct subprocess;
struct subprocess_ops {
    void (*stdout_data)(void *arg, const char *data, size_t len);      /* may be NULL */
    void (*stderr_line)(void *arg, const char *line);                  /* may be NULL */
    void (*exited)(void *arg, const struct subprocess_result *result); /* after both pipes are drained */
};
struct subprocess *subprocess_start(struct loop *loop, const struct subprocess_options *options,
    const struct subprocess_ops *ops, void *arg, struct error *err);
void subprocess_kill(struct subprocess *process, int signum);
/* Kills (SIGKILL) if it still runs, reaps, frees; no callback afterwards. */
void subprocess_free(struct subprocess *process);

#endif
