/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told of a cluster of which no member is up, against doubles of the API server and of the agents: where that
 * comes by itself, and where my.cnf keeps its servers from starting. Nobody can try a my.cnf that is changed while the
 * cluster sleeps, so it is told as of a new cluster when it wakes.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/tests/role_story.h"

#define REFUSED "10.11.6-MariaDB refuses my.cnf: unknown variable 'max_conections=300'"

static bool accepted_says(struct operator_world *world, const char *text)
{
    const json_t *conditions = json_path(kube_api_double_get(world->api, PATH_CLUSTER), "status.conditions");
    size_t i;
    const json_t *condition;
    json_array_foreach(conditions, i, condition) {
        if (str_eq(json_path_str(condition, "type", ""), "Accepted"))
            return str_eq(json_path_str(condition, "message", ""), text);
    }
    return false;
}

static void is_not_lost(struct operator_world *world)
{
    if (str_eq(role_story_status(world, "state"), "Lost") && !*world->failure)
        snprintf(world->failure, sizeof(world->failure), "it is Lost");
}

static bool sleep_on(struct operator_world *world)
{
    role_story_edit_spec(world, "{'replicas': 0}");
    return true;
}

/* What ran last is what is wanted: nothing has to be tried. */
static bool sleeps(struct operator_world *world)
{
    return kube_api_double_count(world->api, "/api/v1/pods") == 0 && role_story_settled(world) &&
        str_eq(role_story_status(world, "state"), "Offline") && accepted_says(world, "the spec is in force");
}

static bool misspell(struct operator_world *world)
{
    role_story_edit_spec(world, "{'mycnf': {'max_conections': 300}}");
    return true;
}

static bool is_untried(struct operator_world *world)
{
    return role_story_settled(world) && str_eq(world_condition(world, "Accepted"), "True/Accepted") &&
        accepted_says(world, "the spec is good; its image and my.cnf are tried when members start");
}

static bool wake(struct operator_world *world)
{
    world->kubernetes.init_refuses = REFUSED;
    role_story_edit_spec(world, "{'replicas': 3}");
    return true;
}

static bool is_refused(struct operator_world *world)
{
    is_not_lost(world);
    return str_eq(world_condition(world, "Accepted"), "False/MycnfRejected") &&
        str_eq(world_condition(world, "Ready"), "False/NotAccepted") &&
        str_eq(world_condition(world, "Stalled"), "True/MycnfRejected") &&
        str_eq(role_story_status(world, "state"), "Incomplete") &&
        accepted_says(world, "spec.mycnf.max_conections: " REFUSED) &&
        str_starts_with(role_story_status(world, "nextAction"), "correct spec.mycnf.max_conections: ");
}

static bool correct(struct operator_world *world)
{
    world->kubernetes.init_refuses = NULL;
    role_story_edit_spec(world, "{'mycnf': {'max_conections': null, 'max_connections': 300}}");
    return true;
}

static bool is_up(struct operator_world *world)
{
    return role_story_settled(world) && str_eq(role_story_status(world, "state"), "Healthy") &&
        accepted_says(world, "the spec is in force");
}

static void a_mycnf_that_nobody_could_try_is_told_on_waking(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {role_story_settled, role_story_quiet, sleep_on, sleeps, role_story_quiet,
        misspell, is_untried, role_story_quiet, wake, is_refused, role_story_quiet, is_refused, correct, is_up,
        role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'replicas': 3");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* What is made from then on is young: else it all has the same time, long ago. */
static bool evict(struct operator_world *world)
{
    kube_api_double_created(world->api, "2099-01-01T00:00:00Z");
    world->numbers[0] = world_agent(world, 0)->lives;
    kube_api_double_remove(world->api, PATH_CORE "pods/shop-mysql-0");
    return true;
}

static bool is_told_as_incomplete(struct operator_world *world)
{
    is_not_lost(world);
    return str_eq(role_story_status(world, "state"), "Incomplete");
}

static bool is_back(struct operator_world *world)
{
    is_not_lost(world);
    return world_agent(world, 0)->lives != world->numbers[0] && role_story_settled(world) &&
        str_eq(role_story_status(world, "state"), "Healthy");
}

static void an_only_member_that_is_evicted_is_not_lost(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        role_story_settled, role_story_quiet, evict, is_told_as_incomplete, is_back, role_story_quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'replicas': 1");
    operator_world_run(world, steps);
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_only_member_that_is_evicted_is_not_lost),
        cmocka_unit_test(a_mycnf_that_nobody_could_try_is_told_on_waking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
