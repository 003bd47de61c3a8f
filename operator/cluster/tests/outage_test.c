/* SPDX-License-Identifier: Apache-2.0 */
/* An outage of which the leading operator has not seen the beginning: noticed by what the primary says, told once. */
#include "common/base.h"

#include "operator/cluster/roles/outage.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "operator/cluster/failover/write_gap_times.h"

#define NOW INT64_C(1767323045000)

struct world {
    struct cluster_snapshot snapshot;
    struct agent_status agents[2];
};

static int set_up(void **state)
{
    struct world *world = xnew(struct world);
    world->snapshot = (struct cluster_snapshot){.now_ms = NOW, .member_count = 2, .scale.effective = 2};
    world->snapshot.last.roles = (struct cluster_role_status){
        .epoch = 3, .current_primary = "db-0", .initialized = true, .last_outage.writes_blocked_ms = -1};
    for (int i = 0; i < 2; i++) {
        struct cluster_member *member = &world->snapshot.members[i];
        snprintf(member->name, sizeof(member->name), "db-%d", i);
        member->ordinal = i;
        member->agent = &world->agents[i];
        member->agent_connected = true;
        world->agents[i] = (struct agent_status){.phase = AGENT_PHASE_RUNNING, .clock_ms = 900000, .epoch = 3};
    }
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void what_the_first_look_shows_is_as_in_the_table(void **state)
{
    static const struct {
        const char *name;
        bool speaks, writable, closed_for_room, is_new, changes, is_stopped;
        enum agent_phase phase;
        enum outage_state expected;
    } rows[] = {
        {"it is open", true, true, false, false, false, false, AGENT_PHASE_RUNNING, OUTAGE_NONE},
        {"open but for its volume", true, false, true, false, false, false, AGENT_PHASE_RUNNING, OUTAGE_NONE},
        {"it is not heard", false, false, false, false, false, false, AGENT_PHASE_RUNNING, OUTAGE_NOT_KNOWN},
        {"its server does not answer", true, false, false, false, false, false, AGENT_PHASE_HUNG, OUTAGE_NOT_KNOWN},
        {"it is closed", true, false, false, false, false, false, AGENT_PHASE_RUNNING, OUTAGE_GOES_ON},
        {"its server is down", true, false, false, false, false, false, AGENT_PHASE_DOWN, OUTAGE_GOES_ON},
        {"it waits in init", true, false, false, false, false, false, AGENT_PHASE_SEEDING, OUTAGE_GOES_ON},
        {"a new cluster", true, false, false, true, false, false, AGENT_PHASE_RUNNING, OUTAGE_NONE},
        {"a change goes on", true, false, false, false, true, false, AGENT_PHASE_RUNNING, OUTAGE_NONE},
        {"all are to be stopped", true, false, false, false, false, true, AGENT_PHASE_RUNNING, OUTAGE_NONE},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        void *made;
        set_up(&made);
        struct world *world = made;
        struct outage_watch watch = {.state = OUTAGE_NOT_KNOWN};
        world->snapshot.members[0].agent_connected = rows[i].speaks;
        world->agents[0].phase = rows[i].phase;
        world->agents[0].writable = rows[i].writable;
        world->agents[0].closed_for_room = rows[i].closed_for_room;
        world->snapshot.last.roles.initialized = !rows[i].is_new;
        world->snapshot.scale.effective = rows[i].is_stopped ? 0 : 2;
        if (rows[i].changes)
            world->snapshot.last.roles.transition = (struct cluster_transition){.from = "db-0", .failover = true};
        outage_look(&world->snapshot, &watch);
        if (watch.state != rows[i].expected)
            fail_msg("%s: %d", rows[i].name, (int)watch.state);
        tear_down(&made);
    }
}

static void pass(struct world *world, int64_t ms)
{
    world->snapshot.now_ms += ms;
    for (int i = 0; i < 2; i++)
        world->agents[i].clock_ms += ms;
}

/* The primary's agent was restarted with its server, a replica's was not, and is heard later. What the replica receives
 * once the primary is open again does not count. */
static void the_last_write_is_that_before_it_was_noticed(void **state)
{
    struct world *world = *state;
    struct outage_watch watch = {.state = OUTAGE_NOT_KNOWN};
    world->snapshot.members[1].agent = NULL;
    outage_look(&world->snapshot, &watch);
    assert_int_equal(watch.noticed_ms, NOW);
    assert_int_equal(watch.last_write.at_ms, 0);
    world->snapshot.members[1].agent = &world->agents[1];
    world->agents[1].event_received = (struct agent_moment){900000 - 60000, 10};
    outage_look(&world->snapshot, &watch);
    assert_int_equal(watch.last_write.at_ms, NOW - 60000);
    pass(world, 900);
    world->agents[0].writable = true;
    world->agents[0].role = AGENT_ROLE_PRIMARY;
    world->agents[0].opening = (struct agent_moment){world->agents[0].clock_ms - 40, 30};
    world->agents[0].opening_epoch = 3;
    world->agents[1].event_received = (struct agent_moment){world->agents[1].clock_ms - 5, 5};
    outage_look(&world->snapshot, &watch);
    assert_int_equal(watch.state, OUTAGE_GOES_ON); /* it is not told yet */
    world->snapshot.outage = watch;
    struct cluster_role_status *roles = &world->snapshot.last.roles;
    outage_end(&world->snapshot, &world->snapshot.members[0], roles);
    assert_string_equal(roles->last_outage.primary, "db-0");
    assert_int_equal(roles->last_outage.started_ms, NOW);
    assert_int_equal(roles->last_outage.finished_ms, NOW + 890);
    assert_int_equal(roles->last_outage.writes_blocked_ms, 60885);
    assert_int_equal(roles->last_outage.gap.until, WRITE_GAP_UNTIL_OPENING);
    assert_int_equal(roles->last_outage.gap.uncertainty_ms, 5 + WRITE_GAP_SLACK_MS);
    const struct cluster_outage told = roles->last_outage;
    outage_look(&world->snapshot, &watch);
    assert_int_equal(watch.state, OUTAGE_NONE);
    pass(world, 300);
    outage_end(&world->snapshot, &world->snapshot.members[0], roles); /* as by a cache that lags behind */
    assert_memory_equal(&told, &roles->last_outage, sizeof(told));
    world->agents[0].first_commit = (struct agent_moment){world->agents[0].clock_ms - 250, 20};
    world->agents[0].first_commit_epoch = 3;
    write_gap_complete(&world->snapshot, &world->snapshot.members[0], roles);
    assert_int_equal(roles->last_outage.writes_blocked_ms, 60955);
    assert_int_equal(roles->last_outage.gap.until, WRITE_GAP_UNTIL_FIRST_COMMIT);
    assert_int_equal(roles->last_outage.gap.route_ms, 70);
}

/* The primary's server and agent were restarted; a replica that had lost it before receives the rest then. The server
 * has been up for 10 s. */
static void what_a_replica_catches_up_on_is_no_write(void **state)
{
    static const struct {
        const char *name;
        int64_t received_ms; /* ages */
        int64_t took_ms, opening_ms;
        int64_t last_ms; /* 0: not known */
    } rows[] = {
        {"received after the start", 500, 0, 0, 0},
        {"received before it", 60000, 0, 0, 60000},
        {"the primary has taken writes since", 500, 3000, 0, 500},
        {"it has been open since", 500, 0, 3000, 500},
        {"it was open before the start", 500, 70000, 70500, 70000},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        void *made;
        set_up(&made);
        struct world *world = made;
        struct outage_watch watch = {.state = OUTAGE_NOT_KNOWN};
        world->agents[0].uptime_s = 10;
        world->agents[0].took_writes.at_ms = rows[i].took_ms ? 900000 - rows[i].took_ms : 0;
        world->agents[0].opening.at_ms = rows[i].opening_ms ? 900000 - rows[i].opening_ms : 0;
        world->agents[1].event_received.at_ms = 900000 - rows[i].received_ms;
        outage_look(&world->snapshot, &watch);
        assert_int_equal(watch.state, OUTAGE_GOES_ON);
        if (watch.last_write.at_ms != (rows[i].last_ms ? NOW - rows[i].last_ms : 0))
            fail_msg("%s: %lld ms before", rows[i].name, (long long)(NOW - watch.last_write.at_ms));
        tear_down(&made);
    }
}

static void where_nobody_tells_its_length_is_not_known(void **state)
{
    struct world *world = *state;
    struct outage_watch watch = {.state = OUTAGE_NOT_KNOWN};
    outage_look(&world->snapshot, &watch);
    world->snapshot.outage = watch;
    pass(world, 900);
    world->agents[0].writable = true;
    outage_end(&world->snapshot, &world->snapshot.members[0], &world->snapshot.last.roles);
    assert_string_equal(world->snapshot.last.roles.last_outage.primary, "db-0");
    assert_int_equal(world->snapshot.last.roles.last_outage.finished_ms, NOW + 900);
    assert_int_equal(world->snapshot.last.roles.last_outage.writes_blocked_ms, -1);
    assert_int_equal(world->snapshot.last.roles.last_outage.gap.until, WRITE_GAP_UNTIL_UNKNOWN);
}

/* Then it is told with that. And what begins while we lead is none. */
static void a_failover_ends_it(void **state)
{
    struct world *world = *state;
    struct outage_watch watch = {.state = OUTAGE_NOT_KNOWN};
    outage_look(&world->snapshot, &watch);
    assert_int_equal(watch.state, OUTAGE_GOES_ON);
    world->snapshot.last.roles.transition = (struct cluster_transition){.from = "db-0", .failover = true};
    outage_look(&world->snapshot, &watch);
    assert_int_equal(watch.state, OUTAGE_NONE);
    world->snapshot.last.roles.transition = (struct cluster_transition){.from = ""};
    outage_look(&world->snapshot, &watch);
    assert_int_equal(watch.state, OUTAGE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_first_look_shows_is_as_in_the_table),
        cmocka_unit_test_setup_teardown(the_last_write_is_that_before_it_was_noticed, set_up, tear_down),
        cmocka_unit_test(what_a_replica_catches_up_on_is_no_write),
        cmocka_unit_test_setup_teardown(where_nobody_tells_its_length_is_not_known, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failover_ends_it, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("outage", tests, NULL, NULL);
}
