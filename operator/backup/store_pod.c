/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/store_pod.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/backup_spec.h"
#include "operator/api/backup_store_pod.h"
#include "operator/api/mysql_backup.h"
#include "operator/api/mysql_cluster.h"
#include "operator/api/pod_reason.h"

static const struct custom_object *find_cluster(const struct backup_sources *sources, const char *ns, const char *name)
{
    _cleanup_(freep) char *key = kube_key(ns, str_or_empty(name));
    return (const struct custom_object *)store_get(informer_store(sources->clusters), key);
}

const struct pod_object *store_pod_find(
    const struct backup_sources *sources, const char *ns, const char *cluster, const char *claim)
{
    char name[DERIVED_NAME_SIZE];
    backup_store_pod_name(name, cluster, claim, BACKUP_STORE_FOR_BACKUPS);
    _cleanup_(freep) char *key = kube_key(ns, name);
    return (const struct pod_object *)store_get(informer_store(sources->pods), key);
}

bool store_pod_serves(const struct pod_object *pod, char *message, size_t size)
{
    bool understood = pod && backup_store_pod_is_understood(pod->role);
    if (pod && !str_empty(pod->problem_reason))
        snprintf(message, size, "%s: %s", pod->problem_reason, pod->problem_message);
    else if (pod && !understood)
        snprintf(message, size, "it is of an earlier version, and is replaced when nothing is sent to it any more");
    else
        snprintf(message, size, "%s", pod ? "it is starting" : "it is being made");
    return understood && pod->ready && !pod->object.deleting && !str_empty(pod->pod_ip);
}

bool store_pod_lacks_claim(const struct pod_object *pod, const char *claim)
{
    return pod && !pod->scheduled && pod_reason_lacks_claim(pod->problem_message, claim);
}

/* ---- members ---- */

/* NULL: it is not heard. */
static const struct agent_status *status_of(
    const struct backup_sources *sources, const char *ns, const char *cluster, const char *member)
{
    _cleanup_(freep) char *key = kube_key(ns, cluster);
    const struct agent_watch *watch = agent_fleet_get(sources->fleet, key, member);
    return watch && agent_watch_connected(watch) ? agent_fleet_status(sources->fleet, key, member) : NULL;
}

static bool agents_are_outdated(const struct backup_sources *sources, const char *ns, const char *cluster)
{
    for (int ordinal = 0; ordinal <= CLUSTER_REPLICAS_MAX; ordinal++) {
        char member[DERIVED_NAME_SIZE];
        cluster_pod_name(member, cluster, ordinal);
        const struct agent_status *status = status_of(sources, ns, cluster, member);
        if (status && backup_store_agent_is_outdated(status))
            return true;
    }
    return false;
}

/* NULL without an accepted cluster. */
static json_t *manifest_of(
    const struct backup_sources *sources, const char *ns, const char *cluster_name, const char *claim)
{
    const struct custom_object *cluster = find_cluster(sources, ns, cluster_name);
    if (!cluster)
        return NULL;
    struct mysql_config_spec config = {0};
    _cleanup_(json_decrefp) json_t *status = custom_object_status(cluster);
    json_t *document = json_deep_copy(json_object_get(status, "configSpec"));
    if (!document)
        return NULL;
    mysql_config_spec_read(document, &config);
    const struct backup_store_pod pod = {
        .ns = ns,
        .cluster = cluster_name,
        .cluster_uid = cluster->uid,
        .claim = claim,
        .purpose = BACKUP_STORE_FOR_BACKUPS,
        .config = &config,
        .default_agent_image = sources->default_agent_image,
        .agents_are_outdated = config.image_agent && agents_are_outdated(sources, ns, cluster_name),
    };
    json_t *manifest = backup_store_pod_manifest(&pod);
    mysql_config_spec_release(&config);
    json_decref(document);
    return manifest;
}

/* ---- who is served ---- */

/* A donor that is not heard may be sending. */
static bool takes_backup(const struct backup_sources *sources, const struct pod_object *pod)
{
    const struct store *backups = informer_store(sources->backups);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(backups, &cursor));) {
        const struct custom_object *backup = (const struct custom_object *)each;
        if (backup->backup_phase != BACKUP_PHASE_RUNNING || str_empty(backup->claim) || !str_eq(backup->ns, pod->ns) ||
            store_pod_find(sources, backup->ns, backup->cluster_name, backup->claim) != pod)
            continue;
        const struct agent_status *donor = status_of(sources, backup->ns, backup->cluster_name, backup->donor);
        if (!donor || donor->backup.state == BACKUP_STATE_RUNNING)
            return true;
    }
    return false;
}

/* Rounds of an archive are short, begin anew where they were cut off, and a pod that we understand lets them end.
 * One of an earlier version does not: the agents that still archive to it are told to stop first
 * (archive_controller.c). */
