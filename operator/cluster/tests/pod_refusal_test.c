/* SPDX-License-Identifier: Apache-2.0 */
/* A pod that the API server refuses: which answer is a refusal, when it is asked, and for what. */
#include "common/base.h"

#include "operator/cluster/state/pod_refusal.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/reconcile/pod_question.h"
#include "operator/cluster/reconcile/template_question.h"
#include "operator/cluster/tests/golden_snapshot.h"

#define CLUSTER                                                                                                \
    "{\"metadata\":{\"generation\":1},\"spec\":{\"config\":{\"spec\":{\"images\":{\"mysql\":\"mysql:8.4\"}}}," \
    "\"replicas\":3,\"storage\":%s}}"
#define CLAIMS "{\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}"

static json_t *parse(const char *text)
{
    json_t *json = json_parse(text, strlen(text), NULL);
    if (!json)
        fail_msg("not JSON: %s", text);
    return json;
}

static struct golden *make(const char *storage, const char *pods)
{
    char text[1024];
    snprintf(text, sizeof(text), CLUSTER, storage);
    _cleanup_(json_decrefp) json_t *cluster = parse(text);
    _cleanup_(json_decrefp) json_t *observed = json_build(
        "{s:o, s:{}, s:O}", "pods", parse(pods), "children", "appliedSpec", json_object_get(cluster, "spec"));
    return golden_new(cluster, observed);
}

/* One judgement, which the question about a template and that for a missing pod share. */
static void only_words_about_the_pod_are_a_refusal(void **state)
{
    static const struct {
        enum error_kind kind;
        const char *message;
        enum pod_answer answer;
        enum template_verdict template;
        const char *remedy;
    } rows[] = {
        {ERROR_FORBIDDEN, "pods \"a\" is forbidden: exceeded quota: q", POD_ANSWER_OVER_QUOTA, TEMPLATE_OVER_QUOTA,
            "raise the ResourceQuota of namespace ns1, or let the cluster ask for less"},
        {ERROR_FORBIDDEN, "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3", POD_ANSWER_OVER_QUOTA,
            TEMPLATE_OVER_QUOTA, "raise the ResourceQuota of namespace ns1"},
        {ERROR_FORBIDDEN,
            "exceeded quota: q, requested: limits.cpu=1,limits.memory=832Mi, used: limits.cpu=0,limits.memory=0, limited: "
            "limits.cpu=2,limits.memory=512Mi",
            POD_ANSWER_REFUSED, TEMPLATE_REFUSED, "raise the ResourceQuota of namespace ns1"},
        {ERROR_FORBIDDEN,
            "exceeded quota: q, requested: limits.cpu=1,limits.memory=832Mi, used: limits.cpu=0,limits.memory=1Gi, limited: "
            "limits.cpu=1500m,limits.memory=1Gi",
            POD_ANSWER_OVER_QUOTA, TEMPLATE_OVER_QUOTA, NULL},
        {ERROR_FORBIDDEN, "exceeded quota: q, requested: cpu=900m, used: cpu=0, limited: cpu=500m", POD_ANSWER_REFUSED,
            TEMPLATE_REFUSED, NULL},
        {ERROR_FORBIDDEN, "exceeded quota: q, requested: cpu=1, used: cpu=0, limited: cpu=999m", POD_ANSWER_REFUSED,
            TEMPLATE_REFUSED, NULL},
        {ERROR_FORBIDDEN, "exceeded quota: q, requested: cpu=x, used: cpu=0, limited: ", POD_ANSWER_OVER_QUOTA,
            TEMPLATE_OVER_QUOTA, NULL},
        {ERROR_FORBIDDEN, "pods \"a\" is forbidden: failed quota: q: must specify limits.memory for: mysql",
            POD_ANSWER_REFUSED, TEMPLATE_REFUSED, "give the containers the requests and limits"},
        {ERROR_FORBIDDEN, "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\": hostNetwork",
            POD_ANSWER_REFUSED, TEMPLATE_REFUSED, "take out of the podTemplate"},
        {ERROR_FORBIDDEN, "pods \"a\" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi",
            POD_ANSWER_REFUSED, TEMPLATE_REFUSED, "within the LimitRange of namespace ns1"},
        {ERROR_INVALID, "admission webhook \"v\" denied the request: no", POD_ANSWER_REFUSED, TEMPLATE_REFUSED,
            "admission webhook"},
        {ERROR_INVALID, "Pod \"a\" is invalid: spec.volumes: nothing", POD_ANSWER_REFUSED, TEMPLATE_REFUSED,
            "change what the API server names"},
        {ERROR_INVALID, "admission webhook \"v\" does not support dry run", POD_ANSWER_OF_OTHERS, TEMPLATE_TAKEN, NULL},
        {ERROR_FORBIDDEN, "pods is forbidden: User \"u\" cannot create resource \"pods\"", POD_ANSWER_OF_OTHERS,
            TEMPLATE_TAKEN, NULL},
        {ERROR_FORBIDDEN, "User \"u\" cannot patch resource", POD_ANSWER_OF_OTHERS, TEMPLATE_TAKEN, NULL},
        {ERROR_UNAVAILABLE, "no leader", POD_ANSWER_UNKNOWN, TEMPLATE_UNKNOWN, NULL},
        {ERROR_EXISTS, "pods \"a\" already exists", POD_ANSWER_TAKEN, TEMPLATE_TAKEN, NULL},
        {ERROR_FORBIDDEN, "pods \"a\" is forbidden: namespace n is being terminated", POD_ANSWER_OF_OTHERS,
            TEMPLATE_TAKEN, NULL},
        {ERROR_ENDING, "namespace n", POD_ANSWER_OF_OTHERS, TEMPLATE_TAKEN, NULL},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char remedy[256];
        struct error err = ERROR_INIT;
        error_set(&err, rows[i].kind, "%s", rows[i].message);
        if (pod_answer_of(&err) != rows[i].answer || template_verdict_of(&err) != rows[i].template)
            fail_msg("%s", rows[i].message);
        if (rows[i].remedy &&
            !strstr(pod_refusal_remedy(rows[i].message, "ns1", "the cluster", remedy, sizeof(remedy)), rows[i].remedy))
            fail_msg("%s: %s", rows[i].message, remedy);
    }
    assert_int_equal(pod_answer_of(NULL), POD_ANSWER_TAKEN);
}

