/* SPDX-License-Identifier: Apache-2.0 */
/* MysqlBackup: what is read, inherited and refused; its status there and back. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/api/archive_status.h"
#include "operator/api/drill_status.h"
#include "operator/api/mysql_backup.h"

#define S3 "\"destination\": {\"s3\": {\"bucket\": \"bucket\", \"credentialsSecret\": {\"name\": \"keys\"}}}"

static json_t *parse(const char *text)
{
    json_t *ret = json_parse(text, strlen(text), NULL);
    assert_non_null(ret);
    return ret;
}

static void defaults(void **state)
{
    UNUSED(state);
    struct mysql_backup backup;
    struct api_problems problems = {0};
    _cleanup_(json_decrefp) json_t *spec = parse("{\"cluster\": \"shop\", " S3 "}");
    assert_int_equal(mysql_backup_parse("ns", "first", spec, &backup, &problems), 0);
    assert_string_equal(backup.cluster, "shop");
    assert_int_equal(backup.destination.kind, BACKUP_DESTINATION_S3);
    assert_int_equal(backup.method, BACKUP_METHOD_PHYSICAL);
    assert_int_equal(backup.compression, BACKUP_COMPRESSION_ZSTD);
    assert_int_equal(backup.deadline_seconds, 21600);
    assert_int_equal(backup.deletion_policy, BACKUP_DELETION_RETAIN);
    assert_null(backup.donor);
    assert_null(backup.encryption.secret);
    assert_int_equal(backup.rate_limit, 0);
    mysql_backup_release(&backup);
}

static void all_fields(void **state)
{
    UNUSED(state);
    struct mysql_backup backup;
    struct api_problems problems = {0};
    _cleanup_(json_decrefp) json_t *spec = parse(
        "{\"cluster\": \"shop\", " S3 ", \"method\": \"logical\", \"compression\": \"none\", \"deadlineSeconds\": 60,"
        "\"deletionPolicy\": \"Delete\", \"donor\": \"shop-mysql-1\", \"rateLimitBytesPerSecond\": 1000000,"
        "\"encryption\": {\"keySecret\": {\"name\": \"seal\", \"key\": \"k\"}}}");
    assert_int_equal(mysql_backup_parse("ns", "first", spec, &backup, &problems), 0);
    assert_int_equal(backup.method, BACKUP_METHOD_LOGICAL);
    assert_int_equal(backup.compression, BACKUP_COMPRESSION_NONE);
    assert_int_equal(backup.deadline_seconds, 60);
    assert_int_equal(backup.deletion_policy, BACKUP_DELETION_DELETE);
    assert_string_equal(backup.donor, "shop-mysql-1");
    assert_int_equal(backup.rate_limit, 1000000);
    assert_string_equal(backup.encryption.key, "k");
    mysql_backup_release(&backup);
}

static void refused(void **state)
{
    UNUSED(state);
    static const struct {
        const char *name, *spec, *path;
    } cases[] = {
        {"a", "{}", "spec.cluster"},
        {"a", "{\"cluster\": \"shop\", \"destination\": {}}", "spec.destination"},
        {"a", "{\"cluster\": \"shop\", \"method\": \"magic\"}", "spec.method"},
        {"a", "{\"cluster\": \"shop\", \"deadlineSeconds\": 9}", "spec.deadlineSeconds"},
        {"a", "{\"cluster\": \"shop\", \"rateLimitBytesPerSecond\": 1}", "spec.rateLimitBytesPerSecond"},
        {"a", "{\"cluster\": \"shop\", \"encryption\": {}}", "spec.encryption.keySecret"},
        {"a", "{\"cluster\": \"shop\", \"clusters\": 1}", "spec.clusters"},
        {"a.b", "{\"cluster\": \"shop\"}", "metadata.name"},
        {"a123456789012345678901234567890123456789012345678901234567890123", "{\"cluster\": \"shop\"}", "metadata.name"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mysql_backup backup;
        struct api_problems problems = {0};
        _cleanup_(json_decrefp) json_t *spec = parse(cases[i].spec);
        assert_int_equal(mysql_backup_parse("ns", cases[i].name, spec, &backup, &problems), -1);
        assert_int_equal(problems.count, 1);
        assert_string_equal(problems.items[0].path, cases[i].path);
        mysql_backup_release(&backup);
    }
    struct mysql_backup backup;
    struct api_problems problems = {0};
    assert_int_equal(mysql_backup_parse("ns", "a", NULL, &backup, &problems), -1);
}

/* Who says nothing of the destination gets all of the cluster's; who names one gets nothing else of it. */
static void inheritance(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *of_cluster = parse(
        "{\"schedule\": \"@daily\", \"method\": \"logical\", \"encryption\": {\"keySecret\": {\"name\": \"seal\"}}, " S3
        "}");
    struct mysql_backup backup;
    struct api_problems problems = {0};
    _cleanup_(json_decrefp) json_t *bare = parse("{\"cluster\": \"shop\", \"method\": \"physical\"}");
    assert_int_equal(mysql_backup_parse("ns", "a", bare, &backup, &problems), 0);
    assert_int_equal(backup.destination.kind, BACKUP_DESTINATION_NONE);
    mysql_backup_inherit(&backup, NULL);
    assert_int_equal(backup.destination.kind, BACKUP_DESTINATION_NONE);
    mysql_backup_inherit(&backup, of_cluster);
    assert_int_equal(backup.destination.kind, BACKUP_DESTINATION_S3);
    assert_int_equal(backup.method, BACKUP_METHOD_PHYSICAL);
    assert_string_equal(backup.encryption.secret, "seal");
    assert_null(json_object_get(bare, "destination")); /* the caller's document is as it was */
    mysql_backup_release(&backup);
    _cleanup_(json_decrefp) json_t *own = parse("{\"cluster\": \"shop\", " S3 "}");
    assert_int_equal(mysql_backup_parse("ns", "a", own, &backup, &problems), 0);
    mysql_backup_inherit(&backup, of_cluster);
    assert_int_equal(backup.method, BACKUP_METHOD_PHYSICAL);
    assert_null(backup.encryption.secret);
    mysql_backup_release(&backup);
}

