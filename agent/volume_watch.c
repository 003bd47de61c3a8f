/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/volume_watch.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/worker.h"

struct volume_watch {
    struct worker *worker;
    const char *volume_dir;
    struct instance_state *state;
    void (*changed)(void *arg);
    void *arg;
    int64_t next_ms;
    bool busy, ending;
    /* From submit to done these belong to the thread. */
    uint64_t bytes, free_bytes; /* bytes 0: it could not be asked */
    int64_t at_ms;
};

static void run(void *arg)
{
    struct volume_watch *watch = arg;

    if (fs_space(watch->volume_dir, &watch->free_bytes, &watch->bytes, NULL) < 0)
        watch->bytes = 0;
    watch->at_ms = clock_monotonic_ms();
}

static void done(void *arg)
{
    struct volume_watch *watch = arg;
    struct volume_room *room = &watch->state->room;

    watch->busy = false;
    if (watch->ending ||
        !volume_room_look(room, watch->free_bytes, watch->bytes, watch->state->observed.extension_bytes, watch->at_ms))
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
    watch->volume_dir = paths->volume_dir;
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
