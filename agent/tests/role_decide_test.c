/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/heartbeat_lane.h"
#include "agent/role_status.h"
#include "agent/tests/role_samples.h"

static struct instance_state primary(void)
{
    return (struct instance_state){
        .replication = {.seen = true},
        .role = {.has_order = true, .order = {.epoch = 3, .role = AGENT_ROLE_PRIMARY}, .opened = true, .was_open = true},
    };
}

static void test_what_is_right_is_left_alone(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_true(role_done(&state));
    state = primary();
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_true(role_done(&state));
    state = (struct instance_state){.replication = {.seen = true}};
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE); /* no order, whatever the server is */
    assert_false(role_done(&state));
}

/* I1: nobody but the operator opens a server. */
static void test_opened_by_another_hand(void **unused)
{
    struct instance_state state = {.replication = {.seen = true}, .role = {.was_open = true}};

    UNUSED(unused);
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE); /* by an earlier agent, perhaps */
    state.seen_gone = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    assert_true(role_decide(&state, AGENT_PHASE_RUNNING, NOW).urgent);
    state.replication.read_only = true; /* who wrote is still connected */
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    state.role.was_open = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.replication = (struct replication_facts){0}; /* not looked at yet */
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
}

static void test_a_primary(void **unused)
{
    struct instance_state state = primary();

    UNUSED(unused);
    state.role.opened = false; /* another order: its wait_for is looked at, too */
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    assert_false(role_done(&state));
    state = primary();
    state.replication.read_only = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    state = primary();
    state.role.order.semi_sync = true; /* I3: it must not go on without */
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    assert_false(role_done(&state));
    state = primary();
    state.replication.semi_sync_source = true; /* nor with, unasked */
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    state = primary();
    state.role.was_open = true;
    state.role.stopping = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    state.replication.read_only = true;
    state.role.was_open = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
}

