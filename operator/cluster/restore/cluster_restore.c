/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/restore/cluster_restore.h"

#include "common/json.h"
#include "common/restore_reason.h"
#include "operator/cluster/restore/restore_store.h"
#include "operator/cluster/state/member_view.h"

void restore_answer_release(struct restore_answer *answer)
{
    cluster_restore_release(&answer->found);
    *answer = (struct restore_answer){0};
}

/* ---- the status ---- */

static const json_t *wish_of(const struct cluster_snapshot *snapshot)
{
    return snapshot->cluster.restore.document;
}

/* One that was given to another wish does not count. */
static const struct restore_answer *answer_of(const struct cluster_snapshot *snapshot)
{
    static const struct restore_answer none = {.finding = RESTORE_FINDING_NONE};
    const struct restore_answer *answer = snapshot->restore_answer;
    bool fits = answer && answer->found.from && snapshot->last.restore.from &&
        json_equal(answer->found.from, snapshot->last.restore.from);
    return fits ? answer : &none;
}

static bool has_data(const struct cluster_member *member)
{
    return member_speaks(member) && !member_is_empty(member);
}

static bool is_empty(const struct cluster_member *member)
{
    return member && member_is_empty(member);
}

static enum restore_step while_resolving(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    if (!primary) /* who holds what has not been heard of all yet */
        return RESTORE_STEP_NONE;
    if (has_data(primary))
        return RESTORE_STEP_SKIP;
    if (!is_empty(primary))
        return RESTORE_STEP_NONE;
    switch (answer_of(snapshot)->finding) {
    case RESTORE_FINDING_BACKUP:
        return RESTORE_STEP_FOUND;
    case RESTORE_FINDING_NOTHING:
        return snapshot->cluster.restore.or_empty ? RESTORE_STEP_EMPTY : RESTORE_STEP_NONE;
    default:
        return RESTORE_STEP_NONE;
    }
}

enum restore_step restore_next_step(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_restore *last = &snapshot->last.restore;
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool over = last->phase != RESTORE_PHASE_RESOLVING && last->phase != RESTORE_PHASE_RESTORING;
    if (intent->roles.initialized) {
        if (over)
            return RESTORE_STEP_NONE;
        return last->phase == RESTORE_PHASE_RESTORING ? RESTORE_STEP_COMPLETE : RESTORE_STEP_SKIP;
    }
    if (!snapshot->usable || snapshot->cluster.paused)
        return RESTORE_STEP_NONE;
    if (last->phase == RESTORE_PHASE_RESTORING &&
        !is_empty(primary)) /* restored by the old wish, perhaps: wait to know */
        return RESTORE_STEP_NONE;
    if (!wish_of(snapshot))
        return over ? RESTORE_STEP_NONE : RESTORE_STEP_DROP;
    if (last->phase == RESTORE_PHASE_NONE || !last->from || !json_equal(last->from, wish_of(snapshot)))
        return RESTORE_STEP_BEGIN;
    if (last->phase == RESTORE_PHASE_SKIPPED && is_empty(primary)) /* what was there has gone */
        return RESTORE_STEP_BEGIN;
    return last->phase == RESTORE_PHASE_RESOLVING ? while_resolving(snapshot, primary) : RESTORE_STEP_NONE;
}

static void take_found(const struct cluster_restore *found, struct cluster_restore *restore)
{
    struct cluster_restore next;
    cluster_restore_copy(found, &next);
    next.phase = RESTORE_PHASE_RESTORING;
    next.start_ms = restore->start_ms;
    next.completion_ms = 0;
    next.reason[0] = next.message[0] = '\0';
    cluster_restore_release(restore);
    *restore = next;
}

static void end_with(const struct cluster_snapshot *snapshot, enum restore_phase phase, struct cluster_restore *restore)
{
    restore->phase = phase;
    restore->completion_ms = snapshot->now_ms;
    restore->reason[0] = restore->message[0] = '\0';
}

