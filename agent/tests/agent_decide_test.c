/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/agent_decide.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/readiness.h"
#include "agent/role_decide.h"
#include "agent/tests/healthy_state.h"

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
    expect_phase(&state, AGENT_PHASE_UNKNOWN); /* it may have been there before us */
    state.seen_gone = true;
    expect_phase(&state, AGENT_PHASE_STARTING);
    state.last_probe_ms = NOW - 100;
    set_error(&state.probe_error, ERROR_UNAVAILABLE);
    expect_phase(&state, AGENT_PHASE_STARTING);
    state = healthy();
    expect_phase(&state, AGENT_PHASE_RUNNING);
    state.probe_started_ms = state.unanswered_since_ms = NOW - HUNG_DEFAULT_MS + 1;
    expect_phase(&state, AGENT_PHASE_RUNNING);
    state.probe_started_ms = state.unanswered_since_ms = NOW - HUNG_DEFAULT_MS;
    expect_phase(&state, AGENT_PHASE_HUNG);
    state.server_there = state.socket_accepts = false;
    expect_phase(&state, AGENT_PHASE_DOWN);
}

static void test_silence_is_a_start_before_it_is_a_hang(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    state.last_answer_ms = 0;
    state.seen_gone = true;
    state.probe_started_ms = state.unanswered_since_ms = NOW - HUNG_DEFAULT_MS;
    state.accepts_since_ms = NOW - STARTING_SILENCE_MS;
    expect_phase(&state, AGENT_PHASE_STARTING);
    state.accepts_since_ms = NOW - STARTING_SILENCE_MS - 1;
    expect_phase(&state, AGENT_PHASE_HUNG);
}

/* An agent that was started anew beside a server that serves: a failover would have no reason. */
static void test_a_new_agent_knows_nothing_yet(void **unused)
{
    struct instance_state state = healthy();
    struct error refused = ERROR_INIT;

    UNUSED(unused);
    state.last_answer_ms = state.last_probe_ms = 0;
    expect_phase(&state, AGENT_PHASE_UNKNOWN);
    agent_note_probe(&state, NOW - STARTING_SILENCE_MS + 1);
    expect_phase(&state, AGENT_PHASE_UNKNOWN);
    state.unanswered_since_ms = 0;
    agent_note_probe(&state, NOW);
    set_error(&refused, ERROR_UNAVAILABLE);
    agent_note_answer(&state, &refused);
    expect_phase(&state, AGENT_PHASE_STARTING);
}

/* Nor is a server gone that refuses a connection once: its queue may be full. */
static void test_a_refused_connection_is_no_crash(void **unused)
{
    struct instance_state state = healthy();
    struct error refused = ERROR_INIT;

    UNUSED(unused);
    set_error(&refused, ERROR_UNAVAILABLE);
    agent_note_probe(&state, NOW - HUNG_DEFAULT_MS + 1);
    agent_note_answer(&state, &refused);
    expect_phase(&state, AGENT_PHASE_RUNNING);
    state.unanswered_since_ms = NOW - HUNG_DEFAULT_MS;
    expect_phase(&state, AGENT_PHASE_HUNG);
}

/* It asks many things: a server that is slow at each answers. */
static void test_a_slow_look_is_no_hang(void **unused)
{
    struct instance_state state = healthy();
    struct error given_up = ERROR_INIT;
    const int64_t began_ms = NOW - 10000;

    UNUSED(unused);
    set_error(&given_up, ERROR_TIMEOUT);
    agent_note_probe(&state, began_ms);
    agent_note_part(&state, began_ms - 100); /* of the look before */
    assert_int_equal(agent_phase_of(&state, began_ms + HUNG_DEFAULT_MS), AGENT_PHASE_HUNG);
    agent_note_part(&state, NOW - 1500);
    expect_phase(&state, AGENT_PHASE_RUNNING);
    assert_true(readiness_ready(&state, NOW).yes);
    agent_note_part(&state, NOW - 1500);
    assert_int_equal(agent_phase_of(&state, NOW - 1500 + HUNG_DEFAULT_MS), AGENT_PHASE_HUNG); /* it stopped there */
    agent_note_answer(&state, &given_up);
    agent_note_probe(&state, NOW + 600);
    agent_note_part(&state, NOW + 700); /* it will stop at the same: no flapping */
    assert_int_equal(agent_phase_of(&state, NOW + 700), AGENT_PHASE_HUNG);

    state = healthy();
    agent_note_probe(&state, NOW - LOOK_MAX_MS - 3000);
    for (int64_t at_ms = NOW - LOOK_MAX_MS - 2000; at_ms <= NOW; at_ms += 1000)
        agent_note_part(&state, at_ms);
    expect_phase(&state, AGENT_PHASE_HUNG);
}

