/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/deletion/final_backup.h"

#include "common/json.h"
#include "operator/api/api_kinds.h"
#include "operator/api/backup_spec.h"
#include "operator/api/backup_store_pod.h"
#include "operator/api/calendar.h"
#include "operator/cluster/deletion/volume_hold.h"
#include "operator/cluster/state/member_view.h"

#define HOW_TO_SKIP "annotation " ANNOTATION_SKIP_FINAL_BACKUP "=true on the cluster lets it go without"

/* ---- what holds it up ---- */

/* It waits for a donor, or will: the member that is closed next. */
static bool is_under_way(const struct cluster_snapshot *snapshot)
{
    const struct final_backup_facts *final = &snapshot->final;
    return final->is_there && final->is_ours && !backup_phase_is_final(final->phase);
}

static int64_t deadline_ms(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.roles.final_backup.start_ms + snapshot->cluster.final_backup_deadline_seconds * 1000;
}

/* Nobody is replaced any more once it is closed (cluster_decide.h), so it is rolled first. */
static bool must_be_rolled_first(const struct cluster_snapshot *snapshot, char *why, size_t size)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (snapshot->last.roles.final_backup.phase != FINAL_BACKUP_NONE || !snapshot->final.onto_volume || !primary ||
        !member_speaks(primary) || !backup_store_agent_is_outdated(primary->agent))
        return false;
    backup_store_say_outdated(primary->name, why, size);
    return true;
}

/* What a person must change before it can go on, or must be waited for; NULL: nothing. */
static const char *hindrance(const struct cluster_snapshot *snapshot, char *why, size_t size)
{
    const struct cluster_final_backup *last = &snapshot->last.roles.final_backup;
    if (snapshot->cluster.paused) {
        snprintf(why, size, "spec.paused is true");
        return "Paused";
    }
    if (!str_empty(snapshot->final.problem)) {
        snprintf(why, size, "%.400s", snapshot->final.problem);
        return "InvalidSpec";
    }
    if (snapshot->scale.effective == 0 && !snapshot->usable) {
        snprintf(why, size, "the cluster is stopped, and cannot be woken as its spec is not accepted: %.300s",
            snapshot->message);
        return "NotAccepted";
    }
    if (snapshot->namespace_ends && !is_under_way(snapshot)) {
        snprintf(why, size, "the namespace is being deleted, so neither MysqlBackup nor pods can be made in it");
        return "CannotBeMade";
    }
    if (must_be_rolled_first(snapshot, why, size))
        return BACKUP_STORE_AGENT_OUTDATED;
    bool idle = last->phase == FINAL_BACKUP_RUNNING && str_empty(last->backup);
    if (idle && snapshot->now_ms >= deadline_ms(snapshot)) {
        snprintf(why, size,
            "none was stored within spec.deletion.finalBackupDeadlineSeconds (%lld): %.250s; a longer deadline tries again",
            (long long)snapshot->cluster.final_backup_deadline_seconds, last->failure);
        return "DeadlineExceeded";
    }
    return NULL;
}

/* ---- steps ---- */

static void name_backup(const struct cluster_snapshot *snapshot, struct cluster_final_backup *next)
{
    int64_t seconds = snapshot->now_ms / 1000, day = calendar_day_of_second(seconds);
    int second = (int)(seconds - day * CALENDAR_DAY_SECONDS);
    struct calendar_date date = calendar_date_of(day);
    snprintf(next->backup, sizeof(next->backup), "%s-final-%04d%02d%02d%02d%02d%02d", snapshot->name, date.year % 10000,
        date.month, date.day, second / 3600, second / 60 % 60, second % 60);
    next->retry_ms = 0;
}

static void close_primary(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_final_backup *next = &intent->roles.final_backup;
    intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    next->phase = FINAL_BACKUP_CLOSING;
    next->epoch = intent->roles.epoch;
    next->closing_ms = snapshot->now_ms;
    if (next->start_ms == 0)
        next->start_ms = snapshot->now_ms;
    *next->primary = '\0';
    next->closed_ms = next->retry_ms = 0;
    if (!is_under_way(snapshot))
        *next->backup = '\0';
}

