/* SPDX-License-Identifier: Apache-2.0 */
/* Where backups lie: both forms, what is refused and under which field. */
#include "common/base.h"

#include "operator/api/backup_destination.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/json.h"
#include "operator/api/api_fields.h"

static json_t *parse(const char *text)
{
    json_t *ret = json_parse(text, strlen(text), NULL);
    assert_non_null(ret);
    return ret;
}

static void s3_is_read(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *json = parse(
        "{\"s3\": {\"bucket\": \"shop\", \"prefix\": \"a/b\", \"endpoint\": \"https://s3:9000\", \"region\": \"eu\","
        "\"credentialsSecret\": {\"name\": \"keys\"}, \"caSecret\": {\"name\": \"ca\"}}}");
    struct backup_destination got;
    backup_destination_read(json, &got);
    assert_int_equal(got.kind, BACKUP_DESTINATION_S3);
    assert_string_equal(got.bucket, "shop");
    assert_string_equal(got.prefix, "a/b");
    assert_string_equal(got.endpoint, "https://s3:9000");
    assert_string_equal(got.region, "eu");
    assert_string_equal(got.credentials_secret, "keys");
    assert_string_equal(got.ca_secret, "ca");
    assert_string_equal(got.ca_key, "ca.crt");
    assert_true(got.path_style);
}

static void style_follows_the_endpoint(void **state)
{
    UNUSED(state);
    struct backup_destination got;
    _cleanup_(json_decrefp) json_t *aws = parse("{\"s3\": {\"bucket\": \"shop\"}}");
    backup_destination_read(aws, &got);
    assert_false(got.path_style);
    assert_null(got.ca_secret);
    assert_string_equal(got.prefix, "");
    _cleanup_(json_decrefp) json_t *wished =
        parse("{\"s3\": {\"bucket\": \"shop\", \"endpoint\": \"https://s3\", \"pathStyle\": false}}");
    backup_destination_read(wished, &got);
    assert_false(got.path_style);
}

static void volume_is_read(void **state)
{
    UNUSED(state);
    struct backup_destination got;
    _cleanup_(json_decrefp) json_t *json =
        parse("{\"persistentVolumeClaim\": {\"claimName\": \"safe\", \"path\": \"x/y\"}}");
    backup_destination_read(json, &got);
    assert_int_equal(got.kind, BACKUP_DESTINATION_VOLUME);
    assert_string_equal(got.claim, "safe");
    assert_string_equal(got.path, "x/y");
    assert_null(got.size);
    _cleanup_(json_decrefp) json_t *other =
        parse("{\"persistentVolumeClaim\": {\"claimName\": \"safe\", \"path\": \"/x/y\", \"size\": \"5Gi\"}}");
    struct backup_destination same;
    backup_destination_read(other, &same);
    assert_string_equal(same.path, "x/y");
    assert_string_equal(json_string_value(same.size), "5Gi");
    assert_true(backup_destination_same_place(&got, &same));
    _cleanup_(json_decrefp) json_t *top =
        parse("{\"persistentVolumeClaim\": {\"claimName\": \"safe\", \"path\": \"/\", \"size\": null}}");
    backup_destination_read(top, &same);
    assert_string_equal(same.path, "");
    assert_null(same.size);
}

static void neither_or_both_is_none(void **state)
{
    UNUSED(state);
    static const char *const texts[] = {
        "{}", "{\"s3\": {\"bucket\": \"b\"}, \"persistentVolumeClaim\": {\"claimName\": \"c\"}}"};
    static const char *const wrong[] = {"spec.destination: needs either s3 or persistentVolumeClaim",
        "spec.destination: must have only one of s3 and persistentVolumeClaim"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct backup_destination got;
        struct api_problems problems = {0};
        struct error err = ERROR_INIT;
        _cleanup_(json_decrefp) json_t *json = parse(texts[i]);
        backup_destination_read(json, &got);
        assert_int_equal(got.kind, BACKUP_DESTINATION_NONE);
        assert_int_equal(backup_destination_check(json, "spec.destination", &problems), -1);
        api_problems_to_error(&problems, &err);
        assert_string_equal(err.message, wrong[i]);
    }
    struct backup_destination got;
    struct api_problems none = {0};
    backup_destination_read(NULL, &got);
    assert_int_equal(got.kind, BACKUP_DESTINATION_NONE);
    assert_int_equal(backup_destination_check(NULL, "spec.destination", &none), 0);
}

static void ca_needs_tls(void **state)
{
    UNUSED(state);
    struct api_problems problems = {0};
    _cleanup_(json_decrefp) json_t *json =
        parse("{\"s3\": {\"bucket\": \"b\", \"endpoint\": \"http://s3\", \"caSecret\": {\"name\": \"ca\"}}}");
    assert_int_equal(backup_destination_check(json, "spec.backup.destination", &problems), -1);
    assert_string_equal(problems.items[0].path, "spec.backup.destination.s3.caSecret");
}

