/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster that was deleted without what belongs to it (`kubectl delete --cascade=orphan`) and is applied again, with
 * the whole operator against the doubles: it goes on with pods, data and passwords. And objects that are nobody's, but
 * that nobody need have left.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/tests/operator_world.h"

#define PATH_ACCOUNTS PATH_CORE "secrets/shop-mysql-accounts"
#define PATH_CA PATH_CORE "secrets/shop-mysql-ca"
#define PATH_APP PATH_CORE "secrets/shop-mysql-app"
#define PATH_SET_SERVICE PATH_CORE "services/shop-mysql"
#define SPEC "'replicas': 2, 'username': 'shop', 'database': 'shop', 'terminal': {}"

/* What a cluster owns. */
static const char *const owned[] = {PATH_CORE "serviceaccounts/shop-mysql", PATH_CORE "configmaps/shop-mysql-config",
    PATH_SET_SERVICE, PATH_CORE "services/shop-mysql-primary", PATH_CORE "services/shop-mysql-replicas", PATH_SLICE,
    PATH_BUDGET, PATH_STATEFUL_SET, PATH_ACCOUNTS, PATH_CA, PATH_CORE "secrets/shop-mysql-tls", PATH_APP,
    PATH_CORE "configmaps/shop-mysql-ca-bundle", PATH_TERMINAL};

static bool settled(struct operator_world *world)
{
    return !world_missing_child(world) && world_is_settled(world) && kube_api_double_get(world->api, PATH_APP) &&
        world_is_quiet(world, 150);
}

/* As the garbage collector does before the owner goes; the double keeps no managedFields. */
static void disown_all(struct operator_world *world)
{
    for (size_t i = 0; i < ARRAY_LEN(owned); i++)
        world_edit_json(world, owned[i],
            "{'metadata': {'ownerReferences': null, 'managedFields': [{'manager': 'kube-mysql', 'operation': 'Apply'}]}}");
}

static bool all_is_owned(struct operator_world *world)
{
    const char *uid = world_str(world, PATH_CLUSTER, "metadata.uid");
    for (size_t i = 0; i < ARRAY_LEN(owned); i++) {
        if (!str_eq(world_str(world, owned[i], "metadata.ownerReferences[0].uid"), uid))
            return false;
    }
    return true;
}

/* ---- it goes on ---- */

/* Until the status says who is primary. */
static void route_is_never_empty(void *arg)
{
    struct operator_world *world = arg;
    bool is_named = world_int(world, PATH_CLUSTER, "status.epoch") > 0;
    if (!is_named && str_empty(world_str(world, PATH_SLICE, "endpoints[0].addresses[0]")) && !*world->failure)
        snprintf(world->failure, sizeof(world->failure), "the route leads nowhere");
}

struct kept {
    char pods[2][40], password[64], primary[64];
};

static struct kept what_is_there(const struct operator_world *world)
{
    struct kept kept = {.password = ""};
    for (int i = 0; i < 2; i++)
        snprintf(kept.pods[i], sizeof(kept.pods[i]), "%s", world_pod_str(world, i, "metadata.uid"));
    snprintf(kept.password, sizeof(kept.password), "%s", world_str(world, PATH_ACCOUNTS, "data.root"));
    snprintf(kept.primary, sizeof(kept.primary), "%s", world_str(world, PATH_CLUSTER, "status.currentPrimary"));
    return kept;
}

static struct kept kept_before; /* of the one world that there is at a time */

static bool delete_alone(struct operator_world *world)
{
    kept_before = what_is_there(world);
    disown_all(world);
    kube_api_double_remove(world->api, PATH_CLUSTER);
    return true;
}

static bool watch_the_route(struct operator_world *world)
{
    kube_api_double_on_write(world->api, route_is_never_empty, world);
    return true;
}

static bool apply_again(struct operator_world *world)
{
    if (!world_is_quiet(world, 150))
        return false;
    world_put_cluster(world, SPEC);
    return true;
}

static bool it_goes_on(struct operator_world *world)
{
    return all_is_owned(world) && settled(world);
}

static void assert_it_went_on(struct operator_world *world)
{
    struct kept now = what_is_there(world);
    for (int i = 0; i < 2; i++)
        assert_string_equal(now.pods[i], kept_before.pods[i]);
    assert_string_equal(now.password, kept_before.password);
    assert_string_equal(now.primary, kept_before.primary);
    assert_string_equal(world_condition(world, "ChildConflict"), "");
    assert_string_equal(world_condition(world, "Ready"), "True/TakesWrites");
}

