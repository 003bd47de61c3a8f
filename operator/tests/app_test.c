/* SPDX-License-Identifier: Apache-2.0 */
/* The whole operator with --enable=app against the API double: Deployment and Service come, are kept, follow the spec;
 * the status is the Deployment's. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/tests/operator_world.h"

#define PATH_APP "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/apps/web"
#define PATH_DEPLOYMENT "/apis/apps/v1/namespaces/ns1/deployments/web"
#define PATH_SERVICE PATH_CORE "services/web"
#define CONTAINER "spec.template.spec.containers[0]."

#define APP                                                                                                         \
    "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'App', 'metadata': {'name': 'web', 'namespace': 'ns1'}, "     \
    "'spec': {'replicas': 2, 'image': 'nginx', 'ports': [{'port': 8080, 'targetPort': 80}], 'envs': [{'name': "     \
    "'GREETING', 'value': 'hello'}, {'name': 'NODE', 'valueFrom': {'fieldRef': {'fieldPath': 'spec.nodeName'}}}], " \
    "'resources': {'requests': {'cpu': '10m'}, 'limits': {'memory': '64Mi'}}}}"

static const char *ready(struct operator_world *world)
{
    return world_condition_of(world, PATH_APP, "Ready");
}

static bool is_there(const struct operator_world *world, const char *path)
{
    return kube_api_double_get(world->api, path) != NULL;
}

static bool quiet(struct operator_world *world)
{
    return world_is_quiet(world, 150);
}

static struct operator_world *app_world_new(const char *app)
{
    struct operator_world *world = operator_world_new();
    world->app = true;
    world_put_json(world, PATH_APP, app);
    return world;
}

static void run(const world_step_fn *steps)
{
    struct operator_world *world = app_world_new(APP);
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- Deployment and Service ---- */

static bool both_are_made(struct operator_world *world)
{
    if (!is_there(world, PATH_DEPLOYMENT) || !is_there(world, PATH_SERVICE))
        return false;
    assert_int_equal(world_int(world, PATH_DEPLOYMENT, "spec.replicas"), 2);
    assert_string_equal(world_str(world, PATH_DEPLOYMENT, CONTAINER "image"), "nginx");
    assert_string_equal(world_str(world, PATH_DEPLOYMENT, CONTAINER "env[0].value"), "hello");
    assert_string_equal(
        world_str(world, PATH_DEPLOYMENT, CONTAINER "env[1].valueFrom.fieldRef.fieldPath"), "spec.nodeName");
    assert_string_equal(world_str(world, PATH_DEPLOYMENT, CONTAINER "resources.limits.memory"), "64Mi");
    assert_string_equal(world_str(world, PATH_DEPLOYMENT, "metadata.ownerReferences[0].kind"), "App");
    assert_int_equal(world_int(world, PATH_SERVICE, "spec.ports[0].targetPort"), 80);
    assert_string_equal(world_str(world, PATH_SERVICE, "spec.selector[\"kubemysql.dev/app\"]"), "web");
    return true;
}

static bool progresses(struct operator_world *world)
{
    return str_eq(ready(world), "False/Progressing") &&
        str_eq(world_condition_of(world, PATH_APP, "Reconciling"), "True/Progressing") &&
        *world_str(world, PATH_APP, "status.appliedHash");
}

/* As the Deployment controller does. */
static bool roll_out(struct operator_world *world)
{
    _cleanup_(freep) char *text =
        xasprintf("{'metadata': {'annotations': {'deployment.kubernetes.io/revision': '%d'}}, "
                  "'status': {'observedGeneration': %d, 'replicas': %d, 'updatedReplicas': %d, "
                  "'readyReplicas': %d, 'availableReplicas': %d, 'conditions': [{'type': "
                  "'Available', 'status': 'True', 'reason': 'MinimumReplicasAvailable', "
                  "'message': 'm', 'lastUpdateTime': '2026-01-02T03:04:05Z', "
                  "'lastTransitionTime': '2026-01-02T03:04:05Z'}]}}",
            (int)++world->numbers[1], (int)world_int(world, PATH_DEPLOYMENT, "metadata.generation"),
            (int)world_int(world, PATH_DEPLOYMENT, "spec.replicas"),
            (int)world_int(world, PATH_DEPLOYMENT, "spec.replicas"),
            (int)world_int(world, PATH_DEPLOYMENT, "spec.replicas"),
            (int)world_int(world, PATH_DEPLOYMENT, "spec.replicas"));
    world_edit_json(world, PATH_DEPLOYMENT, text);
    return true;
}

