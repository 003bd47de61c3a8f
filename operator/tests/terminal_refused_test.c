/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal whose pod the API server refuses: its conditions and an Event tell the API server's words, and what to do.
 * A field that the API server does not know is refused, too. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/tests/operator_world.h"

static bool settled(struct operator_world *world)
{
    return world_is_settled(world);
}

static bool terminal_says(struct operator_world *world, const char *ready, const char *reconciling, const char *stalled)
{
    return str_eq(world_condition_of(world, PATH_TERMINAL, "Ready"), ready) &&
        str_eq(world_condition_of(world, PATH_TERMINAL, "Reconciling"), reconciling) &&
        str_eq(world_condition_of(world, PATH_TERMINAL, "Stalled"), stalled);
}

#define QUOTA \
    "pods \"shop-terminal\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=3, limited: pods=3"
#define SECURITY                                                                             \
    "pods \"shop-terminal\" is forbidden: violates PodSecurity \"restricted:latest\": host " \
    "namespaces (hostNetwork=true)"

static void refuse_terminal_pod(struct operator_world *world, const char *message)
{
    kube_api_double_clear_faults(world->api);
    kube_api_double_fault(world->api,
        &(struct kube_api_fault){.method = "POST",
            .path_prefix = PATH_CORE "pods",
            .times = -1,
            .kind = KUBE_API_FAULT_STATUS,
            .status = 403,
            .message = message});
}

static bool put_refused_terminal(struct operator_world *world)
{
    refuse_terminal_pod(world, QUOTA);
    world_put_json(world, PATH_TERMINAL,
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlTerminal',"
        "'metadata': {'name': 'shop', 'namespace': 'ns1', 'generation': 1},"
        "'spec': {'cluster': {'name': 'shop'}}}");
    return true;
}

static bool ready_says(struct operator_world *world, const char *words)
{
    const json_t *conditions = json_path(kube_api_double_get(world->api, PATH_TERMINAL), "status.conditions");
    size_t i;
    const json_t *condition;
    json_array_foreach(conditions, i, condition)
        if (str_eq(json_path_str(condition, "type", ""), "Ready"))
            return strstr(json_path_str(condition, "message", ""), words) != NULL;
    return false;
}

static bool event_says(const struct operator_world *world, const char *words)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    _cleanup_(json_decrefp) json_t *json = json_string(words);
    _cleanup_(freep) char *quoted = json_dumps(json, JSON_ENCODE_ANY);
    quoted[strlen(quoted) - 1] = '\0'; /* it goes on */
    _cleanup_(freep) char *message = xasprintf("\"message\":%s", quoted);
    return strstr(dump, message) && strstr(dump, "\"kind\":\"Event\"");
}

/* It may end without anybody's doing: other pods end. */
static bool quota_is_told(struct operator_world *world)
{
    if (!terminal_says(world, "False/PodRefused", "True/PodRefused", "False/NotStalled") || !ready_says(world, QUOTA) ||
        !ready_says(world, "; raise the ResourceQuota of namespace ns1, or let the terminal ask for less") ||
        !event_says(world, "Pod shop-terminal: " QUOTA))
        return false;
    refuse_terminal_pod(world, SECURITY);
    world_edit_json(world, PATH_TERMINAL,
        "{'metadata': {'generation': 2}, 'spec': {'podTemplate': {'spec': {'hostNetwork': true}}}}");
    return true;
}

static bool security_is_told(struct operator_world *world)
{
    if (!terminal_says(world, "False/PodRefused", "False/PodRefused", "True/PodRefused") ||
        !ready_says(
            world, SECURITY "; take out of the podTemplate what the Pod Security level of namespace ns1 forbids"))
        return false;
    world->looks_before = kube_api_double_requests(world->api, "POST", PATH_CORE "pods");
    return true;
}

/* A refusal is no error that is tried again and again within a second. */
static bool it_pauses(struct operator_world *world)
{
    if (!world_is_quiet(world, 500))
        return false;
    assert_in_range(kube_api_double_requests(world->api, "POST", PATH_CORE "pods") - world->looks_before, 0, 2);
    kube_api_double_clear_faults(world->api);
    return true;
}

static bool terminal_pod_is_made(struct operator_world *world)
{
    return kube_api_double_get(world->api, PATH_CORE "pods/shop-terminal") != NULL &&
        terminal_says(world, "False/PodNotReady", "True/PodNotReady", "False/NotStalled");
}

static void a_refused_pod_of_a_terminal_is_told(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, put_refused_terminal, quota_is_told, security_is_told, it_pauses, terminal_pod_is_made, NULL};
    struct operator_world *world = operator_world_new();
    world->terminal_recheck_ms = 1000;
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- a field that is misspelt ---- */

#define MISSPELT                                                                              \
    "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: unknown field " \
    "\"spec.nodeSelectr\""

/* As the API server answers whoever asks to be told of unknown fields. */
static void refuse_unknown_fields(struct operator_world *world)
{
    kube_api_double_fault(world->api,
        &(struct kube_api_fault){.method = "POST",
            .path_prefix = PATH_CORE "pods",
            .query = "fieldValidation",
            .times = -1,
            .kind = KUBE_API_FAULT_STATUS,
            .status = 400,
            .reason = "BadRequest",
            .message = MISSPELT});
}