static void status_round_trip(void **state)
{
    UNUSED(state);
    struct backup_status status = {.phase = BACKUP_PHASE_RUNNING,
        .attempt = 2,
        .start_ms = 1700000000000,
        .retry_ms = 1700000060000,
        .raw_bytes = 1,
        .stored_bytes = 1536 * 1024,
        .received = true,
        .verified_ms = 1700000001000,
        .verified = BACKUP_VERIFIED_PASSED,
        .failure_count = 1};
    struct backup_status back;
    snprintf(status.id, sizeof(status.id), "20261121T204512Z-first-2");
    snprintf(status.donor, sizeof(status.donor), "shop-mysql-1");
    snprintf(status.verified_message, sizeof(status.verified_message), "restored");
    status.failures[0] = (struct backup_attempt){
        .id = "x-1", .donor = "shop-mysql-2", .reason = "ToolFailed", .message = "it broke", .cleaned = true};
    status.destination = parse("{\"persistentVolumeClaim\": {\"claimName\": \"safe\"}}");
    kube_conditions_set(
        &status.conditions, CONDITION_BACKUP_ACCEPTED, KUBE_CONDITION_TRUE, "Accepted", 1, 1700000000000, "x");
    _cleanup_(json_decrefp) json_t *json = backup_status_encode(&status);
    assert_string_equal(json_path_str(json, "size", ""), "1.5 MiB");
    assert_string_equal(json_path_str(json, "phase", ""), "Running");
    assert_string_equal(json_path_str(json, "verified.result", ""), "Passed");
    backup_status_decode(json, &back);
    assert_true(backup_status_same(&status, &back));
    assert_int_equal(back.verified, BACKUP_VERIFIED_PASSED);
    back.attempt = 3;
    assert_false(backup_status_same(&status, &back));
    backup_status_release(&back);
    backup_status_copy(&status, &back);
    assert_true(backup_status_same(&status, &back));
    backup_status_release(&back);
    backup_status_release(&status);
    backup_status_decode(NULL, &back);
    assert_int_equal(back.phase, BACKUP_PHASE_NONE);
}

