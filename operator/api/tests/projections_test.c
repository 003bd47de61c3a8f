/* SPDX-License-Identifier: Apache-2.0 */
/* What the caches keep of pods, claims, StatefulSets and our kinds. */
#include "common/base.h"

#include "operator/api/projections.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

static struct json_slice slice(const char *text)
{
    return (struct json_slice){text, strlen(text)};
}

static void *project(const struct kube_projection *projection, const char *text)
{
    struct error err = ERROR_INIT;
    struct kube_object *object = projection->project(slice(text), &err);
    if (!object)
        fail_msg("%s", err.message);
    return object;
}

#define META(name)                   \
    "\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"ns\",\"uid\":\"u-1\",\"resourceVersion\":\"5\",\"generation\":2"

static void clusters(void **state)
{
    UNUSED(state);
    struct custom_object *object = project(&projection_mysql_cluster,
        "{" META(
            "a") ",\"annotations\":{\"kubemysql.dev/switchover-to\":\"2\"},\"finalizers\":[\"kubemysql.dev/volumes\"],\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
                 "\"spec\":{\"config\":{\"name\":\"c\"},\"passwordSecret\":{\"name\":\"s\"}},\"status\":{\"replicas\":1}}");
    assert_string_equal(object->object.key, "ns/a");
    assert_string_equal(object->uid, "u-1");
    assert_string_equal(object->config_name, "c");
    assert_string_equal(object->password_secret, "s");
    assert_string_equal(object->cluster_name, "");
    assert_string_equal(object->switchover_to, "2");
    assert_true(object->has_volumes_finalizer);
    assert_false(object->has_other_finalizers);
    assert_true(object->object.deleting);
    assert_int_equal(object->object.generation, 2);
    json_t *spec = custom_object_spec(object), *status = custom_object_status(object);
    _cleanup_(freep) char *spec_text = json_dumps(spec, JSON_COMPACT), *status_text = json_dumps(status, JSON_COMPACT);
    assert_string_equal(spec_text, "{\"config\":{\"name\":\"c\"},\"passwordSecret\":{\"name\":\"s\"}}");
    assert_string_equal(status_text, "{\"replicas\":1}");
    json_decref(spec);
    json_decref(status);
    free(object);

    object = project(&projection_mysql_config, "{\"metadata\":{\"name\":\"c\"},\"spec\":[]}");
    assert_string_equal(object->object.key, "c");
    assert_string_equal(object->ns, "");
    assert_string_equal(object->switchover_to, "");
    assert_int_equal(object->spec_len, 0);
    assert_null(custom_object_spec(object));
    free(object);
}

static void pods(void **state)
{
    UNUSED(state);
    struct pod_object *pod = project(&projection_pod,
        "{" META(
            "a-mysql-3") ",\"labels\":{\"controller-revision-hash\":\"a-mysql-5d\",\"kubemysql.dev/role\":\"primary\",\"kubemysql.dev/"
                         "cluster\":\"a\"}},\"spec\":{\"nodeName\":\"n1\"},"
                         "\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.7\",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"True\"},{\"type\":"
                         "\"Initialized\",\"status\":\"True\"},{\"type\":\"Ready\",\"status\":\"True\"}],"
                         "\"initContainerStatuses\":[{\"name\":\"init\",\"restartCount\":1,\"ready\":true,\"state\":{\"terminated\":{\"exitCode\":0,"
                         "\"reason\":\"Completed\"}},\"lastState\":{\"terminated\":{\"exitCode\":1,\"message\":\"old\"}}}],"
                         "\"containerStatuses\":[{\"name\":\"mysql\",\"restartCount\":2,\"ready\":true,\"state\":{\"running\":{\"startedAt\":\"x\"}}}]}}");
    assert_int_equal(pod->ordinal, 3);
    assert_int_equal(pod->phase, POD_PHASE_RUNNING);
    assert_true(pod->scheduled && pod->initialized && pod->ready && pod->mysql_running);
    assert_string_equal(pod->pod_ip, "10.0.0.7");
    assert_string_equal(pod->node_name, "n1");
    assert_string_equal(pod->revision, "a-mysql-5d");
    assert_string_equal(pod->role, "primary");
    assert_string_equal(pod->cluster, "a");
    assert_string_equal(pod->terminal, "");
    assert_int_equal(pod->restart_count, 3);
    assert_string_equal(pod->problem_reason, "");
    free(pod);
}

