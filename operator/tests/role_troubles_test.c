/* SPDX-License-Identifier: Apache-2.0 */
/* Bad days of a replicated cluster: members that do not answer, hold too much or too little. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/names.h"
#include "operator/tests/operator_world.h"

#define THREE "'replicas': 3"

/* ---- looking and doing ---- */

static const char *status_str(struct operator_world *world, const char *member)
{
    _cleanup_(freep) char *path = xasprintf("status.%s", member);
    return world_str(world, PATH_CLUSTER, path);
}

static bool status_names(struct operator_world *world, int ordinal)
{
    return str_eq(status_str(world, "currentPrimary"), world_agent(world, ordinal)->name);
}

static bool primary_is(struct operator_world *world, int ordinal)
{
    return status_names(world, ordinal) && agent_double_is_open(world_agent(world, ordinal));
}

static bool settled(struct operator_world *world)
{
    return world_is_settled(world);
}

static bool quiet(struct operator_world *world)
{
    return world_is_quiet(world, 150);
}

#define UNTIL_SETTLED settled, quiet

static bool want_primary_1(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'metadata': {'annotations': {'" ANNOTATION_SWITCHOVER_TO "': '1'}}}");
    return true;
}

static bool want_primary_2(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'metadata': {'annotations': {'" ANNOTATION_SWITCHOVER_TO "': '2'}}}");
    return true;
}

static bool want_nothing(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'metadata': {'annotations': {'" ANNOTATION_SWITCHOVER_TO "': null}}}");
    return true;
}

static bool primary_is_2(struct operator_world *world)
{
    return primary_is(world, 2);
}

static void delete_pod(struct operator_world *world, int ordinal)
{
    _cleanup_(freep) char *path = xasprintf(PATH_CORE "pods/shop-mysql-%d", ordinal);
    kube_api_double_remove(world->api, path);
}

static void edit_spec(struct operator_world *world, const char *spec)
{
    _cleanup_(freep) char *text = xasprintf("{'metadata': {'generation': %lld}, 'spec': %s}",
        (long long)world_int(world, PATH_CLUSTER, "metadata.generation") + 1, spec);
    world_edit_json(world, PATH_CLUSTER, text);
}

static void play(const char *more, const world_step_fn *steps, void (*check)(struct operator_world *world))
{
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, more);
    operator_world_run(world, steps);
    if (check)
        check(world);
    operator_world_free(world);
}

/* ---- a switchover whose target is lost ---- */

static bool hold_the_fence(struct operator_world *world)
{
    world_agent(world, 0)->order_is_stuck = true;
    return true;
}

static bool lose_1_when_it_is_named(struct operator_world *world)
{
    if (!status_names(world, 1))
        return false;
    world_agent(world, 1)->silent = true;
    return true;
}

/* It cannot have been opened, as 0 has not stopped writes. */
static bool gone_back(struct operator_world *world)
{
    return status_names(world, 0) && world_int(world, PATH_CLUSTER, "status.epoch") == 4 &&
        !*status_str(world, "transition.to");
}

static bool all_is_well_again(struct operator_world *world)
{
    world_agent(world, 0)->order_is_stuck = false;
    world_agent(world, 1)->silent = false;
    return true;
}

static void check_back(struct operator_world *world)
{
    assert_true(primary_is(world, 0));
    assert_string_equal(status_str(world, "switchoverDone"), "");
}

static void a_target_lost_before_the_fence_is_given_up(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, hold_the_fence, want_primary_1, lose_1_when_it_is_named,
        gone_back, want_nothing, all_is_well_again, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_back);
}

static bool hold_the_opening(struct operator_world *world)
{
    world_agent(world, 1)->order_is_stuck = true;
    return true;
}

static bool lose_1_when_0_is_fenced(struct operator_world *world)
{
    const struct agent_double *old = world_agent(world, 0);
    if (agent_double_is_open(old) || old->epoch != 3 || !world_agent(world, 1)->has_order ||
        world_agent(world, 1)->order.role != AGENT_ROLE_PRIMARY)
        return false;
    world_agent(world, 1)->silent = true;
    world->numbers[0] = clock_monotonic_ms();
    return true;
}