static void what_was_left_is_taken_over(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, delete_alone, watch_the_route, apply_again, it_goes_on, settled, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, SPEC);
    operator_world_run(world, steps);
    assert_it_went_on(world);
    operator_world_free(world);
}

/* In a copy (world_copy.h) nothing may fail: it says what it has come to. The primary may be another one: an operator
 * that died before it wrote a status leaves one that is older than the members' orders (StatusOutdated), and who is
 * chosen then depends on whose last position was heard first. */
static char *how_it_went_on(struct operator_world *world)
{
    struct kept now = what_is_there(world);
    _cleanup_(freep) char *conflict = xstrdup(world_condition(world, "ChildConflict"));
    return xasprintf("pods %s, password %s, conflict '%s', ready '%s'",
        str_eq(now.pods[0], kept_before.pods[0]) && str_eq(now.pods[1], kept_before.pods[1]) ? "kept" : "lost",
        str_eq(now.password, kept_before.password) ? "kept" : "lost", conflict, world_condition(world, "Ready"));
}

static char *tell(const void *arg, size_t n, struct world_copies *copies)
{
    UNUSED(arg);
    static const world_step_fn steps[] = {settled, delete_alone, apply_again, it_goes_on, NULL};
    struct operator_world *world = operator_world_new();
    world->kill_after_step = 3;
    world->kill_after = n;
    world->copies = copies;
    world_put_cluster(world, SPEC);
    operator_world_run(world, steps);
    char *end = how_it_went_on(world);
    world_copy_end(copies, end);
    assert_it_went_on(world);
    operator_world_free(world);
    return end;
}

/* Each write and order may be the operator's last. */
static void a_crash_in_between_ends_the_same(void **state)
{
    UNUSED(state);
    world_dies_at_every_step(tell, NULL, 20);
}

/* ---- nobody gains by planting ---- */

static bool all_are_told(struct operator_world *world)
{
    if (!str_eq(world_condition(world, "ChildConflict"), "True/ForeignObject") || !world_is_quiet(world, 150))
        return false;
    _cleanup_(freep) char *text = json_text(kube_api_double_get(world->api, PATH_CLUSTER));
    static const char *const named[] = {"Secret shop-mysql-accounts, ", "Secret shop-mysql-ca, ",
        "ServiceAccount shop-mysql, ", "Service shop-mysql, ", "Service shop-mysql-primary, ",
        "PodDisruptionBudget shop-mysql, ", "objects of these names exist and are not ours"};
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        if (!strstr(text, named[i]))
            fail_msg("%s is not told in %s", named[i], text);
    }
    return true;
}

/* Without a StatefulSet beside them they may be anybody's. */
static bool delete_with_its_set(struct operator_world *world)
{
    disown_all(world);
    kube_api_double_remove(world->api, PATH_CLUSTER);
    kube_api_double_remove(world->api, PATH_STATEFUL_SET);
    return true;
}

static void without_a_stateful_set_nothing_is_taken_over(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, delete_with_its_set, apply_again, all_are_told, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, SPEC);
    operator_world_run(world, steps);
    assert_null(kube_api_double_get(world->api, PATH_STATEFUL_SET));
    assert_string_equal(world_str(world, PATH_ACCOUNTS, "metadata.ownerReferences[0].uid"), "");
    operator_world_free(world);
}

#define PLANTED                                                                                                    \
    "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'shop-mysql-accounts', 'namespace': 'ns1',"       \
    "'labels': {'" LABEL_MANAGED_BY "': '" LABEL_MANAGED_BY_US "', '" LABEL_CLUSTER "': 'shop', '" LABEL_COMPONENT \
    "': '" LABEL_COMPONENT_DATABASE "'}, 'managedFields': [{'manager': 'kube-mysql'}]}, 'data': {'root': 'a25vd24='}}"

static bool conflict_is_told(struct operator_world *world)
{
    return str_eq(world_condition(world, "ChildConflict"), "True/ForeignObject") && world_is_quiet(world, 150);
}

static void a_planted_secret_gives_nobody_a_password(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {conflict_is_told, NULL};
    struct operator_world *world = operator_world_new();
    world_put_json(world, PATH_ACCOUNTS, PLANTED);
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_null(kube_api_double_get(world->api, PATH_STATEFUL_SET));
    assert_string_equal(world_str(world, PATH_ACCOUNTS, "metadata.ownerReferences[0].uid"), "");
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_left_is_taken_over),
        cmocka_unit_test(a_crash_in_between_ends_the_same),
        cmocka_unit_test(without_a_stateful_set_nothing_is_taken_over),
        cmocka_unit_test(a_planted_secret_gives_nobody_a_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