#define INIT(rest) "\"initContainerStatuses\":[{\"name\":\"init\",\"ready\":false," rest "}]"
#define CONTAINER(rest) "\"containerStatuses\":[{\"name\":\"mysql\",\"ready\":false," rest "}]"
static const struct {
    const char *status, *container, *reason, *message;
    int exit_code;
} pod_problem_rows[] = {
    {CONTAINER("\"state\":{\"waiting\":{\"reason\":\"ContainerCreating\"}}"), "", "", "", 0},
    {CONTAINER("\"state\":{\"waiting\":{\"reason\":\"ImagePullBackOff\",\"message\":\"Back-off pulling image\"}}"),
        "mysql", "ImagePullBackOff", "Back-off pulling image", 0},
    {CONTAINER(
         "\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\",\"message\":\"back-off 10s\"}},"
         "\"lastState\":{\"terminated\":{\"exitCode\":1,\"reason\":\"Error\",\"message\":\"unknown variable 'x'\\n\"}}"),
        "mysql", "CrashLoopBackOff", "unknown variable 'x'\n", 1},
    {CONTAINER("\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\",\"message\":\"back-off 10s\"}},"
               "\"lastState\":{\"terminated\":{\"exitCode\":1,\"reason\":\"Error\",\"message\":"
               "\"1 [Note] Starting\\n2 [ERROR] InnoDB: corrupt\\n3 [ERROR] Aborting\\n\"}}"),
        "mysql", "CrashLoopBackOff", "InnoDB: corrupt", 1},
    {CONTAINER("\"state\":{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}"), "mysql", "OOMKilled", "", 137},
    /* a loop of such ends: what the server said before knows nothing of it */
    {CONTAINER("\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\",\"message\":\"back-off 10s\"}},"
               "\"lastState\":{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\",\"message\":"
               "\"1 [Note] InnoDB: Initializing buffer pool\\n2 [ERROR] mlock failed\\n\"}}"),
        "mysql", "OOMKilled", "", 137},
    {CONTAINER("\"state\":{\"running\":{}},\"lastState\":{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\","
               "\"message\":\"mariadbd: ready\"}}"),
        "mysql", "OOMKilled", "", 137},
    {CONTAINER("\"state\":{\"waiting\":{\"reason\":\"ImagePullBackOff\",\"message\":\"no\"}},"
               "\"lastState\":{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}"),
        "mysql", "ImagePullBackOff", "no", 137},
    /* a tool that `init` has started: the kubelet knows nothing of it */
    {INIT("\"state\":{\"terminated\":{\"exitCode\":13,\"reason\":\"Error\",\"message\":\"out of memory\"}}"), "init",
        "OOMKilled", "out of memory", 13},
    {INIT("\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\",\"message\":\"back-off 10s\"}},"
          "\"lastState\":{\"terminated\":{\"exitCode\":13,\"reason\":\"Error\",\"message\":\"out of memory\"}}"),
        "init", "OOMKilled", "out of memory", 13},
    {INIT("\"state\":{\"running\":{}},\"lastState\":{\"terminated\":{\"exitCode\":13,\"reason\":\"Error\","
          "\"message\":\"out of memory\"}}"),
        "init", "OOMKilled", "out of memory", 13},
    {INIT("\"state\":{\"waiting\":{\"reason\":\"ImagePullBackOff\",\"message\":\"no\"}},"
          "\"lastState\":{\"terminated\":{\"exitCode\":13,\"reason\":\"Error\"}}"),
        "init", "ImagePullBackOff", "no", 13},
    {CONTAINER("\"state\":{\"terminated\":{\"exitCode\":13,\"reason\":\"Error\",\"message\":\"m\"}}"), "mysql", "Error",
        "m", 13},
    {CONTAINER(
         "\"state\":{\"running\":{}},\"lastState\":{\"terminated\":{\"exitCode\":2,\"reason\":\"Error\",\"message\":\"m\"}}"),
        "mysql", "Error", "m", 2},
    {CONTAINER("\"state\":{\"terminated\":{\"exitCode\":11,\"reason\":\"Error\",\"message\":\"m\"}},"
               "\"lastState\":{\"terminated\":{\"exitCode\":1}}"),
        "mysql", "Error", "m", 11},
    {"\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":\"0/1 nodes\"}]",
        "", "Unschedulable", "0/1 nodes", 0},
    {"\"phase\":\"Failed\",\"reason\":\"Evicted\",\"message\":\"low on disk\"", "", "Evicted", "low on disk", 0},
};
#undef CONTAINER
#undef INIT

