/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_keeper.h: PUT and DELETE /v1/check (common/check_task.h): the task, its child (check_process.h), and what the
 * status says of it.
 */
#ifndef KM_AGENT_CHECK_KEEPER_H
#define KM_AGENT_CHECK_KEEPER_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_api.h"
#include "common/http_server.h"
#include "common/loop.h"

struct check_keeper;

struct check_keeper_options {
    struct loop *loop;
    const struct agent_paths *paths; /* not copied, as the others */
    const struct agent_status *status;
    const char *const *child_argv; /* tests; NULL: this program */
    void (*changed)(void *arg);    /* from the loop, never from inside a call: the report is another */
    void *arg;
};

struct check_keeper *check_keeper_new(const struct check_keeper_options *options);
/* Kills what runs. NULL is fine. */
void check_keeper_free(struct check_keeper *keeper);
/* Who asks was checked. */
void check_keeper_put(struct check_keeper *keeper, struct http_exchange *exchange);
void check_keeper_delete(struct check_keeper *keeper, struct http_exchange *exchange);
/* In force from now on; NULL: none. */
void check_keeper_set(struct check_keeper *keeper, const struct check_task *task);
/* Looks at the status; to be called whenever that may have changed. */
void check_keeper_turn(struct check_keeper *keeper);
const struct check_report *check_keeper_report(const struct check_keeper *keeper);

#endif
