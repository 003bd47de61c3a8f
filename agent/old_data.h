/* SPDX-License-Identifier: Apache-2.0 */
/*
 * old_data.h: what the running agent does about data.before (datadir_beside.h): says that it is there, and removes it
 * when an order says that it is of no more use. On a thread of its own: that may take long. Owns state->beside;
 * everything else runs on the loop.
 */
#ifndef KM_AGENT_OLD_DATA_H
#define KM_AGENT_OLD_DATA_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/instance_state.h"
#include "common/agent_order.h"
#include "common/loop.h"

struct old_data;

/* changed: the status has. paths and state must outlive it. */
struct old_data *old_data_new(struct loop *loop, const struct agent_paths *paths, struct instance_state *state,
    void (*changed)(void *arg), void *arg);
/* Waits for what runs. NULL is fine. */
void old_data_free(struct old_data *old);
/* An order was accepted; said again, it is tried again. */
void old_data_ordered(struct old_data *old, const struct agent_order *order);

#endif
