/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided while the server refuses to tell how it is: role_decide.h. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/role_notes.h"
#include "agent/tests/role_samples.h"

static struct instance_state primary(void)
{
    return (struct instance_state){
        .replication = {.seen = true},
        .role = {.has_order = true, .order = {.epoch = 3, .role = AGENT_ROLE_PRIMARY}, .opened = true, .was_open = true},
    };
}

/* I6: what keeps a look from its end keeps nobody from closing the server. */
static void test_a_server_that_refuses_looks_is_closed(void **unused)
{
    static const enum error_kind kinds[] = {ERROR_DATABASE, ERROR_UNAUTHORIZED, ERROR_PROTOCOL};
    struct instance_state state = primary();

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        state = primary();
        state.probe_error.kind = kinds[i];
        assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
        state.role.opened = false; /* opening, and all else, needs to know more */
        assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
        state.role.opened = state.role.isolated = true;
        assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
        state.action_running = true; /* which may wait for an acknowledgement that nobody can see */
        assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
        assert_true(role_decide(&state, AGENT_PHASE_RUNNING, NOW).urgent);
        assert_int_equal(role_decide(&state, AGENT_PHASE_DOWN, NOW).action, ROLE_ACTION_NONE);
        state.role.isolated = state.action_running = false;
        state.role.order.role = AGENT_ROLE_NONE; /* fenced */
        assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
        state.role.order.role = AGENT_ROLE_REPLICA;
        assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
        state.replication.read_only = true; /* as the change of role has seen it */
        state.role.was_open = false;
        assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
        assert_true(role_done(&state));
    }
}

/* Closed, and nobody has seen it: that is not done, and is done again, but not at once. */
static void test_a_close_that_nobody_can_look_at(void **unused)
{
    struct instance_state state = primary();
    const struct role_result result = {.done = true};
    const struct role_begun begun = {.epoch = 3};

    UNUSED(unused);
    state.role.order.role = AGENT_ROLE_NONE;
    state.role.running = ROLE_ACTION_CLOSE;
    state.probe_error.kind = ERROR_DATABASE;
    role_note_success(&state, &result, &begun, NOW);
    state.role.running = ROLE_ACTION_NONE;
    assert_false(role_done(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_int_equal(role_decide(&state, AGENT_PHASE_RUNNING, NOW + 5000).action, ROLE_ACTION_CLOSE);
    state.role.running = ROLE_ACTION_CLOSE;
    state.role.retry_ms = 0;
    const struct role_result seen = {.done = true, .has_facts = true};
    role_note_success(&state, &seen, &begun, NOW);
    assert_int_equal(state.role.retry_ms, 0);
}

/* A new agent whose looks all fail knows nothing of a server that one before it has left open. */
static void test_a_server_that_was_never_looked_at(void **unused)
{
    struct instance_state state = {.role = {.started_ms = NOW - 4000, .fence = {.epoch = 3, .ms = 4000, .members = 2}}};

    UNUSED(unused);
    assert_false(role_is_isolated(&state, NOW)); /* it has refused nothing: it starts, perhaps */
    state.probe_error.kind = ERROR_DATABASE;
    assert_false(role_is_isolated(&state, NOW - 1));
    assert_true(role_is_isolated(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.isolated = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    state.role.isolated = false;
    state.seen_gone = true; /* it was started under this agent, and so closed (I1) */
    assert_false(role_is_isolated(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.seen_gone = false;
    state.role.has_order = true;
    state.role.order.role = AGENT_ROLE_NONE;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    assert_false(role_done(&state));
    state.seen_gone = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_false(role_done(&state));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_that_refuses_looks_is_closed),
        cmocka_unit_test(test_a_close_that_nobody_can_look_at),
        cmocka_unit_test(test_a_server_that_was_never_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
