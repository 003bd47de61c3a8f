/* SPDX-License-Identifier: Apache-2.0 */
/* Plans against a real API server (KM_TEST_KUBECONFIG, see build-aux/run-integration.sh): what only server-side
 * apply shows. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/json.h"
#include "operator/plan/plan_executor.h"

#define WAIT_MS 20000
#define NS "default"

struct world {
    struct loop *loop;
    struct http_client *http;
    struct kube_config config;
    struct kube_client *client;
    struct kube_client *editor; /* somebody else, of another field manager */
    struct kube_resource services;
    struct plan_targets targets;
    char name[64];
    /* Of what was begun last. */
    bool done;
    struct error err;
    json_t *object;
};

static void await(struct world *world)
{
    int64_t end_ms = clock_monotonic_ms() + WAIT_MS;
    while (!world->done && clock_monotonic_ms() < end_ms)
        loop_run_once(world->loop, 50);
    assert_true(world->done);
    world->done = false;
}

static void on_discovered(void *arg, const struct error *err)
{
    struct world *world = arg;
    world->done = true;
    assert_null(err);
}

static int set_up(void **state)
{
    static const struct kube_kind *const kinds[] = {&kube_kind_service};
    struct world *world = xnew(struct world);
    struct error err = ERROR_INIT;
    uint64_t seed = random_seed();
    *state = world;
    world->loop = loop_new();
    world->http = http_client_new(world->loop);
    if (kube_config_load(getenv("KM_TEST_KUBECONFIG"), NULL, &world->config, &err) < 0)
        fail_msg("%s", err.message);
    world->client = kube_client_new(world->loop, world->http, &world->config, NULL, &err);
    assert_non_null(world->client);
    static const struct kube_client_options somebody = {.field_manager = "kubectl-edit"};
    world->editor = kube_client_new(world->loop, world->http, &world->config, &somebody, &err);
    assert_non_null(world->editor);
    kube_discover(world->client, kinds, ARRAY_LEN(kinds), &world->services, on_discovered, world);
    await(world);
    world->targets.client = world->client;
    world->targets.kinds[PLAN_SERVICE].resource = &world->services;
    snprintf(world->name, sizeof(world->name), "itest-%08llx", (unsigned long long)(random_next(&seed) >> 32));
    return 0;
}

static void on_answered(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct world *world = arg;
    world->done = true;
    world->err = err ? *err : (struct error)ERROR_INIT;
    json_decref(world->object);
    world->object = err ? NULL : json_deep_copy(answer->object);
}

static int tear_down(void **state)
{
    struct world *world = *state;
    kube_delete(world->client, &world->services, NS, world->name, NULL, on_answered, world);
    await(world);
    json_decref(world->object);
    kube_client_free(world->editor);
    kube_client_free(world->client);
    http_client_free(world->http);
    kube_config_release(&world->config);
    loop_free(world->loop);
    free(world);
    return 0;
}

static void on_plan_done(void *arg, const struct plan *plan, const struct error *err)
{
    struct world *world = arg;
    UNUSED(plan);
    world->done = true;
    world->err = err ? *err : (struct error)ERROR_INIT;
}

static json_t *port_of(const char *name, int port)
{
    json_t *item = json_build("{s:i, s:i, s:s}", "port", port, "targetPort", 3306, "protocol", "TCP");
    json_put_str(item, "name", name);
    return item;
}

static json_t *service_with(struct world *world, json_t *ports)
{
    return json_build("{s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:{s:o}}", "apiVersion", "v1", "kind", "Service", "metadata",
        "name", world->name, "namespace", NS, "labels", "made-by", "itest", "spec", "ports", ports);
}

static void read_service(struct world *world)
{
    kube_get(world->client, &world->services, NS, world->name, on_answered, world);
    await(world);
}

static void carry_out(struct world *world, const char *uid, json_t *service)
{
    struct plan *plan = plan_new();
    plan_add_apply(plan, PLAN_SERVICE, uid, service, NULL);
    plan_execute(world->loop, &world->targets, plan, NULL, on_plan_done, world);
    await(world);
    if (world->err.kind)
        fail_msg("%s", world->err.message);
    read_service(world);
}

static void apply(struct world *world, const char *uid, int port)
{
    carry_out(world, uid, service_with(world, json_build("[o]", port_of("mysql", port))));
    assert_int_equal(json_array_size(json_path(world->object, "spec.ports")), 1);
    assert_int_equal(json_path_int(world->object, "spec.ports[0].port", 0), port);
}

