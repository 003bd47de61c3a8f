/* SPDX-License-Identifier: Apache-2.0 */
/* What a member says of its role: role_status.h. */
#include "common/base.h"

#include "agent/role_status.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/heartbeat_lane.h"
#include "agent/role_decide.h"
#include "agent/role_notes.h"
#include "common/alloc.h"

#define NOW 1000000

static void beat_at(struct instance_state *state, uint64_t epoch, int64_t age_ms)
{
    state->replication.has_beat = true;
    state->replication.beat_epoch = epoch;
    state->replication.beat_read_us = 5000000000;
    state->replication.beat_us = 5000000000 - age_ms * 1000;
    state->source.known = true;
}

static struct instance_state replica(void)
{
    struct instance_state state = {
        .role = {.has_order = true, .order = {.epoch = 3, .role = AGENT_ROLE_REPLICA}, .followed_ms = NOW - 60000}};

    return state;
}

static void take_epoch(struct instance_state *state, uint64_t epoch, int64_t now_ms)
{
    role_lag_carry(state, now_ms);
    state->role.order.epoch = epoch;
}

static int64_t lag_of(const struct instance_state *state, int64_t now_ms)
{
    int64_t lag_ms = -1;

    return role_lag(state, now_ms, &lag_ms) ? lag_ms : -1;
}

/* With the statements that remove it, as the family spells them. */
static void test_a_channel_made_by_hand_is_told(void **unused)
{
    static struct agent_status status;
    struct instance_state state = replica();

    UNUSED(unused);
    snprintf(state.replication.foreign_channel, sizeof(state.replication.foreign_channel), "it's");
    state.observed.version.flavour = AGENT_FLAVOUR_MARIADB;
    role_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 1);
    assert_string_equal(status.problems[0].reason, "ForeignChannel");
    assert_string_equal(status.problems[0].message,
        "a replication channel 'it\\'s' was made by hand, and is left alone; STOP SLAVE 'it\\'s'; RESET SLAVE 'it\\'s' "
        "ALL removes it");
    memset(&status, 0, sizeof(status));
    state.observed.version.flavour = AGENT_FLAVOUR_PERCONA;
    role_fill_status(&state, NOW, &status);
    assert_non_null(strstr(status.problems[0].message, "RESET REPLICA ALL FOR CHANNEL 'it\\'s' removes it"));
}

static void test_older_system_tables_are_told(void **unused)
{
    static struct agent_status status;
    struct instance_state state = replica();

    UNUSED(unused);
    role_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 0);
    snprintf(state.older_tables, sizeof(state.older_tables), "10.11.19-MariaDB");
    role_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 1);
    assert_string_equal(status.problems[0].reason, "SystemTablesOld");
    assert_non_null(strstr(status.problems[0].message, "10.11.19-MariaDB"));
}

static void test_a_new_epoch_hides_no_lag(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    beat_at(&state, 3, 1200000 + HEARTBEAT_INTERVAL_MS);
    assert_int_equal(lag_of(&state, NOW), 1200000);
    take_epoch(&state, 4, NOW);
    assert_int_equal(lag_of(&state, NOW), 1200000);
    assert_int_equal(lag_of(&state, NOW + 700), 1200700);
    take_epoch(&state, 5, NOW + 1000);
    assert_int_equal(lag_of(&state, NOW + 1000), 1201000);
    beat_at(&state, 5, 100);
    assert_int_equal(lag_of(&state, NOW + 1000), 0);
}

static void test_a_new_epoch_is_no_lag(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    beat_at(&state, 3, 200);
    take_epoch(&state, 4, NOW);
    assert_int_equal(lag_of(&state, NOW), 0);
    assert_int_equal(lag_of(&state, NOW + 300), 300);
}

