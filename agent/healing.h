/* SPDX-License-Identifier: Apache-2.0 */
/*
 * healing.h: what an agent does around a failover besides changing roles, on a thread of its own: sets aside what is
 * about to be lost (set_aside.h), fetches what only the dead primary has (salvage.h), says how a dead server may be
 * started again (start_mode.h). Owns state->healing; everything runs on the loop.
 */
#ifndef KM_AGENT_HEALING_H
#define KM_AGENT_HEALING_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/instance_state.h"
#include "common/agent_api.h"
#include "common/agent_order.h"
#include "common/error.h"
#include "common/loop.h"
#include "common/tls.h"

struct healing;

/* changed: as role_keeper_new's. paths and state must outlive it. */
struct healing *healing_new(struct loop *loop, const struct agent_paths *paths, struct instance_state *state,
    void (*changed)(void *arg), void *arg);
void healing_free(struct healing *healing);
void healing_set_tls(struct healing *healing, const struct tls_keypair *pair, const char *ca_pem);

/* Before an order is taken up: whether something must be set aside first. Then healing_set_aside does it and calls fn
 * once, later: with ERROR_NONE the order's mark may be written; ERROR_UNAVAILABLE another one is at it. */
bool healing_must_set_aside(const struct healing *healing, const struct agent_order *order);
void healing_set_aside(struct healing *healing, const struct agent_order *order,
    void (*fn)(void *arg, const struct error *error), void *arg);

/* An order was accepted; renewed: it is the one in force, said again, which may name another member to salvage from. */
void healing_ordered(struct healing *healing, const struct agent_order *order, bool renewed);
void healing_server_gone(struct healing *healing);
/* The lane is done with opening: what it says of salvage. */
struct role_result;
void healing_opened(struct healing *healing, const struct role_result *result);
/* Whether opening must wait: for what is being fetched, or for a file. */
bool healing_holds(const struct healing *healing);
void healing_turn(struct healing *healing);

/* Pure. Whether the note of the semi-sync primary that this server is (start_mode.h) must change from `marked` to
 * *ret_epoch (0: it is none). */
bool healing_wants_mark(const struct instance_state *state, uint64_t marked, uint64_t *ret_epoch);
/* Pure. healing_holds, with that note. */
bool healing_must_wait(const struct instance_state *state, uint64_t marked);
/* Pure: healing_ordered's part of the state. True: a fetch for the order before is of no use. */
bool healing_note_ordered(struct instance_state *state, const struct agent_order *order, bool renewed);
/* Pure: healing_opened's part of the state. True: what comes behind result->salvage_after is to be fetched. */
bool healing_note_opened(struct instance_state *state, const struct role_result *result);
/* Pure: what was asked for has come, or has not (err). */
void healing_note_fetched(struct instance_state *state, const char *fetched, const struct error *err, int64_t now_ms);
/* Pure. */
void healing_fill_status(const struct instance_state *state, struct agent_status *ret);

#endif
