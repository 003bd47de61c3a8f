/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "operator/api/quantity.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/state/member_view.h"

/* ---- what is tried ---- */

bool desired_template_is_applied(const struct cluster_snapshot *snapshot)
{
    char wanted[17];
    const struct stateful_set_object *set = snapshot->stateful_set;
    if (!set || str_empty(set->applied_template))
        return set != NULL;
    desired_template_hash(snapshot, wanted);
    return str_eq(set->applied_template, wanted);
}

static bool is_asked_about(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_is_wanted(snapshot, member) && member_speaks(member) && member_runs(member);
}

/* Nothing but my.cnf has changed, and every pod is of the template that stays: the servers that run are those that will
 * have it. */
static bool is_of_mycnf_alone(const struct cluster_snapshot *snapshot)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    if (!set || str_empty(set->applied_template) || !desired_template_is_applied(snapshot))
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->pod && member_is_wanted(snapshot, member) && !member_has_newest_template(snapshot, member))
            return false;
    }
    return true;
}

const struct cluster_member *desired_check_asked(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!is_of_mycnf_alone(snapshot))
        return NULL;
    if (primary && is_asked_about(snapshot, primary))
        return primary;
    for (int i = 0; i < snapshot->member_count; i++) {
        if (is_asked_about(snapshot, &snapshot->members[i]))
            return &snapshot->members[i];
    }
    return NULL;
}

enum check_kind desired_check_kind(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *asked = desired_check_asked(snapshot);
    if (asked && str_eq(asked->agent->mycnf_hash, snapshot->mycnf_hash)) /* a change was taken back */
        return CHECK_LOOK;
    if (!asked || asked->mycnf_preview == MYCNF_NEEDS_RESTART)
        return CHECK_START;
    return asked->mycnf_preview == MYCNF_APPLIED ? CHECK_LOOK : CHECK_UNKNOWN;
}

/* Another template, or data that another server has written meanwhile, is another question. */
void desired_check_pod_role(
    const struct cluster_snapshot *snapshot, enum check_kind kind, char out[static CHECK_ROLE_SIZE])
{
    char runtime[17], template[17];
    desired_runtime_hash(snapshot, runtime);
    desired_template_hash(snapshot, template);
    const char *const parts[] = {
        runtime, template, cluster_data_version(snapshot), kind == CHECK_START ? "start" : "look"};
    uint64_t hash = HASH64_INIT;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        hash = hash64(hash, parts[i], strlen(parts[i]) + 1);
    snprintf(out, CHECK_ROLE_SIZE, "check-%016llx", (unsigned long long)hash);
}

bool desired_check_pod_fits(const struct cluster_snapshot *snapshot, const struct pod_object *pod, enum check_kind kind)
{
    char look[CHECK_ROLE_SIZE], start[CHECK_ROLE_SIZE];
    desired_check_pod_role(snapshot, CHECK_LOOK, look);
    desired_check_pod_role(snapshot, CHECK_START, start);
    return str_eq(pod->role, start) || (kind != CHECK_START && str_eq(pod->role, look));
}

void desired_check_pod_name(const struct cluster_snapshot *snapshot, char out[static DERIVED_NAME_SIZE])
{
    snprintf(out, DERIVED_NAME_SIZE, "%s-check", snapshot->names.stateful_set);
}

/* ---- volumes ---- */

/* Ours: what members share, or what is tried, stands in their place. A server that starts reads the certificates. */
static bool is_replaced(const char *volume, enum check_kind kind)
{
    static const char *const names[] = {VOLUME_DATA, "config", "accounts"};
    if (str_eq(volume, "tls"))
        return kind != CHECK_START;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(volume, names[i]))
            return true;
    }
    return false;
}

/* Whose absence keeps a member's pod from starting, and which any number of pods may mount. */
static bool is_carried(const json_t *volume, enum check_kind kind)
{
    static const char *const sources[] = {"configMap", "secret", "projected", "downwardAPI", "emptyDir"};
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        if (json_object_get(volume, sources[i]))
            return !is_replaced(json_path_str(volume, "name", ""), kind);
    }
    return false;
}