/* It may have been opened behind our back: but nobody follows it, so nothing that it took was acknowledged. */
static bool another_is_open(struct operator_world *world)
{
    return !status_names(world, 1) && (primary_is(world, 0) || primary_is(world, 2)) &&
        str_eq(status_str(world, "lastFailover.from"), "shop-mysql-1");
}

static bool find_1_again(struct operator_world *world)
{
    world_agent(world, 1)->silent = false;
    world_agent(world, 1)->order_is_stuck = false;
    return true;
}

static void check_failed_over(struct operator_world *world)
{
    assert_false(primary_is(world, 1));
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), 4);
    assert_string_equal(status_str(world, "lastFailover.reason"), "MemberLost");
    assert_string_equal(status_str(world, "lastFailover.mayBeLost"), "");
    assert_string_equal(status_str(world, "lastSwitchover.to"), "");
}

static void a_target_lost_after_the_fence_is_failed_over_from(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, hold_the_opening, want_primary_1, lose_1_when_0_is_fenced,
        another_is_open, want_nothing, find_1_again, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_failed_over);
}

static bool let_1_take_its_time(struct operator_world *world)
{
    world_agent(world, 1)->order_ms = 100;
    return true;
}

static bool restart_0_when_1_is_open_unheard(struct operator_world *world)
{
    if (!agent_double_is_open(world_agent(world, 1)))
        return false;
    delete_pod(world, 0);
    return true;
}

/* The commit that it could not get through is nobody else's. */
static void check_unheard(struct operator_world *world)
{
    assert_false(primary_is(world, 1));
    assert_int_equal(world_agent(world, 1)->set_aside, 1);
    assert_int_equal(world_agent(world, 1)->errant, 0);
}

/* The old primary, restarted, is no longer fenced, and that proves nothing: I1 and I3 are held by the doubles. */
static void a_target_that_opened_unheard_is_failed_over_from(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, let_1_take_its_time, want_primary_1, lose_1_when_0_is_fenced,
        restart_0_when_1_is_open_unheard, another_is_open, want_nothing, find_1_again, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_unheard);
}

/* The pod comes back with an empty volume. */
static bool lose_volume_of_1_when_0_is_fenced(struct operator_world *world)
{
    const struct agent_double *old = world_agent(world, 0);
    if (agent_double_is_open(old) || old->epoch != 3 || !old->status.order_done)
        return false;
    agent_double_wipe(world_agent(world, 1));
    return true;
}

static void an_emptied_target_is_given_up_after_the_fence(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, hold_the_opening, want_primary_1,
        lose_volume_of_1_when_0_is_fenced, gone_back, want_nothing, all_is_well_again, find_1_again, UNTIL_SETTLED,
        NULL};
    play(THREE, steps, check_back);
    play(THREE ", 'failover': {'enabled': false}", steps, check_back);
}

static bool pause_when_0_is_fenced(struct operator_world *world)
{
    const struct agent_double *old = world_agent(world, 0);
    if (agent_double_is_open(old) || old->epoch != 3 || !old->status.order_done)
        return false;
    edit_spec(world, "{'paused': true}");
    return true;
}

static bool go_on(struct operator_world *world)
{
    edit_spec(world, "{'paused': false}");
    return true;
}

/* What was begun is taken back also while nothing new is. */
static void an_emptied_target_is_given_up_while_paused(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, hold_the_opening, want_primary_1, pause_when_0_is_fenced,
        lose_volume_of_1_when_0_is_fenced, gone_back, want_nothing, go_on, all_is_well_again, find_1_again,
        UNTIL_SETTLED, NULL};
    play(THREE, steps, check_back);
}

/* ---- labels ---- */

/* The kubelet writes to the pod at the same time. */
static bool spoil_labels(struct operator_world *world)
{
    static const struct kube_api_fault conflict = {
        .method = "PATCH", .path_prefix = PATH_CORE "pods/", .times = 3, .status = 409};
    kube_api_double_fault(world->api, &conflict);
    return true;
}

