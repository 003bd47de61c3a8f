/* SPDX-License-Identifier: Apache-2.0 */
/* A primary that is lost, against doubles of its agents: what is open afterwards, and what it has. The doubles hold the
 * invariants. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/names.h"
#include "operator/tests/failover_story.h"

/* ---- kinds of loss ---- */

static void a_server_that_ends_is_followed_by_another(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, failover_crash_0, failover_another_is_primary,
        failover_record_is_written, failover_writes_go_on, failover_recover_0, FAILOVER_UNTIL_SETTLED, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, FAILOVER_THREE);
    operator_world_run(world, steps);
    failover_check_moved(world);
    assert_string_equal(role_story_status(world, "lastFailover.reason"), "ServerDown");
    operator_world_free(world);
}

static bool cut_pod_0(struct operator_world *world)
{
    agent_double_stop(world_agent(world, 0)); /* kubelet starts another at once */
    return true;
}

static void a_pod_that_is_killed_comes_back_as_a_replica(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, cut_pod_0, failover_another_is_primary,
        failover_writes_go_on, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, failover_check_moved);
}

/* Its last commit waited for acknowledgements that could no longer come. */
static void check_cut(struct operator_world *world)
{
    failover_check_moved(world);
    assert_true(failover_record_is(world, "reason", "MemberLost"));
    assert_int_equal(world_agent(world, 0)->errant, 0);
    assert_int_equal(world_agent(world, 0)->set_aside, 1);
}

static void a_member_that_is_cut_off_leaves_its_last_commit_behind(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, failover_cut_0, failover_another_is_primary,
        failover_writes_go_on, failover_link_all, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, check_cut);
}

/* I5: its replicas still receive. */
static bool silence_0(struct operator_world *world)
{
    world_agent(world, 0)->silent = true;
    return failover_begin_clock(world);
}

static bool doubt_is_told(struct operator_world *world)
{
    return failover_passed(world, 4000) && failover_says(world, "still receives from its server") &&
        failover_primary_is(world, 0);
}

static void check_stayed(struct operator_world *world)
{
    assert_true(failover_primary_is(world, 0));
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), 2);
    assert_string_equal(role_story_status(world, "lastFailover.to"), "");
}

static void a_silent_agent_alone_is_no_loss(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, silence_0, failover_writes_go_on, doubt_is_told,
        failover_writes_go_on, failover_link_all, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, check_stayed);
}

static bool hang_0(struct operator_world *world)
{
    world_agent(world, 0)->hangs = true;
    return failover_begin_clock(world);
}

static bool go_on_0(struct operator_world *world)
{
    world_agent(world, 0)->hangs = false;
    return true;
}

static void check_hung(struct operator_world *world)
{
    failover_check_moved(world);
    assert_true(failover_record_is(world, "reason", "ServerHung"));
}

static void a_server_that_hangs_is_followed_by_another(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, hang_0, failover_another_is_primary,
        failover_writes_go_on, go_on_0, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, check_hung);
}

/* The others are held, and no one is open yet. */
static bool slow_orders(struct operator_world *world)
{
    world_agent(world, 1)->order_ms = world_agent(world, 2)->order_ms = 150;
    return true;
}

static bool goes_on_in_mid_promotion(struct operator_world *world)
{
    if (!*role_story_status(world, "transition.to"))
        return false;
    if (failover_another_is_primary(world))
        failover_break_rule(world, "it was too late for mid-promotion");
    return go_on_0(world);
}

static void a_server_that_hung_goes_on_in_mid_promotion(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, slow_orders, hang_0, goes_on_in_mid_promotion,
        failover_another_is_primary, failover_writes_go_on, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, check_hung);
}

static bool stall_0(struct operator_world *world)
{
    world_agent(world, 0)->stalled_ms = 6000;
    return true;
}

static bool unstall_0(struct operator_world *world)
{
    world_agent(world, 0)->stalled_ms = 0;
    return true;
}

static void check_stalled(struct operator_world *world)
{
    failover_check_moved(world);
    assert_true(failover_record_is(world, "reason", "StorageStalled"));
}

