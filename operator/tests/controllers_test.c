/* SPDX-License-Identifier: Apache-2.0 */
/* The controllers as a whole against the API double: what the world looks like in the end, whatever happens on the
 * way. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/tls.h"
#include "operator/cluster/desired/desired.h"
#include "operator/tests/operator_world.h"

#define PATH_APP PATH_CORE "secrets/shop-mysql-app"
#define PATH_BUNDLE PATH_CORE "configmaps/shop-mysql-ca-bundle"

/* Everything of a settled cluster, itself included. */
static const char *const kept_paths[] = {PATH_CLUSTER, PATH_STATEFUL_SET, PATH_SLICE, PATH_BUDGET,
    PATH_CORE "serviceaccounts/shop-mysql", PATH_CORE "configmaps/shop-mysql-config", PATH_CORE "services/shop-mysql",
    PATH_CORE "services/shop-mysql-primary", PATH_CORE "services/shop-mysql-replicas",
    PATH_CORE "secrets/shop-mysql-accounts", PATH_CORE "secrets/shop-mysql-ca", PATH_CORE "secrets/shop-mysql-tls",
    PATH_CORE "pods/shop-mysql-0"};

/* ---- steps that many stories share ---- */

static bool all_children(struct operator_world *world)
{
    return !world_missing_child(world);
}

static bool settled(struct operator_world *world)
{
    return world_is_settled(world);
}

static bool quiet(struct operator_world *world)
{
    return world_is_quiet(world, 150);
}

#define UNTIL_SETTLED all_children, settled, quiet

/* ---- creation ---- */

static bool route_leads_to_the_pod(struct operator_world *world)
{
    const char *address = world_str(world, PATH_SLICE, "endpoints[0].addresses[0]");
    return *address && str_eq(address, world_pod_str(world, 0, "status.podIP"));
}

/* What `kubectl wait --for=condition=Ready` waits for: not before the database takes writes. */
static bool is_ready_when_open(struct operator_world *world)
{
    if (!str_starts_with(world_condition(world, "Ready"), "True/"))
        return false;
    assert_string_equal(world_condition(world, "Ready"), "True/TakesWrites");
    assert_true(agent_double_is_open(world_agent(world, 0)));
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.appliedGeneration"), 1);
    return true;
}

/* Named by the status, and without a word of root, replication, monitor or a key. */
static void check_binding(const struct operator_world *world)
{
    assert_string_equal(world_str(world, PATH_CLUSTER, "status.binding.name"), "shop-mysql-app");
    assert_string_equal(world_str(world, PATH_APP, "type"), "servicebinding.io/mysql");
    assert_string_equal(world_str(world, PATH_APP, "data.password"), "dmVyeSBzZWNyZXQ=");
    _cleanup_(freep) char *dump = json_dumps(json_path(kube_api_double_get(world->api, PATH_APP), "data"), 0);
    static const char *const others[] = {"root", "replication", "monitor"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        _cleanup_(freep) char *path = xasprintf("data.%s", others[i]);
        assert_null(strstr(dump, world_str(world, PATH_CORE "secrets/shop-mysql-accounts", path)));
    }
    const json_t *bundle = json_path(kube_api_double_get(world->api, PATH_BUNDLE), "data");
    assert_int_equal(json_object_size(bundle), 1);
    assert_non_null(strstr(json_string_value(json_object_get(bundle, "ca.crt")), "BEGIN CERTIFICATE"));
    assert_null(strstr(json_string_value(json_object_get(bundle, "ca.crt")), "PRIVATE KEY"));
}

