/* SPDX-License-Identifier: Apache-2.0 */
/* How commits wait, as a primary's agent judges it: role_decide.h. */
#include "common/base.h"

#include "agent/mysql/semi_sync.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/role_decide.h"
#include "agent/role_notes.h"
#include "agent/role_status.h"

#define NOW 1000000

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

/* I3: whatever decides whether commits wait is as ordered, and they do. */
static void test_how_commits_wait(void **unused)
{
    static const struct {
        const char *what;
        struct replication_facts facts;
        uint32_t acks; /* ordered */
        bool right;
        unsigned lapses;
    } rows[] = {
        {"as ordered", {.semi_sync_source = true, .semi_sync_waits = true, .semi_sync_acks = 2}, 2, true, 0},
        {"MariaDB counts one", {.semi_sync_source = true, .semi_sync_waits = true}, 2, true, 0},
        {"one is the least", {.semi_sync_source = true, .semi_sync_waits = true, .semi_sync_acks = 1}, 0, true, 0},
        {"for fewer", {.semi_sync_source = true, .semi_sync_waits = true, .semi_sync_acks = 1}, 2, false, 1},
        {"for more", {.semi_sync_source = true, .semi_sync_waits = true, .semi_sync_acks = 3}, 2, false, 0},
        {"turned off", {.semi_sync_acks = 2}, 2, false, 1},
        {"given up", {.semi_sync_source = true, .semi_sync_acks = 2}, 2, false, 1},
        {"not for long", {.semi_sync_source = true, .semi_sync_waits = true, .semi_sync_altered = true}, 2, false, 1},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct instance_state state = primary();
        struct agent_status status = {0};
        state.role.order.semi_sync = true;
        state.role.order.acks = rows[i].acks;
        state.replication = rows[i].facts;
        state.replication.seen = true;
        role_note_lapse(&state, &state.replication);
        role_fill_status(&state, NOW, &status);
        bool waits = rows[i].facts.semi_sync_waits && !rows[i].facts.semi_sync_altered;
        if (role_done(&state) != rows[i].right || (action_of(&state) == ROLE_ACTION_NONE) != rows[i].right ||
            status.semi_sync != waits || status.semi_sync_lapses != rows[i].lapses ||
            status.semi_sync_acks != (waits ? rows[i].facts.semi_sync_acks : status.semi_sync_acks))
            fail_msg("%s: done %d, action %d, waits %d, lapses %llu", rows[i].what, role_done(&state),
                (int)action_of(&state), status.semi_sync, (unsigned long long)status.semi_sync_lapses);
    }
}

static void test_only_an_open_primary_has_lapses(void **unused)
{
    struct instance_state state = primary();

    UNUSED(unused);
    role_note_lapse(&state, &state.replication); /* asynchronous as ordered */
    assert_int_equal(state.lapses, 0);
    state.role.order.semi_sync = true;
    state.replication.read_only = true; /* closed: MySQL turns semi-sync off then */
    role_note_lapse(&state, &state.replication);
    assert_int_equal(state.lapses, 0);
    state.replication.read_only = false;
    role_note_lapse(&state, &state.replication);
    role_note_lapse(&state, &state.replication);
    assert_int_equal(state.lapses, 2);
    state.role.order.role = AGENT_ROLE_REPLICA;
    role_note_lapse(&state, &state.replication);
    assert_int_equal(state.lapses, 2);
}

