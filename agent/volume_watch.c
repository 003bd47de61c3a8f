/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/volume_watch.h"

#include "agent/bootstrap/volume_reserve.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/worker.h"

struct volume_watch {
    struct worker *worker;
    const struct agent_paths *paths;
    struct instance_state *state;
    void (*changed)(void *arg);
    void *arg;
    int64_t next_ms;
    bool busy, ending;
    /* From submit to done these belong to the thread. */
    uint64_t bytes, free_bytes; /* bytes 0: it could not be asked */
    uint64_t reserve_enough;    /* 0: the reserve is not to be made now */
    int64_t at_ms;
    bool reserve_made;   /* by this look, after it */
    bool reserve_failed; /* where it cannot be kept it is not tried again */
};

static void tend_reserve(struct volume_watch *watch)
{
    enum volume_reserve reserve = volume_reserve_look(watch->paths);
    struct error err = ERROR_INIT;

    if (watch->reserve_failed || !volume_reserve_is_due(reserve, watch->free_bytes, watch->reserve_enough))
        return;
    watch->reserve_failed = volume_reserve_make(watch->paths, &err) < 0;
    watch->reserve_made = !watch->reserve_failed;
    if (watch->reserve_failed)
        log_warn("the volume has no reserve for a start when it is full", LOG_ERR(&err));
    else
        log_info("the volume has a reserve for a start when it is full",
            LOG_INT("reserveMiB", (int64_t)(VOLUME_RESERVE_BYTES / KM_MIB)));
}

static void run(void *arg)
{
    struct volume_watch *watch = arg;

    watch->reserve_made = false;
    if (volume_reserve_space(watch->paths, &watch->free_bytes, &watch->bytes, NULL) < 0)
        watch->bytes = 0;
    else if (watch->reserve_enough)
        tend_reserve(watch);
    watch->at_ms = clock_monotonic_ms();
}

static void done(void *arg)
{
    struct volume_watch *watch = arg;
    struct volume_room *room = &watch->state->room;

    watch->busy = false;
    if (watch->ending)
        return;
    bool has_changed =
        volume_room_look(room, watch->free_bytes, watch->bytes, watch->state->observed.extension_bytes, watch->at_ms);
    if (watch->reserve_made)
        volume_room_skip(room);
    if (!has_changed)
        return;
    log_info(room->is_short ? "the data volume has too little room" : "the data volume has enough room again",
        LOG_INT("freeMiB", (int64_t)(room->free_bytes / KM_MIB)), LOG_INT("floorMiB", (int64_t)(room->floor / KM_MIB)),
        LOG_INT("volumeMiB", (int64_t)(room->bytes / KM_MIB)));
    watch->changed(watch->arg);
}

struct volume_watch *volume_watch_new(struct loop *loop, const struct agent_paths *paths, struct instance_state *state,
    void (*changed)(void *arg), void *arg)
{
    struct volume_watch *watch = xnew(struct volume_watch);

    watch->worker = worker_new(loop, "room");
    watch->paths = paths;
    watch->state = state;
    watch->changed = changed;
    watch->arg = arg;
    return watch;
}

void volume_watch_turn(struct volume_watch *watch, int64_t now_ms)
{
    struct worker_job job = {.run = run, .done = done, .arg = watch};

    if (watch->busy || now_ms < watch->next_ms)
        return;
    const struct instance_state *state = watch->state;
    bool is_calm = state->last_answer_ms && state->room.bytes && !state->room.is_short && state->serving_copies == 0;
    watch->reserve_enough = is_calm ? 2 * state->room.floor : 0;
    watch->busy = true;
    watch->next_ms = now_ms + VOLUME_LOOK_MS;
    if (worker_submit(watch->worker, &job) < 0)
        abort(); /* one at a time cannot fill the queue */
}

void volume_watch_free(struct volume_watch *watch)
{
    if (!watch)
        return;
    watch->ending = true;
    worker_free(watch->worker);
    free(watch);
}