static void test_on_the_way_from_primary(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    state.replication = (struct replication_facts){.seen = true};
    state.role.was_open = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    assert_false(role_done(&state));
    state.replication.read_only = true; /* but clients may still be connected */
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    assert_false(role_done(&state));
    state.role.was_open = false; /* closed: final, though it follows nobody yet */
    assert_true(role_done(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
    state.role.source_wanted = 0; /* no password yet */
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
}

static void test_a_fenced_member(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    state.role.order.role = AGENT_ROLE_NONE;
    assert_int_equal(action_of(&state), ROLE_ACTION_STOP);
    assert_false(role_done(&state));
    state.replication.receiver = state.replication.applier = AGENT_THREAD_OFF;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_true(role_done(&state));
    state.replication.read_only = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
}

static void test_when_nothing_may_be_done(void **unused)
{
    struct instance_state state = primary();

    UNUSED(unused);
    state.role.opened = false;
    assert_int_equal(role_decide(&state, AGENT_PHASE_HUNG, NOW).action, ROLE_ACTION_NONE);
    state.action_running = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.action_running = false;
    state.role.running = ROLE_ACTION_OPEN;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.running = ROLE_ACTION_NONE;
    state.role.retry_ms = NOW + 1;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.retry_ms = NOW;
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
}

/* An account whose commit waits for an acknowledgement that does not come waits for ever: closing must not wait for
 * it. */
static void test_a_write_of_our_own_that_waits_in_vain(void **unused)
{
    struct instance_state state = primary();

    UNUSED(unused);
    state.role.order.role = AGENT_ROLE_REPLICA;
    state.action_running = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.commits_blocked_since_ms = NOW - 5000;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    state.replication.read_only = true;
    state.role.was_open = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE); /* nothing else is done beside it */
}

struct replica_case {
    const char *what;
    enum agent_thread receiver, applier;
    uint32_t receiver_errno, applier_errno;
    uint64_t followed;
    int64_t restarted_ms;
    const char *host;
    bool no_tls, semi_sync;
    enum role_action action;
    bool reconfigure, restart;
    const char *source_accounts;
};

#define RUN AGENT_THREAD_RUNNING
#define OFF AGENT_THREAD_OFF
#define TRY AGENT_THREAD_CONNECTING

static const struct replica_case replica_cases[] = {
    {"stopped by hand", OFF, OFF, 0, 0, 7, 0, HOST, false, false, ROLE_ACTION_FOLLOW, false, false, NULL},
    {"lost: the server tries again", TRY, RUN, 2003, 0, 7, 0, HOST, false, false, ROLE_ACTION_NONE, false, false, NULL},
    {"gave up", OFF, RUN, 1236, 0, 7, 0, HOST, false, false, ROLE_ACTION_FOLLOW, false, true, NULL},
    {"gave up just now", OFF, RUN, 1236, 0, 7, NOW - 1, HOST, false, false, ROLE_ACTION_NONE, false, false, NULL},
    {"duplicate key: never skipped", RUN, OFF, 0, 1062, 7, 0, HOST, false, false, ROLE_ACTION_NONE, false, false, NULL},
    {"lock wait: may pass", RUN, OFF, 0, 1205, 7, 0, HOST, false, false, ROLE_ACTION_FOLLOW, false, true, NULL},
    {"another password", RUN, RUN, 0, 0, 6, 0, HOST, false, false, ROLE_ACTION_FOLLOW, true, false, "new"},
    {"another password, not there yet", RUN, RUN, 0, 0, 6, 0, HOST, false, false, ROLE_ACTION_NONE, false, false, "old"},
    {"another password, source unheard", RUN, RUN, 0, 0, 6, 0, HOST, false, false, ROLE_ACTION_NONE, false, false, NULL},
    {"another password, not connected", TRY, RUN, 0, 0, 6, 0, HOST, false, false, ROLE_ACTION_FOLLOW, true, false,
        "old"},
    {"another password, refused", TRY, RUN, 1045, 0, 6, 0, HOST, false, false, ROLE_ACTION_FOLLOW, true, false, "old"},
    {"another password and source", RUN, RUN, 0, 0, 6, 0, "other", false, false, ROLE_ACTION_FOLLOW, true, false, "old"},
    {"taken over from an earlier agent", RUN, RUN, 0, 0, 0, 0, HOST, false, false, ROLE_ACTION_FOLLOW, false, false,
        NULL},
    {"taken over, refused", TRY, RUN, 1045, 0, 0, 0, HOST, false, false, ROLE_ACTION_FOLLOW, true, false, NULL},
    {"refused with our password", TRY, RUN, 1045, 0, 7, 0, HOST, false, false, ROLE_ACTION_NONE, false, false, NULL},
    {"another source", RUN, RUN, 0, 0, 7, 0, "other", false, false, ROLE_ACTION_FOLLOW, false, false, NULL},
    {"without TLS", RUN, RUN, 0, 0, 7, 0, HOST, true, false, ROLE_ACTION_FOLLOW, false, false, NULL},
    {"acknowledges unasked", RUN, RUN, 0, 0, 7, 0, HOST, false, true, ROLE_ACTION_FOLLOW, false, false, NULL},
};

static void test_a_replica_is_repaired(void **unused)
{
    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(replica_cases); i++) {
        const struct replica_case *c = &replica_cases[i];
        struct instance_state state = replica();
        state.replication.receiver = c->receiver;
        state.replication.applier = c->applier;
        state.replication.receiver_errno = c->receiver_errno;
        state.replication.applier_errno = c->applier_errno;
        state.replication.source_tls = !c->no_tls;
        state.replication.semi_sync_replica = c->semi_sync;
        snprintf(state.replication.source_host, sizeof(state.replication.source_host), "%s", c->host);
        state.role.source_followed = c->followed;
        state.role.restarted_ms = c->restarted_ms;
        snprintf(state.accounts_wanted_hash, sizeof(state.accounts_wanted_hash), "new");
        snprintf(state.source.accounts_hash, sizeof(state.source.accounts_hash), "%s", str_or_empty(c->source_accounts));
        struct role_decision decision = role_decide(&state, AGENT_PHASE_RUNNING, NOW);
        if (decision.action != c->action || decision.reconfigure != c->reconfigure || decision.restart != c->restart)
            fail_msg("%s: action %d, reconfigure %d, restart %d", c->what, (int)decision.action, decision.reconfigure,
                decision.restart);
    }
}

