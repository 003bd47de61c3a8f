/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/catch_up.h"

#include <setjmp.h>
#include <cmocka.h>

#define NOW 1000000
#define MARIADB AGENT_FLAVOUR_MARIADB
#define A "11111111-1111-1111-1111-111111111111"

/* An open primary whose server was looked at 100 ms before it answered. */
static struct agent_status source(const char *executed)
{
    return (struct agent_status){.phase = AGENT_PHASE_RUNNING,
        .writable = true,
        .clock_ms = 70000,
        .looked_ms = 70000 - 100,
        .gtid_executed = executed};
}

static void test_a_server_that_started_has_to_prove_it(void **unused)
{
    struct catch_up catch_up = {0};
    struct agent_status theirs = source("0-1-100");

    UNUSED(unused);
    catch_up_gap(&catch_up, NOW);
    catch_up_look(&catch_up, MARIADB, "", "0-1-90", false, NOW + 10);
    assert_false(catch_up.up);
    catch_up_heard(&catch_up, &theirs, NULL, NOW + 200);
    catch_up_look(&catch_up, MARIADB, "0-1-90", "0-1-99", false, NOW + 210);
    assert_false(catch_up.up);
    catch_up_look(&catch_up, MARIADB, "0-1-99", "0-1-100", false, NOW + 220);
    assert_true(catch_up.up);
    catch_up_look(&catch_up, MARIADB, "0-1-100", "0-1-101", false, NOW + 230);
    catch_up_look(&catch_up, MARIADB, "0-1-101", "0-1-101", false, NOW + 240);
    assert_true(catch_up.up);
}

static void test_what_falls_back_was_dropped(void **unused)
{
    static const struct {
        enum agent_flavour flavour;
        const char *before, *now;
        bool up;
    } rows[] = {
        {MARIADB, "0-1-100", "0-1-100", true}, {MARIADB, "0-1-100", "0-2-101", true},
        {MARIADB, "0-1-100", "0-1-99", false}, {MARIADB, "0-1-100,1-1-5", "0-1-100", false},
        {MARIADB, "0-1-100", "", false}, {MARIADB, "", "0-1-90", true},
        {AGENT_FLAVOUR_MYSQL, A ":1-100", A ":1-101", true}, {AGENT_FLAVOUR_MYSQL, A ":1-100", A ":1-99", false},
        {AGENT_FLAVOUR_MYSQL, A ":1-100", A ":1-98:100-120", false},
        {AGENT_FLAVOUR_MYSQL, A ":1-100", A ":1-1...", false}, /* cut */
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct catch_up catch_up = {.up = true};
        catch_up_look(&catch_up, rows[i].flavour, rows[i].before, rows[i].now, false, NOW);
        if (catch_up.up != rows[i].up)
            fail_msg("\"%s\" after \"%s\": %d", rows[i].now, rows[i].before, catch_up.up);
        assert_int_equal(catch_up.gap_ms, rows[i].up ? 0 : NOW);
    }
}

/* What the source had executed before the gap says nothing of what was acknowledged until then. */
static void test_an_old_answer_proves_nothing(void **unused)
{
    static const struct {
        int64_t asked_ms, looked_ms;
        bool closed, hangs, blocked, counts;
    } rows[] = {
        {NOW + 101, 69900, false, false, false, true},
        {NOW + 100, 69900, false, false, false, false},
        {NOW + 5000, 0, false, false, false, false}, /* an agent that does not say when it looked */
        {NOW + 5001, 0, false, false, false, true},
        {NOW + 101, 69900, true, false, false, false},
        {NOW + 101, 69900, false, true, false, false},
        {NOW + 101, 69900, false, false, true, false},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct catch_up catch_up = {.gap_ms = NOW};
        struct agent_status theirs = source("0-1-100");
        theirs.looked_ms = rows[i].looked_ms;
        theirs.writable = !rows[i].closed;
        theirs.phase = rows[i].hangs ? AGENT_PHASE_HUNG : AGENT_PHASE_RUNNING;
        theirs.writes_blocked_ms = rows[i].blocked ? 1 : 0;
        catch_up_heard(&catch_up, &theirs, NULL, rows[i].asked_ms);
        catch_up_look(&catch_up, MARIADB, "0-1-100", "0-1-100", false, rows[i].asked_ms + 10);
        if (catch_up.up != rows[i].counts)
            fail_msg("row %zu: %d", i, catch_up.up);
    }
}

static void test_another_source_sets_another_goal(void **unused)
{
    struct catch_up catch_up = {.gap_ms = NOW};
    struct agent_status theirs = source("0-1-120"); /* of which nobody had acknowledged the end */

    UNUSED(unused);
    catch_up_heard(&catch_up, &theirs, NULL, NOW + 500);
    catch_up_other_source(&catch_up);
    catch_up_look(&catch_up, MARIADB, "", "0-1-120", false, NOW + 600);
    assert_false(catch_up.up);
    theirs = source("0-2-111");
    catch_up_heard(&catch_up, &theirs, NULL, NOW + 1500);
    catch_up_look(&catch_up, MARIADB, "", "0-2-111", false, NOW + 1600);
    assert_true(catch_up.up);
}

static void test_a_primary_holds_what_it_was_opened_with(void **unused)
{
    struct catch_up catch_up = {.gap_ms = NOW};

    UNUSED(unused);
    catch_up_opened(&catch_up);
    catch_up_look(&catch_up, MARIADB, "0-1-100", "0-2-101", false, NOW + 1);
    assert_true(catch_up.up);
    catch_up_gap(&catch_up, NOW + 2);
    assert_false(catch_up.up);
}

/* MariaDB, both threads stopped by hand while something waits to be applied, which came since the look before. */
static void test_what_will_be_dropped_is_a_gap(void **state)
{
    struct catch_up catch_up = {.up = true};

    UNUSED(state);
    catch_up_look(&catch_up, MARIADB, "0-1-100", "0-1-100", false, NOW);
    assert_true(catch_up.up);
    catch_up_look(&catch_up, MARIADB, "0-1-100", "0-1-100", true, NOW + 1);
    assert_false(catch_up.up);
    assert_int_equal(catch_up.gap_ms, NOW + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_will_be_dropped_is_a_gap),
        cmocka_unit_test(test_a_server_that_started_has_to_prove_it),
        cmocka_unit_test(test_what_falls_back_was_dropped),
        cmocka_unit_test(test_an_old_answer_proves_nothing),
        cmocka_unit_test(test_another_source_sets_another_goal),
        cmocka_unit_test(test_a_primary_holds_what_it_was_opened_with),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
