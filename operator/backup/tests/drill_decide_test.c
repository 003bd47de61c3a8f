/* SPDX-License-Identifier: Apache-2.0 */
/* When a drill begins, how it is judged, what is left of it. */
#include "common/base.h"

#include "operator/backup/drill_decide.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/backup/drill_scratch.h"

#define UID "7b7d0b1e-0000-4000-8000-000000000001"

static int64_t at(const char *text)
{
    int64_t ms = 0;
    assert_int_equal(clock_parse_rfc3339(text, &ms), 0);
    return ms;
}

/* ---- one view, to be turned by each test ---- */

struct world {
    struct backup_spec spec;
    struct time_zone zone;
    struct drill_view view;
    struct drill_decision decision;
    struct check_report report;
};

static int set_up(void **state)
{
    struct world *w = xnew(struct world);
    time_zone_utc(&w->zone);
    w->spec = (struct backup_spec){.drill_schedule = "0 4 * * *", .time_zone = "UTC", .drill_deadline_s = 3600};
    assert_int_equal(cron_parse(w->spec.drill_schedule, &w->spec.drill_cron, NULL), 0);
    w->view = (struct drill_view){.cluster = "shop",
        .uid = UID,
        .spec = &w->spec,
        .zone = &w->zone,
        .now_ms = at("2026-11-22T04:00:00Z"),
        .candidate = {"shop-1", "uid-1", at("2026-11-22T03:00:00Z"), true}};
    w->view.last.scheduled_ms = at("2026-11-21T04:00:00Z");
    snprintf(w->view.last.schedule, sizeof(w->view.last.schedule), "0 4 * * * UTC");
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

static void decide(struct world *w)
{
    drill_decide(&w->view, &w->decision);
}

/* The status is written, and it is looked at again. */
static void go_on(struct world *w)
{
    w->view.last = w->decision.summary;
    decide(w);
}

static void begin(struct world *w)
{
    decide(w);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_RESTORING);
    assert_int_equal(w->decision.act, DRILL_ACT_NONE); /* the status first */
    assert_int_equal(w->decision.news, DRILL_NEWS_BEGUN);
    go_on(w);
    assert_int_equal(w->decision.act, DRILL_ACT_CREATE);
    assert_int_equal(w->decision.news, DRILL_NEWS_NONE);
    w->view.scratch = (struct drill_scratch){.exists = true, .ours = true, .restore = RESTORE_PHASE_RESTORING};
    go_on(w);
    assert_int_equal(w->decision.act, DRILL_ACT_NONE);
}

static void restored(struct world *w)
{
    begin(w);
    w->view.scratch.restore = RESTORE_PHASE_COMPLETED;
    go_on(w);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_RESTORING); /* its member is not open yet */
    w->view.scratch.open = true;
    go_on(w);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_CHECKING);
    assert_int_equal(w->decision.act, DRILL_ACT_NONE);
    go_on(w);
    assert_int_equal(w->decision.act, DRILL_ACT_CHECK);
    w->report = (struct check_report){.phase = CHECK_PHASE_RUNNING};
    snprintf(w->report.task, sizeof(w->report.task), "%s", w->view.last.cluster);
    w->view.scratch.check = &w->report;
    go_on(w);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_CHECKING);
}

static void removed(struct world *w)
{
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_REMOVING);
    assert_int_equal(w->decision.act, DRILL_ACT_NONE);
    go_on(w);
    if (w->view.scratch.exists) {
        assert_int_equal(w->decision.act, DRILL_ACT_DELETE);
        w->view.scratch.deleting = true;
        go_on(w);
        assert_int_equal(w->decision.act, DRILL_ACT_NONE);
        w->view.scratch = (struct drill_scratch){.exists = false};
        go_on(w);
    }
    assert_int_equal(w->decision.act, DRILL_ACT_FINISH);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_NONE);
    assert_string_equal(w->decision.summary.cluster, "");
    go_on(w);
    assert_int_equal(w->decision.act, DRILL_ACT_NONE);
    assert_true(drill_summary_same(&w->decision.summary, &w->view.last));
}

static void expect_failure(struct world *w, const char *reason, const char *words)
{
    const struct drill_summary *summary = &w->decision.summary;
    assert_int_equal(w->decision.news, DRILL_NEWS_FAILED);
    assert_string_equal(summary->reason, reason);
    if (!strstr(summary->message, words))
        fail_msg("it says: %s", summary->message);
    assert_int_equal(summary->failures, 1);
    assert_true(summary->last_failure_ms == w->view.now_ms && summary->ended_ms == w->view.now_ms);
    assert_int_equal(summary->verified_ms, 0);
    assert_int_equal(drill_reason_status(drill_reason_of(summary->reason)), KUBE_CONDITION_FALSE);
    removed(w);
    assert_string_equal(w->decision.summary.reason, reason);
}