static bool put_misspelt_terminal(struct operator_world *world)
{
    refuse_unknown_fields(world);
    world_put_json(world, PATH_TERMINAL,
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlTerminal',"
        "'metadata': {'name': 'shop', 'namespace': 'ns1', 'generation': 1},"
        "'spec': {'cluster': {'name': 'shop'}, 'podTemplate': {'spec': {'nodeSelectr': {'disk': 'nvme'}}}}}");
    return true;
}

static bool misspelt_field_is_told(struct operator_world *world)
{
    assert_null(kube_api_double_get(world->api, PATH_CORE "pods/shop-terminal"));
    if (!terminal_says(world, "False/PodRefused", "False/PodRefused", "True/PodRefused") ||
        !ready_says(world, MISSPELT) || !event_says(world, "Pod shop-terminal: " MISSPELT))
        return false;
    kube_api_double_clear_faults(world->api);
    return true;
}

static void a_misspelt_field_of_a_terminal_is_told(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, put_misspelt_terminal, misspelt_field_is_told, terminal_pod_is_made, NULL};
    struct operator_world *world = operator_world_new();
    world->terminal_recheck_ms = 1000;
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- a pod that runs, and whose successor is refused ---- */

static bool put_terminal(struct operator_world *world)
{
    world_put_json(world, PATH_TERMINAL,
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlTerminal',"
        "'metadata': {'name': 'shop', 'namespace': 'ns1', 'generation': 1}, 'spec': {'cluster': {'name': 'shop'}}}");
    return true;
}

static const char *uid_of_pod(struct operator_world *world)
{
    return json_path_str(kube_api_double_get(world->api, PATH_CORE "pods/shop-terminal"), "metadata.uid", "");
}

static bool misspell_running(struct operator_world *world)
{
    if (!terminal_pod_is_made(world))
        return false;
    snprintf(world->uid, sizeof(world->uid), "%s", uid_of_pod(world));
    refuse_unknown_fields(world);
    world_edit_json(world, PATH_TERMINAL,
        "{'metadata': {'generation': 2}, 'spec': {'podTemplate': {'spec': {'nodeSelectr': {'disk': 'nvme'}}}}}");
    return true;
}

static bool running_pod_stays(struct operator_world *world)
{
    assert_string_equal(uid_of_pod(world), world->uid);
    if (!terminal_says(world, "False/PodRefused", "False/PodRefused", "True/PodRefused") ||
        !ready_says(world, MISSPELT) || !event_says(world, "Pod shop-terminal: " MISSPELT) ||
        !str_eq(world_condition_of(world, PATH_TERMINAL, "Accepted"), "False/PodRefused"))
        return false;
    kube_api_double_clear_faults(world->api);
    world_edit_json(world, PATH_TERMINAL,
        "{'metadata': {'generation': 3}, 'spec': {'podTemplate': {'spec': {'nodeSelector': {'disk': 'nvme'}, "
        "'nodeSelectr': null}}}}");
    return true;
}

static bool pod_is_replaced(struct operator_world *world)
{
    return terminal_pod_is_made(world) && !str_eq(uid_of_pod(world), world->uid) &&
        str_eq(world_condition_of(world, PATH_TERMINAL, "Accepted"), "True/Accepted");
}

static void a_running_pod_stays_while_its_successor_is_refused(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        settled, put_terminal, misspell_running, running_pod_stays, pod_is_replaced, NULL};
    struct operator_world *world = operator_world_new();
    world->terminal_recheck_ms = 1000;
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- a cluster's own ---- */

static bool cluster_names_it(struct operator_world *world)
{
    if (!str_starts_with(world_str(world, PATH_CLUSTER, "status.nextAction"),
            "mend spec.terminal: MysqlTerminal shop: Pod shop-terminal: "))
        return false;
    kube_api_double_remove(world->api, PATH_CORE "pods/shop-terminal");
    return true;
}

static bool cluster_names_nothing(struct operator_world *world)
{
    return terminal_pod_is_made(world) && !*world_str(world, PATH_CLUSTER, "status.nextAction");
}

static void a_cluster_names_its_terminal_that_cannot_be_made(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {settled, cluster_names_it, cluster_names_nothing, NULL};
    struct operator_world *world = operator_world_new();
    world->terminal_recheck_ms = 200;
    world_put_json(world, PATH_CORE "pods/shop-terminal",
        "{'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'shop-terminal', 'namespace': 'ns1'}, 'spec': {}}");
    world_put_cluster(world, "'terminal': {}");
    operator_world_run(world, steps);
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_pod_of_a_terminal_is_told),
        cmocka_unit_test(a_misspelt_field_of_a_terminal_is_told),
        cmocka_unit_test(a_running_pod_stays_while_its_successor_is_refused),
        cmocka_unit_test(a_cluster_names_its_terminal_that_cannot_be_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
