/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goldens of the decision about a ConfigMapSync: data/NAME.case.json gives data/NAME.golden.json. A case has the spec,
 * what was seen, and what became of the steps; all but the spec may be left out. UPDATE_GOLDENS=1 writes what comes
 * out; read the difference before it is committed.
 */
#include "common/base.h"

#include "operator/configmapsync/sync_decide.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/strvec.h"
#include "common/tests/folder_util.h"

#define DATA "operator/configmapsync/tests/data"
#define SUFFIX ".case.json"
#define NOW_MS 1767323045000 /* 2026-01-02T03:04:05Z */
#define THINGS_MAX 1100

struct scene {
    struct sync_namespace namespaces[THINGS_MAX];
    struct sync_copy copies[THINGS_MAX];
    char *labels[THINGS_MAX];
    char names[THINGS_MAX][16];
    struct config_map_sync sync;
    struct sync_snapshot snapshot;
};

static void see_namespaces(struct scene *scene, const json_t *namespaces)
{
    const char *name;
    json_t *each;
    size_t n = 0;
    json_object_foreach((json_t *)(uintptr_t)namespaces, name, each) {
        scene->labels[n] = json_object_get(each, "labels") ? json_text(json_object_get(each, "labels")) : xstrdup("");
        scene->namespaces[n] = (struct sync_namespace){.name = name,
            .sync_from = json_path_str(each, "from", ""),
            .labels = scene->labels[n],
            .is_ending = json_path_bool(each, "ending", false)};
        n++;
    }
    scene->snapshot.namespaces = scene->namespaces;
    scene->snapshot.namespace_count = n;
}

static void see_copies(struct scene *scene, const json_t *copies)
{
    size_t i;
    const json_t *each;
    json_array_foreach(copies, i, each)
        scene->copies[i] = (struct sync_copy){.ns = json_path_str(each, "ns", ""),
            .name = json_path_str(each, "name", "conf"),
            .uid = "uid",
            .digest = (uint64_t)json_path_int(each, "digest", 1),
            .is_ending = json_path_bool(each, "ending", false)};
    scene->snapshot.copies = scene->copies;
    scene->snapshot.copy_count = json_array_size(copies);
}

static struct scene *scene_new(const json_t *json)
{
    struct scene *scene = xnew(struct scene);
    struct api_problems problems = {.count = 0};
    const json_t *source = json_object_get(json, "source");
    assert_int_equal(config_map_sync_parse("home", "sync", json_object_get(json, "spec"), &scene->sync, &problems), 0);
    scene->snapshot = (struct sync_snapshot){.sync = &scene->sync,
        .generation = 3,
        .is_deleting = json_path_bool(json, "deleting", false),
        .needs_consent = json_path_bool(json, "needsConsent", true),
        .own_namespace = "op",
        .source_is_there = json_is_object(source),
        .source_digest = (uint64_t)json_path_int(source, "digest", 1),
        .sync_to = json_path_str(source, "to", "")};
    see_namespaces(scene, json_object_get(json, "namespaces"));
    see_copies(scene, json_object_get(json, "copies"));
    return scene;
}

static void scene_free(struct scene *scene)
{
    for (size_t i = 0; i < scene->snapshot.namespace_count; i++)
        free(scene->labels[i]);
    config_map_sync_release(&scene->sync);
    free(scene);
}

/* Steps end well, unless the case says of a namespace that they meet a problem. */
static void carry_out(const json_t *json, struct sync_decision *decision, struct sync_outcome *outcome)
{
    const json_t *fate = json_object_get(json, "fate");
    for (size_t i = 0; i < decision->step_count; i++) {
        const struct sync_step *step = &decision->steps[i];
        const char *met = json_path_str(fate, step->ns, "");
        if (str_eq(met, "foreign"))
            sync_problem(
                &decision->problems, "ForeignObject", true, "ConfigMap %s/%s is somebody else's", step->ns, step->name);
        else if (*met) {
            outcome->has_failed = true;
            snprintf(outcome->message, sizeof(outcome->message), "%s", met);
        } else {
            outcome->has_written = true;
            outcome->equal += step->verb == SYNC_ENSURE;
        }
    }
}