/* ---- cases ---- */

static void test_goes_well(void **state)
{
    struct world *w = *state;
    restored(w);
    w->report.phase = CHECK_PHASE_PASSED;
    w->report.tables = 17;
    snprintf(w->report.gtid, sizeof(w->report.gtid), "0-1-99");
    w->view.now_ms += 90000;
    go_on(w);
    const struct drill_summary *summary = &w->decision.summary;
    assert_int_equal(w->decision.news, DRILL_NEWS_VERIFIED);
    assert_string_equal(summary->reason, drill_reason_name(DRILL_VERIFIED));
    assert_true(summary->verified_ms == w->view.now_ms && summary->verified_until_ms == at("2026-11-22T03:00:00Z"));
    assert_int_equal(summary->verified_seconds, 90);
    assert_int_equal(summary->verified_tables, 17);
    assert_string_equal(summary->verified_gtid, "0-1-99");
    assert_string_equal(summary->verified_backup, "shop-1");
    assert_int_equal(drill_reason_status(drill_reason_of(summary->reason)), KUBE_CONDITION_TRUE);
    removed(w);
    assert_true(w->decision.summary.next_ms == at("2026-11-23T04:00:00Z"));
    /* A time that came while it ran is left out. */
    assert_true(w->decision.summary.scheduled_ms == w->view.now_ms);
    /* Missed times are caught up once. */
    w->view.now_ms = at("2026-11-29T12:00:00Z");
    go_on(w);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_RESTORING);
    assert_true(w->decision.summary.scheduled_ms == at("2026-11-29T04:00:00Z"));
}

static const struct failure {
    struct drill_scratch scratch;
    int64_t later_ms;
    const char *reason, *words;
} failures[] = {
    {{.exists = true}, 0, "ScratchNameTaken", "not of this cluster"},
    {{.exists = true, .ours = true, .refused = true, .refusal = "spec.storage: x"}, 0, "ScratchRefused",
        "spec.storage: x"},
    {{.exists = true, .ours = true, .restore = RESTORE_PHASE_SKIPPED}, 0, "NotRestored", "did not begin"},
    {{.exists = true, .ours = true, .restore = RESTORE_PHASE_EMPTY}, 0, "NotRestored", "did not begin"},
    {{.exists = true, .ours = true, .restore_reason = "BackupDamaged", .restore_message = "piece 3"}, 0,
        "BackupDamaged", "piece 3"},
    {{.exists = true, .ours = true, .restore_reason = "KeyInvalid", .restore_message = "no key"}, 0, "KeyInvalid",
        "MysqlBackup shop-1"},
    {{.exists = true, .ours = true, .gave_up = true, .restore_message = "too small"}, 0, "RestoreFailed", "too small"},
    {{.exists = true, .ours = true, .gave_up = true, .restore_reason = "VolumeTooSmall"}, 0, "VolumeTooSmall", ""},
    {{.exists = true, .ours = true, .restore_reason = "StoreUnavailable", .restore_message = "503"}, 3600000,
        "DeadlineExceeded", "StoreUnavailable: 503"},
    {{.exists = false}, 3600000, "DeadlineExceeded", "3600 s"},
    {{.exists = true, .ours = true, .deleting = true}, 3600000, "DeadlineExceeded", "3600 s"},
};

static void test_restores_that_fail(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        struct world *w;
        assert_int_equal(set_up((void **)&w), 0);
        begin(w);
        w->view.scratch = failures[i].scratch;
        w->view.now_ms += failures[i].later_ms;
        go_on(w);
        if (failures[i].scratch.ours || !failures[i].scratch.exists) {
            bool goes = failures[i].scratch.deleting;
            if (goes)
                w->view.scratch.deleting = false;
            expect_failure(w, failures[i].reason, failures[i].words);
        } else { /* what is another's is not touched */
            assert_string_equal(w->decision.summary.reason, failures[i].reason);
            go_on(w);
            assert_int_equal(w->decision.act, DRILL_ACT_NONE);
            assert_int_equal(w->decision.summary.phase, DRILL_PHASE_NONE);
        }
        free(w);
    }
    UNUSED(state);
}