/* The order says how long a server may be silent; a probe that is given up before does not end the count, an answer
 * does. */
static void test_hung_by_the_orders_limit(void **unused)
{
    struct instance_state state = healthy();
    struct error given_up = ERROR_INIT;
    struct error none = ERROR_INIT;

    UNUSED(unused);
    set_error(&given_up, ERROR_TIMEOUT);
    state.role.order.hung_ms = 5000;
    agent_note_probe(&state, NOW - 4500);
    agent_note_answer(&state, &given_up);
    agent_note_probe(&state, NOW - 2000);
    expect_phase(&state, AGENT_PHASE_RUNNING);
    state.role.order.hung_ms = 4500;
    expect_phase(&state, AGENT_PHASE_HUNG);
    agent_note_answer(&state, &given_up);
    expect_phase(&state, AGENT_PHASE_HUNG);
    agent_note_probe(&state, NOW - 1);
    agent_note_answer(&state, &none);
    expect_phase(&state, AGENT_PHASE_RUNNING);
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

/* While an ALTER USER waits for an acknowledgement, MySQL seems to hang. */
static void test_accounts_wait_for_those_who_acknowledge(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    state.accounts_scope = ACCOUNTS_NONE;
    state.role.order.semi_sync = true;
    state.replication.semi_sync_source = state.replication.semi_sync_waits = true;
    state.events_epoch = 0;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    assert_false(agent_decide(&state, 0, NOW).tend_events);
    state.beat.blocked_since_ms = NOW - 1; /* they do not come: perhaps for want of an account */
    assert_true(agent_decide(&state, 0, NOW).apply_accounts);
    assert_int_equal(agent_accounts_scope(&state), ACCOUNTS_LOCAL);
    state.beat.blocked_since_ms = 0;
    state.replication.semi_sync_clients = 1;
    assert_true(agent_decide(&state, 0, NOW).apply_accounts);
    assert_int_equal(agent_accounts_scope(&state), ACCOUNTS_LOGGED);
    state.role.order.acks = 2;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
}

static void test_accounts_that_are_left_are_locked_on_a_wish(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    state.left =
        (struct accounts_left){.is_known = true, .can_lock = true, .account_count = 1, .accounts = {{"old", false}}};
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    state.role.lock_left = true;
    assert_true(agent_decide(&state, 0, NOW).apply_accounts);
    state.accounts_retry_ms = NOW + 1;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    state.accounts_retry_ms = 0;
    state.beat.blocked_since_ms = NOW - 1; /* nothing that would wait for acknowledgements */
    state.accounts_scope = ACCOUNTS_LOCAL;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    state.beat.blocked_since_ms = 0;
    state.accounts_scope = ACCOUNTS_LOGGED;
    state.left.accounts[0].is_locked = true;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
}

static struct instance_state with_digest(uint64_t held, uint64_t seen)
{
    struct instance_state state = healthy();

    state.probe_started_ms = NOW - 10;
    state.accounts_digest = held;
    state.observed.has_status = true;
    state.observed.accounts_digest = seen;
    snprintf(state.accounts_wanted_hash, sizeof(state.accounts_wanted_hash), "wish");
    snprintf(state.replication.accounts_hash, sizeof(state.replication.accounts_hash), "wish");
    return state;
}

static void test_accounts_that_another_hand_changed(void **unused)
{
    struct instance_state state = with_digest(7, 7);

    UNUSED(unused);
    assert_false(agent_note_digest(&state));
    state.observed.accounts_digest = 8;
    state.action_running = true; /* its own hand */
    assert_false(agent_note_digest(&state));
    state.action_running = false;
    state.role.finished_ms = state.probe_started_ms; /* the look is older than that */
    assert_false(agent_note_digest(&state));
    state.role.finished_ms = 0;
    state.observed.has_status = false;
    assert_false(agent_note_digest(&state));
    state.observed.has_status = true;
    assert_true(agent_note_digest(&state));
    assert_int_equal(state.accounts_digest, 0);
}

/* What another member made while it was primary is nobody else's hand: to make accounts once more at each change of
 * roles is to wait for acknowledgements when replicas are on their way. */
static void test_accounts_that_another_primary_made(void **unused)
{
    struct instance_state state = with_digest(7, 7);

    UNUSED(unused);
    state.role.order.role = AGENT_ROLE_REPLICA;
    assert_false(agent_note_digest(&state));
    state.role.order.role = AGENT_ROLE_PRIMARY;
    state.observed.accounts_digest = 8;
    assert_false(agent_note_digest(&state));
    assert_int_equal(state.accounts_digest, 8);
    state.observed.accounts_digest = 9;
    assert_true(agent_note_digest(&state));

    state = with_digest(0, 8);
    snprintf(state.replication.accounts_hash, sizeof(state.replication.accounts_hash), "another wish");
    assert_false(agent_note_digest(&state));
    assert_int_equal(state.accounts_digest, 0);
    state = with_digest(0, 8);
    state.accounts_scope = ACCOUNTS_LOCAL;
    assert_false(agent_note_digest(&state));
    assert_int_equal(state.accounts_digest, 0);
    state = with_digest(0, 8);
    state.accounts_wanted++;
    assert_false(agent_note_digest(&state));
    assert_int_equal(state.accounts_digest, 0);
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
    state.accounts_scope = ACCOUNTS_NONE; /* promoted: accounts are its to make */
    assert_true(agent_decide(&state, 0, NOW).apply_accounts);
    assert_int_equal(agent_accounts_scope(&state), ACCOUNTS_LOGGED);
    state.beat.blocked_since_ms = NOW - 1; /* replicas may have to get in first */
    assert_true(agent_decide(&state, 0, NOW).apply_accounts);
    assert_int_equal(agent_accounts_scope(&state), ACCOUNTS_LOCAL);
    state.accounts_scope = ACCOUNTS_LOCAL;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
    state.beat.blocked_since_ms = 0;
    assert_true(agent_decide(&state, 0, NOW).apply_accounts);
    state = healthy();
    state.tls_wanted = 1;
    assert_true(agent_decide(&state, 0, NOW).reload_tls);
    state = healthy();
    state.accounts_wanted = 0; /* nothing could be read yet */
    state.accounts_applied = 0;
    assert_false(agent_decide(&state, 0, NOW).apply_accounts);
}

/* Only one that is nothing, and is done with that; nobody copies from it. */
static void test_a_server_that_is_kept_stopped(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    state.role = (struct role_state){.has_order = true, .keep_stopped = true};
    state.replication = (struct replication_facts){.seen = true, .read_only = true};
    assert_true(agent_decide(&state, 0, NOW).stop_server);
    state.serving_copies = 1;
    assert_false(agent_decide(&state, 0, NOW).stop_server);
    state.serving_copies = 0;
    state.stop_retry_ms = NOW + 1;
    assert_false(agent_decide(&state, 0, NOW).stop_server);
    state.stop_retry_ms = 0;
    state.replication.receiver = AGENT_THREAD_RUNNING; /* it stops replication first */
    assert_false(agent_decide(&state, 0, NOW).stop_server);
    state.replication.receiver = AGENT_THREAD_OFF;
    state.role.order.role = AGENT_ROLE_REPLICA;
    assert_false(agent_decide(&state, 0, NOW).stop_server);
    state.role.marked_stopped = true;
    assert_false(agent_decide(&state, 0, NOW).let_start);
    state.role.keep_stopped = false;
    assert_true(agent_decide(&state, 0, NOW).let_start);
    state.role.has_order = false; /* an agent that was started anew goes by the mark */
    assert_false(agent_decide(&state, 0, NOW).let_start);
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

static void test_events_of_a_primary(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    assert_false(agent_decide(&state, 0, NOW).tend_events);
    state.replication.events_listed = false;
    assert_true(agent_decide(&state, 0, NOW).tend_events);
    state.events_retry_ms = NOW + 1;
    assert_false(agent_decide(&state, 0, NOW).tend_events);
    state = healthy();
    state.events_epoch = 0; /* promoted */
    assert_true(agent_decide(&state, 0, NOW).tend_events);
    state.beat.blocked_since_ms = NOW - 1;
    assert_false(agent_decide(&state, 0, NOW).tend_events);
    state = healthy();
    state.events_epoch = 0;
    state.role.order.role = AGENT_ROLE_REPLICA;
    state.replication.read_only = true;
    assert_false(agent_decide(&state, 0, NOW).tend_events);
}

/* A replica says what has come to it, whatever was done here before. */
static void test_accounts_of_a_replica(void **unused)
{
    struct instance_state state = healthy();
    struct agent_status status = {0};

    UNUSED(unused);
    state.role.order.role = AGENT_ROLE_REPLICA;
    state.replication.read_only = true;
    assert_int_equal(agent_accounts_scope(&state), ACCOUNTS_NONE);
    snprintf(state.accounts_wanted_hash, sizeof(state.accounts_wanted_hash), "new");
    snprintf(state.accounts_applied_hash, sizeof(state.accounts_applied_hash), "new");
    snprintf(state.replication.accounts_hash, sizeof(state.replication.accounts_hash), "old");
    state.replication.accounts_present = true;
    readiness_fill_status(&state, NOW, &status);
    assert_false(status.accounts_applied);
    assert_string_equal(status.accounts_hash, "old");
    snprintf(state.replication.accounts_hash, sizeof(state.replication.accounts_hash), "new");
    readiness_fill_status(&state, NOW, &status);
    assert_true(status.accounts_applied);
    state.replication.accounts_present = false;
    readiness_fill_status(&state, NOW, &status);
    assert_false(status.accounts_applied);
    /* A copy that has never been a primary: ready when the rows are there. */
    state.accounts_once = false;
    assert_string_equal(readiness_ready(&state, NOW).reason, "accounts are not made yet");
    state.replication.accounts_present = true;
    assert_string_not_equal(readiness_ready(&state, NOW).reason, "accounts are not made yet");
}

/* A look that failed is a problem in the status, and no decision relies on what it left unread. */
static void test_what_the_server_refuses_to_tell(void **unused)
{
    struct instance_state state = healthy();
    struct agent_status status = {0};

    UNUSED(unused);
    state.role.noted_since = 2;
    state.replication.beat_epoch = 3;
    state.replication.beat_unread = true;
    snprintf(state.replication.unread, sizeof(state.replication.unread), "the heartbeat: as the test wants");
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 1);
    assert_int_equal(status.problems[0].kind, AGENT_PROBLEM_LOOK_FAILED);
    assert_non_null(strstr(status.problems[0].message, "the heartbeat: as the test wants"));
    assert_null(strstr(status.problems[0].message, "DROP")); /* by its whole name it is a table of ours */
    assert_int_equal(status.replication.applied_epoch, 3);
    assert_int_equal(status.noted_since, 0);
    snprintf(state.replication.unread, sizeof(state.replication.unread), "accounts: as the test wants");
    status = (struct agent_status){0};
    readiness_fill_status(&state, NOW, &status);
    assert_non_null(strstr(status.problems[0].message, "DROP"));
    state.replication.unread[0] = '\0';
    state.replication.beat_unread = false;
    status = (struct agent_status){0};
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 0);
    assert_int_equal(status.noted_since, 2);
}

