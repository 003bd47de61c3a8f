/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subprocess_child.h: a spawned child with its pipes, the part that both forms of subprocess.h share. Private to them.
 */
#ifndef KM_COMMON_SUBPROCESS_CHILD_H
#define KM_COMMON_SUBPROCESS_CHILD_H

#include "common/base.h"

#include <sys/types.h>

#include "common/error.h"
#include "common/subprocess.h"

/* How often the end is asked for where the kernel or a seccomp profile refuses pidfd_open. */
#define SUBPROCESS_POLL_MS 20
/* From SIGTERM to SIGKILL after a time-out. */
#define SUBPROCESS_TERM_GRACE_MS 5000

struct subprocess_child {
    pid_t pid;  /* -1 once reaped */
    int pid_fd; /* readable when the child has ended; -1: not available */
    int out_fd; /* non-blocking, as err_fd; -1: once closed, or given away (out_fd of the options) */
    int err_fd;
    int in_fd;      /* the write end of stdin_pipe, non-blocking; -1: none or closed */
    int control_fd; /* the write end of control_pipe, likewise */
    bool own_group;
    bool group_doomed; /* what is left of the group is killed together with the end of the child */
};

int subprocess_child_spawn(struct subprocess_child *child, const struct subprocess_options *options, struct error *err);
/* True if it has ended: fills exit_code and term_signal, leaves timed_out. */
bool subprocess_child_reap(struct subprocess_child *child, struct subprocess_result *result);
/* The child, and its group if it has its own. Nothing once it is reaped. */
void subprocess_child_kill(const struct subprocess_child *child, int signum);
/* Kills and reaps if need be, closes everything. */
void subprocess_child_destroy(struct subprocess_child *child);

#endif
