/* SPDX-License-Identifier: Apache-2.0 */
/* What is decided while the server refuses to tell how it is: role_decide.h. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/role_notes.h"
#include "agent/role_status.h"
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
    struct instance_state state = {
        .role = {.started_ms = NOW - ROLE_LEFT_OPEN_MS, .fence = {.epoch = 3, .ms = 4000, .members = 2}}};

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

/* Looks at a member with this order, whose set was emptied after the first one. */
static void look_twice(struct instance_state *state, bool read_only)
{
    struct replication_facts facts = {.seen = true, .read_only = read_only, .configured = read_only, .connection = 3};

    state->observed.version.flavour = AGENT_FLAVOUR_MYSQL;
    for (int i = 0; i < 2; i++) {
        facts.begun_ms = NOW + i * 1000;
        facts.gtid_executed = i ? "" : "aaaaaaaa-0000-0000-0000-000000000000:1-9";
        role_note_look(state, &facts, facts.begun_ms);
    }
}

/* Whatever its role is. It holds for the data, so neither the server's end nor another role ends it. */
static void test_a_position_that_was_set_back(void **unused)
{
    static const enum agent_role roles[] = {AGENT_ROLE_PRIMARY, AGENT_ROLE_REPLICA, AGENT_ROLE_NONE};

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
        struct instance_state state = primary();
        state.role.order.role = roles[i];
        state.role.retry_ms = NOW + 60000;
        look_twice(&state, roles[i] != AGENT_ROLE_PRIMARY);
        assert_string_equal(state.loss.lost.lacking, "aaaaaaaa-0000-0000-0000-000000000000:1-9");
        assert_int_equal(state.loss.lost.was_open, roles[i] == AGENT_ROLE_PRIMARY);
        assert_int_equal(state.role.retry_ms, 0); /* what it receives is ended at once */
        role_note_server_gone(&state, NOW);
        assert_true(state.loss.lost.is_lost);
    }
}

/* Never on that data, whatever is ordered; what was received before is applied, and it is read from. */
static void test_it_receives_nothing(void **unused)
{
    struct instance_state state = replica();
    char reason[128];

    UNUSED(unused);
    state.role.order.max_lag_seconds = 0;
    state.loss.lost.is_lost = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
    state.replication.receiver = AGENT_THREAD_CONNECTING;
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
    state.replication.receiver = AGENT_THREAD_OFF;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_true(role_done(&state));
    assert_true(role_ready(&state, NOW, reason, sizeof(reason)));
    /* It is our own doing: the source is not lost. */
    state.stream = (struct stream_view){.seen = true, .observed_ms = NOW, .heard_ms = NOW - 60000};
    assert_false(role_source_lost(&state));
    state.loss.lost.is_lost = false;
    assert_true(role_source_lost(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
    assert_false(role_ready(&state, NOW, reason, sizeof(reason)));
    /* A former primary that is ordered to follow, a restart with relay logs, an election, a source not opened yet. */
    state.loss.lost.is_lost = true;
    state.replication.configured = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.relay = RELAY_PENDING;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.order.await_source = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.order.source_host[0] = '\0';
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_true(role_done(&state));
    state.replication.read_only = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_that_refuses_looks_is_closed),
        cmocka_unit_test(test_a_close_that_nobody_can_look_at),
        cmocka_unit_test(test_a_server_that_was_never_looked_at),
        cmocka_unit_test(test_a_position_that_was_set_back),
        cmocka_unit_test(test_it_receives_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