static bool are_of_one_field(const char *container, const char *other)
{
    return str_eq(container, "agent") == str_eq(other, "agent");
}

static void the_container_is_found_by_its_place_or_by_its_amount(void **state)
{
    static const char pod_text[] =
        "{\"spec\":{\"containers\":[{\"name\":\"mysql\",\"resources\":{\"limits\":{\"memory\":\"2Gi\",\"cpu\":\"2\"}}},"
        "{\"name\":\"agent\",\"resources\":{\"limits\":{\"memory\":\"256Mi\",\"cpu\":\"2\"},"
        "\"requests\":{\"cpu\":\"10m\"}}}],"
        "\"initContainers\":[{\"name\":\"init\",\"resources\":{\"limits\":{\"memory\":\"2Gi\"}}}]}}";
    static const struct {
        const char *refusal, *container; /* NULL: not known */
    } rows[] = {
        {"maximum memory usage per Container is 200Mi, but limit is 256Mi", "agent"},
        {"maximum memory usage per Container is 200Mi, but limit is 256Mi, x", "agent"},
        {"maximum memory usage per Container is 1Gi, but limit is 2Gi", "mysql"},
        {"maximum memory usage per Container is 1Gi, but limit is 2048Mi", "mysql"},
        {"minimum cpu usage per Container is 100m, but request is 10m", "agent"},
        {"maximum cpu usage per Container is 1, but limit is 2", NULL}, /* two configurations */
        {"maximum memory usage per Container is 1Gi, but limit is 3Gi", NULL},
        {"maximum memory usage per Pod is 1Gi, but limit is 2Gi", NULL},
        {"Pod \"a\" is invalid: spec.containers[1].resources.requests: Invalid value: \"2\"", "agent"},
        {"Pod \"a\" is invalid: spec.initContainers[0].resources.limits: Invalid value: \"2\"", "init"},
        {"Pod \"a\" is invalid: spec.containers[7].resources.limits: Invalid value: \"2\"", NULL},
        {"Pod \"a\" is invalid: spec.containers[0].image: Required value", NULL},
        {"exceeded quota: q", NULL},
    };
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *pod = parse(pod_text);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *container = pod_refusal_container(rows[i].refusal, pod, are_of_one_field);
        if (!str_eq(str_or_empty(container), str_or_empty(rows[i].container)))
            fail_msg("%s: %s", rows[i].refusal, str_or_empty(container));
    }
}

