/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goldens of what an App is made of and of what its status says: data/NAME.case.json {"spec", "deployment": its status,
 * "generation": the Deployment's, "problem": {"reason", "message", "stalled"}, "last"} gives data/NAME.golden.json.
 * UPDATE_GOLDENS=1 writes what comes out; read the difference before it is committed.
 */
#include "common/base.h"

#include "operator/app/app_desired.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/strvec.h"
#include "common/tests/folder_util.h"

#define DATA "operator/app/tests/data"
#define SUFFIX ".case.json"
#define NOW_MS 1767323045000 /* 2026-01-02T03:04:05Z */

static json_t *read_json(const char *path)
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct error err = ERROR_INIT;
    strbuf_init(&text, KM_MIB);
    json_t *json = fs_read_file(path, &text, &err) < 0 ? NULL : json_parse(text.buf, text.len, &err);
    if (!json)
        fail_msg("%s: %s", path, err.message);
    return json;
}

static struct app parsed(json_t *spec)
{
    struct app app;
    struct api_problems problems = {.count = 0};
    if (app_parse("ns1", "web", spec, &app, &problems) < 0)
        fail_msg("%s: %s", problems.items[0].path, problems.items[0].message);
    return app;
}

static json_t *describe(const json_t *json)
{
    struct app app = parsed(json_object_get(json, "spec"));
    json_t *ret = json_object();
    json_put(ret, "deployment", app_manifest(&app, "uid-1", APP_DEPLOYMENT));
    json_put(ret, "service", app_manifest(&app, "uid-1", APP_SERVICE));
    const struct app_view view = {.app = &app,
        .generation = 3,
        .deployment_status = json_object_get(json, "deployment"),
        .deployment_generation = json_path_int(json, "generation", 1),
        .applied_hash = "0123456789abcdef",
        .trouble = json_path_str(json, "trouble", ""),
        .reason = json_path_str(json, "problem.reason", NULL),
        .message = json_path_str(json, "problem.message", ""),
        .is_stalled = json_path_bool(json, "problem.stalled", false)};
    json_put(ret, "status", app_status(&view, json_object_get(json, "last"), NOW_MS));
    app_release(&app);
    return ret;
}

static void check_case(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), DATA "/%s" SUFFIX, name);
    _cleanup_(json_decrefp) json_t *json = read_json(path);
    _cleanup_(json_decrefp) json_t *got = describe(json);
    snprintf(path, sizeof(path), DATA "/%s.golden.json", name);
    if (getenv("UPDATE_GOLDENS")) {
        assert_int_equal(json_dump_file(got, path, JSON_INDENT(1)), 0);
        return;
    }
    _cleanup_(json_decrefp) json_t *wanted = read_json(path);
    if (!json_equal(got, wanted)) {
        _cleanup_(freep) char *text = json_dumps(got, JSON_INDENT(1));
        fail_msg("%s: got %s", name, text);
    }
}

static void manifests_and_status_are_the_goldens(void **state)
{
    UNUSED(state);
    struct strvec names;
    strvec_init(&names);
    folder_list(DATA, SUFFIX, 8, &names);
    for (size_t i = 0; i < names.n; i++)
        check_case(names.v[i]);
    strvec_release(&names);
}

/* ---- objects that are there ---- */

#define SPEC "{\"image\": \"nginx\", \"envs\": [{\"name\": \"A\", \"value\": \"1\"}], \"ports\": [{\"port\": 80}]}"

static json_t *spec_of(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = json_parse(text, strlen(text), &err);
    assert_non_null(json);
    return json;
}

static void set(json_t *object, const char *parent, const char *key, json_t *value)
{
    json_object_set_new((json_t *)(uintptr_t)json_path(object, parent), key, value);
}