static bool labels_are_right(struct operator_world *world)
{
    return str_eq(world_pod_str(world, 2, "metadata.labels[\"" LABEL_ROLE "\"]"), "primary") &&
        str_eq(world_pod_str(world, 0, "metadata.labels[\"" LABEL_ROLE "\"]"), "replica");
}

static void check_nothing_is_told(struct operator_world *world)
{
    _cleanup_(freep) char *all = kube_api_double_dump(world->api);
    assert_null(strstr(all, "Retrying"));
}

static void a_conflict_on_a_label_is_no_news(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, spoil_labels, want_primary_2, primary_is_2, labels_are_right, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_nothing_is_told);
}

/* ---- the word of a pod that is no more ---- */

static bool plant_words(struct operator_world *world)
{
    world_agent(world, 2)->errant = 1;
    return *status_str(world, "instances[2].message");
}

/* Nothing makes another one; the process lives on for a while, as on a node that is cut off. */
static bool lose_pod_2(struct operator_world *world)
{
    world->kubernetes.is_held = true;
    world_edit_json(world, PATH_CORE "pods/shop-mysql-2", "{'metadata': {'finalizers': null}}");
    delete_pod(world, 2);
    return true;
}

static bool pod_2_is_missed(struct operator_world *world)
{
    return str_eq(status_str(world, "instances[2].phase"), "Pending");
}

static bool nothing_is_said_of_2(struct operator_world *world)
{
    if (!world_is_quiet(world, 300))
        return false;
    world->numbers[3] = (int64_t)strlen(status_str(world, "instances[2].message"));
    world_agent(world, 2)->errant = 0;
    world->kubernetes.is_held = false;
    return true;
}

static void check_no_words(struct operator_world *world)
{
    assert_int_equal(world->numbers[3], 0);
}

static void a_pod_that_is_gone_says_nothing(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, plant_words, lose_pod_2, pod_2_is_missed, nothing_is_said_of_2, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_no_words);
}

/* ---- epochs ---- */

static bool plant_epoch_on_2(struct operator_world *world)
{
    world_agent(world, 2)->epoch = 50;
    delete_pod(world, 2);
    return true;
}

static bool epoch_is_raised(struct operator_world *world)
{
    return world_int(world, PATH_CLUSTER, "status.epoch") > 50;
}

static void check_still_first(struct operator_world *world)
{
    assert_true(primary_is(world, 0));
    for (int i = 0; i < 3; i++)
        assert_int_equal(world_agent(world, i)->epoch, world_int(world, PATH_CLUSTER, "status.epoch"));
}

static void a_larger_epoch_on_a_volume_raises_the_clusters(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, plant_epoch_on_2, epoch_is_raised, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_still_first);
}

/* ---- seeding ---- */

/* As if an old copy of its volume had been put back. */
static bool purge_what_2_needs(struct operator_world *world)
{
    struct agent_double *behind = world_agent(world, 2);
    world->numbers[0] = (int64_t)agent_doubles_history(world->agents);
    world->numbers[1] = behind->lives;
    world_agent(world, 0)->purged = world_agent(world, 0)->executed;
    behind->executed = behind->received = 1;
    return true;
}

static bool copied_2(struct operator_world *world)
{
    return world_agent(world, 2)->purged >= (uint64_t)world->numbers[0] &&
        world_agent(world, 2)->lives > world->numbers[1];
}

static void a_member_behind_the_binary_logs_is_seeded_again(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, purge_what_2_needs, copied_2, UNTIL_SETTLED, NULL};
    play(THREE, steps, NULL);
}

static bool plant_errant_transaction(struct operator_world *world)
{
    world_agent(world, 2)->errant = 1;
    world->numbers[1] = world_agent(world, 2)->lives;
    return true;
}

static bool errant_is_named(struct operator_world *world)
{
    return *status_str(world, "instances[2].errantTransactions") &&
        str_eq(status_str(world, "instances[2].problem"), "ErrantTransactions") &&
        str_eq(world_condition(world, "Replicated"), "False/ReplicaNotFollowing");
}

/* Even then its data is not thrown away. */
static bool purge_for_2_too(struct operator_world *world)
{
    world_agent(world, 0)->purged = 3;
    world_agent(world, 2)->executed = world_agent(world, 2)->received = 1;
    return world_is_quiet(world, 700);
}

