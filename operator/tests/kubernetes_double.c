/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/kubernetes_double.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/names.h"
#include "operator/tests/operator_world.h"

#define FINALIZER "test/kubelet"
#define CLAIM_SIZE "1Gi"

static const char *name_of(const struct kubernetes_double *kubernetes)
{
    return agent_doubles_cluster(kubernetes->agents);
}

static char *set_path(const struct kubernetes_double *kubernetes)
{
    return xasprintf(PATH_STATEFUL_SETS "%s-mysql", name_of(kubernetes));
}

static char *pod_path(const struct kubernetes_double *kubernetes, int ordinal)
{
    return xasprintf(PATH_CORE "pods/%s-mysql-%d", name_of(kubernetes), ordinal);
}

/* Merges `changes` (taken over) in, unless all of it is there. */
static void edit(struct kubernetes_double *kubernetes, const char *path, json_t *changes)
{
    const json_t *before = kube_api_double_get(kubernetes->api, path);
    _cleanup_(json_decrefp) json_t *after = json_deep_copy(before);
    json_merge(after, changes);
    if (!json_equal(before, after))
        kube_api_double_edit(kubernetes->api, path, changes);
    json_decref(changes);
}

static bool is_version(const json_t *object, const char *version)
{
    return str_eq(json_path_str(object, "metadata.resourceVersion", ""), version);
}

static void note_version(struct kubernetes_double *kubernetes, const char *path, char out[static 24])
{
    snprintf(out, 24, "%s", json_path_str(kube_api_double_get(kubernetes->api, path), "metadata.resourceVersion", ""));
}

/* ---- the StatefulSet controller ---- */

static void revision_of(const json_t *set, char out[static 24])
{
    snprintf(out, 24, "r%016llx", (unsigned long long)json_hash(json_path(set, "spec.template")));
}

static void make_claim(struct kubernetes_double *kubernetes, int ordinal)
{
    _cleanup_(freep) char *path =
        xasprintf(PATH_CORE "persistentvolumeclaims/data-%s-mysql-%d", name_of(kubernetes), ordinal);
    if (kube_api_double_get(kubernetes->api, path))
        return;
    _cleanup_(json_decrefp) json_t *claim = json_build("{s:s, s:s, s:{s:{s:s, s:s}}, s:{s:{s:{s:s}}}, s:{s:s, s:{s:s}}}",
        "apiVersion", "v1", "kind", "PersistentVolumeClaim", "metadata", "labels", LABEL_MANAGED_BY,
        LABEL_MANAGED_BY_US, LABEL_CLUSTER, name_of(kubernetes), "spec", "resources", "requests", "storage", CLAIM_SIZE,
        "status", "phase", "Bound", "capacity", "storage", CLAIM_SIZE);
    if (kubernetes->claims_wait)
        json_put(claim, "status", json_build("{s:s}", "phase", "Pending"));
    kube_api_double_put(kubernetes->api, path, claim);
}

static void make_pod(struct kubernetes_double *kubernetes, const json_t *set, const char *path, const char *revision)
{
    _cleanup_(json_decrefp) json_t *pod =
        json_build("{s:s, s:s, s:{s:[s], s:{s:s, s:s, s:s}, s:[{s:s, s:s, s:s, s:s, s:b}]}, s:{s:s}}", "apiVersion",
            "v1", "kind", "Pod", "metadata", "finalizers", FINALIZER, "labels", LABEL_MANAGED_BY, LABEL_MANAGED_BY_US,
            LABEL_CLUSTER, name_of(kubernetes), "controller-revision-hash", revision, "ownerReferences", "apiVersion",
            "apps/v1", "kind", "StatefulSet", "name", json_path_str(set, "metadata.name", ""), "uid",
            json_path_str(set, "metadata.uid", ""), "controller", 1, "spec", "nodeName", "node-1");
    kube_api_double_put(kubernetes->api, path, pod);
}

/* The set as the controller knows it; the caller drops it. */
static json_t *see_set(struct kubernetes_double *kubernetes)
{
    if (kubernetes->set_late_ticks == 0 || kubernetes->ticks++ % kubernetes->set_late_ticks == 0) {
        _cleanup_(freep) char *path = set_path(kubernetes);
        json_decref(kubernetes->set_seen);
        kubernetes->set_seen = json_incref((json_t *)(uintptr_t)kube_api_double_get(kubernetes->api, path));
    }
    return json_incref(kubernetes->set_seen);
}

static void show_set(struct kubernetes_double *kubernetes, const json_t *set, int replicas)
{
    _cleanup_(freep) char *path = set_path(kubernetes);
    const json_t *live = kube_api_double_get(kubernetes->api, path);
    if (!live || !is_version(live, json_path_str(set, "metadata.resourceVersion", "")))
        return;
    edit(kubernetes, path,
        json_build("{s:{s:I, s:s, s:i}}", "status", "observedGeneration",
            (json_int_t)json_path_int(set, "metadata.generation", 0), "updateRevision", kubernetes->set_revision,
            "replicas", replicas));
    note_version(kubernetes, path, kubernetes->set_version);
}

