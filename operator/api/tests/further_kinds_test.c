/* SPDX-License-Identifier: Apache-2.0 */
/* ConfigMapSync and App: what the table of refusals (refusals_test.c) cannot say: consent, digests, projections,
 * status, names that stand there twice. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/app.h"
#include "operator/api/app_projections.h"
#include "operator/api/config_map_sync.h"
#include "operator/api/sync_projections.h"

static struct json_slice slice(const char *text)
{
    return (struct json_slice){.data = text, .len = strlen(text)};
}

static void consent_names_whole_namespaces(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text, *ns;
        bool has;
    } rows[] = {{NULL, "a", false}, {"", "a", false}, {"a", "a", true}, {"ab", "a", false}, {"a", "ab", false},
        {"b, a", "a", true}, {"b,a,c", "a", true}, {" ,, a ", "a", true}, {"*", "a", true}, {"b *", "a", true},
        {"a*", "a", false}, {"**", "a", false}, {"b\na", "a", true}, {",", "a", false}, {"", "", false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (namespaces_text_has(rows[i].text, rows[i].ns) != rows[i].has)
            fail_msg("row %zu", i);
}

static uint64_t digest(const char *text)
{
    return config_map_content_digest(slice(text));
}

static void the_digest_is_of_the_content_alone(void **state)
{
    UNUSED(state);
    uint64_t nothing = digest("{}");
    assert_true(digest("{\"data\":{}}") == nothing);
    assert_true(digest("{\"data\":null,\"binaryData\":{}}") == nothing);
    assert_true(digest("{\"metadata\":{\"name\":\"x\"},\"immutable\":true}") == nothing);
    assert_true(digest("{\"data\":{\"a\":\"\"}}") != nothing);
    assert_true(digest("{\"data\":{\"a\":\"1\"}}") != digest("{\"data\":{\"a\":\"2\"}}"));
    assert_true(digest("{\"data\":{\"a\":\"AA==\"}}") != digest("{\"binaryData\":{\"a\":\"AA==\"}}"));
    assert_true(digest("{\"binaryData\":{\"b\":\"\"},\"data\":{\"a\":\"1\"}}") ==
        digest("{\"data\":{\"a\":\"1\"},\"binaryData\":{\"b\":\"\"}}"));
}

static void projections_keep_what_is_needed(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    struct sync_object *sync = (struct sync_object *)projection_config_map_sync.project(
        slice("{\"metadata\":{\"name\":\"n\",\"namespace\":\"h\",\"uid\":\"u\",\"finalizers\":[\"x\",\"kubemysql.dev/"
              "configmapsync\"]},\"spec\":{\"sourceNamespace\":\"s\",\"configMapName\":\"c\"}}"),
        &err);
    assert_string_equal(sync->source_key, "s/c");
    assert_string_equal(sync->ns, "h");
    assert_string_equal(sync->name, "n");
    assert_true(sync->has_finalizer);
    assert_null(sync_object_status(sync));
    free(sync);
    sync = (struct sync_object *)projection_config_map_sync.project(
        slice("{\"metadata\":{\"name\":\"n\",\"namespace\":\"h\"},\"spec\":{\"sourceNamespace\":7}}"), &err);
    assert_string_equal(sync->source_key, "");
    assert_false(sync->has_finalizer);
    free(sync);
    struct namespace_object *ns = (struct namespace_object *)projection_namespace.project(
        slice("{\"metadata\":{\"name\":\"a\",\"labels\":{\"t\":\"x\"},\"annotations\":{\"kubemysql.dev/configmapsync-from\":"
              "\"b\"}}}"),
        &err);
    json_t *labels = namespace_object_labels(ns);
    assert_string_equal(ns->sync_from, "b");
    assert_string_equal(json_path_str(labels, "t", ""), "x");
    json_decref(labels);
    free(ns);
    assert_null(projection_app.project(slice("{\"metadata\":{}}"), &err));
}

static void the_status_comes_back(void **state)
{
    UNUSED(state);
    static struct config_map_sync_status a, b;
    a = (struct config_map_sync_status){.observed_generation = 2, .copies = 3, .last_sync_time = "2026-01-02T03:04:05Z"};
    json_t *json = config_map_sync_status_encode(&a);
    config_map_sync_status_decode(json, &b);
    assert_true(config_map_sync_status_same(&a, &b));
    b.copies = 4;
    assert_false(config_map_sync_status_same(&a, &b));
    json_decref(json);
}

static void what_stands_there_twice_is_refused(void **state)
{
    UNUSED(state);
    static const char *const rows[][2] = {
        {"{\"image\": \"x\", \"envs\": [{\"name\": \"A\"}, {\"name\": \"B\"}, {\"name\": \"A\"}]}", "spec.envs[2].name"},
        {"{\"image\": \"x\", \"ports\": [{\"name\": \"a\", \"port\": 1}, {\"name\": \"b\", \"port\": 1, \"protocol\": "
         "\"TCP\"}]}",
            "spec.ports[1].port"},
        {"{\"image\": \"x\", \"ports\": [{\"name\": \"a\", \"port\": 1}, {\"name\": \"b\", \"port\": 1, \"protocol\": "
         "\"UDP\"}]}",
            ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct app app;
        struct api_problems problems = {.count = 0};
        json_t *spec = json_parse(rows[i][0], strlen(rows[i][0]), NULL);
        app_parse("ns", "web", spec, &app, &problems);
        assert_string_equal(problems.count ? problems.items[0].path : "", rows[i][1]);
        app_release(&app);
        json_decref(spec);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(consent_names_whole_namespaces),
        cmocka_unit_test(the_digest_is_of_the_content_alone),
        cmocka_unit_test(projections_keep_what_is_needed),
        cmocka_unit_test(the_status_comes_back),
        cmocka_unit_test(what_stands_there_twice_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