/* ER_OPTION_PREVENTS_STATEMENT: the server was closed meanwhile. */
static void test_why_a_primary_could_not_make_accounts_goes_with_its_role(void **unused)
{
    struct instance_state state = healthy();
    struct agent_status status = {0};

    UNUSED(unused);
    state.accounts_error_scope = ACCOUNTS_LOGGED;
    error_set_code(&state.accounts_error, ERROR_DATABASE, 1290, "server error 1290: --read-only");
    assert_false(agent_note_digest(&state));
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 1);
    assert_int_equal(status.problems[0].kind, AGENT_PROBLEM_ACCOUNTS_FAILED);
    state.role.order.role = AGENT_ROLE_REPLICA;
    assert_false(agent_note_digest(&state));
    assert_int_equal(state.accounts_error.kind, ERROR_NONE);
    state.accounts_error_scope = ACCOUNTS_NONE; /* its own: the system tables are not upgraded */
    set_error(&state.accounts_error, ERROR_DATABASE);
    assert_false(agent_note_digest(&state));
    assert_int_equal(state.accounts_error.kind, ERROR_DATABASE);
}

static void test_a_look_that_fails_is_told(void **unused)
{
    struct instance_state state = healthy();
    struct agent_status status = {0};

    UNUSED(unused);
    state.last_answer_ms = NOW - 1000;
    error_set_code(&state.probe_error, ERROR_DATABASE, 1227, "server error 1227: as the test wants");
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 0);
    state.last_answer_ms = NOW - 2000;
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 1);
    assert_int_equal(status.problems[0].kind, AGENT_PROBLEM_LOOK_FAILED);
    assert_non_null(strstr(status.problems[0].message, "server error 1227: as the test wants"));
    assert_true(status.writable); /* as far as is known */
    state.replication = (struct replication_facts){0};
    readiness_fill_status(&state, NOW, &status);
    assert_true(status.writable);
    state.seen_gone = true;
    readiness_fill_status(&state, NOW, &status);
    assert_false(status.writable); /* a server starts closed */
}

