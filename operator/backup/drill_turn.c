/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/drill_turn.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/archive_status.h"
#include "operator/api/in_place_status.h"
#include "operator/api/mysql_backup.h"
#include "operator/api/names.h"
#include "operator/backup/drill_scratch.h"
#include "operator/backup/zone_files.h"

/* ---- the cluster ---- */

static void read_zone(const struct drill_controller_options *options, struct drill_turn *turn)
{
    struct error err = ERROR_INIT;
    const char *problem = drill_scratch_problem(turn->document);
    if (zone_files_load(options->zone_folder, turn->spec.time_zone, &turn->zone, &err) < 0)
        snprintf(turn->problem, sizeof(turn->problem), "spec.backup.timeZone: %s", err.message);
    else if (problem && turn->spec.drill_schedule)
        snprintf(turn->problem, sizeof(turn->problem), "%s", problem);
    else
        turn->has_zone = true;
}

static void read_spec(const struct drill_controller_options *options, struct drill_turn *turn)
{
    struct api_problems problems = {0};
    struct strbuf text;
    turn->paused = json_path_bool(turn->document, "paused", false);
    if (backup_spec_parse(json_object_get(turn->document, "backup"), &turn->spec, &problems) == 0) {
        read_zone(options, turn);
        return;
    }
    strbuf_init(&text, sizeof(turn->problem) - 1);
    api_problems_text(&problems, &text);
    snprintf(turn->problem, sizeof(turn->problem), "%s", text.buf);
    strbuf_release(&text);
}

/* ---- backups ---- */

/* A restore looks for binary logs where the backup is, and opens them with its key. */
static bool is_beside_archive(const struct drill_turn *turn, const struct backup_status *status)
{
    struct backup_destination destination;
    const json_t *key = json_object_get(turn->spec.document, "encryption");
    bool same_key =
        json_is_object(key) ? status->encryption && json_equal(key, status->encryption) : !status->encryption;
    backup_destination_read(status->destination, &destination);
    return same_key && str_eq(backup_status_history(status), turn->history) &&
        backup_destination_same_place(&destination, &turn->spec.destination);
}

/* What of one counts here. */
static void take_backup(struct drill_turn *turn, const struct custom_object *backup)
{
    struct backup_status *status = xnew(struct backup_status);
    _cleanup_(json_decrefp) json_t *json = custom_object_status(backup);
    backup_status_decode(json, status);
    bool good = status->phase == BACKUP_PHASE_COMPLETED && str_eq(status->cluster_uid, turn->context.uid);
    if (good && status->completion_ms > turn->candidate_ms) {
        str_replace(&turn->candidate_name, backup->name);
        str_replace(&turn->candidate_uid, backup->uid);
        turn->candidate_ms = status->completion_ms;
        turn->candidate_beside_archive = is_beside_archive(turn, status);
    }
    if (str_eq(backup->uid, turn->written.backup_uid))
        turn->backup_is_told = status->verified_ms == turn->written.ended_ms;
    backup_status_release(status);
    free(status);
}

static void look_at_backups(const struct drill_controller_options *options, struct drill_turn *turn)
{
    size_t cursor = 0;
    const struct store *store = informer_store(options->backups);
    turn->backup_is_told = true;
    for (const struct kube_object *each; (each = store_next(store, &cursor));) {
        const struct custom_object *backup = (const struct custom_object *)each;
        bool ours = str_eq(backup->cluster_name, turn->context.name) && str_eq(backup->ns, turn->context.ns);
        if (ours && !backup->object.deleting)
            take_backup(turn, backup);
    }
}

/* ---- the scratch cluster ---- */

static void read_refusal(const json_t *status, struct drill_scratch *scratch)
{
    size_t i;
    const json_t *condition;
    json_array_foreach(json_object_get(status, "conditions"), i, condition) {
        if (!str_eq(json_path_str(condition, "type", ""), "Accepted") ||
            !str_eq(json_path_str(condition, "status", ""), "False"))
            continue;
        scratch->refused = true;
        snprintf(scratch->refusal, sizeof(scratch->refusal), "%s", json_path_str(condition, "message", ""));
    }
}

static void read_restore(const json_t *status, struct drill_scratch *scratch)
{
    struct cluster_restore restore;
    cluster_restore_decode(json_object_get(status, "restore"), &restore);
    scratch->restore = restore.phase;
    snprintf(scratch->restore_reason, sizeof(scratch->restore_reason), "%s", restore.reason);
    snprintf(scratch->restore_message, sizeof(scratch->restore_message), "%s", restore.message);
    memcpy(scratch->gtid, restore.gtid, sizeof(scratch->gtid));
    cluster_restore_release(&restore);
}