static void pod_problems(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(pod_problem_rows); i++) {
        _cleanup_(freep) char *text = xasprintf("{%s},\"status\":{%s}}", META("a-mysql-0"), pod_problem_rows[i].status);
        struct pod_object *pod = project(&projection_pod, text);
        assert_string_equal(pod->problem_container, pod_problem_rows[i].container);
        assert_string_equal(pod->problem_reason, pod_problem_rows[i].reason);
        assert_string_equal(pod->problem_message, pod_problem_rows[i].message);
        assert_int_equal(pod->problem_exit, pod_problem_rows[i].exit_code);
        free(pod);
    }
}

static void long_messages_are_cut(void **state)
{
    UNUSED(state);
    char message[1200];
    for (size_t i = 0; i + 2 < sizeof(message); i += 2)
        memcpy(message + i, "\xc3\xa4", 3);
    message[sizeof(message) - 2] = '\0';
    for (int shift = 0; shift < 2; shift++) {
        _cleanup_(freep) char *text =
            xasprintf("{%s},\"status\":{\"reason\":\"R\",\"message\":\"%.*s%s\"}}", META("a"), shift, "x", message);
        struct pod_object *pod = project(&projection_pod, text);
        size_t len = strlen(pod->problem_message);
        assert_true(len <= PROJECTION_MESSAGE_MAX && len > PROJECTION_MESSAGE_MAX - 4);
        assert_string_equal(pod->problem_message + len - 3, "...");
        assert_int_equal((unsigned char)pod->problem_message[len - 4], 0xa4);
        free(pod);
    }
}

static void claims(void **state)
{
    UNUSED(state);
    struct pvc_object *claim = project(&projection_pvc,
        "{" META(
            "data-a-mysql-1") ",\"labels\":{\"kubemysql.dev/cluster\":\"a\"}},"
                              "\"spec\":{\"storageClassName\":\"standard\",\"volumeName\":\"pv1\",\"resources\":{\"requests\":{\"storage\":\"2Gi\"}}},"
                              "\"status\":{\"phase\":\"Bound\",\"capacity\":{\"storage\":\"1Gi\"},\"conditions\":[{\"type\":\"FileSystemResizePending\",\"status\":"
                              "\"True\",\"message\":\"waiting\"}]}}");
    assert_int_equal(claim->ordinal, 1);
    assert_int_equal(claim->requested_bytes, INT64_C(2) << 30);
    assert_int_equal(claim->capacity_bytes, INT64_C(1) << 30);
    assert_true(claim->file_system_resize_pending);
    assert_false(claim->resizing);
    assert_string_equal(claim->message, "waiting");
    assert_string_equal(claim->storage_class, "standard");
    assert_true(claim->is_bound);
    free(claim);
}

