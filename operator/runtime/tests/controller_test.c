/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Controllers on a real loop, fed by hand: the informer is replaced at link time by one that hands its handler over.
 */
#include "common/base.h"

#include "operator/runtime/controller.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/tests/clock_util.h"
#include "operator/kube/store.h"

#define KEYS_MAX 40

static struct loop *loop;

/* ---- the informer's stand-in ---- */

struct informer {
    informer_handler_fn handler;
    void *arg;
    struct store *store;
};

void informer_add_handler(struct informer *informer, informer_handler_fn fn, void *arg)
{
    informer->handler = fn;
    informer->arg = arg;
}

const struct store *informer_store(const struct informer *informer)
{
    return informer->store;
}

/* ---- the reconciler: every run stays open until the test finishes it, or ends by itself ---- */

struct probe {
    struct controller *controller;
    struct reconcile *open[KEYS_MAX];
    char open_keys[KEYS_MAX][16];
    size_t open_count, open_peak;
    int runs;
    char last_key[64];
    bool finish_at_once;
    int step; /* a clock for the random case */
    int last_run[26];
};

static struct probe probe;

static void on_reconcile(void *arg, const char *key, struct reconcile *run)
{
    struct probe *p = arg;
    assert_string_equal(reconcile_key(run), key);
    for (size_t i = 0; i < p->open_count; i++)
        assert_string_not_equal(p->open_keys[i], key); /* never the same key twice at once */
    p->runs++;
    if (key[0] >= 'a' && key[0] <= 'z')
        p->last_run[key[0] - 'a'] = p->step;
    snprintf(p->last_key, sizeof(p->last_key), "%s", key);
    if (p->finish_at_once) {
        reconcile_finish(run, NULL, 0);
        return;
    }
    snprintf(p->open_keys[p->open_count], sizeof(p->open_keys[0]), "%s", key);
    p->open[p->open_count++] = run;
    p->open_peak = MAX_OF(p->open_peak, p->open_count);
}

static void probe_finish(size_t i, const struct error *err, int64_t requeue_after_ms)
{
    struct reconcile *run = probe.open[i];
    size_t last = --probe.open_count;
    probe.open[i] = probe.open[last];
    memmove(probe.open_keys[i], probe.open_keys[last], sizeof(probe.open_keys[i]));
    reconcile_finish(run, err, requeue_after_ms);
}

static const struct reconciler reconciler = {.name = "probe", .reconcile = on_reconcile, .arg = &probe};

static struct controller *start(int concurrency, struct metrics *metrics)
{
    const struct controller_options options = {
        .concurrency = concurrency, .backoff_base_ms = 300, .backoff_max_ms = 1000, .metrics = metrics};
    probe.controller = controller_new(loop, &reconciler, &options);
    controller_start(probe.controller);
    return probe.controller;
}

static void turns(int count)
{
    for (int i = 0; i < count; i++)
        loop_run_once(loop, 1);
}

/* Runs until `want` reconciles have begun since the last reset; returns the time it took. */
static int64_t run_until(int want)
{
    int64_t begin_ms = clock_monotonic_ms();
    while (probe.runs < want && clock_monotonic_ms() - begin_ms < 5000)
        loop_run_once(loop, 5);
    assert_int_equal(probe.runs, want);
    return clock_monotonic_ms() - begin_ms;
}

static int set_up(void **state)
{
    UNUSED(state);
    memset(&probe, 0, sizeof(probe));
    clock_stand_still();
    loop = loop_new();
    return 0;
}

static int tear_down(void **state)
{
    UNUSED(state);
    controller_free(probe.controller);
    loop_free(loop);
    return 0;
}

/* ---- cases ---- */

static void test_keys_gather_until_started(void **state)
{
    UNUSED(state);
    probe.controller = controller_new(loop, &reconciler, NULL);
    controller_enqueue(probe.controller, "a/b");
    controller_enqueue(probe.controller, "a/b");
    turns(3);
    assert_int_equal(probe.runs, 0);
    assert_int_equal(controller_depth(probe.controller), 1);
    controller_start(probe.controller);
    assert_int_equal(probe.runs, 0); /* never inside the call */
    run_until(1);
    assert_string_equal(probe.last_key, "a/b");
    assert_string_equal(controller_name(probe.controller), "probe");
}