static void a_volume_that_stalls_is_left(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, stall_0, failover_another_is_primary, unstall_0,
        failover_writes_go_on, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, check_stalled);
}

/* ---- the best ---- */

/* 2 receives nothing new, 1 executes nothing: the one that has received more wins. */
static bool tilt(struct operator_world *world)
{
    world_agent(world, 2)->is_slow = true;
    world_agent(world, 1)->applier_is_stuck = true;
    return world_agent(world, 1)->received > world_agent(world, 2)->executed + 5;
}

static bool held_1_is_chosen(struct operator_world *world)
{
    if (!str_eq(role_story_status(world, "transition.to"), "shop-mysql-1"))
        return false;
    if (agent_double_is_open(world_agent(world, 1)))
        failover_break_rule(world, "1 is open before it has executed what it received");
    world_agent(world, 1)->applier_is_stuck = false;
    world_agent(world, 2)->is_slow = false;
    return true;
}

static void the_one_that_received_most_wins(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, tilt, failover_crash_0, held_1_is_chosen,
        failover_another_is_primary, failover_writes_go_on, failover_recover_0, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, failover_check_moved);
}

/* ---- those that are missing ---- */

static bool cut_2(struct operator_world *world)
{
    world_agent(world, 2)->is_cut = true;
    return true;
}

static bool loss_of_2_is_known(struct operator_world *world)
{
    return str_eq(world_condition(world, "Replicated"), "False/ReplicaNotFollowing");
}

static bool cut_0_and_2(struct operator_world *world)
{
    world_agent(world, 2)->is_cut = true;
    return failover_cut_0(world);
}

static bool waits_for_2(struct operator_world *world)
{
    if (world_agent(world, 1)->opened)
        failover_break_rule(world, "1 alone cannot know");
    return failover_passed(world, 4000) && failover_says(world, "1 of 2 members that may hold the only copy");
}

static bool link_2(struct operator_world *world)
{
    world_agent(world, 2)->is_cut = false;
    return true;
}

/* Nothing is fenced for a failover that could not end. */
static void a_missing_replica_is_waited_for(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, cut_0_and_2, waits_for_2, link_2,
        failover_another_is_primary, failover_writes_go_on, failover_link_all, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, failover_check_moved);
}

/* It is lost only after the others were held: what it is told then it does not get done, however late we look. */
static bool cut_0_and_hinder_2(struct operator_world *world)
{
    world_agent(world, 2)->stuck_epoch = world_agent(world, 2)->epoch + 1;
    return failover_cut_0(world);
}

static bool cut_2_in_mid_failover(struct operator_world *world)
{
    return str_eq(role_story_status(world, "transition.kind"), "Failover") && cut_2(world);
}

static bool says_whom_it_waits_for(struct operator_world *world)
{
    return strstr(role_story_status(world, "transition.waitsFor"), "shop-mysql-2 (its agent does not answer)") &&
        failover_says(world, "waits for") && failover_says(world, "shop-mysql-2") &&
        str_eq(role_story_status(world, "state"), "Incomplete") &&
        !*world_str(world, PATH_SLICE, "endpoints[0].addresses[0]");
}

static bool free_2(struct operator_world *world)
{
    world_agent(world, 2)->stuck_epoch = 0;
    return link_2(world);
}

static void a_replica_lost_in_mid_failover_is_waited_for(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, cut_0_and_hinder_2, cut_2_in_mid_failover,
        says_whom_it_waits_for, free_2, failover_another_is_primary, failover_writes_go_on, failover_link_all,
        FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, failover_check_moved);
}

static bool link_0(struct operator_world *world)
{
    world_agent(world, 0)->is_cut = false;
    return true;
}

static bool writes_go_on_without_2(struct operator_world *world)
{
    return world_agent(world, 2)->is_cut && failover_writes_go_on(world);
}

/* The old one is as good an answer as both others. */
static void the_old_primary_is_an_answer_too(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, cut_0_and_hinder_2, cut_2_in_mid_failover,
        says_whom_it_waits_for, link_0, writes_go_on_without_2, free_2, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, NULL);
}