static void test_unacknowledged_commits_are_counted(void **unused)
{
    struct instance_state state = {0};
    struct replication_facts facts = {.semi_sync_source = true, .unacknowledged = 2, .unacknowledged_known = true};

    UNUSED(unused);
    role_note_unacknowledged(&state, &facts, false);
    role_note_unacknowledged(&state, &facts, false);
    assert_int_equal(state.unacknowledged, 2);
    facts.unacknowledged = 5;
    role_note_unacknowledged(&state, &facts, true);
    assert_int_equal(state.unacknowledged, 2);
    facts.unacknowledged = 6;
    role_note_unacknowledged(&state, &facts, false);
    assert_int_equal(state.unacknowledged, 3);
    facts.unacknowledged = 1; /* counted anew */
    role_note_unacknowledged(&state, &facts, false);
    assert_int_equal(state.unacknowledged, 4);
    facts = (struct replication_facts){.unacknowledged_known = false}; /* asynchronous: nobody has asked */
    role_note_unacknowledged(&state, &facts, false);
    assert_int_equal(state.unacknowledged, 4);
    assert_int_equal(state.unacknowledged_seen, 1);
    assert_int_equal(state.lapses, 4);
}

/* A close ends what waits by its own hand, and counts it apart. A suspension ends nothing, and may take long. */
static void test_what_is_let_go_during_a_suspension_counts(void **unused)
{
    struct instance_state state = primary();
    struct replication_facts facts = {.semi_sync_source = true, .unacknowledged = 3, .unacknowledged_known = true};

    UNUSED(unused);
    state.role.running = ROLE_ACTION_CLOSE;
    role_note_look(&state, &facts, 1000);
    assert_int_equal(state.unacknowledged, 0);
    state.role.running = ROLE_ACTION_SUSPEND;
    role_note_look(&state, &facts, 1500);
    assert_int_equal(state.unacknowledged, 3);
    assert_true(state.lapses >= 3);
}

/* Nobody has looked at it between that and the suspension. */
static void test_semi_sync_that_was_off_before_a_suspension_counts(void **unused)
{
    struct instance_state state = primary();
    struct role_result result = {.has_facts = true, .facts = {.seen = true, .read_only = true}};

    UNUSED(unused);
    state.role.order.semi_sync = true;
    state.role.running = ROLE_ACTION_SUSPEND;
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 1);
    result.facts.semi_sync_source = result.facts.semi_sync_waits = true;
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 1);
}

/* A commit that was under way when the opening turned semi-sync on waits for nobody, and the server counts it. */
static void test_semi_sync_that_an_opening_turns_on(void **unused)
{
    struct instance_state state = primary();
    struct role_result result = {.has_facts = true,
        .facts = {.semi_sync_source = true, .semi_sync_waits = true, .unacknowledged = 1, .unacknowledged_known = true},
        .look.taken = true};

    UNUSED(unused);
    state.role.order.semi_sync = true;
    state.role.running = ROLE_ACTION_OPEN;
    role_note_result(&state, &result);
    uint64_t lapses = state.lapses;
    assert_int_equal(state.unacknowledged, 0);
    assert_true(lapses >= 1);
    state.role.running = ROLE_ACTION_NONE;
    result.facts.unacknowledged = 2; /* it ended a little later */
    role_note_look(&state, &result.facts, 1000);
    assert_int_equal(state.unacknowledged, 0);
    assert_true(state.lapses > lapses);
    result.facts.unacknowledged = 3;
    role_note_look(&state, &result.facts, 1500);
    assert_int_equal(state.unacknowledged, 1);
}

/* Of an earlier reign of this server: it has been judged since. One that somebody turned off ended the commits that
 * waited. */
static void test_whose_unacknowledged_commits_count(void **unused)
{
    struct instance_state state = {0};
    struct replication_facts facts = {.semi_sync_replica = true, .unacknowledged = 7, .unacknowledged_known = true};

    UNUSED(unused);
    role_note_unacknowledged(&state, &facts, false);
    assert_int_equal(state.lapses, 0);
    state = primary();
    state.role.order.semi_sync = true;
    state.unacknowledged_seen = 7;
    facts.unacknowledged = 9;
    role_note_unacknowledged(&state, &facts, false);
    assert_int_equal(state.lapses, 2);
    assert_int_equal(state.unacknowledged, 2);
}