static void test_concurrency_is_bounded(void **state)
{
    UNUSED(state);
    struct controller *controller = start(3, NULL);
    for (int i = 0; i < 10; i++)
        controller_enqueue(controller, (const char[]){(char)('a' + i), 0});
    turns(5);
    assert_int_equal(probe.runs, 3);
    assert_int_equal(controller_in_work(controller), 3);
    probe_finish(1, NULL, 0);
    turns(3);
    assert_int_equal(probe.runs, 4);
    while (probe.open_count) {
        probe_finish(0, NULL, 0);
        turns(2);
    }
    assert_int_equal(probe.runs, 10);
    assert_int_equal(probe.open_peak, 3);
}

static void test_change_in_work_brings_the_key_again(void **state)
{
    UNUSED(state);
    struct controller *controller = start(4, NULL);
    controller_enqueue(controller, "k");
    run_until(1);
    controller_enqueue(controller, "k");
    controller_enqueue(controller, "k");
    turns(3);
    assert_int_equal(probe.runs, 1);
    probe_finish(0, NULL, 0);
    run_until(2);
    probe_finish(0, NULL, 0);
    turns(5);
    assert_int_equal(probe.runs, 2);
}

static void test_when_a_key_comes_again(void **state)
{
    UNUSED(state);
    static const struct {
        enum error_kind kind;
        uint32_t retry_after_ms;
        int64_t requeue_after_ms;
        int64_t min_ms, max_ms; /* of the second run; max 0: it never comes */
    } table[] = {
        {ERROR_NONE, 0, 0, 0, 0},
        {ERROR_NONE, 0, 60, 60, 5000},
        {ERROR_UNAVAILABLE, 0, 0, 240, 5000},   /* base less jitter */
        {ERROR_UNAVAILABLE, 400, 0, 400, 5000}, /* the peer's wish is longer */
        {ERROR_UNAVAILABLE, 5, 0, 240, 5000},   /* or shorter */
        {ERROR_INVALID, 0, 10, 10, 239},        /* at the latest after requeue_after, error or not */
        {ERROR_CONFLICT, 0, 0, 0, 239},         /* at once, the first time */
        {ERROR_CONFLICT, 500, 0, 0, 239},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        memset(&probe, 0, sizeof(probe));
        struct controller *controller = start(1, NULL);
        controller_enqueue(controller, "k");
        run_until(1);
        struct error err = ERROR_INIT;
        if (table[i].kind)
            error_set(&err, table[i].kind, "scripted");
        err.retry_after_ms = table[i].retry_after_ms;
        int64_t begin_ms = clock_monotonic_ms();
        probe_finish(0, table[i].kind ? &err : (i ? NULL : &err), table[i].requeue_after_ms);
        if (table[i].max_ms == 0) {
            turns(60);
            assert_int_equal(probe.runs, 1);
        } else {
            run_until(2);
            int64_t took_ms = clock_monotonic_ms() - begin_ms;
            if (took_ms < table[i].min_ms || took_ms > table[i].max_ms)
                fail_msg("row %zu: came again after %d ms", i, (int)took_ms);
        }
        controller_free(steal_ptr(probe.controller));
    }
}

static void test_second_conflict_backs_off_and_success_forgets(void **state)
{
    UNUSED(state);
    struct controller *controller = start(1, NULL);
    struct error err = ERROR_INIT;
    error_set(&err, ERROR_CONFLICT, "scripted");
    controller_enqueue(controller, "k");
    run_until(1);
    probe_finish(0, &err, 0);
    run_until(2);
    probe_finish(0, &err, 0);
    assert_true(run_until(3) >= 480); /* second delay: 600 ms less jitter */
    probe_finish(0, NULL, 1);
    run_until(4);
    probe_finish(0, &err, 0);
    assert_true(run_until(5) < 480); /* the first one again */
}

static void test_stop_lets_work_end(void **state)
{
    UNUSED(state);
    struct controller *controller = start(1, NULL);
    controller_enqueue(controller, "a");
    controller_enqueue(controller, "b");
    run_until(1);
    controller_stop(controller);
    assert_int_equal(controller_in_work(controller), 1);
    probe_finish(0, NULL, 0);
    turns(10);
    assert_int_equal(probe.runs, 1);
    assert_int_equal(controller_in_work(controller), 0);
    controller_enqueue(controller, "c");
    turns(10);
    assert_int_equal(probe.runs, 1);
}