/* What is added to what the spec says goes; what others may set stays. */
static void what_others_added_goes_and_theirs_stays(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *spec = spec_of(SPEC);
    struct app app = parsed(spec);
    _cleanup_(json_decrefp) json_t *deployment = app_manifest(&app, "uid-1", APP_DEPLOYMENT);
    _cleanup_(json_decrefp) json_t *service = app_manifest(&app, "uid-1", APP_SERVICE);
    _cleanup_(json_decrefp) json_t *live = json_deep_copy(deployment);
    json_array_append_new(
        (json_t *)(uintptr_t)json_path(live, "spec.template.spec.containers[0].env"), json_build("{s:s}", "name", "B"));
    json_array_append_new(
        (json_t *)(uintptr_t)json_path(live, "spec.template.spec.containers"), json_build("{s:s}", "name", "side"));
    set(live, "spec.template.spec", "nodeSelector", json_build("{s:s}", "a", "b"));
    set(live, "spec.template.metadata", "annotations", json_build("{s:s}", "restartedAt", "now"));
    set(live, "spec", "replicas", json_integer(7));
    set(live, "spec", "revisionHistoryLimit", json_integer(3));
    set(live, "metadata.labels", "theirs", json_string("x"));
    _cleanup_(json_decrefp) json_t *next = app_next_state(live, deployment, APP_DEPLOYMENT);
    assert_int_equal(json_path_int(next, "spec.replicas", 0), 1);
    assert_int_equal(json_path_int(next, "spec.revisionHistoryLimit", 0), 3);
    assert_int_equal(json_array_size(json_path(next, "spec.template.spec.containers")), 1);
    assert_int_equal(json_array_size(json_path(next, "spec.template.spec.containers[0].env")), 1);
    assert_null(json_path(next, "spec.template.spec.nodeSelector"));
    assert_string_equal(json_path_str(next, "spec.template.metadata.annotations.restartedAt", ""), "now");
    assert_string_equal(json_path_str(next, "metadata.labels.theirs", ""), "x");
    _cleanup_(json_decrefp) json_t *there = json_deep_copy(service);
    set(there, "spec", "clusterIP", json_string("10.0.0.7"));
    set(there, "spec", "type", json_string("NodePort"));
    set(there, "spec.selector", "another", json_string("x"));
    _cleanup_(json_decrefp) json_t *after = app_next_state(there, service, APP_SERVICE);
    assert_string_equal(json_path_str(after, "spec.clusterIP", ""), "10.0.0.7");
    assert_string_equal(json_path_str(after, "spec.type", ""), "ClusterIP");
    assert_int_equal(json_object_size(json_path(after, "spec.selector")), 1);
    _cleanup_(json_decrefp) json_t *same = app_next_state(service, service, APP_SERVICE);
    assert_true(json_equal(same, service));
    app_release(&app);
}

static void the_hash_is_of_spec_and_digests(void **state)
{
    UNUSED(state);
    char a[APP_HASH_SIZE], b[APP_HASH_SIZE];
    const uint64_t digests[] = {1, 2}, others[] = {1, 3};
    json_t *spec = spec_of(SPEC);
    struct app app = parsed(spec);
    app_applied_hash(&app, "uid-1", digests, a);
    app_applied_hash(&app, "uid-1", digests, b);
    assert_string_equal(a, b);
    app_applied_hash(&app, "uid-1", others, b);
    assert_string_not_equal(a, b);
    app.replicas = 2;
    app_applied_hash(&app, "uid-1", digests, b);
    assert_string_not_equal(a, b);
    app_release(&app);
    json_decref(spec);
}

static void conditions_may_come_in_any_order(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *a =
        spec_of("{\"replicas\": 1, \"conditions\": [{\"type\": \"A\"}, {\"type\": \"B\"}]}");
    _cleanup_(json_decrefp) json_t *b =
        spec_of("{\"conditions\": [{\"type\": \"B\"}, {\"type\": \"A\"}], \"replicas\": 1}");
    _cleanup_(json_decrefp) json_t *c = spec_of("{\"conditions\": [{\"type\": \"B\"}], \"replicas\": 1}");
    assert_true(app_status_same(a, b));
    assert_false(app_status_same(a, c));
    assert_false(app_status_same(a, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(manifests_and_status_are_the_goldens),
        cmocka_unit_test(what_others_added_goes_and_theirs_stays),
        cmocka_unit_test(the_hash_is_of_spec_and_digests),
        cmocka_unit_test(conditions_may_come_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