static void test_a_server_that_is_full_of_connections_is_told(void **unused)
{
    static const char *const rows[][3] = {
        /* Threads_connected, max_connections, the problem */
        {"150", "151", NULL}, {"151", "151", "151 connections are open, max_connections is 151"},
        {"152", "151", "152 connections are open, max_connections is 151"}, {"7", "", NULL}, /* not reported */
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct instance_state state = healthy();
        struct agent_status status = {0};
        server_status_clear(&state.observed.status);
        server_status_take(&state.observed.status, SOURCE_STATUS, "Threads_connected", rows[i][0]);
        server_status_take(&state.observed.status, SOURCE_VARIABLE, "max_connections", rows[i][1]);
        readiness_fill_status(&state, NOW, &status);
        assert_int_equal(status.problem_count, rows[i][2] ? 1 : 0);
        if (!rows[i][2])
            continue;
        assert_string_equal(status.problems[0].reason, "ConnectionsFull");
        assert_non_null(strstr(status.problems[0].message, rows[i][2]));
        assert_true(status.ready);
    }
}

static void test_a_server_that_cannot_require_tls_is_told(void **unused)
{
    struct instance_state state = healthy();
    struct agent_status status = {0};

    UNUSED(unused);
    assert_int_equal(server_version_parse("5.6.51", NULL, &state.observed.version, NULL), 0);
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 0);
    state.tls_wanted_of_all = true;
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 1);
    assert_string_equal(status.problems[0].reason, "TLSNotRequired");
    assert_non_null(strstr(status.problems[0].message, "5.6.51"));
    assert_int_equal(server_version_parse("10.11.19-MariaDB", NULL, &state.observed.version, NULL), 0);
    status = (struct agent_status){0};
    readiness_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 0);
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
    state.probe_started_ms = state.unanswered_since_ms = NOW - 2000;
    state.last_answer_ms = NOW - LIVE_HUNG_MS + 1;
    assert_true(readiness_live(&state, NOW).yes);
    state.last_answer_ms = NOW - LIVE_HUNG_MS;
    assert_false(readiness_live(&state, NOW).yes);
    state.room.free_bytes = 0; /* a restart makes no room */
    assert_true(readiness_live(&state, NOW).yes);
    /* Crash recovery, however long. */
    state = (struct instance_state){.server_there = true, .last_probe_ms = NOW - 1};
    set_error(&state.probe_error, ERROR_UNAVAILABLE);
    assert_true(readiness_live(&state, NOW).yes);
    assert_false(readiness_startup(&state, NOW).yes);
    state = (struct instance_state){0};
    assert_true(readiness_live(&state, NOW).yes);
}