static void creation_ends_with_a_serving_cluster(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {is_ready_when_open, UNTIL_SETTLED, route_leads_to_the_pod, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'database': 'd', 'username': 'u', 'password': 'very secret'");
    operator_world_run(world, steps);
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.readyReplicas"), 1);
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.appliedGeneration"), 1);
    assert_string_equal(world_str(world, PATH_CLUSTER, "status.currentPrimary"), "shop-mysql-0");
    assert_string_equal(world_str(world, PATH_CLUSTER, "status.nextAction"), "");
    assert_string_equal(world_str(world, PATH_CORE "secrets/shop-mysql-accounts", "data.user"), "dmVyeSBzZWNyZXQ=");
    check_binding(world);
    /* I9: the password is in Secrets (and in the spec of who put it there) only. */
    kube_api_double_remove(world->api, PATH_CORE "secrets/shop-mysql-accounts");
    kube_api_double_remove(world->api, PATH_CORE "secrets/shop-mysql-app");
    world_edit_json(world, PATH_CLUSTER, "{'spec': null}");
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    assert_null(strstr(dump, "very secret"));
    assert_null(strstr(dump, "dmVyeSBzZWNyZXQ"));
    assert_null(strstr(dump, "very%20secret"));
    operator_world_free(world);
}

/* ---- self-healing (I11) ---- */

static bool break_things(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_CORE "services/shop-mysql-primary");
    kube_api_double_remove(world->api, PATH_CORE "secrets/shop-mysql-accounts");
    kube_api_double_remove(world->api, PATH_BUNDLE);
    world_edit_json(world, PATH_CORE "configmaps/shop-mysql-config", "{'data': {'my.cnf': 'broken'}}");
    world_edit_json(world, PATH_STATEFUL_SET, "{'spec': {'replicas': 7}}");
    return true;
}

static bool healed(struct operator_world *world)
{
    return !world_missing_child(world) && world_int(world, PATH_STATEFUL_SET, "spec.replicas") == 1 &&
        !str_eq(world_str(world, PATH_CORE "configmaps/shop-mysql-config", "data[\"my.cnf\"]"), "broken");
}