#define UNREADABLE "Pod in version \"v1\" cannot be handled as a Pod: "
#define OTHER_TYPE UNREADABLE "json: cannot unmarshal number into Go struct field "

static void the_volume_is_found_by_its_place_its_name_or_its_kind(void **state)
{
    static const char pod_text[] =
        "{\"spec\":{\"volumes\":[{\"name\":\"run\",\"emptyDir\":{}},{\"name\":\"%s\",\"%s\":{}}]}}";
    static const struct {
        const char *refusal, *kind; /* of the volume of the data */
        enum pod_refusal_volume answer;
    } rows[] = {
        {UNREADABLE "strict decoding error: unknown field \"spec.volumes[1].emptyDirr\"", "emptyDirr",
            POD_REFUSAL_OF_VOLUME},
        {UNREADABLE "strict decoding error: unknown field \"spec.volumes[0].emptyDirr\"", "emptyDir",
            POD_REFUSAL_OF_ELSE},
        {UNREADABLE "strict decoding error: unknown field \"spec.volumes[0].x\", unknown field \"spec.volumes[1].y\"",
            "emptyDir", POD_REFUSAL_OF_VOLUME},
        {UNREADABLE "strict decoding error: unknown field \"spec.nodeSelectr\"", "emptyDir", POD_REFUSAL_OF_ELSE},
        {OTHER_TYPE "NFSVolumeSource.spec.volumes.VolumeSource.nfs.server of type string", "nfs", POD_REFUSAL_OF_VOLUME},
        {OTHER_TYPE "NFSVolumeSource.spec.volumes.nfs.server of type string", "nfs", POD_REFUSAL_OF_VOLUME},
        {OTHER_TYPE "NFSVolumeSource.spec.volumes.nfs.server of type string", "hostPath", POD_REFUSAL_OF_ELSE},
        {OTHER_TYPE "EmptyDirVolumeSource.spec.volumes.VolumeSource.emptyDir.medium of type v1.StorageMedium",
            "emptyDir", POD_REFUSAL_UNTOLD},
        {UNREADABLE "quantities must match the regular expression", "emptyDir", POD_REFUSAL_UNTOLD},
        {"Pod \"a\" is invalid: spec.volumes[1].nfs.path: Required value", "nfs", POD_REFUSAL_OF_VOLUME},
        {"Pod \"a\" is invalid: spec.volumes[7].name: Duplicate value", "nfs", POD_REFUSAL_OF_ELSE},
        {"Pod \"a\" is invalid: spec.containers[0].image: Required value", "nfs", POD_REFUSAL_OF_ELSE},
        {"violates PodSecurity \"baseline:latest\": hostPath volumes (volume \"data\")", "hostPath",
            POD_REFUSAL_OF_VOLUME},
        {"violates PodSecurity \"baseline:latest\": hostPath volumes (volumes \"host\", \"data\")", "hostPath",
            POD_REFUSAL_OF_VOLUME},
        {"violates PodSecurity \"baseline:latest\": hostPath volumes (volume \"host\")", "hostPath",
            POD_REFUSAL_OF_ELSE},
        {"admission webhook \"v\" denied the request: no data", "hostPath", POD_REFUSAL_OF_ELSE},
        {"no PriorityClass with name fast was found", "hostPath", POD_REFUSAL_OF_ELSE},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[sizeof(pod_text) + 64];
        snprintf(text, sizeof(text), pod_text, VOLUME_DATA, rows[i].kind);
        _cleanup_(json_decrefp) json_t *pod = parse(text);
        if (pod_refusal_volume(rows[i].refusal, pod, VOLUME_DATA) != rows[i].answer)
            fail_msg("%s", rows[i].refusal);
    }
}