/* A semi-sync primary that has been told to be nobody, and is closed. */
static struct instance_state closing(struct role_result *result)
{
    struct instance_state state = primary();

    state.role.order = (struct agent_order){.role = AGENT_ROLE_NONE};
    state.role.opened = false;
    state.role.waits_open = true;
    state.role.waits_acks = 2;
    state.role.running = ROLE_ACTION_CLOSE;
    state.unacknowledged_seen = 4;
    *result = (struct role_result){.has_facts = true, .facts = {.seen = true, .read_only = true}, .look.taken = true};
    result->look.facts = (struct replication_facts){.semi_sync_source = true,
        .semi_sync_waits = true,
        .semi_sync_acks = 2,
        .unacknowledged = 4,
        .unacknowledged_known = true};
    result->facts.unacknowledged = 9; /* five were let go by the close */
    result->facts.unacknowledged_known = result->facts.semi_sync_source = true;
    return state;
}

static void test_what_was_let_go_before_a_close(void **unused)
{
    struct role_result result;
    struct instance_state state = closing(&result);

    UNUSED(unused);
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 0);
    assert_int_equal(state.unacknowledged_seen, 9);
    state = closing(&result);
    result.look.facts.unacknowledged = 6; /* two were let go by hand, after the last look */
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 2);
    state = closing(&result);
    result.look.facts.semi_sync_altered = true;
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 1);
    state = closing(&result);
    result.look.facts.semi_sync_acks = 1;
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 1);
    state = closing(&result);
    result.look.facts = (struct replication_facts){.semi_sync_source = false}; /* its counts were not asked for */
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 1);
    role_note_result(&state, &result); /* it had not come to its end: semi-sync is off by the first one */
    assert_int_equal(state.lapses, 1);
    state = closing(&result);
    state.role.waits_open = false; /* asynchronous, or a replica */
    result.look.facts.semi_sync_source = result.look.facts.semi_sync_waits = false;
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 0);
}

/* A change of role leaves behind what it has seen last: commits that waited then, and still do. */
static void test_since_when_commits_wait(void **unused)
{
    struct instance_state state = primary();
    struct replication_facts facts = {
        .seen = true, .semi_sync_source = true, .semi_sync_waits = true, .waiting_commits = 3, .acknowledged = 7};

    UNUSED(unused);
    state.replication = facts;
    role_note_look(&state, &facts, 1000);
    assert_int_equal(state.commits_blocked_since_ms, 1000);
    role_note_look(&state, &facts, 1500);
    assert_int_equal(state.commits_blocked_since_ms, 1000);
    facts.acknowledged++; /* others wait now */
    role_note_look(&state, &facts, 2000);
    assert_int_equal(state.commits_blocked_since_ms, 2000);
    state.replication = facts;
    facts.waiting_commits = 0;
    role_note_look(&state, &facts, 2500);
    assert_int_equal(state.commits_blocked_since_ms, 0);
}

/* An order that makes it nobody has come, and it is not closed yet. */
static void test_lapses_count_until_it_is_closed(void **unused)
{
    struct role_result result;
    struct instance_state state = closing(&result);
    struct replication_facts facts = {.seen = true};

    UNUSED(unused);
    role_note_lapse(&state, &facts);
    assert_int_equal(state.lapses, 1);
    role_note_success(&state, &result, &(struct role_begun){.epoch = 3}, 1000);
    role_note_lapse(&state, &facts);
    assert_int_equal(state.lapses, 1);
}