static void test_who_followed_nobody_has_no_lag_to_carry(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    state.role.followed_ms = 0;
    take_epoch(&state, 4, NOW);
    assert_int_equal(state.role.followed_ms, 0);
    assert_int_equal(state.role.lag_before_ms, 0);
    state.role.followed_ms = NOW;
    take_epoch(&state, 5, NOW + 50); /* no heartbeat is known yet */
    assert_int_equal(state.role.lag_before_ms, 0);
    assert_int_equal(state.role.followed_ms, NOW + 50);
}

#define HOST "db-mysql-0.db-mysql.ns.svc"

/* Its agent has been dead for two minutes: no heartbeat is written. */
static struct instance_state follower(void)
{
    struct instance_state state = replica();

    snprintf(state.role.order.source_host, sizeof(state.role.order.source_host), HOST);
    state.role.order.source_port = 3306;
    state.role.order.max_lag_seconds = 5;
    beat_at(&state, 3, 120000 + HEARTBEAT_INTERVAL_MS);
    state.source.is_open = true;
    state.replication.seen = state.replication.read_only = state.replication.configured = true;
    snprintf(state.replication.source_host, sizeof(state.replication.source_host), HOST);
    state.replication.source_port = 3306;
    state.replication.receiver = state.replication.applier = AGENT_THREAD_RUNNING;
    state.replication.all_applied = true;
    return state;
}

static void look_at_stream(struct instance_state *state, uint64_t beats, uint64_t position, int64_t at_ms)
{
    state->replication.source_beats = beats;
    state->replication.stream_position = position;
    state->replication.stream_signature = beats * 1000 + position;
    role_note_stream(state, &state->replication, at_ms);
}

static bool is_ready(const struct instance_state *state, int64_t now_ms)
{
    char reason[128];

    return role_ready(state, now_ms, reason, sizeof(reason));
}

static void test_a_source_that_has_sent_all_leaves_no_lag(void **unused)
{
    struct instance_state state = follower();

    UNUSED(unused);
    look_at_stream(&state, 5, 1, NOW - 1500);
    assert_int_equal(lag_of(&state, NOW), 120000); /* whatever it beat before */
    assert_false(is_ready(&state, NOW));
    look_at_stream(&state, 6, 1, NOW - 1000);
    look_at_stream(&state, 7, 2, NOW - 500); /* a transaction, and a beat before or after it */
    assert_int_equal(lag_of(&state, NOW), 0);
    assert_true(is_ready(&state, NOW));
}

/* It lags itself, perhaps: what it has sent is no longer all that there is. */
static void test_a_source_that_is_closed_proves_nothing(void **unused)
{
    struct instance_state state = follower();

    UNUSED(unused);
    look_at_stream(&state, 5, 1, NOW - 1000);
    look_at_stream(&state, 6, 1, NOW - 500); /* had sent all at NOW - 1000, and was open */
    state.source.is_open = false;
    look_at_stream(&state, 7, 1, NOW);
    look_at_stream(&state, 8, 1, NOW + 2000);
    assert_int_equal(lag_of(&state, NOW), 0);
    assert_int_equal(lag_of(&state, NOW + 2000), 3000);
    state.source.known = false; /* nobody can be asked */
    look_at_stream(&state, 9, 1, NOW + 2500);
    assert_int_equal(lag_of(&state, NOW + 2500), 0);
}

/* Nobody writes, and the newest heartbeat row is almost six seconds old when the operator orders another primary. */
static void test_a_switchover_at_rest_carries_no_lag(void **unused)
{
    struct instance_state state = follower();

    UNUSED(unused);
    beat_at(&state, 3, 5900);
    look_at_stream(&state, 5, 1, NOW - 1000);
    look_at_stream(&state, 6, 1, NOW - 500);
    state.source.is_open = false;
    take_epoch(&state, 4, NOW);
    assert_int_equal(lag_of(&state, NOW), 0);
    assert_int_equal(state.role.lag_before_ms, 0);
}

