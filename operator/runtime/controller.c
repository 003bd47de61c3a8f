/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/runtime/controller.h"

#include "common/alloc.h"
#include "common/clock.h"
#include "common/list.h"
#include "common/log.h"
#include "operator/runtime/controller_metrics.h"
#include "operator/runtime/workqueue.h"

#define CONCURRENCY_DEFAULT 16
#define BACKOFF_BASE_DEFAULT_MS 50
#define BACKOFF_MAX_DEFAULT_MS 60000
#define BACKOFF_JITTER_PERCENT 20
/* Reconciles begun in one turn of the loop: between two batches sockets, timers and the lease get their turn. */
#define STARTS_PER_TURN 16

struct reconcile {
    struct controller *controller;
    struct list_node in_work;
    const char *key; /* the queue's, until workqueue_done */
    int64_t started_us;
};

struct watch {
    struct watch *next;
    struct controller *controller;
    controller_predicate_fn predicate;
    controller_map_fn map;
    void *map_arg;
};

struct controller {
    struct loop *loop;
    struct reconciler reconciler;
    size_t concurrency;
    struct workqueue *queue;
    struct list_node in_work;
    size_t in_work_count;
    struct watch *watches;
    struct loop_timer timer;
    bool running;
    bool (*gate)(void *arg);
    void *gate_arg;
    struct controller_metrics metrics;
};

static void controller_schedule(struct controller *controller);
static void controller_pump(void *arg);

struct controller *controller_new(
    struct loop *loop, const struct reconciler *reconciler, const struct controller_options *options)
{
    static const struct controller_options defaults = {.concurrency = 0};
    if (!options)
        options = &defaults;
    const struct backoff_policy policy = {
        .base_ms = options->backoff_base_ms ? options->backoff_base_ms : BACKOFF_BASE_DEFAULT_MS,
        .max_ms = options->backoff_max_ms ? options->backoff_max_ms : BACKOFF_MAX_DEFAULT_MS,
        .jitter_percent = BACKOFF_JITTER_PERCENT,
    };
    struct controller *controller = xnew(struct controller);
    controller->loop = loop;
    controller->reconciler = *reconciler;
    controller->concurrency = options->concurrency > 0 ? (size_t)options->concurrency : CONCURRENCY_DEFAULT;
    controller->queue = workqueue_new(&policy, random_seed());
    list_init(&controller->in_work);
    loop_timer_init(&controller->timer, loop, controller_pump, controller);
    controller_metrics_init(&controller->metrics, options->metrics, reconciler->name, (int)controller->concurrency);
    return controller;
}

void controller_free(struct controller *controller)
{
    if (!controller)
        return;
    struct list_node *node;
    while ((node = list_pop_front(&controller->in_work)))
        free(container_of(node, struct reconcile, in_work));
    while (controller->watches) {
        struct watch *watch = controller->watches;
        controller->watches = watch->next;
        free(watch);
    }
    loop_timer_release(&controller->timer);
    workqueue_free(controller->queue);
    free(controller);
}

void controller_set_gate(struct controller *controller, bool (*gate)(void *arg), void *arg)
{
    controller->gate = gate;
    controller->gate_arg = arg;
}

const char *controller_name(const struct controller *controller)
{
    return controller->reconciler.name;
}

size_t controller_in_work(const struct controller *controller)
{
    return controller->in_work_count;
}

size_t controller_depth(const struct controller *controller)
{
    return workqueue_depth(controller->queue);
}

bool controller_has_due(const struct controller *controller)
{
    return workqueue_next_due_ms(controller->queue) <= loop_now_ms(controller->loop);
}

/* ---- running -------------------------------------------------------------------------------------------------- */

static bool controller_may_start_one(const struct controller *controller)
{
    return controller->running && controller->in_work_count < controller->concurrency &&
        (!controller->gate || controller->gate(controller->gate_arg));
}

static bool controller_start_one(struct controller *controller)
{
    const char *key = workqueue_get(controller->queue, clock_monotonic_ms());
    if (!key)
        return false;
    struct reconcile *run = xnew(struct reconcile);
    run->controller = controller;
    run->key = key;
    run->started_us = clock_monotonic_us();
    list_push_back(&controller->in_work, &run->in_work);
    controller->in_work_count++;
    log_debug("reconcile", LOG_STR("controller", controller->reconciler.name), LOG_STR("key", key));
    controller->reconciler.reconcile(controller->reconciler.arg, key, run);
    return true;
}

