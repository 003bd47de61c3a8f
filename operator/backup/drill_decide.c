/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/drill_decide.h"

#include "common/clock.h"
#include "common/hashmap.h"
#include "common/restore_reason.h"

/* NAME-drill-HASH, at most CLUSTER_NAME_MAX. */
#define NAME_KEPT_MAX (CLUSTER_NAME_MAX - (int)sizeof("-drill-01234567") + 1)

void drill_scratch_name(const char *cluster, const char *uid, int64_t due_ms, char out[static DERIVED_NAME_SIZE])
{
    uint64_t hash = hash64(hash64(HASH64_INIT, uid, strlen(uid)), &due_ms, sizeof(due_ms));
    snprintf(out, DERIVED_NAME_SIZE, "%.*s-drill-%08x", NAME_KEPT_MAX, cluster, (unsigned)(hash ^ (hash >> 32)));
}

/* ---- how it ends ---- */

static void KM_PRINTF(3, 4) fail(struct drill_decision *ret, const char *reason, const char *fmt, ...)
{
    struct drill_summary *summary = &ret->summary;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(summary->message, sizeof(summary->message), fmt, ap);
    va_end(ap);
    snprintf(summary->reason, sizeof(summary->reason), "%s", reason);
    summary->phase = DRILL_PHASE_REMOVING;
    summary->failures++;
    ret->news = DRILL_NEWS_FAILED;
}

static void pass(const struct drill_view *view, const struct check_report *report, struct drill_decision *ret)
{
    struct drill_summary *summary = &ret->summary;
    char until[CLOCK_RFC3339_SIZE];
    clock_format_rfc3339(summary->until_ms, until);
    summary->phase = DRILL_PHASE_REMOVING;
    summary->verified_ms = view->now_ms;
    summary->verified_seconds = MAX_OF(1, (view->now_ms - summary->start_ms) / 1000);
    summary->verified_until_ms = summary->until_ms;
    summary->verified_tables = (int64_t)report->tables;
    snprintf(summary->verified_backup, sizeof(summary->verified_backup), "%s", summary->backup);
    snprintf(summary->verified_gtid, sizeof(summary->verified_gtid), "%s", report->gtid);
    snprintf(summary->reason, sizeof(summary->reason), "%s", drill_reason_name(DRILL_VERIFIED));
    snprintf(summary->message, sizeof(summary->message),
        "MysqlBackup %s was restored%s to %s, and its %lld tables are whole; it took %lld s", summary->backup,
        summary->replays ? " with archived binary logs" : "", until, (long long)report->tables,
        (long long)summary->verified_seconds);
    ret->news = DRILL_NEWS_VERIFIED;
}

static bool is_overdue(const struct drill_view *view)
{
    return view->now_ms - view->last.start_ms >= view->spec->drill_deadline_s * 1000;
}

static void fail_overdue(const struct drill_view *view, struct drill_decision *ret, const char *doing)
{
    const struct drill_scratch *scratch = &view->scratch;
    bool says = *scratch->restore_message != '\0';
    fail(ret, "DeadlineExceeded", "MysqlBackup %s: %s was not done within %lld s%s%s%s%.300s", view->last.backup, doing,
        (long long)view->spec->drill_deadline_s, says ? ": " : "", scratch->restore_reason,
        *scratch->restore_reason ? ": " : "", scratch->restore_message);
}

/* ---- Restoring ---- */

/* What no waiting helps. */
static bool is_final(const struct drill_scratch *scratch)
{
    switch (restore_reason_parse(scratch->restore_reason)) {
    case RESTORE_REASON_BACKUP_DAMAGED:
    case RESTORE_REASON_BACKUP_MISSING:
    case RESTORE_REASON_KEY_INVALID:
    case RESTORE_REASON_TARGET_INVALID:
        return true;
    default:
        return scratch->gave_up;
    }
}