static void it_is_asked_once_it_lasts(void **state)
{
    UNUSED(state);
    struct pod_question_memory question = {.serial = 7};
    const struct cluster_member first = {.ordinal = 0}, second = {.ordinal = 1};
    assert_int_equal(pod_question_due_ms(&question, NULL, 1000), -1);
    assert_int_equal(pod_question_due_ms(&question, &first, 1000), POD_ASK_AFTER_MS);
    assert_int_equal(pod_question_due_ms(&question, &first, 1000 + POD_ASK_AFTER_MS), 0);
    question.asked_ms = 1000 + POD_ASK_AFTER_MS;
    question.is_asked = true;
    question.refusal = xstrdup("no");
    assert_int_equal(pod_question_due_ms(&question, &first, question.asked_ms + 1000), POD_ASK_AGAIN_MS - 1000);
    /* another one: what was said of the first is not said of it, and the answer that is under way is not for it */
    assert_int_equal(pod_question_due_ms(&question, &second, 9000), POD_ASK_AFTER_MS);
    assert_null(question.refusal);
    assert_false(question.is_asked);
    assert_int_equal(question.serial, 8);
    assert_int_equal(pod_question_due_ms(&question, NULL, 9500), -1);
    assert_int_equal(question.since_ms, 0);
}

static void the_first_missing_one_is_asked_for(void **state)
{
    UNUSED(state);
    struct golden *golden = make(CLAIMS, "{\"0\":{},\"2\":{}}");
    assert_string_equal(pod_refusal_suspect(&golden->snapshot)->name, "shop-mysql-1");
    golden->snapshot.cluster.paused = true;
    assert_null(pod_refusal_suspect(&golden->snapshot));
    golden_free(golden);
    golden = make(CLAIMS, "{\"0\":{},\"1\":{},\"2\":{}}");
    assert_null(pod_refusal_suspect(&golden->snapshot));
    golden_free(golden);
}

/* As the StatefulSet controller would make it: else the server would judge another pod. */
static void it_is_what_the_set_makes(void **state)
{
    UNUSED(state);
    struct golden *golden = make(CLAIMS, "{\"0\":{}}");
    const struct cluster_member *member = pod_refusal_suspect(&golden->snapshot);
    _cleanup_(json_decrefp) json_t *pod = desired_member_pod(&golden->snapshot, member);
    _cleanup_(json_decrefp) json_t *claim = desired_member_claim(&golden->snapshot, member);
    _cleanup_(json_decrefp) json_t *template = desired_pod_template(&golden->snapshot);
    assert_string_equal(json_path_str(pod, "metadata.name", ""), "shop-mysql-1");
    assert_string_equal(json_path_str(pod, "metadata.namespace", ""), "ns1");
    assert_string_equal(
        json_string_value(json_object_get(json_path(pod, "metadata.labels"), "apps.kubernetes.io/pod-index")), "1");
    assert_string_equal(json_path_str(pod, "spec.hostname", ""), "shop-mysql-1");
    assert_true(json_equal(json_path(pod, "spec.containers"), json_path(template, "spec.containers")));
    /* a quota asks those for limits, too */
    _cleanup_(json_decrefp) json_t *trial = desired_trial_pod(&golden->snapshot);
    assert_int_equal(json_array_size(json_path(template, "spec.initContainers")), 2);
    assert_true(json_equal(json_path(pod, "spec.initContainers"), json_path(template, "spec.initContainers")));
    assert_true(json_equal(json_path(trial, "spec.initContainers"), json_path(template, "spec.initContainers")));
    const json_t *volumes = json_path(pod, "spec.volumes");
    const json_t *data = json_array_get(volumes, json_array_size(volumes) - 1);
    assert_string_equal(json_path_str(data, "persistentVolumeClaim.claimName", ""), "data-shop-mysql-1");
    assert_string_equal(json_path_str(claim, "metadata.name", ""), "data-shop-mysql-1");
    assert_string_equal(json_path_str(claim, "spec.resources.requests.storage", ""), "1Gi");
    golden_free(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_words_about_the_pod_are_a_refusal),
        cmocka_unit_test(the_container_is_found_by_its_place_or_by_its_amount),
        cmocka_unit_test(the_volume_is_found_by_its_place_its_name_or_its_kind),
        cmocka_unit_test(it_is_asked_once_it_lasts),
        cmocka_unit_test(the_first_missing_one_is_asked_for),
        cmocka_unit_test(it_is_what_the_set_makes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
