/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goldens of the manifests: data/desired/NAME.cluster.json gives NAME.desired.json, an array of all objects of the
 * cluster. Every pod in it is held against the `restricted` profile (deploy/check-restricted.sh reads the same files).
 */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define DATA "operator/cluster/tests/data/desired/"

/* ---- the restricted profile, with a read-only root file system ---- */

static bool has(const json_t *array, const char *text)
{
    size_t i;
    const json_t *item;
    json_array_foreach(array, i, item)
        if (str_eq(json_string_value(item), text))
            return true;
    return false;
}

static void assert_container(const json_t *pod, const json_t *container)
{
    const json_t *own = json_object_get(container, "securityContext");
    const json_t *shared = json_path(pod, "securityContext");
    assert_false(json_path_bool(own, "privileged", false));
    assert_false(json_path_bool(own, "allowPrivilegeEscalation", true));
    assert_true(json_path_bool(own, "readOnlyRootFilesystem", false));
    assert_true(has(json_path(own, "capabilities.drop"), "ALL"));
    assert_null(json_path(own, "capabilities.add"));
    assert_true(json_path_bool(own, "runAsNonRoot", json_path_bool(shared, "runAsNonRoot", false)));
    assert_true(json_path_int(own, "runAsUser", json_path_int(shared, "runAsUser", 0)) != 0);
    assert_string_equal(
        json_path_str(own, "seccompProfile.type", json_path_str(shared, "seccompProfile.type", "")), "RuntimeDefault");
    assert_null(json_path(container, "ports[0].hostPort"));
}

static void assert_volume(const json_t *volume)
{
    static const char *const allowed[] = {
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)volume, key, value) {
        bool fine = str_eq(key, "name");
        for (size_t i = 0; i < ARRAY_LEN(allowed); i++)
            fine |= str_eq(key, allowed[i]);
        if (!fine)
            fail_msg("volume of type %s", key);
    }
}

static void assert_restricted(const json_t *pod)
{
    size_t i;
    const json_t *item;
    assert_false(json_path_bool(pod, "hostNetwork", false) || json_path_bool(pod, "hostPID", false) ||
        json_path_bool(pod, "hostIPC", false));
    assert_false(json_path_bool(pod, "automountServiceAccountToken", true));
    assert_true(json_array_size(json_object_get(pod, "containers")) > 0);
    json_array_foreach(json_object_get(pod, "containers"), i, item)
        assert_container(pod, item);
    json_array_foreach(json_object_get(pod, "initContainers"), i, item)
        assert_container(pod, item);
    json_array_foreach(json_object_get(pod, "volumes"), i, item)
        assert_volume(item);
}

/* ---- goldens ---- */

static json_t *desired_all(const struct cluster_snapshot *snapshot)
{
    json_t *all = json_array();
    for (int child = 0; child < CHILD_COUNT; child++)
        json_array_append_new(all, desired_child(snapshot, (enum cluster_child)child));
    json_array_append_new(all, desired_endpoint_slice(snapshot));
    json_array_append_new(all, desired_check_pod(snapshot, CHECK_START));
    json_array_append_new(all, desired_terminal(snapshot));
    return all;
}

static void check_case(const char *name)
{
    size_t i;
    const json_t *object;
    _cleanup_(freep) char *cluster_path = xasprintf(DATA "%s.cluster.json", name);
    _cleanup_(freep) char *observed_path = xasprintf(DATA "%s.observed.json", name);
    _cleanup_(freep) char *desired_path = xasprintf(DATA "%s.desired.json", name);
    _cleanup_(json_decrefp) json_t *cluster = golden_read(cluster_path);
    _cleanup_(json_decrefp) json_t *observed = golden_read(observed_path);
    struct golden *golden = golden_new(cluster, observed);
    if (!golden->snapshot.usable)
        fail_msg("%s", golden->snapshot.message);
    _cleanup_(json_decrefp) json_t *all = desired_all(&golden->snapshot);
    _cleanup_(json_decrefp) json_t *again = desired_all(&golden->snapshot);
    assert_true(json_equal(all, again));
    json_array_foreach(all, i, object) {
        bool is_pod = str_eq(json_path_str(object, "kind", ""), "Pod");
        const json_t *pod = is_pod ? json_path(object, "spec") : json_path(object, "spec.template.spec");
        if (pod && !str_eq(json_path_str(object, "kind", ""), "MysqlTerminal"))
            assert_restricted(pod);
    }
    assert_true(golden_matches(desired_path, all));
    golden_free(golden);
}