static void check_errant_is_left_alone(struct operator_world *world)
{
    assert_int_equal(world_agent(world, 2)->errant, 1);
    assert_int_equal(world_agent(world, 2)->mark, AGENT_MARK_NONE);
    assert_int_equal(world_agent(world, 2)->lives, world->numbers[1]);
}

static void a_member_with_errant_transactions_is_named_and_left_alone_if_wished(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, plant_errant_transaction, errant_is_named, purge_for_2_too, NULL};
    play(THREE ", 'failover': {'reseed': false}", steps, check_errant_is_left_alone);
}

/* I7: the doubles hold that they are set aside before. */
static void check_errant_is_set_aside(struct operator_world *world)
{
    assert_int_equal(world_agent(world, 2)->errant, 0);
    assert_int_equal(world_agent(world, 2)->set_aside, 1);
    assert_true(world_agent(world, 2)->lives > world->numbers[1]);
    assert_true(primary_is(world, 0));
}

static bool seeded_2_again(struct operator_world *world)
{
    return world_agent(world, 2)->lives > world->numbers[1] + 1;
}

static void errant_transactions_are_set_aside_and_the_member_seeded_anew(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, plant_errant_transaction, seeded_2_again, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_errant_is_set_aside);
}

static bool scale_out_with_a_bad_donor(struct operator_world *world)
{
    world_agent(world, 1)->clone_fails = true;
    edit_spec(world, "{'replicas': 3}");
    return true;
}

static void check_other_donor(struct operator_world *world)
{
    assert_true(world_agent(world, 2)->has_data);
    assert_true(primary_is(world, 0));
}

static void a_donor_that_fails_is_followed_by_another(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, scale_out_with_a_bad_donor, UNTIL_SETTLED, NULL};
    play("'replicas': 2", steps, check_other_donor);
}

static bool scale_out_slowly(struct operator_world *world)
{
    world_agent(world, 2)->clone_ms = 400;
    edit_spec(world, "{'replicas': 3}");
    return true;
}

static bool lose_donor_in_mid_stream(struct operator_world *world)
{
    const struct agent_double *receiver = world_agent(world, 2);
    if (!receiver->is_up || receiver->status.seed.step != AGENT_SEED_STEP_COPYING)
        return false;
    delete_pod(world, 1);
    return true;
}

static void a_donor_may_go_in_mid_stream(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, scale_out_slowly, lose_donor_in_mid_stream, UNTIL_SETTLED, NULL};
    play("'replicas': 2", steps, check_other_donor);
}

static bool receiver_goes_in_mid_stream(struct operator_world *world)
{
    const struct agent_double *receiver = world_agent(world, 2);
    if (!receiver->is_up || receiver->status.seed.step != AGENT_SEED_STEP_COPYING)
        return false;
    delete_pod(world, 2);
    return true;
}

static void a_receiver_may_go_in_mid_stream(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, scale_out_slowly, receiver_goes_in_mid_stream, UNTIL_SETTLED, NULL};
    play("'replicas': 2", steps, check_other_donor);
}

static bool moves_in_mid_stream(struct operator_world *world)
{
    const struct agent_double *receiver = world_agent(world, 2);
    if (!receiver->is_up || receiver->status.seed.step != AGENT_SEED_STEP_COPYING)
        return false;
    return want_primary_1(world);
}

static void check_copied_once(struct operator_world *world)
{
    assert_true(primary_is(world, 1));
    assert_int_equal(world->numbers[0], 1);
}

static bool copies_while_the_primary_moves(struct operator_world *world)
{
    if (world_agent(world, 2)->status.seed.attempts > 0)
        world->numbers[0] = world_agent(world, 2)->status.seed.attempts;
    return primary_is(world, 1);
}

static bool copied_at_last(struct operator_world *world)
{
    copies_while_the_primary_moves(world);
    return world_is_settled(world);
}

static void a_copy_goes_on_while_the_primary_moves(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, scale_out_slowly, moves_in_mid_stream, copies_while_the_primary_moves, copied_at_last, NULL};
    play("'replicas': 2", steps, check_copied_once);
}

/* ---- volumes of an earlier life ---- */

