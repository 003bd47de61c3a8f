/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/schedule_decide.h"

#include "operator/api/calendar.h"
#include "operator/api/condition_reason.h"
#include "operator/backup/store_answer.h"

void schedule_run_name(const char *cluster, int64_t due_ms, char out[static SCHEDULE_NAME_SIZE])
{
    int64_t seconds = due_ms / 1000, day = calendar_day_of_second(seconds);
    int minutes = (int)(seconds - day * CALENDAR_DAY_SECONDS) / 60;
    struct calendar_date date = calendar_date_of(day);
    snprintf(out, SCHEDULE_NAME_SIZE, "%s-%04d%02d%02d%02d%02d", cluster, date.year % 10000, date.month, date.day,
        minutes / 60, minutes % 60);
}

static void set_schedule(const struct backup_spec *spec, struct backup_summary *summary)
{
    struct strbuf text;
    strbuf_init(&text, sizeof(summary->schedule) - 1);
    backup_spec_schedule_text(spec, &text);
    snprintf(summary->schedule, sizeof(summary->schedule), "%s", text.buf);
    strbuf_release(&text);
}

static void set_next(const struct schedule_view *view, struct backup_summary *summary)
{
    int64_t next_s;
    summary->next_ms = cron_next(&view->spec->cron, view->zone, view->now_ms / 1000, &next_s) ? next_s * 1000 : 0;
}

/* The last time that has come and was not dealt with; 0: none. */
static int64_t due_ms(const struct schedule_view *view)
{
    int64_t previous_s;
    if (!cron_previous(&view->spec->cron, view->zone, view->now_ms / 1000, &previous_s))
        return 0;
    return previous_s > view->last.scheduled_ms / 1000 ? previous_s * 1000 : 0;
}

static void deal_with(const struct schedule_view *view, int64_t due, struct schedule_decision *ret)
{
    ret->due_ms = due;
    ret->summary.scheduled_ms = due;
    schedule_run_name(view->cluster, due, ret->name);
    ret->create = !view->running;
    ret->skip = view->running && !str_eq(view->running, ret->name); /* else it was made, and only the status lacks */
}

/* What makes no backups has dealt with no time: when it does again, it begins anew. True: it is new. */
static bool begin_schedule(const struct schedule_view *view, struct backup_summary *summary)
{
    *summary->schedule = '\0';
    set_schedule(view->spec, summary);
    summary->suspended = view->spec->schedule && view->spec->suspend;
    if (!view->spec->schedule || summary->suspended)
        summary->scheduled_ms = 0;
    return !str_eq(summary->schedule, view->last.schedule) || view->last.scheduled_ms == 0;
}

/* The reason stands before it, as before that of a member (pod_refusal_told). */
static void set_problem(const struct schedule_view *view, struct backup_summary *summary)
{
    if (view->problem)
        snprintf(summary->problem, sizeof(summary->problem), "%s", view->problem);
    else if (view->running && view->refusal)
        snprintf(summary->problem, sizeof(summary->problem), "%s: MysqlBackup %s: %.*s",
            reason_name(REASON_POD_REFUSED), view->running, STORE_ANSWER_TEXT_SIZE, view->refusal);
    else
        *summary->problem = '\0';
}

void schedule_decide(const struct schedule_view *view, struct schedule_decision *ret)
{
    struct backup_summary *summary = &ret->summary;
    *ret = (struct schedule_decision){.summary = view->last};
    summary->next_ms = 0;
    set_problem(view, summary);
    if (view->problem || !view->zone)
        return;
    bool is_new = begin_schedule(view, summary);
    if (!view->spec->schedule || view->spec->suspend)
        return;
    /* A clock that was ahead must not hold the schedule up until that time comes again. */
    if (is_new || view->last.scheduled_ms > view->now_ms)
        summary->scheduled_ms = view->now_ms / 1000 * 1000;
    else if (view->waits)
        return;
    else if (due_ms(view) > 0)
        deal_with(view, due_ms(view), ret);
    if (!view->waits)
        set_next(view, summary);
}