static void a_plain_cluster(void **state)
{
    UNUSED(state);
    check_case("plain");
}

static void a_rich_cluster(void **state)
{
    UNUSED(state);
    check_case("rich");
}

static void an_empty_dir_cluster_with_ipv6(void **state)
{
    UNUSED(state);
    check_case("ephemeral-ipv6");
}

/* What decides about the place of a member's pod decides about the check pod's; the other is created by dry run
 * only. */
static void pods_of_a_template_that_is_tried(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *cluster = golden_read(DATA "placed.cluster.json");
    _cleanup_(json_decrefp) json_t *observed = golden_read(DATA "placed.observed.json");
    struct golden *golden = golden_new(cluster, observed);
    assert_true(golden->snapshot.usable);
    json_t *check = desired_check_pod(&golden->snapshot, CHECK_START), *trial = desired_trial_pod(&golden->snapshot);
    assert_restricted(json_object_get(check, "spec"));
    _cleanup_(json_decrefp) json_t *pods = json_build("[o, o]", check, trial);
    assert_true(golden_matches(DATA "placed.pods.json", pods));
    golden_free(golden);
}

/* Who only looks at options reads no certificate, and starts nothing. */
static void a_look_needs_less(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *cluster = golden_read(DATA "placed.cluster.json");
    _cleanup_(json_decrefp) json_t *observed = golden_read(DATA "placed.observed.json");
    struct golden *golden = golden_new(cluster, observed);
    _cleanup_(json_decrefp) json_t *look = desired_check_pod(&golden->snapshot, CHECK_LOOK);
    _cleanup_(json_decrefp) json_t *start = desired_check_pod(&golden->snapshot, CHECK_START);
    _cleanup_(freep) char *look_text = json_text(look), *start_text = json_text(start);
    assert_non_null(strstr(start_text, "shop-mysql-tls"));
    assert_non_null(strstr(start_text, "\\\"start\\\":true"));
    assert_null(strstr(look_text, "shop-mysql-tls"));
    assert_null(strstr(look_text, "\\\"start\\\""));
    golden_free(golden);
}

/* ---- the route of a switchover from member 0 to member 1 ---- */

#define SWITCHOVER                                                                                                     \
    "{'metadata': {'generation': 1}, 'spec': {'replicas': 3, 'config': {'spec': {'images': {'mysql': 'mysql:8.4'}}}, " \
    "'storage': {'resources': {'requests': {'storage': '1Gi'}}}}, 'status': {'currentPrimary': 'shop-mysql-1', "       \
    "'epoch': 5, 'initialized': true, 'semiSync': true, 'transition': {'epoch': 5, 'from': 'shop-mysql-0', "           \
    "'to': 'shop-mysql-1', 'reason': 'Requested', 'startedAt': '2026-02-02T02:39:50.000Z'}}}"
#define OLD_ONE "'0': {'role': 'primary', 'writable': true, 'epoch': 4}"
#define NEW_ONE "'1': {'role': 'replica', 'writable': false, 'epoch': 5}"

static json_t *parse(const char *text)
{
    _cleanup_(freep) char *copy = xstrdup(text);
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    json_t *json = json_loads(copy, 0, NULL);
    if (!json)
        fail_msg("malformed: %s", text);
    return json;
}

