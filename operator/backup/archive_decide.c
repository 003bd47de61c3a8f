/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/archive_decide.h"

#include "common/clock.h"
#include "common/json_fields.h"

int64_t archive_patience_ms(int interval_s)
{
    return MAX_OF(3000LL * interval_s, (int64_t)ARCHIVE_BEHIND_MIN_MS);
}

int64_t archive_reach_ms(const struct archive_report *report)
{
    return report->newest_ms > 0 ? MIN_OF(report->until_ms, report->newest_ms) : report->until_ms;
}

static bool holds(const struct archive_backup *backup, const struct gtid_set *from, enum gtid_flavour flavour)
{
    _cleanup_(gtid_set_freep) struct gtid_set *held = position_parse(flavour, backup->gtid);
    if (!held)
        return false;
    enum gtid_relation relation = gtid_set_compare(from, held);
    return relation == GTID_SUBSET || relation == GTID_EQUAL;
}

struct binlog_segment_name archive_chain_of(const struct archive_report *report)
{
    return (struct binlog_segment_name){report->from_epoch, report->from_sequence, report->from_ms};
}

static bool link_is_known(const struct archive_view *view)
{
    struct binlog_segment_name chain = archive_chain_of(view->report);
    return view->link.known && chain.sequence > 0 && binlog_segment_name_compare(&view->link.chain, &chain) == 0;
}

bool archive_link_is_wanted(const struct archive_view *view)
{
    bool whole = view->report && position_is_whole(view->report->from_gtid);
    for (size_t i = 0; i < view->backup_count; i++)
        whole = whole && position_is_whole(view->backups[i].gtid);
    return view->report && view->report->known && view->report->from_sequence > 0 && !whole && !link_is_known(view);
}

int64_t archive_oldest_link_ms(const struct archive_view *view)
{
    int64_t ret = link_is_known(view) ? view->link.completed_ms : 0;
    _cleanup_(gtid_set_freep) struct gtid_set *from = position_parse(view->flavour, view->report->from_gtid);
    for (size_t i = 0; i < view->backup_count && from; i++) {
        const struct archive_backup *backup = &view->backups[i];
        if ((ret == 0 || backup->completed_ms < ret) && holds(backup, from, view->flavour))
            ret = backup->completed_ms;
    }
    return ret;
}

static void KM_PRINTF(3, 4) say(struct archive_summary *summary, const char *reason, const char *fmt, ...)
{
    char text[KM_KIB];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    json_copy_text(summary->message, sizeof(summary->message), text);
    json_copy_text(summary->reason, sizeof(summary->reason), reason);
}

static bool is_heard(const struct archive_view *view)
{
    return view->report && view->report->known;
}

/* A restore goes from a backup up to what is archived: there may be nothing in between. Where nothing was committed
 * since the backup there is no later moment to go to. */
static void set_recoverable(const struct archive_view *view, struct archive_summary *summary)
{
    const struct archive_report *report = view->report;
    /* Without a segment there is no chain yet that a backup could be part of. */
    int64_t from_ms = report->epoch > 0 ? archive_oldest_link_ms(view) : 0;
    /* What was found out before holds until it is found out again, but not over a gap. */
    if (from_ms == 0 && view->backup_count > 0 && archive_link_is_wanted(view) &&
        report->gap_ms / 1000 == view->last.gap_ms / 1000)
        from_ms = view->last.recoverable_from_ms;
    int64_t reach_ms = archive_reach_ms(report);
    bool possible = from_ms > 0 && report->until_ms >= from_ms;
    summary->recoverable_from_ms = possible ? from_ms : 0;
    summary->recoverable_until_ms = possible && reach_ms >= from_ms ? reach_ms : 0;
}

/* Of a primary that has not looked into the archive yet nothing is taken: what is known stays. */
static void take_report(const struct archive_view *view, struct archive_summary *summary)
{
    const struct archive_report *report = view->report;
    if (!is_heard(view))
        return;
    summary->epoch = (int64_t)report->epoch;
    summary->sequence = (int64_t)report->sequence;
    summary->segments = (int64_t)report->segments;
    summary->until_ms = report->until_ms;
    summary->gap_ms = report->gap_ms;
    json_copy_text(summary->until, sizeof(summary->until), report->until_gtid);
    set_recoverable(view, summary);
}

static bool is_behind(const struct archive_view *view, const struct archive_summary *summary)
{
    int64_t until_ms = MAX_OF(summary->until_ms, view->noticed_ms);
    int64_t limit_ms = archive_patience_ms(view->spec->archive_interval_s);
    if (!is_heard(view) && view->noticed_ms == 0 && until_ms > 0) /* what the status says may be that old by itself */
        limit_ms += ARCHIVE_STATUS_MS;
    return !view->rests && view->now_ms - (until_ms > 0 ? until_ms : view->since_ms) > limit_ms;
}