static void phase_message(const struct cluster_restore *restore, struct strbuf *out)
{
    switch (restore->phase) {
    case RESTORE_PHASE_COMPLETED:
        strbuf_adds(out, "the cluster was made of the backup");
        cluster_restore_point_text(restore, out);
        break;
    case RESTORE_PHASE_EMPTY:
        strbuf_adds(out, "nothing was stored, and the cluster began with an empty database");
        break;
    case RESTORE_PHASE_SKIPPED:
        strbuf_adds(out, "the volumes held data, which was kept; nothing was restored");
        break;
    case RESTORE_PHASE_RESTORING:
        strbuf_adds(out, "the first member is making a database of the backup");
        cluster_restore_point_text(restore, out);
        break;
    default:
        strbuf_adds(out, "finding out which backup it is");
    }
}

/* That stays in the status: what becomes of the other cluster later says nothing of this one's data. */
static void say_made(const struct cluster_snapshot *snapshot, struct cluster_restore *restore)
{
    const struct archive_origin *source = &snapshot->restore_source;
    struct strbuf text;
    if (str_empty(source->cluster))
        return;
    strbuf_init(&text, sizeof(restore->message) - 1);
    phase_message(restore, &text);
    strbuf_addf(&text,
        "; cluster %s was %s since: what it has committed since is in another archive (%s), which needs a backup of "
        "its own",
        source->cluster, source->is_anew ? "deleted and made anew" : "restored in place", source->history);
    snprintf(restore->message, sizeof(restore->message), "%s", str_or_empty(text.buf));
    strbuf_release(&text);
}

void restore_take_step(const struct cluster_snapshot *snapshot, enum restore_step step, struct cluster_restore *restore)
{
    switch (step) {
    case RESTORE_STEP_BEGIN:
        cluster_restore_begin(restore, wish_of(snapshot), snapshot->now_ms);
        break;
    case RESTORE_STEP_FOUND:
        take_found(&answer_of(snapshot)->found, restore);
        break;
    case RESTORE_STEP_EMPTY:
        end_with(snapshot, RESTORE_PHASE_EMPTY, restore);
        break;
    case RESTORE_STEP_SKIP:
        end_with(snapshot, RESTORE_PHASE_SKIPPED, restore);
        break;
    case RESTORE_STEP_COMPLETE:
        end_with(snapshot, RESTORE_PHASE_COMPLETED, restore);
        say_made(snapshot, restore);
        break;
    case RESTORE_STEP_DROP:
        cluster_restore_release(restore);
        break;
    default:
        break;
    }
}

/* ---- who is asked and told ---- */

bool restore_is_looked_for(const struct cluster_snapshot *snapshot)
{
    return restore_is_under_way(snapshot) && snapshot->last.restore.phase == RESTORE_PHASE_RESOLVING &&
        is_empty(cluster_primary(snapshot)) && snapshot->scale.effective > 0 && !snapshot->cluster.paused;
}

/* A wish that is not in the status yet forbids an empty database, too, also one that is not accepted. */
void restore_order(const struct cluster_snapshot *snapshot, struct agent_order *order)
{
    const struct cluster_restore *restore = &snapshot->last.restore;
    switch (restore->phase) {
    case RESTORE_PHASE_NONE:
        if (!wish_of(snapshot))
            order->seed = AGENT_SEED_INITIALISE;
        return;
    case RESTORE_PHASE_EMPTY:
        if (!wish_of(snapshot) || json_equal(wish_of(snapshot), restore->from))
            order->seed = AGENT_SEED_INITIALISE;
        return;
    case RESTORE_PHASE_RESTORING:
        order->seed = AGENT_SEED_RESTORE;
        snprintf(order->restore_id, sizeof(order->restore_id), "%s", restore->backup);
        return;
    default:
        return;
    }
}