static void judge_restore(const struct drill_view *view, struct drill_decision *ret)
{
    const struct drill_scratch *scratch = &view->scratch;
    const char *backup = view->last.backup;
    if (scratch->refused)
        fail(ret, "ScratchRefused", "MysqlCluster %s, which the backup is restored into, is not accepted: %s",
            view->last.cluster, scratch->refusal);
    else if (scratch->restore == RESTORE_PHASE_SKIPPED || scratch->restore == RESTORE_PHASE_EMPTY)
        fail(ret, "NotRestored", "MysqlCluster %s did not begin with the backup: %s", view->last.cluster,
            scratch->restore_message);
    else if (scratch->restore == RESTORE_PHASE_COMPLETED && scratch->open)
        ret->summary.phase = DRILL_PHASE_CHECKING;
    else if (is_final(scratch))
        fail(ret, *scratch->restore_reason ? scratch->restore_reason : "RestoreFailed",
            "MysqlBackup %s cannot be restored: %.400s", backup, scratch->restore_message);
    else if (is_overdue(view))
        fail_overdue(view, ret, "the restore");
}

static void while_restoring(const struct drill_view *view, struct drill_decision *ret)
{
    if (view->scratch.exists && !view->scratch.ours)
        fail(ret, "ScratchNameTaken", "MysqlCluster %s exists and is not of this cluster", view->last.cluster);
    else if (view->scratch.exists && !view->scratch.deleting)
        judge_restore(view, ret);
    else if (is_overdue(view))
        fail_overdue(view, ret, "the restore");
    else if (!view->scratch.exists)
        ret->act = DRILL_ACT_CREATE;
}

/* ---- Checking ---- */

static void while_checking(const struct drill_view *view, struct drill_decision *ret)
{
    const struct check_report *report = view->scratch.check;
    bool is_known = report && str_eq(report->task, view->last.cluster);
    ret->act = DRILL_ACT_CHECK;
    if (!view->scratch.exists || view->scratch.deleting)
        fail(ret, "ScratchLost", "MysqlCluster %s was deleted before it was checked", view->last.cluster);
    else if (is_known && report->phase == CHECK_PHASE_PASSED)
        pass(view, report, ret);
    else if (is_known && report->phase == CHECK_PHASE_FAILED)
        fail(ret, *report->reason ? report->reason : CHECK_FAILED, "MysqlBackup %s was restored, but: %.400s",
            view->last.backup, report->message);
    else if (is_overdue(view))
        fail_overdue(view, ret, "the check of its tables");
}

/* ---- Removing ---- */

static void while_removing(const struct drill_view *view, struct drill_decision *ret)
{
    struct drill_summary *summary = &ret->summary;
    if (view->scratch.exists && view->scratch.ours) {
        ret->act = view->scratch.deleting ? DRILL_ACT_NONE : DRILL_ACT_DELETE;
        return;
    }
    ret->act = view->scratch.exists ? DRILL_ACT_NONE : DRILL_ACT_FINISH; /* another's: its claim is not ours either */
    ret->news = DRILL_NEWS_ENDED;
    summary->phase = DRILL_PHASE_NONE;
    summary->scheduled_ms =
        MAX_OF(summary->scheduled_ms, view->now_ms / 1000 * 1000); /* times in its midst are left out */
    *summary->cluster = '\0';
    summary->start_ms = summary->until_ms = 0;
    summary->replays = false;
}

/* ---- none is under way ---- */

static void set_schedule(const struct backup_spec *spec, struct drill_summary *summary)
{
    snprintf(summary->schedule, sizeof(summary->schedule), "%s %s", spec->drill_schedule, spec->time_zone);
}

static int64_t due_ms(const struct drill_view *view)
{
    int64_t previous_s;
    if (!cron_previous(&view->spec->drill_cron, view->zone, view->now_ms / 1000, &previous_s))
        return 0;
    return previous_s > view->last.scheduled_ms / 1000 ? previous_s * 1000 : 0;
}

static void say_untried(const struct drill_view *view, struct drill_summary *summary)
{
    bool tried = *summary->reason && drill_reason_status(drill_reason_of(summary->reason)) != KUBE_CONDITION_UNKNOWN;
    if (tried)
        return;
    snprintf(summary->reason, sizeof(summary->reason), "%s",
        drill_reason_name(view->candidate.name ? DRILL_NOT_YET : DRILL_NO_BACKUP));
    snprintf(summary->message, sizeof(summary->message), "%s",
        view->candidate.name ? "no restore was tried yet" : "there is no completed backup yet");
}

