/* SPDX-License-Identifier: Apache-2.0 */
/* Zones of the system's files, against what the C library makes of them; files that are damaged; names. */
#include "common/base.h"

#include "operator/api/time_zone.h"

#include <setjmp.h>
#include <time.h>
#include <cmocka.h>

#include "common/clock.h"
#include "common/fs.h"

#define FOLDER "/usr/share/zoneinfo/"

static void read_zone_file(const char *name, struct strbuf *out)
{
    struct error err = ERROR_INIT;
    char path[128];
    strbuf_init(out, TIME_ZONE_FILE_MAX);
    snprintf(path, sizeof(path), FOLDER "%s", name);
    if (fs_read_file(path, out, &err) < 0)
        fail_msg("%s", err.message);
}

static void load(const char *name, struct time_zone *ret)
{
    struct error err = ERROR_INIT;
    _cleanup_(strbuf_release) struct strbuf file;
    read_zone_file(name, &file);
    if (time_zone_parse(file.buf, file.len, ret, &err) < 0)
        fail_msg("%s: %s", name, err.message);
}

static int64_t at(const char *text)
{
    int64_t ms;
    assert_int_equal(clock_parse_rfc3339(text, &ms), 0);
    return ms / 1000;
}

/* Kinds of zones: north, south, whole-day daylight saving, negative daylight saving, half an hour, odd offsets, rules
 * that follow the moon, none. */
static const char *const zones[] = {"Europe/Berlin", "Europe/Dublin", "America/New_York", "America/St_Johns",
    "America/Sao_Paulo", "America/Nuuk", "Australia/Lord_Howe", "Australia/Sydney", "Asia/Kolkata", "Asia/Kathmandu",
    "Asia/Gaza", "Africa/Casablanca", "Africa/Cairo", "Pacific/Apia", "Pacific/Kiritimati", "Pacific/Chatham",
    "America/Argentina/ComodRivadavia", "Antarctica/Troll", "Etc/GMT-14", "Etc/GMT+12", "GMT+0", "UTC", "EST5EDT"};

static void compare(const char *name, const struct time_zone *zone, int64_t utc_s)
{
    struct time_zone_span span;
    time_t t = (time_t)utc_s;
    struct tm tm;
    assert_non_null(localtime_r(&t, &tm));
    time_zone_span_at(zone, utc_s, &span);
    if (span.offset_s != tm.tm_gmtoff)
        fail_msg("%s at %lld: offset %d, not %ld", name, (long long)utc_s, span.offset_s, tm.tm_gmtoff);
    if (span.start_s > utc_s || span.end_s <= utc_s)
        fail_msg("%s: %lld lies outside of its span", name, (long long)utc_s);
}

/* Both sides of each change from 1975 to 2150, and some time between. */
static void test_as_the_c_library(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        struct time_zone zone;
        struct time_zone_span span, earlier;
        setenv("TZ", zones[i], 1);
        tzset();
        load(zones[i], &zone);
        int changes = 0;
        for (int64_t t = at("1975-01-01T00:00:00Z"), end = at("2150-01-01T00:00:00Z"); t < end;) {
            time_zone_span_at(&zone, t, &span);
            compare(zones[i], &zone, t);
            int64_t step = MIN_OF(span.end_s - t, 40LL * 86400);
            compare(zones[i], &zone, t + step - 1);
            t += step;
            if (t != span.end_s)
                continue;
            time_zone_span_at(&zone, t, &earlier);
            assert_true(earlier.start_s == t && earlier.before_s == span.offset_s);
            changes++;
        }
        if (strstr("Europe/Berlin America/New_York Australia/Sydney", zones[i]))
            assert_true(changes > 300);
        time_zone_release(&zone);
    }
    unsetenv("TZ");
    tzset();
}

static void test_known_days(void **state)
{
    UNUSED(state);
    static const struct {
        const char *zone, *at;
        int32_t before_s, offset_s;
    } cases[] = {
        {"Europe/Berlin", "2026-03-29T01:00:00Z", 3600, 7200},
        {"Europe/Berlin", "2026-10-25T01:00:00Z", 7200, 3600},
        {"Europe/Berlin", "2099-03-29T01:00:00Z", 3600, 7200},
        {"America/New_York", "2026-03-08T07:00:00Z", -18000, -14400},
        {"Australia/Lord_Howe", "2026-04-04T15:00:00Z", 39600, 37800},
        {"Pacific/Apia", "2011-12-30T10:00:00Z", -36000, 50400},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct time_zone zone;
        struct time_zone_span span;
        load(cases[i].zone, &zone);
        time_zone_span_at(&zone, at(cases[i].at), &span);
        assert_true(span.start_s == at(cases[i].at));
        assert_int_equal(span.before_s, cases[i].before_s);
        assert_int_equal(span.offset_s, cases[i].offset_s);
        time_zone_release(&zone);
    }
}

static void test_utc(void **state)
{
    UNUSED(state);
    struct time_zone zone;
    struct time_zone_span span;
    time_zone_utc(&zone);
    time_zone_span_at(&zone, 1700000000, &span);
    assert_true(span.start_s == INT64_MIN && span.end_s == INT64_MAX && span.offset_s == 0 && span.before_s == 0);
    time_zone_release(&zone);
}

/* ---- rules, in a file of no table ---- */

static int parse_rule(const char *rule, struct time_zone *ret, struct error *err)
{
    static const unsigned char header[44] = {'T', 'Z', 'i', 'f', '2', [39] = 1, [43] = 1};
    static const unsigned char kind[7] = {0};
    _cleanup_(strbuf_release) struct strbuf file;
    strbuf_init(&file, 4096);
    for (int i = 0; i < 2; i++) {
        strbuf_add(&file, header, sizeof(header));
        strbuf_add(&file, kind, sizeof(kind));
    }
    strbuf_addf(&file, "\n%s\n", rule);
    return time_zone_parse(file.buf, file.len, ret, err);
}

