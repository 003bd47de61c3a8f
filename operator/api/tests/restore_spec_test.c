/* SPDX-License-Identifier: Apache-2.0 */
/* spec.restoreFrom: what is read of the point in time, and what is refused, with the path of the field; what the status
 * keeps of it. */
#include "common/base.h"

#include "operator/api/restore_spec.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "common/tests/document_util.h"
#include "operator/api/restore_status.h"

#define UUID "3E11FA47-71CA-11E1-9E33-C80AA9429562"

static json_t *spec_of(const char *point)
{
    char text[512];
    snprintf(
        text, sizeof(text), "{\"restoreFrom\": {\"backup\": {\"name\": \"nightly\"}%s%s}}", *point ? ", " : "", point);
    json_t *spec = json_parse(text, strlen(text), NULL);
    assert_non_null(spec);
    return spec;
}

static void test_points(void **state)
{
    UNUSED(state);
    static const struct {
        const char *point;
        enum restore_point expected;
        int64_t until_ms;
        const char *until_gtid;
    } rows[] = {
        {"", RESTORE_POINT_NONE, 0, NULL},
        {"\"pointInTime\": \"latest\"", RESTORE_POINT_LATEST, 0, NULL},
        {"\"pointInTime\": \"2026-11-21T12:00:00Z\"", RESTORE_POINT_TIME, 1795262400000, NULL},
        {"\"pointInTime\": \"2026-11-21T13:00:00.250+01:00\"", RESTORE_POINT_TIME, 1795262400250, NULL},
        {"\"gtid\": \"0-1-4711\"", RESTORE_POINT_GTID, 0, "0-1-4711"},
        {"\"gtid\": \"" UUID ":1-5\"", RESTORE_POINT_GTID, 0, UUID ":1-5"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct api_problems problems = {0};
        struct restore_spec restore;
        _cleanup_(json_decrefp) json_t *spec = spec_of(rows[i].point);
        restore_spec_read(spec, &restore);
        assert_int_equal(restore_spec_check(spec, &problems), 0);
        assert_int_equal(restore.point, rows[i].expected);
        assert_int_equal(restore.until_ms, rows[i].until_ms);
        assert_true(str_eq(restore.until_gtid, rows[i].until_gtid) || restore.until_gtid == rows[i].until_gtid);
    }
}

static void test_problems(void **state)
{
    UNUSED(state);
    static const struct {
        const char *point, *path, *said;
    } rows[] = {
        {"\"pointInTime\": \"yesterday\"", "spec.restoreFrom.pointInTime", "must be a time like"},
        {"\"pointInTime\": \"2026-11-21 12:00:00\"", "spec.restoreFrom.pointInTime", "must be a time like"},
        {"\"gtid\": \"4711\"", "spec.restoreFrom.gtid", "must be a GTID"},
        {"\"gtid\": \" \"", "spec.restoreFrom.gtid", "must be a GTID"},
        {"\"gtid\": \"0-1-7\", \"pointInTime\": \"latest\"", "spec.restoreFrom.gtid", "together with pointInTime"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct api_problems problems = {0};
        _cleanup_(json_decrefp) json_t *spec = spec_of(rows[i].point);
        assert_int_equal(restore_spec_check(spec, &problems), -1);
        assert_int_equal(problems.count, 1);
        assert_string_equal(problems.items[0].path, rows[i].path);
        assert_non_null(strstr(problems.items[0].message, rows[i].said));
    }
}

static void assert_text(const struct cluster_restore *restore, const char *expected)
{
    struct strbuf text;
    strbuf_init(&text, 256);
    cluster_restore_point_text(restore, &text);
    assert_string_equal(text.buf, expected);
    strbuf_release(&text);
}

/* An operator that is started anew goes on to the same point. */
static void test_status(void **state)
{
    UNUSED(state);
    struct cluster_restore restore = {.phase = RESTORE_PHASE_RESTORING, .until_ms = 1795262400000}, back;
    snprintf(restore.binlogs, sizeof(restore.binlogs), "ns1/shop/binlogs/u1");
    restore.from = json_build("{s:s}", "gtid", "0-1-4711");
    _cleanup_(json_decrefp) json_t *json = cluster_restore_encode(&restore);
    assert_string_equal(json_path_str(json, "untilTime", ""), "2026-11-21T12:00:00Z");
    cluster_restore_decode(json, &back);
    assert_true(cluster_restore_same(&restore, &back));
    back.until_ms += 1000;
    assert_false(cluster_restore_same(&restore, &back));
    assert_text(&restore, " and of the binary logs archived in ns1/shop/binlogs/u1 until 0-1-4711");
    cluster_restore_release(&back);
    json_object_del(restore.from, "gtid");
    assert_text(&restore, " and of the binary logs archived in ns1/shop/binlogs/u1 until 2026-11-21T12:00:00Z");
    restore.until_ms = 0;
    assert_text(&restore, " and of the binary logs archived in ns1/shop/binlogs/u1, up to their end");
    *restore.binlogs = '\0';
    assert_text(&restore, "");
    cluster_restore_release(&restore);
}

/* The words of the wish stand in the status once, and whole; what is told beside them refers to them. */
static void test_long_gtids(void **state)
{
    UNUSED(state);
    _cleanup_(strbuf_release) struct strbuf gtids;
    struct cluster_restore restore = {.phase = RESTORE_PHASE_RESTORING}, back;
    strbuf_init(&gtids, POSITION_TEXT_MAX);
    document_servers(400, 12, &gtids);
    snprintf(restore.binlogs, sizeof(restore.binlogs), "ns1/shop/binlogs/u1");
    position_tell(restore.gtid, gtids.buf);
    restore.from = json_build("{s:s}", "gtid", gtids.buf);
    _cleanup_(json_decrefp) json_t *json = cluster_restore_encode(&restore);
    assert_string_equal(json_path_str(json, "untilGtid", ""), POSITION_TOO_LONG);
    assert_string_equal(json_path_str(json, "gtid", ""), POSITION_TOO_LONG);
    cluster_restore_decode(json, &back);
    assert_string_equal(cluster_restore_until_gtid(&back), gtids.buf);
    assert_true(cluster_restore_same(&restore, &back));
    struct strbuf text;
    strbuf_init(&text, KM_KIB);
    cluster_restore_point_text(&back, &text);
    assert_int_equal(strcmp(text.buf + text.len - 3, "..."), 0);
    strbuf_release(&text);
    cluster_restore_release(&back);
    cluster_restore_release(&restore);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_points),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_long_gtids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
