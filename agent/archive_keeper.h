/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_keeper.h: PUT and DELETE /v1/archive (common/archive_task.h): the standing task, a child for each round of
 * archiving (agent/backup/archive_process.h), and what the status says of it.
 *
 * Rounds only while this member is the open primary of its order's epoch: every interval, when the server has begun a
 * new binary log, and at once again after one that was full. What a round knew at its end the next one gets; after one
 * that failed, in another epoch or with another task it finds out everything anew. A child that is not to go on is told
 * so, and killed if it does not end soon.
 */
#ifndef KM_AGENT_ARCHIVE_KEEPER_H
#define KM_AGENT_ARCHIVE_KEEPER_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_api.h"
#include "common/http_server.h"
#include "common/loop.h"

struct archive_keeper;

struct archive_keeper_options {
    struct loop *loop;
    const struct agent_paths *paths; /* not copied, as the others */
    const struct agent_status *status;
    const uint64_t *newest_log;    /* identifies the newest binary log; NULL, 0: not known */
    const char *const *child_argv; /* tests; NULL: this program */
    void (*changed)(void *arg);    /* from the loop: the report is another */
    void *arg;
};

struct archive_keeper *archive_keeper_new(const struct archive_keeper_options *options);
/* Kills what runs. NULL is fine. */
void archive_keeper_free(struct archive_keeper *keeper);
/* Who asks was checked. */
void archive_keeper_put(struct archive_keeper *keeper, struct http_exchange *exchange);
void archive_keeper_delete(struct archive_keeper *keeper, struct http_exchange *exchange);
/* A task in force from now on (taken over); NULL: none. */
void archive_keeper_set(struct archive_keeper *keeper, struct archive_task *task);
/* Looks at the status; to be called whenever that may have changed, and a few times a second. */
void archive_keeper_turn(struct archive_keeper *keeper, int64_t now_ms);
/* Logs are archived: whoever knows is to tell when a new one begins. */
bool archive_keeper_is_active(const struct archive_keeper *keeper);
const struct archive_report *archive_keeper_report(const struct archive_keeper *keeper);

#endif
