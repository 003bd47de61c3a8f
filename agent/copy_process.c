/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/copy_process.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "agent/backup/clone_local.h"
#include "agent/backup/copy_folder.h"
#include "agent/backup/copy_position.h"
#include "agent/bootstrap/init.h"
#include "agent/mysql/session.h"
#include "common/alloc.h"
#include "common/fs.h"

static void say(void *arg, const char *line)
{
    UNUSED(arg);
    fprintf(stderr, "%s\n", line);
}

/* The reader of our standard output has gone. */
static bool is_unwanted(void *arg)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    UNUSED(arg);
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

struct lying {
    const struct clone_local *clone;
    uint64_t reserve;
};

static int may_lie_on(void *arg, struct error *err)
{
    const struct lying *lying = arg;

    return clone_local_may_go_on(lying->clone, lying->reserve, err);
}

static int copy_out(const struct clone_local *clone, struct error *err)
{
    struct clone_local_made made = {0};

    if (clone_local_make(clone, &made, err) < 0)
        return -1;
    fprintf(stderr, COPY_POSITION_TOLD "'%s'\n", str_or_empty(made.gtid));
    free(made.gtid);
    struct lying lying = {.clone = clone, .reserve = made.reserve};
    const struct copy_folder_watch watch = {.may_go_on = may_lie_on, .arg = &lying};
    return copy_folder_send(clone->folder, STDOUT_FILENO, &watch, err);
}

static int copy_out_run(const struct agent_paths *paths, struct error *err)
{
    _cleanup_(freep) char *user = NULL;
    struct error removing = ERROR_INIT;

    signal(SIGPIPE, SIG_IGN);
    if (init_user_name(&user, err) < 0 || fs_mkdir_all(paths->state_dir, 0700, err) < 0)
        return -1;
    const struct clone_local clone = {
        .socket = paths->socket,
        .user = user,
        .data_dir = paths->data_dir,
        .folder = paths->copy_dir,
        .say = say,
        .is_unwanted = is_unwanted,
    };
    session_library_init();
    int rc = clone_local_remove(paths->socket, user, paths->copy_dir, err);
    if (rc == 0)
        rc = copy_out(&clone, err);
    if (clone_local_remove(paths->socket, user, paths->copy_dir, &removing) < 0)
        fprintf(stderr, "the copy cannot be removed: %s\n", removing.message);
    session_library_end();
    return rc;
}

int copy_process_run(const struct agent_options *options, struct error *err)
{
    const struct agent_paths *paths = &options->paths;
    int rc = options->command == COMMAND_COPY_OUT
        ? copy_out_run(paths, err)
        : copy_folder_receive(paths->data_new_dir, STDIN_FILENO, options->max_bytes, err);

    if (rc < 0)
        say(NULL, err->message);
    return rc;
}
