/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/backup_gather.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/backup_store_pod.h"
#include "operator/api/condition_reason.h"
#include "operator/api/final_backup_status.h"
#include "operator/api/in_place_status.h"
#include "operator/api/projections.h"
#include "operator/api/ready_conditions.h"
#include "operator/backup/store_pod.h"

/* ---- the object itself ---- */

static int64_t time_of(const char *text)
{
    int64_t ms;
    return clock_parse_rfc3339(text, &ms) == 0 ? ms : 0;
}

static void read_object(const struct custom_object *object, struct backup_snapshot *ret)
{
    ret->ns = xstrdup(object->ns);
    ret->name = xstrdup(object->name);
    ret->uid = xstrdup(object->uid);
    ret->version = xstrdup(object->object.resource_version);
    ret->generation = object->object.generation;
    ret->created_ms = time_of(object->creation_timestamp);
    if (ret->created_ms == 0)
        ret->created_ms = ret->now_ms;
    ret->deleting = object->object.deleting;
    ret->deleted_ms = time_of(object->deletion_timestamp);
    ret->has_finalizer = object->has_backup_finalizer;
    ret->skip_data_deletion = str_eq(object->skip_data_deletion, "true");
}

static void read_spec(const struct custom_object *object, const json_t *cluster_spec, struct backup_snapshot *ret)
{
    struct api_problems problems = {0};
    struct strbuf text;
    _cleanup_(json_decrefp) json_t *spec = custom_object_spec(object);
    if (mysql_backup_parse(ret->ns, ret->name, spec, &ret->backup, &problems) < 0) {
        strbuf_init(&text, sizeof(ret->message) - 1);
        api_problems_text(&problems, &text);
        snprintf(ret->message, sizeof(ret->message), "%s", text.buf);
        snprintf(ret->reason, sizeof(ret->reason), "InvalidSpec");
        strbuf_release(&text);
    }
    if (ret->last.destination)
        mysql_backup_take_used(&ret->backup, ret->last.destination, ret->last.encryption);
    else
        mysql_backup_inherit(&ret->backup, json_object_get(cluster_spec, "backup"));
}

/* ---- members ---- */

/* What the members are asked, and for whom. */
struct looker {
    const struct backup_sources *sources;
    const struct backup_memories *memories;
    const struct backup_memory *memory;
    const char *cluster_key;
};

static bool is_taken(const struct looker *looker, const struct backup_snapshot *snapshot, const char *pod)
{
    const struct store *backups = informer_store(looker->sources->backups);
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(backups, &cursor));) {
        const struct custom_object *other = (const struct custom_object *)each;
        if (other->backup_phase == BACKUP_PHASE_RUNNING && str_eq(other->donor, pod) &&
            str_eq(other->ns, snapshot->ns) && !str_eq(other->name, snapshot->name))
            return true;
    }
    return backup_memories_have_begun(looker->memories, looker->memory, snapshot->ns, pod);
}

/* Of the cluster's status. */
struct roles {
    const char *primary;
    const struct cluster_final_backup *final;
    int64_t epoch;
};

/* By its own word, under the epoch that the status closed it under. */
static bool is_closed(const struct agent_status *status, const struct roles *roles, const char *name)
{
    const struct cluster_final_backup *final = roles->final;
    return final->phase == FINAL_BACKUP_RUNNING && str_eq(final->primary, name) && str_eq(roles->primary, name) &&
        final->epoch == roles->epoch && status->epoch == (uint64_t) final->epoch && status->order_done &&
        status->role == AGENT_ROLE_NONE && !status->writable;
}

static void read_words(const struct agent_status *status, const struct roles *roles, struct backup_member *ret)
{
    bool runs =
        status->replication.receiver == AGENT_THREAD_RUNNING && status->replication.applier == AGENT_THREAD_RUNNING;
    snprintf(ret->process, sizeof(ret->process), "%s", status->boot_id);
    ret->phase = status->phase;
    ret->is_primary = str_eq(roles->primary, ret->name) && status->writable;
    ret->is_closed = is_closed(status, roles, ret->name);
    ret->is_replica = status->role == AGENT_ROLE_REPLICA && runs;
    ret->is_held = status->role == AGENT_ROLE_NONE && !str_empty(status->order_hash);
    ret->has_data = status->data == AGENT_DATA_DATABASE || status->phase == AGENT_PHASE_RUNNING;
    ret->seeding = status->phase == AGENT_PHASE_SEEDING;
    ret->is_outdated = backup_store_agent_is_outdated(status);
    ret->lag_known = status->replication.lag_known;
    ret->lag_ms = status->replication.lag_ms;
    ret->serving = status->serving_backups;
    ret->report = status->backup;
}

static void read_member(const struct looker *looker, const struct backup_snapshot *snapshot, const struct roles *roles,
    struct backup_member *ret)
{
    struct agent_fleet *fleet = looker->sources->fleet;
    const struct agent_watch *watch = agent_fleet_get(fleet, looker->cluster_key, ret->name);
    const struct agent_status *status = watch ? agent_fleet_status(fleet, looker->cluster_key, ret->name) : NULL;
    ret->heard = watch && status && agent_watch_connected(watch);
    ret->silent_ms = watch ? agent_watch_age_ms(watch) : 0;
    ret->taken = is_taken(looker, snapshot, ret->name);
    if (status)
        read_words(status, roles, ret);
    if (!watch)
        return;
    const struct backup_sender *sender = agent_watch_backup(watch);
    ret->impossible = backup_sender_impossible(sender, snapshot->last.id);
    ret->refused = backup_sender_refused(sender, snapshot->last.id);
    snprintf(ret->send_error, sizeof(ret->send_error), "%s", backup_sender_error(sender, snapshot->last.id));
}

