/* SPDX-License-Identifier: Apache-2.0 */
/*
 * healthy_state.h: what an agent knows of a primary that is well: where tests of its decisions begin.
 */
#ifndef KM_AGENT_TESTS_HEALTHY_STATE_H
#define KM_AGENT_TESTS_HEALTHY_STATE_H

#include "common/base.h"

#include "agent/instance_state.h"

/* Monotonic, in milliseconds. */
#define NOW 1000000

/* A primary that was probed half a second ago, open, with accounts made. */
static inline struct instance_state healthy(void)
{
    return (struct instance_state){
        .server_there = true,
        .socket_accepts = true,
        .accepts_since_ms = NOW - 60000,
        .last_probe_ms = NOW - 200,
        .last_answer_ms = NOW - 200,
        .last_status_ms = NOW - 500,
        .room = {.bytes = 10ULL * 1024 * KM_MIB, .free_bytes = 5ULL * 1024 * KM_MIB},
        .accounts_wanted = 1,
        .accounts_applied = 1,
        .accounts_once = true,
        .accounts_scope = ACCOUNTS_LOGGED,
        .events_epoch = 1,
        .replication = {.seen = true, .events_listed = true},
        .role = {.has_order = true, .epoch = 1, .order = {.epoch = 1, .role = AGENT_ROLE_PRIMARY}, .opened = true},
    };
}

#endif
