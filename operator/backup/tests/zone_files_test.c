/* SPDX-License-Identifier: Apache-2.0 */
/* Zones by name: those that are there, those that are not, names that would leave the folder. */
#include "common/base.h"

#include "operator/backup/zone_files.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/subprocess.h"

static void test_there(void **state)
{
    UNUSED(state);
    static const char *const names[] = {"UTC", "Europe/Berlin", "Etc/GMT-14", "US/Eastern"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct error err = ERROR_INIT;
        struct time_zone zone;
        if (zone_files_load(NULL, names[i], &zone, &err) < 0)
            fail_msg("%s: %s", names[i], err.message);
        time_zone_release(&zone);
    }
}

/* A static program in an empty image still knows UTC. */
static void test_utc_needs_no_file(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    struct time_zone zone;
    assert_int_equal(zone_files_load("/nonexistent", "UTC", &zone, &err), 0);
    assert_int_equal(zone_files_load("/nonexistent", "Europe/Berlin", &zone, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

static void test_refused(void **state)
{
    UNUSED(state);
    static const struct {
        const char *name;
        enum error_kind kind;
        const char *message;
    } cases[] = {
        {"Europe/Berlim", ERROR_NOT_FOUND, "there is no time zone \"Europe/Berlim\""},
        {"Europe", ERROR_NONE, NULL}, /* a folder */
        {"../../../etc/passwd", ERROR_INVALID, "must be a time zone of the IANA's like Europe/Berlin or UTC"},
        {"A/../../x", ERROR_INVALID, "must be a time zone of the IANA's like Europe/Berlin or UTC"},
        {"right/Europe/Berlin", ERROR_INVALID, "must be a time zone of the IANA's like Europe/Berlin or UTC"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = ERROR_INIT;
        struct time_zone zone;
        assert_int_equal(zone_files_load(NULL, cases[i].name, &zone, &err), -1);
        if (cases[i].message) {
            assert_int_equal(err.kind, cases[i].kind);
            assert_string_equal(err.message, cases[i].message);
        }
    }
}

static const char *temporary(void)
{
    const char *folder = getenv("TMPDIR");
    return folder ? folder : "/tmp";
}

static void test_damaged_and_large(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    struct time_zone zone;
    const char *folder = temporary();
    _cleanup_(freep) char *path = xasprintf("%s/Here", folder);
    _cleanup_(freep) char *large = xcalloc(1, TIME_ZONE_FILE_MAX + 1);
    assert_int_equal(fs_write_file_atomic(path, "TZif2", 5, 0600, &err), 0);
    assert_int_equal(zone_files_load(folder, "Here", &zone, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_int_equal(fs_write_file_atomic(path, large, TIME_ZONE_FILE_MAX + 1, 0600, &err), 0);
    assert_int_equal(zone_files_load(folder, "Here", &zone, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

/* images/zoneinfo.sh cuts history off; from then on its files say what the system's say. */
static void test_zones_of_the_image(void **state)
{
    UNUSED(state);
    static const char *const names[] = {"Europe/Berlin", "America/New_York", "America/Nuuk", "Australia/Lord_Howe",
        "Africa/Casablanca", "Africa/Cairo", "Asia/Gaza", "Asia/Kolkata", "Pacific/Apia", "US/Eastern", "Etc/UTC"};
    struct error err = ERROR_INIT;
    int64_t begin_ms, end_ms;
    _cleanup_(freep) char *folder = xasprintf("%s/zones", temporary());
    const char *const argv[] = {"images/zoneinfo.sh", folder, NULL};
    const struct subprocess_options options = {.argv = argv, .timeout_ms = 60000};
    if (subprocess_run(&options, NULL, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    clock_parse_rfc3339("2026-01-02T00:00:00Z", &begin_ms);
    clock_parse_rfc3339("2060-01-01T00:00:00Z", &end_ms);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct time_zone ours, theirs;
        struct time_zone_span a, b;
        assert_int_equal(zone_files_load(folder, names[i], &ours, &err), 0);
        assert_int_equal(zone_files_load(NULL, names[i], &theirs, &err), 0);
        for (int64_t t = begin_ms / 1000; t < end_ms / 1000; t = MIN_OF(a.end_s, b.end_s)) {
            time_zone_span_at(&ours, t, &a);
            time_zone_span_at(&theirs, t, &b);
            if (a.offset_s != b.offset_s)
                fail_msg("%s at %lld: %d, not %d", names[i], (long long)t, a.offset_s, b.offset_s);
        }
        time_zone_release(&ours);
        time_zone_release(&theirs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there),
        cmocka_unit_test(test_utc_needs_no_file),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_damaged_and_large),
        cmocka_unit_test(test_zones_of_the_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
