/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder against a kube_client that is replaced at link time: it keeps what is written and answers when the test
 * says so.
 */
#include "common/base.h"

#include "operator/kube/event_recorder.h"

#include <fcntl.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/tests/clock_util.h"

#define WRITES_MAX 4096

/* ---- the API server's stand-in ---- */

struct kube_request {
    bool create;
    char name[KUBE_NAME_MAX + 1];
    char ns[KUBE_LABEL_MAX + 1];
    json_t *body;
    kube_done_fn done;
    void *arg;
    bool open, cancelled;
};

static struct kube_request writes[WRITES_MAX];
static size_t write_count;
static struct loop *loop;
static struct event_recorder *recorder;

static struct kube_request *write_new(
    bool create, const char *ns, const char *name, const json_t *body, kube_done_fn done, void *arg)
{
    assert_true(write_count < WRITES_MAX);
    struct kube_request *request = &writes[write_count++];
    *request = (struct kube_request){.create = create, .done = done, .arg = arg, .open = true};
    snprintf(request->name, sizeof(request->name), "%s", name);
    snprintf(request->ns, sizeof(request->ns), "%s", ns);
    request->body = json_deep_copy(body);
    return request;
}

struct kube_request *kube_create(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const json_t *object, kube_done_fn done, void *arg)
{
    UNUSED(client);
    assert_ptr_equal(resource->kind, &kube_kind_event);
    return write_new(true, ns, json_path_str(object, "metadata.name", ""), object, done, arg);
}

struct kube_request *kube_patch(struct kube_client *client, const struct kube_resource *resource, const char *ns,
    const char *name, const char *subresource, enum kube_patch_type type, const json_t *patch, kube_done_fn done,
    void *arg)
{
    UNUSED(client);
    assert_ptr_equal(resource->kind, &kube_kind_event);
    assert_null(subresource);
    assert_int_equal(type, KUBE_PATCH_MERGE);
    return write_new(false, ns, name, patch, done, arg);
}

void kube_request_cancel(struct kube_request *request)
{
    assert_true(request->open);
    request->open = false;
    request->cancelled = true;
}

