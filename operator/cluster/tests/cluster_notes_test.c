/* SPDX-License-Identifier: Apache-2.0 */
/* Since when something waits: a planned change of primaries, for one wish under one epoch; a primary that is to come
 * back, for one outage; a member whose GTID position somebody has set back. */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_notes.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

static void what_a_wish_waits_for_is_counted_from_its_beginning(void **state)
{
    static const struct {
        int64_t epoch, now_ms;
        bool waits;
        int64_t since_ms; /* as the next round sees it */
    } rounds[] = {
        {1, 1000, false, 0},
        {1, 2000, true, 2000},
        {1, 3000, true, 2000},
        {1, 4000, false, 0},
        {1, 5000, true, 5000},
        {2, 6000, true, 6000},
        {2, 7000, true, 6000},
    };
    struct cluster_snapshot *snapshot = xnew(struct cluster_snapshot);
    struct cluster_intent *intent = xnew(struct cluster_intent);
    struct cluster_memory *memory = xnew(struct cluster_memory);

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
        snapshot->last.roles.epoch = rounds[i].epoch;
        snapshot->now_ms = rounds[i].now_ms;
        cluster_notes_show(memory, rounds[i].now_ms, snapshot);
        if (i > 0)
            assert_int_equal(
                snapshot->archive_since_ms, rounds[i].epoch == rounds[i - 1].epoch ? rounds[i - 1].since_ms : 0);
        intent->waits_to_archive = rounds[i].waits;
        cluster_notes_drain(memory, snapshot, intent);
        cluster_notes_show(memory, rounds[i].now_ms, snapshot);
        assert_int_equal(snapshot->archive_since_ms, rounds[i].since_ms);
    }
    free(memory);
    free(intent);
    free(snapshot);
}

static void who_is_woken_is_given_all_its_time_to_come_up(void **state)
{
    static const struct {
        int64_t now_ms;
        int effective;
        int64_t since_ms; /* as the next round sees it */
    } rounds[] = {
        {1000, 3, 1000},
        {2000, 3, 1000},
        {3000, 0, 0}, /* it is hibernated */
        {90000, 0, 0},
        {91000, 3, 91000},
        {92000, 3, 91000},
    };
    struct cluster_snapshot *snapshot = xnew(struct cluster_snapshot);
    struct cluster_orders *orders = xnew(struct cluster_orders);
    struct cluster_memory *memory = xnew(struct cluster_memory);

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
        snapshot->now_ms = rounds[i].now_ms;
        snapshot->scale.effective = rounds[i].effective;
        cluster_notes_orders(memory, snapshot, orders, rounds[i].now_ms);
        cluster_notes_show(memory, rounds[i].now_ms, snapshot);
        assert_int_equal(snapshot->lost_since_ms, rounds[i].since_ms);
    }
    free(memory);
    free(orders);
    free(snapshot);
}

/* One that is silent for a moment has it still; one that says otherwise has not. */
static void lost_gtids_are_counted_from_the_first_word_of_them(void **state)
{
    static const struct {
        int64_t now_ms;
        bool speaks, lost;
        int64_t lost_ms; /* as the round's end sees it */
    } rounds[] = {
        {1000, true, false, 0},
        {2000, true, true, 1},
        {5000, true, true, 3000},
        {6000, false, false, 4000},
        {7000, true, true, 5000},
        {8000, true, false, 0},
        {9000, true, true, 1},
    };
    struct cluster_snapshot *snapshot = xnew(struct cluster_snapshot);
    struct cluster_orders *orders = xnew(struct cluster_orders);
    struct cluster_memory *memory = xnew(struct cluster_memory);
    struct agent_status *agent = xnew(struct agent_status);

    UNUSED(state);
    snapshot->member_count = 1;
    snapshot->members[0].agent = agent;
    for (size_t i = 0; i < ARRAY_LEN(rounds); i++) {
        snapshot->members[0].agent_connected = rounds[i].speaks;
        agent->problem_count = rounds[i].lost;
        agent->problems[0].kind = AGENT_PROBLEM_GTIDS_LOST;
        cluster_notes_orders(memory, snapshot, orders, rounds[i].now_ms);
        cluster_notes_show(memory, rounds[i].now_ms, snapshot);
        assert_int_equal(snapshot->members[0].gtids_lost_ms, rounds[i].lost_ms);
    }
    free(agent);
    free(memory);
    free(orders);
    free(snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_wish_waits_for_is_counted_from_its_beginning),
        cmocka_unit_test(who_is_woken_is_given_all_its_time_to_come_up),
        cmocka_unit_test(lost_gtids_are_counted_from_the_first_word_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
