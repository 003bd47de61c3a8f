/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody stops by hand, and what is done all the same. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/role_notes.h"
#include "agent/tests/role_samples.h"

/* spec.paused: what somebody has stopped by hand, since we started it, of the source that is to be followed. */
static void test_a_thread_that_is_left_stopped(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    state.role.started = state.role.leave_threads = true;
    assert_false(role_is_left_stopped(&state));
    state.replication.applier = AGENT_THREAD_OFF;
    assert_true(role_is_left_stopped(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.leave_threads = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
    state.role.leave_threads = true;
    state.role.started = false; /* its server was started anew, or this agent */
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
    state.role.started = true;
    state.role.order.source_port++; /* another source */
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
    state.role.order.source_host[0] = '\0'; /* held: fencing does not wait for people */
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
    state = replica();
    state.role.started = state.role.leave_threads = true;
    state.replication.receiver = AGENT_THREAD_OFF;
    state.replication.receiver_errno = 2003; /* by itself */
    assert_false(role_is_left_stopped(&state));
    state.replication.receiver_errno = 0;
    state.replication.read_only = false; /* I1 */
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
}

/* In whatever role, but for a pause, and once the server is as ordered: a close has set it itself until its end. */
static void test_clients_that_are_shut_out_are_let_in(void **unused)
{
    struct instance_state state = replica();
    struct role_decision decision = {.action = ROLE_ACTION_ADMIT};

    UNUSED(unused);
    state.role.started = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.replication.offline = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_ADMIT);
    role_note_begin(&state.role, &decision, NOW);
    assert_true(state.role.started); /* a thread that is stopped later was stopped by hand all the same */
    state.role.running = ROLE_ACTION_NONE;
    assert_false(role_may_drop(&state, ROLE_ACTION_ADMIT));
    assert_int_equal(role_decide(&state, AGENT_PHASE_HUNG, NOW).action, ROLE_ACTION_NONE);
    state.role.leave_threads = true;
    assert_true(role_is_left_offline(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.leave_threads = false;
    state.replication.read_only = false; /* a close that has not come to its end */
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    state.replication.read_only = true;
    state.replication.configured = false;
    state.replication.receiver = state.replication.applier = AGENT_THREAD_OFF;
    state.role.order = (struct agent_order){.epoch = 3, .role = AGENT_ROLE_NONE}; /* fenced */
    assert_int_equal(action_of(&state), ROLE_ACTION_ADMIT);
    state.role.order.role = AGENT_ROLE_PRIMARY;
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    state.role.opened = true;
    state.replication.read_only = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_ADMIT);
    state.role.has_order = false; /* whatever its agent was about is not known */
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_false(role_is_left_offline(&state));
}

/* MySQL lets administrators write then, and applications not. */
static void test_a_primary_that_a_hand_has_set_read_only(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    state.replication = (struct replication_facts){.seen = true, .has_super_read_only = true};
    state.role.order = (struct agent_order){.epoch = 3, .role = AGENT_ROLE_PRIMARY};
    state.role.opened = true;
    assert_true(role_done(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.replication.root_only = true;
    assert_false(role_done(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    state.replication.root_only = false;
    state.replication.read_only = true; /* super_read_only, too */
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
}

/* Replicas were scaled in and out again before the pod went: its data counts as that of any other member. */
static void test_a_member_that_is_led_again_has_not_left(void **unused)
{
    struct instance_state state = replica();
    struct agent_order order = state.role.order;
    char hash[17];

    UNUSED(unused);
    agent_order_hash(&order, hash);
    state.role.mark = AGENT_MARK_LEFT;
    state.role.epoch = order.epoch + 1; /* the order is of the past */
    assert_int_equal(role_mark_after(&state.role, &order), AGENT_MARK_LEFT);
    state.role.epoch = order.epoch;
    assert_int_equal(role_mark_after(&state.role, &order), AGENT_MARK_NONE);
    role_note_epoch(&state, &order, hash, 0);
    assert_int_equal(state.role.mark, AGENT_MARK_NONE);

    state.role.mark = AGENT_MARK_LEFT;
    order.source_host[0] = '\0'; /* held: nobody says that it belongs to the cluster */
    assert_int_equal(role_mark_after(&state.role, &order), AGENT_MARK_LEFT);
    order.role = AGENT_ROLE_NONE;
    assert_int_equal(role_mark_after(&state.role, &order), AGENT_MARK_LEFT);
    order.role = AGENT_ROLE_PRIMARY;
    assert_int_equal(role_mark_after(&state.role, &order), AGENT_MARK_NONE);
    order.mark = AGENT_MARK_RESEED;
    assert_int_equal(role_mark_after(&state.role, &order), AGENT_MARK_RESEED);
    state.role.mark = AGENT_MARK_RESEED; /* the pod goes */
    order.mark = AGENT_MARK_NONE;
    assert_int_equal(role_mark_after(&state.role, &order), AGENT_MARK_RESEED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_that_is_left_stopped),
        cmocka_unit_test(test_clients_that_are_shut_out_are_let_in),
        cmocka_unit_test(test_a_primary_that_a_hand_has_set_read_only),
        cmocka_unit_test(test_a_member_that_is_led_again_has_not_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