static void test_what_may_pass_is_waited_for(void **state)
{
    struct world *w = *state;
    begin(w);
    snprintf(w->view.scratch.restore_reason, sizeof(w->view.scratch.restore_reason), "StoreUnavailable");
    w->view.now_ms += 3599000;
    go_on(w);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_RESTORING);
    /* Somebody took it away: it is made again. */
    w->view.scratch = (struct drill_scratch){.exists = false};
    go_on(w);
    assert_int_equal(w->decision.act, DRILL_ACT_CREATE);
}

static void test_damage_is_found(void **state)
{
    struct world *w = *state;
    restored(w);
    w->report.phase = CHECK_PHASE_FAILED;
    snprintf(w->report.reason, sizeof(w->report.reason), CHECK_TABLES_DAMAGED);
    snprintf(w->report.message, sizeof(w->report.message), "table d.t: Corrupt");
    go_on(w);
    expect_failure(w, CHECK_TABLES_DAMAGED, "table d.t: Corrupt");
}

static void test_a_check_of_another_task_says_nothing(void **state)
{
    struct world *w = *state;
    restored(w);
    w->report.phase = CHECK_PHASE_PASSED;
    snprintf(w->report.task, sizeof(w->report.task), "another");
    go_on(w);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_CHECKING);
    assert_int_equal(w->decision.act, DRILL_ACT_CHECK);
    w->view.now_ms += 3600000;
    go_on(w);
    expect_failure(w, "DeadlineExceeded", "the check of its tables");
}

static void test_lost_while_it_is_checked(void **state)
{
    struct world *w = *state;
    restored(w);
    w->view.scratch = (struct drill_scratch){.exists = false};
    go_on(w);
    expect_failure(w, "ScratchLost", "was deleted");
}

static void test_the_archive_is_tried_where_it_claims(void **state)
{
    static const struct {
        bool archives;
        const char *from, *until;
        bool replays;
    } cases[] = {
        {true, "2026-11-20T00:00:00Z", "2026-11-22T03:59:00Z", true},
        {false, "2026-11-20T00:00:00Z", "2026-11-22T03:59:00Z", false},
        {true, "2026-11-22T03:30:00Z", "2026-11-22T03:59:00Z", false}, /* a gap behind the newest backup */
        {true, "2026-11-20T00:00:00Z", "2026-11-22T02:00:00Z", false}, /* the archive is behind it */
        {true, NULL, NULL, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world *w;
        assert_int_equal(set_up((void **)&w), 0);
        w->spec.archives = cases[i].archives;
        w->view.recoverable_from_ms = cases[i].from ? at(cases[i].from) : 0;
        w->view.archived_until_ms = cases[i].until ? at(cases[i].until) : 0;
        decide(w);
        assert_int_equal(w->decision.summary.replays, cases[i].replays);
        assert_true(
            w->decision.summary.until_ms == (cases[i].replays ? at(cases[i].until) : at("2026-11-22T03:00:00Z")));
        _cleanup_(json_decrefp) json_t *spec = json_object();
        _cleanup_(json_decrefp) json_t *object = drill_scratch_object("ns1", "shop", UID, spec, &w->decision.summary);
        assert_string_equal(json_path_str(object, "spec.restoreFrom.pointInTime", ""), cases[i].replays ? "latest" : "");
        free(w);
    }
    struct world *elsewhere;
    assert_int_equal(set_up((void **)&elsewhere), 0);
    elsewhere->spec.archives = true;
    elsewhere->view.candidate.beside_archive = false;
    elsewhere->view.recoverable_from_ms = at("2026-11-20T00:00:00Z");
    elsewhere->view.archived_until_ms = at("2026-11-22T03:59:00Z");
    decide(elsewhere);
    assert_false(elsewhere->decision.summary.replays);
    free(elsewhere);
    UNUSED(state);
}

static void test_waits(void **state)
{
    struct world *w = *state;
    /* No backup yet: the time is not forgotten. */
    w->view.candidate = (struct drill_candidate){.name = NULL};
    decide(w);
    assert_string_equal(w->decision.summary.reason, drill_reason_name(DRILL_NO_BACKUP));
    assert_int_equal(drill_reason_status(DRILL_NO_BACKUP), KUBE_CONDITION_UNKNOWN);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_NONE);
    w->view.candidate = (struct drill_candidate){"shop-2", "uid-2", at("2026-11-22T05:00:00Z"), true};
    w->view.now_ms = at("2026-11-22T05:00:00Z");
    /* Paused: nothing is done, and nothing is forgotten. */
    w->view.paused = true;
    go_on(w);
    assert_true(drill_summary_same(&w->decision.summary, &w->view.last));
    w->view.paused = false;
    w->view.problem = "it is wrong";
    go_on(w);
    assert_string_equal(w->decision.summary.problem, "it is wrong");
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_NONE);
    assert_int_equal(w->decision.summary.next_ms, 0);
    w->view.problem = NULL;
    go_on(w);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_RESTORING);
    assert_string_equal(w->decision.summary.backup, "shop-2");
    assert_string_equal(w->decision.summary.problem, "");
}

