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

/* Another source need not have what the one before had executed. */
static void test_a_goal_is_of_one_source(void **unused)
{
    struct loop *loop = loop_new();
    struct instance_state state = {.role = {.order = {.role = AGENT_ROLE_REPLICA}}};
    struct source_watch *watch = source_watch_new(loop, &state, NULL, NULL);

    UNUSED(unused);
    source_watch_set(watch, "a", 1);
    snprintf(state.catch_up.goal, sizeof(state.catch_up.goal), "0-1-7");
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
        int64_t blocked_ms, stalled_ms;
        bool calm;
    } rows[] = {
        {AGENT_PHASE_RUNNING, 0, 0, true},
        {AGENT_PHASE_RUNNING, 1, 0, false},
        {AGENT_PHASE_RUNNING, 0, 1, false},
        {AGENT_PHASE_HUNG, 0, 0, false},
        {AGENT_PHASE_DOWN, 0, 0, false},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct agent_status theirs = {
            .phase = rows[i].phase, .writes_blocked_ms = rows[i].blocked_ms, .stalled_ms = rows[i].stalled_ms};
        assert_int_equal(source_watch_is_calm(&theirs), rows[i].calm);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_proven_outlives_the_source),
        cmocka_unit_test(test_a_goal_is_of_one_source),
        cmocka_unit_test(test_a_source_that_waits_proves_nothing),
        cmocka_unit_test(test_errant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
