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

static void apply(struct world *world, const char *uid, int port)
{
    struct plan *plan = plan_new();
    json_t *service = json_build("{s:s, s:s, s:{s:s, s:s}, s:{s:[{s:s, s:i, s:i, s:s}]}}", "apiVersion", "v1", "kind",
        "Service", "metadata", "name", world->name, "namespace", NS, "spec", "ports", "name", "mysql", "port", port,
        "targetPort", 3306, "protocol", "TCP");
    plan_add_apply(plan, PLAN_SERVICE, uid, service, NULL);
    plan_execute(world->loop, &world->targets, plan, NULL, on_plan_done, world);
    await(world);
    if (world->err.kind)
        fail_msg("%s", world->err.message);
    kube_get(world->client, &world->services, NS, world->name, on_answered, world);
    await(world);
    assert_int_equal(json_array_size(json_path(world->object, "spec.ports")), 1);
    assert_int_equal(json_path_int(world->object, "spec.ports[0].port", 0), port);
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

int main(void)
{
    if (!getenv("KM_TEST_KUBECONFIG")) {
        print_message("SKIPPED: KM_TEST_KUBECONFIG is not set, no API server to test against\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_is_changed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
