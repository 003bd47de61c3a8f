#include "common/base.h"

#include "agent/agent_decide.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/readiness.h"

#define NOW 1000000

/* A primary that was probed half a second ago, open, with accounts made. */
static struct instance_state healthy(void)
{
    return (struct instance_state){
        .server_there = true,
        .socket_accepts = true,
        .accepts_since_ms = NOW - 60000,
        .last_probe_ms = NOW - 500,
        .last_answer_ms = NOW - 500,
        .last_status_ms = NOW - 500,
        .volume_bytes = 10ULL * 1024 * KM_MIB,
        .volume_free_bytes = 5ULL * 1024 * KM_MIB,
        .accounts_wanted = 1,
        .accounts_applied = 1,
        .accounts_once = true,
        .accounts_as_primary = true,
        .replication = {.seen = true},
        .role = {.has_order = true, .order = {.epoch = 1, .role = AGENT_ROLE_PRIMARY}, .opened = true},
    };
}

static void set_error(struct error *err, enum error_kind kind)
{
    error_set(err, kind, "as the test wants");
}

static void expect_phase(const struct instance_state *state, enum agent_phase phase)
{
    assert_string_equal(agent_phase_name(agent_phase_of(state, NOW)), agent_phase_name(phase));
}

static void test_phases_of_a_life(void **unused)
{
    struct instance_state state = {0};

    UNUSED(unused);
    expect_phase(&state, AGENT_PHASE_DOWN);
    state.server_there = true;
    expect_phase(&state, AGENT_PHASE_STARTING);
    state.last_probe_ms = NOW - 100;
    set_error(&state.probe_error, ERROR_UNAVAILABLE);
    expect_phase(&state, AGENT_PHASE_STARTING);
    state = healthy();
    expect_phase(&state, AGENT_PHASE_RUNNING);
    state.probe_started_ms = NOW - PROBE_HUNG_MS;
    expect_phase(&state, AGENT_PHASE_RUNNING);
    state.probe_started_ms = NOW - PROBE_HUNG_MS - 1;
    expect_phase(&state, AGENT_PHASE_HUNG);
    state.probe_started_ms = 0;
    set_error(&state.probe_error, ERROR_TIMEOUT);
    expect_phase(&state, AGENT_PHASE_HUNG);
    state.server_there = state.socket_accepts = false;
    expect_phase(&state, AGENT_PHASE_DOWN);
}

static void test_silence_is_a_start_before_it_is_a_hang(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    state.last_answer_ms = 0;
    state.probe_started_ms = NOW - 1500;
    state.accepts_since_ms = NOW - STARTING_SILENCE_MS;
    expect_phase(&state, AGENT_PHASE_STARTING);
    state.accepts_since_ms = NOW - STARTING_SILENCE_MS - 1;
    expect_phase(&state, AGENT_PHASE_HUNG);
}

static void test_a_refusal_is_an_answer(void **unused)
{
    static const enum error_kind kinds[] = {ERROR_DATABASE, ERROR_UNAUTHORIZED};
    struct instance_state state = healthy();

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        set_error(&state.probe_error, kinds[i]);
        expect_phase(&state, AGENT_PHASE_RUNNING);
        assert_false(readiness_ready(&state, NOW).yes);
        assert_true(readiness_live(&state, NOW).yes);
    }
}

static void test_when_to_probe(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    assert_false(agent_decide(&state, 0, NOW).probe);
    state.last_probe_ms = NOW - PROBE_INTERVAL_MS;
    assert_true(agent_decide(&state, 0, NOW).probe);
    assert_false(agent_decide(&state, 0, NOW).probe_with_status);
    assert_true(agent_decide(&state, NOW - 1000, NOW).probe_with_status); /* somebody scrapes */
    state.last_status_ms = NOW - STATUS_INTERVAL_MS;
    assert_true(agent_decide(&state, 0, NOW).probe_with_status);
    state.probe_started_ms = NOW - 5;
    assert_false(agent_decide(&state, 0, NOW).probe); /* one at a time */
    state = (struct instance_state){.server_there = true, .last_probe_ms = NOW - PROBE_STARTING_INTERVAL_MS};
    set_error(&state.probe_error, ERROR_UNAVAILABLE);
    assert_true(agent_decide(&state, 0, NOW).probe);
}

