/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/subprocess_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct stdio_fds {
    int in;
    int in_write;
    int out_read, out_write;
    int err_read, err_write;
    int control_read, control_write;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Above 2, so that dup2 onto 0, 1 and 2 never overwrites what is still to be copied (our own may be closed). */
static int lift(int fd)
{
    if (fd < 0 || fd > 2)
        return fd;
    const int lifted = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    const int saved = errno;
    close(fd);
    errno = saved;
    return lifted;
}

/* ours: the end that stays with us and must not block. A capacity that the kernel refuses is only a wish. */
static int open_pipe(int *ret_read, int *ret_write, int *ours, size_t pipe_bytes)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    *ret_read = lift(fds[0]);
    *ret_write = lift(fds[1]);
    if (*ret_read < 0 || *ret_write < 0)
        return -1;
    if (pipe_bytes > 0)
        (void)(fcntl(*ret_read, F_SETPIPE_SZ, (int)pipe_bytes) < 0);
    return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        const ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            data += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

int subprocess_pipe(int *ret_read, int *ret_write, size_t pipe_bytes, struct error *err)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "cannot make a pipe");
    *ret_read = lift(fds[0]);
    *ret_write = lift(fds[1]);
    if (*ret_read < 0 || *ret_write < 0) {
        const int saved = errno;
        close_fd(ret_read);
        close_fd(ret_write);
        return error_set_errno(err, saved, "cannot make a pipe");
    }
    if (pipe_bytes > 0)
        (void)(fcntl(*ret_read, F_SETPIPE_SZ, (int)pipe_bytes) < 0);
    return 0;
}

/* Standard input is a file in memory: complete before the child starts, nothing to feed, no SIGPIPE, not on a disk. */
static int open_stdin(const struct subprocess_options *options, int *ret_write)
{
    int in = -1;
    if (options->in_fd > 0)
        return options->in_fd;
    if (options->stdin_pipe)
        return open_pipe(&in, ret_write, ret_write, options->pipe_bytes) == 0 ? in : (close_fd(&in), -1);
    if (!options->stdin_data)
        return lift(open("/dev/null", O_RDONLY | O_CLOEXEC));
    int fd = lift(memfd_create("stdin", MFD_CLOEXEC));
    if (fd < 0)
        return -1;
    if (write_all(fd, options->stdin_data, options->stdin_len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
        close_fd(&fd);
    return fd;
}

static void close_all(struct stdio_fds *fds)
{
    close_fd(&fds->in);
    close_fd(&fds->in_write);
    close_fd(&fds->out_read);
    close_fd(&fds->out_write);
    close_fd(&fds->err_read);
    close_fd(&fds->err_write);
    close_fd(&fds->control_read);
    close_fd(&fds->control_write);
}

static int open_stdout(struct stdio_fds *fds, const struct subprocess_options *options)
{
    if (options->out_fd <= 0)
        return open_pipe(&fds->out_read, &fds->out_write, &fds->out_read, options->pipe_bytes);
    fds->out_write = options->out_fd;
    return 0;
}

static int open_control(struct stdio_fds *fds, const struct subprocess_options *options)
{
    if (!options->control_pipe)
        return 0;
    return open_pipe(&fds->control_read, &fds->control_write, &fds->control_write, 0);
}

static int open_all(struct stdio_fds *fds, const struct subprocess_options *options)
{
    *fds = (struct stdio_fds){-1, -1, -1, -1, -1, -1, -1, -1};
    const int out = open_stdout(fds, options); /* first: what was given is closed in any case */
    fds->in = open_stdin(options, &fds->in_write);
    if (out == 0 && fds->in >= 0 && open_pipe(&fds->err_read, &fds->err_write, &fds->err_read, 0) == 0 &&
        open_control(fds, options) == 0)
        return 0;
    const int saved = errno;
    close_all(fds);
    errno = saved;
    return -1;
}

/* Returns 0 or an errno. */
static int spawn(pid_t *ret_pid, const struct subprocess_options *options, const struct stdio_fds *fds)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    sigset_t all;
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    sigemptyset(&none);
    sigfillset(&all);
    if (options->new_process_group)
        flags |= POSIX_SPAWN_SETPGROUP;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all); /* ignored signals would stay ignored: SIGPIPE (loop.h) */
    posix_spawnattr_setflags(&attr, flags);
    int rc = posix_spawn_file_actions_adddup2(&actions, fds->in, STDIN_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, fds->out_write, STDOUT_FILENO);
    if (rc == 0)
        rc = posix_spawn_file_actions_adddup2(&actions, fds->err_write, STDERR_FILENO);
    /* After the others, of which one may be 3 with us. */
    if (rc == 0 && fds->control_read >= 0)
        rc = posix_spawn_file_actions_adddup2(&actions, fds->control_read, 3);
    if (rc == 0)
        rc = posix_spawn_file_actions_addclosefrom_np(&actions, fds->control_read >= 0 ? 4 : 3);
    char *const *argv = (char *const *)(uintptr_t)options->argv;
    char *const *env = options->env ? (char *const *)(uintptr_t)options->env : environ;
    if (rc == 0)
        rc = posix_spawnp(ret_pid, argv[0], &actions, &attr, argv, env);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return rc;
}

int subprocess_child_spawn(struct subprocess_child *child, const struct subprocess_options *options, struct error *err)
{
    struct stdio_fds fds;
    if (open_all(&fds, options) < 0)
        return error_set_errno(err, errno, "cannot run %s", options->argv[0]);
    pid_t pid = -1;
    const int rc = spawn(&pid, options, &fds);
    if (rc != 0) {
        close_all(&fds);
        return error_set_errno(err, rc, "cannot run %s", options->argv[0]);
    }
    close_fd(&fds.in);
    close_fd(&fds.out_write);
    close_fd(&fds.err_write);
    close_fd(&fds.control_read);
    *child = (struct subprocess_child){
        .pid = pid,
        .pid_fd = pidfd_open(pid, 0), /* nobody else reaps it, so the number is still its own */
        .out_fd = fds.out_read,
        .err_fd = fds.err_read,
        .in_fd = fds.in_write,
        .control_fd = fds.control_write,
        .own_group = options->new_process_group,
    };
    return 0;
}

bool subprocess_child_reap(struct subprocess_child *child, struct subprocess_result *result)
{
    siginfo_t info = {.si_pid = 0};
    if (child->pid < 0)
        return false;
    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
        return false;
    /* Before the zombie goes, its number, and so the group's, cannot belong to anybody else. */
    if (child->own_group && child->group_doomed)
        kill(-child->pid, SIGKILL);
    int status = 0;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
    }
    child->pid = -1;
    close_fd(&child->pid_fd);
    result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result->term_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    return true;
}

void subprocess_child_kill(const struct subprocess_child *child, int signum)
{
    if (child->pid >= 0)
        kill(child->own_group ? -child->pid : child->pid, signum);
}

void subprocess_child_destroy(struct subprocess_child *child)
{
    if (child->pid >= 0) {
        subprocess_child_kill(child, SIGKILL);
        while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        child->pid = -1;
    }
    close_fd(&child->pid_fd);
    close_fd(&child->out_fd);
    close_fd(&child->err_fd);
    close_fd(&child->in_fd);
    close_fd(&child->control_fd);
}