/* The agent itself was held up, and with it the probe's answer. */
static void test_a_pause_of_our_own_is_no_hang(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    agent_note_turn(&state, NOW - 10200);
    agent_note_probe(&state, NOW - 10100);
    state.beat.blocked_since_ms = state.commits_blocked_since_ms = NOW - 10150;
    agent_note_turn(&state, NOW - 10000);
    assert_int_equal(state.unanswered_since_ms, NOW - 10100);
    agent_note_turn(&state, NOW);
    expect_phase(&state, AGENT_PHASE_RUNNING);
    assert_int_equal(state.unanswered_since_ms, NOW - 10100 + 9500);
    assert_int_equal(state.beat.blocked_since_ms, NOW - 10150 + 9500);
    assert_int_equal(state.commits_blocked_since_ms, NOW - 10150 + 9500);
    for (int64_t at_ms = NOW + 200; at_ms <= NOW + 2000; at_ms += 200)
        agent_note_turn(&state, at_ms); /* it hangs all the same */
    assert_int_equal(agent_phase_of(&state, NOW + 2000), AGENT_PHASE_HUNG);
    state.unanswered_since_ms = 0;
    agent_note_turn(&state, NOW + 60000);
    assert_int_equal(state.unanswered_since_ms, 0);
}

/* The sentinel fell while a probe ran: another look is due, nothing more. */
static void test_a_look_that_is_due_is_no_start(void **unused)
{
    struct instance_state state = healthy();

    UNUSED(unused);
    agent_note_probe(&state, NOW - 5);
    state.probe_now = true;
    assert_false(agent_decide(&state, 0, NOW).probe); /* one at a time */
    expect_phase(&state, AGENT_PHASE_RUNNING);
    state.probe_started_ms = 0;
    assert_true(agent_decide(&state, 0, NOW).probe);
    agent_note_probe(&state, NOW);
    state.probe_started_ms = 0;
    assert_false(agent_decide(&state, 0, NOW).probe);
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
        state.room.bytes = cases[i].total_mib * KM_MIB;
        state.room.free_bytes = cases[i].free_mib * KM_MIB;
        readiness_fill_status(&state, NOW, &status);
        assert_int_equal(status.problem_count, cases[i].full);
        assert_true(status.ready);
    }
}