/* What servers really say, cut to the part that matters. */
static void test_troubles(void **unused)
{
    static const struct {
        uint32_t receiver_errno, applier_errno;
        const char *text;
        enum replication_trouble trouble;
    } rows[] = {
        {0, 0, "", TROUBLE_NONE},
        {1236, 0,
            "Got fatal error 1236 from master when reading data from binary log: 'Could not find GTID state requested by "
            "slave in any binlog files. Probably the slave state is too old and required binlog files have been purged.'",
            TROUBLE_PURGED},
        {13114, 0,
            "Got fatal error 1236 from source when reading data from binary log: 'Cannot replicate because the source purged "
            "required binary logs. Replicate the missing transactions from elsewhere",
            TROUBLE_PURGED},
        {1236, 0,
            "Got fatal error 1236 from master when reading data from binary log: 'Error: connecting slave requested to start "
            "from GTID 0-2-9, which is not in the master's binlog'",
            TROUBLE_ERRANT},
        {13114, 0, "'Replica has more GTIDs than the source has, using the source's SERVER_UUID.", TROUBLE_ERRANT},
        {1593, 0,
            "Fatal error: The slave I/O thread stops because master and slave have equal MariaDB server ids; these ids must be",
            TROUBLE_SERVER_ID},
        {13117, 0,
            "The replica I/O thread stops because source and replica have equal MySQL server ids; these ids must be different",
            TROUBLE_SERVER_ID},
        {1045, 0, "error connecting to master 'replication@a:3306' - Access denied for user 'replication'",
            TROUBLE_REFUSED},
        {2026, 0, "error connecting to master: TLS/SSL error: certificate verify failed", TROUBLE_REFUSED},
        {2003, 0, "error connecting to master: Can't connect to server on 'a'", TROUBLE_LOST},
        {2003, 0, "error reconnecting to master 'replication@db-mysql-0.db-mysql.purged.svc:3306' - Can't connect",
            TROUBLE_LOST},
        {0, 1062, "Could not execute Write_rows_v1 event on table t.w; Duplicate entry '5' for key 'PRIMARY'",
            TROUBLE_STOPPED},
        {0, 1950, "An attempt was made to binlog GTID 0-1-101 which would create an out-of-order", TROUBLE_ERRANT},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct replication_facts facts = {.receiver = AGENT_THREAD_CONNECTING};
        facts.receiver_errno = rows[i].receiver_errno;
        facts.applier_errno = rows[i].applier_errno;
        snprintf(facts.receiver_error, sizeof(facts.receiver_error), "%s", rows[i].text);
        snprintf(facts.applier_error, sizeof(facts.applier_error), "%s", rows[i].text);
        if (replication_trouble_of(&facts) != rows[i].trouble)
            fail_msg("%s: %d", rows[i].text, (int)replication_trouble_of(&facts));
    }
}

static void test_the_position_in_the_way(void **unused)
{
    struct replication_facts facts = {.applier_errno = 1950};
    char text[64];

    UNUSED(unused);
    snprintf(facts.applier_error, sizeof(facts.applier_error), "%s",
        "An attempt was made to binlog GTID 0-1000-7 which would create an out-of-order sequence number with existing GTID "
        "0-1001-9, and gtid strict mode is enabled");
    replication_errant_position(&facts, text, sizeof(text));
    assert_string_equal(text, "0-1001-9");
    facts.applier_errno = 1062;
    replication_errant_position(&facts, text, sizeof(text));
    assert_string_equal(text, "");
    facts = (struct replication_facts){.receiver_errno = 1236};
    snprintf(facts.receiver_error, sizeof(facts.receiver_error), "%s",
        "Got fatal error 1236 from master when reading data from binary log: 'Error: connecting slave requested to start "
        "from GTID 0-1001-455, which is not in the master's binlog. Since the master's binlog contains GTIDs with higher");
    replication_errant_position(&facts, text, sizeof(text));
    assert_string_equal(text, "0-1001-455");
    facts.receiver_errno = 2003;
    facts.receiver_error[0] = '\0';
    replication_errant_position(&facts, text, sizeof(text));
    assert_string_equal(text, "");
}

