/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/source_watch.h"

#include <setjmp.h>
#include <cmocka.h>

static void test_what_was_proven_outlives_the_source(void **unused)
{
    struct loop *loop = loop_new();
    struct instance_state state = {.role = {.order = {.role = AGENT_ROLE_REPLICA}}};
    struct source_watch *watch = source_watch_new(loop, &state, NULL, NULL);

    UNUSED(unused);
    source_watch_set(watch, "a", 1);
    state.source.known = true;
    state.source.epoch = 4;
    snprintf(state.source.errant, sizeof(state.source.errant), "0-1-7");
    source_watch_set(watch, "", 0); /* held */
    assert_string_equal(state.source.errant, "0-1-7");
    assert_false(state.source.known);
    assert_int_equal(state.source.epoch, 0);
    source_watch_set(watch, "b", 1); /* which may have them */
    assert_string_equal(state.source.errant, "");
    snprintf(state.source.errant, sizeof(state.source.errant), "0-1-7");
    state.role.order.role = AGENT_ROLE_PRIMARY; /* what it has is what counts */
    source_watch_set(watch, "", 0);
    assert_string_equal(state.source.errant, "");
    source_watch_free(watch);
    loop_free(loop);
}

/* S7: two members that have exchanged their addresses. */
static void test_another_member_is_not_the_source(void **unused)
{
    struct loop *loop = loop_new();
    struct instance_state state = {.role = {.order = {.role = AGENT_ROLE_REPLICA}}};
    struct source_watch *watch = source_watch_new(loop, &state, NULL, NULL);
    struct agent_status theirs = {.instance = "c1-mysql-2", .epoch = 7, .role = AGENT_ROLE_PRIMARY};

    UNUSED(unused);
    source_watch_set(watch, "c1-mysql-1.c1-mysql.ns.svc", 1);
    source_watch_hear(watch, &theirs, NULL);
    assert_false(state.source.known);
    assert_int_equal(state.source.epoch, 0);
    assert_false(state.source.is_primary);
    assert_string_equal(state.source.error.message, "where c1-mysql-1 should be, the agent of c1-mysql-2 answers");
    error_clear(&state.source.error);
    snprintf(theirs.instance, sizeof(theirs.instance), "c1-mysql-1");
    source_watch_hear(watch, &theirs, NULL);
    assert_true(state.source.known);
    assert_int_equal(state.source.epoch, 7);
    assert_int_equal(state.source.error.kind, ERROR_NONE);
    source_watch_set(watch, "127.0.0.1", 1); /* an address names nobody */
    source_watch_hear(watch, &theirs, NULL);
    assert_true(state.source.known);
    source_watch_free(watch);
    loop_free(loop);
}

/* Another source need not have what the one before had executed. */
static void test_a_goal_is_of_one_source(void **unused)
{
    struct loop *loop = loop_new();
    struct instance_state state = {.role = {.order = {.role = AGENT_ROLE_REPLICA}}};
    struct source_watch *watch = source_watch_new(loop, &state, NULL, NULL);

    UNUSED(unused);
    source_watch_set(watch, "a", 1);
    state.catch_up.goal = "0-1-7";
    source_watch_set(watch, "", 0);
    assert_string_equal(state.catch_up.goal, "0-1-7");
    source_watch_set(watch, "b", 1);
    assert_string_equal(state.catch_up.goal, "");
    source_watch_free(watch);
    loop_free(loop);
}

/* MySQL adds a commit to its set only once it is acknowledged, when a replica may have had it for long. */
static void test_a_source_that_waits_proves_nothing(void **unused)
{
    static const struct {
        enum agent_phase phase;
        int64_t blocked_ms, stalled_ms, age_ms;
        bool calm;
    } rows[] = {
        {AGENT_PHASE_RUNNING, 0, 0, 600, true},
        {AGENT_PHASE_RUNNING, 1, 0, 600, false},
        {AGENT_PHASE_RUNNING, 0, 1, 600, false},
        {AGENT_PHASE_RUNNING, 0, 0, SOURCE_LOOK_MS, true},
        {AGENT_PHASE_RUNNING, 0, 0, SOURCE_LOOK_MS + 1, false}, /* hangs, though not for hungMilliseconds yet */
        {AGENT_PHASE_HUNG, 0, 0, 600, false},
        {AGENT_PHASE_DOWN, 0, 0, 600, false},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct agent_status theirs = {.phase = rows[i].phase,
            .writes_blocked_ms = rows[i].blocked_ms,
            .stalled_ms = rows[i].stalled_ms,
            .clock_ms = 70000,
            .looked_ms = 70000 - rows[i].age_ms};
        assert_int_equal(source_watch_is_calm(&theirs), rows[i].calm);
    }
}