static bool is_ready(struct operator_world *world)
{
    return str_eq(ready(world), "True/Available");
}

static bool shows_the_deployment(struct operator_world *world)
{
    assert_int_equal(world_int(world, PATH_APP, "status.availableReplicas"), 2);
    assert_int_equal(world_int(world, PATH_APP, "status.observedGeneration"), 1);
    assert_string_equal(world_str(world, PATH_APP, "status.selector"), "kubemysql.dev/app=web");
    assert_string_equal(world_condition_of(world, PATH_APP, "Available"), "True/MinimumReplicasAvailable");
    return true;
}

#define UNTIL_READY both_are_made, progresses, roll_out, is_ready, quiet

static void deployment_and_service_come_and_are_told_of(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_READY, shows_the_deployment, NULL};
    run(steps);
}

static bool put_pod_without_image(struct operator_world *world)
{
    world_put_json(world, PATH_CORE "pods/web-1",
        "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'web-1', 'namespace': 'ns1', 'labels': "
        "{'kubemysql.dev/app': 'web'}}, 'status': {'containerStatuses': [{'name': 'app', 'state': {'waiting': {'reason': "
        "'ImagePullBackOff', 'message': 'no such image'}}}]}}");
    return true;
}

static bool says_what_the_pod_lacks(struct operator_world *world)
{
    const json_t *app = kube_api_double_get(world->api, PATH_APP);
    size_t i;
    const json_t *each;
    json_array_foreach(json_path(app, "status.conditions"), i, each)
        if (str_eq(json_path_str(each, "type", ""), "Ready"))
            return str_eq(json_path_str(each, "message", ""),
                "0 of 2 pods are available; web-1: ImagePullBackOff: no such image");
    return false;
}

static void what_a_pod_lacks_is_told(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        both_are_made, progresses, put_pod_without_image, says_what_the_pod_lacks, quiet, NULL};
    run(steps);
}

static bool give_up(struct operator_world *world)
{
    world_edit_json(world, PATH_DEPLOYMENT,
        "{'status': {'observedGeneration': 1, 'replicas': 2, 'updatedReplicas': 2, 'conditions': [{'type': 'Progressing', "
        "'status': 'False', 'reason': 'ProgressDeadlineExceeded', 'message': 'no'}]}}");
    return true;
}

static bool is_stalled(struct operator_world *world)
{
    return str_eq(world_condition_of(world, PATH_APP, "Stalled"), "True/ProgressDeadlineExceeded") &&
        str_eq(world_condition_of(world, PATH_APP, "Reconciling"), "False/ProgressDeadlineExceeded");
}

static void a_roll_that_does_not_end_is_stalled(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {both_are_made, give_up, is_stalled, quiet, NULL};
    run(steps);
}

/* ---- kept equal ---- */

static bool break_things(struct operator_world *world)
{
    world_edit_json(world, PATH_SERVICE,
        "{'spec': {'clusterIP': '10.0.0.7', 'type': 'NodePort', 'selector': {'x': 'y'}, 'ports': [{'port': 1}]}}");
    world_edit_json(world, PATH_DEPLOYMENT,
        "{'spec': {'replicas': 7, 'template': {'spec': {'nodeSelector': {'a': 'b'}, 'containers': [{'name': 'app', 'image': "
        "'other', 'env': [{'name': 'MORE', 'value': 'x'}]}]}}}}");
    return true;
}

