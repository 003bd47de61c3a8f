/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/old_data.h"

#include "common/alloc.h"
#include "common/log.h"
#include "common/worker.h"

struct old_data {
    const struct agent_paths *paths;
    struct instance_state *state;
    void (*changed)(void *arg);
    void *arg;
    struct worker *worker;
    bool removing;
    struct error error; /* of the worker's job */
};

static void run_removal(void *arg)
{
    struct old_data *old = arg;

    error_clear(&old->error);
    (void)(datadir_drop_before(old->paths, &old->error) == 0);
}

static void finish_removal(void *arg)
{
    struct old_data *old = arg;

    old->removing = false;
    old->state->beside = datadir_beside_look(old->paths);
    if (old->error.kind == ERROR_NONE)
        log_info("the data from before the restore is removed");
    else if (old->error.kind != ERROR_CANCELLED)
        log_warn("the data from before the restore cannot be removed", LOG_ERR(&old->error));
    if (old->changed)
        old->changed(old->arg);
}

void old_data_ordered(struct old_data *old, const struct agent_order *order)
{
    struct worker_job job = {.run = run_removal, .done = finish_removal, .arg = old};

    if (!order->drop_before || !old->state->beside.has_before || old->removing)
        return;
    error_set(&old->error, ERROR_CANCELLED, "the agent ends");
    old->removing = worker_submit(old->worker, &job) == 0;
}

struct old_data *old_data_new(struct loop *loop, const struct agent_paths *paths, struct instance_state *state,
    void (*changed)(void *arg), void *arg)
{
    struct old_data *old = xnew(struct old_data);

    *old = (struct old_data){.paths = paths, .state = state, .changed = changed, .arg = arg};
    old->worker = worker_new(loop, "old-data");
    state->beside = datadir_beside_look(paths);
    return old;
}

void old_data_free(struct old_data *old)
{
    if (!old)
        return;
    old->changed = NULL;
    worker_free(old->worker);
    free(old);
}