static bool takes_binlogs(const struct backup_sources *sources, const struct pod_object *pod)
{
    bool some = false;
    for (int ordinal = 0; ordinal <= CLUSTER_REPLICAS_MAX && !some; ordinal++) {
        char member[DERIVED_NAME_SIZE];
        cluster_pod_name(member, pod->cluster, ordinal);
        const struct agent_status *status = status_of(sources, pod->ns, pod->cluster, member);
        some = status && backup_store_agent_is_outdated(status) && *status->archive.task;
    }
    return some && !backup_store_pod_is_understood(pod->role);
}

static bool is_outdated(const struct backup_sources *sources, const struct pod_object *pod, const json_t *wanted)
{
    bool ended = pod->phase == POD_PHASE_SUCCEEDED || pod->phase == POD_PHASE_FAILED;
    bool other = !str_eq(pod->role, json_path_str(wanted, "metadata.labels[\"" LABEL_ROLE "\"]", ""));
    return ended || (other && (!pod->ready || (!takes_backup(sources, pod) && !takes_binlogs(sources, pod))));
}

/* It waits for a node: perhaps because its claim is gone. */
static bool is_not_placed(const struct pod_object *pod)
{
    return !pod->scheduled && !pod->object.deleting && !str_empty(pod->problem_reason);
}

void store_pod_plan(const struct backup_sources *sources, const char *ns, const char *cluster,
    const struct backup_destination *destination, bool makes_claim, const char *why, struct plan *plan)
{
    const struct pod_object *pod = store_pod_find(sources, ns, cluster, destination->claim);
    _cleanup_(json_decrefp) json_t *wanted = manifest_of(sources, ns, cluster, destination->claim);
    json_t *claim =
        wanted && makes_claim && (!pod || is_not_placed(pod)) ? backup_claim_manifest(ns, cluster, destination) : NULL;
    if (claim) {
        plan_add_create(plan, PLAN_VOLUME_CLAIM, claim, "a claim for backups, which there is none of yet");
        plan_next_stage(plan);
    }
    if (wanted && !pod)
        plan_add_apply(plan, PLAN_POD, NULL, json_incref(wanted), why);
    else if (wanted && !pod->object.deleting && is_outdated(sources, pod, wanted))
        plan_add_delete(plan, PLAN_POD, ns, pod->name, pod->uid, "the pod that serves the volume is outdated");
}

bool store_pod_is_archived_to(
    const struct backup_sources *sources, const char *ns, const char *cluster, const char *claim)
{
    const struct custom_object *object = find_cluster(sources, ns, cluster);
    _cleanup_(json_decrefp) json_t *spec =
        object && object->archives && !object->object.deleting ? custom_object_spec(object) : NULL;
    return json_path_bool(spec, "backup.binlogs.enabled", false) &&
        str_eq(json_path_str(spec, "backup.destination.persistentVolumeClaim.claimName", ""), claim);
}

static void describe_bucket(
    const struct backup_destination *destination, const struct task_keys *keys, struct backup_store *ret)
{
    ret->endpoint = xstrdup(destination->endpoint);
    ret->region = xstrdup(destination->region);
    ret->bucket = xstrdup(destination->bucket);
    ret->prefix = xstrdup(destination->prefix);
    ret->access_key = xstrdup(keys->access_key);
    ret->secret_key = xstrdup(keys->secret_key);
    ret->session_token = xstrdup(keys->session_token);
    ret->path_style = destination->path_style;
}

void store_pod_describe(const struct backup_sources *sources, const char *ns, const char *cluster,
    const struct backup_destination *destination, const struct task_keys *keys, struct backup_store *ret)
{
    *ret = (struct backup_store){.ca_pem = xstrdup(keys->ca_pem)};
    if (destination->kind == BACKUP_DESTINATION_S3) {
        describe_bucket(destination, keys, ret);
        return;
    }
    const struct pod_object *pod = store_pod_find(sources, ns, cluster, destination->claim);
    struct strbuf name;
    strbuf_init(&name, KUBE_NAME_MAX);
    if (pod) {
        backup_store_server_name(ns, cluster, pod->name, &name);
        ret->connect_to = xasprintf(strchr(pod->pod_ip, ':') ? "[%s]:%d" : "%s:%d", pod->pod_ip, AGENT_PORT_TLS);
    }
    ret->server_name = xstrdup(name.buf);
    ret->endpoint = xasprintf("https://%s:%d", name.buf, AGENT_PORT_TLS);
    ret->bucket = xstrdup(BACKUP_STORE_BUCKET);
    ret->prefix = xstrdup(destination->path);
    ret->path_style = true;
    ret->is_volume = true;
    strbuf_release(&name);
}
