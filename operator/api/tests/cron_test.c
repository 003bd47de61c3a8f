/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules: what is read, what is refused, when they run; clocks that change, against a count of every minute. */
#include "common/base.h"

#include "operator/api/cron.h"

#include <setjmp.h>
#include <time.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/fs.h"

#define FOLDER "/usr/share/zoneinfo/"

static struct cron parse(const char *text)
{
    struct error err = ERROR_INIT;
    struct cron cron = {0};
    if (cron_parse(text, &cron, &err) < 0)
        fail_msg("\"%s\": %s", text, err.message);
    return cron;
}

static void load(const char *name, struct time_zone *ret)
{
    struct error err = ERROR_INIT;
    char path[128];
    _cleanup_(strbuf_release) struct strbuf file;
    strbuf_init(&file, TIME_ZONE_FILE_MAX);
    snprintf(path, sizeof(path), FOLDER "%s", name);
    if (fs_read_file(path, &file, &err) < 0 || time_zone_parse(file.buf, file.len, ret, &err) < 0)
        fail_msg("%s: %s", name, err.message);
}

static int64_t at(const char *text)
{
    int64_t ms;
    assert_int_equal(clock_parse_rfc3339(text, &ms), 0);
    return ms / 1000;
}

static void expect_time(const char *what, bool found, int64_t got_s, const char *wanted)
{
    char text[CLOCK_RFC3339_SIZE] = "none";
    if (found)
        clock_format_rfc3339(got_s * 1000, text);
    if (!str_eq(text, wanted))
        fail_msg("%s: %s, not %s", what, text, wanted);
}

/* ---- reading ---- */

static void test_fields(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text, *same;
    } cases[] = {
        {"*/15 8-18/5 1,15,31 jan-MAR Mon-fri", "0,15,30,45 8,13,18 1,15,31 1,2,3 1,2,3,4,5"},
        {"5/20 * * * *", "5,25,45 * * * *"},
        {"0 0 ? * ?", "0 0 * * *"},
        {"5/10 * * * *", "5-59/10 * * * *"},
        {"0 0 * * 7", "0 0 * * 0"},
        {"0 0 * * 5-7", "0 0 * * 0,5,6"},
        {"0 0 * * fri-sun", "0 0 * * 0,5,6"},
        {"0 0 * * sun-mon", "0 0 * * 0,1"},
        {"0 0 * * 0-7", "0 0 * * 0-6"},
        {" \t0  0\t* * *  ", "0 0 * * *"},
        {"@hourly", "0 * * * *"},
        {"@Daily", "0 0 * * *"},
        {"@midnight", "0 0 * * *"},
        {"@weekly", "0 0 * * sun"},
        {"@monthly", "0 0 1 * *"},
        {"@yearly", "0 0 1 1 *"},
        {"@annually", "0 0 1 jan *"},
        {"0 0 29 2 *", "0 0 29 feb *"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cron a = parse(cases[i].text), b = parse(cases[i].same);
        bool same = a.minutes == b.minutes && a.hours == b.hours && a.days == b.days && a.months == b.months &&
            a.weekdays == b.weekdays;
        if (!same)
            fail_msg("\"%s\" is not \"%s\"", cases[i].text, cases[i].same);
    }
}

