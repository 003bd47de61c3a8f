/* SPDX-License-Identifier: Apache-2.0 */
/* A replicated cluster against doubles of its agents: who is primary, who is told what, and when. The doubles hold the
 * invariants. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/names.h"
#include "operator/tests/operator_world.h"

/* ---- looking ---- */

static const char *status_str(struct operator_world *world, const char *member)
{
    _cleanup_(freep) char *path = xasprintf("status.%s", member);
    return world_str(world, PATH_CLUSTER, path);
}

static bool primary_is(struct operator_world *world, int ordinal)
{
    return str_eq(status_str(world, "currentPrimary"), world_agent(world, ordinal)->name) &&
        agent_double_is_open(world_agent(world, ordinal));
}

static bool says(struct operator_world *world, const char *text)
{
    return strstr(status_str(world, "nextAction"), text) != NULL;
}

static void break_rule(struct operator_world *world, const char *text)
{
    if (!*world->failure)
        snprintf(world->failure, sizeof(world->failure), "%s", text);
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

/* ---- doing ---- */

static void want_primary(struct operator_world *world, const char *ordinal)
{
    _cleanup_(freep) char *text =
        xasprintf("{'metadata': {'annotations': {'" ANNOTATION_SWITCHOVER_TO "': '%s'}}}", ordinal);
    world_edit_json(world, PATH_CLUSTER, text);
}

/* As the API server: a changed spec has a new generation. */
static void edit_spec(struct operator_world *world, const char *spec)
{
    _cleanup_(freep) char *text = xasprintf("{'metadata': {'generation': %lld}, 'spec': %s}",
        (long long)world_int(world, PATH_CLUSTER, "metadata.generation") + 1, spec);
    world_edit_json(world, PATH_CLUSTER, text);
}

static bool want_primary_1(struct operator_world *world)
{
    want_primary(world, "1");
    return true;
}

static bool want_primary_2(struct operator_world *world)
{
    want_primary(world, "2");
    return true;
}

static bool primary_is_1(struct operator_world *world)
{
    return primary_is(world, 1);
}

static bool primary_is_2(struct operator_world *world)
{
    return primary_is(world, 2);
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

#define THREE "'replicas': 3"

/* ---- creation ---- */

static void check_creation(struct operator_world *world)
{
    assert_true(primary_is(world, 0));
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), 2); /* the second armed semi-sync */
    assert_true(json_path_bool(kube_api_double_get(world->api, PATH_CLUSTER), "status.semiSync", false));
    assert_true(world_agent(world, 0)->order.semi_sync);
    assert_int_equal(world_agent(world, 0)->order.acks, 1);
    assert_string_equal(status_str(world, "state"), "Healthy");
    assert_string_equal(status_str(world, "nextAction"), "");
    assert_string_equal(
        world_str(world, PATH_SLICE, "endpoints[0].addresses[0]"), world_pod_str(world, 0, "status.podIP"));
    assert_string_equal(world_pod_str(world, 0, "metadata.labels[\"" LABEL_ROLE "\"]"), LABEL_ROLE_PRIMARY);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(world_agent(world, i)->order.role, AGENT_ROLE_REPLICA);
        assert_string_equal(world_pod_str(world, i, "metadata.labels[\"" LABEL_ROLE "\"]"), LABEL_ROLE_REPLICA);
    }
}

/* I8 is held by the doubles: whoever initialises beside data fails the test. */
static void the_first_is_initialised_and_the_others_are_cloned(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, NULL};
    play(THREE, steps, check_creation);
}

/* ---- acknowledgements ---- */

static int acks_of(struct operator_world *world)
{
    const struct agent_double *primary = world_agent(world, 0);
    return primary->order.semi_sync ? (int)primary->order.acks : 0;
}

static bool waits_for_1(struct operator_world *world)
{
    return acks_of(world) == 1 && world_is_settled(world);
}

static bool grow_to_5(struct operator_world *world)
{
    edit_spec(world, "{'replicas': 5}");
    return true;
}

static bool waits_for_2(struct operator_world *world)
{
    return acks_of(world) == 2 && world_is_settled(world);
}

static bool shrink_to_3(struct operator_world *world)
{
    edit_spec(world, "{'replicas': 3}");
    return true;
}

