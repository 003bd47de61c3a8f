/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/archive_turn.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/api/condition_reason.h"
#include "operator/api/in_place_status.h"
#include "operator/api/mysql_backup.h"

/* Positions as told and ids of some thousand backups; what does not fit is looked for in the store. */
#define TEXTS_MAX ((size_t)(4 * KM_MIB))

/* ---- the cluster ---- */

static void read_spec(struct archive_turn *turn)
{
    struct api_problems problems = {0};
    turn->accepted = backup_spec_parse(json_object_get(turn->document, "backup"), &turn->spec, &problems) == 0;
    turn->paused = json_path_bool(turn->document, "paused", false);
    turn->rests = json_path_int(turn->document, "replicas", 1) == 0;
    turn->wish = (struct mysql_backup){
        .ns = turn->context.ns,
        .name = turn->context.name,
        .cluster = turn->context.name,
        .destination = turn->spec.destination,
        .encryption = turn->spec.encryption,
    };
}

/* What its data came from, and what will make a backup of it. */
static void read_origin(const struct custom_object *cluster, const json_t *status, struct archive_turn *turn)
{
    if (clock_parse_rfc3339(cluster->creation_timestamp, &turn->created_ms) < 0)
        turn->created_ms = 0;
    backup_summary_decode(status, &turn->schedule);
}

static void archive_turn_free(void *work)
{
    struct archive_turn *turn = work;
    json_decref(turn->document);
    reconcile_context_release(&turn->context);
    free(turn);
}

struct archive_turn *archive_turn_new(
    const struct custom_object *cluster, struct reconcile *run, struct kube_client *client)
{
    struct archive_turn *turn = xnew(struct archive_turn);
    _cleanup_(json_decrefp) json_t *status = custom_object_status(cluster);
    reconcile_context_init(turn, run, client, cluster->ns, cluster->name, cluster->uid, archive_turn_free);
    turn->now_ms = clock_realtime_ms();
    turn->document = custom_object_spec(cluster);
    read_spec(turn);
    snprintf(turn->primary, sizeof(turn->primary), "%s", json_path_str(status, "currentPrimary", ""));
    cluster_history_name(
        turn->context.uid, json_path_int(status, "restoreInPlace.taken", 0), turn->history, sizeof(turn->history));
    archive_summary_decode(status, &turn->written);
    read_origin(cluster, status, turn);
    return turn;
}

/* ---- backups ---- */

static bool is_of_cluster(const struct archive_turn *turn, const struct custom_object *backup)
{
    return str_eq(backup->cluster_name, turn->context.name) && str_eq(backup->ns, turn->context.ns);
}

static uint64_t digest_of_backups(const struct archive_turn *turn, const struct store *store)
{
    uint64_t ret = json_hash(json_object_get(turn->spec.document, "destination"));
    size_t cursor = 0;
    for (const struct kube_object *each; (each = store_next(store, &cursor));) {
        const struct custom_object *backup = (const struct custom_object *)each;
        if (!is_of_cluster(turn, backup))
            continue;
        uint64_t own = hash64(HASH64_INIT, backup->uid, strlen(backup->uid));
        ret += hash64(own, &backup->backup_phase, sizeof(backup->backup_phase)); /* in any order */
    }
    return ret | 1;
}

static void add_backup(struct archive_memory *memory, const struct backup_status *status)
{
    memory->backups = xreallocarray(memory->backups, memory->backup_count + 1, sizeof(*memory->backups));
    struct archive_backup *backup = &memory->backups[memory->backup_count++];
    *backup = (struct archive_backup){
        .completed_ms = status->completion_ms,
        .gtid = position_take(memory->texts, status->gtid),
        .id = position_take(memory->texts, status->id),
        .mariadb = *status->flavour ? str_eq(status->flavour, agent_flavour_name(AGENT_FLAVOUR_MARIADB))
                                    : !strchr(status->gtid, ':'), /* written by an earlier version */
    };
}

static void take_backup(
    const struct archive_turn *turn, const struct custom_object *backup, struct archive_memory *memory)
{
    struct backup_status *status = xnew(struct backup_status);
    struct backup_destination destination;
    _cleanup_(json_decrefp) json_t *json = custom_object_status(backup);
    backup_status_decode(json, status);
    backup_destination_read(status->destination, &destination);
    bool here = str_eq(backup_status_history(status), turn->history) &&
        backup_destination_same_place(&destination, &turn->spec.destination);
    if (!backup_phase_is_final(status->phase))
        memory->backup_runs = true;
    else if (here && status->phase == BACKUP_PHASE_COMPLETED && status->completion_ms > 0)
        add_backup(memory, status);
    backup_status_release(status);
    free(status);
}

