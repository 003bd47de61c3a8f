/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks and reports: there and back, and what is wrong is named without being quoted. */
#include "common/base.h"

#include "common/backup_task.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/tests/document_util.h"

static const char full[] =
    "{\"binlogsFolder\":\"shop/db/binlogs/0f2c\",\"cluster\":\"db\",\"clusterUID\":\"0f2c\",\"compression\":\"none\",\"digest\":\"d\",\"folder\":\"shop/db/backups/x-1\","
    "\"id\":\"x-1\",\"key\":\"AQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\",\"method\":\"logical\",\"namespace\":\"shop\","
    "\"rateLimit\":1000,\"store\":{\"accessKey\":\"AK\",\"bucket\":\"b\",\"ca\":\"PEM\",\"connectTo\":\"10.0.0.1:8443\","
    "\"endpoint\":\"https://s3\",\"pathStyle\":true,\"prefix\":\"p/q\",\"region\":\"eu\",\"secretKey\":\"SK\","
    "\"serverName\":\"store\",\"sessionToken\":\"ST\",\"volume\":true},\"untilMs\":77}";

static void test_round_trip(void **state)
{
    struct backup_task task = {0};
    _cleanup_(strbuf_release) struct strbuf text;

    UNUSED(state);
    assert_int_equal(backup_task_decode(full, sizeof(full) - 1, &task, NULL), 0);
    assert_int_equal(task.method, BACKUP_METHOD_LOGICAL);
    assert_int_equal(task.compression, BACKUP_COMPRESSION_NONE);
    assert_true(task.sealed && task.key[2] == 3);
    assert_string_equal(task.store.session_token, "ST");
    assert_true(task.store.is_volume && task.store.path_style);
    assert_int_equal(task.rate_limit, 1000);
    assert_string_equal(task.binlogs_folder, "shop/db/binlogs/0f2c");
    assert_int_equal(task.until_ms, 77);
    strbuf_init(&text, BACKUP_TASK_MAX);
    backup_task_encode(&task, &text);
    assert_string_equal(text.buf, full);
    backup_task_release(&task);
    assert_null(task.store.secret_key);
    assert_int_equal(task.key[2], 0);
}

/* A set of 400 servers, there and back. */
static void test_long_target(void **state)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(full, sizeof(full) - 1, NULL);
    _cleanup_(strbuf_release) struct strbuf gtids, again;
    struct backup_task task;

    UNUSED(state);
    strbuf_init(&gtids, POSITION_TEXT_MAX);
    document_servers(400, 12, &gtids);
    json_object_del(document, "untilMs");
    json_object_set_new(document, "untilGtid", json_string(gtids.buf));
    _cleanup_(freep) char *text = json_text(document);
    assert_int_equal(backup_task_decode(text, strlen(text), &task, NULL), 0);
    assert_string_equal(task.until_gtid, gtids.buf);
    strbuf_init(&again, BACKUP_TASK_MAX);
    backup_task_encode(&task, &again);
    assert_non_null(strstr(again.buf, gtids.buf));
    backup_task_release(&task);
}

static void test_shortest(void **state)
{
    static const char text[] =
        "{\"id\":\"x-1\",\"namespace\":\"n\",\"cluster\":\"c\",\"folder\":\"n/c/backups/x-1\",\"store\":{\"bucket\":\"b\"},\"later\":1}";
    struct backup_task task;

    UNUSED(state);
    assert_int_equal(backup_task_decode(text, sizeof(text) - 1, &task, NULL), 0);
    assert_int_equal(task.method, BACKUP_METHOD_PHYSICAL);
    assert_int_equal(task.compression, BACKUP_COMPRESSION_ZSTD);
    assert_false(task.sealed);
    assert_null(task.store.endpoint);
    assert_null(task.binlogs_folder);
    backup_task_release(&task);
}

/* NULL removes the member; in: NULL, or "store". */
static void assert_refused(const char *in, const char *key, json_t *value, const char *says)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(full, sizeof(full) - 1, NULL);
    json_t *object = in ? json_object_get(document, in) : document;
    struct backup_task task;
    struct error err = ERROR_INIT;

    if (value)
        json_object_set_new(object, key, value);
    else
        json_object_del(object, key);
    _cleanup_(freep) char *text = json_text(document);
    assert_int_equal(backup_task_decode(text, strlen(text), &task, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.message, says));
    assert_null(strstr(err.message, "SK"));
}