static void what_is_broken_by_hand_comes_back(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, break_things, healed, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world->secrets_fresh_ms = 1;
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool break_what_cannot_be_mended(struct operator_world *world)
{
    static const struct kube_api_fault fault = {.method = "PATCH",
        .path_prefix = PATH_CORE "services/",
        .kind = KUBE_API_FAULT_STATUS,
        .status = 422,
        .reason = "Invalid",
        .times = -1};
    kube_api_double_fault(world->api, &fault);
    world_edit_json(world, PATH_CORE "services/shop-mysql-primary", "{'spec': {'ports': []}}");
    world_edit_json(world, PATH_STATEFUL_SET, "{'spec': {'replicas': 7}}");
    return true;
}

static bool others_are_mended(struct operator_world *world)
{
    return world_int(world, PATH_STATEFUL_SET, "spec.replicas") == 1;
}

static bool refusal_ends(struct operator_world *world)
{
    assert_int_equal(world_int(world, PATH_CORE "services/shop-mysql-primary", "spec.ports[0].port"), 0);
    kube_api_double_clear_faults(world->api);
    return true;
}

static bool service_is_mended(struct operator_world *world)
{
    return world_int(world, PATH_CORE "services/shop-mysql-primary", "spec.ports[0].port") == 3306;
}

static void one_refused_object_keeps_no_other_from_being_mended(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, break_what_cannot_be_mended, others_are_mended, refusal_ends, service_is_mended, settled, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- objects of others ---- */

#define FOREIGN_SERVICE \
    "{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'shop-mysql', 'namespace': 'ns1'}, 'spec': {'mine': true}}"

static bool conflict_is_told(struct operator_world *world)
{
    return str_eq(world_condition(world, "ChildConflict"), "True/ForeignObject");
}

static bool remedy_is_told(struct operator_world *world)
{
    assert_string_equal(world_condition(world, "Stalled"), "True/ForeignObject");
    assert_string_equal(world_str(world, PATH_CLUSTER, "status.nextAction"),
        "free the names that the cluster needs: Service shop-mysql: an object of this name exists and is not ours; "
        "it is left alone. Rename or remove it");
    return true;
}

static void a_foreign_service_is_left_alone(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {conflict_is_told, remedy_is_told, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_json(world, PATH_CORE "services/shop-mysql", FOREIGN_SERVICE);
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_true(json_path_bool(kube_api_double_get(world->api, PATH_CORE "services/shop-mysql"), "spec.mine", false));
    assert_null(kube_api_double_get(world->api, PATH_STATEFUL_SET));
    operator_world_free(world);
}

#define FOREIGN_SECRET \
    "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'shop-mysql-tls', 'namespace': 'ns1'}, 'data': {}}"

static void without_its_secrets_nothing_is_made(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {conflict_is_told, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_json(world, PATH_CORE "secrets/shop-mysql-tls", FOREIGN_SECRET);
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_null(kube_api_double_get(world->api, PATH_STATEFUL_SET));
    operator_world_free(world);
}

/* ---- deleted and made again under the same name ---- */

static bool replace_cluster(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_CLUSTER); /* takes the children along */
    world_put_cluster(world, "");
    return true;
}

static bool all_of_the_new_one(struct operator_world *world)
{
    const char *uid = world_str(world, PATH_CLUSTER, "metadata.uid");
    return !world_missing_child(world) &&
        str_eq(world_str(world, PATH_STATEFUL_SET, "metadata.ownerReferences[0].uid"), uid) &&
        str_eq(world_str(world, PATH_CORE "secrets/shop-mysql-ca", "metadata.ownerReferences[0].uid"), uid);
}

static void a_cluster_made_again_gets_everything_anew(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, replace_cluster, all_of_the_new_one, settled, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- deleted for good ---- */

static bool delete_cluster(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_CLUSTER);
    return true;
}

static bool claims_are_told_of(struct operator_world *world)
{
    _cleanup_(freep) char *dump = kube_api_double_dump(world->api);
    return strstr(dump, "the cluster is deleted, its data is not") && strstr(dump, "delete pvc data-shop-mysql-0");
}

static void claims_that_outlive_the_cluster_are_told(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, delete_cluster, claims_are_told_of, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool first_child(struct operator_world *world)
{
    return kube_api_double_get(world->api, PATH_CORE "secrets/shop-mysql-ca") != NULL;
}

/* As Kubernetes' garbage collector: what was made for the former one after it was gone. */
static bool orphans_are_collected(struct operator_world *world)
{
    const char *uid = world_str(world, PATH_CLUSTER, "metadata.uid");
    for (size_t i = 0; i < ARRAY_LEN(kept_paths); i++) {
        const char *owner = world_str(world, kept_paths[i], "metadata.ownerReferences[0].uid");
        if (*owner && !str_eq(owner, uid))
            kube_api_double_remove(world->api, kept_paths[i]);
    }
    return all_of_the_new_one(world);
}

static void a_cluster_may_be_replaced_in_the_middle_of_a_round(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {first_child, replace_cluster, orphans_are_collected, settled, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool remove_cluster(struct operator_world *world)
{
    kube_api_double_remove(world->api, PATH_CLUSTER);
    return true;
}

static void a_cluster_may_go_in_the_middle_of_a_round(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {first_child, remove_cluster, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

/* ---- my.cnf ---- */

#define PATH_CHECK_POD PATH_CORE "pods/shop-mysql-check"

static bool change_mycnf(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'mycnf': {'max_connections': 77}}}");
    return true;
}

static bool check_pod_runs(struct operator_world *world)
{
    return kube_api_double_get(world->api, PATH_CHECK_POD) && world_is_quiet(world, 100);
}

static bool members_are_untouched(struct operator_world *world)
{
    if (strstr(world_str(world, PATH_CORE "configmaps/shop-mysql-config", "data[\"my.cnf\"]"), "77"))
        snprintf(world->failure, sizeof(world->failure), "the ConfigMap changed before the check");
    return true;
}

static bool check_fails(struct operator_world *world)
{
    world_edit_json(world, PATH_CHECK_POD,
        "{'status': {'phase': 'Failed', 'containerStatuses': [{'name': 'check', 'state': {'terminated':"
        "{'exitCode': 1, 'reason': 'Error', 'message': 'unknown variable'}}}]}}");
    return true;
}

static bool refusal_is_told(struct operator_world *world)
{
    return str_eq(world_condition(world, "Accepted"), "False/MycnfRejected");
}

static bool undo_mycnf(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'mycnf': null}}");
    return true;
}

static bool check_pod_is_gone(struct operator_world *world)
{
    return !kube_api_double_get(world->api, PATH_CHECK_POD);
}

static bool check_succeeds(struct operator_world *world)
{
    world_edit_json(world, PATH_CHECK_POD, "{'status': {'phase': 'Succeeded'}}");
    return true;
}

static bool new_mycnf_is_applied(struct operator_world *world)
{
    return strstr(world_str(world, PATH_CORE "configmaps/shop-mysql-config", "data[\"my.cnf\"]"), "77") &&
        check_pod_is_gone(world);
}

static bool note_pod(struct operator_world *world)
{
    world_agent(world, 0)->mycnf_needs_restart = true;
    snprintf(world->uid, sizeof(world->uid), "%s", world_pod_str(world, 0, "metadata.uid"));
    return true;
}

static bool pod_is_replaced(struct operator_world *world)
{
    const char *uid = world_pod_str(world, 0, "metadata.uid");
    return *uid && !str_eq(uid, world->uid);
}

static void a_new_mycnf_is_tried_before_members_are_touched(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, change_mycnf, check_pod_runs, members_are_untouched,
        check_fails, refusal_is_told, members_are_untouched, undo_mycnf, check_pod_is_gone, settled, change_mycnf,
        check_pod_runs, note_pod, check_succeeds, new_mycnf_is_applied, pod_is_replaced, settled, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_string_equal(world_condition(world, "Accepted"), "True/Accepted");
    operator_world_free(world);
}

#define LIMIT_400_MIB \
    "'podTemplate': {'spec': {'containers': [{'name': 'mysql', 'resources': {'limits': {'memory': '400Mi'}}}]}}"

/* Every server could take it up at once. */
static bool want_too_large_a_pool(struct operator_world *world)
{
    snprintf(world->uid, sizeof(world->uid), "%s", world_pod_str(world, 0, "metadata.uid"));
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'mycnf': {'innodb_buffer_pool_size': '100G'}}}");
    return true;
}

static bool pool_is_refused(struct operator_world *world)
{
    if (!str_eq(world_condition(world, "Accepted"), "False/InvalidConfig") || !world_is_quiet(world, 150))
        return false;
    assert_null(strstr(world_str(world, PATH_CORE "configmaps/shop-mysql-config", "data[\"my.cnf\"]"), "100G"));
    assert_null(kube_api_double_get(world->api, PATH_CHECK_POD));
    assert_string_equal(world_pod_str(world, 0, "metadata.uid"), world->uid);
    return true;
}

static void caches_beyond_the_memory_come_to_no_member(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, want_too_large_a_pool, pool_is_refused, undo_mycnf, settled, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, LIMIT_400_MIB);
    operator_world_run(world, steps);
    assert_string_equal(world_condition(world, "Accepted"), "True/Accepted");
    assert_string_equal(world_pod_str(world, 0, "metadata.uid"), world->uid);
    operator_world_free(world);
}

static bool note_uid(struct operator_world *world)
{
    snprintf(world->uid, sizeof(world->uid), "%s", world_pod_str(world, 0, "metadata.uid"));
    return true;
}

/* What the status says to be in force, and what the member's agent has been given, is what was tried. */
static void a_write_is_judged(void *arg)
{
    struct operator_world *world = arg;
    const char *text = world_str(world, PATH_CORE "configmaps/shop-mysql-config", "data[\"my.cnf\"]");
    int64_t generation = world_int(world, PATH_CLUSTER, "metadata.generation");
    bool is_applied = strstr(text, "77") != NULL;
    if (world->numbers[0]++ == 0)
        world_edit_json(
            world, PATH_CLUSTER, "{'metadata': {'generation': 2}, 'spec': {'mycnf': {'max_connections': 77}}}");
    else if (!is_applied && world_int(world, PATH_CLUSTER, "status.appliedGeneration") == generation)
        snprintf(world->failure, sizeof(world->failure), "what nobody has tried yet is told to be in force");
}

/* The plan's first stage mends the Service, its second the StatefulSet: the spec changes between them. */
static bool break_two_stages(struct operator_world *world)
{
    kube_api_double_on_write(world->api, a_write_is_judged, world);
    world_edit_json(world, PATH_CORE "services/shop-mysql-primary", "{'spec': {'ports': null}}");
    world_edit_json(world, PATH_STATEFUL_SET, "{'spec': {'replicas': 7}}");
    return true;
}

/* By what the agent says of its server. */
static bool mycnf_is_taken_up(struct operator_world *world)
{
    char hash[65];
    const char *text = world_str(world, PATH_CORE "configmaps/shop-mysql-config", "data[\"my.cnf\"]");
    tls_sha256_hex(text, strlen(text), hash);
    return str_eq(world_agent(world, 0)->status.mycnf_hash, hash);
}

static void a_server_that_takes_up_its_mycnf_keeps_its_pod(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, note_uid, change_mycnf, check_pod_runs, check_succeeds,
        new_mycnf_is_applied, mycnf_is_taken_up, settled, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_string_equal(world_pod_str(world, 0, "metadata.uid"), world->uid);
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.updatedReplicas"), 1);
    operator_world_free(world);
}

static bool mycnf_is_given(struct operator_world *world)
{
    if (!mycnf_is_taken_up(world))
        snprintf(world->failure, sizeof(world->failure), "the member was given a my.cnf that nobody has tried yet");
    return true;
}

static void a_spec_that_changes_in_the_middle_of_a_round_is_tried(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, note_uid, mycnf_is_taken_up, break_two_stages, check_pod_runs,
        members_are_untouched, mycnf_is_given, check_succeeds, new_mycnf_is_applied, mycnf_is_taken_up, settled, quiet,
        NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_int_equal(world_int(world, PATH_CLUSTER, "status.appliedGeneration"), 2);
    operator_world_free(world);
}

/* ---- the terminal ---- */

#define PATH_TERMINAL_POD PATH_CORE "pods/shop-terminal"

static bool terminal_is_made(struct operator_world *world)
{
    return kube_api_double_get(world->api, PATH_TERMINAL_POD) && *world_str(world, PATH_TERMINAL, "status.secret");
}

static bool drop_terminal(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'spec': {'terminal': null}}");
    return true;
}

