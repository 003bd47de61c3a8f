/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/agent_server.h"
#include "agent/heartbeat_lane.h"
#include "agent/role_status.h"
#include "agent/tests/role_samples.h"

static struct instance_state replica_of_known_lag(void)
{
    struct instance_state state = replica();

    state.role.lag_known_ms = NOW;
    return state;
}

static void test_a_source_that_is_yet_to_be_opened(void **unused)
{
    struct instance_state state = replica_of_known_lag();

    UNUSED(unused);
    state.role.order.await_source = true;
    state.replication.receiver = AGENT_THREAD_OFF;
    state.replication.applier = AGENT_THREAD_OFF;
    assert_true(role_awaits_source(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE); /* all is ready */
    state.role.source_followed = 6;
    assert_int_equal(action_of(&state), ROLE_ACTION_PREPARE);
    state.role.source_followed = 7;
    state.role.prepared = true;
    state.replication.receiver_errno = 2003; /* of the source before, which is dead */
    snprintf(state.replication.source_host, sizeof(state.replication.source_host), "other");
    assert_int_equal(action_of(&state), ROLE_ACTION_PREPARE);
    snprintf(state.replication.source_host, sizeof(state.replication.source_host), HOST);
    state.role.password_unknown = true;
    state.replication.receiver_errno = 1045; /* of the source before, too */
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.replication.receiver_errno = 2003;
    state.source = (struct source_view){.known = true, .is_primary = true, .epoch = 3}; /* it is on its way */
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.source =
        (struct source_view){.known = true, .is_primary = true, .is_open = true, .epoch = 2}; /* of another time */
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.source.epoch = 3;
    assert_false(role_awaits_source(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
    assert_true(role_decide(&state, AGENT_PHASE_RUNNING, NOW).restart);
    state.source = (struct source_view){.known = false};
    state.role.order.await_source = false; /* the operator has seen it open */
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
}

/* What a parallel applier of MariaDB says may be of a transaction that only came after the one that failed. */
static void test_an_error_that_names_no_cause_is_tried_again(void **unused)
{
    static const struct {
        uint32_t error;
        bool again;
    } rows[] = {{1964, true}, {1205, true}, {1213, true}, {1950, false}, {1062, false}};

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct instance_state state = replica_of_known_lag();
        state.replication.applier = AGENT_THREAD_OFF;
        state.replication.applier_errno = rows[i].error;
        state.role.restarted_ms = NOW - 60000;
        if (role_decide(&state, AGENT_PHASE_RUNNING, NOW).restart != rows[i].again)
            fail_msg("error %u", rows[i].error);
        state.role.restarted_ms = NOW - 10;
        assert_false(role_decide(&state, AGENT_PHASE_RUNNING, NOW).restart);
    }
}

static void test_who_waits_for_its_source_is_ready_and_has_lost_nobody(void **unused)
{
    struct instance_state state = replica_of_known_lag();
    char reason[128];

    UNUSED(unused);
    state.role.order.await_source = true;
    state.replication.receiver = AGENT_THREAD_OFF;
    state.replication.applier = AGENT_THREAD_OFF;
    assert_true(role_ready(&state, NOW, reason, sizeof(reason)));
    state.stream = (struct stream_view){.seen = true, .observed_ms = NOW, .heard_ms = NOW - 60000};
    assert_false(role_source_lost(&state));
    state.role.order.await_source = false;
    assert_false(role_ready(&state, NOW, reason, sizeof(reason)));
    assert_true(role_source_lost(&state));
}

static void test_a_new_binary_log_once_an_epoch(void **unused)
{
    struct instance_state state = replica_of_known_lag();

    UNUSED(unused);
    state.role.order.rotate = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_ROTATE);
    state.role.rotated_epoch = 3;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.order.epoch = 4;
    assert_int_equal(action_of(&state), ROLE_ACTION_ROTATE);
    state.replication.receiver = AGENT_THREAD_OFF; /* first things first */
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
}

/* A MySQL that is told to end while its replication starts may not end. */
static void test_a_server_that_leaves_begins_to_follow_nobody(void **unused)
{
    struct instance_state state = replica_of_known_lag();

    UNUSED(unused);
    state.replication.configured = false;
    state.replication.receiver = AGENT_THREAD_OFF;
    state.replication.applier = AGENT_THREAD_OFF;
    state.role.source_followed = 0;
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
    state.role.order.await_source = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_PREPARE);
    state.role.leaving = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.order.await_source = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.was_open = true; /* closed it is in any case */
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    state = replica_of_known_lag();
    state.role.leaving = true;
    state.role.order.source_host[0] = '\0'; /* and it is held back from a primary that is lost */
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
}

/* Whatever it is ordered: an election may ask for what it had. */
static void test_what_was_cut_off_is_taken_back_under_any_order(void **unused)
{
    struct instance_state state = replica_of_known_lag();

    UNUSED(unused);
    state.replication.configured = false;
    state.replication.receiver = state.replication.applier = AGENT_THREAD_OFF;
    state.role.order.source_host[0] = '\0';
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.put_back_due = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
    state.role.order.role = AGENT_ROLE_NONE;
    assert_int_equal(action_of(&state), ROLE_ACTION_STOP);
    state.role.put_back_due = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
}