static void test_refused(void **state)
{
    struct backup_task task;
    struct error err = ERROR_INIT;

    UNUSED(state);
    assert_refused(NULL, "id", NULL, "id: ");
    assert_refused(NULL, "id", json_string("a/b"), "id: ");
    assert_refused(NULL, "folder", NULL, "folder");
    assert_refused(NULL, "folder", json_string("a/../b"), "folder");
    assert_refused(NULL, "folder", json_string("a//b"), "folder");
    assert_refused(NULL, "folder", json_string("a/b/"), "folder");
    assert_refused(NULL, "binlogsFolder", json_string("../b"), "binlogsFolder");
    assert_refused(NULL, "binlogsFolder", json_string(""), "binlogsFolder");
    assert_refused(NULL, "binlogsFolder", NULL, "untilMs");
    assert_refused(NULL, "untilGtid", json_string("0-1-2"), "only one");
    assert_refused(NULL, "untilGtid", document_long_text((size_t)(65 * KM_KIB)), "untilGtid: longer than 65536 bytes");
    assert_refused(NULL, "namespace", json_string(""), "namespace");
    assert_refused(NULL, "method", json_string("guess"), "method");
    assert_refused(NULL, "compression", json_integer(3), "compression");
    assert_refused(NULL, "key", json_string("c2hvcnQ="), "key: ");
    assert_refused(NULL, "key", json_string("not base64 SK!"), "key: ");
    assert_refused(NULL, "rateLimit", json_integer(-1), "rateLimit");
    assert_refused(NULL, "store", NULL, "store: ");
    assert_refused(NULL, "store", json_string("s3"), "store: ");
    assert_refused("store", "bucket", NULL, "store: bucket");
    assert_refused("store", "secretKey", NULL, "store: accessKey and secretKey");
    assert_refused("store", "connectTo", NULL, "store: a volume");
    assert_refused("store", "pathStyle", json_string("yes"), "pathStyle");
    assert_int_equal(backup_task_decode("[]", 2, &task, &err), -1);
    assert_int_equal(backup_task_decode("{", 1, &task, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
}

static void test_new_keys(void **state)
{
    struct backup_task task = {0};
    struct backup_store fresh = {.access_key = xstrdup("AK2"), .secret_key = xstrdup("SK2")};

    UNUSED(state);
    assert_int_equal(backup_task_decode(full, sizeof(full) - 1, &task, NULL), 0);
    backup_store_take_keys(&task.store, &fresh);
    assert_string_equal(task.store.access_key, "AK2");
    assert_string_equal(task.store.secret_key, "SK2");
    assert_null(task.store.session_token);
    assert_string_equal(task.store.bucket, "b");
    backup_store_release(&fresh);
    backup_task_release(&task);
}

static void test_report(void **state)
{
    struct backup_report report = {.id = "x-1",
        .state = BACKUP_STATE_RUNNING,
        .started_ms = 5,
        .raw_bytes = 100,
        .stored_bytes = 50,
        .gtid = "0-1-2"};
    struct backup_report got;
    struct backup_report none = {0};
    struct backup_report later = report;

    UNUSED(state);
    assert_null(backup_report_encode(&none));
    _cleanup_(json_decrefp) json_t *object = backup_report_encode(&report);
    assert_int_equal(backup_report_decode(object, &got, NULL), 0);
    assert_memory_equal(&got, &report, sizeof(got));
    later.raw_bytes = 200;
    assert_true(backup_report_same(&report, &later));
    assert_true(backup_report_digest(&report) == backup_report_digest(&later));
    backup_report_fail(&later, "ToolFailed", "it broke");
    assert_false(backup_report_same(&report, &later));
    assert_true(backup_report_digest(&report) != backup_report_digest(&later));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_long_target),
        cmocka_unit_test(test_shortest),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_new_keys),
        cmocka_unit_test(test_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
