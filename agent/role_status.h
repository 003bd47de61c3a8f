/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_status.h: what a status says of roles and replication, and whether a member is ready in its role. Pure.
 *
 * Ready: a primary is writable under its epoch; a replica is read-only, both threads run, nothing is errant, and its
 * lag is within the order's limit, or has not been unknown for longer than that. Without an order nobody is ready.
 */
#ifndef KM_AGENT_ROLE_STATUS_H
#define KM_AGENT_ROLE_STATUS_H

#include "common/base.h"

#include "agent/instance_state.h"
#include "common/agent_api.h"

/* Closing that takes longer is a problem that names what it waits for. */
#define DRAIN_NOTED_MS 1000

bool role_ready(const struct instance_state *state, int64_t now_ms, char *reason, size_t size);
void role_fill_status(const struct instance_state *state, int64_t now_ms, struct agent_status *ret);

/* The age of the newest heartbeat that was applied, less the interval between two; or, if that is less, for how long
 * the source has not said that it has sent all, and all was executed. False: not known. */
bool role_lag(const struct instance_state *state, int64_t now_ms, int64_t *ret_lag_ms);
/* After a look at the server. */
void role_note_lag(struct instance_state *state, int64_t now_ms);
/* Before the epoch changes: until a heartbeat of the new one is applied the lag is what it was, and what has passed
 * since. */
void role_lag_carry(struct instance_state *state, int64_t now_ms);
/* Since when no commit gets through although some wait, as a duration; 0: they do. */
int64_t role_blocked_ms(const struct instance_state *state, int64_t now_ms);
/* A look at the server: what a heartbeat that is late may have waited for. */
void role_note_beat(struct instance_state *state, const struct replication_facts *facts, int64_t at_ms);
/* The heartbeat takes longer than it should: worth a look at what it waits for. */
bool role_beat_is_late(const struct instance_state *state, int64_t now_ms);
/* For how long the heartbeat cannot be written although no commit waits for acknowledgements, nor it for a lock of
 * somebody else's, nor for a large transaction on its way into the binary log: the storage; 0: it can. */
int64_t role_stalled_ms(const struct instance_state *state, int64_t now_ms);

/* For how long the heartbeat has waited for a lock of somebody else's, so that nobody writes; 0: it does not. */
int64_t role_locked_ms(const struct instance_state *state, int64_t now_ms);

#endif
