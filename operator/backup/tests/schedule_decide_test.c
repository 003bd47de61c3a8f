/* SPDX-License-Identifier: Apache-2.0 */
/* What a schedule asks for at one moment: names, times that count, clocks that jump. */
#include "common/base.h"

#include "operator/backup/schedule_decide.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/json.h"

static int64_t at(const char *text)
{
    int64_t ms;
    assert_int_equal(clock_parse_rfc3339(text, &ms), 0);
    return ms;
}

static void test_names(void **state)
{
    UNUSED(state);
    static const struct {
        const char *cluster, *due, *name;
    } cases[] = {
        {"shop", "2026-11-21T03:04:00Z", "shop-202611210304"},
        {"shop", "2026-01-02T00:00:00Z", "shop-202601020000"},
        {"a", "2026-12-31T23:59:59Z", "a-202612312359"},
        {"a123456789b123456789c123456789d123456789e12345", "2026-12-31T23:59:00Z",
            "a123456789b123456789c123456789d123456789e12345-202612312359"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char name[SCHEDULE_NAME_SIZE];
        schedule_run_name(cases[i].cluster, at(cases[i].due), name);
        assert_string_equal(name, cases[i].name);
    }
}

struct moment {
    const char *schedule; /* of the spec; NULL: none */
    const char *now;
    const char *in_force, *scheduled; /* of the status; NULL: none */
    const char *running, *problem;
    bool waits, suspend;
    const char *create, *skip;              /* wanted: names; NULL: no */
    const char *scheduled_then, *next_then; /* wanted; NULL: none */
};

static const struct moment moments[] = {
    /* New, changed, taken away. */
    {"0 3 * * *", "2026-11-21T12:00:00.5Z", NULL, NULL, NULL, NULL, false, false, NULL, NULL, "2026-11-21T12:00:00Z",
        "2026-11-22T03:00:00Z"},
    {"0 11 * * *", "2026-11-21T12:00:00Z", "0 3 * * * UTC", "2026-11-21T03:00:00Z", NULL, NULL, false, false, NULL,
        NULL, "2026-11-21T12:00:00Z", "2026-11-22T11:00:00Z"},
    {NULL, "2026-11-21T12:00:00Z", "0 3 * * * UTC", "2026-11-21T03:00:00Z", NULL, NULL, false, false, NULL, NULL, NULL,
        NULL},
    {"0 3 * * *", "2026-11-22T12:00:00Z", "0 3 * * * UTC", "2026-11-21T03:00:00Z", NULL, NULL, false, true, NULL, NULL,
        NULL, NULL},
    /* Due. */
    {"0 3 * * *", "2026-11-22T02:59:59.999Z", "0 3 * * * UTC", "2026-11-21T03:00:00Z", NULL, NULL, false, false, NULL,
        NULL, "2026-11-21T03:00:00Z", "2026-11-22T03:00:00Z"},
    {"0 3 * * *", "2026-11-22T03:00:00Z", "0 3 * * * UTC", "2026-11-21T03:00:00Z", NULL, NULL, false, false,
        "shop-202611220300", NULL, "2026-11-22T03:00:00Z", "2026-11-23T03:00:00Z"},
    {"0 3 * * *", "2026-12-22T12:00:00Z", "0 3 * * * UTC", "2026-11-21T03:00:00Z", NULL, NULL, false, false,
        "shop-202612220300", NULL, "2026-12-22T03:00:00Z", "2026-12-23T03:00:00Z"},
    {"0 3 * * *", "2026-11-22T03:00:00Z", "0 3 * * * UTC", "2026-11-21T03:00:00Z", "shop-202611210300", NULL, false,
        false, NULL, "shop-202611220300", "2026-11-22T03:00:00Z", "2026-11-23T03:00:00Z"},
    /* Made, but the status was not written. */
    {"0 3 * * *", "2026-11-22T03:00:00Z", "0 3 * * * UTC", "2026-11-21T03:00:00Z", "shop-202611220300", NULL, false,
        false, NULL, NULL, "2026-11-22T03:00:00Z", "2026-11-23T03:00:00Z"},
    /* Waits, and does not forget. */
    {"0 3 * * *", "2026-11-22T03:00:00Z", "0 3 * * * UTC", "2026-11-21T03:00:00Z", NULL, NULL, true, false, NULL, NULL,
        "2026-11-21T03:00:00Z", NULL},
    {"0 3 * * *", "2026-11-22T03:00:00Z", "0 3 * * * UTC", "2026-11-21T03:00:00Z", NULL, "it is wrong", false, false,
        NULL, NULL, "2026-11-21T03:00:00Z", NULL},
    /* The clock was ahead once. */
    {"0 3 * * *", "2026-11-22T12:00:00Z", "0 3 * * * UTC", "2031-01-01T03:00:00Z", NULL, NULL, false, false, NULL, NULL,
        "2026-11-22T12:00:00Z", "2026-11-23T03:00:00Z"},
};

static void expect_time(size_t i, const char *what, int64_t got_ms, const char *wanted)
{
    if (got_ms != (wanted ? at(wanted) : 0))
        fail_msg("moment %zu: %s is %lld", i, what, (long long)got_ms);
}

static void test_moments(void **state)
{
    UNUSED(state);
    struct time_zone zone;
    time_zone_utc(&zone);
    for (size_t i = 0; i < ARRAY_LEN(moments); i++) {
        const struct moment *moment = &moments[i];
        struct backup_spec spec = {.schedule = moment->schedule, .time_zone = "UTC", .suspend = moment->suspend};
        struct schedule_decision decision;
        struct schedule_view view = {.cluster = "shop",
            .spec = &spec,
            .zone = &zone,
            .problem = moment->problem,
            .waits = moment->waits,
            .running = moment->running,
            .now_ms = at(moment->now)};
        if (moment->schedule)
            assert_int_equal(cron_parse(moment->schedule, &spec.cron, NULL), 0);
        snprintf(view.last.schedule, sizeof(view.last.schedule), "%s", str_or_empty(moment->in_force));
        view.last.scheduled_ms = moment->scheduled ? at(moment->scheduled) : 0;
        schedule_decide(&view, &decision);
        if (decision.create != (moment->create != NULL) || decision.skip != (moment->skip != NULL))
            fail_msg("moment %zu: create %d, skip %d", i, decision.create, decision.skip);
        if (decision.create || decision.skip)
            assert_string_equal(decision.name, decision.create ? moment->create : moment->skip);
        expect_time(i, "lastScheduleTime", decision.summary.scheduled_ms, moment->scheduled_then);
        expect_time(i, "nextBackupTime", decision.summary.next_ms, moment->next_then);
        assert_string_equal(decision.summary.problem, str_or_empty(moment->problem));
        /* What was decided is settled once it is written. */
        view.last = decision.summary;
        schedule_decide(&view, &decision);
        assert_true(!decision.create && !decision.skip && backup_summary_same(&view.last, &decision.summary));
    }
}

/* It holds up nothing: the next one is left out as ever, and the time after that is told. */
static void test_a_backup_that_is_refused(void **state)
{
    UNUSED(state);
    struct time_zone zone;
    time_zone_utc(&zone);
    struct backup_spec spec = {.schedule = "0 3 * * *", .time_zone = "UTC"};
    struct schedule_decision decision;
    struct schedule_view view = {.cluster = "shop",
        .spec = &spec,
        .zone = &zone,
        .running = "shop-202611210300",
        .refusal = "Pod shop-store-1: exceeded quota",
        .now_ms = at("2026-11-22T03:00:00Z")};
    assert_int_equal(cron_parse(spec.schedule, &spec.cron, NULL), 0);
    snprintf(view.last.schedule, sizeof(view.last.schedule), "0 3 * * * UTC");
    view.last.scheduled_ms = at("2026-11-21T03:00:00Z");
    schedule_decide(&view, &decision);
    assert_string_equal(
        decision.summary.problem, "PodRefused: MysqlBackup shop-202611210300: Pod shop-store-1: exceeded quota");
    assert_true(decision.skip);
    assert_int_equal(decision.summary.next_ms, at("2026-11-23T03:00:00Z"));
    view.last = decision.summary;
    view.problem = "it is wrong";
    schedule_decide(&view, &decision);
    assert_string_equal(decision.summary.problem, "it is wrong");
    view.problem = view.refusal = NULL;
    schedule_decide(&view, &decision);
    assert_string_equal(decision.summary.problem, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_a_backup_that_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