static void look_again_in(struct cluster_intent *intent, int64_t ms)
{
    ms = MAX_OF(ms, 1);
    intent->again_ms = intent->again_ms > 0 ? MIN_OF(intent->again_ms, ms) : ms;
}

/* Unlike a switchover this needs no position: so one that is too long to be told does not matter. */
static bool is_shut(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member && member_runs(member) && member->agent->epoch == (uint64_t)snapshot->last.roles.epoch &&
        member->agent->role == AGENT_ROLE_NONE && member->agent->order_done && !member->agent->writable;
}

static void await_closed(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_intent *intent)
{
    struct cluster_final_backup *next = &intent->roles.final_backup;
    if (is_shut(snapshot, primary)) {
        next->phase = FINAL_BACKUP_RUNNING;
        next->closed_ms = snapshot->now_ms;
        snprintf(next->primary, sizeof(next->primary), "%s", primary->name);
        if (str_empty(next->backup))
            name_backup(snapshot, next);
        return;
    }
    cluster_intent_say(intent, "take the final backup; waits until %s has stopped writes%s; " HOW_TO_SKIP,
        snapshot->last.roles.current_primary,
        !primary || !member_speaks(primary) ? ": its agent does not answer"
            : !member_runs(primary)         ? ": its server does not run"
                                            : "");
    look_again_in(intent, 1000);
}

static int64_t retry_delay_ms(int failures)
{
    int64_t delay_ms = FINAL_BACKUP_RETRY_BASE_MS;
    for (int i = 1; i < failures && delay_ms < FINAL_BACKUP_RETRY_MAX_MS; i++)
        delay_ms *= 2;
    return MIN_OF(delay_ms, FINAL_BACKUP_RETRY_MAX_MS);
}

static void KM_PRINTF(3, 4)
    give_up_backup(const struct cluster_snapshot *snapshot, struct cluster_final_backup *next, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(next->failure, sizeof(next->failure), fmt, ap);
    va_end(ap);
    *next->backup = '\0';
    next->failures++;
    next->retry_ms = snapshot->now_ms + retry_delay_ms(next->failures);
}

/* Of this cluster and of all that it had: taken from who was closed, since it is. The start is told in whole seconds;
 * who is closed under another epoch was restarted in between, which takes longer. */
static bool holds_everything(const struct cluster_snapshot *snapshot)
{
    const struct cluster_final_backup *last = &snapshot->last.roles.final_backup;
    const struct final_backup_facts *final = &snapshot->final;
    return str_eq(final->cluster_uid, snapshot->uid) && str_eq(final->donor, last->primary) &&
        final->start_ms / 1000 >= last->closed_ms / 1000;
}

static void follow_backup(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_final_backup *next = &intent->roles.final_backup;
    const struct final_backup_facts *final = &snapshot->final;
    if (!final->is_there)
        cluster_intent_say(intent, "take the final backup %s; waits until that can be made%s%.200s; " HOW_TO_SKIP,
            next->backup, str_empty(final->make_error) ? "" : ": ", final->make_error);
    else if (!final->is_ours)
        give_up_backup(snapshot, next, "MysqlBackup %.140s was there before, and is not ours", next->backup);
    else if (final->phase == BACKUP_PHASE_COMPLETED && holds_everything(snapshot)) {
        next->phase = FINAL_BACKUP_COMPLETED;
        next->completion_ms = snapshot->now_ms;
    } else if (final->phase == BACKUP_PHASE_COMPLETED)
        give_up_backup(
            snapshot, next, "%.140s was taken of %.63s before the primary was closed", next->backup, final->donor);
    else if (final->phase == BACKUP_PHASE_FAILED)
        give_up_backup(snapshot, next, "%.70s: %.180s", next->backup, final->message);
    else
        cluster_intent_say(intent, "let the cluster go, after its final backup %s%s%.200s; " HOW_TO_SKIP, next->backup,
            str_empty(final->message) ? "" : ": ", final->message);
}

