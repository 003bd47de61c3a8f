/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_run.h: one run of a backup, seen from the agent: a tool whose standard output is the standard input of
 * `kube-mysql-agent upload` (backup_child.h), by a pipe of the kernel, and the word in the end that makes a backup of
 * it.
 *
 * The commit is sent when the tool has ended well and its position is known; every other end closes the child's
 * descriptor 3, and the child removes what it has stored.
 * If the child itself was killed, a second one is started only to do that. The report says which of both failed first,
 * with the tool's own last words.
 */
#ifndef KM_AGENT_BACKUP_BACKUP_RUN_H
#define KM_AGENT_BACKUP_BACKUP_RUN_H

#include "common/base.h"

#include "agent/backup/backup_child.h"
#include "common/backup_task.h"
#include "common/error.h"
#include "common/loop.h"
#include "common/worker.h"

/* How long a child that was told to end may take for cleaning; then it is killed. */
#define BACKUP_RUN_GRACE_MS (45 * 1000)

/* Who says which transactions the data holds. */
enum backup_position {
    BACKUP_POSITION_IN_DATA, /* the child finds it there (dump_position.h) */
    /* the tool says where the binary log ended, the server is asked what that is (copy_position.h) */
    BACKUP_POSITION_ASKED,
    BACKUP_POSITION_TOLD, /* the tool (copy_position_told) */
};

struct backup_run_options {
    struct loop *loop;
    const char *const *tool_argv; /* none of these texts is copied */
    const char *const *child_argv;
    const struct backup_task *task;
    struct backup_commit commit; /* gtid is found out here, or by the child (logical) */
    uint64_t estimate_bytes;
    struct worker *worker; /* asks the server what the copy holds, if POSITION_ASKED; free until then */
    enum backup_position position;
    const char *socket, *user;
    void (*ended)(void *arg); /* once, from the loop; the run may be freed inside. How: backup_run_report */
    void *arg;
};

struct backup_run;

/* NULL: a program or a pipe could not be made. */
struct backup_run *backup_run_start(const struct backup_run_options *options, struct error *err);
/* Kills both; what was stored stays: cancel first, and wait for `ended`. The worker must be idle or gone. NULL is
 * fine. */
void backup_run_free(struct backup_run *run);
void backup_run_cancel(struct backup_run *run);
void backup_run_set_keys(struct backup_run *run, const struct backup_store *keys);
/* Valid until it is freed. */
const struct backup_report *backup_run_report(const struct backup_run *run);

#endif