static void test_rules(void **state)
{
    UNUSED(state);
    static const struct {
        const char *rule, *at;
        int32_t offset_s;
    } cases[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2030-07-01T00:00:00Z", 7200}, {"<-03>3", "2030-07-01T00:00:00Z", -10800},
        {"<+0545>-5:45", "2030-07-01T00:00:00Z", 20700}, {"AAA-1:02:03", "2030-07-01T00:00:00Z", 3723},
        {"XXX3EDT4,0/0,J365/23", "2030-01-01T00:00:00Z", -14400}, /* RFC 8536: all year */
        {"XXX3EDT4,0/0,J365/23", "2030-12-31T23:59:59Z", -14400},
        {"XXX3EDT4,0/0,J365/23", "2030-07-01T00:00:00Z", -14400},
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2030-03-30T00:59:59Z", -7200}, /* the Saturday before, at 23:00 */
        {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2030-03-31T01:00:00Z", -3600},
        {"IST-2IDT,M3.4.4/26,M10.5.0", "2030-03-28T23:59:59Z", 7200}, /* the Friday after the fourth Thursday, at 2 */
        {"IST-2IDT,M3.4.4/26,M10.5.0", "2030-03-29T00:00:00Z", 10800},
        {"AAA0BBB,J60,J61", "2028-03-01T02:00:00Z", 3600}, /* day 60 is 1 March in every year */
        {"AAA0BBB,J60,J61", "2027-03-01T02:00:00Z", 3600}, {"AAA0BBB,59,60", "2028-02-29T02:00:00Z", 3600},
        {"AAA0BBB,59,60", "2027-03-01T02:00:00Z", 3600},
        {"AAA0BBB,J1/0,J365/167", "2030-01-03T00:00:00Z", 3600}, /* the end of one year lies in the next */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = ERROR_INIT;
        struct time_zone zone;
        struct time_zone_span span;
        if (parse_rule(cases[i].rule, &zone, &err) < 0)
            fail_msg("%s: %s", cases[i].rule, err.message);
        time_zone_span_at(&zone, at(cases[i].at), &span);
        if (span.offset_s != cases[i].offset_s)
            fail_msg("%s at %s: %d", cases[i].rule, cases[i].at, span.offset_s);
        time_zone_release(&zone);
    }
}

static void test_bad_rules(void **state)
{
    UNUSED(state);
    static const char *const rules[] = {"CET", "C-1", "CET-25", "CET-1CEST", "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J1",
        "CET-1CEST,366,1", "CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0x", "<CET-1", "CET-1:60"};
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct error err = ERROR_INIT;
        struct time_zone zone;
        if (parse_rule(rules[i], &zone, &err) == 0)
            fail_msg("%s was accepted", rules[i]);
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

/* ---- damage ---- */

/* No cut leaves a zone, and nothing is read behind the end (sanitizers). */
static void test_truncated(void **state)
{
    UNUSED(state);
    _cleanup_(strbuf_release) struct strbuf file;
    read_zone_file("Europe/Berlin", &file);
    for (size_t len = 0; len < file.len; len++) {
        struct error err = ERROR_INIT;
        struct time_zone zone;
        char *copy = malloc(len + 1);
        memcpy(copy, file.buf, len);
        if (time_zone_parse(copy, len, &zone, &err) == 0)
            fail_msg("accepted with %zu of %zu bytes", len, file.len);
        free(copy);
    }
}

static void expect_refused(const struct strbuf *file, const char *message)
{
    struct error err = ERROR_INIT;
    struct time_zone zone;
    assert_int_equal(time_zone_parse(file->buf, file->len, &zone, &err), -1);
    assert_string_equal(err.message, message);
}

static void test_damaged(void **state)
{
    UNUSED(state);
    _cleanup_(strbuf_release) struct strbuf file;
    read_zone_file("Etc/UTC", &file);
    assert_true(file.len > 44);
    char *second = memmem(file.buf + 4, file.len - 4, "TZif", 4);
    assert_non_null(second);
    second[0] = 'X';
    expect_refused(&file, "is not a time zone file (TZif)");
    second[0] = 'T';
    file.buf[4] = '\0';
    expect_refused(&file, "is a time zone file of version 1; at least 2 is needed");
    file.buf[4] = '2';
    second[32] = 1;
    expect_refused(&file, "has numbers that no time zone file has");
    second[32] = 0;
    second[31] = 1;
    expect_refused(&file, "counts leap seconds");
    second[31] = 0;
    second[44] = 1;
    expect_refused(&file, "has an offset of more than a day");
    second[44] = 0;
    strbuf_addc(&file, 'x'); /* behind the rule anything may follow in later versions */
    struct time_zone zone;
    assert_int_equal(time_zone_parse(file.buf, file.len, &zone, NULL), 0);
    time_zone_release(&zone);
}

static void test_names(void **state)
{
    UNUSED(state);
    static const char *const bad[] = {"", "/", "europe/berlin", "Europe/", "Europe//Berlin", "/Europe/Berlin",
        "Europe/../x", "..", "A/.hidden", "localtime", "right/Europe/Berlin", "Europe/Berlin ", "Europe/-x", "A.B", "Ä",
        "A\nB", "Aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (!time_zone_name_check(bad[i]))
            fail_msg("\"%s\" was accepted", bad[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(zones); i++)
        assert_null(time_zone_name_check(zones[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_c_library),
        cmocka_unit_test(test_known_days),
        cmocka_unit_test(test_utc),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
