/* SPDX-License-Identifier: Apache-2.0 */
/* The task and the report of the archive: there and back, limits, and a digest that tells secrets apart without telling
 * them. */
#include "common/base.h"

#include "common/archive_task.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/json.h"

static const char full[] =
    "{\"cluster\":\"db\",\"clusterUID\":\"0f2c\",\"compression\":\"none\",\"folder\":\"shop/db/binlogs/0f2c\","
    "\"intervalSeconds\":5,\"key\":\"AQIDAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\",\"namespace\":\"shop\","
    "\"store\":{\"accessKey\":\"AK\",\"bucket\":\"b\",\"ca\":\"PEM\",\"connectTo\":\"10.0.0.1:8443\","
    "\"endpoint\":\"https://s3\",\"pathStyle\":true,\"prefix\":\"p/q\",\"region\":\"eu\",\"secretKey\":\"SK\","
    "\"serverName\":\"store\",\"sessionToken\":\"ST\",\"volume\":true}}";

static void test_round_trip(void **state)
{
    struct archive_task task = {0};
    _cleanup_(strbuf_release) struct strbuf text;

    UNUSED(state);
    assert_int_equal(archive_task_decode(full, sizeof(full) - 1, &task, NULL), 0);
    assert_int_equal(task.interval_s, 5);
    assert_int_equal(task.compression, BACKUP_COMPRESSION_NONE);
    assert_true(task.sealed && task.key[2] == 3);
    assert_string_equal(task.folder, "shop/db/binlogs/0f2c");
    assert_string_equal(task.store.session_token, "ST");
    strbuf_init(&text, ARCHIVE_TASK_MAX);
    archive_task_encode(&task, &text);
    assert_string_equal(text.buf, full);
    archive_task_release(&task);
    assert_null(task.store.secret_key);
    assert_int_equal(task.key[2], 0);
}

static void test_shortest(void **state)
{
    static const char text[] =
        "{\"namespace\":\"n\",\"cluster\":\"c\",\"clusterUID\":\"u\",\"folder\":\"n/c/binlogs/u\",\"store\":{\"bucket\":\"b\"}}";
    struct archive_task task;

    UNUSED(state);
    assert_int_equal(archive_task_decode(text, sizeof(text) - 1, &task, NULL), 0);
    assert_int_equal(task.interval_s, ARCHIVE_INTERVAL_DEFAULT_S);
    assert_int_equal(task.compression, BACKUP_COMPRESSION_ZSTD);
    assert_false(task.sealed);
    archive_task_release(&task);
}

/* NULL removes the member; in: NULL, or "store". */
static char *changed(const char *in, const char *key, json_t *value)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(full, sizeof(full) - 1, NULL);
    json_t *object = in ? json_object_get(document, in) : document;

    if (value)
        json_object_set_new(object, key, value);
    else
        json_object_del(object, key);
    return json_text(document);
}

static void assert_refused(const char *in, const char *key, json_t *value, const char *says)
{
    _cleanup_(freep) char *text = changed(in, key, value);
    struct archive_task task;
    struct error err = ERROR_INIT;

    assert_int_equal(archive_task_decode(text, strlen(text), &task, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.message, says));
    assert_null(strstr(err.message, "SK"));
}

static void test_refused(void **state)
{
    struct archive_task task;

    UNUSED(state);
    assert_refused(NULL, "folder", NULL, "folder");
    assert_refused(NULL, "folder", json_string("a/../b"), "folder");
    assert_refused(NULL, "folder", json_string("/a"), "folder");
    assert_refused(NULL, "namespace", json_string("a/b"), "namespace");
    assert_refused(NULL, "cluster", NULL, "cluster");
    assert_refused(NULL, "clusterUID", json_string(""), "clusterUID");
    assert_refused(NULL, "clusterUID", json_string("0123456789012345678901234567890123456789012345678901234567890123"),
        "clusterUID");
    assert_refused(NULL, "intervalSeconds", json_integer(0), "intervalSeconds");
    assert_refused(NULL, "intervalSeconds", json_integer(3601), "intervalSeconds");
    assert_refused(NULL, "intervalSeconds", json_string("1m"), "intervalSeconds");
    assert_refused(NULL, "compression", json_string("lzma"), "compression");
    assert_refused(NULL, "key", json_string("c2hvcnQ="), "key: ");
    assert_refused(NULL, "store", NULL, "store: ");
    assert_refused("store", "bucket", NULL, "store: bucket");
    assert_refused("store", "secretKey", NULL, "store: accessKey and secretKey");
    assert_int_equal(archive_task_decode("[]", 2, &task, NULL), -1);
    assert_int_equal(archive_task_decode("{", 1, &task, NULL), -1);
}