/* What `kubectl edit` and a merge patch send: the whole list. */
static void edit_ports(struct world *world, json_t *ports)
{
    _cleanup_(json_decrefp) json_t *patch = json_build("{s:{s:o}}", "spec", "ports", ports);
    kube_patch(world->editor, &world->services, NS, world->name, NULL, KUBE_PATCH_MERGE, patch, on_answered, world);
    await(world);
    if (world->err.kind)
        fail_msg("%s", world->err.message);
}

/* The port is the key of its item: until what the POST wrote is adopted, the old and the new item would have one
 * name. */
static void a_port_is_changed(void **state)
{
    struct world *world = *state;
    apply(world, NULL, 3306);
    char uid[64];
    snprintf(uid, sizeof(uid), "%s", json_path_str(world->object, "metadata.uid", ""));
    apply(world, uid, 3307);
    apply(world, uid, 3306);
}

/* Somebody else's item is kept by the list's key, and has the name of ours. */
static void a_port_that_somebody_changed_is_set_back(void **state)
{
    struct world *world = *state;
    static const char *const names[] = {"mysql", NULL}; /* one port needs no name, two do */
    apply(world, NULL, 3306);
    char uid[64];
    snprintf(uid, sizeof(uid), "%s", json_path_str(world->object, "metadata.uid", ""));
    for (int i = 0; i < 4; i++) { /* as it was created, and as it was applied */
        edit_ports(world, json_build("[o]", port_of(names[i % 2], 3307)));
        apply(world, uid, 3306);
        assert_string_equal(json_path_str(world->object, "spec.ports[0].name", ""), "mysql");
    }
    edit_ports(world,
        json_build("[{s:s, s:i, s:i, s:s}]", "name", "mysql", "port", 3306, "targetPort", 3306, "protocol", "UDP"));
    apply(world, uid, 3306);
    assert_string_equal(json_path_str(world->object, "spec.ports[0].protocol", ""), "TCP");
}

/* As the headless Service: the one that was changed comes back, and a third that somebody added is theirs. */
static void other_ports_stay(void **state)
{
    struct world *world = *state;
    carry_out(world, NULL, service_with(world, json_build("[o, o]", port_of("mysql", 3306), port_of("agent", 8443))));
    char uid[64];
    snprintf(uid, sizeof(uid), "%s", json_path_str(world->object, "metadata.uid", ""));
    edit_ports(world, json_build("[o, o, o]", port_of("mysql", 3307), port_of("agent", 8443), port_of("more", 9104)));
    carry_out(world, uid, service_with(world, json_build("[o, o]", port_of("mysql", 3306), port_of("agent", 8443))));
    const json_t *ports = json_path(world->object, "spec.ports");
    assert_int_equal(json_array_size(ports), 3);
    for (size_t i = 0; i < json_array_size(ports); i++)
        assert_int_not_equal(json_path_int(json_array_get(ports, i), "port", 0), 3307);
}

static void the_node_port_stays(void **state)
{
    struct world *world = *state;
    json_t *service = service_with(world, json_build("[o]", port_of("mysql", 3306)));
    json_put_str(json_object_get(service, "spec"), "type", "NodePort");
    carry_out(world, NULL, json_incref(service));
    char uid[64];
    snprintf(uid, sizeof(uid), "%s", json_path_str(world->object, "metadata.uid", ""));
    int64_t node_port = json_path_int(world->object, "spec.ports[0].nodePort", 0);
    json_t *edited = port_of("mysql", 3307);
    json_put_int(edited, "nodePort", node_port);
    edit_ports(world, json_build("[o]", edited));
    carry_out(world, uid, service);
    assert_int_equal(json_array_size(json_path(world->object, "spec.ports")), 1);
    assert_int_equal(json_path_int(world->object, "spec.ports[0].port", 0), 3306);
    assert_int_equal(json_path_int(world->object, "spec.ports[0].nodePort", 0), node_port);
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    if (!getenv("KM_TEST_KUBECONFIG")) {
        print_message("SKIPPED: KM_TEST_KUBECONFIG is not set, no API server to test against\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_port_is_changed),
        WORLD_TEST(a_port_that_somebody_changed_is_set_back),
        WORLD_TEST(other_ports_stay),
        WORLD_TEST(the_node_port_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
