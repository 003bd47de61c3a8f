/* SPDX-License-Identifier: Apache-2.0 */
/* With deletion.volumes Delete no claim is left, whenever the cluster is deleted: also before the claims have an owner,
 * and while the StatefulSet's controller still makes some. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/tests/operator_world.h"

#define CLAIMS PATH_CORE "persistentvolumeclaims"
#define PATH_CLAIM(n) CLAIMS "/data-shop-mysql-" n
#define ALL_CLAIMS "/api/v1/persistentvolumeclaims"
#define HOLD "kubemysql.dev/volumes"
/* The StatefulSet's controller is that far behind: longer than the operator needs for all that it has to do. */
#define LATE_TICKS 20
/* More than are needed until the claims are there. */
#define ACTS 21

static struct operator_world *world_new(const char *spec, bool claims_wait)
{
    struct operator_world *world = operator_world_new();
    world->secrets_fresh_ms = 50;
    world->kubernetes.claims_wait = claims_wait;
    world_put_cluster(world, spec);
    return world;
}

static bool is_held_by(const struct operator_world *world, const char *finalizer)
{
    size_t i;
    const json_t *each;
    json_array_foreach(json_path(kube_api_double_get(world->api, PATH_CLUSTER), "metadata.finalizers"), i, each) {
        if (str_eq(json_string_value(each), finalizer))
            return true;
    }
    return false;
}

static size_t claims(const struct operator_world *world)
{
    return kube_api_double_count(world->api, ALL_CLAIMS);
}

/* ---- steps ---- */

static bool has_claims(struct operator_world *world)
{
    return kube_api_double_get(world->api, PATH_CLAIM("0")) && kube_api_double_get(world->api, PATH_CLAIM("1"));
}

static bool delete_it(struct operator_world *world)
{
    world->numbers[1] = (int64_t)claims(world);
    assert_true(kube_api_double_remove(world->api, PATH_CLUSTER));
    return true;
}

static bool gone(struct operator_world *world)
{
    return !kube_api_double_get(world->api, PATH_CLUSTER);
}

static void delete_after_act(struct operator_world *world)
{
    if (world->acts == (size_t)world->numbers[0])
        delete_it(world);
}

/* What a StatefulSet's controller has in its hands comes late. */
static bool nothing_comes_late(struct operator_world *world)
{
    return world_is_quiet(world, 3 * LATE_TICKS * 3);
}

static bool settled_and_free(struct operator_world *world)
{
    return world_is_settled(world) && !is_held_by(world, HOLD) &&
        json_array_size(json_path(kube_api_double_get(world->api, PATH_CLAIM("0")), "metadata.ownerReferences")) == 1;
}

static bool is_gone_at_once(struct operator_world *world)
{
    assert_true(gone(world));
    return true;
}

static bool grow_it(struct operator_world *world)
{
    world->kubernetes.claims_wait = true;
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'replicas': 3}}");
    return true;
}

static bool has_third_claim(struct operator_world *world)
{
    return kube_api_double_get(world->api, PATH_CLAIM("2")) != NULL;
}

static bool is_not_held(struct operator_world *world)
{
    assert_false(is_held_by(world, HOLD));
    return true;
}

static bool is_held(struct operator_world *world)
{
    assert_true(is_held_by(world, HOLD));
    return true;
}

static bool keep_them(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'deletion': {'volumes': 'Retain'}}}");
    return true;
}

static bool skip_it(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'metadata': {'annotations': {'kubemysql.dev/skip-final-backup': 'true'}}}");
    return true;
}

static bool let_go_of(struct operator_world *world)
{
    return !is_held_by(world, HOLD);
}

/* ---- tests ---- */

static void claims_that_are_not_bound_go(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {has_claims, is_held, delete_it, gone, nothing_comes_late, NULL};
    struct operator_world *world = world_new("'replicas': 2, 'deletion': {'volumes': 'Delete'}", true);
    operator_world_run(world, steps);
    assert_int_equal(claims(world), 0);
    assert_null(kube_api_double_get(world->api, PATH_STATEFUL_SET));
    operator_world_free(world);
}