static bool want_async(struct operator_world *world)
{
    edit_spec(world, "{'replication': {'mode': 'async'}}");
    return true;
}

static bool waits_for_nobody(struct operator_world *world)
{
    return acks_of(world) == 0 && !world_agent(world, 0)->order.semi_sync && world_is_settled(world);
}

static bool want_semi_sync(struct operator_world *world)
{
    edit_spec(world, "{'replication': {'mode': 'semiSync'}}");
    return true;
}

/* Begun, armed, raised, lowered, given up, asked for again, armed: six changes after the first, and never two under one
 * epoch (the doubles). */
static void check_epoch_of_each_change(struct operator_world *world)
{
    assert_true(primary_is(world, 0));
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), 7);
    assert_int_equal(world_agent(world, 0)->epoch, 7);
}

static void what_commits_wait_for_changes_with_the_epoch(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, waits_for_1, grow_to_5, waits_for_2, quiet, shrink_to_3,
        waits_for_1, quiet, want_async, waits_for_nobody, quiet, want_semi_sync, waits_for_1, quiet, NULL};
    play(THREE, steps, check_epoch_of_each_change);
}

/* ---- switchover ---- */

static void check_two_switchovers(struct operator_world *world)
{
    assert_true(primary_is(world, 2));
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), 4);
    assert_string_equal(status_str(world, "switchoverDone"), "1");
    assert_string_equal(status_str(world, "lastSwitchover.to"), "shop-mysql-2");
    assert_string_equal(status_str(world, "lastSwitchover.reason"), "Requested");
    assert_string_equal(
        world_str(world, PATH_SLICE, "endpoints[0].addresses[0]"), world_pod_str(world, 2, "status.podIP"));
}

static bool wish_for_2(struct operator_world *world)
{
    edit_spec(world, "{'replication': {'primary': 2}}");
    return true;
}

static void the_primary_moves_by_annotation_and_by_spec(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, want_primary_1, primary_is_1, UNTIL_SETTLED, wish_for_2, primary_is_2, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_two_switchovers);
}

/* ---- refused ---- */

static bool want_nobody(struct operator_world *world)
{
    want_primary(world, "9");
    return true;
}

static bool nobody_is_named(struct operator_world *world)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    return says(world, "there is no member \"9\"") && strstr(dump, "\"reason\":\"SwitchoverImpossible\"");
}

static bool wish_for_7(struct operator_world *world)
{
    edit_spec(world, "{'replication': {'primary': 7}}");
    return true;
}

static bool wish_is_not_accepted(struct operator_world *world)
{
    return str_eq(world_condition(world, "Accepted"), "False/InvalidSpec");
}

static void check_still_first(struct operator_world *world)
{
    assert_true(primary_is(world, 0));
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), 2);
}

static void members_that_do_not_exist_are_refused(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, want_nobody, nobody_is_named, quiet, wish_for_7, wish_is_not_accepted, quiet, NULL};
    play(THREE, steps, check_still_first);
}

/* The next operator knows nothing but the status, and the spec is of no use to it. */
static bool operator_and_pod_2_go(struct operator_world *world)
{
    world->numbers[0] = world_agent(world, 2)->lives;
    world_kill_operator(world);
    kube_api_double_remove(world->api, PATH_CORE "pods/shop-mysql-2");
    return true;
}

static bool pod_2_follows_again(struct operator_world *world)
{
    const struct agent_double *agent = world_agent(world, 2);
    return agent->lives > world->numbers[0] + 1 && agent->following == 0 &&
        str_eq(world_condition(world, "Replicated"), "True/AllFollow");
}

static void check_led_on(struct operator_world *world)
{
    assert_true(primary_is(world, 1));
    assert_string_equal(world_condition(world, "Accepted"), "False/InvalidSpec");
    assert_int_equal(world_agent(world, 1)->order.acks, 1);
    assert_true(world_agent(world, 1)->order.semi_sync);
    assert_string_equal(
        world_str(world, PATH_SLICE, "endpoints[0].addresses[0]"), world_pod_str(world, 1, "status.podIP"));
    assert_string_equal(world_pod_str(world, 1, "metadata.labels[\"" LABEL_ROLE "\"]"), LABEL_ROLE_PRIMARY);
}

