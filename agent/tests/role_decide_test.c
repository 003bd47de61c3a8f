#include "common/base.h"

#include "agent/role_decide.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/heartbeat_lane.h"
#include "agent/role_status.h"

#define NOW 1000000
#define HOST "c1-mysql-0.c1-mysql.ns.svc"

/* A replica that follows its source as ordered. */
static struct instance_state replica(void)
{
    struct instance_state state = {
        .replication = {.seen = true,
            .read_only = true,
            .configured = true,
            .source_host = HOST,
            .source_port = 3306,
            .source_tls = true,
            .receiver = AGENT_THREAD_RUNNING,
            .applier = AGENT_THREAD_RUNNING},
        .role = {.has_order = true,
            .order =
                {.epoch = 3, .role = AGENT_ROLE_REPLICA, .source_host = HOST, .source_port = 3306, .max_lag_seconds = 5},
            .source_wanted = 7,
            .source_followed = 7,
            .followed_ms = NOW - 60000},
    };

    return state;
}

static struct instance_state primary(void)
{
    return (struct instance_state){
        .replication = {.seen = true},
        .role = {.has_order = true, .order = {.epoch = 3, .role = AGENT_ROLE_PRIMARY}, .opened = true, .was_open = true},
    };
}

static enum role_action action_of(const struct instance_state *state)
{
    return role_decide(state, AGENT_PHASE_RUNNING, NOW).action;
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
        snprintf(state.accounts_applied_hash, sizeof(state.accounts_applied_hash), "new");
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
            "Fatal error: The slave I/O thread stops because master and slave have equal MySQL server ids; these ids must be",
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
        replication_copy_text(facts.receiver_error, sizeof(facts.receiver_error), rows[i].text);
        replication_copy_text(facts.applier_error, sizeof(facts.applier_error), rows[i].text);
        if (replication_trouble_of(&facts) != rows[i].trouble)
            fail_msg("%s: %d", rows[i].text, (int)replication_trouble_of(&facts));
    }
}

static void test_the_position_in_the_way(void **unused)
{
    struct replication_facts facts = {.applier_errno = 1950};
    char text[64];

    UNUSED(unused);
    replication_copy_text(facts.applier_error, sizeof(facts.applier_error),
        "An attempt was made to binlog GTID 0-1000-7 which would create an out-of-order sequence number with existing GTID "
        "0-1001-9, and gtid strict mode is enabled");
    replication_errant_position(&facts, text, sizeof(text));
    assert_string_equal(text, "0-1001-9");
    facts.applier_errno = 1062;
    replication_errant_position(&facts, text, sizeof(text));
    assert_string_equal(text, "");
    facts = (struct replication_facts){.receiver_errno = 1236};
    replication_copy_text(facts.receiver_error, sizeof(facts.receiver_error),
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_right_is_left_alone),
        cmocka_unit_test(test_a_primary),
        cmocka_unit_test(test_on_the_way_from_primary),
        cmocka_unit_test(test_a_fenced_member),
        cmocka_unit_test(test_when_nothing_may_be_done),
        cmocka_unit_test(test_a_replica_is_repaired),
        cmocka_unit_test(test_troubles),
        cmocka_unit_test(test_the_position_in_the_way),
        cmocka_unit_test(test_lag),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_blocked_writes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