/* Its server is dead, its binary logs are not. */
static bool check_salvage_begins(struct operator_world *world)
{
    return *role_story_status(world, "lastFailover.to") != '\0';
}

static void check_salvaged(struct operator_world *world)
{
    assert_true(failover_primary_is(world, 1));
    assert_true(*role_story_status(world, "lastFailover.candidateWhy"));
    assert_string_equal(role_story_status(world, "lastFailover.mayBeLost"), "");
}

static void a_dead_servers_binary_logs_are_an_answer(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, cut_2, loss_of_2_is_known, failover_crash_0,
        check_salvage_begins, failover_recover_0, failover_link_all, failover_writes_go_on, FAILOVER_UNTIL_SETTLED,
        NULL};
    failover_play(FAILOVER_THREE, steps, check_salvaged);
}

/* ---- two failures ---- */

/* Whoever is chosen first dies before it is open. */
static bool kill_the_chosen_one(struct operator_world *world)
{
    const char *to = role_story_status(world, "transition.to");
    if (!*to)
        return false;
    int chosen = names_ordinal(to);
    world->numbers[3] = chosen;
    if (agent_double_is_open(world_agent(world, chosen)))
        failover_break_rule(world, "it was open already");
    agent_double_crash(world_agent(world, chosen));
    return true;
}

static bool recover_all(struct operator_world *world)
{
    for (int i = 0; i < 3; i++)
        agent_double_recover(world_agent(world, i));
    return true;
}

static bool the_third_is_primary(struct operator_world *world)
{
    return failover_primary_is(world, 3 - (int)world->numbers[3]);
}

static void the_chosen_one_dies_before_it_is_open(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, slow_orders, failover_crash_0, kill_the_chosen_one,
        the_third_is_primary, recover_all, failover_writes_go_on, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, NULL);
}

static bool kill_the_new_one(struct operator_world *world)
{
    for (int i = 1; i < 3; i++) {
        if (!agent_double_is_open(world_agent(world, i)))
            continue;
        world->numbers[3] = i;
        agent_double_crash(world_agent(world, i));
        return true;
    }
    return false;
}

static void the_new_one_dies_as_soon_as_it_is_open(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, failover_crash_0, kill_the_new_one, recover_all,
        failover_writes_go_on, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, NULL);
}

/* The first one is back by then, with a commit that nobody else has, and the largest number of all. */
static bool kill_the_new_one_when_it_commits(struct operator_world *world)
{
    return failover_writes_go_on(world) && kill_the_new_one(world);
}

static void two_failures_in_a_row(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, failover_cut_0, failover_another_is_primary,
        kill_the_new_one_when_it_commits, failover_link_all, recover_all, failover_writes_go_on, FAILOVER_UNTIL_SETTLED,
        NULL};
    failover_play(FAILOVER_THREE, steps, NULL);
}

/* ---- everybody ---- */

static bool crash_all(struct operator_world *world)
{
    for (int i = 0; i < 3; i++)
        agent_double_stop(world_agent(world, i));
    return true;
}

static bool primary_0_writes(struct operator_world *world)
{
    return failover_primary_is(world, 0) && failover_writes_go_on(world);
}

static void after_an_outage_of_all_the_same_one_is_primary(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        FAILOVER_UNTIL_SETTLED, crash_all, primary_0_writes, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, check_stayed);
}

static bool crash_all_and_cut_0(struct operator_world *world)
{
    failover_cut_0(world);
    return crash_all(world);
}

static bool patience_is_told(struct operator_world *world)
{
    return failover_says(world, "no replica has been connected to it yet: it is given time to start");
}

static bool patience_was_had(struct operator_world *world)
{
    if (!failover_another_is_primary(world))
        return false;
    if (!failover_passed(world, 7000))
        failover_break_rule(world, "it was given no time to start");
    return true;
}