static void test_when_to_apply_accounts(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    state.accounts_wanted = 2;
    assert_true(agent_decide(&state, 0, NOW).apply_accounts);
    state.accounts_retry_ms = NOW + 1;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    state.accounts_retry_ms = NOW;
    assert_true(agent_decide(&state, 0, NOW).apply_accounts);
    state.action_running = true;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    state.action_running = false;
    set_error(&state.probe_error, ERROR_TIMEOUT);
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    state = healthy();
    state.accounts_wanted = 2;
    state.role.opened = false; /* first the role, then the accounts */
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    state.role.has_order = false;
    assert_true(agent_decide(&state, 0, NOW).apply_accounts);
    state = healthy();
    state.accounts_as_primary = false; /* promoted: database and user are its to make */
    assert_true(agent_decide(&state, 0, NOW).apply_accounts);
    state.beat.blocked_since_ms = NOW - 1;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    state = healthy();
    state.tls_wanted = 1;
    assert_true(agent_decide(&state, 0, NOW).reload_tls);
    state = healthy();
    state.accounts_wanted = 0; /* nothing could be read yet */
    state.accounts_applied = 0;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
}

static void test_ready(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    assert_true(readiness_ready(&state, NOW).yes);
    state.accounts_once = false;
    assert_false(readiness_ready(&state, NOW).yes);
    assert_string_equal(readiness_ready(&state, NOW).reason, "accounts are not made yet");
    set_error(&state.accounts_error, ERROR_DATABASE);
    assert_string_equal(readiness_ready(&state, NOW).reason, "accounts are not made: as the test wants");
    state = healthy();
    state.role = (struct role_state){0};
    assert_string_equal(readiness_ready(&state, NOW).reason, "it waits for the operator's word");
}

static void test_a_bad_wish_takes_no_working_database_out_of_service(void **unused)
{
    struct instance_state state = healthy();
    struct agent_status status = {0};

    UNUSED(unused);
    state.accounts_wanted = 2;
    state.missing_file = "user";
    state.accounts_incomplete = true;
    set_error(&state.accounts_error, ERROR_DATABASE);
    readiness_fill_status(&state, NOW, &status);
    assert_true(status.ready);
    assert_false(status.accounts_applied);
    assert_int_equal(status.problem_count, 2);
    assert_string_equal(status.problems[0].reason, "SecretMissing");
    assert_string_equal(status.problems[1].reason, "AccountsFailed");
}

static void test_live_gives_up_only_on_a_long_hang(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    state.probe_started_ms = NOW - 2000;
    state.last_answer_ms = NOW - LIVE_HUNG_MS + 1;
    assert_true(readiness_live(&state, NOW).yes);
    state.last_answer_ms = NOW - LIVE_HUNG_MS;
    assert_false(readiness_live(&state, NOW).yes);
    state.volume_free_bytes = 0; /* a restart makes no room */
    assert_true(readiness_live(&state, NOW).yes);
    /* Crash recovery, however long. */
    state = (struct instance_state){.server_there = true, .last_probe_ms = NOW - 1};
    set_error(&state.probe_error, ERROR_UNAVAILABLE);
    assert_true(readiness_live(&state, NOW).yes);
    assert_false(readiness_startup(&state, NOW).yes);
    state = (struct instance_state){0};
    assert_true(readiness_live(&state, NOW).yes);
}

static void test_volume(void **unused)
{
    static const struct {
        uint64_t total_mib;
        uint64_t free_mib;
        bool full;
    } cases[] = {{0, 0, false}, {1000, 50, true}, {1000, 63, true}, {1000, 65, false}, {100000, 4999, true},
        {100000, 5001, false}};

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct instance_state state = healthy();
        struct agent_status status = {0};
        state.volume_bytes = cases[i].total_mib * KM_MIB;
        state.volume_free_bytes = cases[i].free_mib * KM_MIB;
        readiness_fill_status(&state, NOW, &status);
        assert_int_equal(status.problem_count, cases[i].full);
        assert_true(status.ready);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_of_a_life),
        cmocka_unit_test(test_silence_is_a_start_before_it_is_a_hang),
        cmocka_unit_test(test_a_refusal_is_an_answer),
        cmocka_unit_test(test_when_to_probe),
        cmocka_unit_test(test_when_to_apply_accounts),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_a_bad_wish_takes_no_working_database_out_of_service),
        cmocka_unit_test(test_live_gives_up_only_on_a_long_hang),
        cmocka_unit_test(test_volume),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
