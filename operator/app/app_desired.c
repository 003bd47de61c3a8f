/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/app/app_desired.h"

#include "common/hashmap.h"
#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/api/app_projections.h"
#include "operator/api/names.h"
#include "operator/api/ready_conditions.h"

const char *app_child_kind(enum app_child child)
{
    static const char *const kinds[] = {[APP_DEPLOYMENT] = "Deployment", [APP_SERVICE] = "Service"};
    return kinds[child];
}

/* ---- manifests ---- */

static json_t *selector_labels(const struct app *app)
{
    return json_build("{s:s}", LABEL_APP, app->name);
}

static json_t *labels(const struct app *app)
{
    return json_build("{s:s, s:s}", LABEL_NAME, app->name, LABEL_APP, app->name);
}

static json_t *metadata(const struct app *app, const char *uid)
{
    return json_build("{s:s, s:s, s:o, s:[{s:s, s:s, s:s, s:s, s:b, s:b}]}", "name", app->name, "namespace", app->ns,
        "labels", labels(app), "ownerReferences", "apiVersion", KM_API_GROUP_VERSION, "kind", kube_kind_app.kind,
        "name", app->name, "uid", uid, "controller", 1, "blockOwnerDeletion", 1);
}

static json_t *deployment(const struct app *app, const char *uid)
{
    json_t *container = json_build("{s:s, s:s}", "name", APP_CONTAINER, "image", app->image);
    if (app->resources)
        json_put(container, "resources", json_deep_copy(app->resources));
    if (app->security_context)
        json_put(container, "securityContext", json_deep_copy(app->security_context));
    if (app->envs)
        json_put(container, "env", json_deep_copy(app->envs));
    return json_build("{s:s, s:s, s:o, s:{s:I, s:{s:o}, s:{s:{s:o}, s:{s:[o]}}}}", "apiVersion", "apps/v1", "kind",
        "Deployment", "metadata", metadata(app, uid), "spec", "replicas", (json_int_t)app->replicas, "selector",
        "matchLabels", selector_labels(app), "template", "metadata", "labels", labels(app), "spec", "containers",
        container);
}

static json_t *service(const struct app *app, const char *uid)
{
    if (!app->ports)
        return NULL;
    return json_build("{s:s, s:s, s:o, s:{s:s, s:o, s:o}}", "apiVersion", "v1", "kind", "Service", "metadata",
        metadata(app, uid), "spec", "type", "ClusterIP", "selector", selector_labels(app), "ports",
        json_deep_copy(app->ports));
}

json_t *app_manifest(const struct app *app, const char *uid, enum app_child child)
{
    return child == APP_DEPLOYMENT ? deployment(app, uid) : service(app, uid);
}

/* ---- what is there ---- */

/* The API server fills in again what it has filled in before, so that writing this over it changes nothing. */
static json_t *next_template(const json_t *live, const json_t *wanted)
{
    json_t *template = json_deep_copy(wanted);
    const json_t *annotations = json_path(live, "metadata.annotations"); /* kubectl rollout restart */
    if (annotations)
        json_object_set_new(json_object_get(template, "metadata"), "annotations", json_deep_copy(annotations));
    return template;
}

static void lay_deployment(json_t *next, const json_t *live, const json_t *manifest)
{
    json_t *spec = json_object_get(next, "spec");
    json_object_set(spec, "replicas", json_object_get(json_object_get(manifest, "spec"), "replicas"));
    json_object_set_new(
        spec, "template", next_template(json_path(live, "spec.template"), json_path(manifest, "spec.template")));
}

static void lay_service(json_t *next, const json_t *manifest)
{
    json_object_update(json_object_get(next, "spec"), json_object_get(manifest, "spec"));
}

json_t *app_next_state(const json_t *live, const json_t *manifest, enum app_child child)
{
    json_t *next = json_deep_copy(live);
    json_t *meta = json_object_get(next, "metadata");
    json_t *labels_there = json_object_get(meta, "labels");
    if (labels_there)
        json_merge(labels_there, json_path(manifest, "metadata.labels"));
    else
        json_object_set_new(meta, "labels", json_deep_copy(json_path(manifest, "metadata.labels")));
    if (child == APP_DEPLOYMENT)
        lay_deployment(next, live, manifest);
    else
        lay_service(next, manifest);
    return next;
}

void app_applied_hash(const struct app *app, const char *uid, const uint64_t digests[static APP_CHILD_COUNT],
    char out[static APP_HASH_SIZE])
{
    uint64_t state = HASH64_INIT;
    for (enum app_child child = 0; child < APP_CHILD_COUNT; child++) {
        json_t *manifest = app_manifest(app, uid, child);
        uint64_t parts[2] = {manifest ? json_hash(manifest) : 0, digests[child]};
        state = hash64(state, parts, sizeof(parts));
        json_decref(manifest);
    }
    snprintf(out, APP_HASH_SIZE, "%016llx", (unsigned long long)state);
}

