/* SPDX-License-Identifier: Apache-2.0 */
/* spec.backup: what is read, what is refused, with the path of the field; what a run takes of it; its part of the
 * status. */
#include "common/base.h"

#include "operator/api/backup_spec.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"

static json_t *parse_json(const char *text)
{
    _cleanup_(freep) char *copy = xstrdup(text);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *json = json_parse(copy, strlen(copy), NULL);
    assert_non_null(json);
    return json;
}

#define VOLUME "'destination': {'persistentVolumeClaim': {'claimName': 'b'}}"

static void test_read(void **state)
{
    UNUSED(state);
    struct api_problems problems = {0};
    struct backup_spec spec;
    _cleanup_(json_decrefp) json_t *backup = parse_json(
        "{'schedule': '30 2 * * mon', 'timeZone': 'Europe/Berlin', " VOLUME ", 'keep': {'last': 3, 'days': 14},"
        "'encryption': {'keySecret': {'name': 'k'}}, 'suspend': true, 'deadlineSeconds': 60}");
    assert_int_equal(backup_spec_parse(backup, &spec, &problems), 0);
    assert_string_equal(spec.schedule, "30 2 * * mon");
    assert_string_equal(spec.time_zone, "Europe/Berlin");
    assert_true(spec.cron.minutes == UINT64_C(1) << 30 && spec.suspend);
    assert_int_equal(spec.destination.kind, BACKUP_DESTINATION_VOLUME);
    assert_string_equal(spec.encryption.secret, "k");
    assert_false(spec.archives);
    assert_true(spec.keep.present && spec.keep.last == 3 && spec.keep.days == 14 && spec.keep.daily == 0);
}

static void test_binlogs(void **state)
{
    UNUSED(state);
    struct api_problems problems = {0};
    struct backup_spec spec;
    _cleanup_(json_decrefp) json_t *plain = parse_json("{" VOLUME ", 'binlogs': {'enabled': true}}");
    _cleanup_(json_decrefp) json_t *other =
        parse_json("{" VOLUME ", 'compression': 'none', 'binlogs': {'enabled': true, 'intervalSeconds': 5}}");
    assert_int_equal(backup_spec_parse(plain, &spec, &problems), 0);
    assert_true(spec.archives && spec.archive_interval_s == 60 && spec.compression == BACKUP_COMPRESSION_ZSTD);
    assert_int_equal(backup_spec_parse(other, &spec, &problems), 0);
    assert_true(spec.archives && spec.archive_interval_s == 5 && spec.compression == BACKUP_COMPRESSION_NONE);
}

static void test_nothing(void **state)
{
    UNUSED(state);
    struct api_problems problems = {0};
    struct backup_spec spec;
    _cleanup_(json_decrefp) json_t *empty = json_object();
    assert_int_equal(backup_spec_parse(NULL, &spec, &problems), 0);
    assert_true(!spec.schedule && !spec.keep.present && !spec.document);
    assert_int_equal(backup_spec_parse(empty, &spec, &problems), 0);
    assert_true(!spec.schedule && str_eq(spec.time_zone, "UTC"));
}