static void test_what_is_still_coming_is_lag(void **unused)
{
    struct instance_state state = follower();

    UNUSED(unused);
    look_at_stream(&state, 5, 1, NOW - 10000);
    look_at_stream(&state, 6, 1, NOW - 9500);
    for (int64_t at_ms = NOW - 9000; at_ms < NOW; at_ms += 500) /* one transaction, for nine seconds */
        look_at_stream(&state, 6, (uint64_t)at_ms, at_ms);
    assert_int_equal(lag_of(&state, NOW), 10000);
    assert_false(is_ready(&state, NOW));
}

static void test_what_is_not_applied_is_lag(void **unused)
{
    struct instance_state state = follower();

    UNUSED(unused);
    state.replication.all_applied = false;
    look_at_stream(&state, 5, 1, NOW - 1500);
    look_at_stream(&state, 6, 1, NOW - 1000);
    look_at_stream(&state, 7, 1, NOW - 500);
    assert_int_equal(lag_of(&state, NOW), 120000);
}

/* MySQL's source beats also while it skips what the replica has already. */
static void test_a_source_that_skips_has_not_sent_all(void **unused)
{
    struct instance_state state = follower();

    UNUSED(unused);
    look_at_stream(&state, 5, 1, NOW - 4000);
    look_at_stream(&state, 6, 1, NOW - 3500);
    state.replication.receiver = AGENT_THREAD_CONNECTING;
    look_at_stream(&state, 6, 1, NOW - 3000);
    state.replication.receiver = AGENT_THREAD_RUNNING;
    look_at_stream(&state, 7, 2, NOW - 2500);
    look_at_stream(&state, 8, 3, NOW - 2000);
    look_at_stream(&state, 9, 4, NOW - 1500);
    assert_int_equal(lag_of(&state, NOW), 4000);
    look_at_stream(&state, 10, 4, NOW - 1000);
    assert_int_equal(lag_of(&state, NOW), 0);
}

static void test_a_lag_that_is_not_known_is_not_borne_for_ever(void **unused)
{
    struct instance_state state = follower();

    UNUSED(unused);
    state.source.known = false;
    assert_int_equal(lag_of(&state, NOW), -1);
    assert_false(is_ready(&state, NOW));
    state.role.lag_known_ms = NOW - 4000;
    assert_true(is_ready(&state, NOW));
    assert_false(is_ready(&state, NOW + 1001));
    state.role.lag_known_ms = 0;
    state.role.started_ms = NOW - 4000; /* an agent that is new asks first */
    assert_true(is_ready(&state, NOW));
    state.role.started_ms = 0;
    state.role.followed_ms = NOW - 4000;
    assert_true(is_ready(&state, NOW));
    state.source.known = true;
    beat_at(&state, 3, 100);
    role_note_lag(&state, NOW);
    assert_int_equal(state.role.lag_known_ms, NOW);
}

static bool warns_of_its_set(size_t len)
{
    struct instance_state state = replica();
    struct agent_status status = {.instance = "db-mysql-0"};

    _cleanup_(freep) char *text = xcalloc(1, len + 1);

    state.role.order.role = AGENT_ROLE_PRIMARY;
    memset(text, 'a', len);
    state.replication.gtid_executed = text;
    role_fill_status(&state, NOW, &status);
    return status.problem_count == 1 && str_eq(status.problems[0].reason, "GtidSetLong");
}

static void test_a_long_gtid_set_is_told_in_time(void **unused)
{
    UNUSED(unused);
    assert_false(warns_of_its_set(POSITION_TEXT_MAX / 2));
    assert_true(warns_of_its_set(POSITION_TEXT_MAX / 4 * 3));
    assert_true(warns_of_its_set(POSITION_TEXT_MAX));
}

static void look_at(struct instance_state *state, uint32_t waiting, int64_t at_ms)
{
    state->replication.semi_sync_source = true;
    state->replication.waiting_commits = waiting;
    role_note_beat(state, &state->replication, at_ms);
}

