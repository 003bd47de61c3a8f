/* SPDX-License-Identifier: Apache-2.0 */
/* The archive of binary logs: when it is up to date, behind, broken; from when to when one can restore; how often that
 * is written. */
#include "common/base.h"

#include "operator/backup/archive_decide.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"

#define NOW INT64_C(1795262400000) /* 2026-11-21T12:00:00Z */
#define MINUTE INT64_C(60000)

static const struct backup_spec minutely = {.archives = true, .archive_interval_s = 60};
static const struct backup_spec secondly = {.archives = true, .archive_interval_s = 1};
static const struct backup_spec off = {.archives = false};

static struct archive_report report_of(const char *from, int64_t until_ms)
{
    struct archive_report report = {.known = true, .epoch = 3, .sequence = 7, .segments = 5, .until_ms = until_ms};
    snprintf(report.from_gtid, sizeof(report.from_gtid), "%s", from);
    snprintf(report.until_gtid, sizeof(report.until_gtid), "0-1-900");
    return report;
}

static const struct archive_backup backups[] = {
    {NOW - 60 * MINUTE, "0-1-100", NULL, true},
    {NOW - 40 * MINUTE, "0-1-300", NULL, true},
    {NOW - 20 * MINUTE, "0-1-500", NULL, true},
};

static struct archive_view view_of(const struct archive_report *report)
{
    return (struct archive_view){.spec = &minutely,
        .now_ms = NOW,
        .since_ms = NOW - 100 * MINUTE,
        .problem = "",
        .problem_message = "",
        .flavour = GTID_MARIADB,
        .report = report,
        .backups = backups,
        .backup_count = ARRAY_LEN(backups)};
}

static struct archive_summary decide(const struct archive_view *view)
{
    static struct archive_decision decision;
    archive_decide(view, &decision);
    return decision.summary;
}

static void assert_reason(const struct archive_view *view, const char *reason, const char *said)
{
    struct archive_summary summary = decide(view);
    assert_string_equal(summary.reason, reason);
    if (!strstr(summary.message, said))
        fail_msg("\"%s\" is not in \"%s\"", said, summary.message);
}

static void test_reasons(void **state)
{
    UNUSED(state);
    struct archive_report fresh = report_of("0-1-100", NOW - MINUTE), old = report_of("0-1-100", NOW - 3 * MINUTE - 1);
    struct archive_view view = view_of(&fresh);
    assert_reason(&view, "UpToDate", "what is committed is archived");
    view.report = &old;
    assert_reason(&view, "Behind", "after 2026-11-21T11:56:59Z is not archived yet: its primary gets no further");
    view.rests = true; /* nobody writes */
    assert_reason(&view, "UpToDate", "");
    view.rests = false;
    old.until_ms = NOW - 3 * MINUTE;
    assert_reason(&view, "UpToDate", "");
    /* A short interval is no reason to cry at once. */
    view.spec = &secondly;
    old.until_ms = NOW - MINUTE;
    assert_reason(&view, "UpToDate", "");
    old.until_ms = NOW - MINUTE - 1;
    assert_reason(&view, "Behind", "");
    snprintf(old.error_reason, sizeof(old.error_reason), "StoreRefused");
    snprintf(old.message, sizeof(old.message), "403 AccessDenied");
    assert_reason(&view, "StoreRefused", "403 AccessDenied");
    view.problem = "SecretMissing";
    view.problem_message = "spec.backup.destination.s3.credentialsSecret: there is no Secret keys";
    assert_reason(&view, "SecretMissing", "there is no Secret keys");
    view.spec = &off;
    assert_reason(&view, "", "");
}

/* Silence. */
static void test_unheard(void **state)
{
    UNUSED(state);
    struct archive_report blank = {.known = false};
    struct archive_view view = view_of(NULL);
    view.since_ms = NOW - 3 * MINUTE;
    assert_reason(&view, "Starting", "first round");
    view.report = &blank;
    assert_reason(&view, "Starting", "first round");
    view.since_ms--;
    assert_reason(&view, "Behind", "nothing was archived yet: its primary gets no further");
    view.report = NULL;
    assert_reason(&view, "Behind", "nothing is heard of a primary that archives");
    /* An operator that was away for an hour listens first. */
    snprintf(view.last.reason, sizeof(view.last.reason), "UpToDate");
    view.last.until_ms = NOW - 60 * MINUTE;
    view.since_ms = NOW;
    assert_reason(&view, "UpToDate", "");
    view.since_ms = NOW - 4 * MINUTE;
    assert_reason(&view, "Behind", "");
    /* The status is coarse; what was heard in between counts. */
    view.last.until_ms = NOW - 4 * MINUTE;
    assert_reason(&view, "UpToDate", "");
    view.noticed_ms = NOW - 4 * MINUTE;
    assert_reason(&view, "Behind", "");
}