static void reasons_of_archives_and_drills(void **state)
{
    static const struct {
        const char *name;
        enum archive_reason archive;
        enum kube_condition_status archived;
        enum drill_reason drill;
        enum kube_condition_status verified;
    } rows[] = {
        {"", ARCHIVE_OTHER, KUBE_CONDITION_FALSE, DRILL_OTHER, KUBE_CONDITION_FALSE},
        {"StoreRefused", ARCHIVE_OTHER, KUBE_CONDITION_FALSE, DRILL_OTHER, KUBE_CONDITION_FALSE},
        {"UpToDate", ARCHIVE_UP_TO_DATE, KUBE_CONDITION_TRUE, DRILL_OTHER, KUBE_CONDITION_FALSE},
        {"Starting", ARCHIVE_STARTING, KUBE_CONDITION_UNKNOWN, DRILL_OTHER, KUBE_CONDITION_FALSE},
        {"Gap", ARCHIVE_GAP, KUBE_CONDITION_FALSE, DRILL_OTHER, KUBE_CONDITION_FALSE},
        {"Behind", ARCHIVE_BEHIND, KUBE_CONDITION_FALSE, DRILL_OTHER, KUBE_CONDITION_FALSE},
        {"Verified", ARCHIVE_OTHER, KUBE_CONDITION_FALSE, DRILL_VERIFIED, KUBE_CONDITION_TRUE},
        {"NotYet", ARCHIVE_OTHER, KUBE_CONDITION_FALSE, DRILL_NOT_YET, KUBE_CONDITION_UNKNOWN},
        {"NoBackup", ARCHIVE_NO_BACKUP, KUBE_CONDITION_FALSE, DRILL_NO_BACKUP, KUBE_CONDITION_UNKNOWN},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        enum archive_reason archive = archive_reason_of(rows[i].name);
        enum drill_reason drill = drill_reason_of(rows[i].name);
        assert_int_equal(archive, rows[i].archive);
        assert_string_equal(archive_reason_name(archive), archive ? rows[i].name : "");
        assert_int_equal(archive_reason_status(archive), rows[i].archived);
        assert_int_equal(drill, rows[i].drill);
        assert_string_equal(drill_reason_name(drill), drill ? rows[i].name : "");
        assert_int_equal(drill_reason_status(drill), rows[i].verified);
    }
    assert_int_equal(archive_reason_of(NULL), ARCHIVE_OTHER);
    assert_int_equal(drill_reason_of(NULL), DRILL_OTHER);
}

static void sizes(void **state)
{
    UNUSED(state);
    char text[16];
    backup_size_text(1023, text);
    assert_string_equal(text, "1023 B");
    backup_size_text(100ULL << 30, text);
    assert_string_equal(text, "100 GiB");
    backup_size_text(UINT64_MAX, text);
    assert_string_equal(text, "16384 PiB");
}

static void progress_is_told(void **state)
{
    UNUSED(state);
    static const struct {
        struct backup_status status;
        const char *text;
    } rows[] = {
        {{.phase = BACKUP_PHASE_RUNNING}, ""},
        {{.phase = BACKUP_PHASE_COMPLETED, .raw_bytes = 5}, ""},
        {{.phase = BACKUP_PHASE_RUNNING, .raw_bytes = 3 * KM_MIB}, "3.0 MiB"},
        {{.phase = BACKUP_PHASE_RUNNING, .raw_bytes = 3 * KM_MIB, .bytes_per_second = KM_MIB}, "3.0 MiB, 1.0 MiB/s"},
        {{.phase = BACKUP_PHASE_RUNNING,
             .raw_bytes = 256 * KM_MIB,
             .estimated_bytes = 1024 * KM_MIB,
             .bytes_per_second = 32 * KM_MIB},
            "256 MiB of about 1.0 GiB (24 %), 32.0 MiB/s, about 24 s left"},
        {{.phase = BACKUP_PHASE_RUNNING,
             .raw_bytes = 1024 * KM_MIB,
             .estimated_bytes = 11 * 1024 * KM_MIB,
             .bytes_per_second = 8 * KM_MIB},
            "1.0 GiB of about 11.0 GiB (9 %), 8.0 MiB/s, about 22 min left"},
        /* more came than was estimated */
        {{.phase = BACKUP_PHASE_RUNNING,
             .raw_bytes = 5 * KM_MIB,
             .estimated_bytes = 4 * KM_MIB,
             .bytes_per_second = KM_MIB},
            "5.0 MiB, 1.0 MiB/s"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, 160);
        backup_progress_text(&rows[i].status, &text);
        assert_string_equal(text.buf, rows[i].text);
        _cleanup_(json_decrefp) json_t *json = backup_status_encode(&rows[i].status);
        assert_string_equal(json_path_str(json, "progress", ""), rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(all_fields),
        cmocka_unit_test(refused),
        cmocka_unit_test(inheritance),
        cmocka_unit_test(status_round_trip),
        cmocka_unit_test(reasons_of_archives_and_drills),
        cmocka_unit_test(sizes),
        cmocka_unit_test(progress_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