/* Its relay logs go with its pod. */
static void test_who_is_to_be_stopped_applies_what_it_has_received(void **unused)
{
    struct instance_state state = replica_of_known_lag();
    struct agent_status status = {.role = AGENT_ROLE_REPLICA, .order_hash = "1"};
    char word[AGENT_SERVER_ROLE_WORD_SIZE];

    UNUSED(unused);
    state.replication.all_applied = true;
    assert_false(role_applies_before_end(&state)); /* nobody stops it */
    state.role.leaving = true;
    assert_true(role_applies_before_end(&state)); /* more may come */
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
    agent_server_role_word(&state, &status, false, word, sizeof(word));
    assert_string_equal(word, "replica applying");
    state.role.was_open = true;
    agent_server_role_word(&state, &status, false, word, sizeof(word));
    assert_string_equal(word, "replica open applying");
    state.role.was_open = false;
    state.replication.receiver = AGENT_THREAD_OFF;
    state.replication.all_applied = false;
    assert_true(role_applies_before_end(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.replication.applier_errno = 1062; /* it will not be applied */
    assert_false(role_applies_before_end(&state));
    state.replication.applier_errno = 0;
    state.replication.all_applied = true;
    assert_false(role_applies_before_end(&state));
    agent_server_role_word(&state, &status, false, word, sizeof(word));
    assert_string_equal(word, "replica");
    state = replica_of_known_lag();
    state.role.leaving = state.role.leave_threads = state.role.started = true;
    state.replication.applier = AGENT_THREAD_OFF; /* by hand */
    assert_false(role_applies_before_end(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
}

/* A member that starts on a kept volume is configured with the password of that time: it is started as it is, and what
 * the source refuses is named anew, once. */
static void test_a_password_of_the_past_is_replaced(void **unused)
{
    struct instance_state state = replica_of_known_lag();

    UNUSED(unused);
    state.role.source_followed = 0;
    state.replication.receiver = AGENT_THREAD_CONNECTING;
    struct role_decision decision = role_decide(&state, AGENT_PHASE_RUNNING, NOW);
    assert_true(decision.action == ROLE_ACTION_FOLLOW && !decision.reconfigure);
    role_note_followed(&state.role, 7, false, NOW);
    assert_int_equal(state.role.source_followed, 7);
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.replication.receiver_errno = 1045;
    decision = role_decide(&state, AGENT_PHASE_RUNNING, NOW);
    assert_true(decision.action == ROLE_ACTION_FOLLOW && decision.reconfigure);
    role_note_followed(&state.role, 7, true, NOW);
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);

    role_note_followed(&state.role, 8, false, NOW + 1); /* another source */
    assert_int_equal(state.role.followed_ms, NOW + 1);
}

/* The applier is started while the source does not take the new password yet: what is stored is the old one still. */
static void test_a_password_that_was_not_stored_is_no_password_of_ours(void **unused)
{
    struct instance_state state = replica_of_known_lag();

    UNUSED(unused);
    snprintf(state.accounts_wanted_hash, sizeof(state.accounts_wanted_hash), "new");
    snprintf(state.source.accounts_hash, sizeof(state.source.accounts_hash), "old");
    state.role.source_wanted = 8;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.replication.applier = AGENT_THREAD_OFF;
    struct role_decision decision = role_decide(&state, AGENT_PHASE_RUNNING, NOW);
    assert_true(decision.action == ROLE_ACTION_FOLLOW && !decision.reconfigure);
    role_note_followed(&state.role, 8, false, NOW);
    state.replication.applier = AGENT_THREAD_RUNNING;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);

    state.replication.receiver = AGENT_THREAD_CONNECTING;
    state.replication.receiver_errno = 1045;
    decision = role_decide(&state, AGENT_PHASE_RUNNING, NOW);
    assert_true(decision.action == ROLE_ACTION_FOLLOW && decision.reconfigure);
    role_note_followed(&state.role, 8, true, NOW);
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_source_that_is_yet_to_be_opened),
        cmocka_unit_test(test_a_server_that_leaves_begins_to_follow_nobody),
        cmocka_unit_test(test_who_is_to_be_stopped_applies_what_it_has_received),
        cmocka_unit_test(test_what_was_cut_off_is_taken_back_under_any_order),
        cmocka_unit_test(test_an_error_that_names_no_cause_is_tried_again),
        cmocka_unit_test(test_who_waits_for_its_source_is_ready_and_has_lost_nobody),
        cmocka_unit_test(test_a_new_binary_log_once_an_epoch),
        cmocka_unit_test(test_a_password_of_the_past_is_replaced),
        cmocka_unit_test(test_a_password_that_was_not_stored_is_no_password_of_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