static void digest_of(const char *text, char out[static 17])
{
    struct archive_task task;

    assert_int_equal(archive_task_decode(text, strlen(text), &task, NULL), 0);
    archive_task_digest(&task, out);
    archive_task_release(&task);
}

static void test_digest(void **state)
{
    static const struct {
        const char *in, *key, *value;
    } differ[] = {
        {NULL, "folder", "shop/db/binlogs/1"},
        {NULL, "clusterUID", "1"},
        {NULL, "compression", "zstd"},
        {NULL, "key", "AQIDBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
        {NULL, "key", NULL},
        {"store", "secretKey", "SK2"},
        {"store", "sessionToken", NULL},
        {"store", "connectTo", "10.0.0.2:8443"},
    };
    char first[17];
    char other[17];

    UNUSED(state);
    digest_of(full, first);
    assert_int_equal(strlen(first), 16);
    digest_of(full, other);
    assert_string_equal(first, other);
    for (size_t i = 0; i < ARRAY_LEN(differ); i++) {
        json_t *value = differ[i].value ? json_string(differ[i].value) : NULL;
        _cleanup_(freep) char *text = changed(differ[i].in, differ[i].key, value);
        digest_of(text, other);
        assert_string_not_equal(first, other);
    }
}

static void test_digest_at_another_interval(void **state)
{
    _cleanup_(freep) char *text = changed(NULL, "intervalSeconds", json_integer(7));
    struct archive_task task;
    char of_seven[17], out[17];

    UNUSED(state);
    digest_of(text, of_seven);
    assert_int_equal(archive_task_decode(full, strlen(full), &task, NULL), 0);
    archive_task_digest(&task, out);
    assert_string_not_equal(out, of_seven);
    archive_task_digest_at(&task, 7, out);
    assert_string_equal(out, of_seven);
    archive_task_release(&task);
}

static struct archive_report report_of(void)
{
    return (struct archive_report){
        .task = "0123456789abcdef",
        .known = true,
        .epoch = 3,
        .sequence = 9,
        .from_gtid = "0-1-2",
        .from_ms = 5000,
        .until_gtid = "0-1-9",
        .until_ms = 7000,
        .newest_ms = 6000,
        .gap_ms = 4000,
        .segments = 8,
        .stored_bytes = 100,
        .error_reason = "StoreUnavailable",
        .message = "it is away",
    };
}

static void test_report(void **state)
{
    struct archive_report report = report_of();
    struct archive_report later = report;
    struct archive_report none = {0};
    struct archive_report got;

    UNUSED(state);
    assert_null(archive_report_encode(&none));
    _cleanup_(json_decrefp) json_t *object = archive_report_encode(&report);
    assert_int_equal(archive_report_decode(object, &got, NULL), 0);
    assert_memory_equal(&got, &report, sizeof(got));
    later.until_ms++;
    assert_true(archive_report_same(&report, &later));
    assert_true(archive_report_digest(&report) == archive_report_digest(&later));
    later.sequence++;
    assert_false(archive_report_same(&report, &later));
    assert_true(archive_report_digest(&report) != archive_report_digest(&later));
    json_object_set_new(object, "sequence", json_string("x"));
    assert_int_equal(archive_report_decode(object, &got, NULL), -1);
}

static void test_report_in_a_status(void **state)
{
    struct agent_status status = {.instance = "db-mysql-0", .archive = report_of()};
    struct agent_status got;
    _cleanup_(strbuf_release) struct strbuf text;

    UNUSED(state);
    strbuf_init(&text, AGENT_STATUS_MAX);
    agent_status_encode(&status, &text);
    assert_int_equal(agent_status_decode(text.buf, text.len, NULL, &got, NULL), 0);
    assert_memory_equal(&got.archive, &status.archive, sizeof(got.archive));
    assert_true(agent_status_same(&status, &got));
    got.archive.epoch++;
    assert_false(agent_status_same(&status, &got));
    assert_true(agent_status_digest(&status) != agent_status_digest(&got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_shortest),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_digest_at_another_interval),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_report_in_a_status),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