/* Replicas that were frozen for five seconds are back: the heartbeat is late for what they did, not for its storage. */
static void test_acknowledgements_that_come_late_are_no_stalled_storage(void **unused)
{
    struct instance_state state = {.beat = {.wanted = true, .started_ms = NOW - 1000, .blocked_since_ms = NOW - 5200}};

    UNUSED(unused);
    look_at(&state, 3, NOW - 200);
    assert_int_equal(role_stalled_ms(&state, NOW - 100), 0);
    look_at(&state, 0, NOW);
    assert_int_equal(role_stalled_ms(&state, NOW), 200);
    assert_int_equal(role_stalled_ms(&state, NOW + 4000), 4200); /* and then it was the storage */
    state.beat.blocked_since_ms = NOW + 1000;
    assert_int_equal(role_stalled_ms(&state, NOW + 4000), 3000);
}

/* FLUSH TABLES WITH READ LOCK in an open session: reported after five seconds, until the lock is gone. */
static void test_a_lock_on_all_tables_is_told(void **unused)
{
    static const struct {
        int64_t blocked_ms, seen_ms; /* ago; -1: never */
        const char *holder;
        int64_t locked_ms;
        bool told; /* by the problem, which names the holder */
    } rows[] = {
        {600, 50, "", 600, false}, {4900, 300, "thread 17 of root@10.1.2.3", 4900, false},
        {5000, 300, "thread 17 of root@10.1.2.3", 5000, true}, {61000, 300, "", 61000, true},
        {61000, 3100, "", 0, false}, /* it waits for something else by now */
        {61000, -1, "thread 17 of root@10.1.2.3", 0, false}, {400, 300, "", 0, false},
        {200, 9000, "", 0, false}, /* the latest write got through */
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct instance_state state = {.beat = {.wanted = true, .blocked_since_ms = NOW - rows[i].blocked_ms},
            .role = {.has_order = true, .order = {.role = AGENT_ROLE_PRIMARY}}};
        struct agent_status status = {.epoch = 0};
        if (rows[i].seen_ms >= 0)
            state.beat.locked_ms = NOW - rows[i].seen_ms;
        state.replication.gtid_executed = "";
        snprintf(state.replication.lock_holder, AGENT_LOCK_HOLDER_SIZE, "%s", rows[i].holder);
        role_fill_status(&state, NOW, &status);
        assert_int_equal(status.locked_ms, rows[i].locked_ms);
        assert_string_equal(status.lock_holder, rows[i].locked_ms ? rows[i].holder : "");
        bool told = false;
        for (int k = 0; k < status.problem_count; k++)
            told = told ||
                (status.problems[k].kind == AGENT_PROBLEM_WRITES_LOCKED &&
                    strstr(status.problems[k].message, *rows[i].holder ? rows[i].holder : "a session holds"));
        assert_int_equal(told, rows[i].told);
    }
}

/* It writes no heartbeat: the sessions of others tell. */
static void test_a_single_member_tells_of_a_lock(void **unused)
{
    static const struct {
        int64_t waited_s;
        bool beats, told;
    } rows[] = {{4, false, false}, {5, false, true}, {5, true, false}, {0, false, false}};

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct instance_state state = {.beat = {.wanted = rows[i].beats},
            .lock_waited_s = rows[i].waited_s,
            .role = {.has_order = true, .order = {.role = AGENT_ROLE_PRIMARY}},
            .replication = {.gtid_executed = ""}};
        struct agent_status status = {.epoch = 0};
        role_fill_status(&state, NOW, &status);
        bool told = status.problem_count > 0 && status.problems[0].kind == AGENT_PROBLEM_WRITES_LOCKED;
        assert_int_equal(told, rows[i].told);
    }
}

static void test_without_semi_sync_nothing_waits_for_acknowledgements(void **unused)
{
    struct instance_state state = {.beat = {.wanted = true, .started_ms = NOW - 1000, .blocked_since_ms = NOW - 5200},
        .replication = {.waiting_commits = 3}};

    UNUSED(unused);
    role_note_beat(&state, &state.replication, NOW - 200);
    assert_int_equal(role_stalled_ms(&state, NOW), 5200);
}

