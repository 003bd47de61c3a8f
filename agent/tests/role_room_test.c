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
    others_room_note(&state.others, "m1", &(struct others_word){.is_short = true}, NOW);
    others_room_note(&state.others, "m2", &(struct others_word){.is_short = false}, NOW);
    assert_false(role_note_room(&state, NOW));
    others_room_note(&state.others, "m2", &(struct others_word){.is_short = true}, NOW);
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

/* ---- open for root ---- */

#define ROOT_UNTIL 1800000000000ULL

/* The order in force is said once more, with a wish. */
static void wish_root(struct instance_state *state, uint64_t until_ms, uint32_t left_ms, int64_t now_ms)
{
    struct agent_order order = state->role.order;

    order.root_until_ms = until_ms;
    order.root_ms = left_ms;
    assert_true(role_note_epoch(state, &order, state->role.order_hash, now_ms));
}

static bool note(struct instance_state *state, int64_t now_ms)
{
    (void)role_note_room(state, now_ms);
    return role_note_root(state, now_ms);
}

/* Closed for want of room; with super_read_only. */
static struct instance_state closed_mysql(void)
{
    struct instance_state state = short_of_room();

    state.replication.has_super_read_only = state.replication.read_only = true;
    state.observed.version.flavour = AGENT_FLAVOUR_MYSQL;
    return state;
}

static void opened_for_root(struct instance_state *state)
{
    state->replication.read_only = false;
    state->replication.root_only = true;
}

static struct agent_status status_of(const struct instance_state *state, int64_t now_ms)
{
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};

    role_fill_status(state, now_ms, &status);
    return status;
}

