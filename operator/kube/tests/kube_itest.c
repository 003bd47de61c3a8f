/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_itest.c: client and informer against a real API server (KM_TEST_KUBECONFIG, see build-aux/run-integration.sh).
 *
 * Works in a namespace of its own, which it deletes at the end.
 */
#include "common/base.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/kube/informer.h"
#include "operator/kube/kube_client.h"

#define WAIT_MS 20000
#define LABEL "kube-mysql-itest"

static const struct kube_kind kind_namespace = {
    .group = "", .kind = "Namespace", .plural = "namespaces", .versions = {"v1"}};

struct world {
    struct loop *loop;
    struct http_client *http;
    struct kube_config config;
    struct kube_client *client;
    struct kube_resource namespaces, config_maps, slices, budgets;
    char ns[64];
};

/* The end of one request, copied. */
struct kube_outcome {
    bool done;
    struct error err;
    json_t *object;
    char *raw;
};

static void on_done(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct kube_outcome *outcome = arg;
    outcome->done = true;
    if (err)
        outcome->err = *err;
    outcome->object = json_deep_copy(answer->object);
    outcome->raw = xstrndup(answer->raw.data, answer->raw.len);
}

static void run_until(struct world *world, const bool *flag)
{
    int64_t deadline_ms = clock_monotonic_ms() + WAIT_MS;
    while (!*flag && clock_monotonic_ms() < deadline_ms)
        loop_run_once(world->loop, 50);
    assert_true(*flag);
}

static void kube_outcome_release(struct kube_outcome *outcome)
{
    json_decref(outcome->object);
    free(outcome->raw);
    *outcome = (struct kube_outcome){.done = false};
}

/* Waits; returns the error kind. */
static enum error_kind settle(struct world *world, struct kube_outcome *outcome)
{
    run_until(world, &outcome->done);
    if (outcome->err.kind != ERROR_NONE)
        print_message("  %s (%s, %d)\n", outcome->err.message, error_kind_name(outcome->err.kind), outcome->err.code);
    return outcome->err.kind;
}

static enum error_kind settle_quietly(struct world *world, struct kube_outcome *outcome)
{
    enum error_kind kind = settle(world, outcome);
    kube_outcome_release(outcome);
    return kind;
}

static json_t *config_map(const struct world *world, const char *name, const char *value)
{
    return json_build("{s:s,s:s,s:{s:s,s:s,s:{s:s}},s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap", "metadata",
        "name", name, "namespace", world->ns, "labels", "app", LABEL, "data", "key", value);
}

static enum error_kind apply_config_map(struct world *world, const char *name, const char *value)
{
    struct kube_outcome outcome = {.done = false};
    _cleanup_(json_decrefp) json_t *object = config_map(world, name, value);
    kube_apply(world->client, &world->config_maps, object, on_done, &outcome);
    return settle_quietly(world, &outcome);
}

static void on_discovered(void *arg, const struct error *err)
{
    struct kube_outcome *outcome = arg;
    outcome->done = true;
    if (err)
        outcome->err = *err;
}

static void discover(struct world *world)
{
    static const struct kube_kind *const kinds[] = {
        &kind_namespace, &kube_kind_config_map, &kube_kind_endpoint_slice, &kube_kind_pod_disruption_budget};
    struct kube_resource resources[ARRAY_LEN(kinds)];
    struct kube_outcome outcome = {.done = false};
    kube_discover(world->client, kinds, ARRAY_LEN(kinds), resources, on_discovered, &outcome);
    assert_int_equal(settle(world, &outcome), ERROR_NONE);
    world->namespaces = resources[0];
    world->config_maps = resources[1];
    world->slices = resources[2];
    world->budgets = resources[3];
}