static void await_retry(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_final_backup *next = &intent->roles.final_backup;
    int64_t rest_ms = next->retry_ms - snapshot->now_ms;
    if (rest_ms <= 0 || rest_ms > FINAL_BACKUP_RETRY_MAX_MS) {
        name_backup(snapshot, next);
        return;
    }
    cluster_intent_say(intent, "take another final backup in %lld s; %d failed, the last: %.200s; " HOW_TO_SKIP,
        (long long)((rest_ms + 999) / 1000), next->failures, next->failure);
    look_again_in(intent, MIN_OF(rest_ms, 10000));
}

bool final_backup_will_close(const struct cluster_snapshot *snapshot)
{
    char why[512];
    return snapshot->last.roles.final_backup.phase == FINAL_BACKUP_NONE && !hindrance(snapshot, why, sizeof(why));
}

void final_backup_intend(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    char why[512];
    const struct cluster_final_backup *last = &snapshot->last.roles.final_backup;
    if (hindrance(snapshot, why, sizeof(why)))
        cluster_intent_say(intent, "take the final backup; blocked: %.300s; " HOW_TO_SKIP, why);
    else if (last->phase == FINAL_BACKUP_NONE || last->epoch != snapshot->last.roles.epoch)
        close_primary(snapshot, intent);
    else if (last->phase == FINAL_BACKUP_CLOSING)
        await_closed(snapshot, cluster_primary(snapshot), intent);
    else if (str_empty(last->backup))
        await_retry(snapshot, intent);
    else
        follow_backup(snapshot, intent);
}

bool final_backup_order(const struct cluster_snapshot *snapshot, struct agent_order *order, int64_t *again_ms)
{
    const struct cluster_final_backup *last = &snapshot->last.roles.final_backup;
    int64_t lead_ms = last->closing_ms + CLUSTER_ROUTE_LEAD_MS - snapshot->now_ms;
    if (last->phase == FINAL_BACKUP_CLOSING && lead_ms > 0 && lead_ms <= CLUSTER_ROUTE_LEAD_MS) {
        *again_ms = *again_ms > 0 ? MIN_OF(*again_ms, lead_ms) : lead_ms;
        return false;
    }
    order->role = AGENT_ROLE_NONE;
    return true;
}

/* ---- what is written beside ---- */

enum final_backup_act final_backup_next_act(const struct cluster_snapshot *snapshot)
{
    const struct cluster_final_backup *last = &snapshot->last.roles.final_backup;
    const struct final_backup_facts *final = &snapshot->final;
    char why[512];
    if (!final->deleting) {
        if (!snapshot->usable || snapshot->cluster.final_backup == final->has_finalizer)
            return FINAL_BACKUP_ACT_NONE;
        return final->has_finalizer ? FINAL_BACKUP_ACT_RELEASE : FINAL_BACKUP_ACT_HOLD;
    }
    if (final_backup_is_over(snapshot))
        return volume_hold_is_settled(snapshot) ? FINAL_BACKUP_ACT_RELEASE : FINAL_BACKUP_ACT_NONE;
    if (!final_backup_is_due(snapshot))
        return FINAL_BACKUP_ACT_NONE;
    if (final->foreground)
        return FINAL_BACKUP_ACT_KEEP;
    bool named =
        last->phase == FINAL_BACKUP_RUNNING && last->epoch == snapshot->last.roles.epoch && !str_empty(last->backup);
    return named && !final->is_there && !hindrance(snapshot, why, sizeof(why)) ? FINAL_BACKUP_ACT_MAKE
                                                                               : FINAL_BACKUP_ACT_NONE;
}