/* Between the level at which writes end and the one at which they open again both are told, whatever the steps of the
 * text are. */
static void test_volume_words(void **unused)
{
    static const struct {
        uint64_t total_mib, floor_mib, calm_mib, free_mib;
        bool is_short, closed;
        const char *words;
    } cases[] = {
        {500, 125, 64, 90, true, true,
            "90 of 500 MiB of the data volume are free: closed for writes, as it filled fast (below 125 MiB then); opens by itself within a minute"},
        {500, 125, 64, 90, true, false,
            "90 of 500 MiB of the data volume are free: too little, which begins below 125 MiB and ends at 157 MiB"},
        {500, 125, 64, 79, true, true,
            "79 of 500 MiB of the data volume are free: closed for writes, which end below 125 MiB and open again at 157 MiB"},
        {500, 64, 64, 40, true, true,
            "40 of 500 MiB of the data volume are free: closed for writes, which end below 64 MiB and open again at 80 MiB"},
        {500, 64, 64, 70, true, true,
            "70 of 500 MiB of the data volume are free: closed for writes, which end below 64 MiB and open again at 80 MiB"},
        {10240, 307, 307, 370, true, true,
            "360 of 10240 MiB of the data volume are free: closed for writes, which end below 320 MiB and open again at 400 MiB"},
        {10240, 307, 307, 370, true, false,
            "360 of 10240 MiB of the data volume are free: too little, which begins below 320 MiB and ends at 400 MiB"},
        {10240, 307, 307, 400, false, false,
            "400 of 10240 MiB of the data volume are free; a primary is closed for writes below 280 MiB"},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct instance_state state = healthy();
        struct agent_status status = {0};
        state.room.bytes = cases[i].total_mib * KM_MIB;
        state.room.free_bytes = cases[i].free_mib * KM_MIB;
        state.room.floor = cases[i].floor_mib * KM_MIB;
        state.room.calm_floor = cases[i].calm_mib * KM_MIB;
        state.room.is_short = cases[i].is_short;
        state.role.closed_for_room = cases[i].closed;
        readiness_fill_status(&state, NOW, &status);
        assert_int_equal(status.problem_count, 1);
        assert_string_equal(status.problems[0].message, cases[i].words);
    }
}

