/* SPDX-License-Identifier: Apache-2.0 */
/* What applications connect with, against the API double: made, followed, removed, never taken over. */
#include "common/base.h"

#include "operator/cluster/reconcile/cluster_binding.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/reconcile/secret_data.h"
#include "operator/kube/tests/kube_world.h"

#define APP "/api/v1/namespaces/" WORLD_NS "/secrets/app"
#define BUNDLE "/api/v1/namespaces/" WORLD_NS "/configmaps/bundle"
#define OURS "11111111-0000-4000-8000-000000000001"
#define FORMER "11111111-0000-4000-8000-00000000000f"

static const struct kube_resource secret_resource = {&kube_kind_secret, "v1"};

struct result {
    int done;
    struct cluster_binding_facts facts;
    struct error err;
};

static void on_done(void *arg, const struct cluster_binding_facts *facts, const struct error *err)
{
    struct result *result = arg;
    result->done++;
    result->facts = *facts;
    if (err)
        result->err = *err;
}

static bool is_done(const struct world *world, const void *arg)
{
    UNUSED(world);
    return ((const struct result *)arg)->done > 0;
}

static json_t *metadata_of(const char *uid)
{
    return json_build("{s:{s:s}, s:[{s:s, s:s, s:s, s:b}]}", "labels", "app", "a", "ownerReferences", "kind",
        "MysqlCluster", "name", "shop", "uid", uid, "controller", 1);
}

static struct cluster_binding_request usual_request(enum binding_wish wish)
{
    return (struct cluster_binding_request){
        .ns = WORLD_NS,
        .secret_name = "app",
        .bundle_name = "bundle",
        .wish = wish,
        .binding = {.host = "shop-mysql-primary.ns1.svc",
            .port = 3306,
            .username = "shop",
            .database = "shop",
            .password = "one",
            .ca_pem = "PEM\n"},
    };
}

static struct result ensure(struct world *world, struct cluster_binding_request request)
{
    struct result result = {.done = 0};
    _cleanup_(json_decrefp) json_t *metadata = metadata_of(OURS);
    request.metadata = metadata;
    cluster_binding_ensure(world->client, &secret_resource, &world->maps, &request, on_done, &result);
    assert_int_equal(result.done, 0);
    assert_true(world_run(world, is_done, &result, 20000));
    assert_int_equal(result.done, 1);
    return result;
}

static void assert_value(const struct world *world, const char *key, const char *wanted)
{
    _cleanup_(secret_freep) char *value = secret_data_get(json_path(kube_api_double_get(world->api, APP), "data"), key);
    assert_non_null(value);
    assert_string_equal(value, wanted);
}

static const char *bundle_pem(const struct world *world)
{
    return json_string_value(json_object_get(json_path(kube_api_double_get(world->api, BUNDLE), "data"), "ca.crt"));
}

static void put(struct world *world, const char *path, const char *kind, const char *owner)
{
    _cleanup_(json_decrefp) json_t *object = json_build("{s:s, s:s, s:o, s:{s:s}}", "apiVersion", "v1", "kind", kind,
        "metadata", owner ? metadata_of(owner) : json_object(), "data", "theirs", "eA==");
    kube_api_double_put(world->api, path, object);
}

static void both_are_made_once(void **state)
{
    struct world *world = *state;
    struct result result = ensure(world, usual_request(BINDING_WANTED));
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_true(result.facts.known && result.facts.has_secret);
    const json_t *app = kube_api_double_get(world->api, APP);
    assert_string_equal(json_path_str(app, "type", ""), "servicebinding.io/mysql");
    assert_string_equal(json_path_str(app, "metadata.ownerReferences[0].uid", ""), OURS);
    assert_string_equal(bundle_pem(world), "PEM\n");
    assert_value(world, "password", "one");
    size_t writes = kube_api_double_writes(world->api);
    result = ensure(world, usual_request(BINDING_WANTED));
    assert_true(result.facts.has_secret);
    assert_int_equal(kube_api_double_writes(world->api), writes);
}

static void they_follow(void **state)
{
    struct world *world = *state;
    struct cluster_binding_request request = usual_request(BINDING_WANTED);
    ensure(world, request);
    request.binding.password = "two";
    request.binding.ca_pem = "NEW\nPEM\n";
    struct result result = ensure(world, request);
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_value(world, "password", "two");
    assert_value(world, "uri", "mysql://shop:two@shop-mysql-primary.ns1.svc:3306/shop");
    assert_value(world, "ca.crt", "NEW\nPEM\n");
    assert_string_equal(bundle_pem(world), "NEW\nPEM\n");
}

static void what_does_not_belong_there_goes(void **state)
{
    struct world *world = *state;
    put(world, APP, "Secret", OURS);
    put(world, BUNDLE, "ConfigMap", OURS);
    ensure(world, usual_request(BINDING_WANTED));
    assert_int_equal(json_object_size(json_path(kube_api_double_get(world->api, APP), "data")), 10);
    assert_int_equal(json_object_size(json_path(kube_api_double_get(world->api, BUNDLE), "data")), 1);
}