static bool is_mended(struct operator_world *world)
{
    const json_t *service = kube_api_double_get(world->api, PATH_SERVICE);
    return both_are_made(world) && !json_path(service, "spec.selector.x") &&
        str_eq(world_str(world, PATH_SERVICE, "spec.type"), "ClusterIP") &&
        str_eq(world_str(world, PATH_SERVICE, "spec.clusterIP"), "10.0.0.7") &&
        !json_path(kube_api_double_get(world->api, PATH_DEPLOYMENT), "spec.template.spec.nodeSelector");
}

static bool until_mended(struct operator_world *world)
{
    return world_int(world, PATH_DEPLOYMENT, "spec.replicas") == 2 &&
        world_int(world, PATH_SERVICE, "spec.ports[0].port") == 8080;
}

static bool remove_both(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_SERVICE);
    kube_api_double_remove(world->api, PATH_DEPLOYMENT);
    return true;
}

static void what_is_broken_by_hand_comes_back(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_READY, break_things, until_mended, is_mended, quiet, remove_both, both_are_made, quiet, NULL};
    run(steps);
}

static bool change_spec(struct operator_world *world)
{
    world_edit_json(world, PATH_APP,
        "{'spec': {'replicas': 3, 'image': 'nginx:2', 'envs': null, 'ports': null}, 'metadata': {'generation': 2}}");
    return true;
}

static bool followed(struct operator_world *world)
{
    return world_int(world, PATH_DEPLOYMENT, "spec.replicas") == 3 &&
        str_eq(world_str(world, PATH_DEPLOYMENT, CONTAINER "image"), "nginx:2") &&
        !json_path(kube_api_double_get(world->api, PATH_DEPLOYMENT), CONTAINER "env") && !is_there(world, PATH_SERVICE);
}

static void a_changed_spec_is_followed(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_READY, change_spec, followed, roll_out, is_ready, quiet, NULL};
    run(steps);
}

/* ---- nothing to do ---- */

static bool note_writes(struct operator_world *world)
{
    world->looks_before = kube_api_double_writes(world->api);
    return true;
}

static bool kill_it(struct operator_world *world)
{
    world_kill_operator(world);
    return true;
}

static bool leads_again(struct operator_world *world)
{
    return !world->is_dead && kube_api_double_watches(world->api) > 8;
}

static bool nothing_was_written(struct operator_world *world)
{
    assert_int_equal(kube_api_double_writes(world->api), world->looks_before);
    assert_int_equal(kube_api_double_requests(world->api, "GET", PATH_DEPLOYMENT), world->numbers[2]);
    return true;
}

static bool note_reads(struct operator_world *world)
{
    world->numbers[2] = (int64_t)kube_api_double_requests(world->api, "GET", PATH_DEPLOYMENT);
    return true;
}

static void a_restart_asks_and_writes_nothing(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_READY, note_writes, note_reads, kill_it, leads_again, quiet, nothing_was_written, NULL};
    run(steps);
}

/* ---- others', and the end ---- */

#define FOREIGN \
    "{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'web', 'namespace': 'ns1'}, 'spec': {'mine': '1'}}"

static bool conflict_is_told(struct operator_world *world)
{
    return str_eq(ready(world), "False/ForeignObject") && is_there(world, PATH_DEPLOYMENT) &&
        str_eq(world_condition_of(world, PATH_APP, "Stalled"), "True/ForeignObject");
}

static bool foreign_stands(struct operator_world *world)
{
    assert_string_equal(world_str(world, PATH_SERVICE, "spec.mine"), "1");
    kube_api_double_remove(world->api, PATH_SERVICE);
    return true;
}