static void members_are_led_on_while_the_spec_is_not_accepted(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, wish_for_7, wish_is_not_accepted, quiet, operator_and_pod_2_go,
        pod_2_follows_again, want_primary_1, primary_is_1, quiet, NULL};
    play(THREE, steps, check_led_on);
}

static bool let_1_lag(struct operator_world *world)
{
    world_agent(world, 1)->lag_ms = 9000;
    return true;
}

static bool lag_is_known(struct operator_world *world)
{
    return world_int(world, PATH_CLUSTER, "status.instances[1].lagSeconds") == 9;
}

static bool lag_is_named(struct operator_world *world)
{
    return says(world, "blocked: shop-mysql-1 lags 9 s");
}

static bool let_1_catch_up_but_stop(struct operator_world *world)
{
    world_agent(world, 1)->lag_ms = 0;
    world_agent(world, 1)->errant = 1;
    return true;
}

static bool errant_is_named(struct operator_world *world)
{
    return says(world, "blocked: shop-mysql-1: it holds transactions that the primary has not");
}

static void a_target_that_lags_or_does_not_follow_is_refused(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, let_1_lag, lag_is_known, want_primary_1, lag_is_named, quiet,
        let_1_catch_up_but_stop, errant_is_named, quiet, NULL};
    play(THREE ", 'failover': {'reseed': false}", steps, check_still_first);
}

/* Nothing of it shows until somebody asks for a switchover: a few of the agent's words must have come. */
static bool begin_long_transaction(struct operator_world *world)
{
    world_agent(world, 0)->long_transactions = 1;
    return world_is_quiet(world, 500);
}

static bool want_1_after_drain(struct operator_world *world)
{
    want_primary(world, "1");
    world->numbers[0] = clock_monotonic_ms();
    return true;
}

static bool drain_is_told(struct operator_world *world)
{
    return says(world, "for 1 long transactions, the oldest: thread 17");
}

static bool moved_after_drain(struct operator_world *world)
{
    if (!primary_is(world, 1))
        return false;
    if (clock_monotonic_ms() - world->numbers[0] < 900)
        break_rule(world, "the long transaction was not waited for");
    world_agent(world, 0)->long_transactions = 0;
    return true;
}

/* As by a transaction that takes it long: it lags no more than before, so far. */
static bool let_1_apply_for_long(struct operator_world *world)
{
    world_agent(world, 1)->applier_is_stuck = true;
    world->numbers[0] = clock_monotonic_ms();
    return true;
}

/* A changed position alone sends no status: two status intervals of the agents must have passed. */
static bool position_is_told(struct operator_world *world)
{
    return clock_monotonic_ms() - world->numbers[0] > 2 * AGENT_STATUS_INTERVAL_MS &&
        world_agent(world, 1)->received > world_agent(world, 1)->executed;
}

static bool what_it_applies_is_told(struct operator_world *world)
{
    return says(world, "waits: shop-mysql-1 has been applying what it received, for 2 s");
}

static bool let_1_finish(struct operator_world *world)
{
    if (!primary_is(world, 0) || world_agent(world, 0)->order.role != AGENT_ROLE_PRIMARY)
        break_rule(world, "the primary was closed before its successor had applied what it had received");
    world_agent(world, 1)->applier_is_stuck = false;
    return true;
}

static void what_the_next_primary_applies_is_waited_for(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, let_1_apply_for_long, position_is_told, want_primary_1,
        what_it_applies_is_told, let_1_finish, primary_is_1, UNTIL_SETTLED, NULL};
    play(THREE, steps, NULL);
}

static void long_transactions_are_waited_for(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, begin_long_transaction, want_1_after_drain, drain_is_told,
        moved_after_drain, UNTIL_SETTLED, NULL};
    play(THREE ", 'replication': {'drainSeconds': 1}", steps, NULL);
}

/* ---- a pod of the primary that goes ---- */

static bool delete_pod_0(struct operator_world *world)
{
    snprintf(world->uid, sizeof(world->uid), "%s", world_pod_str(world, 0, "metadata.uid"));
    kube_api_double_remove(world->api, PATH_CORE "pods/shop-mysql-0");
    return true;
}

