/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_watch.h: the thread that looks how much room the data volume has, five times a second. The probe lane looks
 * twice a second and waits for the server, which a volume that fills up makes slow; a file system that hangs makes only
 * this thread wait, and what it said last stands. It also makes the reserve (bootstrap/volume_reserve.h) while a server
 * runs and twice the floor is left beside it.
 */
#ifndef KM_AGENT_VOLUME_WATCH_H
#define KM_AGENT_VOLUME_WATCH_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/instance_state.h"
#include "common/loop.h"

#define VOLUME_LOOK_MS 200

struct volume_watch;

/* Keeps state->room up to date; changed is called when it has become short, or no longer is. paths and state must
 * outlive it. */
struct volume_watch *volume_watch_new(struct loop *loop, const struct agent_paths *paths, struct instance_state *state,
    void (*changed)(void *arg), void *arg);
/* As often as one likes: a look begins when one is due and none is under way. */
void volume_watch_turn(struct volume_watch *watch, int64_t now_ms);
void volume_watch_free(struct volume_watch *watch);

#endif
