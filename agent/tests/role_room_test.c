/* SPDX-License-Identifier: Apache-2.0 */
/* Members whose volumes have too little room: what is decided about a primary, and about a replica. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/role_notes.h"
#include "agent/role_status.h"
#include "agent/tests/role_samples.h"

/* A primary that is open under its order, on a volume that has become short of room. */
static struct instance_state short_of_room(void)
{
    struct instance_state state = {
        .replication = {.seen = true, .semi_sync_source = true, .semi_sync_waits = true, .semi_sync_acks = 1},
        .role = {.has_order = true,
            .opened = true,
            .was_open = true,
            .order = {.epoch = 1, .role = AGENT_ROLE_PRIMARY, .semi_sync = true, .acks = 1, .heartbeat = true}},
        .room = {.bytes = 1000 * KM_MIB, .free_bytes = 60 * KM_MIB, .floor = VOLUME_FLOOR_MIN, .is_short = true},
    };

    (void)role_note_room(&state, NOW);
    return state;
}

static void test_closed_for_room(void **unused)
{
    struct instance_state state = short_of_room();
    char reason[128];

    UNUSED(unused);
    assert_true(state.role.closed_for_room);
    assert_int_equal(action_of(&state), ROLE_ACTION_SUSPEND);
    assert_false(role_beats(&state));
    assert_false(role_serves_reads(&state)); /* replicas go on acknowledging until it is closed */
    assert_true(role_ready(&state, NOW, reason, sizeof(reason)));
    state.action_running = true; /* accounts: it does not wait for them */
    assert_int_equal(action_of(&state), ROLE_ACTION_SUSPEND);
    state.action_running = false;

    state.replication.read_only = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_false(role_done(&state));
    assert_true(role_serves_reads(&state));
    assert_true(role_ready(&state, NOW, reason, sizeof(reason)));

    state.room.is_short = false;
    assert_true(role_note_room(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    assert_false(role_decide(&state, AGENT_PHASE_RUNNING, NOW).stays_closed);
    assert_true(role_serves_reads(&state)); /* clients stay while it is opened */
    assert_true(role_ready(&state, NOW, reason, sizeof(reason)));
    state.role.isolated = true;
    assert_false(role_ready(&state, NOW, reason, sizeof(reason)));
    state.role.isolated = false;

    state.role.opened = true;
    state.replication.read_only = false;
    assert_false(role_note_room(&state, NOW));
    assert_false(role_serves_reads(&state));
    assert_true(role_done(&state));
    state.replication.read_only = true; /* by somebody else: that is not the room's doing */
    assert_false(role_note_room(&state, NOW));
    assert_false(role_ready(&state, NOW, reason, sizeof(reason)));
}

/* I6: a later order finds it closed, does all else of it, and what opens it is that order. */
static void test_closed_for_room_under_another_order(void **unused)
{
    struct instance_state state = short_of_room();
    struct agent_order order = {.epoch = 2, .role = AGENT_ROLE_PRIMARY, .semi_sync = true, .acks = 2};
    char reason[128];

    UNUSED(unused);
    state.replication.read_only = true;
    role_note_order(&state, &order, "0123456789abcdef");
    assert_false(role_serves_reads(&state));
    assert_false(role_ready(&state, NOW, reason, sizeof(reason)));
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    assert_true(role_decide(&state, AGENT_PHASE_RUNNING, NOW).stays_closed);

    order = (struct agent_order){.epoch = 3, .role = AGENT_ROLE_NONE};
    role_note_order(&state, &order, "0123456789abcdee");
    (void)role_note_room(&state, NOW);
    assert_false(state.role.closed_for_room);
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE); /* clients are connected still */

    order = (struct agent_order){.epoch = 4, .role = AGENT_ROLE_REPLICA, .source_host = HOST, .source_port = 3306};
    role_note_order(&state, &order, "0123456789abcded");
    (void)role_note_room(&state, NOW);
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
}

/* I3: what it commits waits for them. */
static void test_closed_for_want_of_room_on_others(void **unused)
{
    struct instance_state state = short_of_room();

    UNUSED(unused);
    state.room.is_short = false;
    (void)role_note_room(&state, NOW);
    assert_false(state.role.closed_for_room);
    others_room_note(&state.others, "m1", true, NOW);
    others_room_note(&state.others, "m2", false, NOW);
    assert_false(role_note_room(&state, NOW));
    others_room_note(&state.others, "m2", true, NOW);
    assert_true(role_note_room(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_SUSPEND);
    state.role.order.semi_sync = false; /* nobody waits for them */
    assert_true(role_note_room(&state, NOW));
    assert_false(state.role.closed_for_room);
}

/* Not before what was committed is acknowledged. */
static void test_a_replica_is_held_for_room(void **unused)
{
    struct instance_state state = replica();

    UNUSED(unused);
    state.room = (struct volume_room){
        .bytes = 1000 * KM_MIB, .free_bytes = 31 * KM_MIB, .floor = VOLUME_FLOOR_MIN, .is_short = true};
    state.source.known = true;
    assert_false(role_note_room(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.source.others_have_room = true; /* this one among them, perhaps */
    state.room.short_since_ms = NOW - SPARE_AFTER_MS + 1;
    assert_false(role_note_room(&state, NOW));
    assert_true(role_held_for_room(&state, NOW + 1));
    state.source.error.kind = ERROR_TIMEOUT;
    assert_false(role_held_for_room(&state, NOW + 1));
    state.source.error.kind = ERROR_NONE;
    state.source.takes_no_writes = true; /* nothing more comes than was committed */
    assert_false(role_held_for_room(&state, NOW + 1));
    state.source.takes_no_writes = false;
    assert_true(role_note_room(&state, NOW + 1));
    assert_int_equal(action_of(&state), ROLE_ACTION_HOLD);
    state.replication.receiver = AGENT_THREAD_OFF;
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    state.stream = (struct stream_view){.seen = true, .observed_ms = NOW, .heard_ms = 1};
    assert_false(role_source_lost(&state)); /* it turned away by itself */
    state.room.free_bytes = 70 * KM_MIB;    /* more than the floor, and not enough more */
    assert_false(role_note_room(&state, NOW));
    state.source.others_have_room = false; /* commits wait for it */
    assert_false(role_held_for_room(&state, NOW));
    state.room.is_short = false;
    assert_true(role_note_room(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_FOLLOW);
    assert_true(role_source_lost(&state));
}

static void test_a_suspension_gives_way(void **unused)
{
    struct instance_state state = short_of_room();

    UNUSED(unused);
    state.role.running = ROLE_ACTION_SUSPEND;
    assert_false(role_ends_suspension(&state));
    state.role.isolated = true;
    assert_true(role_ends_suspension(&state));
    state.role.isolated = false;
    state.role.stopping = true;
    assert_true(role_ends_suspension(&state));
    state.role.stopping = false;
    state.room.is_short = false;
    (void)role_note_room(&state, NOW);
    assert_true(role_ends_suspension(&state));
    state.role.running = ROLE_ACTION_NONE;
    state.role.isolated = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_for_room),
        cmocka_unit_test(test_closed_for_room_under_another_order),
        cmocka_unit_test(test_closed_for_want_of_room_on_others),
        cmocka_unit_test(test_a_replica_is_held_for_room),
        cmocka_unit_test(test_a_suspension_gives_way),
    };

    return cmocka_run_group_tests_name("role_room", tests, NULL, NULL);
}