/* The my.cnf under test travels in an annotation of its own pod: nothing that a running member reads is touched. */
static json_t *config_volume(void)
{
    return json_build("{s:s, s:{s:i, s:[{s:s, s:{s:s, s:s}}, {s:s, s:{s:s, s:s}}]}}", "name", "config", "downwardAPI",
        "defaultMode", 0444, "items", "path", "my.cnf", "fieldRef", "apiVersion", "v1", "fieldPath",
        "metadata.annotations['kubemysql.dev/check-mycnf']", "path", "instance.json", "fieldRef", "apiVersion", "v1",
        "fieldPath", "metadata.annotations['kubemysql.dev/check-instance']");
}

static bool has_volume(const json_t *volumes, const char *name)
{
    size_t i;
    const json_t *volume;
    json_array_foreach(volumes, i, volume) {
        if (str_eq(json_path_str(volume, "name", ""), name))
            return true;
    }
    return false;
}

static json_t *volumes_of(const json_t *template, enum check_kind kind)
{
    static const char *const always[] = {"bin", "run", "tmp", VOLUME_DATA};
    json_t *volumes = json_array();
    size_t i;
    json_t *volume;
    json_array_foreach(json_object_get(template, "volumes"), i, volume) {
        if (is_carried(volume, kind))
            json_array_append(volumes, volume);
    }
    for (i = 0; i < ARRAY_LEN(always); i++) {
        if (!has_volume(volumes, always[i]))
            json_array_append_new(volumes, json_build("{s:s, s:{}}", "name", always[i], "emptyDir"));
    }
    json_array_append_new(volumes, config_volume());
    return volumes;
}

static json_t *mounts_of(const json_t *container, const json_t *volumes)
{
    json_t *mounts = json_array();
    size_t i;
    json_t *mount;
    json_array_foreach(json_object_get(container, "volumeMounts"), i, mount) {
        if (has_volume(volumes, json_path_str(mount, "name", "")))
            json_array_append(mounts, mount);
    }
    return mounts;
}

/* ---- containers ---- */

/* It looks at options, starts a server that does nothing, and ends: whatever a member takes must be left to the
 * members. */
static const struct {
    const char *resource, *request;
} small[] = {{"cpu", "10m"}, {"memory", "32Mi"}};

/* The limits are the server's own, as far as every node has them. A request that is above its limit is refused. */
static json_t *small_resources(const json_t *resources)
{
    json_t *requests = json_object(), *limits = json_object();
    for (size_t i = 0; i < ARRAY_LEN(small); i++) {
        json_t *limit = json_object_get(json_object_get(resources, "limits"), small[i].resource);
        int64_t most = 0, wished = 0;
        bool is_below =
            quantity_from_json(limit, &most) == 0 && quantity_parse(small[i].request, &wished) == 0 && most < wished;
        if (limit)
            json_object_set(limits, small[i].resource, limit);
        json_put(requests, small[i].resource, is_below ? json_incref(limit) : json_string(small[i].request));
    }
    json_t *object = json_build("{s:o}", "requests", requests);
    if (json_object_size(limits) > 0)
        json_object_set(object, "limits", limits);
    json_decref(limits);
    return object;
}

static const json_t *container_named(const json_t *containers, const char *name)
{
    size_t i;
    const json_t *container;
    json_array_foreach(containers, i, container) {
        if (str_eq(json_path_str(container, "name", ""), name))
            return container;
    }
    return NULL;
}

static void put_keys(json_t *object, const json_t *from, const char *const *keys)
{
    for (; *keys; keys++) {
        json_t *value = json_object_get(from, *keys);
        if (value)
            json_object_set(object, *keys, value);
    }
}

static json_t *container_inject(const json_t *template, const json_t *volumes)
{
    json_t *inject =
        json_copy((json_t *)(uintptr_t)container_named(json_object_get(template, "initContainers"), CONTAINER_INJECT));
    json_put(inject, "volumeMounts", mounts_of(inject, volumes));
    return inject;
}