static bool gate_open;

static bool gate(void *arg)
{
    return *(bool *)arg;
}

static void test_gate_holds_new_work(void **state)
{
    UNUSED(state);
    struct controller *controller = start(1, NULL);
    gate_open = false;
    controller_set_gate(controller, gate, &gate_open);
    controller_enqueue(controller, "a");
    turns(10);
    assert_int_equal(probe.runs, 0);
    gate_open = true;
    controller_enqueue(controller, "a");
    run_until(1);
}

static void test_free_with_work_open(void **state)
{
    UNUSED(state);
    struct controller *controller = start(4, NULL);
    controller_enqueue(controller, "a");
    controller_enqueue(controller, "b");
    run_until(2);
    controller_enqueue_after(controller, "c", 10);
    controller_free(steal_ptr(probe.controller));
    turns(20);
    assert_int_equal(probe.runs, 2);
}

static void test_a_thousand_keys_that_end_at_once(void **state)
{
    UNUSED(state);
    struct controller *controller = start(16, NULL);
    probe.finish_at_once = true;
    for (int i = 0; i < 1000; i++) {
        char key[16];
        snprintf(key, sizeof(key), "ns/k%d", i);
        controller_enqueue(controller, key);
    }
    loop_run_once(loop, 5);
    assert_true(probe.runs < 1000); /* others get their turn between batches */
    run_until(1000);
    assert_int_equal(controller_depth(controller), 0);
}

static void random_end(uint64_t *random)
{
    if (!probe.open_count)
        return;
    struct error err = ERROR_INIT;
    if (random_next(random) % 5 == 0)
        error_set(&err, random_next(random) % 2 ? ERROR_CONFLICT : ERROR_TIMEOUT, "scripted");
    probe_finish(random_next(random) % probe.open_count, &err, 0);
}

/* Random events, random ends: whatever the order, after the last event of a key there is a run that began later. */
static void test_no_event_is_ever_lost(void **state)
{
    UNUSED(state);
    struct controller *controller = start(5, NULL);
    uint64_t random = 7;
    int last_event[26] = {0};
    for (probe.step = 1; probe.step < 6000; probe.step++) {
        unsigned i = (unsigned)(random_next(&random) % 26);
        switch (random_next(&random) % 4) {
        case 0:
            last_event[i] = probe.step;
            controller_enqueue(controller, (const char[]){(char)('a' + i), 0});
            break;
        case 1:
            loop_run_once(loop, 0);
            break;
        default:
            random_end(&random);
        }
    }
    probe.finish_at_once = true;
    while (probe.open_count)
        probe_finish(0, NULL, 0);
    while (controller_depth(controller))
        loop_run_once(loop, 10);
    assert_int_equal(controller_in_work(controller), 0);
    assert_true(probe.runs > 500);
    for (size_t i = 0; i < 26; i++)
        assert_true(probe.last_run[i] > last_event[i]);
}

/* ---- watches ---- */

static struct kube_object *object_new(const char *key, const char *version, uint8_t uid, uint8_t owner)
{
    struct kube_object *object = xnew(struct kube_object);
    object->key = key;
    object->resource_version = version;
    object->uid.bytes[0] = uid;
    object->owner.bytes[0] = owner;
    object->generation = 1;
    object->digest = 1;
    return object;
}

static void test_watch_maps_and_filters(void **state)
{
    UNUSED(state);
    struct informer children = {.store = NULL};
    struct informer owners = {.store = store_new(&kube_projection_child)};
    store_put(owners.store, object_new("ns/owner", "1", 9, 0));
    struct controller *controller = start(1, NULL);
    probe.finish_at_once = true;
    controller_watch(controller, &owners, NULL, controller_map_self, NULL);
    controller_watch(controller, &children, predicate_generation_or_digest_changed, controller_map_owner, &owners);

    _cleanup_(freep) struct kube_object *other = object_new("ns/other", "1", 8, 0);
    owners.handler(owners.arg, NULL, other);
    run_until(1);
    assert_string_equal(probe.last_key, "ns/other");

    _cleanup_(freep) struct kube_object *child = object_new("ns/child", "5", 1, 9);
    _cleanup_(freep) struct kube_object *same = object_new("ns/child", "6", 1, 9);
    _cleanup_(freep) struct kube_object *orphan = object_new("ns/child", "7", 1, 0);
    _cleanup_(freep) struct kube_object *strange = object_new("ns/child", "8", 1, 77);
    orphan->digest = strange->digest = 2;
    children.handler(children.arg, NULL, child);
    run_until(2);
    assert_string_equal(probe.last_key, "ns/owner");
    children.handler(children.arg, child, same);     /* only the resourceVersion moved */
    children.handler(children.arg, orphan, strange); /* nobody's, or an owner we do not know */
    turns(10);
    assert_int_equal(probe.runs, 2);
    children.handler(children.arg, child, orphan); /* torn from its owner: the old one hears of it */
    run_until(3);
    children.handler(children.arg, child, NULL); /* deleted */
    run_until(4);
    assert_string_equal(probe.last_key, "ns/owner");
    store_free(owners.store);
}