/* What a visit under way made after its terminal was gone is left to the garbage collector. */
static bool terminal_is_gone(struct operator_world *world)
{
    if (kube_api_double_get(world->api, PATH_TERMINAL) || !world_is_quiet(world, 100))
        return false;
    kube_api_double_remove(world->api, PATH_TERMINAL_POD);
    kube_api_double_remove(world->api, PATH_CORE "secrets/shop-terminal");
    return true;
}

static bool terminal_stays_gone(struct operator_world *world)
{
    return world_is_quiet(world, 100) && !kube_api_double_get(world->api, PATH_TERMINAL) &&
        !kube_api_double_get(world->api, PATH_TERMINAL_POD) &&
        !kube_api_double_get(world->api, PATH_CORE "secrets/shop-terminal");
}

static void a_terminal_comes_and_goes_with_the_field(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, terminal_is_made, drop_terminal, terminal_is_gone, terminal_stays_gone, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "'terminal': {}");
    operator_world_run(world, steps);
    operator_world_free(world);
}

static bool terminal_says(struct operator_world *world, const char *ready, const char *reconciling, const char *stalled)
{
    return str_eq(world_condition_of(world, PATH_TERMINAL, "Ready"), ready) &&
        str_eq(world_condition_of(world, PATH_TERMINAL, "Reconciling"), reconciling) &&
        str_eq(world_condition_of(world, PATH_TERMINAL, "Stalled"), stalled);
}