static void look_at_member(const struct drill_controller_options *options, struct drill_turn *turn)
{
    char pod[DERIVED_NAME_SIZE];
    struct drill_scratch *scratch = &turn->scratch;
    cluster_pod_name(pod, turn->written.cluster, 0);
    if (!options->agents->look(options->agents->arg, turn->scratch_key, pod, &turn->member))
        return;
    scratch->open = turn->member.open;
    scratch->gave_up = turn->member.gave_up;
    if (scratch->gave_up && *turn->member.reason) { /* the scratch cluster's status may not say so yet */
        snprintf(scratch->restore_reason, sizeof(scratch->restore_reason), "%s", turn->member.reason);
        snprintf(scratch->restore_message, sizeof(scratch->restore_message), "%s: %s", pod, turn->member.message);
    }
    scratch->check = &turn->member.check;
}

static void look_at_scratch(const struct drill_controller_options *options, struct drill_turn *turn)
{
    struct drill_scratch *scratch = &turn->scratch;
    if (!*turn->written.cluster)
        return;
    turn->scratch_key = kube_key(turn->context.ns, turn->written.cluster);
    const struct custom_object *cluster =
        (const struct custom_object *)store_get(informer_store(options->clusters), turn->scratch_key);
    if (!cluster)
        return;
    scratch->exists = true;
    scratch->ours = str_eq(cluster->drill_of, turn->context.name) &&
        kube_uid_eq(cluster->object.owner, kube_uid_parse(turn->context.uid, strlen(turn->context.uid)));
    scratch->deleting = cluster->object.deleting;
    turn->scratch_uid = xstrdup(cluster->uid);
    _cleanup_(json_decrefp) json_t *status = custom_object_status(cluster);
    read_refusal(status, scratch);
    read_restore(status, scratch);
    look_at_member(options, turn);
}

/* ---- all ---- */

static void drill_turn_free(void *work)
{
    struct drill_turn *turn = work;
    time_zone_release(&turn->zone);
    json_decref(turn->document);
    free(turn->candidate_name);
    free(turn->candidate_uid);
    free(turn->scratch_key);
    free(turn->scratch_uid);
    reconcile_context_release(&turn->context);
    free(turn);
}

struct drill_turn *drill_turn_new(const struct drill_controller_options *options, const struct custom_object *cluster,
    struct reconcile *run, struct kube_client *client, int64_t now_ms)
{
    struct drill_turn *turn = xnew(struct drill_turn);
    struct archive_summary *archive = xnew(struct archive_summary);
    _cleanup_(json_decrefp) json_t *status = custom_object_status(cluster);
    reconcile_context_init(turn, run, client, cluster->ns, cluster->name, cluster->uid, drill_turn_free);
    cluster_history_name(
        turn->context.uid, json_path_int(status, "restoreInPlace.taken", 0), turn->history, sizeof(turn->history));
    turn->document = custom_object_spec(cluster);
    turn->leaves = cluster->object.deleting;
    turn->now_ms = now_ms;
    drill_summary_decode(status, &turn->written);
    archive_summary_decode(status, archive);
    turn->recoverable_from_ms = archive->recoverable_from_ms;
    turn->archived_until_ms = archive->until_ms; /* they replay all there is */
    free(archive);
    read_spec(options, turn);
    look_at_backups(options, turn);
    look_at_scratch(options, turn);
    return turn;
}

void drill_turn_decide(struct drill_turn *turn)
{
    struct drill_view *view = xnew(struct drill_view);
    *view = (struct drill_view){
        .cluster = turn->context.name,
        .uid = turn->context.uid,
        .spec = &turn->spec,
        .zone = turn->has_zone ? &turn->zone : NULL,
        .problem = *turn->problem ? turn->problem : NULL,
        .paused = turn->paused,
        .leaves = turn->leaves,
        .now_ms = turn->now_ms,
        .candidate = {turn->candidate_name, turn->candidate_uid, turn->candidate_ms, turn->candidate_beside_archive},
        .recoverable_from_ms = turn->recoverable_from_ms,
        .archived_until_ms = turn->archived_until_ms,
        .last = turn->written,
        .scratch = turn->scratch,
    };
    drill_decide(view, &turn->decision);
    free(view);
}