static void test_recoverable(void **state)
{
    UNUSED(state);
    static const struct {
        const char *name, *from;
        int64_t until_ms, expected_from, expected_until, newest_ms;
    } rows[] = {
        {"all of them", "", NOW, NOW - 60 * MINUTE, NOW, 0},
        {"the chain begins where the first one ends", "0-1-100", NOW, NOW - 60 * MINUTE, NOW, 0},
        {"it begins behind the first", "0-1-101", NOW, NOW - 40 * MINUTE, NOW, 0},
        {"another server's transaction of that number", "0-2-300", NOW, NOW - 20 * MINUTE, NOW, 0},
        {"behind all", "0-1-501", NOW, 0, 0, 0},
        {"another domain that no backup knows", "0-1-100,1-1-1", NOW, 0, 0, 0},
        {"not archived that far yet", "0-1-500", NOW - 30 * MINUTE, 0, 0, 0},
        {"no position", "?", NOW, 0, 0, 0},
        /* No further than a transaction shows it. */
        {"the heartbeat of the second before", "", NOW, NOW - 60 * MINUTE, NOW - 1000, NOW - 1000},
        {"one of the same second, later", "", NOW, NOW - 60 * MINUTE, NOW, NOW + 1000},
        {"nobody wrote for long", "", NOW, NOW - 60 * MINUTE, NOW - 30 * MINUTE, NOW - 30 * MINUTE},
        {"nor since the backup", "", NOW, NOW - 60 * MINUTE, 0, NOW - 60 * MINUTE - 1000},
        {"at the end of the backup", "", NOW, NOW - 60 * MINUTE, NOW - 60 * MINUTE, NOW - 60 * MINUTE},
        {"not archived that far, whatever is written", "0-1-500", NOW - 30 * MINUTE, 0, 0, NOW},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct archive_report report = report_of(rows[i].from, rows[i].until_ms);
        struct archive_view view = view_of(&report);
        report.newest_ms = rows[i].newest_ms;
        report.from_ms = NOW; /* it is not archived for long */
        struct archive_summary summary = decide(&view);
        assert_string_equal(summary.reason, rows[i].until_ms < NOW ? "Behind" : "UpToDate");
        if (summary.recoverable_from_ms != rows[i].expected_from ||
            summary.recoverable_until_ms != rows[i].expected_until)
            fail_msg("%s: %lld %lld", rows[i].name, (long long)summary.recoverable_from_ms,
                (long long)summary.recoverable_until_ms);
    }
    struct archive_report report = report_of("0-1-100", NOW);
    struct archive_view view = view_of(&report);
    view.backup_count = 0;
    view.since_ms = NOW;
    assert_reason(&view, "UpToDate", "there is no backup yet");
    view.backup_count = ARRAY_LEN(backups);
    report.epoch = 0; /* nothing is there yet */
    assert_int_equal(decide(&view).recoverable_from_ms, 0);
}