static void test_problems(void **state)
{
    UNUSED(state);
    static const struct {
        const char *backup, *text;
    } cases[] = {
        {"{'schedule': '0 24 * * *', " VOLUME "}", "spec.backup.schedule: hour: 24 is not within 0 and 23"},
        {"{'schedule': '0 3 * *', " VOLUME "}",
            "spec.backup.schedule: must have five fields (minute, hour, day of month, month, day of week), not 4"},
        {"{'schedule': '@daily'}", "spec.backup.destination: is required by schedule"},
        {"{'schedule': 5, " VOLUME "}", "spec.backup.schedule: must be a string, not a number"},
        {"{'timeZone': '../etc'}", "spec.backup.timeZone: must be a time zone of the IANA's like Europe/Berlin or UTC"},
        {"{'keep': {}}", "spec.backup.keep: needs last, daily, weekly or days"},
        {"{'keep': {'last': 0}}", "spec.backup.keep.last: must be between 1 and 10000, not 0"},
        {"{'keep': {'monthly': 1}}", "spec.backup.keep.monthly: is not a known field"},
        {"{'method': 'quick'}", "spec.backup.method: must be one of physical, logical, not \"quick\""},
        {"{'destination': {}}", "spec.backup.destination: needs either s3 or persistentVolumeClaim"},
        {"{'deadlineSeconds': 1}", "spec.backup.deadlineSeconds: must be between 10 and 2592000, not 1"},
        {"{'rateLimitBytesPerSecond': 65535}",
            "spec.backup.rateLimitBytesPerSecond: must be between 65536 and 1099511627776, not 65535"},
        {"[]", "spec.backup: must be an object, not an array"},
        {"{'binlogs': {'enabled': true}}", "spec.backup.destination: is required by binlogs.enabled"},
        {"{'binlogs': {'intervalSeconds': 0}}",
            "spec.backup.binlogs.intervalSeconds: must be between 1 and 3600, not 0"},
        {"{'binlogs': {'intervalSeconds': 3601}}",
            "spec.backup.binlogs.intervalSeconds: must be between 1 and 3600, not 3601"},
        {"{'binlogs': {'enabled': 'yes'}}", "spec.backup.binlogs.enabled: must be a boolean, not a string"},
        {"{'drill': {'schedule': '0 24 * * *'}, " VOLUME "}",
            "spec.backup.drill.schedule: hour: 24 is not within 0 and 23"},
        {"{'drill': {'schedule': '@weekly'}}", "spec.backup.destination: is required by drill"},
        {"{'drill': {}, " VOLUME "}", "spec.backup.drill.schedule: is required"},
        {"{'drill': {'schedule': '@weekly', 'deadlineSeconds': 59}, " VOLUME "}",
            "spec.backup.drill.deadlineSeconds: must be between 60 and 604800, not 59"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct api_problems problems = {0};
        struct backup_spec spec;
        struct strbuf text;
        strbuf_init(&text, 4096);
        json_t *backup = parse_json(cases[i].backup);
        assert_int_equal(backup_spec_parse(backup, &spec, &problems), -1);
        assert_null(spec.schedule);
        api_problems_text(&problems, &text);
        assert_string_equal(text.buf, cases[i].text);
        strbuf_release(&text);
        json_decref(backup);
    }
}

static void test_drill(void **state)
{
    UNUSED(state);
    struct api_problems problems = {0};
    struct backup_spec spec;
    _cleanup_(json_decrefp) json_t *backup = parse_json("{'drill': {'schedule': '0 5 * * 0'}, " VOLUME "}");
    _cleanup_(json_decrefp) json_t *short_one =
        parse_json("{'drill': {'schedule': '@daily', 'deadlineSeconds': 60}, " VOLUME "}");
    _cleanup_(json_decrefp) json_t *none = parse_json("{'schedule': '@daily', " VOLUME "}");
    assert_int_equal(backup_spec_parse(backup, &spec, &problems), 0);
    assert_string_equal(spec.drill_schedule, "0 5 * * 0");
    assert_int_equal(spec.drill_cron.weekdays, 1);
    assert_int_equal(spec.drill_deadline_s, 21600);
    assert_null(spec.schedule);
    assert_int_equal(backup_spec_parse(short_one, &spec, &problems), 0);
    assert_int_equal(spec.drill_deadline_s, 60);
    assert_int_equal(backup_spec_parse(none, &spec, &problems), 0);
    assert_true(!spec.drill_schedule && spec.drill_deadline_s == 21600);
}

/* Complete in itself: it may run when the cluster's spec has changed, or is gone. */
static void test_run(void **state)
{
    UNUSED(state);
    struct api_problems problems = {0};
    struct backup_spec spec;
    _cleanup_(json_decrefp) json_t *backup =
        parse_json("{'schedule': '@daily', 'method': 'logical', " VOLUME
                   ", 'keep': {'last': 3}, 'deadlineSeconds': 60, 'rateLimitBytesPerSecond': 70000}");
    _cleanup_(json_decrefp) json_t *wanted =
        parse_json("{'cluster': 'shop', 'method': 'logical', " VOLUME
                   ", 'deadlineSeconds': 60, 'deletionPolicy': 'Delete', 'rateLimitBytesPerSecond': 70000}");
    assert_int_equal(backup_spec_parse(backup, &spec, &problems), 0);
    _cleanup_(json_decrefp) json_t *run = backup_spec_of_run(&spec, "shop");
    assert_true(json_equal(run, wanted));
}

static void test_summary(void **state)
{
    UNUSED(state);
    struct backup_summary summary, again;
    _cleanup_(json_decrefp) json_t *status = parse_json(
        "{'lastBackupTime': '2026-11-21T01:00:00Z', 'backup': {'schedule': '@daily UTC', 'lastScheduleTime':"
        "'2026-11-21T00:00:00Z', 'nextBackupTime': '2026-11-22T00:00:00Z', 'lastBackup': 'b',"
        "'lastBackupTime': '2026-11-21T01:00:00Z', 'lastFailure': 'c: no', 'lastFailureTime': '2026-11-20T01:00:00Z',"
        "'problem': null, 'suspended': true}}");
    backup_summary_decode(status, &summary);
    _cleanup_(json_decrefp) json_t *patch = backup_summary_patch(&summary);
    assert_true(json_equal(patch, status));
    backup_summary_decode(patch, &again);
    assert_true(backup_summary_same(&summary, &again));
    again.next_ms += 1000;
    assert_false(backup_summary_same(&summary, &again));
    backup_summary_decode(NULL, &summary);
    assert_true(!*summary.schedule && summary.scheduled_ms == 0 && !*summary.problem && !summary.suspended);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_binlogs),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_drill),
        cmocka_unit_test(test_run),
        cmocka_unit_test(test_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