static json_t *container_check(const json_t *template, const json_t *volumes)
{
    static const char *const keys[] = {"image", "imagePullPolicy", "env", "envFrom", "securityContext", NULL};
    const json_t *mysql = container_named(json_object_get(template, "containers"), CONTAINER_MYSQL);
    json_t *check = json_build("{s:s, s:[s, s], s:o, s:o}", "name", CONTAINER_CHECK, "command", AGENT_BIN, "check",
        "resources", small_resources(json_object_get(mysql, "resources")), "volumeMounts", mounts_of(mysql, volumes));
    put_keys(check, mysql, keys);
    return check;
}

/* ---- the pod ---- */

/* Where it may run, who may pull and what is allowed to it. Not what only members must keep: distance from each other,
 * ports of the host, claims. */
static json_t *check_spec(const json_t *template, enum check_kind kind)
{
    static const char *const keys[] = {"serviceAccountName", "automountServiceAccountToken", "enableServiceLinks",
        "terminationGracePeriodSeconds", "securityContext", "imagePullSecrets", "nodeSelector", "nodeName",
        "tolerations", "priorityClassName", "preemptionPolicy", "runtimeClassName", "schedulerName", "os", "hostUsers",
        NULL};
    json_t *spec = json_object();
    put_keys(spec, template, keys);
    json_t *nodes = json_object_get(json_object_get(template, "affinity"), "nodeAffinity");
    if (nodes)
        json_put(spec, "affinity", json_build("{s:O}", "nodeAffinity", nodes));
    json_put_str(spec, "restartPolicy", "Never");
    json_t *volumes = volumes_of(template, kind);
    json_put(spec, "initContainers", json_build("[o]", container_inject(template, volumes)));
    json_put(spec, "containers", json_build("[o]", container_check(template, volumes)));
    json_put(spec, "volumes", volumes);
    return spec;
}

json_t *desired_check_pod(const struct cluster_snapshot *snapshot, enum check_kind kind)
{
    char name[DERIVED_NAME_SIZE], role[CHECK_ROLE_SIZE];
    desired_check_pod_name(snapshot, name);
    desired_check_pod_role(snapshot, kind, role);
    _cleanup_(freep) char *instance = desired_check_instance_json(snapshot, kind);
    _cleanup_(json_decrefp) json_t *template = desired_pod_template(snapshot);
    json_t *pod = desired_object(snapshot, "v1", "Pod", name);
    json_t *metadata = json_object_get(pod, "metadata");
    json_t *labels = json_object_get(metadata, "labels");
    json_put_str(labels, LABEL_ROLE, role);
    json_put_str(labels, LABEL_COMPONENT, "check");
    json_put(metadata, "annotations",
        json_build(
            "{s:s, s:s}", "kubemysql.dev/check-mycnf", snapshot->mycnf, "kubemysql.dev/check-instance", instance));
    json_put(pod, "spec", check_spec(json_object_get(template, "spec"), kind));
    return pod;
}

json_t *desired_trial_pod(const struct cluster_snapshot *snapshot)
{
    char name[DERIVED_NAME_SIZE], claim[DERIVED_NAME_SIZE];
    json_t *pod = desired_pod_template(snapshot);
    json_put_str(pod, "apiVersion", "v1");
    json_put_str(pod, "kind", "Pod");
    json_t *metadata = json_object_get(pod, "metadata");
    cluster_pod_name(name, snapshot->name, 0);
    json_put_str(metadata, "name", name);
    json_put_str(metadata, "namespace", snapshot->ns);
    cluster_claim_name(claim, snapshot->name, 0);
    if (!snapshot->cluster.storage.volume_source)
        json_array_append_new(json_object_get(json_object_get(pod, "spec"), "volumes"),
            json_build("{s:s, s:{s:s}}", "name", VOLUME_DATA, "persistentVolumeClaim", "claimName", claim));
    return pod;
}