static bool pod_0_is_another(struct operator_world *world)
{
    const char *uid = world_pod_str(world, 0, "metadata.uid");
    return *uid && !str_eq(uid, world->uid);
}

static void check_moved_for_pod(struct operator_world *world)
{
    assert_false(primary_is(world, 0));
    assert_string_equal(status_str(world, "lastSwitchover.reason"), "PodDeleted");
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), 3);
}

static void a_deleted_primary_is_moved_first(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, delete_pod_0, pod_0_is_another, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_moved_for_pod);
}

/* ---- scale ---- */

/* Asked all the time: the set shrinks only when the primary has moved and the volumes of those who leave are marked. */
static void watch_shrinking(struct operator_world *world)
{
    if (world_int(world, PATH_STATEFUL_SET, "spec.replicas") > 1)
        return;
    for (int i = 1; i < 3; i++) {
        if (world_agent(world, i)->mark != AGENT_MARK_LEFT)
            break_rule(world, "the set shrinks before the volumes are marked");
    }
    if (!str_eq(status_str(world, "currentPrimary"), "shop-mysql-0"))
        break_rule(world, "the set shrinks before the primary has moved");
}

static bool scale_to_1(struct operator_world *world)
{
    edit_spec(world, "{'replicas': 1}");
    return true;
}

static bool shrunk(struct operator_world *world)
{
    watch_shrinking(world);
    return world_is_settled(world) && !*world_pod_str(world, 1, "metadata.name") &&
        !*world_pod_str(world, 2, "metadata.name");
}

static bool retained_volumes_are_listed(struct operator_world *world)
{
    return str_eq(status_str(world, "retainedVolumes[0]"), "data-shop-mysql-1") &&
        str_eq(status_str(world, "retainedVolumes[1]"), "data-shop-mysql-2");
}

static bool scale_to_3(struct operator_world *world)
{
    world->numbers[0] = (int64_t)world_agent(world, 1)->executed;
    edit_spec(world, "{'replicas': 3}");
    return true;
}

/* A copy begins its binary logs where it ends: the sign that it was copied, not kept. */
static void check_cloned_again(struct operator_world *world)
{
    assert_true(primary_is(world, 0));
    for (int i = 1; i < 3; i++) {
        assert_int_equal(world_agent(world, i)->mark, AGENT_MARK_NONE);
        assert_true(world_agent(world, i)->purged > (uint64_t)world->numbers[0]);
    }
}

static void members_that_leave_are_marked_and_cloned_when_they_return(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, want_primary_2, primary_is_2, UNTIL_SETTLED, scale_to_1,
        shrunk, retained_volumes_are_listed, quiet, scale_to_3, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_cloned_again);
}

/* ---- hibernation ---- */

static bool scale_to_0(struct operator_world *world)
{
    edit_spec(world, "{'replicas': 0}");
    return true;
}

static bool nobody_is_there(struct operator_world *world)
{
    return kube_api_double_count(world->api, "/api/v1/pods") == 0 && world_is_settled(world) &&
        str_eq(status_str(world, "state"), "Offline");
}

static void check_woken(struct operator_world *world)
{
    assert_true(primary_is(world, 2));
    for (int i = 0; i < 3; i++)
        assert_true(world_agent(world, i)->purged < (uint64_t)world->numbers[0]); /* kept, not copied */
}

static void a_hibernated_cluster_wakes_with_the_same_primary(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, want_primary_2, primary_is_2, UNTIL_SETTLED, scale_to_0,
        nobody_is_there, quiet, scale_to_3, UNTIL_SETTLED, NULL};
    play(THREE, steps, check_woken);
}

/* It closes in many of its statuses' time, each of which says that it is still writable. */
static bool scale_to_0_slowly(struct operator_world *world)
{
    world_agent(world, 0)->order_ms = 150;
    world->numbers[0] = world_int(world, PATH_CLUSTER, "status.epoch");
    return scale_to_0(world);
}

static bool closing_is_told(struct operator_world *world)
{
    return says(world, "waits until shop-mysql-0 has stopped writes");
}

static void check_one_epoch(struct operator_world *world)
{
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), world->numbers[0] + 1);
}

static void a_primary_that_closes_slowly_is_told_once(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, scale_to_0_slowly, closing_is_told, nobody_is_there, quiet, NULL};
    play(THREE, steps, check_one_epoch);
}

