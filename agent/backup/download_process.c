/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/download_process.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/backup/download.h"
#include "common/alloc.h"

#define PIPE_BYTES (1 * KM_MIB)

struct download_process {
    struct loop *loop;
    struct backup_task task;
    struct object_store *store;
    struct download *download;
    struct loop_fd *out_watch; /* while the pipe is full */
    struct loop_timer tell;
    struct error error;
};

static void on_tell(void *arg)
{
    struct download_process *process = arg;

    backup_child_tell(STDERR_FILENO, download_report(process->download), false);
    loop_timer_arm(&process->tell, BACKUP_CHILD_TELL_MS);
}

static void on_writable(int fd, unsigned what, void *arg)
{
    struct download_process *process = arg;

    UNUSED(fd);
    UNUSED(what);
    loop_fd_free(steal_ptr(process->out_watch));
    download_writable(process->download);
}

static ssize_t write_out(void *arg, const char *data, size_t len)
{
    struct download_process *process = arg;
    size_t taken = 0;

    while (taken < len) {
        ssize_t n = write(STDOUT_FILENO, data + taken, len - taken);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN)
            return -1;
        if (n < 0)
            break;
        taken += (size_t)n;
    }
    if (taken < len && !process->out_watch)
        process->out_watch = loop_fd_new(process->loop, STDOUT_FILENO, LOOP_WRITABLE, on_writable, process);
    return (ssize_t)taken;
}

static void on_ended(void *arg, const struct error *err)
{
    struct download_process *process = arg;

    if (err)
        process->error = *err;
    loop_stop(process->loop);
}

static void run(struct download_process *process)
{
    struct download_options options = {
        .loop = process->loop,
        .store = process->store,
        .task = &process->task,
        .write = write_out,
        .ended = on_ended,
        .arg = process,
    };

    (void)(fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) < 0);
    (void)(fcntl(STDOUT_FILENO, F_SETPIPE_SZ, (int)PIPE_BYTES) < 0);
    process->download = download_new(&options);
    loop_timer_init(&process->tell, process->loop, on_tell, process);
    loop_timer_arm(&process->tell, BACKUP_CHILD_TELL_MS);
    loop_run(process->loop);
    backup_child_tell(STDERR_FILENO, download_report(process->download), true);
    loop_timer_release(&process->tell);
    loop_fd_free(process->out_watch);
    download_free(process->download);
}

static void tell_failure(const struct download_process *process)
{
    struct backup_report report = {0};

    memcpy(report.id, process->task.id, sizeof(report.id));
    backup_report_fail(&report, backup_child_reason(&process->error), process->error.message);
    backup_child_tell(STDERR_FILENO, &report, true);
}

int download_process_run(const struct backup_child_options *options, struct error *err)
{
    struct download_process process = {0};
    struct strbuf rest;

    backup_child_hide();
    strbuf_init(&rest, BACKUP_CHILD_LINE_MAX);
    if (backup_child_read_task(&process.task, &rest, &process.error) == 0) {
        process.loop = loop_new();
        process.store = backup_child_open_store(process.loop, options, &process.task.store, &process.error);
    }
    if (process.store)
        run(&process);
    else
        tell_failure(&process);
    object_store_free(process.store);
    if (process.loop)
        loop_free(process.loop);
    strbuf_release_secret(&rest);
    backup_task_release(&process.task);
    if (process.error.kind == ERROR_NONE)
        return 0;
    *err = process.error;
    return -1;
}