/* ---- lag and readiness ---- */

static void beat_at(struct instance_state *state, uint64_t epoch, int64_t age_ms, int64_t offset_ms)
{
    state->replication.has_beat = true;
    state->replication.beat_epoch = epoch;
    state->replication.beat_read_us = 5000000000;
    state->replication.beat_us = 5000000000 + (offset_ms - age_ms) * 1000;
    state->source.known = true;
    state->source.offset_us = offset_ms * 1000;
}

static int64_t lag_of(const struct instance_state *state)
{
    int64_t lag_ms = -1;

    return role_lag(state, NOW, &lag_ms) ? lag_ms : -1;
}

static void test_lag(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    assert_int_equal(lag_of(&state), -1);
    beat_at(&state, 3, 200, 0); /* younger than the interval */
    assert_int_equal(lag_of(&state), 0);
    beat_at(&state, 3, 1700, 0);
    assert_int_equal(lag_of(&state), 1700 - HEARTBEAT_INTERVAL_MS);
    beat_at(&state, 3, 1700, 3600 * 1000); /* the source's clock is an hour ahead */
    assert_int_equal(lag_of(&state), 1700 - HEARTBEAT_INTERVAL_MS);
    beat_at(&state, 3, 1700, -3600 * 1000);
    assert_int_equal(lag_of(&state), 1700 - HEARTBEAT_INTERVAL_MS);
    state.source.known = false;
    assert_int_equal(lag_of(&state), -1);
    beat_at(&state, 2, 10, 0); /* of the primary before */
    assert_int_equal(lag_of(&state), 60000);
}

static void expect_ready(const struct instance_state *state, const char *reason)
{
    char text[128];

    assert_int_equal(role_ready(state, NOW, text, sizeof(text)), *reason == '\0');
    assert_string_equal(text, reason);
}

static void test_ready(void **unused)
{
    struct instance_state state = replica();

    state.role.lag_known_ms = NOW;

    UNUSED(unused);
    expect_ready(&state, "");
    beat_at(&state, 3, 5000, 0);
    expect_ready(&state, "");
    beat_at(&state, 3, 6000, 0);
    expect_ready(&state, "it lags by 5 s, 5 s are allowed");
    state.role.order.max_lag_seconds = 0;
    expect_ready(&state, "");
    state.replication.receiver = AGENT_THREAD_CONNECTING;
    expect_ready(&state, "the receiver is not connected to the source");
    state = replica();
    state.replication.applier = AGENT_THREAD_OFF;
    expect_ready(&state, "the applier does not run");
    state = replica();
    snprintf(state.source.errant, sizeof(state.source.errant), "0-2-9");
    expect_ready(&state, "it has transactions that its source has not");
    state = replica();
    state.role.order.role = AGENT_ROLE_NONE;
    expect_ready(&state, "it is fenced");
    state = primary();
    expect_ready(&state, "");
    state.role.opened = false;
    expect_ready(&state, "the primary is not open for writes yet");
}

/* ---- blocked writes ---- */

static void test_blocked_writes(void **unused)
{
    struct instance_state state = primary();

    UNUSED(unused);
    state.beat = (struct beat_state){.wanted = true, .blocked_since_ms = NOW - 3000};
    assert_int_equal(role_blocked_ms(&state, NOW), 0); /* asynchronous: the lock of somebody else, perhaps */
    state.replication.semi_sync_source = true;
    assert_int_equal(role_blocked_ms(&state, NOW), 3000);
    state.beat.blocked_since_ms = NOW - 100;
    assert_int_equal(role_blocked_ms(&state, NOW), 0);
    state.beat.blocked_since_ms = 0;
    state.commits_blocked_since_ms = NOW - 2000;
    assert_int_equal(role_blocked_ms(&state, NOW), 2000);
    state.commits_blocked_since_ms = NOW - 10; /* one look at a busy primary */
    assert_int_equal(role_blocked_ms(&state, NOW), 0);
}