static int set_up(void **state)
{
    struct world *world = xnew(struct world);
    struct error err = ERROR_INIT;
    *state = world;
    world->loop = loop_new();
    world->http = http_client_new(world->loop);
    if (kube_config_load(getenv("KM_TEST_KUBECONFIG"), NULL, &world->config, &err) < 0)
        fail_msg("%s", err.message);
    world->client = kube_client_new(world->loop, world->http, &world->config, NULL, &err);
    assert_non_null(world->client);
    discover(world);
    uint64_t seed = random_seed();
    snprintf(world->ns, sizeof(world->ns), "itest-%08llx", (unsigned long long)(random_next(&seed) >> 32));
    struct kube_outcome outcome = {.done = false};
    _cleanup_(json_decrefp) json_t *ns =
        json_build("{s:s,s:s,s:{s:s}}", "apiVersion", "v1", "kind", "Namespace", "metadata", "name", world->ns);
    kube_create(world->client, &world->namespaces, NULL, ns, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_NONE);
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    struct kube_outcome outcome = {.done = false};
    kube_delete(world->client, &world->namespaces, NULL, world->ns, NULL, on_done, &outcome);
    settle_quietly(world, &outcome);
    kube_client_free(world->client);
    http_client_free(world->http);
    kube_config_release(&world->config);
    loop_free(world->loop);
    free(world);
    return 0;
}

/* ---- client ---- */

static void test_discovery_chooses_a_version(void **state)
{
    struct world *world = *state;
    assert_string_equal(world->config_maps.version, "v1");
    assert_true(str_starts_with(world->slices.version, "v1"));
    assert_true(str_starts_with(world->budgets.version, "v1"));
}

static void test_verbs(void **state)
{
    struct world *world = *state;
    const struct kube_resource *resource = &world->config_maps;
    struct kube_outcome outcome = {.done = false};
    _cleanup_(json_decrefp) json_t *object = config_map(world, "verbs", "1");
    kube_create(world->client, resource, world->ns, object, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_NONE);
    kube_create(world->client, resource, world->ns, object, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_EXISTS);
    kube_get(world->client, resource, world->ns, "none", on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_NOT_FOUND);
    assert_int_equal(apply_config_map(world, "verbs", "2"), ERROR_NONE);
    kube_get(world->client, resource, world->ns, "verbs", on_done, &outcome);
    assert_int_equal(settle(world, &outcome), ERROR_NONE);
    assert_string_equal(json_path_str(outcome.object, "data.key", ""), "2");
    _cleanup_(json_decrefp) json_t *live = json_incref(outcome.object);
    kube_outcome_release(&outcome);
    _cleanup_(json_decrefp) json_t *patch = json_build("{s:{s:s}}", "data", "key", "3");
    kube_patch(world->client, resource, world->ns, "verbs", NULL, KUBE_PATCH_MERGE, patch, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_NONE);
    kube_update(world->client, resource, NULL, live, on_done, &outcome); /* of an old version by now */
    assert_int_equal(settle_quietly(world, &outcome), ERROR_CONFLICT);
}

static void test_preconditions(void **state)
{
    struct world *world = *state;
    struct kube_outcome outcome = {.done = false};
    assert_int_equal(apply_config_map(world, "guarded", "1"), ERROR_NONE);
    struct kube_delete_options options = {.uid = "00000000-0000-0000-0000-000000000001", .grace_seconds = -1};
    kube_delete(world->client, &world->config_maps, world->ns, "guarded", &options, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_CONFLICT);
    _cleanup_(json_decrefp) json_t *stale = config_map(world, "guarded", "2");
    json_put_str(json_object_get(stale, "metadata"), "resourceVersion", "1");
    kube_apply(world->client, &world->config_maps, stale, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_CONFLICT);
    kube_get(world->client, &world->config_maps, world->ns, "guarded", on_done, &outcome);
    assert_int_equal(settle(world, &outcome), ERROR_NONE);
    assert_string_equal(json_path_str(outcome.object, "data.key", ""), "1");
    char *uid = xstrdup(json_path_str(outcome.object, "metadata.uid", ""));
    kube_outcome_release(&outcome);
    options.uid = uid;
    kube_delete(world->client, &world->config_maps, world->ns, "guarded", &options, on_done, &outcome);
    assert_int_equal(settle(world, &outcome), ERROR_NONE);
    assert_null(outcome.object); /* a Status */
    kube_outcome_release(&outcome);
    free(uid);
}