static void keep_set(struct kubernetes_double *kubernetes)
{
    _cleanup_(json_decrefp) json_t *set = see_set(kubernetes);
    int replicas = (int)json_path_int(set, "spec.replicas", 0);
    if (!set)
        return;
    bool is_told = is_version(set, kubernetes->set_version);
    if (!is_told)
        revision_of(set, kubernetes->set_revision);
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++) {
        _cleanup_(freep) char *path = pod_path(kubernetes, i);
        const json_t *pod = kube_api_double_get(kubernetes->api, path);
        if (i < replicas && !pod) {
            make_claim(kubernetes, i);
            make_pod(kubernetes, set, path, kubernetes->set_revision);
        } else if (i >= replicas && pod && !json_path(pod, "metadata.deletionTimestamp"))
            kube_api_double_remove(kubernetes->api, path);
    }
    if (!is_told)
        show_set(kubernetes, set, replicas);
}

/* ---- kubelet ---- */

static json_t *condition(const char *type, bool yes)
{
    return json_build("{s:s, s:s}", "type", type, "status", yes ? "True" : "False");
}

static void show_pod(struct kubernetes_double *kubernetes, const char *path, const struct agent_double *agent)
{
    bool past_init = agent_double_is_past_init(agent), ready = agent_double_is_ready(agent);
    typeof(kubernetes->pods[0]) *told = &kubernetes->pods[agent->ordinal];
    if (told->past_init == past_init && told->ready == ready && str_eq(told->address, agent->address) &&
        is_version(kube_api_double_get(kubernetes->api, path), told->version))
        return;
    told->past_init = past_init;
    told->ready = ready;
    snprintf(told->address, sizeof(told->address), "%s", agent->address);
    edit(kubernetes, path,
        json_build("{s:{s:s, s:s, s:[o, o, o]}}", "status", "phase", past_init ? "Running" : "Pending", "podIP",
            agent->address, "conditions", condition("PodScheduled", true), condition("Initialized", past_init),
            condition("Ready", ready)));
    note_version(kubernetes, path, told->version);
}

/* It is started again and again, and no agent is heard. */
static void show_refusal(struct kubernetes_double *kubernetes, const char *path)
{
    if (json_path(kube_api_double_get(kubernetes->api, path), "status.initContainerStatuses"))
        return;
    edit(kubernetes, path,
        json_build("{s:{s:s, s:[o, o, o], s:[{s:s, s:i, s:b, s:{s:{s:s}}, s:{s:{s:i, s:s, s:s}}}]}}", "status", "phase",
            "Pending", "conditions", condition("PodScheduled", true), condition("Initialized", false),
            condition("Ready", false), "initContainerStatuses", "name", CONTAINER_INIT, "restartCount", 2, "ready", 0,
            "state", "waiting", "reason", "CrashLoopBackOff", "lastState", "terminated", "exitCode",
            agent_init_exit_code(AGENT_INIT_FAULT_MYCNF), "reason", "Error", "message", kubernetes->init_refuses));
}

static void end_pod(struct kubernetes_double *kubernetes, const char *path, struct agent_double *agent)
{
    if (!agent_double_may_stop(agent))
        return;
    agent_double_stop(agent);
    edit(kubernetes, path, json_build("{s:{s:n}}", "metadata", "finalizers"));
    kube_api_double_remove(kubernetes->api, path);
}

static void keep_pod(struct kubernetes_double *kubernetes, int ordinal)
{
    _cleanup_(freep) char *path = pod_path(kubernetes, ordinal);
    struct agent_double *agent = agent_doubles_get(kubernetes->agents, ordinal);
    const json_t *pod = kube_api_double_get(kubernetes->api, path);
    if (!pod) {
        agent_double_stop(agent);
        return;
    }
    bool leaving = json_path(pod, "metadata.deletionTimestamp") != NULL;
    if (kubernetes->init_refuses && !agent->is_up && !leaving)
        show_refusal(kubernetes, path);
    else if (agent->is_up || (!leaving && agent_double_start(agent)))
        show_pod(kubernetes, path, agent);
    if (leaving)
        end_pod(kubernetes, path, agent);
}

void kubernetes_double_tick(struct kubernetes_double *kubernetes)
{
    if (kubernetes->is_held)
        return;
    if (!kubernetes->is_ending)
        keep_set(kubernetes);
    for (int i = 0; i < AGENT_DOUBLES_MAX; i++)
        keep_pod(kubernetes, i);
}

void kubernetes_double_release(struct kubernetes_double *kubernetes)
{
    json_decref(steal_ptr(kubernetes->set_seen));
}