/* A heartbeat that nobody could write says nothing of commits. */
static void test_who_is_locked_out_does_not_say_that_writes_are_blocked(void **unused)
{
    struct instance_state state = primary();

    UNUSED(unused);
    state.replication.semi_sync_source = true;
    state.beat = (struct beat_state){.wanted = true, .blocked_since_ms = NOW - 3000};
    error_set(&state.beat.error, ERROR_UNAUTHORIZED, "as the test wants");
    assert_int_equal(role_blocked_ms(&state, NOW), 0);
    error_clear(&state.beat.error);
    assert_int_equal(role_blocked_ms(&state, NOW), 3000);
    error_set(&state.probe_error, ERROR_UNAUTHORIZED, "as the test wants");
    assert_int_equal(role_blocked_ms(&state, NOW), 0);
}

/* Only the receiver ends. */
static void test_hold(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    state.role.order.source_host[0] = '\0';
    state.role.order.source_port = 0;
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
    assert_false(role_done(&state));
    state.replication.receiver = AGENT_THREAD_CONNECTING;
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
    state.replication.receiver = AGENT_THREAD_OFF;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_true(role_done(&state));
    state.replication.applier = AGENT_THREAD_OFF;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE); /* MariaDB would drop what is there */
    state.replication.relay_logs_last = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
    state.replication.applier_errno = 1062;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.replication.read_only = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    assert_false(role_done(&state));
    state = (struct instance_state){.replication = {.seen = true, .read_only = true}};
    state.role = (struct role_state){.has_order = true, .order = {.role = AGENT_ROLE_REPLICA}};
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE); /* never followed anybody */
    assert_true(role_done(&state));
}

/* The last look is from before: a receiver that is being started is off in it. */
static void test_what_is_being_done_is_not_done(void **unused)
{
    static const enum agent_role roles[] = {AGENT_ROLE_REPLICA, AGENT_ROLE_NONE};

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
        struct instance_state state = replica();
        state.role.order.role = roles[i];
        state.role.order.source_host[0] = '\0';
        state.replication.receiver = state.replication.applier = AGENT_THREAD_OFF;
        assert_true(role_done(&state));
        state.role.running = ROLE_ACTION_FOLLOW;
        assert_false(role_done(&state));
        state.role.running = ROLE_ACTION_NONE;
        state.role.unseen = true; /* it ended with a broken connection */
        assert_false(role_done(&state));
    }
}

/* It may acknowledge to whom nobody counts it for. */
static void test_a_source_of_a_newer_epoch(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    state.source.epoch = 3;
    state.source.is_primary = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.source.epoch = 4;
    state.source.is_primary = false; /* it closes: what it commits until then waits for us */
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.source.is_primary = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
    state.replication.receiver = AGENT_THREAD_OFF;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.stream = (struct stream_view){.seen = true, .heard_ms = NOW - 60000, .observed_ms = NOW};
    assert_false(role_source_lost(&state)); /* by our own doing */
    state.role.order.epoch = 4;
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
    assert_true(role_source_lost(&state));
}

/* The other password is still to be set once what was received is applied. */
static void test_a_source_is_changed_in_two_steps(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    state.replication.receiver = AGENT_THREAD_OFF;
    state.role.draining_ms = NOW - 1;
    struct role_decision decision = role_decide(&state, AGENT_PHASE_RUNNING, NOW);
    assert_int_equal(decision.action, ROLE_ACTION_FOLLOW);
    assert_true(decision.reconfigure);
}