/* Its agent answers while the server hangs, with what that had before: what arrived here since then is no proof. */
static void test_what_counts_is_when_the_source_was_looked_at(void **unused)
{
    static const struct {
        int64_t since_ms; /* from our look to our request */
        int64_t age_ms;   /* of theirs in the answer; -1: not told */
        const char *executed;
        bool proves;
    } rows[] = {
        {SOURCE_JUDGE_MS + 600, 600, "0-1-7", true},
        {SOURCE_JUDGE_MS + 599, 600, "0-1-7", false},
        {SOURCE_JUDGE_MS, 1, "0-1-7", false},
        {SOURCE_JUDGE_MS, 0, "0-1-7", true},
        {SOURCE_JUDGE_MS + 1000, 1500, "0-1-7", false},
        {60000, SOURCE_LOOK_MS, "0-1-7", true},
        {60000, SOURCE_LOOK_MS + 1, "0-1-7", false}, /* nobody saw which commits wait */
        {60000, 59000, "0-1-7", false},
        {SOURCE_JUDGE_MS + 4999, -1, "0-1-7", false}, /* by an agent that does not tell */
        {SOURCE_JUDGE_MS + 5000, -1, "0-1-7", true},
        {60000, 100, "", false},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct agent_status theirs = {.phase = AGENT_PHASE_RUNNING, .clock_ms = 70000};
        theirs.looked_ms = rows[i].age_ms < 0 ? 0 : theirs.clock_ms - rows[i].age_ms;
        theirs.gtid_executed = rows[i].executed;
        if (source_watch_proves(&theirs, 1000000 + rows[i].since_ms, 1000000) != rows[i].proves)
            fail_msg("row %zu", i);
    }
}

static void test_errant(void **unused)
{
    char text[256];

    UNUSED(unused);
    source_watch_errant(AGENT_FLAVOUR_MARIADB, "0-1-8", "0-1-7", text, sizeof(text));
    assert_string_equal(text, "0-1-8");
    source_watch_errant(AGENT_FLAVOUR_MARIADB, "0-1-7", "0-1-8", text, sizeof(text));
    assert_string_equal(text, "");
    source_watch_errant(AGENT_FLAVOUR_MARIADB, "0-1-8...", "0-1-7", text, sizeof(text));
    assert_string_equal(text, "");
}

/* Who sees none, or whose sets cannot be compared, knows its lag by the source's rows only. */
static void test_who_needs_no_rows(void **unused)
{
    struct replication_facts facts = {.configured = true, .source_beat_ms = SOURCE_BEAT_MS, .gtid_received = "0-1-8"};

    UNUSED(unused);
    assert_true(source_watch_hears_beats(&facts));
    facts.gtid_received = POSITION_TOO_LONG;
    assert_false(source_watch_hears_beats(&facts));
    facts.gtid_received = NULL; /* nothing yet */
    assert_true(source_watch_hears_beats(&facts));
    facts.source_beat_ms = 0; /* MySQL without the performance schema */
    assert_false(source_watch_hears_beats(&facts));
    facts.source_beat_ms = 30000;
    assert_false(source_watch_hears_beats(&facts));
    facts = (struct replication_facts){.source_beat_ms = SOURCE_BEAT_MS};
    assert_false(source_watch_hears_beats(&facts));
}

static void test_the_pause_between_two_questions(void **unused)
{
    struct instance_state state = {
        .catch_up.up = true, .room = {.bytes = 100 * KM_MIB * KM_KIB, .free_bytes = 90 * KM_MIB * KM_KIB}};

    UNUSED(unused);
    assert_int_equal(source_watch_pause_ms(&state), SOURCE_ASK_MS);
    state.stream = (struct stream_view){.observed_ms = 90000, .even_ms = 87500}; /* the source rests */
    assert_int_equal(source_watch_pause_ms(&state), SOURCE_ASK_SOON_MS);
    state.stream.observed_ms++;
    assert_int_equal(source_watch_pause_ms(&state), SOURCE_ASK_MS);
    state.catch_up.up = false;
    assert_int_equal(source_watch_pause_ms(&state), SOURCE_ASK_SOON_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_proven_outlives_the_source),
        cmocka_unit_test(test_another_member_is_not_the_source),
        cmocka_unit_test(test_a_goal_is_of_one_source),
        cmocka_unit_test(test_a_source_that_waits_proves_nothing),
        cmocka_unit_test(test_what_counts_is_when_the_source_was_looked_at),
        cmocka_unit_test(test_errant),
        cmocka_unit_test(test_who_needs_no_rows),
        cmocka_unit_test(test_the_pause_between_two_questions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