static void a_foreign_service_is_left_alone(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {conflict_is_told, quiet, foreign_stands, both_are_made, progresses, NULL};
    struct operator_world *world = app_world_new(APP);
    world_put_json(world, PATH_SERVICE, FOREIGN);
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool is_invalid(struct operator_world *world)
{
    return str_eq(ready(world), "False/InvalidSpec") && !is_there(world, PATH_DEPLOYMENT);
}

static bool mend_spec(struct operator_world *world)
{
    world_edit_json(world, PATH_APP, "{'spec': {'ports': [{'port': 1, 'name': 'a'}, {'port': 2, 'name': 'b'}]}}");
    return true;
}

static bool is_made(struct operator_world *world)
{
    return is_there(world, PATH_DEPLOYMENT) && progresses(world);
}

static void a_bad_spec_changes_nothing(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {is_invalid, quiet, mend_spec, is_made, NULL};
    struct operator_world *world = app_world_new(APP);
    world_edit_json(world, PATH_APP, "{'spec': {'ports': [{'port': 1}, {'port': 2}]}}");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- without the kind ---- */

static bool cluster_is_made(struct operator_world *world)
{
    return !world_missing_child(world) && str_starts_with(world_condition(world, "Ready"), "True/");
}

static bool install_the_kind(struct operator_world *world)
{
    assert_false(is_there(world, PATH_DEPLOYMENT));
    kube_api_double_clear_faults(world->api);
    return true;
}

/* The list of Apps, or that of the Deployments, is refused: databases are looked after all the same, and Apps from
 * then on. */
static void what_is_not_installed_holds_nothing_else_up(void **state)
{
    UNUSED(state);
    static const struct kube_api_fault faults[] = {
        {.method = "LIST", .path_prefix = "/apis/kubemysql.dev/v1alpha1/apps", .times = -1, .status = 404},
        {.method = "LIST", .path_prefix = "/apis/apps/v1/deployments", .times = -1, .status = 403},
    };
    static const world_step_fn steps[] = {cluster_is_made, install_the_kind, both_are_made, progresses, NULL};
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        struct operator_world *world = app_world_new(APP);
        kube_api_double_fault(world->api, &faults[i]);
        world_put_cluster(world, "");
        operator_world_run(world, steps);
        operator_world_free(world);
    }
}

/* Another controller's finalizer keeps it. */
static bool begin_deletion(struct operator_world *world)
{
    world_edit_json(world, PATH_APP, "{'metadata': {'finalizers': ['test/waits']}}");
    kube_api_double_remove(world->api, PATH_APP);
    return true;
}

static bool remove_service(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_SERVICE);
    world_edit_json(world, PATH_DEPLOYMENT, "{'spec': {'replicas': 0}}");
    return true;
}

static bool nothing_comes_back(struct operator_world *world)
{
    assert_false(is_there(world, PATH_SERVICE));
    assert_int_equal(world_int(world, PATH_DEPLOYMENT, "spec.replicas"), 0);
    return true;
}

static bool end_deletion(struct operator_world *world)
{
    world_edit_json(world, PATH_APP, "{'metadata': {'finalizers': []}}");
    kube_api_double_remove(world->api, PATH_APP);
    return true;
}

static bool all_is_gone(struct operator_world *world)
{
    return !is_there(world, PATH_APP) && !is_there(world, PATH_DEPLOYMENT) && !is_there(world, PATH_SERVICE);
}

static void one_that_is_being_deleted_is_left_alone(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_READY, begin_deletion, quiet, remove_service, quiet, nothing_comes_back, end_deletion, all_is_gone, NULL};
    run(steps);
}

static void a_killed_operator_loses_nothing(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_READY, NULL};
    for (size_t i = 1; i <= 4; i++) {
        struct operator_world *world = app_world_new(APP);
        world->kill_after = i;
        operator_world_run(world, steps);
        operator_world_free(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deployment_and_service_come_and_are_told_of),
        cmocka_unit_test(what_a_pod_lacks_is_told),
        cmocka_unit_test(a_roll_that_does_not_end_is_stalled),
        cmocka_unit_test(what_is_broken_by_hand_comes_back),
        cmocka_unit_test(a_changed_spec_is_followed),
        cmocka_unit_test(a_restart_asks_and_writes_nothing),
        cmocka_unit_test(a_foreign_service_is_left_alone),
        cmocka_unit_test(a_bad_spec_changes_nothing),
        cmocka_unit_test(what_is_not_installed_holds_nothing_else_up),
        cmocka_unit_test(one_that_is_being_deleted_is_left_alone),
        cmocka_unit_test(a_killed_operator_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