static void a_deleted_one_comes_back(void **state)
{
    struct world *world = *state;
    ensure(world, usual_request(BINDING_WANTED));
    kube_api_double_remove(world->api, APP);
    kube_api_double_remove(world->api, BUNDLE);
    struct result result = ensure(world, usual_request(BINDING_WANTED));
    assert_true(result.facts.has_secret);
    assert_string_equal(bundle_pem(world), "PEM\n");
}

static void without_a_user_there_is_no_secret(void **state)
{
    struct world *world = *state;
    struct result result = ensure(world, usual_request(BINDING_NONE));
    assert_true(result.facts.known && !result.facts.has_secret);
    assert_null(kube_api_double_get(world->api, APP));
    assert_string_equal(bundle_pem(world), "PEM\n");
    ensure(world, usual_request(BINDING_WANTED));
    result = ensure(world, usual_request(BINDING_KEEP));
    assert_true(result.facts.has_secret);
    assert_value(world, "password", "one");
    result = ensure(world, usual_request(BINDING_NONE));
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_false(result.facts.has_secret);
    assert_null(kube_api_double_get(world->api, APP));
}

static void what_is_somebody_elses_is_named_and_left(void **state)
{
    struct world *world = *state;
    put(world, APP, "Secret", NULL);
    struct result result = ensure(world, usual_request(BINDING_WANTED));
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_true(str_starts_with(result.facts.conflict, "Secret app: "));
    assert_false(result.facts.has_secret);
    assert_value(world, "theirs", "x");
    assert_string_equal(bundle_pem(world), "PEM\n"); /* the other one is made */
    result = ensure(world, usual_request(BINDING_NONE));
    assert_string_equal(result.facts.conflict, ""); /* in nobody's way */
    assert_value(world, "theirs", "x");
    kube_api_double_remove(world->api, APP);
    put(world, BUNDLE, "ConfigMap", NULL);
    result = ensure(world, usual_request(BINDING_WANTED));
    assert_true(str_starts_with(result.facts.conflict, "ConfigMap bundle: "));
    assert_null(bundle_pem(world));
}

/* All that it says is ours again, as it is wanted now. */
static void an_orphan_is_taken_over(void **state)
{
    struct world *world = *state;
    static const char *const paths[] = {APP, BUNDLE};
    struct cluster_binding_request request = usual_request(BINDING_WANTED);
    ensure(world, request);
    for (int changed = 0; changed < 2; changed++) {
        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
            _cleanup_(json_decrefp) json_t *changes =
                json_build("{s:{s:n, s:[{s:s}]}, s:{s:s}}", "metadata", "ownerReferences", "managedFields", "manager",
                    kube_client_field_manager(world->client), "data", changed ? "planted" : "ca.crt", "eA==");
            kube_api_double_edit(world->api, paths[i], changes);
        }
        struct result result = ensure(world, request);
        assert_int_equal(result.err.kind, ERROR_NONE);
        assert_string_equal(result.facts.conflict, "");
        assert_true(result.facts.has_secret);
        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
            const json_t *object = kube_api_double_get(world->api, paths[i]);
            assert_string_equal(json_path_str(object, "metadata.ownerReferences[0].uid", ""), OURS);
            assert_null(json_path(object, "data.planted"));
        }
        assert_value(world, "password", "one");
        assert_string_equal(bundle_pem(world), "PEM\n");
    }
}

static void a_former_clusters_is_waited_for(void **state)
{
    struct world *world = *state;
    put(world, APP, "Secret", FORMER);
    struct result result = ensure(world, usual_request(BINDING_WANTED));
    assert_int_equal(result.err.kind, ERROR_CONFLICT);
    assert_false(result.facts.known);
    assert_value(world, "theirs", "x");
}

static void any_failing_call_is_told_and_the_next_pass_completes(void **state)
{
    struct world *world = *state;
    const struct kube_client_options options = {.max_attempts = 1};
    static const char *const methods[] = {"GET", "POST"};
    world_new_client(world, &options);
    for (size_t method = 0; method < ARRAY_LEN(methods); method++)
        for (int nth = 1; nth <= 2; nth++) {
            const struct kube_api_fault fault = {.method = methods[method], .nth = nth, .status = 500};
            kube_api_double_remove(world->api, APP);
            kube_api_double_remove(world->api, BUNDLE);
            kube_api_double_fault(world->api, &fault);
            struct result result = ensure(world, usual_request(BINDING_WANTED));
            assert_int_equal(result.err.kind, ERROR_UNAVAILABLE);
            assert_false(result.facts.known);
            result = ensure(world, usual_request(BINDING_WANTED));
            assert_int_equal(result.err.kind, ERROR_NONE);
            assert_true(result.facts.known && result.facts.has_secret && bundle_pem(world));
        }
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(both_are_made_once),
        WORLD_TEST(they_follow),
        WORLD_TEST(what_does_not_belong_there_goes),
        WORLD_TEST(a_deleted_one_comes_back),
        WORLD_TEST(without_a_user_there_is_no_secret),
        WORLD_TEST(what_is_somebody_elses_is_named_and_left),
        WORLD_TEST(an_orphan_is_taken_over),
        WORLD_TEST(a_former_clusters_is_waited_for),
        WORLD_TEST(any_failing_call_is_told_and_the_next_pass_completes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