/* What the rows refuse: names that would leave the prefix, URLs that are none. */
static void bad_fields(void **state)
{
    UNUSED(state);
    static const struct {
        const char *member, *path;
    } cases[] = {
        {"\"prefix\": \"../x\"", "destination.s3.prefix"},
        {"\"prefix\": \"a//b\"", "destination.s3.prefix"},
        {"\"prefix\": \"/a\"", "destination.s3.prefix"},
        {"\"prefix\": \"a/\"", "destination.s3.prefix"},
        {"\"prefix\": \"a/.hidden\"", "destination.s3.prefix"},
        {"\"prefix\": \"a b\"", "destination.s3.prefix"},
        {"\"endpoint\": \"s3.example.com\"", "destination.s3.endpoint"},
        {"\"endpoint\": \"https://\"", "destination.s3.endpoint"},
        {"\"endpoint\": \"https://host/path\"", "destination.s3.endpoint"},
        {"\"endpoint\": \"https://user@host\"", "destination.s3.endpoint"},
        {"\"region\": \"EU\"", "destination.s3.region"},
        {"\"bucket\": \"b\"", "destination.s3.bucket"},
        {"\"bucket\": \"Bucket\"", "destination.s3.bucket"},
        {"\"bucket\": \"-bucket\"", "destination.s3.bucket"},
        {"\"caSecret\": {}", "destination.s3.caSecret.name"},
        {"\"accessKey\": \"secret\"", "destination.s3.accessKey"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[512];
        struct api_problems problems = {0};
        snprintf(text, sizeof(text),
            "{\"cluster\": \"c\", \"destination\": {\"s3\": {%s, \"bucket\": \"bucket\", \"credentialsSecret\": {\"name\": \"k\"}}}}",
            cases[i].member);
        _cleanup_(json_decrefp) json_t *json = str_starts_with(cases[i].member, "\"bucket\"") ? NULL : parse(text);
        if (!json) {
            snprintf(text, sizeof(text),
                "{\"cluster\": \"c\", \"destination\": {\"s3\": {%s, \"credentialsSecret\": {\"name\": \"k\"}}}}",
                cases[i].member);
            json = parse(text);
        }
        api_fields_check(json, "", mysql_backup_fields, &problems);
        if (problems.count != 1 || !strstr(problems.items[0].path, cases[i].path))
            fail_msg("%s: %d problems, %s", cases[i].member, problems.count, problems.items[0].path);
        assert_null(strstr(problems.items[0].message, "secret"));
    }
}

static void places(void **state)
{
    UNUSED(state);
    static const char *const texts[] = {
        "{\"s3\": {\"bucket\": \"b\", \"prefix\": \"p\", \"credentialsSecret\": {\"name\": \"k\"}}}",
        "{\"s3\": {\"bucket\": \"b\", \"prefix\": \"p\", \"credentialsSecret\": {\"name\": \"other\"}}}",
        "{\"s3\": {\"bucket\": \"b\"}}",
        "{\"persistentVolumeClaim\": {\"claimName\": \"b\", \"path\": \"p\"}}",
        "{\"persistentVolumeClaim\": {\"claimName\": \"b\"}}",
        "{\"persistentVolumeClaim\": {\"claimName\": \"b\", \"path\": \"/p\"}}",
    };
    static const char *const locations[] = {"s3://b/p/n/c/backups/1", "s3://b/p/n/c/backups/1", "s3://b/n/c/backups/1",
        "pvc:b/p/n/c/backups/1", "pvc:b/n/c/backups/1", "pvc:b/p/n/c/backups/1"};
    struct backup_destination first;
    _cleanup_(json_decrefp) json_t *first_json = parse(texts[0]);
    backup_destination_read(first_json, &first);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct backup_destination got;
        _cleanup_(json_decrefp) json_t *json = parse(texts[i]);
        _cleanup_(strbuf_release) struct strbuf text;
        strbuf_init(&text, 256);
        backup_destination_read(json, &got);
        backup_destination_location(&got, "n/c/backups/1", &text);
        assert_string_equal(text.buf, locations[i]);
        assert_int_equal(backup_destination_same_place(&first, &got), i < 2);
    }
}

static void encryption_is_read(void **state)
{
    UNUSED(state);
    struct backup_encryption got;
    backup_encryption_read(NULL, &got);
    assert_null(got.secret);
    _cleanup_(json_decrefp) json_t *json = parse("{\"keySecret\": {\"name\": \"seal\"}}");
    backup_encryption_read(json, &got);
    assert_string_equal(got.secret, "seal");
    assert_string_equal(got.key, "key");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s3_is_read),
        cmocka_unit_test(style_follows_the_endpoint),
        cmocka_unit_test(volume_is_read),
        cmocka_unit_test(neither_or_both_is_none),
        cmocka_unit_test(ca_needs_tls),
        cmocka_unit_test(bad_fields),
        cmocka_unit_test(places),
        cmocka_unit_test(encryption_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