/* It may come with the same apply. */
static bool terminal_awaits_its_cluster(struct operator_world *world)
{
    if (!terminal_says(world, "False/ClusterNotFound", "True/ClusterNotFound", "False/NotStalled"))
        return false;
    world_put_cluster(world, "");
    return true;
}

static bool terminal_awaits_its_pod(struct operator_world *world)
{
    if (!terminal_says(world, "False/PodNotReady", "True/PodNotReady", "False/NotStalled"))
        return false;
    world_edit_json(world, PATH_TERMINAL_POD,
        "{'status': {'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'True'}]}}");
    return true;
}

static bool terminal_is_ready(struct operator_world *world)
{
    if (!terminal_says(world, "True/PodReady", "False/Settled", "False/NotStalled"))
        return false;
    world_edit_json(world, PATH_TERMINAL, "{'spec': {'podTemplate': {'spec': {'hostname': 'x'}}}}");
    return true;
}

static bool terminal_is_stalled(struct operator_world *world)
{
    return terminal_says(world, "False/InvalidSpec", "False/InvalidSpec", "True/InvalidSpec");
}

static void a_terminal_says_how_it_is(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        terminal_awaits_its_cluster, terminal_awaits_its_pod, terminal_is_ready, terminal_is_stalled, NULL};
    struct operator_world *world = operator_world_new();
    world_put_json(world, PATH_TERMINAL,
        "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlTerminal', 'metadata': {'name': 'shop', 'namespace': 'ns1', 'generation': 1},"
        "'spec': {'cluster': {'name': 'shop'}}}");
    operator_world_run(world, steps);
    operator_world_free(world);
}