/* An operator that has just begun to listen does not judge by silence. */
static bool is_early(const struct archive_view *view)
{
    return !is_heard(view) && view->now_ms - view->since_ms <= archive_patience_ms(view->spec->archive_interval_s);
}

static void say_behind(const struct archive_view *view, struct archive_summary *summary)
{
    char until[CLOCK_RFC3339_SIZE];
    const char *why = view->report ? "its primary gets no further" : "nothing is heard of a primary that archives";
    if (summary->until_ms == 0) {
        say(summary, archive_reason_name(ARCHIVE_BEHIND), "nothing was archived yet: %s", why);
        return;
    }
    clock_format_rfc3339(summary->until_ms, until);
    say(summary, archive_reason_name(ARCHIVE_BEHIND), "what was committed after %s is not archived yet: %s", until, why);
}

/* Which one it is may be found out in a moment. */
static bool has_backup(const struct archive_view *view)
{
    bool may_have = view->backup_count > 0 && archive_link_is_wanted(view);
    return may_have || (is_heard(view) && archive_oldest_link_ms(view) > 0);
}

static bool needs_backup(const struct archive_view *view)
{
    if (!is_heard(view)) /* as it was */
        return archive_reason_of(view->last.reason) == ARCHIVE_NO_BACKUP;
    int64_t from_ms = view->report->from_ms > 0 ? view->report->from_ms : view->since_ms;
    return view->has_earlier_data || view->now_ms - from_ms >= ARCHIVE_BACKUP_MS;
}

static void say_without_backup(const struct archive_view *view, struct archive_summary *summary)
{
    static const char archived[] = "what is committed is archived, but there is no backup yet to go on from";
    char when[CLOCK_RFC3339_SIZE];
    const char *reason = archive_reason_name(ARCHIVE_UP_TO_DATE);
    clock_format_rfc3339(view->next_backup_ms, when);
    if (has_backup(view))
        say(summary, reason, "%s", archived);
    else if (view->backup_runs)
        say(summary, reason, "%s; one is being made", archived);
    else if (view->is_scheduled)
        say(summary, reason, "%s; the schedule makes one%s%s", archived, view->next_backup_ms > 0 ? " at " : "",
            view->next_backup_ms > 0 ? when : "");
    else if (needs_backup(view))
        say(summary, archive_reason_name(ARCHIVE_NO_BACKUP), "nothing can be restored: %s", archived);
    else
        say(summary, reason, "%s", archived);
}

static void judge(const struct archive_view *view, struct archive_summary *summary)
{
    char when[CLOCK_RFC3339_SIZE];
    const struct archive_report *report = view->report;
    clock_format_rfc3339(summary->gap_ms, when);
    if (*view->problem)
        say(summary, view->problem, "%s", view->problem_message);
    else if (report && *report->error_reason)
        say(summary, report->error_reason, "%s", report->message);
    else if (summary->gap_ms > 0 && summary->recoverable_from_ms == 0)
        say(summary, archive_reason_name(ARCHIVE_GAP),
            "transactions before %s were in no binary log any more when they were to be archived; a new backup is needed to go on from",
            when);
    else if (is_early(view) && *view->last.reason)
        return; /* as it was */
    else if (is_behind(view, summary))
        say_behind(view, summary);
    else if (summary->until_ms == 0)
        say(summary, archive_reason_name(ARCHIVE_STARTING), "waits for the primary's first round");
    else if (summary->recoverable_from_ms == 0)
        say_without_backup(view, summary);
    else
        say(summary, archive_reason_name(ARCHIVE_UP_TO_DATE), "what is committed is archived");
}

/* What moves with every round. */
static void take_moving(const struct archive_summary *from, struct archive_summary *to)
{
    to->sequence = from->sequence;
    to->segments = from->segments;
    to->until_ms = from->until_ms;
    to->recoverable_until_ms = from->recoverable_until_ms;
    memcpy(to->until, from->until, sizeof(to->until));
}

static bool is_due(const struct archive_summary *last, const struct archive_summary *next)
{
    struct archive_summary steady = *next;
    if (archive_summary_same(last, next))
        return false;
    take_moving(last, &steady);
    bool first = (last->until_ms == 0) != (next->until_ms == 0) ||
        (last->recoverable_until_ms == 0) != (next->recoverable_until_ms == 0);
    int64_t moved_ms = next->until_ms - last->until_ms;
    return first || !archive_summary_same(last, &steady) || moved_ms >= ARCHIVE_STATUS_MS || moved_ms < 0;
}

void archive_decide(const struct archive_view *view, struct archive_decision *ret)
{
    *ret = (struct archive_decision){.summary = view->last};
    if (!view->spec->archives)
        ret->summary = (struct archive_summary){.epoch = 0};
    else {
        take_report(view, &ret->summary);
        judge(view, &ret->summary);
    }
    ret->new_gap = ret->summary.gap_ms / 1000 > view->last.gap_ms / 1000;
    ret->write = is_due(&view->last, &ret->summary);
}