static void test_open_for_root_until_its_time(void **unused)
{
    struct instance_state state = closed_mysql();
    char reason[128];

    UNUSED(unused);
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    wish_root(&state, ROOT_UNTIL, 60000, NOW);
    assert_true(note(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_SUSPEND);
    assert_true(role_decide(&state, AGENT_PHASE_RUNNING, NOW).root);
    assert_false(status_of(&state, NOW).open_for_root); /* not yet */
    opened_for_root(&state);
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    struct agent_status status = status_of(&state, NOW);
    assert_true(status.closed_for_room && status.open_for_root && !status.writable);
    assert_true(status.root_until_ms == ROOT_UNTIL);
    assert_false(role_beats(&state));
    assert_true(role_ready(&state, NOW, reason, sizeof(reason)));

    /* The same wish said again lasts no longer, another one does, and none for more than ten minutes. */
    wish_root(&state, ROOT_UNTIL, 60000, NOW + 30000);
    assert_false(note(&state, NOW + 59999));
    assert_true(note(&state, NOW + 60000));
    assert_int_equal(role_decide(&state, AGENT_PHASE_RUNNING, NOW + 60000).action, ROLE_ACTION_SUSPEND);
    assert_false(role_decide(&state, AGENT_PHASE_RUNNING, NOW + 60000).root);
    status = status_of(&state, NOW + 60000); /* applications cannot write meanwhile either */
    assert_true(status.closed_for_room && !status.open_for_root && !status.writable);
    wish_root(&state, ROOT_UNTIL + 1000, UINT32_MAX, NOW + 60000);
    assert_true(note(&state, NOW + 60000 + AGENT_ROOT_MAX_MS - 1));
    assert_true(note(&state, NOW + 60000 + AGENT_ROOT_MAX_MS));
    wish_root(&state, ROOT_UNTIL + 2000, 60000, NOW);
    assert_true(note(&state, NOW));
    wish_root(&state, 0, 0, NOW + 1); /* taken back */
    assert_true(note(&state, NOW + 1));
    assert_int_equal(action_of(&state), ROLE_ACTION_SUSPEND);
}

static void test_root_has_a_last_floor(void **unused)
{
    struct instance_state state = closed_mysql();

    UNUSED(unused);
    wish_root(&state, ROOT_UNTIL, 60000, NOW);
    assert_true(note(&state, NOW));
    opened_for_root(&state);
    (void)volume_room_look(&state.room, 31 * KM_MIB, 1000 * KM_MIB, 0, NOW);
    assert_true(note(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_SUSPEND);
    assert_false(role_decide(&state, AGENT_PHASE_RUNNING, NOW).root);
    (void)volume_room_look(&state.room, 39 * KM_MIB, 1000 * KM_MIB, 0, NOW + 1);
    assert_false(note(&state, NOW + 1));
    (void)volume_room_look(&state.room, 40 * KM_MIB, 1000 * KM_MIB, 0, NOW + 2);
    assert_true(note(&state, NOW + 2));

    /* Replicas apply what root writes. */
    others_room_note(&state.others, "m1", &(struct others_word){.is_short = true, .is_last = true}, NOW + 2);
    assert_true(note(&state, NOW + 2));
    /* Commits wait for one of them. */
    others_room_note(&state.others, "m2", &(struct others_word){.is_short = true}, NOW + 2);
    assert_true(note(&state, NOW + 2));
    assert_true(state.role.open_for_root);
}

/* I1, I6. */
static void test_what_ends_the_opening_for_root(void **unused)
{
    struct instance_state state = closed_mysql();
    struct agent_order order = {.epoch = 2, .role = AGENT_ROLE_PRIMARY, .semi_sync = true, .acks = 1};

    UNUSED(unused);
    wish_root(&state, ROOT_UNTIL, 60000, NOW);
    assert_true(note(&state, NOW));
    opened_for_root(&state);
    state.role.isolated = true;
    assert_true(note(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    state.role.isolated = false;
    assert_true(note(&state, NOW));

    /* A later order with the wish: closed first, and open for root once all else of it is done. */
    order.root_until_ms = ROOT_UNTIL;
    order.root_ms = 60000;
    assert_false(role_note_epoch(&state, &order, "0123456789abcdef", NOW));
    role_note_order(&state, &order, "0123456789abcdef");
    (void)note(&state, NOW);
    assert_int_equal(action_of(&state), ROLE_ACTION_SUSPEND);
    assert_false(role_decide(&state, AGENT_PHASE_RUNNING, NOW).root);
    state.replication.read_only = true;
    state.replication.root_only = false;
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    assert_true(role_decide(&state, AGENT_PHASE_RUNNING, NOW).stays_closed);
    state.role.opened = true;
    assert_true(role_decide(&state, AGENT_PHASE_RUNNING, NOW).root);
    opened_for_root(&state);

    order = (struct agent_order){.epoch = 3, .role = AGENT_ROLE_NONE, .root_until_ms = ROOT_UNTIL, .root_ms = 60000};
    assert_false(role_note_epoch(&state, &order, "0123456789abcdee", NOW));
    role_note_order(&state, &order, "0123456789abcdee");
    assert_true(note(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
    assert_true(status_of(&state, NOW).root_until_ms == 0);
}

/* Room again: applications write as before. */
static void test_room_ends_the_opening_for_root(void **unused)
{
    struct instance_state state = closed_mysql();

    UNUSED(unused);
    wish_root(&state, ROOT_UNTIL, 60000, NOW);
    (void)note(&state, NOW);
    opened_for_root(&state);
    state.room.is_short = false;
    assert_true(note(&state, NOW));
    assert_false(state.role.open_for_root);
    assert_int_equal(action_of(&state), ROLE_ACTION_OPEN);
    assert_false(role_decide(&state, AGENT_PHASE_RUNNING, NOW).stays_closed);
    assert_true(role_serves_reads(&state));
}

/* Whoever opened it for root does not run any more, and nobody has told this agent of it. */
static void test_a_new_agent_closes_it_for_root(void **unused)
{
    struct instance_state state = {.replication = {.seen = true, .has_super_read_only = true, .root_only = true}};

    UNUSED(unused);
    assert_int_equal(action_of(&state), ROLE_ACTION_SUSPEND);
    state.role.running = ROLE_ACTION_SUSPEND;
    assert_false(role_ends_suspension(&state));
    state.role.running = ROLE_ACTION_NONE;
    state.seen_gone = true;
    assert_int_equal(action_of(&state), ROLE_ACTION_CLOSE);
}

/* Nothing of MariaDB's keeps root in the pod from writing: below the last floor whoever writes is ended. */
static void test_writers_are_ended_at_the_last_floor(void **unused)
{
    struct instance_state state = short_of_room();

    UNUSED(unused);
    state.replication.read_only = true;
    wish_root(&state, ROOT_UNTIL, 60000, NOW);
    assert_true(note(&state, NOW));
    assert_int_equal(action_of(&state), ROLE_ACTION_NONE);
    assert_true(status_of(&state, NOW).open_for_root);
    state.replication.semi_sync_source = false; /* somebody turned it off, and root's commits do not wait */
    role_note_lapse(&state, &state.replication);
    assert_int_equal(state.lapses, 1);
    state.replication.semi_sync_source = true;

    (void)volume_room_look(&state.room, 31 * KM_MIB, 1000 * KM_MIB, 0, NOW);
    assert_true(note(&state, NOW));
    assert_false(status_of(&state, NOW).open_for_root);
    state.action_running = true;
    struct role_decision decision = role_decide(&state, AGENT_PHASE_RUNNING, NOW);
    assert_int_equal(decision.action, ROLE_ACTION_END_WRITERS);
    role_note_begin(&state.role, &decision, NOW);
    state.role.running = ROLE_ACTION_NONE;
    assert_int_equal(role_decide(&state, AGENT_PHASE_RUNNING, NOW + WRITERS_END_MS - 1).action, ROLE_ACTION_NONE);
    assert_int_equal(role_decide(&state, AGENT_PHASE_RUNNING, NOW + WRITERS_END_MS).action, ROLE_ACTION_END_WRITERS);
    state.replication.has_super_read_only = true; /* with that nobody writes */
    assert_int_equal(role_decide(&state, AGENT_PHASE_RUNNING, NOW + WRITERS_END_MS).action, ROLE_ACTION_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closed_for_room),
        cmocka_unit_test(test_closed_for_room_under_another_order),
        cmocka_unit_test(test_closed_for_want_of_room_on_others),
        cmocka_unit_test(test_a_replica_is_held_for_room),
        cmocka_unit_test(test_a_suspension_gives_way),
        cmocka_unit_test(test_open_for_root_until_its_time),
        cmocka_unit_test(test_root_has_a_last_floor),
        cmocka_unit_test(test_what_ends_the_opening_for_root),
        cmocka_unit_test(test_room_ends_the_opening_for_root),
        cmocka_unit_test(test_a_new_agent_closes_it_for_root),
        cmocka_unit_test(test_writers_are_ended_at_the_last_floor),
    };

    return cmocka_run_group_tests_name("role_room", tests, NULL, NULL);
}