/* The agent was started anew, and has looked at the server before it had an order. */
static void test_a_new_agent_finds_semi_sync_off(void **unused)
{
    struct agent_order order = {.epoch = 3, .role = AGENT_ROLE_PRIMARY, .semi_sync = true, .acks = 1};
    struct instance_state state = {.replication = {.seen = true}};

    UNUSED(unused);
    role_note_order(&state, &order, "0123456789abcdef");
    assert_int_equal(state.lapses, 1);
    order.epoch = 4; /* another order: it is what turns semi-sync on */
    role_note_order(&state, &order, "0123456789abcdef");
    assert_int_equal(state.lapses, 1);
    state = (struct instance_state){.replication = {.seen = true, .semi_sync_source = true, .semi_sync_waits = true}};
    role_note_order(&state, &order, "0123456789abcdef");
    assert_int_equal(state.lapses, 0);
    state = (struct instance_state){.replication = {.seen = true, .read_only = true}};
    role_note_order(&state, &order, "0123456789abcdef");
    assert_int_equal(state.lapses, 0);
}

/* An order was carried out on a server that clients could write to already: it set semi-sync right, and no look found
 * what that had been until then. */
static void test_an_opening_finds_semi_sync_off(void **unused)
{
    struct role_result result = {.done = true, .look = {.taken = true}};
    struct instance_state state = primary();

    UNUSED(unused);
    state.role.order.semi_sync = true;
    state.role.running = ROLE_ACTION_OPEN;
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 1);
    result.look.facts = (struct replication_facts){.semi_sync_source = true, .semi_sync_waits = true};
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 1);
    result.look = (struct semi_sync_look){.taken = false}; /* it was read-only until then */
    role_note_result(&state, &result);
    assert_int_equal(state.lapses, 1);
}

/* Whether a commit that begins now is acknowledged, by two looks. */
static void test_what_would_wait_in_vain(void **unused)
{
    static const struct {
        const char *what;
        uint32_t acks, clients, waiting;
        uint64_t acknowledged_before, acknowledged;
        bool off, surrendered;
        bool in_vain;
    } rows[] = {
        {"nobody waits", 1, 1, 0, 5, 5, false, false, false},
        {"no replica", 1, 0, 0, 5, 5, false, false, true},
        {"too few", 2, 1, 0, 5, 5, false, false, true},
        {"enough", 2, 3, 0, 5, 5, false, false, false},
        {"MariaDB counts one", 0, 0, 0, 5, 5, false, false, true},
        {"others wait, and get on", 1, 2, 7, 5, 6, false, false, false},
        {"others wait in vain", 1, 2, 1, 5, 5, false, false, true},
        {"semi-sync is off", 1, 0, 0, 5, 5, true, false, false},
        {"it has given up waiting", 1, 0, 0, 5, 5, false, true, false},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct replication_facts first = {.acknowledged = rows[i].acknowledged_before};
        const struct replication_facts last = {
            .semi_sync_source = !rows[i].off,
            .semi_sync_waits = !rows[i].off && !rows[i].surrendered,
            .semi_sync_acks = rows[i].acks,
            .semi_sync_clients = rows[i].clients,
            .waiting_commits = rows[i].waiting,
            .acknowledged = rows[i].acknowledged,
        };
        if (semi_sync_would_wait(&first, &last) != rows[i].in_vain)
            fail_msg("%s", rows[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_how_commits_wait),
        cmocka_unit_test(test_what_would_wait_in_vain),
        cmocka_unit_test(test_only_an_open_primary_has_lapses),
        cmocka_unit_test(test_unacknowledged_commits_are_counted),
        cmocka_unit_test(test_what_is_let_go_during_a_suspension_counts),
        cmocka_unit_test(test_semi_sync_that_was_off_before_a_suspension_counts),
        cmocka_unit_test(test_semi_sync_that_an_opening_turns_on),
        cmocka_unit_test(test_whose_unacknowledged_commits_count),
        cmocka_unit_test(test_what_was_let_go_before_a_close),
        cmocka_unit_test(test_since_when_commits_wait),
        cmocka_unit_test(test_lapses_count_until_it_is_closed),
        cmocka_unit_test(test_a_new_agent_finds_semi_sync_off),
        cmocka_unit_test(test_an_opening_finds_semi_sync_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