static void phases_are_values(void **state)
{
    static const struct {
        const char *status;
        enum backup_phase backup_phase;
        bool is_bound;
    } rows[] = {
        {"", BACKUP_PHASE_NONE, false},
        {"\"phase\":7", BACKUP_PHASE_NONE, false},
        {"\"phase\":\"OfAnotherVersion\"", BACKUP_PHASE_NONE, false},
        {"\"phase\":\"Pending\"", BACKUP_PHASE_PENDING, false},
        {"\"phase\":\"Running\"", BACKUP_PHASE_RUNNING, false},
        {"\"phase\":\"Completed\"", BACKUP_PHASE_COMPLETED, false},
        {"\"phase\":\"Failed\"", BACKUP_PHASE_FAILED, false},
        {"\"phase\":\"Bound\"", BACKUP_PHASE_NONE, true},
        {"\"phase\":\"Lost\"", BACKUP_PHASE_NONE, false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[256];
        snprintf(text, sizeof(text), "{" META("a") "},\"status\":{%s}}", rows[i].status);
        struct custom_object *backup = project(&projection_mysql_backup, text);
        struct pvc_object *claim = project(&projection_pvc, text);
        assert_int_equal(backup->backup_phase, rows[i].backup_phase);
        assert_int_equal(claim->is_bound, rows[i].is_bound);
        free(backup);
        free(claim);
    }
}

static void stateful_sets(void **state)
{
    UNUSED(state);
    struct stateful_set_object *set = project(&projection_stateful_set,
        "{" META(
            "a-mysql") ",\"annotations\":{\"kubemysql.dev/applied-hash\":\"h\",\"kubemysql.dev/agent-turn\":\"a:2\"}},\"spec\":{\"replicas\":2,"
                       "\"template\":{\"spec\":{\"initContainers\":[{\"name\":\"init\",\"image\":\"db:1\"},{\"name\":\"inject\",\"image\":\"a:2\"}]}},\"volumeClaimTemplates\":[{\"metadata\":{\"name\":"
                       "\"data\"},\"spec\":{\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}]},"
                       "\"status\":{\"replicas\":2,\"readyReplicas\":1,\"observedGeneration\":2,\"currentRevision\":\"r1\",\"updateRevision\":\"r2\"}}");
    assert_int_equal(set->replicas, 2);
    assert_int_equal(set->ready_replicas, 1);
    assert_int_equal(set->observed_generation, 2);
    assert_string_equal(set->current_revision, "r1");
    assert_string_equal(set->update_revision, "r2");
    assert_string_equal(set->applied_hash, "h");
    assert_string_equal(set->agent_image, "a:2");
    assert_string_equal(set->turn, "a:2");
    assert_int_equal(set->claim_bytes, 1 << 30);
    assert_false(set->init_declares_port);
    free(set);
}

static bool has_selector(const char *spec)
{
    _cleanup_(freep) char *text = xasprintf("{" META("a-mysql-primary") "},\"spec\":%s}", spec);
    struct service_object *service = project(&projection_service, text);
    bool ret = service->has_selector;
    assert_int_not_equal(service->object.digest, 0);
    free(service);
    return ret;
}

static void services(void **state)
{
    UNUSED(state);
    assert_true(has_selector("{\"ports\":[],\"selector\":{\"app\":\"x\"}}"));
    assert_false(has_selector("{\"ports\":[]}"));
    assert_false(has_selector("{\"selector\":{ }}"));
    assert_false(has_selector("{\"selector\":null}"));
}

static void endpoint_slices(void **state)
{
    UNUSED(state);
    struct endpoint_slice_object *slice = project(&projection_endpoint_slice,
        "{" META("a-mysql-primary-4kx2p") ",\"labels\":{\"kubernetes.io/service-name\":\"a-mysql-primary\","
                                          "\"kubemysql.dev/cluster\":\"a\"}},\"endpoints\":[]}");
    assert_string_equal(slice->name, "a-mysql-primary-4kx2p");
    assert_string_equal(slice->service, "a-mysql-primary");
    assert_string_equal(slice->cluster, "a");
    free(slice);
    slice = project(&projection_endpoint_slice, "{" META("any") "}}");
    assert_string_equal(slice->service, "");
    assert_string_equal(slice->cluster, "");
    free(slice);
}

#define CONTAINERS(init)                                                                                  \
    "\"initContainers\":[{\"name\":\"inject\",\"ports\":[{\"containerPort\":1}]},{\"name\":\"init\"" init \
    "}],\"containers\":[{\"name\":\"mysql\",\"ports\":[{\"containerPort\":3306}]}]"
#define INIT_PORT ",\"ports\":[{\"containerPort\":8443}]"

/* What 0.1.0 declared in `init`. */
static void ports_of_init(void **state)
{
    UNUSED(state);
    static const char *const texts[] = {CONTAINERS(""), CONTAINERS(INIT_PORT)};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _cleanup_(freep) char *set_text =
            xasprintf("{\"metadata\":{\"name\":\"a\"},\"spec\":{\"template\":{\"spec\":{%s}}}}", texts[i]);
        _cleanup_(freep) char *pod_text = xasprintf("{\"metadata\":{\"name\":\"a-0\"},\"spec\":{%s}}", texts[i]);
        struct stateful_set_object *set = project(&projection_stateful_set, set_text);
        struct pod_object *pod = project(&projection_pod, pod_text);
        assert_int_equal(set->init_declares_port, i == 1);
        assert_int_equal(pod->init_declares_port, i == 1);
        free(set);
        free(pod);
    }
}

