/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/restore/restore_store.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/backup_store_pod.h"
#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/restore/cluster_restore.h"

/* The last one of an existing cluster, if there was one. */
static bool is_in_place(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.in_place.phase != IN_PLACE_PHASE_NONE;
}

static void read_destination(const struct cluster_snapshot *snapshot, struct backup_destination *ret)
{
    if (is_in_place(snapshot)) {
        backup_destination_read(snapshot->last.in_place.source.destination, ret);
        return;
    }
    const json_t *known = snapshot->last.restore.destination;
    bool named = snapshot->cluster.restore.source == RESTORE_SOURCE_BACKUP;
    backup_destination_read(known || named ? known : snapshot->cluster.restore.destination, ret);
}

bool restore_store_name(const struct cluster_snapshot *snapshot, char out[static DERIVED_NAME_SIZE])
{
    struct backup_destination destination;
    if (snapshot->last.restore.phase == RESTORE_PHASE_NONE && !is_in_place(snapshot))
        return false;
    read_destination(snapshot, &destination);
    if (destination.kind != BACKUP_DESTINATION_VOLUME)
        return false;
    backup_store_pod_name(out, snapshot->name, destination.claim, BACKUP_STORE_FOR_RESTORE);
    return true;
}

bool restore_store_is_wanted(const struct cluster_snapshot *snapshot)
{
    char name[DERIVED_NAME_SIZE];
    enum in_place_phase phase = snapshot->last.in_place.phase;
    bool restores =
        restore_is_under_way(snapshot) || phase == IN_PLACE_PHASE_RESOLVING || phase == IN_PLACE_PHASE_RESTORING;
    return restores && snapshot->scale.effective > 0 && restore_store_name(snapshot, name);
}

/* An `init` of an earlier version that was told how to restore reads from it. One that nobody has spoken with yet, as
 * after a restart of the operator, may be one. */
static bool is_read_from(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->agent_awaited)
            return true;
        if (member->agent && backup_store_agent_is_outdated(member->agent) && *member->agent->seed.task)
            return true;
    }
    return false;
}

static bool agents_are_outdated(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->agent && backup_store_agent_is_outdated(member->agent))
            return true;
    }
    return false;
}

/* One that serves is left alone, unless neither we nor our agents understand it. */
static bool is_outdated(const struct cluster_snapshot *snapshot, const struct pod_object *pod, const json_t *wanted)
{
    bool ended = pod->phase == POD_PHASE_SUCCEEDED || pod->phase == POD_PHASE_FAILED;
    bool other = !str_eq(pod->role, json_path_str(wanted, "metadata.labels[\"" LABEL_ROLE "\"]", ""));
    bool useless = !backup_store_pod_is_understood(pod->role) && !is_read_from(snapshot);
    return ended || (other && (!pod->ready || useless));
}

/* A new cluster may begin with an empty volume where that is an answer: nothing was stored yet. */
static bool may_be_empty(const struct cluster_snapshot *snapshot)
{
    return !is_in_place(snapshot) && snapshot->cluster.restore.source == RESTORE_SOURCE_LATEST &&
        snapshot->cluster.restore.or_empty;
}

void restore_store_decide(const struct cluster_snapshot *snapshot, struct plan *plan)
{
    const struct pod_object *found = snapshot->restore_store;
    struct backup_destination destination;
    if (!restore_store_is_wanted(snapshot)) {
        if (found && !found->object.deleting && cluster_owns(snapshot, &found->object))
            plan_add_delete(plan, PLAN_POD, snapshot->ns, found->name, found->uid, "the restore is over");
        return;
    }
    if (!snapshot->usable || snapshot->cluster.paused)
        return;
    read_destination(snapshot, &destination);
    const struct backup_store_pod pod = {
        .ns = snapshot->ns,
        .cluster = snapshot->name,
        .cluster_uid = snapshot->uid,
        .claim = destination.claim,
        .purpose = BACKUP_STORE_FOR_RESTORE,
        .config = &snapshot->config,
        .default_agent_image = snapshot->default_agent_image,
        .agents_are_outdated = agents_are_outdated(snapshot),
    };
    _cleanup_(json_decrefp) json_t *wanted = backup_store_pod_manifest(&pod);
    bool waits = !found || (!found->scheduled && !str_empty(found->problem_reason));
    json_t *claim =
        waits && may_be_empty(snapshot) ? backup_claim_manifest(snapshot->ns, snapshot->name, &destination) : NULL;
    if (claim)
        plan_add_create(plan, PLAN_VOLUME_CLAIM, claim, "a claim for backups, which there is none of yet");
    if (!found)
        plan_add_apply(plan, PLAN_POD, NULL, json_incref(wanted), "the restore reads from a volume");
    else if (!found->object.deleting && is_outdated(snapshot, found, wanted))
        plan_add_delete(
            plan, PLAN_POD, snapshot->ns, found->name, found->uid, "the pod that serves the volume is outdated");
}

bool restore_store_serves(const struct cluster_snapshot *snapshot)
{
    const struct pod_object *pod = snapshot->restore_store;
    return pod && pod->ready && !pod->object.deleting && !str_empty(pod->pod_ip) &&
        backup_store_pod_is_understood(pod->role);
}

void restore_store_say_waits(const struct cluster_snapshot *snapshot, char *message, size_t size)
{
    char name[DERIVED_NAME_SIZE] = "";
    const struct pod_object *pod = snapshot->restore_store;
    restore_store_name(snapshot, name);
    snprintf(message, size, "waits for pod %s, which serves the volume%s%s", name,
        pod && !str_empty(pod->problem_message) ? ": " : "", pod ? str_or_empty(pod->problem_message) : "");
}

bool restore_store_door(const struct cluster_snapshot *snapshot, struct backup_store *store)
{
    const struct pod_object *pod = snapshot->restore_store;
    struct strbuf name;
    if (!restore_store_serves(snapshot))
        return false;
    strbuf_init(&name, 512);
    backup_store_server_name(snapshot->ns, snapshot->name, pod->name, &name);
    free(store->endpoint);
    free(store->bucket);
    free(store->connect_to);
    free(store->server_name);
    store->endpoint = xasprintf("https://%s:%d", name.buf, AGENT_PORT_TLS);
    store->bucket = xstrdup(BACKUP_STORE_BUCKET);
    store->connect_to = xasprintf(strchr(pod->pod_ip, ':') ? "[%s]:%d" : "%s:%d", pod->pod_ip, AGENT_PORT_TLS);
    store->server_name = xstrdup(name.buf);
    store->is_volume = store->path_style = true;
    strbuf_release(&name);
    return true;
}