static void on_counted(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    UNUSED(err);
    ++*(int *)arg;
}

static void test_free_with_requests_in_flight(void **state)
{
    struct world *world = *state;
    struct error err = ERROR_INIT;
    struct kube_client *other = kube_client_new(world->loop, world->http, &world->config, NULL, &err);
    int answers = 0;
    for (int i = 0; i < 3 * KUBE_INFLIGHT_MAX; i++)
        kube_get(other, &world->namespaces, NULL, "default", on_counted, &answers);
    while (answers == 0)
        loop_run_once(world->loop, 10);
    kube_client_free(other);
    int before = answers;
    assert_true(before < 3 * KUBE_INFLIGHT_MAX);
    for (int i = 0; i < 20; i++)
        loop_run_once(world->loop, 10);
    assert_int_equal(answers, before);
}

/* ---- informer ---- */

struct seen {
    int added, changed, deleted;
    bool synced;
};

static void on_change(void *arg, const struct kube_object *old_object, const struct kube_object *new_object)
{
    struct seen *seen = arg;
    seen->added += old_object == NULL;
    seen->deleted += new_object == NULL;
    seen->changed += old_object && new_object;
}

static void on_synced(void *arg)
{
    ((struct seen *)arg)->synced = true;
}

static struct informer *start_informer(struct world *world, struct seen *seen, int64_t watch_timeout_ms)
{
    const struct informer_options options = {
        .ns = world->ns, .label_selector = "app=" LABEL, .watch_timeout_ms = watch_timeout_ms};
    struct informer *informer =
        informer_new(world->loop, world->client, &world->config_maps, &kube_projection_child, &options);
    informer_add_handler(informer, on_change, seen);
    informer_on_sync(informer, on_synced, seen);
    informer_start(informer);
    run_until(world, &seen->synced);
    return informer;
}

static void wait_count(struct world *world, const int *count, int wanted)
{
    int64_t deadline_ms = clock_monotonic_ms() + WAIT_MS;
    while (*count < wanted && clock_monotonic_ms() < deadline_ms)
        loop_run_once(world->loop, 50);
    assert_int_equal(*count, wanted);
}

static char *key_in(const struct world *world, const char *name)
{
    return kube_key(world->ns, name);
}

static void test_informer_follows(void **state)
{
    struct world *world = *state;
    struct seen seen = {.added = 0};
    struct informer *informer = start_informer(world, &seen, 1000); /* resumed every second */
    int before = (int)store_count(informer_store(informer));
    assert_int_equal(seen.added, before);
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof(name), "follow-%d", i);
        assert_int_equal(apply_config_map(world, name, "1"), ERROR_NONE);
        wait_count(world, &seen.added, before + i + 1);
        for (int turns = 0; turns < 14; turns++) /* let a watch end */
            loop_run_once(world->loop, 50);
    }
    _cleanup_(freep) char *key = key_in(world, "follow-0");
    uint64_t digest = store_get(informer_store(informer), key)->digest;
    assert_int_equal(apply_config_map(world, "follow-0", "2"), ERROR_NONE);
    wait_count(world, &seen.changed, 1);
    assert_true(store_get(informer_store(informer), key)->digest != digest);
    struct kube_outcome outcome = {.done = false};
    kube_delete(world->client, &world->config_maps, world->ns, "follow-0", NULL, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_NONE);
    wait_count(world, &seen.deleted, 1);
    assert_null(store_get(informer_store(informer), key));
    informer_free(informer);
}