static void the_route_goes_back_while_the_old_primary_cannot_be_fenced(void **state)
{
    static const struct {
        const char *observed, *to;
    } rows[] = {
        {"{'pods': {'0': {}, '1': {}, '2': {}}, 'agents': {" OLD_ONE ", " NEW_ONE "}}", "shop-mysql-1"},
        {"{'pods': {'0': {}, '1': {}, '2': {}}, 'agents': {" OLD_ONE ", " NEW_ONE "}, 'cutOff': [0]}", "shop-mysql-0"},
        /* a moment is no reason */
        {"{'pods': {'0': {}, '1': {}, '2': {}}, 'agents': {" OLD_ONE ", " NEW_ONE "}, 'cutOff': [0], "
         "'silentMs': {'0': 200}}",
            "shop-mysql-1"},
        {"{'pods': {'0': {}, '1': {}, '2': {}}, 'agents': {" OLD_ONE ", " NEW_ONE "}, 'cutOff': [0], 'awaited': [0]}",
            "shop-mysql-1"},
        /* it has stopped writes */
        {"{'pods': {'0': {}, '1': {}, '2': {}}, 'agents': {'0': {'role': '', 'writable': false, 'epoch': 5}, " NEW_ONE
         "}, 'cutOff': [0]}",
            "shop-mysql-1"},
        {"{'pods': {'0': {}, '1': {}, '2': {}}, 'agents': {" OLD_ONE
         ", '1': {'role': 'primary', 'writable': true, 'epoch': 5}}, 'cutOff': [0]}",
            "shop-mysql-1"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(json_decrefp) json_t *cluster = parse(SWITCHOVER);
        _cleanup_(json_decrefp) json_t *observed = parse(rows[i].observed);
        struct golden *golden = golden_new(cluster, observed);
        _cleanup_(json_decrefp) json_t *slice = desired_endpoint_slice(&golden->snapshot);
        const char *to = json_path_str(slice, "endpoints[0].targetRef.name", "nobody");
        if (!str_eq(to, rows[i].to))
            fail_msg("row %zu: the route leads to %s", i, to);
        golden_free(golden);
    }
}

static bool init_declares_port(const struct golden *golden)
{
    _cleanup_(json_decrefp) json_t *template = desired_pod_template(&golden->snapshot);
    const json_t *init = json_path(template, "spec.initContainers[1]");
    assert_string_equal(json_path_str(init, "name", ""), "init");
    return json_object_get(init, "ports") != NULL;
}

/* Or an exchange of the operator would replace every pod. A set that was deleted by hand is made as its pods are. */
static void the_port_of_init_stays_where_it_is(void **state)
{
    UNUSED(state);
    for (int had = 0; had <= 1; had++) {
        _cleanup_(json_decrefp) json_t *cluster = parse(SWITCHOVER);
        _cleanup_(json_decrefp) json_t *observed = parse("{'pods': {'0': {}, '1': {}, '2': {}}}");
        struct golden *golden = golden_new(cluster, observed);
        struct stateful_set_object set = {.init_declares_port = had};
        struct pod_object pod = *golden->snapshot.members[1].pod;
        golden->snapshot.stateful_set = &set;
        assert_int_equal(init_declares_port(golden), had);
        golden->snapshot.stateful_set = NULL;
        assert_false(init_declares_port(golden));
        pod.init_declares_port = had;
        golden->snapshot.members[1].pod = &pod;
        assert_int_equal(init_declares_port(golden), had);
        golden_free(golden);
    }
}

/* What the agent is told of the limit for the node's disk: "" nothing. */
static void the_limit_of_the_node_s_disk_is_told(void **state)
{
    static const struct {
        const char *mysql, *agent, *told;
    } rows[] = {
        {"{}", "{}", ""},
        {"{'limits': {'memory': '1Gi'}}", "{}", ""},
        {"{'limits': {'ephemeral-storage': '4Gi'}}", "{}", "4294967296"},
        {"{'limits': {'ephemeral-storage': '4Gi'}}", "{'limits': {'ephemeral-storage': '1Gi'}}", "5368709120"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *text =
            xasprintf("{'metadata': {'generation': 1}, 'spec': {'config': {'spec': {'images': {'mysql': 'mysql:8.4'}, "
                      "'podTemplate': {'spec': {'containers': [{'name': 'mysql', 'resources': %s}, "
                      "{'name': 'agent', 'resources': %s}]}}}}}}",
                rows[i].mysql, rows[i].agent);
        _cleanup_(json_decrefp) json_t *cluster = parse(text), *observed = parse("{}");
        struct golden *golden = golden_new(cluster, observed);
        assert_true(golden->snapshot.usable);
        _cleanup_(json_decrefp) json_t *template = desired_pod_template(&golden->snapshot);
        assert_string_equal(json_path_str(template, "spec.containers[1].name", ""), "agent");
        const json_t *env = json_path(template, "spec.containers[1].env[3]");
        assert_string_equal(json_path_str(env, "value", ""), rows[i].told);
        assert_string_equal(json_path_str(env, "name", ""), *rows[i].told ? AGENT_ENV_EPHEMERAL : "");
        golden_free(golden);
    }
}

/* ---- pods of a set that was deleted ---- */

#define SET_UID "0a000000-0000-4000-8000-00000000000a"
#define OWNER(uid) "'ownerReferences': [{'uid': '" uid "', 'controller': true}]"
#define LEAVES_OF(uid) "{'metadata': {'deletionTimestamp': '2026-02-02T02:39:50Z', " OWNER(uid) "}}"
#define OLD_SET_UID "0c000000-0000-4000-8000-00000000000c"

static const char *const awaited_pods_cluster =
    "{'metadata': {'generation': 1}, 'spec': {'replicas': 3, 'config': {'spec': {'images': {'mysql': 'mysql:8.4'}}}, "
    "'storage': {'resources': {'requests': {'storage': '1Gi'}}}}}";

/* Or the StatefulSet controller, which pauses after each failure, would learn of their end a quarter of an hour
 * late. */
static void the_set_names_pods_that_are_in_its_way(void **state)
{
    static const struct {
        const char *why, *pods;
        bool has_set;
        const char *awaited;
    } rows[] = {
        {"none", "{'0': {}, '1': {}, '2': {}}", true, ""},
        {"the cluster was made anew", "{'0': " LEAVES_OF(OLD_SET_UID) ", '1': {}, '2': " LEAVES_OF(OLD_SET_UID) "}",
            false, "shop-mysql-0,shop-mysql-2"},
        {"and its set is there", "{'0': {}, '2': " LEAVES_OF(OLD_SET_UID) "}", true, "shop-mysql-2"},
        {"the set replaces its own", "{'0': {}, '1': {}, '2': " LEAVES_OF(SET_UID) "}", true, ""},
        {"the set adopts those that stay", "{'0': {'metadata': {" OWNER(OLD_SET_UID) "}}}", true, ""},
        {"a name that it does not need", "{'0': {}, '1': {}, '2': {}, '3': " LEAVES_OF(OLD_SET_UID) "}", true, ""},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *text = xasprintf("{'pods': %s}", rows[i].pods);
        _cleanup_(json_decrefp) json_t *cluster = parse(awaited_pods_cluster);
        _cleanup_(json_decrefp) json_t *observed = parse(text);
        struct golden *golden = golden_new(cluster, observed);
        struct stateful_set_object set = {.object.uid = kube_uid_parse(SET_UID, strlen(SET_UID)), .replicas = 3};
        golden->snapshot.stateful_set = rows[i].has_set ? &set : NULL;
        _cleanup_(json_decrefp) json_t *made = desired_stateful_set(&golden->snapshot);
        const char *awaited = json_path_str(made, "metadata.annotations[\"" ANNOTATION_AWAITED_PODS "\"]", "");
        if (!str_eq(awaited, rows[i].awaited))
            fail_msg("%s: it awaits '%s', not '%s'", rows[i].why, awaited, rows[i].awaited);
        golden_free(golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_cluster),
        cmocka_unit_test(a_rich_cluster),
        cmocka_unit_test(an_empty_dir_cluster_with_ipv6),
        cmocka_unit_test(pods_of_a_template_that_is_tried),
        cmocka_unit_test(a_look_needs_less),
        cmocka_unit_test(the_route_goes_back_while_the_old_primary_cannot_be_fenced),
        cmocka_unit_test(the_port_of_init_stays_where_it_is),
        cmocka_unit_test(the_limit_of_the_node_s_disk_is_told),
        cmocka_unit_test(the_set_names_pods_that_are_in_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