/* The note may have been written while the job that opens is not over yet: until then nothing is certain. */
static void test_an_opening_that_failed_is_noted(void **unused)
{
    struct instance_state state = {.role = {.opened_epoch = 2, .noted_since = 3, .running = ROLE_ACTION_OPEN}};
    struct agent_status status = {.epoch = 0};

    UNUSED(unused);
    role_fill_status(&state, NOW, &status);
    assert_true(status.noted_since == 0);
    role_note_opening(&state.role, &(struct role_result){.error = {.kind = ERROR_UNAVAILABLE}, .noted_epoch = 4});
    state.role.running = ROLE_ACTION_NONE;
    role_fill_status(&state, NOW, &status);
    assert_true(status.opened_epoch == 4);
    assert_true(status.noted_since == 3);
    role_note_opening(&state.role, &(struct role_result){.is_uncertain = true});
    role_fill_status(&state, NOW, &status);
    assert_true(status.opened_epoch == 4);
    assert_true(status.noted_since == 0);
}

/* Whatever its role is; the primary is not to be deleted. */
static void test_a_position_that_was_set_back_is_told(void **unused)
{
    struct instance_state state = replica();
    struct agent_status status = {.instance = "db-mysql-1"};

    UNUSED(unused);
    state.instance = "db-mysql-1";
    state.loss.lost = (struct gtids_lost){.is_lost = true, .lacking = "aaaaaaaa-0000-0000-0000-000000000000:1-9"};
    role_fill_status(&state, NOW, &status);
    assert_int_equal(status.problem_count, 1);
    assert_string_equal(status.problems[0].reason, "GtidsLost");
    assert_non_null(strstr(status.problems[0].message,
        "(kubectl delete pvc data-db-mysql-1 --wait=false; kubectl delete pod db-mysql-1); lost: aaaaaaaa-"));
    state.role.order.role = AGENT_ROLE_PRIMARY;
    state.observed.version.flavour = AGENT_FLAVOUR_MARIADB;
    status = (struct agent_status){.instance = "db-mysql-1"};
    role_fill_status(&state, NOW, &status);
    assert_string_equal(status.problems[0].reason, "GtidsLost");
    assert_non_null(strstr(
        status.problems[0].message, "somebody has set back the GTID position of this primary (RESET MASTER): it can "));
    assert_null(strstr(status.problems[0].message, "kubectl"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_channel_made_by_hand_is_told),
        cmocka_unit_test(test_older_system_tables_are_told),
        cmocka_unit_test(test_a_new_epoch_hides_no_lag),
        cmocka_unit_test(test_a_new_epoch_is_no_lag),
        cmocka_unit_test(test_who_followed_nobody_has_no_lag_to_carry),
        cmocka_unit_test(test_a_source_that_has_sent_all_leaves_no_lag),
        cmocka_unit_test(test_a_source_that_is_closed_proves_nothing),
        cmocka_unit_test(test_a_switchover_at_rest_carries_no_lag),
        cmocka_unit_test(test_what_is_still_coming_is_lag),
        cmocka_unit_test(test_what_is_not_applied_is_lag),
        cmocka_unit_test(test_a_source_that_skips_has_not_sent_all),
        cmocka_unit_test(test_a_lag_that_is_not_known_is_not_borne_for_ever),
        cmocka_unit_test(test_a_position_that_was_set_back_is_told),
        cmocka_unit_test(test_a_long_gtid_set_is_told_in_time),
        cmocka_unit_test(test_acknowledgements_that_come_late_are_no_stalled_storage),
        cmocka_unit_test(test_a_lock_on_all_tables_is_told),
        cmocka_unit_test(test_a_single_member_tells_of_a_lock),
        cmocka_unit_test(test_without_semi_sync_nothing_waits_for_acknowledgements),
        cmocka_unit_test(test_an_opening_that_failed_is_noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