void archive_turn_look_at_backups(
    const struct archive_turn *turn, const struct backup_sources *sources, struct archive_memory *memory)
{
    const struct store *store = informer_store(sources->backups);
    uint64_t digest = digest_of_backups(turn, store);
    size_t cursor = 0;
    if (digest == memory->backups_digest)
        return;
    memory->backups_digest = digest;
    memory->backup_count = 0;
    memory->backup_runs = false;
    memory->link.known = false;
    position_pool_unref(memory->texts);
    memory->texts = position_pool_new(TEXTS_MAX);
    for (const struct kube_object *each; (each = store_next(store, &cursor));) {
        const struct custom_object *backup = (const struct custom_object *)each;
        if (is_of_cluster(turn, backup) && !backup->object.deleting)
            take_backup(turn, backup, memory);
    }
}

/* ---- the task ---- */

static void copy_name(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text);
}

static void make_task(const struct archive_turn *turn, const struct backup_sources *sources,
    const struct archive_memory *memory, struct archive_task *ret)
{
    struct strbuf folder;
    strbuf_init(&folder, 512);
    binlog_folder_of(turn->context.ns, turn->context.name, turn->history, &folder);
    *ret = (struct archive_task){
        .folder = strbuf_detach(&folder, NULL),
        .interval_s = turn->hurries ? ARCHIVE_INTERVAL_MIN_S : (uint32_t)turn->spec.archive_interval_s,
        .compression = turn->spec.compression,
        .sealed = memory->keys.sealed,
    };
    copy_name(ret->ns, sizeof(ret->ns), turn->context.ns);
    copy_name(ret->cluster, sizeof(ret->cluster), turn->context.name);
    copy_name(ret->cluster_uid, sizeof(ret->cluster_uid), turn->history);
    memcpy(ret->key, memory->keys.key, sizeof(ret->key));
    store_pod_describe(
        sources, turn->context.ns, turn->context.name, &turn->spec.destination, &memory->keys, &ret->store);
}

bool archive_turn_has_keys(const struct archive_turn *turn, const struct archive_memory *memory)
{
    return memory->keys_ms > 0 && memory->keys_for == backup_secrets_meant(turn->spec.document);
}

/* Says why not. */
static bool is_served(const struct archive_turn *turn, const struct backup_sources *sources,
    const struct archive_memory *memory, const char *claim, char reason[static KUBE_CONDITION_REASON_MAX],
    char message[static KUBE_CONDITION_MESSAGE_MAX])
{
    char waits[STORE_ANSWER_TEXT_SIZE];
    const struct pod_object *pod = store_pod_find(sources, turn->context.ns, turn->context.name, claim);
    if (store_pod_serves(pod, waits, sizeof(waits)))
        return true;
    bool is_refused = memory->store.is_refused && !(pod && pod->scheduled);
    snprintf(reason, KUBE_CONDITION_REASON_MAX, "%s", is_refused ? reason_name(REASON_POD_REFUSED) : "StoreUnavailable");
    snprintf(message, KUBE_CONDITION_MESSAGE_MAX,
        "spec.backup.destination.persistentVolumeClaim: the pod that serves the volume is not ready: %s",
        is_refused ? memory->store.text : waits);
    return false;
}

bool archive_turn_task(const struct archive_turn *turn, const struct backup_sources *sources,
    const struct archive_memory *memory, struct archive_task *ret, char reason[static KUBE_CONDITION_REASON_MAX],
    char message[static KUBE_CONDITION_MESSAGE_MAX])
{
    const struct backup_destination *destination = &turn->spec.destination;
    const char *claim = destination->kind == BACKUP_DESTINATION_VOLUME ? destination->claim : NULL;
    *reason = *message = '\0';
    if (!archive_turn_has_keys(turn, memory))
        return false;
    if (*memory->keys.reason) {
        snprintf(reason, KUBE_CONDITION_REASON_MAX, "%s", memory->keys.reason);
        snprintf(message, KUBE_CONDITION_MESSAGE_MAX, "%s", memory->keys.message);
        return false;
    }
    if (claim && !is_served(turn, sources, memory, claim, reason, message))
        return false;
    make_task(turn, sources, memory, ret);
    return true;
}