/* All that is recorded goes out. */
static void KM_PRINTF(4, 5)
    record(const struct event_target *about, enum event_type type, const char *reason, const char *fmt, ...)
{
    char message[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    event_record(recorder, about, type, reason, "%s", message);
    event_recorder_flush(recorder);
}

static void answer(size_t i, enum error_kind kind)
{
    struct error err = ERROR_INIT;
    const struct kube_answer ok = {.status = 200};
    assert_true(writes[i].open);
    writes[i].open = false;
    if (kind)
        error_set(&err, kind, "scripted");
    writes[i].done(writes[i].arg, kind ? NULL : &ok, kind ? &err : NULL);
}

static void answer_all(void)
{
    for (size_t i = 0; i < write_count; i++) {
        if (writes[i].open)
            answer(i, ERROR_NONE);
    }
}

/* ---- cases ---- */

static const struct kube_resource event_resource = {.kind = &kube_kind_event, .version = "v1"};
static const struct kube_resource set_resource = {.kind = &kube_kind_stateful_set, .version = "v1"};
static const struct event_target target = {
    .resource = &set_resource, .ns = "shop", .name = "db-mysql", .uid = "uid-1", .resource_version = "42"};

static int set_up(void **state)
{
    UNUSED(state);
    write_count = 0;
    clock_stand_still();
    loop = loop_new();
    recorder = event_recorder_new(loop, NULL, &event_resource, "test-operator", "test-operator-0");
    return 0;
}

static int tear_down(void **state)
{
    UNUSED(state);
    event_recorder_free(recorder);
    for (size_t i = 0; i < write_count; i++)
        json_decref(writes[i].body);
    loop_free(loop);
    return 0;
}

static void test_fields(void **state)
{
    UNUSED(state);
    static const struct {
        const char *path, *want;
    } table[] = {
        {"apiVersion", "v1"},
        {"kind", "Event"},
        {"metadata.namespace", "shop"},
        {"type", "Warning"},
        {"reason", "VolumeFull"},
        {"message", "97 % used"},
        {"source.component", "test-operator"},
        {"reportingComponent", "test-operator"},
        {"reportingInstance", "test-operator-0"},
        {"involvedObject.apiVersion", "apps/v1"},
        {"involvedObject.kind", "StatefulSet"},
        {"involvedObject.namespace", "shop"},
        {"involvedObject.name", "db-mysql"},
        {"involvedObject.uid", "uid-1"},
        {"involvedObject.resourceVersion", "42"},
    };
    record(&target, EVENT_WARNING, "VolumeFull", "%d %% used", 97);
    assert_int_equal(write_count, 1);
    const json_t *body = writes[0].body;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        assert_string_equal(json_path_str(body, table[i].path, "(none)"), table[i].want);
    assert_int_equal(json_path_int(body, "count", 0), 1);
    assert_string_equal(writes[0].ns, "shop");
    assert_true(str_starts_with(writes[0].name, "db-mysql."));
    assert_int_equal(strspn(writes[0].name + strlen("db-mysql."), "0123456789abcdef"), 16);
    int64_t first_ms, last_ms;
    assert_int_equal(clock_parse_rfc3339(json_path_str(body, "firstTimestamp", ""), &first_ms), 0);
    assert_int_equal(clock_parse_rfc3339(json_path_str(body, "lastTimestamp", ""), &last_ms), 0);
    assert_in_range(last_ms, clock_realtime_ms() - 5000, clock_realtime_ms());
}

static void test_cluster_scope_goes_to_default(void **state)
{
    UNUSED(state);
    const struct event_target cluster = {.resource = &set_resource, .name = "config", .uid = "u"};
    record(&cluster, EVENT_NORMAL, "Used", "by nobody");
    assert_string_equal(writes[0].ns, "default");
    assert_string_equal(json_path_str(writes[0].body, "type", ""), "Normal");
    assert_null(json_path(writes[0].body, "involvedObject.namespace"));
    assert_null(json_path(writes[0].body, "involvedObject.resourceVersion"));
}

static void test_repetition_counts(void **state)
{
    UNUSED(state);
    record(&target, EVENT_NORMAL, "Rolled", "pod 0");
    answer(0, ERROR_NONE);
    record(&target, EVENT_NORMAL, "Rolled", "pod 0");
    assert_int_equal(write_count, 2);
    assert_false(writes[1].create);
    assert_string_equal(writes[1].name, writes[0].name);
    assert_int_equal(json_path_int(writes[1].body, "count", 0), 2);
    assert_non_null(json_path_str(writes[1].body, "lastTimestamp", NULL));
    assert_null(json_path(writes[1].body, "message"));
    answer(1, ERROR_NONE);
    /* Anything else is another event. */
    record(&target, EVENT_NORMAL, "Rolled", "pod 1");
    record(&target, EVENT_WARNING, "Rolled", "pod 0");
    record(&target, EVENT_NORMAL, "Stuck", "pod 0");
    assert_int_equal(write_count, 5);
    for (size_t i = 2; i < 5; i++)
        assert_true(writes[i].create);
}

static void test_repetitions_during_a_write_become_one(void **state)
{
    UNUSED(state);
    for (int i = 0; i < 5; i++)
        record(&target, EVENT_NORMAL, "Rolled", "pod 0");
    assert_int_equal(write_count, 1);
    answer(0, ERROR_NONE);
    assert_int_equal(write_count, 2);
    assert_int_equal(json_path_int(writes[1].body, "count", 0), 5);
    answer(1, ERROR_NONE);
    assert_int_equal(write_count, 2);
}

static void stop(void *arg)
{
    loop_stop(arg);
}

/* Not before its time, all in their order, and what is repeated meanwhile once. */
static void test_what_is_recorded_waits(void **state)
{
    UNUSED(state);
    struct loop_timer timer = {0};
    loop_timer_init(&timer, loop, stop, loop);
    int64_t began_ms = clock_monotonic_ms();
    event_record(recorder, &target, EVENT_NORMAL, "Started", "it");
    event_record(recorder, &target, EVENT_NORMAL, "Done", "it");
    event_record(recorder, &target, EVENT_NORMAL, "Started", "it");
    assert_int_equal(write_count, 0);
    for (int i = 0; i < 100 && write_count == 0; i++) {
        loop_timer_arm(&timer, 100);
        loop_run(loop);
    }
    assert_true(clock_monotonic_ms() - began_ms >= EVENT_DELAY_MS);
    assert_int_equal(write_count, 2);
    assert_string_equal(json_path_str(writes[0].body, "reason", ""), "Started");
    assert_int_equal(json_path_int(writes[0].body, "count", 0), 2);
    assert_string_equal(json_path_str(writes[1].body, "reason", ""), "Done");
    event_recorder_flush(recorder);
    assert_int_equal(write_count, 2);
    loop_timer_release(&timer);
}

/* Listed by name, as those of one second are. */
static void test_names_are_in_order(void **state)
{
    UNUSED(state);
    record(&target, EVENT_WARNING, "FailoverStarted", "db-0 is lost");
    record(&target, EVENT_NORMAL, "FailoverChosen", "db-1 takes over");
    record(&target, EVENT_NORMAL, "FailoverDone", "db-1 is primary");
    assert_int_equal(write_count, 3);
    for (size_t i = 1; i < write_count; i++)
        assert_true(strcmp(writes[i - 1].name, writes[i].name) < 0);
}

static void test_free_drops_what_waits(void **state)
{
    UNUSED(state);
    event_record(recorder, &target, EVENT_NORMAL, "Rolled", "pod 0");
    event_recorder_free(recorder);
    recorder = NULL;
    assert_int_equal(write_count, 0);
    event_recorder_flush(NULL);
}

/* Those that wait are not the ones that go. */
static void test_memory_is_bounded_while_all_wait(void **state)
{
    UNUSED(state);
    char uid[32];
    struct event_target many = {.resource = &set_resource, .ns = "shop", .name = "db", .uid = uid};
    for (int i = 0; i < EVENT_CACHE_MAX + 5; i++) {
        snprintf(uid, sizeof(uid), "uid-%d", i);
        event_record(recorder, &many, EVENT_NORMAL, "Made", "it");
    }
    event_recorder_flush(recorder);
    assert_int_equal(write_count, EVENT_CACHE_MAX);
    assert_string_equal(json_path_str(writes[0].body, "involvedObject.uid", ""), "uid-0");
}

static void test_an_expired_event_is_made_anew(void **state)
{
    UNUSED(state);
    record(&target, EVENT_NORMAL, "Rolled", "pod 0");
    answer(0, ERROR_NONE);
    record(&target, EVENT_NORMAL, "Rolled", "pod 0");
    answer(1, ERROR_NOT_FOUND);
    assert_int_equal(write_count, 3);
    assert_true(writes[2].create);
    assert_int_equal(json_path_int(writes[2].body, "count", 0), 2);
    assert_string_equal(json_path_str(writes[2].body, "message", ""), "pod 0");
    answer(2, ERROR_NONE);
}

static void test_a_failed_write_is_dropped(void **state)
{
    UNUSED(state);
    record(&target, EVENT_NORMAL, "Rolled", "pod 0");
    answer(0, ERROR_FORBIDDEN);
    assert_int_equal(write_count, 1);
    record(&target, EVENT_NORMAL, "Rolled", "pod 0");
    assert_int_equal(write_count, 2);
    assert_true(writes[1].create);
    /* A namespace that is gone answers 404 to a create: no loop. */
    answer(1, ERROR_NOT_FOUND);
    assert_int_equal(write_count, 2);
}

static void test_an_object_cannot_flood(void **state)
{
    UNUSED(state);
    for (int i = 0; i < 200; i++)
        record(&target, EVENT_WARNING, "Loop", "round %d", i);
    assert_int_equal(write_count, 50);
    const struct event_target other = {.resource = &set_resource, .ns = "shop", .name = "other", .uid = "uid-2"};
    record(&other, EVENT_WARNING, "Loop", "round 0");
    assert_int_equal(write_count, 51); /* each has its own bucket */
    record(&target, EVENT_WARNING, "FailoverStarted", "db-0 is lost");
    assert_int_equal(write_count, 52); /* and each of its reasons */
}

static void test_memory_is_bounded(void **state)
{
    UNUSED(state);
    char name[32], uid[32];
    struct event_target many = {.resource = &set_resource, .ns = "shop", .name = name, .uid = uid};
    for (int i = 0; i < EVENT_CACHE_MAX + 50; i++) {
        snprintf(name, sizeof(name), "db-%d", i);
        snprintf(uid, sizeof(uid), "uid-%d", i);
        record(&many, EVENT_NORMAL, "Made", "it");
        if (i >= 10)
            answer(write_count - 1, ERROR_NONE);
    }
    assert_int_equal(write_count, EVENT_CACHE_MAX + 50);
    /* The ones still under way were kept, the oldest idle one went: it is made anew, a recent one is counted. */
    snprintf(name, sizeof(name), "db-10");
    snprintf(uid, sizeof(uid), "uid-10");
    record(&many, EVENT_NORMAL, "Made", "it");
    assert_true(writes[write_count - 1].create);
    answer(write_count - 1, ERROR_NONE);
    snprintf(name, sizeof(name), "db-%d", EVENT_CACHE_MAX + 49);
    snprintf(uid, sizeof(uid), "uid-%d", EVENT_CACHE_MAX + 49);
    record(&many, EVENT_NORMAL, "Made", "it");
    assert_false(writes[write_count - 1].create);
    for (size_t i = 0; i < 10; i++)
        assert_true(writes[i].open);
    answer_all();
}

static void test_all_under_way_drops_the_next(void **state)
{
    UNUSED(state);
    char uid[32];
    struct event_target many = {.resource = &set_resource, .ns = "shop", .name = "db", .uid = uid};
    for (int i = 0; i < EVENT_CACHE_MAX + 5; i++) {
        snprintf(uid, sizeof(uid), "uid-%d", i);
        record(&many, EVENT_NORMAL, "Made", "it");
    }
    assert_int_equal(write_count, EVENT_CACHE_MAX);
}

static void test_free_cancels(void **state)
{
    UNUSED(state);
    record(&target, EVENT_NORMAL, "Rolled", "pod 0");
    event_recorder_free(recorder);
    recorder = NULL;
    assert_true(writes[0].cancelled);
    event_record(NULL, &target, EVENT_NORMAL, "Rolled", "pod 0"); /* nobody to tell: fine */
}

static void test_long_texts_are_cut(void **state)
{
    UNUSED(state);
    char message[3000], name[KUBE_NAME_MAX + 1];
    for (size_t i = 0; i < sizeof(message) - 1; i += 2)
        memcpy(message + i, "\xc3\xa4", 2);
    message[sizeof(message) - 2] = message[sizeof(message) - 1] = '\0';
    memset(name, 'n', sizeof(name));
    name[KUBE_NAME_MAX] = '\0';
    const struct event_target big = {.resource = &set_resource, .ns = "shop", .name = name, .uid = "u"};
    record(&big, EVENT_NORMAL, "Long", "x%s", message);
    record(&big, EVENT_NORMAL, "Long", "%s", message);
    for (size_t i = 0; i < 2; i++) {
        const char *cut = json_path_str(writes[i].body, "message", ""); /* a broken character would not be JSON */
        assert_in_range(strlen(cut), 1020, 1024);
        assert_string_equal(cut + strlen(cut) - 3, "...");
        assert_int_equal(strlen(writes[i].name), KUBE_NAME_MAX);
    }
}

/* The text of an event is a line of the log as well, unless the caller has logged it. */
static void test_it_is_logged(void **state)
{
    UNUSED(state);
    char text[2048];
    int fds[2];
    assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
    log_setup(LOG_INFO, LOG_FORMAT_JSON, fds[1]);
    record(&target, EVENT_WARNING, "FailoverStarted", "db-0 is lost: %s", "its server ended");
    struct event_target quiet = target;
    quiet.is_logged = true;
    record(&quiet, EVENT_NORMAL, "PodReplaced", "replace db-1");
    log_setup(LOG_INFO, LOG_FORMAT_JSON, STDERR_FILENO);
    ssize_t len = read(fds[0], text, sizeof(text));
    close(fds[0]);
    close(fds[1]);
    assert_true(len > 0);
    _cleanup_(json_decrefp) json_t *line = json_parse(text, (size_t)len, NULL); /* one line alone */
    assert_non_null(line);
    assert_string_equal(json_path_str(line, "level", ""), "warn");
    assert_string_equal(json_path_str(line, "msg", ""), "db-0 is lost: its server ended");
    assert_string_equal(json_path_str(line, "reason", ""), "FailoverStarted");
    assert_string_equal(json_path_str(line, "kind", ""), "StatefulSet");
    assert_string_equal(json_path_str(line, "namespace", ""), "shop");
    assert_string_equal(json_path_str(line, "name", ""), "db-mysql");
}

int main(void)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_fields),
        CASE(test_cluster_scope_goes_to_default),
        CASE(test_repetition_counts),
        CASE(test_repetitions_during_a_write_become_one),
        CASE(test_what_is_recorded_waits),
        CASE(test_names_are_in_order),
        CASE(test_free_drops_what_waits),
        CASE(test_memory_is_bounded_while_all_wait),
        CASE(test_an_expired_event_is_made_anew),
        CASE(test_a_failed_write_is_dropped),
        CASE(test_an_object_cannot_flood),
        CASE(test_memory_is_bounded),
        CASE(test_all_under_way_drops_the_next),
        CASE(test_free_cancels),
        CASE(test_long_texts_are_cut),
        CASE(test_it_is_logged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