/* I6 */
static void test_a_primary_that_hears_nobody(void **unused)
{
    struct instance_state state = primary();

    UNUSED(unused);
    state.role.hearing.operator_ms = NOW - 4000;
    assert_false(role_is_isolated(&state, NOW)); /* not asked for */
    state.role.order.self_fence_ms = 4001;
    assert_false(role_is_isolated(&state, NOW));
    state.role.order.self_fence_ms = 4000;
    assert_true(role_is_isolated(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.role.isolated = true;
    state.role.hearing.operator_ms = NOW; /* too late */
    assert_true(role_is_isolated(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    assert_true(role_decide(&state, AGENT_PHASE_RUNNING, NOW).urgent);
    assert_int_equal(role_decide(&state, AGENT_PHASE_HUNG, NOW).action, ROLE_ACTION_CLOSE);
    state.replication.read_only = true;
    state.role.was_open = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE); /* it stays so */
    state.role.isolated = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    state = replica();
    state.role.order.self_fence_ms = 1;
    assert_false(role_is_isolated(&state, NOW));
}

/* I6: the agent that was there before had promised to close it. */
static void test_a_server_that_was_left_open(void **unused)
{
    struct instance_state state = {.replication = {.seen = true}};
    struct role_state *role = &state.role;

    UNUSED(unused);
    role->was_open = true;
    role->started_ms = NOW - ROLE_LEFT_OPEN_MS;
    assert_false(role_is_isolated(&state, NOW)); /* nothing was promised */
    role->fence = (struct self_fence){.epoch = 3, .ms = ROLE_LEFT_OPEN_MS - 500, .members = 2};
    assert_false(role_is_isolated(&state, NOW - 501));
    assert_true(role_is_isolated(&state, NOW - 500));
    role->fence.ms = 4000; /* the one before may have been silent for some of it */
    assert_false(role_is_isolated(&state, NOW - 1));
    assert_true(role_is_isolated(&state, NOW));
    hearing_member(&role->hearing, "db-mysql-1", NOW - 100, NOW);
    assert_true(role_is_isolated(&state, NOW));
    hearing_member(&role->hearing, "db-mysql-2", NOW - 100, NOW);
    assert_false(role_is_isolated(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_true(role_is_isolated(&state, NOW + 3900));
    role->isolated = true;
    assert_true(role_is_isolated(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    assert_true(role_decide(&state, AGENT_PHASE_RUNNING, NOW).urgent);
    state.replication.read_only = true;
    role->was_open = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    role->isolated = false;
    assert_false(role_is_isolated(&state, NOW + 3900)); /* nothing is open */
}

/* Somebody else may be opened when one of two members has been told to follow nobody: then one is not enough. */
static void test_how_many_must_be_heard(void **unused)
{
    struct hearing hearing = {0};

    UNUSED(unused);
    assert_true(hearing_is_alone(&hearing, 4000, 0, NOW));
    hearing_member(&hearing, "db-mysql-1", NOW - 100, NOW);
    hearing_member(&hearing, "db-mysql-1", NOW - 50, NOW);
    assert_false(hearing_is_alone(&hearing, 4000, 0, NOW));
    assert_false(hearing_is_alone(&hearing, 4000, 1, NOW));
    assert_true(hearing_is_alone(&hearing, 4000, 2, NOW));
    hearing_member(&hearing, "db-mysql-2", NOW - 100, NOW);
    assert_false(hearing_is_alone(&hearing, 4000, 2, NOW));
    assert_false(hearing_is_alone(&hearing, 4000, 2, NOW + 3899));
    assert_true(hearing_is_alone(&hearing, 4000, 2, NOW + 3900));
    assert_false(hearing_is_alone(&hearing, 4000, 1, NOW + 3900));
}

/* A request that was under way for long is as old as what its sender knew. */
static void test_an_old_word_is_no_sign_of_life(void **unused)
{
    struct hearing hearing = {0};

    UNUSED(unused);
    hearing_operator(&hearing, 0, NOW);
    hearing_operator(&hearing, NOW + 1, NOW); /* of another life of this node */
    hearing_operator(&hearing, NOW - 4000, NOW);
    assert_true(hearing_is_alone(&hearing, 4000, 0, NOW));
    hearing_operator(&hearing, NOW - 10, NOW);
    hearing_operator(&hearing, NOW - 2000, NOW); /* late */
    assert_false(hearing_is_alone(&hearing, 4000, 0, NOW + 3989));
    assert_true(hearing_is_alone(&hearing, 4000, 0, NOW + 3990));
    for (int i = 0; i < 3 * HEARING_MEMBERS_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "m-%d", i);
        hearing_member(&hearing, name, NOW - 1000 + i, NOW);
    }
    assert_false(hearing_is_alone(&hearing, 500, 1, NOW - 500));
}

/* Of a server that hangs only one thing is asked. */
static void test_a_server_that_hangs_is_closed(void **unused)
{
    struct instance_state state = primary();

    UNUSED(unused);
    state.role.order.role = AGENT_ROLE_NONE;
    state.action_running = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    struct role_decision decision = role_decide(&state, AGENT_PHASE_HUNG, NOW);
    assert_int_equal(decision.action, ROLE_ACTION_CLOSE);
    assert_true(decision.urgent);
    assert_int_equal(role_decide(&state, AGENT_PHASE_STARTING, NOW).action, ROLE_ACTION_NONE);
    state.action_running = false;
    assert_false(role_decide(&state, AGENT_PHASE_RUNNING, NOW).urgent);
    state.commits_blocked_since_ms = NOW - 1000;
    assert_true(role_decide(&state, AGENT_PHASE_RUNNING, NOW).urgent);
    state = replica();
    state.replication.receiver = AGENT_THREAD_OFF;
    assert_int_equal(role_decide(&state, AGENT_PHASE_HUNG, NOW).action, ROLE_ACTION_NONE);
}

static void look(struct instance_state *state, enum agent_thread receiver, uint64_t signature, int64_t at_ms)
{
    state->replication.receiver = receiver;
    state->replication.stream_signature = signature;
    role_note_stream(state, &state->replication, at_ms);
}

static void test_a_source_is_lost(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    state.replication.source_beat_ms = SOURCE_BEAT_MS;
    assert_false(role_source_lost(&state));
    look(&state, AGENT_THREAD_CONNECTING, 1, NOW); /* not yet */
    assert_false(state.stream.seen);
    assert_false(role_source_lost(&state));
    look(&state, AGENT_THREAD_CONNECTING, 1, NOW + SILENCE_DEFAULT_MS);
    assert_true(role_source_lost(&state));
    look(&state, AGENT_THREAD_RUNNING, 1, NOW + 3000);
    assert_true(state.stream.seen);
    assert_false(role_source_lost(&state));
    look(&state, AGENT_THREAD_RUNNING, 1, NOW + 4999);
    assert_false(role_source_lost(&state));
    look(&state, AGENT_THREAD_RUNNING, 1, NOW + 5000);
    assert_true(role_source_lost(&state));
    look(&state, AGENT_THREAD_RUNNING, 2, NOW + 5500);
    assert_false(role_source_lost(&state));
    look(&state, AGENT_THREAD_CONNECTING, 2, NOW + 5600); /* it was there and is not */
    assert_true(role_source_lost(&state));
    state.replication.receiver_errno = 1236;
    snprintf(state.replication.receiver_error, sizeof(state.replication.receiver_error), "purged required binary logs");
    look(&state, AGENT_THREAD_OFF, 2, NOW + 5700); /* it speaks */
    assert_false(role_source_lost(&state));
    assert_true(state.stream.seen);
}

static void test_silence_without_a_beat_proves_nothing(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    look(&state, AGENT_THREAD_RUNNING, 1, NOW);
    look(&state, AGENT_THREAD_RUNNING, 1, NOW + 60000);
    assert_false(role_source_lost(&state));
    state.replication.source_beat_ms = 30000; /* to be set right first */
    assert_false(role_source_lost(&state));
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
    state.replication.source_beat_ms = SOURCE_BEAT_MS;
    assert_true(role_source_lost(&state));
    state.role.order.silence_ms = 60001;
    assert_false(role_source_lost(&state));
    state.role.order.source_host[0] = '\0';
    look(&state, AGENT_THREAD_RUNNING, 1, NOW + 120000);
    assert_false(state.stream.seen);
    assert_false(role_source_lost(&state));
}

static void test_a_storage_that_stalls(void **unused)
{
    struct instance_state state = primary();

    UNUSED(unused);
    state.beat = (struct beat_state){.wanted = true, .started_ms = NOW - 3000, .blocked_since_ms = NOW - 3000};
    assert_int_equal(role_stalled_ms(&state, NOW), 3000);
    state.replication.semi_sync_source = true;
    assert_int_equal(role_stalled_ms(&state, NOW), 3000);
    assert_int_equal(role_blocked_ms(&state, NOW), 0);
    state.replication.waiting_commits = 1;
    assert_int_equal(role_stalled_ms(&state, NOW), 0);
    assert_int_equal(role_blocked_ms(&state, NOW), 3000);
    state.replication.waiting_commits = 0;
    state.unanswered_since_ms = NOW - 1000; /* nothing is known of a server that hangs */
    assert_int_equal(role_stalled_ms(&state, NOW), 0);
    state.unanswered_since_ms = NOW - 2; /* a probe runs */
    assert_int_equal(role_stalled_ms(&state, NOW), 3000);
    state.beat.started_ms = 0;
    assert_int_equal(role_stalled_ms(&state, NOW), 0); /* refused at once: no stall */
    error_set(&state.beat.error, ERROR_TIMEOUT, "given up");
    assert_int_equal(role_stalled_ms(&state, NOW), 3000);
    state.beat.blocked_since_ms = NOW - 100;
    assert_int_equal(role_stalled_ms(&state, NOW), 0);
}

/* FLUSH TABLES WITH READ LOCK is nobody's failure. */
static void test_a_heartbeat_that_is_locked_out(void **unused)
{
    struct instance_state state = primary();

    UNUSED(unused);
    state.beat = (struct beat_state){.wanted = true, .started_ms = NOW - 1900, .blocked_since_ms = NOW - 8000};
    assert_true(role_beat_is_late(&state, NOW));
    assert_int_equal(role_stalled_ms(&state, NOW), 8000);
    state.beat.locked_ms = NOW - 3000; /* between two there was none to be seen */
    assert_int_equal(role_stalled_ms(&state, NOW), 0);
    state.replication.semi_sync_source = true;
    assert_int_equal(role_blocked_ms(&state, NOW), 0);
    state.beat.locked_ms = NOW - 3001;
    assert_int_equal(role_stalled_ms(&state, NOW), 3001); /* and then it was the storage */
    state.beat.blocked_since_ms = NOW - 2000;             /* that lock is gone, it was written since */
    assert_int_equal(role_stalled_ms(&state, NOW), 2000);
    state.beat.blocked_since_ms = 0;
    assert_false(role_beat_is_late(&state, NOW));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_right_is_left_alone),
        cmocka_unit_test(test_opened_by_another_hand),
        cmocka_unit_test(test_a_primary),
        cmocka_unit_test(test_on_the_way_from_primary),
        cmocka_unit_test(test_a_fenced_member),
        cmocka_unit_test(test_when_nothing_may_be_done),
        cmocka_unit_test(test_a_write_of_our_own_that_waits_in_vain),
        cmocka_unit_test(test_a_replica_is_repaired),
        cmocka_unit_test(test_troubles),
        cmocka_unit_test(test_the_position_in_the_way),
        cmocka_unit_test(test_lag),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_blocked_writes),
        cmocka_unit_test(test_who_is_locked_out_does_not_say_that_writes_are_blocked),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_a_primary_that_hears_nobody),
        cmocka_unit_test(test_how_many_must_be_heard),
        cmocka_unit_test(test_an_old_word_is_no_sign_of_life),
        cmocka_unit_test(test_a_server_that_hangs_is_closed),
        cmocka_unit_test(test_a_source_is_lost),
        cmocka_unit_test(test_silence_without_a_beat_proves_nothing),
        cmocka_unit_test(test_a_storage_that_stalls),
        cmocka_unit_test(test_a_heartbeat_that_is_locked_out),
        cmocka_unit_test(test_what_is_being_done_is_not_done),
        cmocka_unit_test(test_a_source_of_a_newer_epoch),
        cmocka_unit_test(test_a_source_is_changed_in_two_steps),
        cmocka_unit_test(test_a_server_that_was_left_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