json_t *final_backup_object(const struct cluster_snapshot *snapshot)
{
    struct backup_spec spec;
    struct api_problems problems = {0};
    if (backup_spec_parse(json_object_get(snapshot->cluster.document, "backup"), &spec, &problems) < 0 || !spec.document)
        return NULL;
    int64_t rest_s = (deadline_ms(snapshot) - snapshot->now_ms) / 1000;
    return json_build("{s:s, s:s, s:{s:s, s:s, s:{s:s, s:s, s:s}}, s:o}", "apiVersion", KM_API_GROUP_VERSION, "kind",
        kube_kind_mysql_backup.kind, "metadata", "name", snapshot->last.roles.final_backup.backup, "namespace",
        snapshot->ns, "labels", LABEL_CLUSTER, snapshot->name, LABEL_FINAL_BACKUP, "true", LABEL_MANAGED_BY,
        LABEL_MANAGED_BY_US, "spec",
        backup_spec_of_final(
            &spec, snapshot->name, MIN_OF(MAX_OF(rest_s, BACKUP_DEADLINE_SECONDS_MIN), BACKUP_DEADLINE_SECONDS_MAX)));
}

/* ---- the report ---- */

/* Reasons of the condition. */
static const char *const end_names[FINAL_BACKUP_END_COUNT] = {
    [FINAL_BACKUP_END_COMPLETED] = "Completed",
    [FINAL_BACKUP_END_SKIPPED] = "Skipped",
    [FINAL_BACKUP_END_NOT_WANTED] = "NotWanted",
    [FINAL_BACKUP_END_MEMBERS_STAY] = "MembersStay",
    [FINAL_BACKUP_END_NO_DATA] = "NoData",
};

static const char *const end_messages[FINAL_BACKUP_END_COUNT] = {
    [FINAL_BACKUP_END_SKIPPED] = ("annotation " ANNOTATION_SKIP_FINAL_BACKUP " lets the cluster go without"),
    [FINAL_BACKUP_END_NOT_WANTED] = "spec.deletion.finalBackup is not true any more",
    [FINAL_BACKUP_END_MEMBERS_STAY] = "the members stay: the cluster was deleted with --cascade=orphan",
    [FINAL_BACKUP_END_NO_DATA] =
        "the cluster was never open for writes, and no member has data: there is nothing to save",
};

static const char *end_message(
    const struct cluster_snapshot *snapshot, enum final_backup_end end, char *out, size_t size)
{
    if (end == FINAL_BACKUP_END_COMPLETED)
        snprintf(out, size, "MysqlBackup %s holds all that the cluster had", snapshot->last.roles.final_backup.backup);
    else
        snprintf(out, size, "%s", end_messages[end]);
    return out;
}

static const char *under_way(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    const struct cluster_final_backup *last = &snapshot->last.roles.final_backup;
    const struct final_backup_facts *final = &snapshot->final;
    bool fails = last->failures > 0 && str_empty(last->backup);
    if (last->phase != FINAL_BACKUP_RUNNING)
        snprintf(out, size, "%s is being closed for writes", snapshot->last.roles.current_primary);
    else if (fails)
        snprintf(out, size, "%d failed, the last: %.200s", last->failures, last->failure);
    else if (!str_empty(final->make_error))
        snprintf(out, size, "MysqlBackup %s cannot be made: %.250s; " HOW_TO_SKIP, last->backup, final->make_error);
    else
        snprintf(
            out, size, "MysqlBackup %s is taken of %s, which takes no writes any more", last->backup, last->primary);
    if (last->phase != FINAL_BACKUP_RUNNING)
        return "Closing";
    return fails ? "Retrying" : !str_empty(final->make_error) ? "CannotBeMade" : "Running";
}

void final_backup_report(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    char message[640], why[512];
    if (!snapshot->final.deleting || !snapshot->final.has_finalizer) {
        kube_conditions_remove(&status->conditions, CONDITION_FINAL_BACKUP);
        return;
    }
    enum final_backup_end end = final_backup_end(snapshot);
    bool over = end != FINAL_BACKUP_END_NONE;
    const char *reason = end_names[end];
    if (over)
        end_message(snapshot, end, message, sizeof(message));
    else if ((reason = hindrance(snapshot, why, sizeof(why))))
        snprintf(message, sizeof(message), "%s; " HOW_TO_SKIP, why);
    else
        reason = under_way(snapshot, message, sizeof(message));
    kube_conditions_set(&status->conditions, CONDITION_FINAL_BACKUP, over ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE,
        reason, snapshot->generation, snapshot->now_ms, "%s", message);
}