const struct cluster_member *restore_receiver(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool restoring = restore_is_under_way(snapshot) && snapshot->last.restore.phase == RESTORE_PHASE_RESTORING;
    return restoring && is_empty(primary) ? primary : NULL;
}

/* ---- the report ---- */

static void KM_PRINTF(3, 4) say(struct cluster_restore *restore, const char *reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(restore->message, sizeof(restore->message), fmt, ap);
    va_end(ap);
    snprintf(restore->reason, sizeof(restore->reason), "%s", reason);
}

static void report_resolving(const struct cluster_snapshot *snapshot, struct cluster_restore *restore)
{
    const struct restore_answer *answer = answer_of(snapshot);
    if (answer->finding == RESTORE_FINDING_FAILED)
        say(restore, answer->found.reason, "%s", answer->found.message);
    else if (answer->finding == RESTORE_FINDING_NOTHING)
        say(restore, restore_reason_name(RESTORE_REASON_BACKUP_MISSING),
            "no complete backup is stored there; orEmpty: true would begin with an empty database");
    else if (answer->finding == RESTORE_FINDING_NONE && !cluster_primary(snapshot))
        say(restore, "", "waits for the members' agents");
}

static void report_restoring(const struct cluster_snapshot *snapshot, struct cluster_restore *restore)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!str_empty(snapshot->restore_task_error))
        say(restore, "NotToldYet", "%s", snapshot->restore_task_error);
    else if (primary && member_is_seeding(primary) && primary->agent->seed.step == AGENT_SEED_STEP_FAILED)
        say(restore, member_seed_failure(primary), "%s: %s%s", primary->name, primary->agent->seed.message,
            primary->agent->seed.gave_up ? " (not tried again before something changes)" : "");
    else if (primary && !member_speaks(primary))
        say(restore, "", "waits to hear from %s", primary->name);
    else { /* what failed before is not the news any more once the next attempt gets on */
        bool goes_on = primary && (!member_is_seeding(primary) || primary->agent->seed.bytes > 0);
        if (goes_on)
            say(restore, "", "%s", "");
    }
}

static void report_store(const struct cluster_snapshot *snapshot, struct cluster_restore *restore)
{
    char message[PROJECTION_MESSAGE_MAX + 128];
    if (!restore_store_is_wanted(snapshot) || restore_store_serves(snapshot) || !is_empty(cluster_primary(snapshot)))
        return;
    restore_store_say_waits(snapshot, message, sizeof(message));
    say(restore, restore_reason_name(RESTORE_REASON_STORE_UNAVAILABLE), "%s", message);
}

void restore_report(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    struct cluster_restore *restore = &status->restore;
    cluster_restore_copy(&snapshot->last.restore, restore);
    if (restore->phase == RESTORE_PHASE_NONE) {
        kube_conditions_remove(&status->conditions, CONDITION_RESTORED);
        return;
    }
    bool over = restore->phase != RESTORE_PHASE_RESOLVING && restore->phase != RESTORE_PHASE_RESTORING;
    if (restore->phase == RESTORE_PHASE_RESOLVING)
        report_resolving(snapshot, restore);
    else if (restore->phase == RESTORE_PHASE_RESTORING)
        report_restoring(snapshot, restore);
    if (!over)
        report_store(snapshot, restore);
    const char *reason = str_empty(restore->reason) ? restore_phase_names[restore->phase] : restore->reason;
    struct strbuf usual;
    strbuf_init(&usual, sizeof(restore->message) - 1);
    phase_message(restore, &usual);
    const char *message = str_empty(restore->message) ? usual.buf : restore->message;
    kube_conditions_set(&status->conditions, CONDITION_RESTORED, over ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE,
        reason, snapshot->generation, snapshot->now_ms, "%s", message);
    if (!over && str_empty(status->next_action))
        snprintf(status->next_action, sizeof(status->next_action), "restore %.127s; %.300s",
            str_empty(restore->backup) ? "a stored backup" : restore->backup, message);
    strbuf_release(&usual);
}