/* The answer to a write is in the store at once, with the digest that a list and the watch give it as well. */
static void test_informer_reads_its_writes(void **state)
{
    struct world *world = *state;
    struct seen seen = {.added = 0};
    struct informer *informer = start_informer(world, &seen, 0);
    int before = seen.added;
    struct kube_outcome outcome = {.done = false};
    _cleanup_(json_decrefp) json_t *object = config_map(world, "own", "1");
    kube_apply(world->client, &world->config_maps, object, on_done, &outcome);
    assert_int_equal(settle(world, &outcome), ERROR_NONE);
    const struct kube_answer answer = {
        .object = outcome.object, .raw = {.data = outcome.raw, .len = strlen(outcome.raw)}, .status = 201};
    informer_observe_write(informer, &answer);
    _cleanup_(freep) char *key = key_in(world, "own");
    assert_non_null(store_get(informer_store(informer), key));
    uint64_t digest = store_get(informer_store(informer), key)->digest;
    assert_int_equal(apply_config_map(world, "own-after", "1"), ERROR_NONE);
    wait_count(world, &seen.added, before + 2);
    assert_int_equal(seen.changed, 0); /* the watch brought nothing new */
    kube_outcome_release(&outcome);
    informer_free(informer);
    seen = (struct seen){.added = 0};
    informer = start_informer(world, &seen, 0);
    assert_true(store_get(informer_store(informer), key)->digest == digest);
    informer_free(informer);
}

static void test_informer_pages(void **state)
{
    struct world *world = *state;
    enum { COUNT = 3 * KUBE_LIST_PAGE / 2 };
    static struct kube_outcome outcomes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof(name), "page-%04d", i);
        _cleanup_(json_decrefp) json_t *object = config_map(world, name, "x");
        kube_apply(world->client, &world->config_maps, object, on_done, &outcomes[i]);
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(settle_quietly(world, &outcomes[i]), ERROR_NONE);
    struct seen seen = {.added = 0};
    struct informer *informer = start_informer(world, &seen, 0);
    assert_true(store_count(informer_store(informer)) >= COUNT);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof(name), "page-%04d", i);
        _cleanup_(freep) char *key = key_in(world, name);
        assert_non_null(store_get(informer_store(informer), key));
    }
    informer_free(informer);
}

/* ---- fields that the API server does not know ---- */

static void test_unknown_fields_are_refused_where_that_is_asked_for(void **state)
{
    struct world *world = *state;
    const struct kube_resource *resource = &world->config_maps;
    struct kube_outcome outcome = {.done = false};
    _cleanup_(json_decrefp) json_t *object = config_map(world, "misspelt", "1");
    json_put(object, "dataa", json_build("{s:s}", "key", "1"));
    kube_create_strictly(world->client, resource, world->ns, object, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_INVALID);
    kube_create(world->client, resource, world->ns, object, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_NONE);
}

/* ---- the end ---- */

/* The last test. */
static void test_a_namespace_that_is_deleted(void **state)
{
    struct world *world = *state;
    const struct kube_resource *resource = &world->config_maps;
    struct kube_outcome outcome = {.done = false};
    _cleanup_(json_decrefp) json_t *object = config_map(world, "tried", "1");
    kube_try_create(world->client, resource, world->ns, object, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_NONE);
    kube_get(world->client, resource, world->ns, "tried", on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_NOT_FOUND);
    kube_delete(world->client, &world->namespaces, NULL, world->ns, NULL, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_NONE);
    kube_try_create(world->client, resource, world->ns, object, on_done, &outcome);
    assert_int_equal(settle_quietly(world, &outcome), ERROR_ENDING);
}

int main(void)
{
    if (!getenv("KM_TEST_KUBECONFIG")) {
        print_message("SKIPPED: KM_TEST_KUBECONFIG is not set, no API server to test against\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_discovery_chooses_a_version),
        cmocka_unit_test(test_verbs),
        cmocka_unit_test(test_preconditions),
        cmocka_unit_test(test_free_with_requests_in_flight),
        cmocka_unit_test(test_informer_follows),
        cmocka_unit_test(test_informer_reads_its_writes),
        cmocka_unit_test(test_informer_pages),
        cmocka_unit_test(test_unknown_fields_are_refused_where_that_is_asked_for),
        cmocka_unit_test(test_a_namespace_that_is_deleted),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