static void read_members(const struct looker *looker, const struct roles *roles, struct backup_snapshot *ret)
{
    for (int ordinal = 0; ordinal <= CLUSTER_REPLICAS_MAX; ordinal++) {
        struct backup_member *member = &ret->members[ret->member_count];
        cluster_pod_name(member->name, ret->backup.cluster, ordinal);
        _cleanup_(freep) char *key = kube_key(ret->ns, member->name);
        const struct pod_object *pod = (const struct pod_object *)store_get(informer_store(looker->sources->pods), key);
        if (!pod || !str_eq(pod->cluster, ret->backup.cluster))
            continue;
        member->pod_ready = pod->ready && !pod->object.deleting;
        read_member(looker, ret, roles, member);
        ret->member_count++;
    }
}

/* ---- the volume's pod ---- */

static const struct custom_object *find_cluster(const struct backup_sources *sources, const char *ns, const char *name)
{
    _cleanup_(freep) char *key = kube_key(ns, str_or_empty(name));
    return (const struct custom_object *)store_get(informer_store(sources->clusters), key);
}

/* What an operator before us was answered: as it was, until we have asked. */
static void keep_refusal(struct backup_snapshot *ret)
{
    const struct kube_condition *accepted = kube_conditions_find(&ret->last.conditions, CONDITION_BACKUP_ACCEPTED);
    const struct kube_condition *stalled = kube_conditions_find(&ret->last.conditions, CONDITION_STALLED);
    if (reason_of(accepted) != REASON_POD_REFUSED)
        return;
    ret->store_refused = true;
    ret->store_refusal_stays = stalled && stalled->status == KUBE_CONDITION_TRUE;
    snprintf(
        ret->store_message, sizeof(ret->store_message), "%.*s", (int)sizeof(ret->store_message) - 1, accepted->message);
}

static void take_answer(const struct store_answer *answer, bool has_pod, struct backup_snapshot *ret)
{
    ret->store_refused = answer->is_refused;
    ret->store_refusal_stays = answer->stays;
    if (!str_empty(answer->text) && (!has_pod || answer->is_refused))
        snprintf(ret->store_message, sizeof(ret->store_message), "%s", answer->text);
}

static void read_store(
    const struct backup_sources *sources, const struct backup_memory *memory, struct backup_snapshot *ret)
{
    const struct backup_destination *destination = &ret->backup.destination;
    ret->store_ready = true;
    if (destination->kind != BACKUP_DESTINATION_VOLUME)
        return;
    const struct pod_object *pod = store_pod_find(sources, ret->ns, ret->backup.cluster, destination->claim);
    ret->claim_missing = !destination->size && store_pod_lacks_claim(pod, destination->claim);
    ret->store_gone = !pod || pod->object.deleting;
    ret->store_ready = store_pod_serves(pod, ret->store_message, sizeof(ret->store_message));
    if (pod && pod->scheduled)
        return;
    if (memory->store.is_known)
        take_answer(&memory->store, pod != NULL, ret);
    else if (!pod)
        keep_refusal(ret);
}

/* ---- all ---- */

static void read_memory(const struct backup_memory *memory, struct backup_snapshot *ret)
{
    ret->secrets_known = memory->keys_ms > 0 && memory->keys_for == backup_secrets_meant(ret->backup.document);
    snprintf(ret->secrets_reason, sizeof(ret->secrets_reason), "%s", memory->keys.reason);
    snprintf(ret->secrets_message, sizeof(ret->secrets_message), "%s", memory->keys.message);
    snprintf(ret->key_id, sizeof(ret->key_id), "%s", memory->keys.key_id);
    snprintf(ret->secrets_version, sizeof(ret->secrets_version), "%s", memory->keys.version);
    ret->namespace_ends = memory->namespace_ends;
    ret->job = memory->view;
}

bool backup_gather(const struct backup_sources *sources, const struct backup_memories *memories,
    const struct backup_memory *memory, int64_t now_ms, struct backup_snapshot *ret)
{
    const struct custom_object *object =
        (const struct custom_object *)store_get(informer_store(sources->backups), memory->key);
    if (!object || !str_eq(object->uid, memory->uid))
        return false;
    *ret = (struct backup_snapshot){.now_ms = now_ms};
    read_object(object, ret);
    _cleanup_(json_decrefp) json_t *own_status = custom_object_status(object);
    backup_status_decode(own_status, &ret->last);
    const struct custom_object *cluster = find_cluster(sources, object->ns, object->cluster_name);
    _cleanup_(json_decrefp) json_t *spec = cluster ? custom_object_spec(cluster) : NULL;
    _cleanup_(json_decrefp) json_t *status = cluster ? custom_object_status(cluster) : NULL;
    read_spec(object, spec, ret);
    ret->cluster_exists = cluster != NULL;
    ret->is_made_by_cluster = str_eq(object->scheduled, "true") || str_eq(object->final, "true");
    read_memory(memory, ret);
    if (cluster) {
        snprintf(ret->cluster_uid, sizeof(ret->cluster_uid), "%s", cluster->uid);
        int64_t taken = json_path_int(status, "restoreInPlace.taken", 0);
        if (taken > 0)
            cluster_history_name(cluster->uid, taken, ret->history, sizeof(ret->history));
        struct cluster_final_backup final;
        cluster_final_backup_decode(json_object_get(status, "finalBackup"), &final);
        const struct roles roles = {
            json_path_str(status, "currentPrimary", ""), &final, json_path_int(status, "epoch", 0)};
        ret->is_final = cluster->object.deleting && str_eq(final.backup, ret->name);
        const struct looker looker = {sources, memories, memory, cluster->object.key};
        read_members(&looker, &roles, ret);
    }
    read_store(sources, memory, ret);
    return true;
}