static json_t *describe(const json_t *json, struct scene *scene)
{
    struct sync_decision decision;
    struct sync_outcome outcome = {.equal = 0};
    static struct config_map_sync_status last, status;
    json_t *steps = json_array();
    sync_decide(&scene->snapshot, &decision);
    for (size_t i = 0; i < decision.step_count; i++)
        json_array_append_new(steps,
            json_sprintf("%s %s/%s", decision.steps[i].verb == SYNC_ENSURE ? "ensure" : "remove", decision.steps[i].ns,
                decision.steps[i].name));
    json_t *ret = json_build("{s:o, s:I, s:I}", "steps", steps, "equal", (json_int_t)decision.equal, "leftOut",
        (json_int_t)decision.left_out);
    carry_out(json, &decision, &outcome);
    config_map_sync_status_decode(json_object_get(json, "last"), &last);
    sync_report(&scene->snapshot, &decision, &outcome, NOW_MS, &last, &status);
    json_put(ret, "status", config_map_sync_status_encode(&status));
    sync_decision_release(&decision);
    return ret;
}

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

static void check_case(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), DATA "/%s" SUFFIX, name);
    _cleanup_(json_decrefp) json_t *json = read_json(path);
    struct scene *scene = scene_new(json);
    _cleanup_(json_decrefp) json_t *got = describe(json, scene);
    scene_free(scene);
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

static void decisions_are_the_goldens(void **state)
{
    UNUSED(state);
    struct strvec names;
    strvec_init(&names);
    folder_list(DATA, SUFFIX, 15, &names);
    for (size_t i = 0; i < names.n; i++)
        check_case(names.v[i]);
    strvec_release(&names);
}

/* ---- many ---- */

static void no_more_than_a_thousand(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *json = json_build("{s:{s:s, s:s, s:{}}, s:b, s:{}}", "spec", "sourceNamespace",
        "src", "configMapName", "conf", "namespaceSelector", "needsConsent", 0, "source");
    struct scene *scene = scene_new(json);
    for (size_t i = 0; i < THINGS_MAX; i++) {
        snprintf(scene->names[i], sizeof(scene->names[i]), "n%04zu", i);
        scene->namespaces[i] = (struct sync_namespace){.name = scene->names[i], .sync_from = "", .labels = ""};
        scene->labels[i] = NULL;
    }
    scene->snapshot.namespace_count = THINGS_MAX;
    struct sync_decision decision;
    sync_decide(&scene->snapshot, &decision);
    assert_int_equal(decision.step_count, SYNC_COPIES_MAX);
    assert_string_equal(decision.problems.reason, "TooManyNamespaces");
    assert_non_null(strstr(decision.problems.message, "from n1000 on"));
    assert_null(strstr(decision.problems.message, "n1001"));
    sync_decision_release(&decision);
    scene_free(scene);
}

/* ---- objects ---- */

static void a_copy_is_made_equal(void **state)
{
    UNUSED(state);
    static const char source_text[] = "{\"data\": {\"a\": \"1\", \"b\": \"2\"}, \"binaryData\": {\"c\": \"AA==\"}}";
    _cleanup_(json_decrefp) json_t *source = json_parse(source_text, strlen(source_text), NULL);
    json_t *spec =
        json_build("{s:s, s:s, s:s}", "sourceNamespace", "src", "configMapName", "conf", "destinationNamespace", "dst");
    struct config_map_sync sync;
    struct api_problems problems = {.count = 0};
    assert_int_equal(config_map_sync_parse("home", "sync", spec, &sync, &problems), 0);
    _cleanup_(json_decrefp) json_t *copy = sync_copy_manifest(&sync, "dst", source);
    assert_string_equal(json_path_str(copy, "metadata.namespace", ""), "dst");
    assert_true(sync_copy_is_ours(&sync, copy));
    assert_null(sync_copy_patch(copy, source));
    json_merge(copy, source);
    json_object_set_new(json_object_get(copy, "data"), "a", json_string("other"));
    json_object_set_new(json_object_get(copy, "data"), "more", json_string("x"));
    json_object_del(copy, "binaryData");
    json_object_set_new(json_object_get(copy, "metadata"), "resourceVersion", json_string("7"));
    json_t *patch = sync_copy_patch(copy, source);
    assert_string_equal(json_path_str(patch, "metadata.resourceVersion", ""), "7");
    assert_null(json_path(patch, "data.b"));
    json_merge(copy, patch);
    json_decref(patch);
    assert_null(sync_copy_patch(copy, source));
    json_object_set_new(json_path(copy, "metadata.annotations")
            ? json_object_get(json_object_get(copy, "metadata"), "annotations")
            : NULL,
        "kubemysql.dev/configmapsync-of", json_string("home/another"));
    assert_false(sync_copy_is_ours(&sync, copy));
    config_map_sync_release(&sync);
    json_decref(spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_are_the_goldens),
        cmocka_unit_test(no_more_than_a_thousand),
        cmocka_unit_test(a_copy_is_made_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