static void test_refused(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "must have five fields (minute, hour, day of month, month, day of week), not 0"},
        {"* * * *", "must have five fields (minute, hour, day of month, month, day of week), not 4"},
        {"0 0 0 * * *", "day of month: 0 is not within 1 and 31"},
        {"0 0 1 * * *", "must have five fields (minute, hour, day of month, month, day of week), not 6"},
        {"60 * * * *", "minute: 60 is not within 0 and 59"},
        {"0 24 * * *", "hour: 24 is not within 0 and 23"},
        {"0 0 32 * *", "day of month: 32 is not within 1 and 31"},
        {"0 0 * 13 *", "month: 13 is not within 1 and 12"},
        {"0 0 * 0 *", "month: 0 is not within 1 and 12"},
        {"0 0 * * 8", "day of week: 8 is not within 0 and 7"},
        {"0 0 * foo *", "month: \"foo\" is no number, name, range, list or step"},
        {"0 mon * * *", "hour: \"mon\" is no number, range, list or step"},
        {"0 0 * mon *", "month: \"mon\" is no number, name, range, list or step"},
        {"99999 * * * *", "minute: \"99999\" is no number, range, list or step"},
        {"-1 * * * *", "minute: \"-1\" is no number, range, list or step"},
        {"1- * * * *", "minute: \"\" is no number, range, list or step"},
        {"1-2-3 * * * *", "minute: \"1-2-3\" is no number, range, list or step"},
        {"9-5 * * * *", "minute: a range goes up, not from 9 to 5"},
        {"0 0 * * fri-mon", "day of week: a range goes up, not from 5 to 1"},
        {"*/0 * * * *", "minute: a step is between 1 and 59, not 0"},
        {"*/60 * * * *", "minute: a step is between 1 and 59, not 60"},
        {"*/ * * * *", "minute: \"\" is no number, range, list or step"},
        {"*/2/2 * * * *", "minute: \"2/2\" is no number, range, list or step"},
        {"*5 * * * *", "minute: \"*5\" is no number, range, list or step"},
        {"1,,2 * * * *", "minute: an item of the list is empty"},
        {"1, * * * *", "minute: an item of the list is empty"},
        {"\x01 * * * *", "minute: \"?\" is no number, range, list or step"},
        {"0 0 30 2 *", "day of month: none of its months has such a day"},
        {"0 0 31 4,6,9,11 *", "day of month: none of its months has such a day"},
        {"@every 5m", "must be one of @hourly, @daily, @weekly, @monthly, @yearly, or five fields"},
        {"@reboot", "must be one of @hourly, @daily, @weekly, @monthly, @yearly, or five fields"},
        {"CRON_TZ=UTC 0 0 * * *", "holds a variable; the time zone is a field of its own"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = ERROR_INIT;
        struct cron cron;
        if (cron_parse(cases[i].text, &cron, &err) == 0)
            fail_msg("\"%s\" was accepted", cases[i].text);
        assert_int_equal(err.kind, ERROR_INVALID);
        assert_string_equal(err.message, cases[i].message);
    }
}

static void test_too_long(void **state)
{
    UNUSED(state);
    char text[CRON_TEXT_MAX + 2];
    struct cron cron;
    memset(text, ' ', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text, "0 0 * * *", 9);
    assert_int_equal(cron_parse(text, &cron, NULL), -1);
    text[CRON_TEXT_MAX] = '\0';
    assert_int_equal(cron_parse(text, &cron, NULL), 0);
}

/* ---- runs ---- */