/* After each of the operator's acts, and with a controller that makes claims long after. */
static void it_is_deleted_at_any_moment(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {gone, nothing_comes_late, NULL};
    size_t without = 0, with = 0;
    for (int n = 2; n < 2 * ACTS; n++) {
        struct operator_world *world = world_new("'replicas': 2, 'deletion': {'volumes': 'Delete'}", true);
        world->numbers[0] = n / 2;
        world->after_act = delete_after_act;
        world->kubernetes.set_late_ticks = n % 2 ? LATE_TICKS : 0;
        operator_world_run(world, steps);
        if (claims(world) > 0)
            fail_msg("deleted after act %d, with a %s controller: %zu claims are left", n / 2, n % 2 ? "late" : "quick",
                claims(world));
        without += world->numbers[1] == 0;
        with += world->numbers[1] > 0;
        operator_world_free(world);
    }
    assert_true(without > 0 && with > 0);
}

/* The operator dies after the nth of its acts. */
static char *tell(const void *arg, size_t n, struct world_copies *copies)
{
    UNUSED(arg);
    static const world_step_fn steps[] = {has_claims, delete_it, gone, nothing_comes_late, NULL};
    struct operator_world *world = world_new("'replicas': 2, 'deletion': {'volumes': 'Delete'}", true);
    world->kill_after = n;
    world->copies = copies;
    operator_world_run(world, steps);
    char *end = xasprintf("%zu claims", claims(world));
    world_copy_end(copies, end);
    operator_world_free(world);
    return end;
}

static void an_operator_dies_at_every_step(void **state)
{
    UNUSED(state);
    world_dies_at_every_step(tell, NULL, 12);
}

/* As most clusters are when they are deleted: no operator is needed. */
static void a_settled_cluster_is_not_held(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled_and_free, delete_it, is_gone_at_once, nothing_comes_late, NULL};
    struct operator_world *world = world_new("'replicas': 2, 'deletion': {'volumes': 'Delete'}", false);
    operator_world_run(world, steps);
    assert_int_equal(claims(world), 0);
    operator_world_free(world);
}

static void one_that_grows_is_held_again(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled_and_free, grow_it, has_third_claim, is_held, delete_it, gone, nothing_comes_late, NULL};
    struct operator_world *world = world_new("'replicas': 2, 'deletion': {'volumes': 'Delete'}", false);
    operator_world_run(world, steps);
    assert_int_equal(claims(world), 0);
    operator_world_free(world);
}

/* By default, and by a change of mind. */
static void claims_that_are_to_stay_stay(void **state)
{
    UNUSED(state);
    static const world_step_fn retains[] = {has_claims, is_not_held, delete_it, gone, nothing_comes_late, NULL};
    static const world_step_fn changes[] = {
        has_claims, is_held, keep_them, let_go_of, delete_it, gone, nothing_comes_late, NULL};
    struct operator_world *world = world_new("'replicas': 2", true);
    operator_world_run(world, retains);
    assert_int_equal(claims(world), 2);
    operator_world_free(world);
    world = world_new("'replicas': 2, 'deletion': {'volumes': 'Delete'}", true);
    operator_world_run(world, changes);
    assert_int_equal(claims(world), 2);
    operator_world_free(world);
}

/* A last backup is wanted, but there is nothing to save yet. */
static void with_a_final_backup_it_is_the_same(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {has_claims, delete_it, skip_it, gone, nothing_comes_late, NULL};
    struct operator_world *world = world_new("'replicas': 2, 'deletion': {'volumes': 'Delete', 'finalBackup': true},"
                                             "'backup': {'destination': {'s3': {'bucket': 'safe',"
                                             "'credentialsSecret': {'name': 'keys'}}}}",
        true);
    operator_world_run(world, steps);
    assert_int_equal(claims(world), 0);
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_that_are_not_bound_go),
        cmocka_unit_test(it_is_deleted_at_any_moment),
        cmocka_unit_test(an_operator_dies_at_every_step),
        cmocka_unit_test(a_settled_cluster_is_not_held),
        cmocka_unit_test(one_that_grows_is_held_again),
        cmocka_unit_test(claims_that_are_to_stay_stay),
        cmocka_unit_test(with_a_final_backup_it_is_the_same),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
