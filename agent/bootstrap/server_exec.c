/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/server_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "agent/bootstrap/server_binary.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/strbuf.h"
#include "common/strvec.h"
#include "common/tls.h"

#define STOPPED_POLL_MS 500

/* Without room for it there is none: nothing is proven by that. */
static int write_run_id(int fd, const char *path, struct error *err)
{
    _cleanup_(freep) char *id = tls_random_password(SERVER_RUN_SIZE - 1);

    if (ftruncate(fd, 0) < 0)
        return error_set_errno(err, errno, "%s", path);
    if (write(fd, id, SERVER_RUN_SIZE - 1) != SERVER_RUN_SIZE - 1 && ftruncate(fd, 0) < 0)
        return error_set_errno(err, errno, "%s", path);
    return 0;
}

static int take_lock(const char *path, struct error *err)
{
    /* Not close-on-exec: the server keeps it open for as long as it lives. */
    int fd = open(path, O_RDWR | O_CREAT, 0600); /* NOLINT(android-cloexec-open) */

    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &lock) < 0) {
        int errnum = errno;
        close(fd);
        return error_set_errno(err, errnum, "another server runs in this pod (%s)", path);
    }
    return write_run_id(fd, path, err);
}

int server_exec(const struct agent_paths *paths, const char *const *extra, struct error *err)
{
    static const char *const none[] = {NULL};
    struct server_binary binary;
    _cleanup_(strvec_release) struct strvec argv;
    _cleanup_(freep) char *defaults = xasprintf("--defaults-file=%s", paths->run_mycnf);

    strvec_init(&argv);
    if (server_binary_find(&binary, err) < 0)
        return -1;
    if (take_lock(paths->server_lock, err) < 0) {
        server_binary_release(&binary);
        return -1;
    }
    unlink(paths->leaving);
    unlink(paths->stopping);
    unlink(paths->socket); /* of a server that was killed: clients should be refused, not kept waiting */
    log_info("becoming the server", LOG_STR("path", binary.path), LOG_STR("version", binary.version.text));
    strvec_push_all(&argv, (const char *const[]){binary.path, defaults, NULL});
    strvec_push_all(&argv, extra ? extra : none);
    execv(binary.path, argv.v);
    error_set_errno(err, errno, "executing %s", binary.path);
    server_binary_release(&binary);
    return -1;
}

static int leave_mark(const char *path, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0640);

    if (fd < 0)
        return error_set_errno(err, errno, "creating %s", path);
    close(fd);
    return 0;
}

int server_mark_leaving(const struct agent_paths *paths, struct error *err)
{
    return leave_mark(paths->leaving, err);
}

bool server_is_leaving(const struct agent_paths *paths)
{
    return access(paths->leaving, F_OK) == 0;
}

int server_mark_stopping(const struct agent_paths *paths, struct error *err)
{
    return leave_mark(paths->stopping, err);
}

bool server_is_stopping(const struct agent_paths *paths)
{
    return access(paths->stopping, F_OK) == 0;
}

int server_keep_stopped(const struct agent_paths *paths, bool stopped, struct error *err)
{
    if (stopped)
        return fs_mkdir_all(paths->state_dir, 0700, err) < 0
            ? -1
            : fs_write_file_atomic(paths->kept_stopped, "", 0, 0600, err);
    if (unlink(paths->kept_stopped) < 0 && errno != ENOENT)
        return error_set_errno(err, errno, "removing %s", paths->kept_stopped);
    return 0;
}

bool server_is_kept_stopped(const struct agent_paths *paths)
{
    return access(paths->kept_stopped, F_OK) == 0;
}

/* As the first process of a container it has no other way to hear of SIGTERM, which would do nothing. */
int server_wait_for_leave(const struct agent_paths *paths, struct error *err)
{
    const struct timespec pause = {.tv_nsec = STOPPED_POLL_MS * 1000000L};
    sigset_t ends, before;
    int signum = -1;

    if (!server_is_kept_stopped(paths))
        return 0;
    log_info("the server is kept stopped, as the cluster's annotation says", LOG_STR("mark", paths->kept_stopped));
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigprocmask(SIG_BLOCK, &ends, &before);
    while (signum < 0 && server_is_kept_stopped(paths))
        signum = sigtimedwait(&ends, NULL, &pause);
    sigprocmask(SIG_SETMASK, &before, NULL); /* the server inherits it */
    return signum < 0 ? 0
                      : error_set(err, ERROR_CANCELLED, "ended by signal %d while the server was kept stopped", signum);
}

void server_run_id(const struct agent_paths *paths, char ret[static SERVER_RUN_SIZE])
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, SERVER_RUN_SIZE - 1);
    bool is_whole = fs_read_file(paths->server_lock, &text, NULL) == 0 && text.len == SERVER_RUN_SIZE - 1;
    snprintf(ret, SERVER_RUN_SIZE, "%s", is_whole ? text.buf : "");
}

bool server_is_there(const struct agent_paths *paths)
{
    int fd = open(paths->server_lock, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return false;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return held;
}
