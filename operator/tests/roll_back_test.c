/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A roll whose first member's server does not start, against doubles of the API server and of the agents: it goes back,
 * whenever the operator dies (I10), and what ran is stored before a member is touched.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/tests/role_story.h"

#define PATH_BEFORE PATH_CORE "configmaps/shop-mysql-before"
#define SITE "spec.template.metadata.annotations.site"

static bool is_proven(struct operator_world *world)
{
    return role_story_settled(world) && *role_story_status(world, "roll.proven");
}

#define REVISION "metadata.labels.controller-revision-hash"

/* What is made from then on is younger than what is stored: else it all has the same time, long ago. */
static bool want_a_site(struct operator_world *world)
{
    kube_api_double_created(world->api, "2099-01-01T00:00:00Z");
    snprintf(world->uid, sizeof(world->uid), "%s", world_pod_str(world, 0, REVISION));
    role_story_edit_spec(world, "{'podTemplate': {'metadata': {'annotations': {'site': 'north'}}}}");
    return true;
}

/* Also of another try: the pod is made anew for it. */
static bool passes_checks(struct operator_world *world)
{
    const json_t *pod = kube_api_double_get(world->api, PATH_CORE "pods/shop-mysql-check");
    if (pod && !str_eq(json_path_str(pod, "status.phase", ""), "Succeeded"))
        world_check_passes(world);
    return str_eq(world_str(world, PATH_STATEFUL_SET, SITE), "north");
}

static bool is_of_the_new_template(const struct operator_world *world, int ordinal)
{
    const char *revision = world_pod_str(world, ordinal, REVISION);
    return *revision && !str_eq(revision, world->uid);
}

static bool has_rolled_back(struct operator_world *world)
{
    return str_eq(world_condition(world, "RolledBack"), "True/ServerEnded");
}

static bool server_ends(struct operator_world *world)
{
    if (is_of_the_new_template(world, 0) && !*world->failure)
        snprintf(world->failure, sizeof(world->failure), "the primary was replaced");
    if (is_of_the_new_template(world, 1) && !*world_str(world, PATH_BEFORE, "data.kept") && !*world->failure)
        snprintf(world->failure, sizeof(world->failure), "a member was replaced before what it ran was stored");
    if (is_of_the_new_template(world, 1) && agent_double_is_past_init(world_agent(world, 1)) &&
        !*world_pod_str(world, 1, "status.containerStatuses[0].name")) {
        agent_double_crash(world_agent(world, 1));
        world_edit_json(world, PATH_CORE "pods/shop-mysql-1",
            "{'status': {'containerStatuses': [{'name': 'mysql', 'restartCount': 2, 'ready': false, 'state': {'waiting':"
            "{'reason': 'CrashLoopBackOff'}}, 'lastState': {'terminated': {'exitCode': 1, 'message': 'no such thing'}}}]}}");
    }
    return has_rolled_back(world);
}

static bool runs_as_before(struct operator_world *world)
{
    return has_rolled_back(world) && world_int(world, PATH_CLUSTER, "status.readyReplicas") == 2 &&
        !*world_str(world, PATH_STATEFUL_SET, SITE) && *world_pod_str(world, 1, "metadata.name") &&
        !is_of_the_new_template(world, 1) && str_eq(world_condition(world, "Replicated"), "True/AllFollow") &&
        str_eq(world_condition(world, "Progressing"), "False/Settled") &&
        str_eq(world_condition(world, "Stalled"), "True/RolledBack") &&
        str_eq(world_condition(world, "Ready"), "False/RolledBack") &&
        str_eq(world_condition(world, "Available"), "True/PrimaryReady") &&
        str_eq(world_condition(world, "Accepted"), "True/Accepted");
}

#define UNTIL_IT_RUNS_AS_BEFORE \
    is_proven, role_story_quiet, want_a_site, passes_checks, server_ends, runs_as_before, role_story_quiet

static void an_operator_may_die_at_any_step_of_going_back(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_IT_RUNS_AS_BEFORE, NULL};
    role_story_dies_at_every_step(&(struct role_story){"'replicas': 2", steps, 2}, 8);
}

/* The double numbers what it makes. */
static int64_t serial_of(const struct operator_world *world, int ordinal)
{
    const char *uid = world_pod_str(world, ordinal, "metadata.uid");
    const char *tail = strrchr(uid, '-');
    return tail ? strtoll(tail + 1, NULL, 16) : -1;
}

static bool note_uids(struct operator_world *world)
{
    for (int i = 0; i < 2; i++)
        world->numbers[i] = serial_of(world, i);
    return true;
}

static bool take_it_back(struct operator_world *world)
{
    role_story_edit_spec(world, "{'podTemplate': null}");
    return true;
}

static bool is_forgotten(struct operator_world *world)
{
    return !*world_condition(world, "RolledBack") && world_is_settled(world);
}

static void a_wish_that_is_taken_back_touches_nobody(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_IT_RUNS_AS_BEFORE, note_uids, take_it_back, is_forgotten, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'replicas': 2");
    operator_world_run(world, steps);
    for (int i = 0; i < 2; i++)
        assert_int_equal(serial_of(world, i), world->numbers[i]);
    operator_world_free(world);
}

static bool ask_again(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'metadata': {'annotations': {'kubemysql.dev/roll-again': '1'}}}");
    return true;
}

static bool all_have_it(struct operator_world *world)
{
    return is_of_the_new_template(world, 0) && is_of_the_new_template(world, 1) && is_forgotten(world);
}

static void an_annotation_tries_it_again(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_IT_RUNS_AS_BEFORE, ask_again, passes_checks, all_have_it, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'replicas': 2");
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool grow(struct operator_world *world)
{
    role_story_edit_spec(world, "{'replicas': 3}");
    return true;
}

static bool has_grown(struct operator_world *world)
{
    return world_int(world, PATH_CLUSTER, "status.readyReplicas") == 3 && has_rolled_back(world);
}

static void new_members_are_made_of_what_runs(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_IT_RUNS_AS_BEFORE, grow, has_grown, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'replicas': 2");
    operator_world_run(world, steps);
    assert_false(is_of_the_new_template(world, 2));
    operator_world_free(world);
}

static bool put_a_foreign_one(struct operator_world *world)
{
    world_put_json(world, PATH_BEFORE,
        "{'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'shop-mysql-before', 'namespace': 'ns1'},"
        "'data': {'mine': 'yes'}}");
    return true;
}

static bool check_passes_and_nothing_is_stored(struct operator_world *world)
{
    passes_checks(world);
    return strstr(role_story_status(world, "nextAction"), "ConfigMap shop-mysql-before exists and is not ours") != NULL;
}

static void what_is_somebody_elses_is_not_stored_over(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        is_proven, role_story_quiet, put_a_foreign_one, want_a_site, check_passes_and_nothing_is_stored, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'replicas': 2");
    operator_world_run(world, steps);
    assert_string_equal(world_str(world, PATH_BEFORE, "data.mine"), "yes");
    assert_string_equal(world_str(world, PATH_STATEFUL_SET, SITE), "");
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_may_die_at_any_step_of_going_back),
        cmocka_unit_test(a_wish_that_is_taken_back_touches_nobody),
        cmocka_unit_test(an_annotation_tries_it_again),
        cmocka_unit_test(new_members_are_made_of_what_runs),
        cmocka_unit_test(what_is_somebody_elses_is_not_stored_over),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