static void begin(const struct drill_view *view, int64_t due, struct drill_decision *ret)
{
    struct drill_summary *summary = &ret->summary;
    const struct drill_candidate *candidate = &view->candidate;
    summary->scheduled_ms = due;
    summary->phase = DRILL_PHASE_RESTORING;
    summary->start_ms = view->now_ms;
    /* What the archive claims is what is tried; where it claims nothing its own condition says why. */
    summary->replays = view->spec->archives && candidate->beside_archive && view->recoverable_from_ms > 0 &&
        view->recoverable_from_ms <= candidate->completed_ms && view->archived_until_ms >= candidate->completed_ms;
    summary->until_ms = summary->replays ? view->archived_until_ms : candidate->completed_ms;
    snprintf(summary->backup, sizeof(summary->backup), "%s", candidate->name);
    snprintf(summary->backup_uid, sizeof(summary->backup_uid), "%s", candidate->uid);
    drill_scratch_name(view->cluster, view->uid, due, summary->cluster);
    ret->news = DRILL_NEWS_BEGUN;
}

static void while_idle(const struct drill_view *view, struct drill_decision *ret)
{
    struct drill_summary *summary = &ret->summary;
    bool is_new = !str_eq(summary->schedule, view->last.schedule) || view->last.scheduled_ms == 0;
    say_untried(view, summary);
    /* A clock that was ahead must not hold the schedule up until that time comes again. */
    if (is_new || view->last.scheduled_ms > view->now_ms)
        summary->scheduled_ms = view->now_ms / 1000 * 1000;
    else if (due_ms(view) > 0 && view->candidate.name)
        begin(view, due_ms(view), ret);
}

/* One that is switched off is forgotten, but not when it last went well. */
static void set_off(struct drill_summary *summary)
{
    int64_t verified_ms = summary->verified_ms;
    *summary = (struct drill_summary){.verified_ms = verified_ms};
}

/* ---- all ---- */

static void go_on(const struct drill_view *view, struct drill_decision *ret)
{
    switch (view->last.phase) {
    case DRILL_PHASE_RESTORING:
        while_restoring(view, ret);
        break;
    case DRILL_PHASE_CHECKING:
        while_checking(view, ret);
        break;
    default:
        while_removing(view, ret);
    }
    /* What the status does not say yet is not done: this act was for what it said. */
    if (ret->summary.phase != view->last.phase && ret->act != DRILL_ACT_FINISH)
        ret->act = DRILL_ACT_NONE;
    if (ret->news == DRILL_NEWS_FAILED)
        ret->summary.last_failure_ms = view->now_ms;
    if (ret->news == DRILL_NEWS_FAILED || ret->news == DRILL_NEWS_VERIFIED)
        ret->summary.ended_ms = view->now_ms;
}

void drill_decide(const struct drill_view *view, struct drill_decision *ret)
{
    struct drill_summary *summary = &ret->summary;
    bool is_under_way = view->last.phase != DRILL_PHASE_NONE;
    bool is_wished = view->spec->drill_schedule && !view->leaves;
    bool can_plan = is_wished && !view->problem && view->zone;
    *ret = (struct drill_decision){.summary = view->last};
    if (view->paused && !view->leaves)
        return;
    snprintf(summary->problem, sizeof(summary->problem), "%s", str_or_empty(view->problem));
    if (can_plan)
        set_schedule(view->spec, summary);
    if (is_under_way && !is_wished && (view->leaves || !view->problem) && view->last.phase != DRILL_PHASE_REMOVING)
        summary->phase = DRILL_PHASE_REMOVING; /* nobody wants to know any more */
    else if (is_under_way)
        go_on(view, ret);
    else if (can_plan)
        while_idle(view, ret);
    if (summary->phase == DRILL_PHASE_NONE && !is_wished && !view->problem)
        set_off(summary);
    int64_t next_s;
    bool has_next = can_plan && cron_next(&view->spec->drill_cron, view->zone, view->now_ms / 1000, &next_s);
    summary->next_ms = has_next ? next_s * 1000 : 0;
}
