/* SPDX-License-Identifier: Apache-2.0 */
/* kube_client_test.c: verbs and the retry policy against the API double. */
#include "common/base.h"

#include "operator/kube/kube_client.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/json.h"
#include "operator/kube/kube_client_private.h"
#include "operator/kube/tests/kube_world.h"

#define PATH WORLD_MAPS_IN_NS "/one"

/* ---- errors and retries as pure functions ---- */

static void test_error_from_status(void **state)
{
    UNUSED(state);
    static const struct {
        int status;
        const char *body;
        enum error_kind kind;
        const char *message;
        uint32_t retry_after_ms;
    } cases[] = {
        {409, "{\"kind\":\"Status\",\"message\":\"it is there\",\"reason\":\"AlreadyExists\"}", ERROR_EXISTS,
            "it is there", 0},
        {409, "{\"kind\":\"Status\",\"message\":\"m\",\"reason\":\"Conflict\"}", ERROR_CONFLICT, "m", 0},
        {410, "{\"reason\":\"Expired\",\"message\":\"old\"}", ERROR_GONE, "old", 0},
        {410, "", ERROR_GONE, "HTTP status 410: ", 0},
        {404, "404 page not found\n", ERROR_NOT_FOUND, "HTTP status 404: 404 page not found", 0},
        {422, "{\"reason\":\"Invalid\",\"message\":\"spec.x: Required\"}", ERROR_INVALID, "spec.x: Required", 0},
        {429, "{\"reason\":\"TooManyRequests\",\"message\":\"m\",\"details\":{\"retryAfterSeconds\":3}}",
            ERROR_THROTTLED, "m", 3000},
        {500, "{\"reason\":\"InternalError\",\"message\":\"etcd\"}", ERROR_UNAVAILABLE, "etcd", 0},
        {504, "{\"reason\":\"Timeout\",\"message\":\"m\"}", ERROR_UNAVAILABLE, "m", 0},
        {403, "{\"reason\":\"Forbidden\",\"message\":\"no\"}", ERROR_FORBIDDEN, "no", 0},
        {403,
            "{\"reason\":\"Forbidden\",\"message\":\"no\",\"details\":{\"causes\":[{\"reason\":\"NamespaceTerminating\","
            "\"message\":\"namespace a is being terminated\",\"field\":\"metadata.namespace\"}]}}",
            ERROR_ENDING, "no", 0},
        {403, "{\"reason\":\"Forbidden\",\"message\":\"no\",\"details\":{\"name\":\"NamespaceTerminating\"}}",
            ERROR_FORBIDDEN, "no", 0},
        {401, "{", ERROR_UNAUTHORIZED, "HTTP status 401: {", 0},
        {413, "", ERROR_TOO_LARGE, "HTTP status 413: ", 0},
        {302, "", ERROR_PROTOCOL, "HTTP status 302: ", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = ERROR_INIT;
        assert_int_equal(kube_error_from_status(&err, cases[i].status, cases[i].body, strlen(cases[i].body)), -1);
        assert_int_equal(err.kind, cases[i].kind);
        assert_int_equal(err.code, cases[i].status);
        assert_string_equal(err.message, cases[i].message);
        assert_int_equal(err.retry_after_ms, cases[i].retry_after_ms);
    }
}

static void test_may_repeat(void **state)
{
    UNUSED(state);
    static const struct {
        int status;
        enum error_kind kind;
        bool sent, once_more, once_more_if_repeatable;
    } cases[] = {
        {0, ERROR_UNAVAILABLE, false, true, true}, /* refused: it did not start */
        {0, ERROR_UNAVAILABLE, true, false, true}, /* lost: it may have had its effect */
        {0, ERROR_TIMEOUT, true, false, true},
        {0, ERROR_INVALID, false, false, false},
        {200, ERROR_PROTOCOL, true, false, true}, /* cut in mid-body */
        {429, ERROR_NONE, true, true, true},
        {500, ERROR_NONE, true, false, true},
        {503, ERROR_NONE, true, false, true},
        {501, ERROR_NONE, true, false, false},
        {409, ERROR_NONE, true, false, false},
        {404, ERROR_NONE, true, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct http_response response = {.status = cases[i].status, .sent = cases[i].sent};
        const struct error err = {.kind = cases[i].kind};
        const struct error *given = cases[i].kind == ERROR_NONE ? NULL : &err;
        assert_int_equal(kube_may_repeat(false, &response, given), cases[i].once_more);
        assert_int_equal(kube_may_repeat(true, &response, given), cases[i].once_more_if_repeatable);
    }
}

/* ---- one verb, one fault ---- */

enum verb { GET, CREATE, APPLY, UPDATE, PATCH_MERGE, DELETE, DELETE_UID };

static const char *uid_of(struct world *world)
{
    return json_path_str(kube_api_double_get(world->api, PATH), "metadata.uid", "");
}

static struct kube_request *start(struct world *world, enum verb verb, kube_done_fn done, void *arg)
{
    _cleanup_(json_decrefp) json_t *object = world_map(verb == CREATE ? "other" : "one", "2");
    struct kube_delete_options options = {.grace_seconds = -1};
    switch (verb) {
    case GET:
        return kube_get(world->client, &world->maps, WORLD_NS, "one", done, arg);
    case CREATE:
        return kube_create(world->client, &world->maps, WORLD_NS, object, done, arg);
    case APPLY:
        return kube_apply(world->client, &world->maps, object, done, arg);
    case UPDATE:
        return kube_update(world->client, &world->maps, NULL, object, done, arg);
    case PATCH_MERGE:
        return kube_patch(world->client, &world->maps, WORLD_NS, "one", NULL, KUBE_PATCH_MERGE, object, done, arg);
    case DELETE_UID:
        options.uid = uid_of(world);
        /* fall through */
    case DELETE:
        return kube_delete(world->client, &world->maps, WORLD_NS, "one", &options, done, arg);
    }
    return NULL;
}

static void test_verbs_and_faults(void **state)
{
    static const struct {
        enum verb verb;
        struct kube_api_fault fault;
        enum error_kind kind;
        size_t requests;
    } cases[] = {
        {GET, {.method = "GET", .status = 500}, ERROR_NONE, 2},
        {GET, {.method = "GET", .kind = KUBE_API_FAULT_RESET, .times = 2}, ERROR_NONE, 3},
        {GET, {.method = "GET", .kind = KUBE_API_FAULT_CUT}, ERROR_NONE, 2},
        {GET, {.method = "GET", .status = 503, .times = -1}, ERROR_UNAVAILABLE, 3},
        {GET, {.method = "GET", .status = 403}, ERROR_FORBIDDEN, 1},
        {GET, {.method = "GET", .status = 401}, ERROR_UNAUTHORIZED, 1},
        {APPLY, {.method = "PATCH", .status = 500}, ERROR_NONE, 2},
        {APPLY, {.method = "PATCH", .status = 500, .carried_out = true}, ERROR_NONE, 2},
        {APPLY, {.method = "PATCH", .kind = KUBE_API_FAULT_CUT}, ERROR_NONE, 2},
        {APPLY, {.method = "PATCH", .kind = KUBE_API_FAULT_RESET, .carried_out = true}, ERROR_NONE, 2},
        {APPLY, {.method = "PATCH", .status = 409}, ERROR_CONFLICT, 1},
        {APPLY, {.method = "PATCH", .status = 422}, ERROR_INVALID, 1},
        {CREATE, {.method = "POST", .status = 429}, ERROR_NONE, 2},
        {CREATE, {.method = "POST", .status = 500}, ERROR_UNAVAILABLE, 1},
        {CREATE, {.method = "POST", .kind = KUBE_API_FAULT_RESET}, ERROR_UNAVAILABLE, 1},
        {CREATE, {.method = "POST", .kind = KUBE_API_FAULT_RESET, .carried_out = true}, ERROR_UNAVAILABLE, 1},
        {UPDATE, {.method = "PUT", .status = 503}, ERROR_UNAVAILABLE, 1},
        {PATCH_MERGE, {.method = "PATCH", .status = 500}, ERROR_UNAVAILABLE, 1},
        {PATCH_MERGE, {.method = "PATCH", .status = 429, .times = -1}, ERROR_THROTTLED, 3},
        {DELETE, {.method = "DELETE", .status = 500}, ERROR_UNAVAILABLE, 1},
        {DELETE_UID, {.method = "DELETE", .status = 500}, ERROR_NONE, 2},
        {DELETE_UID, {.method = "DELETE", .status = 500, .carried_out = true}, ERROR_NOT_FOUND, 2},
        {GET, {.method = "GET", .kind = KUBE_API_FAULT_GARBAGE}, ERROR_PROTOCOL, 1},
    };
    struct world *world = *state;
    const struct kube_client_options options = {.max_attempts = 3};
    world_new_client(world, &options);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kube_outcome outcome = {.count = 0};
        world_put(world, "one", "1");
        world_remove(world, "other");
        size_t before = kube_api_double_requests(world->api, NULL, NULL);
        kube_api_double_fault(world->api, &cases[i].fault);
        start(world, cases[i].verb, kube_outcome_done, &outcome);
        enum error_kind kind = world_settle(world, &outcome);
        size_t requests = kube_api_double_requests(world->api, NULL, NULL) - before;
        if (kind != cases[i].kind || requests != cases[i].requests)
            fail_msg("case %zu: %s after %zu requests: %s", i, error_kind_name(kind), requests, outcome.err.message);
        assert_int_equal(outcome.count, 1);
        assert_true(kind == ERROR_NONE || !outcome.object);
        kube_api_double_clear_faults(world->api);
        kube_outcome_release(&outcome);
    }
}

static void test_retry_after_is_followed(void **state)
{
    struct world *world = *state;
    struct kube_outcome outcome = {.count = 0};
    world_put(world, "one", "1");
    kube_api_double_fault(world->api, &(struct kube_api_fault){.status = 429, .retry_after_s = 1});
    start(world, GET, kube_outcome_done, &outcome);
    world_run_for(world, 800);
    assert_int_equal(outcome.count, 0); /* a back-off would have been over */
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    kube_outcome_release(&outcome);
}

static void test_timeout(void **state)
{
    struct world *world = *state;
    const struct kube_client_options options = {.timeout_ms = 100};
    world_new_client(world, &options);
    struct kube_outcome outcome = {.count = 0};
    world_put(world, "one", "1");
    kube_api_double_fault(world->api, &(struct kube_api_fault){.kind = KUBE_API_FAULT_SILENCE});
    start(world, GET, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    kube_outcome_release(&outcome);
    kube_api_double_fault(world->api, &(struct kube_api_fault){.kind = KUBE_API_FAULT_SILENCE});
    start(world, CREATE, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_TIMEOUT);
    kube_outcome_release(&outcome);
}

static void test_refused_connection(void **state)
{
    struct world *world = *state;
    const struct kube_client_options options = {.max_attempts = 2};
    str_replace(&world->config.server, "http://127.0.0.1:1");
    world_new_client(world, &options);
    struct kube_outcome outcome = {.count = 0};
    start(world, CREATE, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_UNAVAILABLE);
    assert_non_null(strstr(outcome.err.message, "POST " WORLD_MAPS_IN_NS));
    kube_outcome_release(&outcome);
}

static bool may_write_now(void *arg)
{
    return *(const bool *)arg;
}

static void forbid(void *arg)
{
    *(bool *)arg = false;
}

/* Reads go on; neither a first attempt of a write nor a second one is made. */
static void test_no_writes_once_they_are_unwelcome(void **state)
{
    struct world *world = *state;
    bool welcome = true;
    const struct kube_client_options options = {.may_write = may_write_now, .may_write_arg = &welcome};
    struct loop_timer timer;
    struct kube_outcome outcome = {.count = 0};
    world_new_client(world, &options);
    world_put(world, "one", "1");
    loop_timer_init(&timer, world->loop, forbid, &welcome);
    loop_timer_arm(&timer, 20);
    kube_api_double_fault(world->api, &(struct kube_api_fault){.method = "PATCH", .status = 429, .retry_after_s = 1});
    start(world, APPLY, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_CANCELLED);
    assert_int_equal(kube_api_double_requests(world->api, "PATCH", NULL), 1);
    kube_outcome_release(&outcome);
    static const enum verb writes[] = {CREATE, APPLY, UPDATE, PATCH_MERGE, DELETE};
    for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
        start(world, writes[i], kube_outcome_done, &outcome);
        assert_int_equal(outcome.count, 0); /* never inside the call */
        assert_int_equal(world_settle(world, &outcome), ERROR_CANCELLED);
        kube_outcome_release(&outcome);
    }
    size_t requests = kube_api_double_requests(world->api, NULL, NULL);
    start(world, GET, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    kube_outcome_release(&outcome);
    assert_int_equal(kube_api_double_requests(world->api, NULL, NULL), requests + 1);
    assert_int_equal(requests, 1);
    loop_timer_release(&timer);
    world_new_client(world, NULL);
}

/* ---- token ---- */

static void write_token(const char *path, const char *token)
{
    struct error err = ERROR_INIT;
    assert_int_equal(fs_write_file_atomic(path, token, strlen(token), 0600, &err), 0);
}

static void test_token_is_read_again_after_401(void **state)
{
    struct world *world = *state;
    char path[] = "/tmp/km-token-XXXXXX";
    close(mkstemp(path));
    write_token(path, "first\n");
    world->config.token_file = xstrdup(path);
    world_new_client(world, NULL);
    struct kube_outcome outcome = {.count = 0};
    world_put(world, "one", "1");
    kube_api_double_fault(world->api, &(struct kube_api_fault){.status = 401});
    start(world, CREATE, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    kube_outcome_release(&outcome);
    kube_api_double_fault(world->api, &(struct kube_api_fault){.status = 401, .times = 2});
    start(world, GET, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_UNAUTHORIZED); /* once more, not for ever */
    kube_outcome_release(&outcome);
    unlink(path);
}

static void test_token_file_must_be_there(void **state)
{
    struct world *world = *state;
    struct error err = ERROR_INIT;
    world->config.token_file = xstrdup("/nonexistent/token");
    assert_null(kube_client_new(world->loop, world->http, &world->config, NULL, &err));
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
}

/* ---- queue, cancel, free ---- */

static void count_call(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    UNUSED(err);
    ++*(int *)arg;
}

static bool count_is(const struct world *world, const void *arg)
{
    UNUSED(world);
    const int *counts = arg;
    return counts[0] == counts[1];
}

static void test_queue_bounds_what_is_in_flight(void **state)
{
    struct world *world = *state;
    int counts[2] = {0, 1000};
    world_put(world, "one", "1");
    for (int i = 0; i < counts[1]; i++)
        start(world, GET, count_call, &counts[0]);
    size_t connections;
    size_t in_flight;
    http_client_stats(world->http, &connections, &in_flight);
    assert_int_equal(in_flight, KUBE_INFLIGHT_MAX);
    assert_true(world_run(world, count_is, counts, 20000));
    world_run_for(world, 50);
    assert_int_equal(counts[0], counts[1]);
}

static void test_rate_limit(void **state)
{
    struct world *world = *state;
    const struct kube_client_options options = {.qps = 50, .burst = 5};
    world_new_client(world, &options);
    int counts[2] = {0, 15};
    world_put(world, "one", "1");
    int64_t begin_ms = clock_monotonic_ms();
    for (int i = 0; i < counts[1]; i++)
        start(world, GET, count_call, &counts[0]);
    assert_true(world_run(world, count_is, counts, 20000));
    assert_true(clock_monotonic_ms() - begin_ms >= 190); /* ten of them waited 20 ms each */
}

static void test_full_queue_refuses(void **state)
{
    struct world *world = *state;
    int answers = 0;
    struct kube_outcome outcome = {.count = 0};
    for (int i = 0; i < KUBE_QUEUE_MAX; i++)
        kube_get(world->client, &world->maps, WORLD_NS, "none", count_call, &answers);
    start(world, GET, kube_outcome_done, &outcome);
    assert_int_equal(outcome.count, 0); /* never inside the call */
    loop_run_once(world->loop, 1000);
    assert_int_equal(outcome.count, 1);
    assert_int_equal(outcome.err.kind, ERROR_THROTTLED);
    kube_outcome_release(&outcome);
}

static void test_cancel_in_every_state(void **state)
{
    struct world *world = *state;
    int answers = 0;
    world_put(world, "one", "1");
    struct kube_request *running = start(world, GET, count_call, &answers);
    kube_request_cancel(running);
    kube_api_double_fault(world->api, &(struct kube_api_fault){.status = 429, .retry_after_s = 5});
    struct kube_request *waiting = start(world, GET, count_call, &answers);
    world_run_for(world, 100);
    kube_request_cancel(waiting);
    struct kube_request *requests[2 * KUBE_INFLIGHT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        requests[i] = start(world, GET, count_call, &answers);
    for (size_t i = ARRAY_LEN(requests); i-- > 0;)
        kube_request_cancel(requests[i]);
    world_run_for(world, 100);
    assert_int_equal(answers, 0);
    struct kube_outcome outcome = {.count = 0};
    start(world, GET, kube_outcome_done, &outcome); /* the slots are free again */
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    kube_outcome_release(&outcome);
}

static void free_client(void *arg, const struct kube_answer *answer, const struct error *err)
{
    UNUSED(answer);
    UNUSED(err);
    struct world *world = arg;
    kube_client_free(steal_ptr(world->client));
}

static void test_free_from_a_callback(void **state)
{
    struct world *world = *state;
    for (int i = 0; i < 2 * KUBE_INFLIGHT_MAX; i++)
        start(world, GET, free_client, world);
    world_run_for(world, 100);
    assert_null(world->client);
}

/* ---- verbs on a good day ---- */

static void test_preconditions_and_status(void **state)
{
    struct world *world = *state;
    struct kube_outcome outcome = {.count = 0};
    world_put(world, "one", "1");
    _cleanup_(json_decrefp) json_t *object = world_map("one", "2");
    json_put_str(json_object_get(object, "metadata"), "uid", "other");
    kube_apply(world->client, &world->maps, object, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_CONFLICT);
    kube_outcome_release(&outcome);
    json_object_del(json_object_get(object, "metadata"), "uid");
    json_put(object, "status", json_build("{s:i}", "n", 3));
    kube_apply_status(world->client, &world->maps, object, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    assert_int_equal(json_path_int(outcome.object, "status.n", 0), 3);
    assert_string_equal(json_path_str(outcome.object, "data.key", ""), "1"); /* only the status */
    kube_outcome_release(&outcome);
    start(world, DELETE, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    assert_null(outcome.object);
    assert_null(kube_api_double_get(world->api, PATH));
    kube_outcome_release(&outcome);
}

static void on_discovered(void *arg, const struct error *err)
{
    struct kube_outcome *outcome = arg;
    outcome->count++;
    if (err)
        outcome->err = *err;
}

static void test_discovery(void **state)
{
    static const struct kube_kind foreign = {
        .group = "no.such", .kind = "Thing", .plural = "things", .versions = {"v7"}};
    static const struct kube_kind *const kinds[] = {&kube_kind_pod, &kube_kind_pod_disruption_budget, &foreign};
    struct world *world = *state;
    struct kube_resource resources[3];
    struct kube_outcome outcome = {.count = 0};
    kube_api_double_fault(world->api, &(struct kube_api_fault){.path_prefix = "/apis", .status = 503});
    kube_discover(world->client, kinds, 2, resources, on_discovered, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    assert_string_equal(resources[1].version, "v1");
    kube_outcome_release(&outcome);
    kube_discover(world->client, kinds, 3, resources, on_discovered, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_NOT_FOUND);
    assert_non_null(strstr(outcome.err.message, "Thing of group \"no.such\" in version v7"));
    kube_outcome_release(&outcome);
    kube_discover(world->client, kinds, 3, resources, on_discovered, &outcome); /* freed with the client */
}

static void test_metrics(void **state)
{
    struct world *world = *state;
    struct metrics *metrics = metrics_new();
    const struct kube_client_options options = {.metrics = metrics};
    struct kube_outcome outcome = {.count = 0};
    world_new_client(world, &options);
    world_put(world, "one", "1");
    kube_api_double_fault(world->api, &(struct kube_api_fault){.status = 500});
    start(world, APPLY, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    kube_outcome_release(&outcome);
    struct strbuf text;
    strbuf_init(&text, KM_MIB);
    metrics_render(metrics, &text);
    assert_non_null(
        strstr(text.buf, "kubemysql_api_requests_total{verb=\"apply\",resource=\"configmaps\",code=\"500\"} 1\n"));
    assert_non_null(
        strstr(text.buf, "kubemysql_api_requests_total{verb=\"apply\",resource=\"configmaps\",code=\"200\"} 1\n"));
    assert_non_null(strstr(text.buf, "kubemysql_api_request_duration_seconds_count{verb=\"apply\"} 2\n"));
    strbuf_release(&text);
    world_new_client(world, NULL);
    metrics_free(metrics);
}

static void test_warnings_are_counted(void **state)
{
    struct world *world = *state;
    struct metrics *metrics = metrics_new();
    const struct kube_client_options options = {.metrics = metrics};
    struct kube_outcome outcome = {.count = 0};
    struct strbuf text;
    strbuf_init(&text, KM_MIB);
    world_new_client(world, &options);
    start(world, APPLY, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    kube_outcome_release(&outcome);
    metrics_render(metrics, &text);
    assert_non_null(strstr(text.buf, "kubemysql_api_warnings_total 0\n"));
    kube_api_double_warn(world->api, "299 - \"v1 Endpoints is deprecated in v1.33+\"");
    start(world, APPLY, kube_outcome_done, &outcome);
    assert_int_equal(world_settle(world, &outcome), ERROR_NONE);
    kube_outcome_release(&outcome);
    strbuf_reset(&text);
    metrics_render(metrics, &text);
    assert_non_null(strstr(text.buf, "kubemysql_api_warnings_total 1\n"));
    strbuf_release(&text);
    world_new_client(world, NULL);
    metrics_free(metrics);
}

#define IN_WORLD(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_from_status),
        cmocka_unit_test(test_may_repeat),
        IN_WORLD(test_verbs_and_faults),
        IN_WORLD(test_retry_after_is_followed),
        IN_WORLD(test_timeout),
        IN_WORLD(test_refused_connection),
        IN_WORLD(test_no_writes_once_they_are_unwelcome),
        IN_WORLD(test_token_is_read_again_after_401),
        IN_WORLD(test_token_file_must_be_there),
        IN_WORLD(test_queue_bounds_what_is_in_flight),
        IN_WORLD(test_rate_limit),
        IN_WORLD(test_full_queue_refuses),
        IN_WORLD(test_cancel_in_every_state),
        IN_WORLD(test_free_from_a_callback),
        IN_WORLD(test_preconditions_and_status),
        IN_WORLD(test_discovery),
        IN_WORLD(test_metrics),
        IN_WORLD(test_warnings_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