static void after_an_outage_one_that_stays_away_is_given_time(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, crash_all_and_cut_0, patience_is_told,
        patience_was_had, failover_writes_go_on, failover_link_all, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE ", 'failover': {'startMilliseconds': 7000}", steps, failover_check_moved);
}

/* ---- without acknowledgements ---- */

#define ASYNC_ALLOW \
    FAILOVER_THREE  \
    ", 'replication': {'mode': 'async'}, 'failover': {'dataLoss': 'allow', 'selfFenceMilliseconds': 3000}"

/* I6: the old one, which commits alone, has closed itself by then; the doubles hold that. */
static bool old_one_has_closed(struct operator_world *world)
{
    if (!failover_another_is_primary(world))
        return false;
    if (!world_agent(world, 0)->isolated || !failover_passed(world, 3000))
        failover_break_rule(world, "the old one had no time to close itself");
    return true;
}

static void check_loss_is_told(struct operator_world *world)
{
    assert_true(failover_another_is_primary(world));
    assert_true(strstr(role_story_status(world, "lastFailover.mayBeLost"), "shop-mysql-0"));
    assert_true(world_agent(world, 0)->set_aside > 0);
    assert_int_equal(world_agent(world, 0)->errant, 0);
}

static void without_acknowledgements_the_old_one_closes_first(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, failover_cut_0, old_one_has_closed,
        failover_writes_go_on_anywhere, failover_link_all, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(ASYNC_ALLOW, steps, check_loss_is_told);
}

static bool only_0_can_tell(struct operator_world *world)
{
    return failover_passed(world, 5000) && failover_says(world, "only shop-mysql-0 can tell what it acknowledged") &&
        world_int(world, PATH_CLUSTER, "status.epoch") == 1;
}

static void without_acknowledgements_nothing_may_be_lost(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, failover_cut_0, only_0_can_tell, failover_link_all,
        primary_0_writes, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE ", 'replication': {'mode': 'async'}", steps, NULL);
}

static bool let_all_lag(struct operator_world *world)
{
    world_agent(world, 1)->is_slow = world_agent(world, 2)->is_slow = true;
    return world_agent(world, 0)->executed > world_agent(world, 1)->executed + 5;
}

static bool all_receive(struct operator_world *world)
{
    world_agent(world, 1)->is_slow = world_agent(world, 2)->is_slow = false;
    return true;
}

static void check_salvaged_all(struct operator_world *world)
{
    assert_true(failover_another_is_primary(world));
    assert_true(*role_story_status(world, "lastFailover.salvaged"));
    assert_string_equal(role_story_status(world, "lastFailover.mayBeLost"), "");
}

static void without_acknowledgements_a_dead_servers_logs_have_it_all(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, let_all_lag, failover_crash_0,
        failover_another_is_primary, all_receive, failover_recover_0, failover_writes_go_on, FAILOVER_UNTIL_SETTLED,
        NULL};
    failover_play(FAILOVER_THREE ", 'replication': {'mode': 'async'}", steps, check_salvaged_all);
}

/* ---- the operator, too ---- */

static bool operator_dies(struct operator_world *world)
{
    world_kill_operator(world);
    return true;
}

static bool api_server_is_away(struct operator_world *world)
{
    static const struct kube_api_fault away = {.kind = KUBE_API_FAULT_STATUS, .status = 503, .times = -1};
    kube_api_double_fault(world->api, &away);
    return true;
}

/* Nobody is told before the status failover_says it. */
static bool nothing_is_done(struct operator_world *world)
{
    if (world_agent(world, 1)->epoch > 2 || world_agent(world, 2)->epoch > 2)
        failover_break_rule(world, "I2: they were told before it was written");
    return failover_passed(world, 1500);
}

static bool api_server_is_back(struct operator_world *world)
{
    kube_api_double_clear_faults(world->api);
    return true;
}

static void the_api_server_is_away_while_the_primary_dies(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, api_server_is_away, failover_crash_0, nothing_is_done,
        api_server_is_back, failover_another_is_primary, failover_writes_go_on, failover_recover_0,
        FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, failover_check_moved);
}