#define FOREIGN_TERMINAL                                                                                                  \
    "{'apiVersion': 'kubemysql.dev/v1alpha1', 'kind': 'MysqlTerminal', 'metadata': {'name': 'shop', 'namespace': 'ns1'}," \
    "'spec': {'cluster': {'name': 'shop'}}}"

static void somebody_elses_terminal_stays(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, conflict_is_told, terminal_is_made, drop_terminal, settled, quiet, terminal_is_made, NULL};
    struct operator_world *world = operator_world_new();
    world_put_json(world, PATH_TERMINAL, FOREIGN_TERMINAL);
    world_put_cluster(world, "'terminal': {}");
    operator_world_run(world, steps);
    assert_string_equal(world_condition(world, "ChildConflict"), "");
    operator_world_free(world);
}

/* ---- restart, faults (I10) ---- */

static char *dump_after(const struct kube_api_fault *fault)
{
    static const world_step_fn steps[] = {UNTIL_SETTLED, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    if (fault)
        kube_api_double_fault(world->api, fault);
    operator_world_run(world, steps);
    char *dump = world_children(world);
    operator_world_free(world);
    return dump;
}

static void any_failing_write_leads_to_the_same_end(void **state)
{
    UNUSED(state);
    static const struct kube_api_fault faults[] = {
        {.kind = KUBE_API_FAULT_STATUS, .status = 500},
        {.kind = KUBE_API_FAULT_STATUS, .status = 409, .carried_out = true},
        {.kind = KUBE_API_FAULT_STATUS, .status = 500, .carried_out = true},
    };
    _cleanup_(freep) char *wanted = dump_after(NULL);
    for (size_t kind = 0; kind < ARRAY_LEN(faults); kind++)
        for (int nth = 1; nth <= 15; nth++) {
            struct kube_api_fault fault = faults[kind];
            fault.nth = nth <= 12 ? nth : nth - 12;
            fault.method = nth <= 12 ? "POST" : "PATCH"; /* Secrets and children are created, the status is applied */
            _cleanup_(freep) char *dump = dump_after(&fault);
            if (!str_eq(dump, wanted))
                fail_msg("%s %d answered %d ends in\n%s\ninstead of\n%s", fault.method, fault.nth, fault.status, dump,
                    wanted);
        }
}

/* A second operator finds what the first has left. */

static bool restart(struct operator_world *world)
{
    world->writes_before = kube_api_double_writes(world->api);
    world->looks_before = kube_api_double_requests(world->api, "GET", PATH_CORE "secrets/shop-mysql-tls");
    world_kill_operator(world);
    return true;
}

static bool has_looked(struct operator_world *world)
{
    return !world->is_dead &&
        kube_api_double_requests(world->api, "GET", PATH_CORE "secrets/shop-mysql-tls") > world->looks_before;
}

static void a_restart_writes_nothing(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, restart, has_looked, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_int_equal(kube_api_double_writes(world->api), world->writes_before);
    operator_world_free(world);
}

static uint64_t hash_of_set(struct operator_world *world)
{
    return json_hash(json_object_get(kube_api_double_get(world->api, PATH_STATEFUL_SET), "spec"));
}

static bool another_version_takes_over(struct operator_world *world)
{
    world->version = "0.9.9+c0ffee";
    world->numbers[0] = (int64_t)hash_of_set(world);
    return restart(world);
}

static bool children_have_the_version(struct operator_world *world)
{
    return str_eq(world_str(world, PATH_STATEFUL_SET, "metadata.labels[\"" LABEL_VERSION "\"]"), "0.9.9-c0ffee") &&
        str_eq(world_str(world, PATH_CLUSTER, "status.operatorVersion"), "0.9.9+c0ffee");
}

/* What an exchange of the operator costs: one apply of each child, and the status, which has their hash. And what the
 * pods are made of is as it was. */
static void another_version_writes_each_child_once(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {
        UNTIL_SETTLED, another_version_takes_over, has_looked, children_have_the_version, quiet, NULL};
    struct operator_world *world = operator_world_new();
    world->version = "0.9.8+c0ffee";
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    assert_int_equal(kube_api_double_writes(world->api), world->writes_before + CHILD_COUNT + 1);
    assert_true((int64_t)hash_of_set(world) == world->numbers[0]);
    operator_world_free(world);
}

/* ---- figures ---- */

static bool figures_are_told(struct operator_world *world)
{
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, KM_MIB);
    metrics_render(manager_metrics(world->manager), &text);
    return strstr(text.buf, "kubemysql_cluster_ready_members{namespace=\"ns1\",name=\"shop\"} 1\n") &&
        strstr(text.buf, "kubemysql_cluster_wanted_members{namespace=\"ns1\",name=\"shop\"} 1\n") &&
        strstr(text.buf, "kubemysql_cluster_condition{namespace=\"ns1\",name=\"shop\",type=\"Available\"} 1\n") &&
        strstr(text.buf, "kubemysql_cluster_condition{namespace=\"ns1\",name=\"shop\",type=\"Progressing\"} 0\n") &&
        strstr(text.buf, "kubemysql_cluster_certificate_expiry_timestamp_seconds{namespace=\"ns1\",name=\"shop\"} ");
}

