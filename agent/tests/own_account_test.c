/* SPDX-License-Identifier: Apache-2.0 */
/* The account by which the agent enters: what a look has seen of it, and what the status says. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/agent_decide.h"
#include "agent/readiness.h"
#include "agent/tests/healthy_state.h"

/* Only a primary logs it, and each look counts once. */
static void test_the_account_that_it_enters_by(void **unused)
{
    struct instance_state state = healthy();
    struct agent_status status = {0};

    UNUSED(unused);
    state.observed.has_status = true;
    state.observed.own_account = OWN_ACCOUNT_THERE;
    assert_false(agent_note_own_account(&state));
    assert_false(state.own_account_due);
    state.observed.own_account = OWN_ACCOUNT_MENDED;
    state.observed.has_status = false;
    assert_false(agent_note_own_account(&state));
    state.observed.has_status = true;
    assert_true(agent_note_own_account(&state));
    assert_true(state.own_account_due);
    state.own_account_due = false;
    state.role.order.role = AGENT_ROLE_REPLICA;
    assert_false(agent_note_own_account(&state));
    assert_false(state.own_account_due);
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 0);
    state.observed.own_account = OWN_ACCOUNT_LOST;
    assert_false(agent_note_own_account(&state));
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 1);
    assert_int_equal(status.problems[0].kind, AGENT_PROBLEM_AGENT_LOCKED_OUT);
    assert_non_null(strstr(status.problems[0].message, "mysql@localhost"));
    assert_non_null(strstr(status.problems[0].message, "read-only"));
}

/* Beside the server's error message, which names an authentication plugin although the account does not exist. */
static void test_who_is_locked_out_names_its_account(void **unused)
{
    struct instance_state state = healthy();
    struct agent_status status = {0};

    UNUSED(unused);
    state.user = "db";
    error_set(&state.probe_error, ERROR_UNAUTHORIZED, "server error 1045: as the test wants");
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 1);
    assert_int_equal(status.problems[0].kind, AGENT_PROBLEM_AGENT_LOCKED_OUT);
    assert_non_null(strstr(status.problems[0].message, "its account db@localhost is not there"));
    assert_non_null(strstr(status.problems[0].message, "server error 1045: as the test wants"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_account_that_it_enters_by),
        cmocka_unit_test(test_who_is_locked_out_names_its_account),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