static bool status_cannot_be_written(struct operator_world *world)
{
    static const struct kube_api_fault refused = {.method = "PATCH",
        .path_prefix = PATH_CLUSTER "/status",
        .kind = KUBE_API_FAULT_STATUS,
        .status = 503,
        .times = -1};
    kube_api_double_fault(world->api, &refused);
    return true;
}

static bool is_told_of(struct operator_world *world)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    return strstr(dump, "\"FailoverStarted\"") != NULL;
}

static bool nothing_is_told(struct operator_world *world)
{
    if (is_told_of(world))
        failover_break_rule(world, "an event tells of what has not begun");
    return failover_passed(world, 1500);
}

static void a_failover_is_told_of_once_it_is_written(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, status_cannot_be_written, failover_crash_0,
        nothing_is_told, api_server_is_back, failover_another_is_primary, is_told_of, failover_recover_0,
        FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, failover_check_moved);
}

static void the_operator_dies_with_the_primary(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, failover_crash_0, operator_dies,
        failover_another_is_primary, failover_writes_go_on, failover_recover_0, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE, steps, failover_check_moved);
}

/* ---- not done ---- */

static bool is_only_told(struct operator_world *world)
{
    return failover_passed(world, 1000) && failover_says(world, "not done, as spec.failover.enabled is false");
}

static void a_failover_that_is_not_wanted_is_only_told(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, failover_crash_0, is_only_told, failover_recover_0,
        failover_writes_go_on, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play(FAILOVER_THREE ", 'failover': {'enabled': false}", steps, check_stayed);
}

static bool alone_it_is_waited_for(struct operator_world *world)
{
    return failover_passed(world, 1500) && world_int(world, PATH_CLUSTER, "status.epoch") == 1;
}

static void check_alone(struct operator_world *world)
{
    assert_true(failover_primary_is(world, 0));
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), 1);
}

static void a_single_member_never_fails_over(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {FAILOVER_UNTIL_SETTLED, failover_crash_0, alone_it_is_waited_for,
        failover_recover_0, failover_writes_go_on, FAILOVER_UNTIL_SETTLED, NULL};
    failover_play("'replicas': 1", steps, check_alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_ends_is_followed_by_another),
        cmocka_unit_test(a_pod_that_is_killed_comes_back_as_a_replica),
        cmocka_unit_test(a_member_that_is_cut_off_leaves_its_last_commit_behind),
        cmocka_unit_test(a_silent_agent_alone_is_no_loss),
        cmocka_unit_test(a_server_that_hangs_is_followed_by_another),
        cmocka_unit_test(a_server_that_hung_goes_on_in_mid_promotion),
        cmocka_unit_test(a_volume_that_stalls_is_left),
        cmocka_unit_test(the_one_that_received_most_wins),
        cmocka_unit_test(a_missing_replica_is_waited_for),
        cmocka_unit_test(a_replica_lost_in_mid_failover_is_waited_for),
        cmocka_unit_test(the_old_primary_is_an_answer_too),
        cmocka_unit_test(a_dead_servers_binary_logs_are_an_answer),
        cmocka_unit_test(the_chosen_one_dies_before_it_is_open),
        cmocka_unit_test(the_new_one_dies_as_soon_as_it_is_open),
        cmocka_unit_test(two_failures_in_a_row),
        cmocka_unit_test(after_an_outage_of_all_the_same_one_is_primary),
        cmocka_unit_test(after_an_outage_one_that_stays_away_is_given_time),
        cmocka_unit_test(without_acknowledgements_the_old_one_closes_first),
        cmocka_unit_test(without_acknowledgements_nothing_may_be_lost),
        cmocka_unit_test(without_acknowledgements_a_dead_servers_logs_have_it_all),
        cmocka_unit_test(the_api_server_is_away_while_the_primary_dies),
        cmocka_unit_test(a_failover_is_told_of_once_it_is_written),
        cmocka_unit_test(the_operator_dies_with_the_primary),
        cmocka_unit_test(a_failover_that_is_not_wanted_is_only_told),
        cmocka_unit_test(a_single_member_never_fails_over),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
