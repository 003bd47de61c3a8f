/* SPDX-License-Identifier: Apache-2.0 */
/* Relay logs of before the server's start come before everything that may drop them. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/role_decide.h"

#define NOW 1000000
#define HOST "c1-mysql-0.c1-mysql.ns.svc"

static void test_before_everything_else(void **unused)
{
    static const struct {
        enum agent_role role;
        const char *source;
        bool has_order, read_only, leaving;
        enum relay_step relay;
        enum role_action action;
        bool done;
    } rows[] = {
        {AGENT_ROLE_REPLICA, HOST, true, true, false, RELAY_PENDING, ROLE_ACTION_RECOVER, true},
        {AGENT_ROLE_REPLICA, HOST, true, true, false, RELAY_DROP, ROLE_ACTION_RECOVER, true},
        {AGENT_ROLE_REPLICA, HOST, true, true, false, RELAY_DONE, ROLE_ACTION_FOLLOW, true},
        {AGENT_ROLE_REPLICA, HOST, true, true, true, RELAY_PENDING, ROLE_ACTION_NONE, true},
        {AGENT_ROLE_REPLICA, HOST, true, false, false, RELAY_PENDING, ROLE_ACTION_CLOSE, false},
        /* Held: what it has received is not final before. */
        {AGENT_ROLE_REPLICA, "", true, true, false, RELAY_PENDING, ROLE_ACTION_RECOVER, false},
        {AGENT_ROLE_REPLICA, "", true, true, false, RELAY_DONE, ROLE_ACTION_HOLD, true},
        {AGENT_ROLE_PRIMARY, "", true, true, false, RELAY_PENDING, ROLE_ACTION_RECOVER, false},
        {AGENT_ROLE_PRIMARY, "", true, true, false, RELAY_DONE, ROLE_ACTION_OPEN, false},
        {AGENT_ROLE_NONE, "", true, true, false, RELAY_PENDING, ROLE_ACTION_NONE, true},
        {AGENT_ROLE_NONE, "", false, true, false, RELAY_PENDING, ROLE_ACTION_NONE, false},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct instance_state state = {
            .replication = {.seen = true, .read_only = rows[i].read_only, .configured = true, .relay_logs_last = true},
            .role = {.has_order = rows[i].has_order,
                .order = {.epoch = 3, .role = rows[i].role, .source_port = 3306},
                .source_wanted = 7,
                .leaving = rows[i].leaving,
                .relay = rows[i].relay},
        };
        snprintf(state.role.order.source_host, sizeof(state.role.order.source_host), "%s", rows[i].source);
        if (role_decide(&state, AGENT_PHASE_RUNNING, NOW).action != rows[i].action || role_done(&state) != rows[i].done)
            fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_everything_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