static void test_predicate_table(void **state)
{
    UNUSED(state);
    static const struct {
        int64_t old_generation, new_generation;
        uint64_t old_digest, new_digest;
        bool deleting, other_uid, want;
    } table[] = {
        {1, 1, 5, 5, false, false, false},
        {1, 2, 5, 5, false, false, true},
        {1, 1, 5, 6, false, false, true},
        {0, 0, 0, 0, false, false, true}, /* blind: any change counts */
        {0, 0, 5, 5, false, false, false},
        {1, 1, 5, 5, true, false, true},
        {1, 1, 5, 5, false, true, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        _cleanup_(freep) struct kube_object *a = object_new("k", "1", 1, 0);
        _cleanup_(freep) struct kube_object *b = object_new("k", "2", table[i].other_uid ? 2 : 1, 0);
        a->generation = table[i].old_generation;
        b->generation = table[i].new_generation;
        a->digest = table[i].old_digest;
        b->digest = table[i].new_digest;
        b->deleting = table[i].deleting;
        if (predicate_generation_or_digest_changed(a, b) != table[i].want)
            fail_msg("row %zu", i);
        assert_true(predicate_generation_or_digest_changed(NULL, b));
        assert_true(predicate_generation_or_digest_changed(a, NULL));
    }
}

static double value(struct metrics *metrics, const char *name, const char *result)
{
    const struct metric_desc desc = {.name = name, .help = "", .type = METRIC_COUNTER, .labels = {"controller"}};
    struct metric_family *family = metrics_declare(metrics, &desc);
    return metric_value(result ? metric_of2(family, "probe", result) : metric_of1(family, "probe"));
}

static void test_metrics(void **state)
{
    UNUSED(state);
    struct metrics *metrics = metrics_new();
    struct controller *controller = start(2, metrics);
    struct error err = ERROR_INIT;
    error_set(&err, ERROR_INVALID, "scripted");
    controller_enqueue(controller, "a");
    controller_enqueue(controller, "b");
    controller_enqueue(controller, "c");
    run_until(2);
    assert_int_equal(value(metrics, "kubemysql_active_workers", NULL), 2);
    assert_int_equal(value(metrics, "kubemysql_workqueue_depth", NULL), 1);
    assert_int_equal(value(metrics, "kubemysql_workqueue_adds_total", NULL), 3);
    probe_finish(0, &err, 0);
    probe_finish(0, NULL, 0);
    assert_int_equal(value(metrics, "kubemysql_reconcile_total", "error"), 1);
    assert_int_equal(value(metrics, "kubemysql_reconcile_total", "success"), 1);
    assert_int_equal(value(metrics, "kubemysql_reconcile_errors_total", NULL), 1);
    assert_int_equal(value(metrics, "kubemysql_workqueue_retries_total", NULL), 1);
    controller_free(steal_ptr(probe.controller));
    metrics_free(metrics);
}

int main(void)
{
#define CASE(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_keys_gather_until_started),
        CASE(test_concurrency_is_bounded),
        CASE(test_change_in_work_brings_the_key_again),
        CASE(test_when_a_key_comes_again),
        CASE(test_second_conflict_backs_off_and_success_forgets),
        CASE(test_stop_lets_work_end),
        CASE(test_gate_holds_new_work),
        CASE(test_free_with_work_open),
        CASE(test_a_thousand_keys_that_end_at_once),
        CASE(test_no_event_is_ever_lost),
        CASE(test_watch_maps_and_filters),
        CASE(test_predicate_table),
        CASE(test_metrics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
