/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat_lane.h: the thread of the primary's heartbeat. Every HEARTBEAT_INTERVAL_MS it writes one row of
 * kubemysql.heartbeat with the epoch and this node's clock, by which replicas measure their lag; or, while the cluster
 * is at rest, it tries the volume without the server (beat_rest.h). One that does not get through tells that commits
 * are blocked, or storage is.
 *
 * A row that waits for acknowledgements blocks nothing else here: it is given up after a while, its transaction goes on
 * waiting in the server. Nothing is written to a server that is read-only: on a replica it would be an errant
 * transaction. A file that is refused is no verdict: a row is written in its place, and the server says what is wrong.
 */
#ifndef KM_AGENT_HEARTBEAT_LANE_H
#define KM_AGENT_HEARTBEAT_LANE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/instance_state.h"
#include "agent/mysql/dialect.h"
#include "agent/own_commits.h"
#include "common/loop.h"

#define HEARTBEAT_INTERVAL_MS 500

struct heartbeat_lane;

struct beat_wish {
    uint64_t epoch;
    enum agent_flavour family; /* as dialect_for has it */
    bool may_rest;             /* role_notes.h: role_may_rest */
};

/* fn runs on the loop when a write has ended; `beat` is kept up to date here. paths, user and beat must outlive the
 * lane. */
struct heartbeat_lane *heartbeat_lane_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    struct beat_state *beat, void (*fn)(void *arg), void *arg);
/* Beats from now on, as wished. */
void heartbeat_lane_beat(struct heartbeat_lane *lane, const struct beat_wish *wish);
/* No write begins any more; one that runs may still be at it (beat->started_ms). */
void heartbeat_lane_stop(struct heartbeat_lane *lane);
/* Its own commits are counted there; valid as long as the lane. Others of the agent's may be, too. */
struct own_commits *heartbeat_lane_commits(struct heartbeat_lane *lane);
void heartbeat_lane_free(struct heartbeat_lane *lane);

#endif