/* Two looks, of which the first took no time; times in ms, ages in s. */
static void test_a_restart_is_seen_by_the_age(void **unused)
{
    static const struct {
        int64_t last_age, asked_ms, answered_ms, age;
        bool restarted;
    } rows[] = {
        {3, NOW + 500, NOW + 501, 3, false},
        {3, NOW + 1000, NOW + 1001, 4, false},
        {3, NOW + 1000, NOW + 3000, 4, false}, /* asked early, answered late */
        {3, NOW + 60000, NOW + 60001, 63, false},
        {3, NOW + 60000, NOW + 60001, 62, false},  /* cut off */
        {3, NOW + 60000, NOW + 60001, 200, false}, /* the clock was put forward */
        {3, NOW + 500, NOW + 501, 2, true},
        {3, NOW + 20000, NOW + 20001, 5, true}, /* the agent was stopped meanwhile */
        {3, NOW + 6100, NOW + 6101, 5, true},
        {600, NOW + 700000, NOW + 700001, 605, true},
    };
    const struct uptime_look none = {0};

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct uptime_look last = {NOW, NOW, rows[i].last_age};
        struct uptime_look look = {rows[i].asked_ms, rows[i].answered_ms, rows[i].age};
        if (agent_server_restarted(&last, &look) != rows[i].restarted)
            fail_msg("row %zu", i);
        assert_false(agent_server_restarted(&none, &look));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_phases_of_a_life),
        cmocka_unit_test(test_silence_is_a_start_before_it_is_a_hang),
        cmocka_unit_test(test_a_new_agent_knows_nothing_yet),
        cmocka_unit_test(test_a_refused_connection_is_no_crash),
        cmocka_unit_test(test_a_slow_look_is_no_hang),
        cmocka_unit_test(test_hung_by_the_orders_limit),
        cmocka_unit_test(test_a_refusal_is_an_answer),
        cmocka_unit_test(test_when_to_probe),
        cmocka_unit_test(test_accounts_that_are_left_are_locked_on_a_wish),
        cmocka_unit_test(test_when_to_apply_accounts),
        cmocka_unit_test(test_accounts_that_another_hand_changed),
        cmocka_unit_test(test_accounts_that_another_primary_made),
        cmocka_unit_test(test_accounts_wait_for_those_who_acknowledge),
        cmocka_unit_test(test_a_server_that_is_kept_stopped),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_events_of_a_primary),
        cmocka_unit_test(test_accounts_of_a_replica),
        cmocka_unit_test(test_a_server_that_is_full_of_connections_is_told),
        cmocka_unit_test(test_what_the_server_refuses_to_tell),
        cmocka_unit_test(test_why_a_primary_could_not_make_accounts_goes_with_its_role),
        cmocka_unit_test(test_a_look_that_fails_is_told),
        cmocka_unit_test(test_a_server_that_cannot_require_tls_is_told),
        cmocka_unit_test(test_a_bad_wish_takes_no_working_database_out_of_service),
        cmocka_unit_test(test_live_gives_up_only_on_a_long_hang),
        cmocka_unit_test(test_volume),
        cmocka_unit_test(test_volume_words),
        cmocka_unit_test(test_a_pause_of_our_own_is_no_hang),
        cmocka_unit_test(test_a_look_that_is_due_is_no_start),
        cmocka_unit_test(test_a_restart_is_seen_by_the_age),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
