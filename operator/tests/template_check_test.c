/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another template of the members' pods against the API double: the API server is asked by dry run, then a check pod
 * must find a node; until then no member is touched.
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/tests/operator_world.h"

#define PATH_CHECK_POD PATH_CORE "pods/shop-mysql-check"
#define DISK "spec.template.spec.nodeSelector.disk"

static bool settled(struct operator_world *world)
{
    return !world_missing_child(world) && world_is_settled(world) && world_is_quiet(world, 150);
}

static bool quiet(struct operator_world *world)
{
    return world_is_quiet(world, 150);
}

static bool select_disk(struct operator_world *world)
{
    snprintf(world->uid, sizeof(world->uid), "%s", world_pod_str(world, 0, "metadata.uid"));
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'podTemplate': {'spec': {'nodeSelector': {'disk': 'none'}}}}}");
    return true;
}

static bool take_back(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'podTemplate': null}}");
    return true;
}

/* As if no step of these had come to a member. */
static void assert_untouched(struct operator_world *world)
{
    assert_string_equal(world_str(world, PATH_STATEFUL_SET, DISK), "");
    assert_string_equal(world_pod_str(world, 0, "metadata.uid"), world->uid);
}

/* ---- the API server ---- */

static void refuse_dry_runs(struct operator_world *world, int status)
{
    kube_api_double_fault(world->api,
        &(struct kube_api_fault){.method = "POST",
            .path_prefix = "/api/v1/namespaces/ns1/pods",
            .query = "dryRun",
            .times = -1,
            .kind = KUBE_API_FAULT_STATUS,
            .status = status});
}

static bool dry_runs_are_refused(struct operator_world *world)
{
    refuse_dry_runs(world, 422);
    return true;
}

static bool refusal_is_told(struct operator_world *world)
{
    if (!str_eq(world_condition(world, "Accepted"), "False/TemplateRefused") || !world_is_quiet(world, 150))
        return false;
    assert_untouched(world);
    assert_null(kube_api_double_get(world->api, PATH_CHECK_POD));
    kube_api_double_clear_faults(world->api);
    return true;
}

static bool accepted(struct operator_world *world)
{
    return str_eq(world_condition(world, "Accepted"), "True/Accepted") && world_is_quiet(world, 150);
}

static void what_the_api_server_refuses_comes_to_no_member(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, dry_runs_are_refused, select_disk, refusal_is_told, take_back, accepted, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_untouched(world);
    assert_null(kube_api_double_get(world->api, PATH_CHECK_POD));
    operator_world_free(world);
}

/* ---- a new cluster ---- */

/* What pods need is there, and nothing that would make them without what was misspelt. */
static bool new_one_is_held_up(struct operator_world *world)
{
    if (!str_eq(world_condition(world, "Accepted"), "False/TemplateRefused") || !world_is_quiet(world, 150))
        return false;
    assert_null(kube_api_double_get(world->api, PATH_STATEFUL_SET));
    assert_string_equal(world_condition(world, "Stalled"), "True/TemplateRefused");
    assert_non_null(strstr(world_str(world, PATH_CLUSTER, "status.nextAction"), "correct the spec: podTemplate: "));
    kube_api_double_clear_faults(world->api);
    return true;
}

static bool is_made_corrected(struct operator_world *world)
{
    const json_t *set = kube_api_double_get(world->api, PATH_STATEFUL_SET);
    assert_true(!set || str_eq(json_path_str(set, DISK, ""), "none"));
    return set != NULL;
}

