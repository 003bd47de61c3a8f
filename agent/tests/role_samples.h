/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_samples.h: what tests of decisions about roles (agent/role_decide.h) begin with.
 */
#ifndef KM_AGENT_ROLE_SAMPLES_H
#define KM_AGENT_ROLE_SAMPLES_H

#include "common/base.h"

#include "agent/role_decide.h"

#define NOW 1000000
#define HOST "c1-mysql-0.c1-mysql.ns.svc"

/* A replica that follows its source as ordered. */
static inline struct instance_state replica(void)
{
    return (struct instance_state){
        .replication = {.seen = true,
            .read_only = true,
            .configured = true,
            .source_host = HOST,
            .source_port = 3306,
            .source_tls = true,
            .receiver = AGENT_THREAD_RUNNING,
            .applier = AGENT_THREAD_RUNNING},
        .role = {.has_order = true,
            .order =
                {.epoch = 3, .role = AGENT_ROLE_REPLICA, .source_host = HOST, .source_port = 3306, .max_lag_seconds = 5},
            .source_wanted = 7,
            .source_followed = 7,
            .followed_ms = NOW - 60000},
    };
}

static inline enum role_action action_of(const struct instance_state *state)
{
    return role_decide(state, AGENT_PHASE_RUNNING, NOW).action;
}

#endif