static bool figures_are_gone(struct operator_world *world)
{
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, KM_MIB);
    metrics_render(manager_metrics(world->manager), &text);
    return !strstr(text.buf, "kubemysql_cluster_");
}

static void figures_follow_the_cluster(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {UNTIL_SETTLED, figures_are_told, remove_cluster, figures_are_gone, NULL};
    struct operator_world *world = operator_world_new();
    world_put_cluster(world, "");
    operator_world_run(world, steps);
    operator_world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_ends_with_a_serving_cluster),
        cmocka_unit_test(what_is_broken_by_hand_comes_back),
        cmocka_unit_test(one_refused_object_keeps_no_other_from_being_mended),
        cmocka_unit_test(a_foreign_service_is_left_alone),
        cmocka_unit_test(without_its_secrets_nothing_is_made),
        cmocka_unit_test(a_cluster_made_again_gets_everything_anew),
        cmocka_unit_test(claims_that_outlive_the_cluster_are_told),
        cmocka_unit_test(a_cluster_may_be_replaced_in_the_middle_of_a_round),
        cmocka_unit_test(a_cluster_may_go_in_the_middle_of_a_round),
        cmocka_unit_test(a_new_mycnf_is_tried_before_members_are_touched),
        cmocka_unit_test(caches_beyond_the_memory_come_to_no_member),
        cmocka_unit_test(a_server_that_takes_up_its_mycnf_keeps_its_pod),
        cmocka_unit_test(a_spec_that_changes_in_the_middle_of_a_round_is_tried),
        cmocka_unit_test(a_terminal_comes_and_goes_with_the_field),
        cmocka_unit_test(a_terminal_says_how_it_is),
        cmocka_unit_test(somebody_elses_terminal_stays),
        cmocka_unit_test(any_failing_write_leads_to_the_same_end),
        cmocka_unit_test(a_restart_writes_nothing),
        cmocka_unit_test(another_version_writes_each_child_once),
        cmocka_unit_test(figures_follow_the_cluster),
    };
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
