/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat_lane.h: the thread that writes the primary's heartbeat every HEARTBEAT_INTERVAL_MS: one row of
 * kubemysql.heartbeat with the epoch and this node's clock. Replicas measure their lag by it; a write that does not get
 * through tells that commits are blocked.
 *
 * A write that waits for acknowledgements blocks nothing else here: it is given up after a while, its transaction goes
 * on waiting in the server. Nothing is written to a server that is read-only: on a replica it would be an errant
 * transaction.
 */
#ifndef KM_AGENT_HEARTBEAT_LANE_H
#define KM_AGENT_HEARTBEAT_LANE_H

#include "common/base.h"

#include "agent/instance_state.h"
#include "agent/mysql/dialect.h"
#include "agent/own_commits.h"
#include "common/loop.h"

#define HEARTBEAT_INTERVAL_MS 500

struct heartbeat_lane;

/* fn runs on the loop when a write has ended; `beat` is kept up to date here. socket, user and beat must outlive the
 * lane. */
struct heartbeat_lane *heartbeat_lane_new(
    struct loop *loop, const char *socket, const char *user, struct beat_state *beat, void (*fn)(void *arg), void *arg);
/* Beats from now on, under this epoch. */
void heartbeat_lane_beat(struct heartbeat_lane *lane, uint64_t epoch);
/* No write begins any more; one that runs may still be at it (beat->started_ms). */
void heartbeat_lane_rest(struct heartbeat_lane *lane);
/* Its own commits are counted there; valid as long as the lane. Others of the agent's may be, too. */
struct own_commits *heartbeat_lane_commits(struct heartbeat_lane *lane);
void heartbeat_lane_free(struct heartbeat_lane *lane);

#endif