static bool make_cluster_again(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_CLUSTER);
    world_put_cluster(world, THREE);
    return true;
}

/* The member that was primary last has the most; its data is kept, and the epochs go on from where they were. */
static void check_found_again(struct operator_world *world)
{
    assert_true(primary_is(world, 2));
    assert_true(world_int(world, PATH_CLUSTER, "status.epoch") > 2);
}

static bool stop_applying_on_the_others(struct operator_world *world)
{
    world_agent(world, 0)->applier_is_stuck = world_agent(world, 1)->applier_is_stuck = true;
    return world_agent(world, 2)->executed > world_agent(world, 0)->executed + 5;
}

static bool apply_again(struct operator_world *world)
{
    if (!primary_is(world, 2))
        return false;
    world_agent(world, 0)->applier_is_stuck = world_agent(world, 1)->applier_is_stuck = false;
    return true;
}

static void a_cluster_made_again_finds_its_primary_by_its_data(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, want_primary_2, primary_is_2, UNTIL_SETTLED,
        stop_applying_on_the_others, make_cluster_again, apply_again, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_found_again);
}

/* ---- told is not done ---- */

static bool want_semi_sync(struct operator_world *world)
{
    edit_spec(world, "{'replication': {'mode': 'semiSync'}}");
    return true;
}

static bool is_armed(struct operator_world *world)
{
    return json_path_bool(kube_api_double_get(world->api, PATH_CLUSTER), "status.semiSync", false) &&
        world_is_quiet(world, 500);
}

static bool cut_0(struct operator_world *world)
{
    world_agent(world, 0)->is_cut = true;
    world->numbers[0] = clock_monotonic_ms();
    return true;
}

/* Commits are still acknowledged by it alone: another one that is opened fails the test (I3). */
static bool only_0_can_tell(struct operator_world *world)
{
    return clock_monotonic_ms() - world->numbers[0] > 4000 &&
        strstr(status_str(world, "nextAction"), "only shop-mysql-0 can tell what it acknowledged");
}

static bool link_0(struct operator_world *world)
{
    world_agent(world, 0)->is_cut = world_agent(world, 0)->order_is_stuck = false;
    return true;
}

static void check_confirmed(struct operator_world *world)
{
    assert_true(primary_is(world, 0));
    assert_string_equal(status_str(world, "lastFailover.to"), "");
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.confirmed.acks"), 1);
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.confirmed.selfFenceMembers"), 1);
}

static void acknowledgements_that_were_only_told_of_prove_nothing(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, hold_the_fence, want_semi_sync, is_armed, cut_0, only_0_can_tell, link_0, UNTIL_SETTLED, NULL};
    play(THREE ", 'replication': {'mode': 'async'}", steps, check_confirmed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_target_lost_before_the_fence_is_given_up),
        cmocka_unit_test(a_target_lost_after_the_fence_is_failed_over_from),
        cmocka_unit_test(a_target_that_opened_unheard_is_failed_over_from),
        cmocka_unit_test(an_emptied_target_is_given_up_after_the_fence),
        cmocka_unit_test(an_emptied_target_is_given_up_while_paused),
        cmocka_unit_test(a_conflict_on_a_label_is_no_news),
        cmocka_unit_test(a_pod_that_is_gone_says_nothing),
        cmocka_unit_test(a_larger_epoch_on_a_volume_raises_the_clusters),
        cmocka_unit_test(a_member_behind_the_binary_logs_is_seeded_again),
        cmocka_unit_test(a_member_with_errant_transactions_is_named_and_left_alone_if_wished),
        cmocka_unit_test(errant_transactions_are_set_aside_and_the_member_seeded_anew),
        cmocka_unit_test(a_donor_that_fails_is_followed_by_another),
        cmocka_unit_test(a_donor_may_go_in_mid_stream),
        cmocka_unit_test(a_receiver_may_go_in_mid_stream),
        cmocka_unit_test(a_copy_goes_on_while_the_primary_moves),
        cmocka_unit_test(a_cluster_made_again_finds_its_primary_by_its_data),
        cmocka_unit_test(acknowledgements_that_were_only_told_of_prove_nothing),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