static void test_a_new_schedule_begins_now(void **state)
{
    struct world *w = *state;
    w->view.last = (struct drill_summary){.phase = DRILL_PHASE_NONE};
    w->view.now_ms = at("2026-11-22T12:00:00Z");
    decide(w);
    assert_int_equal(w->decision.summary.phase, DRILL_PHASE_NONE);
    assert_string_equal(w->decision.summary.reason, drill_reason_name(DRILL_NOT_YET));
    assert_true(w->decision.summary.scheduled_ms == w->view.now_ms);
    assert_true(w->decision.summary.next_ms == at("2026-11-23T04:00:00Z"));
    /* A clock that was ahead. */
    w->view.last = w->decision.summary;
    w->view.last.scheduled_ms = at("2031-01-01T00:00:00Z");
    decide(w);
    assert_true(w->decision.summary.scheduled_ms == w->view.now_ms);
}

static void test_switched_off(void **state)
{
    struct world *w = *state;
    begin(w);
    w->view.last.verified_ms = 1700000000000;
    w->spec.drill_schedule = NULL;
    decide(w);
    assert_int_equal(w->decision.news, DRILL_NEWS_NONE);
    assert_int_equal(w->decision.summary.failures, 0);
    removed(w);
    assert_string_equal(w->decision.summary.schedule, "");
    assert_string_equal(w->decision.summary.reason, "");
    assert_true(w->decision.summary.verified_ms == 1700000000000);
}

static void test_the_cluster_goes(void **state)
{
    struct world *w = *state;
    begin(w);
    w->view.leaves = true;
    w->view.paused = true; /* a pause holds nothing back that goes */
    w->view.problem = "it is wrong, too";
    decide(w);
    removed(w);
}

/* ---- names, the object, the status ---- */

static void test_names(void **state)
{
    char a[DERIVED_NAME_SIZE], b[DERIVED_NAME_SIZE], c[DERIVED_NAME_SIZE];
    struct api_problems problems = {0};
    static const char longest[] = "a123456789-123456789-123456789-123456789-12345";
    UNUSED(state);
    drill_scratch_name("shop", UID, 1700000000000, a);
    drill_scratch_name("shop", UID, 1700000060000, b);
    drill_scratch_name("shop", "another", 1700000000000, c);
    assert_memory_equal(a, "shop-drill-", 11);
    assert_string_not_equal(a, b);
    assert_string_not_equal(a, c);
    drill_scratch_name("shop", UID, 1700000000000, b);
    assert_string_equal(a, b);
    assert_int_equal(strlen(longest), CLUSTER_NAME_MAX);
    drill_scratch_name(longest, UID, 1700000000000, a);
    assert_int_equal(strlen(a), CLUSTER_NAME_MAX);
    assert_int_equal(cluster_name_check(a, &problems), 0);
}

static json_t *json_of(const char *text)
{
    _cleanup_(freep) char *copy = xstrdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *ret = json_parse(copy, strlen(copy), NULL);
    assert_non_null(ret);
    return ret;
}

