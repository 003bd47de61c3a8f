/* SPDX-License-Identifier: Apache-2.0 */
/* A primary that closes for writes for the copy that it gives: when, for how long, how often. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/role_notes.h"
#include "agent/role_status.h"
#include "agent/tests/role_samples.h"

static struct instance_state state_of_copied(void)
{
    return (struct instance_state){
        .replication =
            {.seen = true, .semi_sync_source = true, .semi_sync_waits = true, .waiting_commits = 1, .copy_waits = true},
        .role = {.has_order = true,
            .opened = true,
            .was_open = true,
            .order = {.epoch = 1, .role = AGENT_ROLE_PRIMARY, .semi_sync = true}},
        .serving_copies = 1,
        .commits_blocked_since_ms = NOW - COPY_PATIENCE_MS,
    };
}

static void test_closed_for_a_copy(void **unused)
{
    struct instance_state state = state_of_copied();

    UNUSED(unused);
    assert_true(role_closed_for_copy(&state, NOW));
    assert_false(role_closed_for_copy(&state, NOW - 1));
    state.replication.copy_waits = false;
    state.copy_stalls = true; /* as its donor sees */
    assert_true(role_closed_for_copy(&state, NOW));
    state.copy_stalls = false;
    /* It copies on: a replica may come back meanwhile. */
    assert_false(role_closed_for_copy(&state, NOW));
    state.role.closed_for_copy = true;
    assert_true(role_closed_for_copy(&state, NOW));
    assert_int_equal(role_decide(&state, AGENT_PHASE_RUNNING, NOW).action, ROLE_ACTION_CLOSE);
    state.replication.read_only = true;
    state.role.was_open = false;
    assert_int_equal(role_decide(&state, AGENT_PHASE_RUNNING, NOW).action, ROLE_ACTION_NONE);
    assert_false(role_done(&state));
    state.serving_copies = 0;
    state.replication.gives_clone = true;
    assert_true(role_closed_for_copy(&state, NOW));
    state.replication.gives_clone = false;
    state.role.closed_for_copy = role_closed_for_copy(&state, NOW);
    assert_false(state.role.closed_for_copy);
    assert_int_equal(role_decide(&state, AGENT_PHASE_RUNNING, NOW).action, ROLE_ACTION_OPEN);
}

static bool says_closed_for_copy(const struct instance_state *state, int64_t now_ms)
{
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};

    role_fill_status(state, now_ms, &status);
    for (int i = 0; i < status.problem_count; i++) {
        if (status.problems[i].kind == AGENT_PROBLEM_CLOSED_FOR_COPY)
            return true;
    }
    return false;
}

/* As long as the copy needs to get past what it waited for, be it complete or not; it is read from meanwhile. */
static void test_opens_before_the_copy_is_complete(void **unused)
{
    struct instance_state state = state_of_copied();
    char why[256];

    UNUSED(unused);
    assert_true(role_note_copy(&state, NOW));
    assert_true(role_ready(&state, NOW, why, sizeof(why)));
    assert_false(role_note_copy(&state, NOW + 60000)); /* it is being closed */
    state.replication.read_only = true;
    state.role.was_open = false;
    state.replication.waiting_commits = 0;
    assert_false(role_note_copy(&state, NOW + 60000));
    assert_false(role_note_copy(&state, NOW + 60000 + COPY_STAGE_MS - 1));
    assert_true(role_note_copy(&state, NOW + 60000 + COPY_STAGE_MS));
    assert_int_equal(role_decide(&state, AGENT_PHASE_RUNNING, NOW + 63000).action, ROLE_ACTION_OPEN);
    assert_true(role_ready(&state, NOW + 63000, why, sizeof(why)));
    assert_true(says_closed_for_copy(&state, NOW + 63000));
    state.replication.read_only = false;
    state.role.opened = true;
    state.commits_blocked_since_ms = NOW + 60000; /* it waited again at once */
    assert_false(role_note_copy(&state, NOW + 63001));
    assert_false(says_closed_for_copy(&state, NOW + 63001));
}

/* Once in ten minutes, whatever agent it was, and however many copies are tried. */
static void test_not_closed_for_a_copy_again(void **unused)
{
    struct instance_state state = state_of_copied();
    struct agent_order order = {.epoch = 1, .role = AGENT_ROLE_PRIMARY, .semi_sync = true, .stays_open = true};
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};
    const char hash[17] = "";

    UNUSED(unused);
    role_note_epoch(&state, &order, hash, NOW);
    assert_false(role_closed_for_copy(&state, NOW));
    role_fill_status(&state, NOW, &status);
    assert_int_equal(agent_status_asides(&status), AGENT_ASIDE_STAYS_OPEN);
    order.stays_open = false;
    role_note_epoch(&state, &order, hash, NOW);
    assert_true(role_note_copy(&state, NOW));
    state.serving_copies = 0; /* it has failed */
    assert_true(role_note_copy(&state, NOW + 1));
    state.serving_copies = 1;
    state.role.opened = true;
    state.commits_blocked_since_ms = NOW + AGENT_COPY_CLOSE_AGAIN_MS - COPY_PATIENCE_MS - 1;
    assert_false(role_note_copy(&state, NOW + AGENT_COPY_CLOSE_AGAIN_MS - 1));
    assert_true(role_note_copy(&state, NOW + AGENT_COPY_CLOSE_AGAIN_MS));
}

/* Nobody can write in any case, and would not for ten minutes. */
static void test_closed_again_where_no_commit_gets_through(void **unused)
{
    struct instance_state state = state_of_copied();

    UNUSED(unused);
    state.role.stays_open = true;
    state.role.copy_closed_ms = NOW - COPY_AGAIN_BLOCKED_MS - 5000;
    state.commits_blocked_since_ms = NOW - COPY_AGAIN_BLOCKED_MS + 1;
    assert_false(role_closed_for_copy(&state, NOW));
    assert_true(role_closed_for_copy(&state, NOW + 1));
    state.commits_blocked_since_ms = NOW - COPY_PATIENCE_MS; /* one got through */
    assert_false(role_closed_for_copy(&state, NOW + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_for_a_copy),
        cmocka_unit_test(test_closed_again_where_no_commit_gets_through),
        cmocka_unit_test(test_opens_before_the_copy_is_complete),
        cmocka_unit_test(test_not_closed_for_a_copy_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