static uint64_t config_digest(const char *status)
{
    _cleanup_(freep) char *text = xasprintf("{\"metadata\":{\"name\":\"a\"},\"status\":%s}", status);
    struct custom_object *object = project(&projection_mysql_cluster, text);
    uint64_t ret = object->config_digest;
    free(object);
    return ret;
}

/* What wakes terminals and backups. */
static void config_digests(void **state)
{
    UNUSED(state);
    uint64_t plain = config_digest("{\"configSpec\":{\"flavour\":\"mysql\"},\"port\":3306,\"replicas\":1}");
    assert_true(plain == config_digest("{\"configSpec\":{\"flavour\":\"mysql\"},\"port\":3306,\"replicas\":2}"));
    assert_true(plain != config_digest("{\"configSpec\":{\"flavour\":\"mysql\"},\"port\":3307,\"replicas\":1}"));
    assert_true(plain != config_digest("{\"configSpec\":{\"flavour\":\"percona\"},\"port\":3306,\"replicas\":1}"));
}

static void digests(void **state)
{
    UNUSED(state);
    struct kube_object *a =
        project(&projection_stateful_set, "{" META("a") "},\"spec\":{\"replicas\":1},\"status\":{\"replicas\":0}}");
    struct kube_object *b =
        project(&projection_stateful_set, "{" META("a") "},\"spec\":{\"replicas\":1},\"status\":{\"replicas\":1}}");
    struct kube_object *c =
        project(&projection_stateful_set, "{" META("a") "},\"spec\":{\"replicas\":2},\"status\":{\"replicas\":1}}");
    assert_true(a->digest == b->digest);
    assert_true(a->digest != c->digest);
    free(a);
    free(b);
    free(c);
}

static void malformed(void **state)
{
    UNUSED(state);
    static const char *const texts[] = {"", "[]", "{}", "{\"metadata\":{}}", "{\"metadata\":{\"name\":5}}"};
    static const struct kube_projection *const all[] = {&projection_mysql_cluster, &projection_pod, &projection_pvc,
        &projection_stateful_set, &projection_service, &projection_endpoint_slice};
    for (size_t i = 0; i < ARRAY_LEN(texts) * ARRAY_LEN(all); i++) {
        struct error err = ERROR_INIT;
        assert_null(all[i % ARRAY_LEN(all)]->project(slice(texts[i / ARRAY_LEN(all)]), &err));
        assert_int_not_equal(err.kind, ERROR_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clusters),
        cmocka_unit_test(pods),
        cmocka_unit_test(pod_problems),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(claims),
        cmocka_unit_test(phases_are_values),
        cmocka_unit_test(stateful_sets),
        cmocka_unit_test(services),
        cmocka_unit_test(endpoint_slices),
        cmocka_unit_test(digests),
        cmocka_unit_test(config_digests),
        cmocka_unit_test(ports_of_init),
        cmocka_unit_test(malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
