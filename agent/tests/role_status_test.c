/* What a member says of its role: role_status.h. */
#include "common/base.h"

#include "agent/role_status.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/heartbeat_lane.h"

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

static bool warns_of_its_set(size_t len)
{
    struct instance_state state = replica();
    struct agent_status status = {.instance = "db-mysql-0"};

    state.role.order.role = AGENT_ROLE_PRIMARY;
    memset(state.replication.gtid_executed, 'a', len);
    role_fill_status(&state, NOW, &status);
    return status.problem_count == 1 && str_eq(status.problems[0].reason, "GtidSetLong");
}

static void test_a_long_gtid_set_is_told_in_time(void **unused)
{
    UNUSED(unused);
    assert_false(warns_of_its_set(AGENT_GTID_SIZE / 2));
    assert_true(warns_of_its_set(AGENT_GTID_SIZE / 4 * 3));
    assert_true(warns_of_its_set(AGENT_GTID_SIZE - 1));
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

static void test_without_semi_sync_nothing_waits_for_acknowledgements(void **unused)
{
    struct instance_state state = {.beat = {.wanted = true, .started_ms = NOW - 1000, .blocked_since_ms = NOW - 5200},
        .replication = {.waiting_commits = 3}};

    UNUSED(unused);
    role_note_beat(&state, &state.replication, NOW - 200);
    assert_int_equal(role_stalled_ms(&state, NOW), 5200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_epoch_hides_no_lag),
        cmocka_unit_test(test_a_new_epoch_is_no_lag),
        cmocka_unit_test(test_who_followed_nobody_has_no_lag_to_carry),
        cmocka_unit_test(test_a_long_gtid_set_is_told_in_time),
        cmocka_unit_test(test_acknowledgements_that_come_late_are_no_stalled_storage),
        cmocka_unit_test(test_without_semi_sync_nothing_waits_for_acknowledgements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