static void controller_pump(void *arg)
{
    struct controller *controller = arg;
    for (int i = 0; i < STARTS_PER_TURN && controller_may_start_one(controller); i++) {
        if (!controller_start_one(controller))
            break;
    }
    controller_schedule(controller);
}

/* Arms the timer for the next key that may start; always a turn of the loop later, so nothing recurses. */
static void controller_schedule(struct controller *controller)
{
    controller_metrics_set(&controller->metrics, workqueue_depth(controller->queue), controller->in_work_count);
    int64_t due_ms = workqueue_next_due_ms(controller->queue);
    if (due_ms == INT64_MAX || !controller_may_start_one(controller)) {
        loop_timer_cancel(&controller->timer);
        return;
    }
    int64_t wait_ms = due_ms - clock_monotonic_ms();
    loop_timer_arm(&controller->timer, MAX_OF(wait_ms, 0));
}

void controller_start(struct controller *controller)
{
    controller->running = true;
    controller_schedule(controller);
}

void controller_stop(struct controller *controller)
{
    controller->running = false;
    controller_schedule(controller);
}

void controller_enqueue_after(struct controller *controller, const char *key, int64_t delay_ms)
{
    controller_metrics_added(&controller->metrics);
    workqueue_add_after(controller->queue, key, clock_monotonic_ms(), delay_ms);
    controller_schedule(controller);
}

void controller_enqueue(struct controller *controller, const char *key)
{
    controller_enqueue_after(controller, key, 0);
}

/* ---- finishing ------------------------------------------------------------------------------------------------ */

const char *reconcile_key(const struct reconcile *run)
{
    return run->key;
}

/* A first conflict only says that our view was a moment old: the key comes again at once, but it counts. */
static enum reconcile_result requeue_failed(
    struct controller *controller, const char *key, const struct error *err, int64_t now_ms)
{
    bool at_once = err->kind == ERROR_CONFLICT && workqueue_failures(controller->queue, key) == 0;
    int64_t delay_ms = workqueue_add_rate_limited(controller->queue, key, now_ms, err->retry_after_ms);
    controller_metrics_retried(&controller->metrics);
    if (at_once) {
        workqueue_add(controller->queue, key, now_ms);
        return RECONCILE_CONFLICT;
    }
    log_warn("reconcile failed", LOG_STR("controller", controller->reconciler.name), LOG_STR("key", key), LOG_ERR(err),
        LOG_INT("failures", workqueue_failures(controller->queue, key)), LOG_INT("retryMs", delay_ms));
    return err->kind == ERROR_CONFLICT ? RECONCILE_CONFLICT : RECONCILE_ERROR;
}

void reconcile_finish(struct reconcile *run, const struct error *err, int64_t requeue_after_ms)
{
    struct controller *controller = run->controller;
    int64_t now_ms = clock_monotonic_ms();
    enum reconcile_result result = requeue_after_ms > 0 ? RECONCILE_REQUEUE_AFTER : RECONCILE_SUCCESS;
    if (err && err->kind != ERROR_NONE)
        result = requeue_failed(controller, run->key, err, now_ms);
    else
        workqueue_forget(controller->queue, run->key);
    if (requeue_after_ms > 0)
        workqueue_add_after(controller->queue, run->key, now_ms, requeue_after_ms);
    controller_metrics_finished(&controller->metrics, result, clock_monotonic_us() - run->started_us);
    list_remove(&run->in_work);
    controller->in_work_count--;
    workqueue_done(controller->queue, run->key, now_ms);
    free(run);
    controller_schedule(controller);
}

/* ---- watches -------------------------------------------------------------------------------------------------- */

static void watch_emit(void *arg, const char *key)
{
    struct watch *watch = arg;
    controller_enqueue(watch->controller, key);
}

static void watch_changed(void *arg, const struct kube_object *old_object, const struct kube_object *new_object)
{
    struct watch *watch = arg;
    if (watch->predicate && !watch->predicate(old_object, new_object))
        return;
    if (old_object)
        watch->map(watch->map_arg, old_object, watch_emit, watch);
    if (new_object)
        watch->map(watch->map_arg, new_object, watch_emit, watch);
}

void controller_watch(struct controller *controller, struct informer *informer, controller_predicate_fn predicate,
    controller_map_fn map, void *map_arg)
{
    struct watch *watch = xnew(struct watch);
    *watch = (struct watch){
        .next = controller->watches, .controller = controller, .predicate = predicate, .map = map, .map_arg = map_arg};
    controller->watches = watch;
    informer_add_handler(informer, watch_changed, watch);
}