static void test_runs(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text, *zone, *at, *previous, *next;
    } cases[] = {
        {"0 3 * * *", "UTC", "2026-11-21T02:59:59Z", "2026-11-20T03:00:00Z", "2026-11-21T03:00:00Z"},
        {"0 3 * * *", "UTC", "2026-11-21T03:00:00Z", "2026-11-21T03:00:00Z", "2026-11-22T03:00:00Z"},
        {"* * * * *", "UTC", "2026-11-21T03:00:30Z", "2026-11-21T03:00:00Z", "2026-11-21T03:01:00Z"},
        {"0 0 1 1 *", "UTC", "2026-11-21T00:00:00Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
        {"0 0 31 * *", "UTC", "2026-11-21T00:00:00Z", "2026-10-31T00:00:00Z", "2026-12-31T00:00:00Z"},
        {"0 0 29 2 *", "UTC", "2026-11-21T00:00:00Z", "2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"},
        {"0 0 29 2 *", "UTC", "2097-01-01T00:00:00Z", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"},
        {"0 0 29 2 *", "Europe/Berlin", "2026-11-21T00:00:00Z", "2024-02-28T23:00:00Z", "2028-02-28T23:00:00Z"},
        /* Vixie: both days restricted: either; one begins with a star: both. */
        {"0 0 13 * 5", "UTC", "2026-11-10T00:00:00Z", "2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z"},
        {"0 0 13 * 5", "UTC", "2026-10-12T00:00:00Z", "2026-10-09T00:00:00Z", "2026-10-13T00:00:00Z"},
        {"0 0 */2 * 5", "UTC", "2026-11-10T00:00:00Z", "2026-10-23T00:00:00Z", "2026-11-13T00:00:00Z"},
        {"0 0 29 2 */7", "UTC", "2026-01-01T00:00:00Z", "2004-02-29T00:00:00Z", "2032-02-29T00:00:00Z"},
        {"0 0 29 2 */7", "UTC", "2073-01-01T00:00:00Z", "2060-02-29T00:00:00Z", "2088-02-29T00:00:00Z"},
        {"0 0 29 2 */7", "UTC", "2090-01-01T00:00:00Z", "2088-02-29T00:00:00Z", "2128-02-29T00:00:00Z"},
        /* A gap, 2:00 to 3:00 on 29 March 2026: its end, once. */
        {"30 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
        {"*/10 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-28T01:50:00Z", "2026-03-29T01:00:00Z"},
        {"*/10 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"},
        {"0 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"},
        {"0 */2 * * *", "Europe/Berlin", "2026-03-28T23:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"},
        {"30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
        {"0 12 30 12 *", "Pacific/Apia", "2011-12-29T22:00:00Z", "2010-12-30T22:00:00Z", "2011-12-30T10:00:00Z"},
        /* An overlap, 2:00 to 3:00 on 25 October 2026: the first time. */
        {"30 2 * * *", "Europe/Berlin", "2026-10-24T23:00:00Z", "2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
        {"30 2 * * *", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
        {"0 3 * * *", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-24T01:00:00Z", "2026-10-25T02:00:00Z"},
        /* Every hour is elapsed time. */
        {"30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
        {"*/20 * * * *", "Australia/Lord_Howe", "2026-04-04T15:10:00Z", "2026-04-04T15:10:00Z", "2026-04-04T15:30:00Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cron cron = parse(cases[i].text);
        struct time_zone zone;
        char what[128];
        load(cases[i].zone, &zone);
        int64_t previous_s = 0, next_s = 0;
        bool has_previous = cron_previous(&cron, &zone, at(cases[i].at), &previous_s);
        bool has_next = cron_next(&cron, &zone, at(cases[i].at), &next_s);
        snprintf(what, sizeof(what), "before %s, \"%s\" %s", cases[i].at, cases[i].text, cases[i].zone);
        expect_time(what, has_previous, previous_s, cases[i].previous);
        memcpy(what, "behind", 6);
        expect_time(what, has_next, next_s, cases[i].next);
        time_zone_release(&zone);
    }
}

static void test_out_of_bounds(void **state)
{
    UNUSED(state);
    struct cron cron = parse("0 0 * * *");
    struct time_zone zone;
    int64_t ignored;
    time_zone_utc(&zone);
    static const int64_t times[] = {INT64_MIN, INT64_MAX, TIME_ZONE_SECONDS_MAX, -TIME_ZONE_SECONDS_MAX};
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        assert_false(cron_next(&cron, &zone, times[i], &ignored));
        assert_false(cron_previous(&cron, &zone, times[i], &ignored));
    }
}

/* ---- every minute of the days around changes, by the C library's clock ---- */

#define DAYS 5
#define MINUTES (DAYS * 1440)

static bool fits(const struct cron *cron, const struct tm *tm)
{
    bool day = cron->days >> tm->tm_mday & 1, weekday = cron->weekdays >> tm->tm_wday & 1;
    return cron->minutes >> tm->tm_min & 1 && cron->hours >> tm->tm_hour & 1 && cron->months >> (tm->tm_mon + 1) & 1 &&
        (cron->any_day || cron->any_weekday ? day && weekday : day || weekday);
}

static struct tm local(int64_t utc_s)
{
    time_t t = (time_t)utc_s;
    struct tm tm;
    localtime_r(&t, &tm);
    return tm;
}

/* What the clock on the wall would show without the change. */
static bool gap_fits(const struct cron *cron, int64_t change_s, int64_t before_s, int64_t offset_s)
{
    for (int64_t wall_s = change_s + before_s; wall_s < change_s + offset_s; wall_s += 60) {
        time_t t = (time_t)wall_s;
        struct tm tm;
        gmtime_r(&t, &tm);
        if (fits(cron, &tm))
            return true;
    }
    return false;
}

static void count_runs(const struct cron *cron, int64_t begin_s, bool runs[static MINUTES])
{
    bool elapsed = cron->hours == (1U << 24) - 1;
    int64_t latest_wall_s = INT64_MIN, before_s = local(begin_s - 60).tm_gmtoff;
    for (int i = 0; i < MINUTES; i++) {
        int64_t utc_s = begin_s + (int64_t)i * 60;
        struct tm tm = local(utc_s);
        int64_t wall_s = utc_s + tm.tm_gmtoff;
        bool again = wall_s <= latest_wall_s;
        runs[i] = fits(cron, &tm) && (elapsed || !again);
        if (!elapsed && tm.tm_gmtoff > before_s && gap_fits(cron, utc_s, before_s, tm.tm_gmtoff))
            runs[i] = true;
        before_s = tm.tm_gmtoff;
        latest_wall_s = MAX_OF(latest_wall_s, wall_s);
    }
}

static void check_runs(const char *what, const struct cron *cron, const struct time_zone *zone, int64_t begin_s)
{
    static bool runs[MINUTES];
    int64_t got_s, last = -1;
    count_runs(cron, begin_s, runs);
    int first = 0;
    while (first < MINUTES && !runs[first])
        first++;
    for (int i = first; i < MINUTES; i++) {
        last = runs[i] ? i : last;
        if (!cron_previous(cron, zone, begin_s + i * 60LL, &got_s) || got_s != begin_s + last * 60)
            fail_msg("%s: before minute %d: %lld", what, i, (long long)(got_s - begin_s) / 60);
    }
    int64_t next = -1;
    for (int i = MINUTES - 1; i > 0; i--) {
        next = runs[i] ? i : next;
        if (next < 0)
            continue;
        if (!cron_next(cron, zone, begin_s + i * 60LL - 60, &got_s) || got_s != begin_s + next * 60)
            fail_msg("%s: behind minute %d: %lld", what, i - 1, (long long)(got_s - begin_s) / 60);
    }
}

static void test_every_minute(void **state)
{
    UNUSED(state);
    static const char *const texts[] = {"* * * * *", "30 * * * *", "0 */2 * * *", "*/7 1-3 * * *", "30 2 * * *",
        "0 0 * * *", "15 0,1,2,3,23 * * sat-sun", "59 23 28-31 * *", "0 3 1-7 * mon", "*/40 1 * * 0"};
    static const struct {
        const char *zone, *begin;
    } days[] = {
        {"Europe/Berlin", "2026-03-27T00:00:00Z"},
        {"Europe/Berlin", "2026-10-23T00:00:00Z"},
        {"America/New_York", "2026-10-30T00:00:00Z"},
        {"America/St_Johns", "2006-10-27T00:00:00Z"}, /* at one minute past midnight */
        {"America/Nuuk", "2026-03-26T00:00:00Z"},
        {"Australia/Lord_Howe", "2026-10-01T00:00:00Z"}, /* by half an hour */
        {"Australia/Lord_Howe", "2026-04-02T00:00:00Z"},
        {"Antarctica/Troll", "2026-03-27T00:00:00Z"}, /* by two hours */
        {"Antarctica/Troll", "2026-10-23T00:00:00Z"},
        {"Pacific/Apia", "2011-12-28T00:00:00Z"}, /* a day that never was */
        {"Africa/Cairo", "2026-04-22T00:00:00Z"}, /* at midnight */
        {"Asia/Kathmandu", "2026-04-22T00:00:00Z"},
    };
    for (size_t i = 0; i < ARRAY_LEN(days); i++) {
        struct time_zone zone;
        setenv("TZ", days[i].zone, 1);
        tzset();
        load(days[i].zone, &zone);
        for (size_t j = 0; j < ARRAY_LEN(texts); j++) {
            struct cron cron = parse(texts[j]);
            char what[128];
            snprintf(what, sizeof(what), "%s %s \"%s\"", days[i].zone, days[i].begin, texts[j]);
            check_runs(what, &cron, &zone, at(days[i].begin));
        }
        time_zone_release(&zone);
    }
    unsetenv("TZ");
    tzset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_out_of_bounds),
        cmocka_unit_test(test_every_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