/* ---- status ---- */

static const char *const condition_types[] = {CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED, NULL};

static const json_t *deployment_condition(const struct app_view *view, const char *type)
{
    size_t i;
    const json_t *each;
    json_array_foreach(json_object_get(view->deployment_status, "conditions"), i, each)
        if (str_eq(json_path_str(each, "type", NULL), type))
            return each;
    return NULL;
}

/* As kubectl rollout status and kstatus judge a Deployment. */
static bool is_rolled_out(const struct app_view *view)
{
    const json_t *status = view->deployment_status;
    int64_t wanted = view->app->replicas;
    return status && json_path_int(status, "observedGeneration", 0) >= view->deployment_generation &&
        json_path_int(status, "updatedReplicas", 0) == wanted && json_path_int(status, "replicas", 0) == wanted &&
        json_path_int(status, "availableReplicas", 0) == wanted;
}

static void judge(const struct app_view *view, struct kube_conditions *conditions, int64_t now_ms)
{
    char message[KUBE_CONDITION_MESSAGE_MAX];
    const json_t *progressing = deployment_condition(view, "Progressing");
    struct ready_view ready = {.ready = {true, "Available", "all pods are available"},
        .reconciling = {false, "Settled", "nothing is being changed"},
        .stalled = {false, "NotStalled", "nothing has to be changed by hand"}};
    snprintf(message, sizeof(message), "%lld of %lld pods are available%s%.900s",
        (long long)json_path_int(view->deployment_status, "availableReplicas", 0), (long long)view->app->replicas,
        *view->trouble ? "; " : "", view->trouble);
    const json_t *failure =
        deployment_condition(view, "ReplicaFailure"); /* Pod Security, a quota, an admission webhook */
    bool is_refused = str_eq(json_path_str(failure, "status", NULL), "True");
    bool gave_up = deployment_gave_up(progressing) || is_refused;
    if (view->reason)
        ready.ready = (struct ready_reason){false, view->reason, view->message};
    else if (!is_rolled_out(view) && is_refused)
        ready.ready = (struct ready_reason){
            false, json_path_str(failure, "reason", "FailedCreate"), json_path_str(failure, "message", message)};
    else if (!is_rolled_out(view) && gave_up)
        ready.ready = (struct ready_reason){
            false, DEPLOYMENT_GAVE_UP, *view->trouble ? message : json_path_str(progressing, "message", message)};
    else if (!is_rolled_out(view))
        ready.ready = (struct ready_reason){false, "Progressing", message};
    struct ready_reason *other = (view->reason ? view->is_stalled : gave_up) ? &ready.stalled : &ready.reconciling;
    if (!ready.ready.holds)
        *other = (struct ready_reason){true, ready.ready.reason, ready.ready.message};
    ready_conditions_set(conditions, &ready, view->generation, now_ms);
}

static void copy_numbers(json_t *status, const json_t *deployment_status)
{
    static const char *const keys[] = {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas",
        "unavailableReplicas", "terminatingReplicas", "collisionCount"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        json_t *value = json_object_get(deployment_status, keys[i]);
        if (value)
            json_object_set(status, keys[i], value);
    }
}

json_t *app_status(const struct app_view *view, const json_t *last, int64_t now_ms)
{
    size_t i;
    const json_t *each;
    struct kube_conditions conditions;
    json_t *status = json_object();
    kube_conditions_decode(json_object_get(last, "conditions"), condition_types, &conditions);
    judge(view, &conditions, now_ms);
    json_put_int(status, "observedGeneration", view->generation);
    copy_numbers(status, view->deployment_status);
    json_put(status, "selector", json_sprintf("%s=%s", LABEL_APP, view->app->name));
    json_put_str(status, "appliedHash", *view->applied_hash ? view->applied_hash : NULL);
    json_t *array = kube_conditions_encode(&conditions);
    json_array_foreach(json_object_get(view->deployment_status, "conditions"), i, each)
        json_array_append_new(array, json_deep_copy(each));
    json_put(status, "conditions", array);
    return status;
}

/* Conditions by their type. */
static json_t *without_order(const json_t *status)
{
    size_t i;
    const json_t *each;
    json_t *copy = json_copy((json_t *)(uintptr_t)status), *by_type = json_object();
    json_array_foreach(json_object_get(status, "conditions"), i, each)
        json_object_set(by_type, json_path_str(each, "type", ""), (json_t *)(uintptr_t)each);
    json_object_set_new(copy, "conditions", by_type);
    return copy;
}

bool app_status_same(const json_t *a, const json_t *b)
{
    if (!a || !b)
        return a == b;
    _cleanup_(json_decrefp) json_t *x = without_order(a);
    _cleanup_(json_decrefp) json_t *y = without_order(b);
    return json_equal(x, y);
}