static void test_the_scratch_cluster(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *spec = json_of(
        "{'config': {'name': 'm'}, 'replicas': 3, 'storage': {'resources': {'requests': {'storage': '1Gi'}}},"
        "'mycnf': {'event-scheduler': 'ON', 'max_connections': 7}, 'paused': true, 'database': 'd', 'terminal': {},"
        "'services': {'primary': {'type': 'LoadBalancer'}}, 'backup': {'schedule': '@daily', 'binlogs': {'enabled': true}},"
        "'passwordSecret': {'name': 'p'}, 'restoreFrom': {'latest': true}, 'deletion': {'finalBackup': true},"
        "'podTemplate': {'metadata': {'labels': {'app': 'shop'}, 'annotations': {'a': 'b'}}, 'spec': {'nodeName': 'n'}}}");
    _cleanup_(json_decrefp) json_t *wanted =
        json_of("{'config': {'name': 'm'}, 'replicas': 1, 'storage': {'resources': {'requests': {'storage': '1Gi'}}},"
                "'mycnf': {'event_scheduler': 'OFF', 'max_connections': 7}, 'restoreFrom': {'backup': {'name': 'b1'},"
                "'pointInTime': 'latest'}, 'deletion': {'volumes': 'Delete'},"
                "'podTemplate': {'metadata': {'annotations': {'a': 'b'}}, 'spec': {'nodeName': 'n'}}}");
    struct drill_summary summary = {.cluster = "shop-drill-1", .backup = "b1", .replays = true};
    _cleanup_(json_decrefp) json_t *object = drill_scratch_object("ns1", "shop", UID, spec, &summary);
    _cleanup_(freep) char *got = json_text(json_object_get(object, "spec"));
    if (!json_equal(json_object_get(object, "spec"), wanted))
        fail_msg("%s", got);
    assert_string_equal(json_path_str(object, "metadata.name", ""), "shop-drill-1");
    assert_string_equal(json_path_str(object, "metadata.ownerReferences[0].uid", ""), UID);
    assert_true(json_path_bool(object, "metadata.ownerReferences[0].controller", false));
    assert_string_equal(json_string_value(json_object_get(json_path(object, "metadata.labels"), LABEL_DRILL)), "shop");
    assert_null(json_object_get(json_path(object, "metadata.labels"), LABEL_CLUSTER));
    /* What was given stays as it was. */
    assert_string_equal(json_path_str(spec, "podTemplate.metadata.labels.app", ""), "shop");
}

static void test_volumes_of_its_own(void **state)
{
    static const struct {
        const char *spec;
        bool fits;
    } cases[] = {
        {"{'storage': {'resources': {'requests': {'storage': '1Gi'}}}}", true},
        {"{'storage': {'volumeSource': {'emptyDir': {}}}}", true},
        {"{'storage': {'volumeSource': {'ephemeral': {}}}}", true},
        {"{'storage': {'volumeSource': {'hostPath': {'path': '/data'}}}}", false},
        {"{'storage': {'volumeSource': {'persistentVolumeClaim': {'claimName': 'data'}}}}", false},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(json_decrefp) json_t *spec = json_of(cases[i].spec);
        assert_int_equal(drill_scratch_problem(spec) == NULL, cases[i].fits);
    }
}

static void test_the_status_comes_back(void **state)
{
    struct drill_summary back,
        summary = {.schedule = "0 4 * * * UTC",
            .scheduled_ms = 1700000000000,
            .next_ms = 1700000001000,
            .problem = "p",
            .phase = DRILL_PHASE_CHECKING,
            .cluster = "shop-drill-1",
            .start_ms = 1700000002000,
            .until_ms = 1700000003000,
            .replays = true,
            .backup = "b",
            .backup_uid = "u",
            .reason = "Verified",
            .message = "m",
            .ended_ms = 1700000004000,
            .failures = 3,
            .last_failure_ms = 1700000005000,
            .verified_ms = 1700000006000,
            .verified_backup = "v",
            .verified_gtid = "0-1-2",
            .verified_until_ms = 1700000007000,
            .verified_seconds = 8,
            .verified_tables = 9};
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *status = drill_summary_patch(&summary);
    assert_string_equal(json_path_str(status, "backup.lastVerifiedRestore", ""), "2023-11-14T22:13:26Z");
    assert_string_equal(json_path_str(status, "backup.drill.phase", ""), "Checking");
    drill_summary_decode(status, &back);
    assert_memory_equal(&back, &summary, sizeof(back));
    drill_summary_decode(NULL, &back);
    assert_int_equal(back.phase, DRILL_PHASE_NONE);
    _cleanup_(json_decrefp) json_t *none = drill_summary_patch(&back);
    assert_true(json_is_null(json_path(none, "backup.drill")));
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_goes_well),
        cmocka_unit_test(test_restores_that_fail),
        CASE(test_what_may_pass_is_waited_for),
        CASE(test_damage_is_found),
        CASE(test_a_check_of_another_task_says_nothing),
        CASE(test_lost_while_it_is_checked),
        cmocka_unit_test(test_the_archive_is_tried_where_it_claims),
        CASE(test_waits),
        CASE(test_a_new_schedule_begins_now),
        CASE(test_switched_off),
        CASE(test_the_cluster_goes),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_the_scratch_cluster),
        cmocka_unit_test(test_volumes_of_its_own),
        cmocka_unit_test(test_the_status_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