static void a_new_cluster_waits_for_a_template_that_is_taken(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {new_one_is_held_up, select_disk, is_made_corrected, settled, NULL};
    struct operator_world *world = operator_world_new();
    refuse_dry_runs(world, 422);
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* It was no matter of the spec, and is asked again. */
static void a_new_cluster_goes_on_when_the_limit_is_lifted(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {new_one_is_held_up, settled, NULL};
    struct operator_world *world = operator_world_new();
    refuse_dry_runs(world, 403);
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool unanswered_is_told(struct operator_world *world)
{
    if (!strstr(world_str(world, PATH_CLUSTER, "status.nextAction"), "once the API server has said"))
        return false;
    assert_null(kube_api_double_get(world->api, PATH_STATEFUL_SET));
    assert_string_equal(world_condition(world, "Accepted"), "True/Accepted");
    kube_api_double_clear_faults(world->api);
    return true;
}

static void a_new_cluster_waits_for_an_answer(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {unanswered_is_told, settled, NULL};
    struct operator_world *world = operator_world_new();
    refuse_dry_runs(world, 404);
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* Without the right to ask nobody is held up: the words are those of the API server's authorizer. */
static void a_new_cluster_is_made_unasked_without_the_right_to_ask(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, NULL};
    struct operator_world *world = operator_world_new();
    kube_api_double_fault(world->api,
        &(struct kube_api_fault){.method = "POST",
            .path_prefix = "/api/v1/namespaces/ns1/pods",
            .query = "dryRun",
            .times = -1,
            .kind = KUBE_API_FAULT_STATUS,
            .status = 403,
            .message = "User \"operator\" cannot create resource \"pods\" in API group \"\""});
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool dry_runs_get_no_answer_once(struct operator_world *world)
{
    kube_api_double_fault(world->api,
        &(struct kube_api_fault){.method = "POST",
            .path_prefix = "/api/v1/namespaces/ns1/pods",
            .query = "dryRun",
            .times = 1,
            .kind = KUBE_API_FAULT_STATUS,
            .status = 404});
    return true;
}

/* ---- the scheduler ---- */

static bool no_node_fits(struct operator_world *world)
{
    if (!kube_api_double_get(world->api, PATH_CHECK_POD))
        return false;
    assert_string_equal(world_str(world, PATH_CHECK_POD, "spec.nodeSelector.disk"), "none");
    world_edit_json(world, PATH_CHECK_POD,
        "{'status': {'phase': 'Pending', 'conditions': [{'type': 'PodScheduled', 'status': 'False', 'reason':"
        "'Unschedulable', 'message': '0/2 nodes are available'}]}}");
    return true;
}

static bool it_is_told(struct operator_world *world)
{
    if (!str_eq(world_condition(world, "Accepted"), "False/Unschedulable") || !world_is_quiet(world, 150))
        return false;
    assert_untouched(world);
    return true;
}

static bool node_comes(struct operator_world *world)
{
    world_edit_json(world, PATH_CHECK_POD,
        "{'status': {'phase': 'Running', 'conditions': [{'type': 'PodScheduled', 'status': 'True'}]}}");
    return true;
}

static bool is_in_force(struct operator_world *world)
{
    return str_eq(world_str(world, PATH_STATEFUL_SET, DISK), "none") && !kube_api_double_get(world->api, PATH_CHECK_POD);
}

static void a_template_that_no_node_takes_waits_for_one(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, select_disk, no_node_fits, it_is_told, node_comes, accepted,
        world_check_passes, is_in_force, settled, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_string_not_equal(world_pod_str(world, 0, "metadata.uid"), world->uid);
    operator_world_free(world);
}

static void it_can_be_taken_back(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, select_disk, no_node_fits, it_is_told, take_back, accepted, settled, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_untouched(world);
    assert_null(kube_api_double_get(world->api, PATH_CHECK_POD));
    operator_world_free(world);
}

static void a_question_without_an_answer_is_asked_again(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, dry_runs_get_no_answer_once, select_disk, world_check_passes, is_in_force, settled, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_api_server_refuses_comes_to_no_member),
        cmocka_unit_test(a_new_cluster_waits_for_a_template_that_is_taken),
        cmocka_unit_test(a_new_cluster_goes_on_when_the_limit_is_lifted),
        cmocka_unit_test(a_new_cluster_waits_for_an_answer),
        cmocka_unit_test(a_new_cluster_is_made_unasked_without_the_right_to_ask),
        cmocka_unit_test(a_template_that_no_node_takes_waits_for_one),
        cmocka_unit_test(it_can_be_taken_back),
        cmocka_unit_test(a_question_without_an_answer_is_asked_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