/* The one that was primary last comes first, although only ordinal 0 is wanted. */
static bool waking_is_told(struct operator_world *world)
{
    return says(
        world, "move the primary away from shop-mysql-2, which was primary last and holds the data, then shrink to 1");
}

static bool shrunk_to_0(struct operator_world *world)
{
    return primary_is(world, 0) && world_is_settled(world) && !*world_pod_str(world, 2, "metadata.name");
}

/* All that was written before is there (the doubles hold that), without a copy. */
static void check_woken_smaller(struct operator_world *world)
{
    assert_true(primary_is(world, 0));
    assert_string_equal(status_str(world, "lastSwitchover.reason"), "ScaleIn");
    assert_true(world_agent(world, 0)->purged < (uint64_t)world->numbers[0]);
    assert_int_equal(world_agent(world, 2)->mark, AGENT_MARK_LEFT);
}

static bool wake_with_1(struct operator_world *world)
{
    world->numbers[0] = (int64_t)world_agent(world, 2)->executed;
    return scale_to_1(world);
}

static void a_hibernated_cluster_that_wakes_smaller_keeps_its_data(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, want_primary_2, primary_is_2, UNTIL_SETTLED, scale_to_0,
        nobody_is_there, quiet, wake_with_1, waking_is_told, shrunk_to_0, quiet, NULL};
    play(THREE, steps, check_woken_smaller);
}

/* ---- roll ---- */

static bool change_template(struct operator_world *world)
{
    for (int i = 0; i < 3; i++)
        world->numbers[i] = world_agent(world, i)->lives;
    edit_spec(world, "{'podTemplate': {'metadata': {'annotations': {'a': 'b'}}}}");
    return true;
}

static bool is_replaced(struct operator_world *world, int ordinal)
{
    return world_agent(world, ordinal)->lives != world->numbers[ordinal];
}

/* Highest ordinal first, the old primary last and only when another one is open. */
static bool rolled(struct operator_world *world)
{
    if (is_replaced(world, 1) && !is_replaced(world, 2))
        break_rule(world, "1 is replaced before 2");
    if (is_replaced(world, 0) && (!is_replaced(world, 1) || primary_is(world, 0)))
        break_rule(world, "the primary is replaced too early");
    return is_replaced(world, 0) && is_replaced(world, 1) && is_replaced(world, 2) && world_is_settled(world);
}

/* In an event. */
static bool was_told(struct operator_world *world, const char *text)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    return strstr(dump, text) != NULL;
}

static void check_rolled(struct operator_world *world)
{
    assert_string_equal(status_str(world, "lastSwitchover.reason"), "Roll");
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.updatedReplicas"), 3);
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.epoch"), 3);
    assert_true(was_told(world, "the pods are replaced one by one: metadata.annotations"));
    assert_true(was_told(world, "replace shop-mysql-2: it has an older template: metadata.annotations"));
}

static void a_roll_replaces_the_primary_last(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, change_template, world_check_passes, rolled, quiet, NULL};
    play(THREE, steps, check_rolled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_initialised_and_the_others_are_cloned),
        cmocka_unit_test(what_commits_wait_for_changes_with_the_epoch),
        cmocka_unit_test(the_primary_moves_by_annotation_and_by_spec),
        cmocka_unit_test(members_that_do_not_exist_are_refused),
        cmocka_unit_test(members_are_led_on_while_the_spec_is_not_accepted),
        cmocka_unit_test(a_target_that_lags_or_does_not_follow_is_refused),
        cmocka_unit_test(what_the_next_primary_applies_is_waited_for),
        cmocka_unit_test(long_transactions_are_waited_for),
        cmocka_unit_test(a_deleted_primary_is_moved_first),
        cmocka_unit_test(members_that_leave_are_marked_and_cloned_when_they_return),
        cmocka_unit_test(a_hibernated_cluster_wakes_with_the_same_primary),
        cmocka_unit_test(a_primary_that_closes_slowly_is_told_once),
        cmocka_unit_test(a_hibernated_cluster_that_wakes_smaller_keeps_its_data),
        cmocka_unit_test(a_roll_replaces_the_primary_last),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