/* Without any to go on from one is asked for, unless it comes by itself. */
static void test_without_backup(void **state)
{
    UNUSED(state);
    static const struct {
        const char *name;
        int64_t since_ms; /* since when it is archived */
        bool earlier, runs, scheduled;
        int64_t next_ms;
        bool backup, unheard;
        const char *before, *reason, *says;
    } rows[] = {
        {"new", 59 * MINUTE, false, false, false, 0, false, false, "", "UpToDate", "no backup yet to go on from"},
        {"for an hour", 60 * MINUTE, false, false, false, 0, false, false, "", "NoBackup", "nothing can be restored"},
        {"data from before", MINUTE, true, false, false, 0, false, false, "", "NoBackup", "nothing can be restored"},
        {"one is being made", 60 * MINUTE, true, true, false, 0, false, false, "", "UpToDate", "; one is being made"},
        {"by a schedule", 60 * MINUTE, true, false, true, NOW + MINUTE, false, false, "", "UpToDate",
            "; the schedule makes one at 2026-11-21T12:01:00Z"},
        {"by a new schedule", 60 * MINUTE, true, false, true, 0, false, false, "", "UpToDate",
            "; the schedule makes one"},
        {"it is not archived that far yet", 60 * MINUTE, true, false, false, 0, true, false, "", "UpToDate",
            "no backup yet"},
        {"not heard", 60 * MINUTE, true, false, false, 0, false, true, "UpToDate", "UpToDate", "no backup yet"},
        {"not heard since", 60 * MINUTE, true, false, false, 0, false, true, "NoBackup", "NoBackup", "no backup yet"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct archive_report report = report_of("0-1-100", NOW);
        struct archive_view view = view_of(rows[i].unheard ? NULL : &report);
        const struct archive_backup later = {NOW + 1000, "0-1-600", NULL, true};
        report.from_ms = NOW - rows[i].since_ms;
        view.backups = &later;
        view.backup_count = rows[i].backup;
        view.has_earlier_data = rows[i].earlier;
        view.backup_runs = rows[i].runs;
        view.is_scheduled = rows[i].scheduled;
        view.next_backup_ms = rows[i].next_ms;
        view.last.until_ms = NOW;
        snprintf(view.last.reason, sizeof(view.last.reason), "%s", rows[i].before);
        struct archive_summary summary = decide(&view);
        if (!str_eq(summary.reason, rows[i].reason) || !strstr(summary.message, rows[i].says))
            fail_msg("%s: %s: %s", rows[i].name, summary.reason, summary.message);
    }
}

/* Positions that are too long to be told: what a look into the store found out of this chain counts; until then
 * what was known. */
static void test_link(void **state)
{
    UNUSED(state);
    static const struct archive_backup long_ones[] = {
        {NOW - 60 * MINUTE, POSITION_TOO_LONG, "a", true},
        {NOW - 40 * MINUTE, "0-1-300", "b", true},
    };
    const struct binlog_segment_name chain = {2, 4, NOW - 90 * MINUTE}, other = {2, 1, NOW - 99 * MINUTE};
    static const struct {
        const char *name, *from;
        bool long_backup, knows_chain, known, of_other, gap;
        int64_t found, last, expected;
        bool wanted;
    } rows[] = {
        {"all is told", "0-1-100", false, true, false, false, false, 0, 0, NOW - 60 * MINUTE, false},
        {"nothing was found out yet", "0-1-301", true, true, false, false, false, 0, 0, 0, true},
        {"that is told is enough", "0-1-300", true, true, false, false, false, 0, 0, NOW - 40 * MINUTE, true},
        {"as it was written", "0-1-301", true, true, false, false, false, 0, NOW - 60 * MINUTE, NOW - 60 * MINUTE, true},
        {"not over a gap", "0-1-301", true, true, false, false, true, 0, NOW - 60 * MINUTE, 0, true},
        {"found", "0-1-301", true, true, true, false, false, NOW - 60 * MINUTE, 0, NOW - 60 * MINUTE, false},
        {"found that there is none", "0-1-301", true, true, true, false, false, 0, NOW - 60 * MINUTE, 0, false},
        {"found of the chain before", "0-1-301", true, true, true, true, false, NOW - 60 * MINUTE, 0, 0, true},
        {"the chain's own", "...", false, true, true, false, false, NOW - 50 * MINUTE, 0, NOW - 50 * MINUTE, false},
        {"the chain's own, not yet", "...", false, true, false, false, false, 0, NOW - 50 * MINUTE, NOW - 50 * MINUTE,
            true},
        {"an agent that does not say", "...", false, false, false, false, false, 0, NOW - 50 * MINUTE, 0, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct archive_report report = report_of(rows[i].from, NOW);
        struct archive_view view = view_of(&report);
        if (rows[i].knows_chain) {
            report.from_epoch = chain.epoch;
            report.from_sequence = chain.sequence;
            report.from_ms = chain.archived_ms;
        }
        if (rows[i].long_backup) {
            view.backups = long_ones;
            view.backup_count = ARRAY_LEN(long_ones);
        }
        view.link = (struct archive_link){rows[i].known, rows[i].of_other ? other : chain, rows[i].found};
        view.last.recoverable_from_ms = rows[i].last;
        report.gap_ms = rows[i].gap ? NOW - 5 * MINUTE : 0;
        int64_t from_ms = decide(&view).recoverable_from_ms;
        if (from_ms != rows[i].expected || archive_link_is_wanted(&view) != rows[i].wanted)
            fail_msg("%s: %lld", rows[i].name, (long long)from_ms);
    }
}

/* Told until there is a backup behind it, once as an event. */
static void test_gap(void **state)
{
    UNUSED(state);
    struct archive_report report = report_of("0-1-501", NOW);
    struct archive_view view = view_of(&report);
    struct archive_decision decision;
    report.gap_ms = NOW - MINUTE;
    assert_reason(&view, "Gap", "transactions before 2026-11-21T11:59:00Z were in no binary log any more");
    archive_decide(&view, &decision);
    assert_true(decision.new_gap && decision.write);
    view.last = decision.summary;
    archive_decide(&view, &decision);
    assert_false(decision.new_gap || decision.write);
    const struct archive_backup later = {NOW - MINUTE / 2, "0-1-600", NULL, true};
    view.backups = &later;
    view.backup_count = 1;
    assert_reason(&view, "UpToDate", "");
    assert_int_equal(decide(&view).recoverable_from_ms, later.completed_ms);
}

/* The status of a quiet cluster is written once a minute, not with each round. */
static void test_writes(void **state)
{
    UNUSED(state);
    struct archive_report report = report_of("0-1-100", NOW - 10 * MINUTE);
    struct archive_view view = view_of(&report);
    struct archive_decision decision;
    int writes = 0;
    for (int second = 0; second < 600; second++) {
        view.now_ms = NOW - 10 * MINUTE + second * 1000;
        report.until_ms = view.now_ms - 500;
        report.sequence++;
        archive_decide(&view, &decision);
        if (!decision.write)
            continue;
        writes++;
        _cleanup_(json_decrefp) json_t *patch = archive_summary_patch(&decision.summary);
        archive_summary_decode(patch, &view.last); /* as it is read back */
    }
    assert_in_range(writes, 10, 11);
    /* What is news is written at once. */
    snprintf(report.error_reason, sizeof(report.error_reason), "StoreUnavailable");
    archive_decide(&view, &decision);
    assert_true(decision.write);
    *report.error_reason = '\0';
    archive_decide(&view, &decision);
    assert_false(decision.write);
    view.backup_count = 0; /* deleted */
    archive_decide(&view, &decision);
    assert_true(decision.write && decision.summary.recoverable_from_ms == 0);
    view.spec = &off;
    archive_decide(&view, &decision);
    assert_true(decision.write);
    _cleanup_(json_decrefp) json_t *patch = archive_summary_patch(&decision.summary);
    assert_true(
        json_is_null(json_path(patch, "backup.archive")) && json_is_null(json_path(patch, "backup.recoverableFrom")));
    view.last = decision.summary;
    archive_decide(&view, &decision);
    assert_false(decision.write);
}

/* Of the next primary nothing is known until it has looked into the archive: what is known stays. */
static void test_failover(void **state)
{
    UNUSED(state);
    struct archive_report report = report_of("0-1-100", NOW - MINUTE);
    struct archive_view view = view_of(&report);
    report.newest_ms = NOW - MINUTE - 1000;
    view.last = decide(&view);
    assert_true(view.last.recoverable_until_ms == report.newest_ms);
    report = (struct archive_report){.known = false};
    view.noticed_ms = NOW - MINUTE;
    struct archive_summary summary = decide(&view);
    assert_true(archive_summary_same(&summary, &view.last));
}

static void test_condition(void **state)
{
    UNUSED(state);
    assert_int_equal(archive_reason_status(archive_reason_of("UpToDate")), KUBE_CONDITION_TRUE);
    assert_int_equal(archive_reason_status(archive_reason_of("Starting")), KUBE_CONDITION_UNKNOWN);
    assert_int_equal(archive_reason_status(archive_reason_of("Gap")), KUBE_CONDITION_FALSE);
    assert_int_equal(archive_reason_status(archive_reason_of("StoreRefused")), KUBE_CONDITION_FALSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_unheard),
        cmocka_unit_test(test_recoverable),
        cmocka_unit_test(test_without_backup),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_failover),
        cmocka_unit_test(test_condition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
