/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/runtime/manager.h"

#include <malloc.h>
#include <signal.h>

#include "common/alloc.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/log.h"
#include "operator/kube/leader_elector.h"
#include "operator/runtime/health_server.h"

#define DISCOVERY_RETRY_MS 1000
#define DISCOVERY_RETRY_MAX_MS 15000
/* Reconciles take milliseconds; one that waits for something is taken up by the next leader, who should not wait for
 * it. */
#define DRAIN_MAX_MS 500
#define RELEASE_MAX_MS 1000
#define DRAIN_POLL_MS 5
#define TICK_MS 2000
#define STUCK_MS 10000
/* Watches are asked to end within ten minutes and the reflector adds a grace; later than this it has lost its way. */
#define SILENT_MS (15LL * 60 * 1000)
/* How often freed memory is given back: a relist leaves a heap behind that nothing else would shrink. */
#define TRIM_TICKS 30

struct deferred {
    struct deferred *next;
    void (*free_fn)(void *arg);
    void *arg;
};

struct owned_informer {
    struct owned_informer *next;
    struct informer *informer;
    const struct controller *waits; /* this one alone waits for its first list; NULL: the manager does */
};

struct owned_controller {
    struct owned_controller *next;
    struct controller *controller;
    bool started;
};

struct manager {
    struct loop *loop;
    struct metrics *metrics;
    struct http_client *http;
    struct kube_client *client;
    struct kube_client *lease_client; /* renewals do not wait behind a thousand reconciles */
    struct health_server *health;
    struct event_recorder *events;
    struct leader_elector *elector;
    struct manager_options options; /* texts are ours; config is NULL */

    const struct kube_kind *kinds[MANAGER_KINDS_MAX];
    struct kube_resource resources[MANAGER_KINDS_MAX];
    size_t kind_count;
    manager_setup_fn setup;
    void *setup_arg;
    struct backoff discovery_backoff;
    struct loop_timer discovery_timer;

    struct owned_informer *informers;
    struct owned_controller *controllers;
    struct deferred *deferred;

    bool set_up;
    bool synced;
    bool leading;
    bool stopping;
    int64_t drain_until_ms;
    struct loop_timer stop_timer;
    int exit_code;
    bool has_lost_lease;

    struct loop_timer tick_timer;
    int64_t tick_due_ms;
    int64_t worst_lag_ms; /* since the last scrape */
    unsigned ticks;
    struct metric *lag_metric;
    struct metric *leader_metric;
    struct metric *stretch_metric;
    unsigned lease_stretch;
};

static const struct metric_desc desc_lag = {
    .name = "kubemysql_loop_lag_seconds",
    .help = "The latest that a timer of the event loop ran since the last scrape.",
    .type = METRIC_GAUGE,
};
static const struct metric_desc desc_leader = {
    .name = "kubemysql_leader",
    .help = "1 while this process leads.",
    .type = METRIC_GAUGE,
};
static const struct metric_desc desc_stretch = {
    .name = "kubemysql_lease_stretch",
    .help =
        "By how much the durations of the Lease are multiplied, as the API server was too slow for them: 1 as a rule.",
    .type = METRIC_GAUGE,
};
/* Of the process, so that it outlasts begin_anew. */
#define STRETCH_VARIABLE "KUBE_MYSQL_LEASE_STRETCH"

static void manager_discover(void *arg);
static void on_tick(void *arg);
static void on_stop_timer(void *arg);
static void manager_collect(void *arg);

static bool may_write(void *arg)
{
    return manager_leads(arg);
}

/* ---- construction --------------------------------------------------------------------------------------------- */

static int manager_connect(struct manager *manager, const struct manager_options *options, struct error *err)
{
    struct kube_client_options client_options = {
        .field_manager = options->field_manager,
        .user_agent = options->user_agent,
        .qps = options->qps,
        .burst = options->burst,
        .metrics = manager->metrics,
    };
    struct kube_client_options lease_options = client_options;
    int64_t deadline_ms = options->renew_deadline_ms ? options->renew_deadline_ms : LEADER_RENEW_DEADLINE_MS;
    int64_t period_ms = options->retry_period_ms ? options->retry_period_ms : LEADER_RETRY_PERIOD_MS;
    lease_options.metrics = NULL;
    lease_options.qps = lease_options.burst = 0;
    const char *stretch = getenv(STRETCH_VARIABLE);
    manager->lease_stretch = (unsigned)MIN_OF(MAX_OF(strtoul(str_or_empty(stretch), NULL, 10), 1UL), LEADER_STRETCH_MAX);
    lease_options.timeout_ms = MAX_OF((deadline_ms - period_ms) * manager->lease_stretch / 2,
        1); /* a renewal without an answer leaves time for another */
    client_options.may_write = may_write;
    client_options.may_write_arg = manager;
    manager->client = kube_client_new(manager->loop, manager->http, options->config, &client_options, err);
    if (!manager->client)
        return -1;
    manager->lease_client = kube_client_new(manager->loop, manager->http, options->config, &lease_options, err);
    return manager->lease_client ? 0 : -1;
}

struct manager *manager_new(struct loop *loop, const struct manager_options *options, struct error *err)
{
    struct manager *manager = xnew(struct manager);
    manager->loop = loop;
    manager->options = *options;
    manager->options.config = NULL;
    manager->options.user_agent = manager->options.field_manager = NULL;
    manager->options.component = xstrdup(options->component);
    manager->options.leader_namespace = xstrdup(options->leader_namespace);
    manager->options.leader_identity = xstrdup(options->leader_identity);
    manager->options.bind_address = xstrdup(options->bind_address);
    manager->metrics = metrics_new();
    metrics_add_process(manager->metrics);
    metrics_on_collect(manager->metrics, manager_collect, manager);
    manager->lag_metric = metric_of(metrics_declare(manager->metrics, &desc_lag));
    manager->leader_metric = metric_of(metrics_declare(manager->metrics, &desc_leader));
    manager->stretch_metric = metric_of(metrics_declare(manager->metrics, &desc_stretch));
    manager->http = http_client_new(loop);
    manager->discovery_backoff.random_state = random_seed();
    loop_timer_init(&manager->discovery_timer, loop, manager_discover, manager);
    loop_timer_init(&manager->tick_timer, loop, on_tick, manager);
    loop_timer_init(&manager->stop_timer, loop, on_stop_timer, manager);
    if (manager_connect(manager, options, err) < 0) {
        manager_free(manager);
        return NULL;
    }
    manager_use_kind(manager, &kube_kind_lease);
    manager_use_kind(manager, &kube_kind_event);
    return manager;
}

static void manager_free_owned(struct manager *manager)
{
    while (manager->deferred) {
        struct deferred *deferred = manager->deferred;
        manager->deferred = deferred->next;
        deferred->free_fn(deferred->arg);
        free(deferred);
    }
    leader_elector_free(manager->elector);
    event_recorder_free(manager->events);
    while (manager->controllers) {
        struct owned_controller *owned = manager->controllers;
        manager->controllers = owned->next;
        controller_free(owned->controller);
        free(owned);
    }
    while (manager->informers) {
        struct owned_informer *owned = manager->informers;
        manager->informers = owned->next;
        informer_free(owned->informer);
        free(owned);
    }
}

void manager_free(struct manager *manager)
{
    if (!manager)
        return;
    loop_off_signals(manager->loop, manager);
    health_server_free(manager->health);
    manager_free_owned(manager);
    kube_client_free(manager->client);
    kube_client_free(manager->lease_client);
    http_client_free(manager->http);
    metrics_free(manager->metrics);
    loop_timer_release(&manager->discovery_timer);
    loop_timer_release(&manager->tick_timer);
    loop_timer_release(&manager->stop_timer);
    free((char *)(uintptr_t)manager->options.component);
    free((char *)(uintptr_t)manager->options.leader_namespace);
    free((char *)(uintptr_t)manager->options.leader_identity);
    free((char *)(uintptr_t)manager->options.bind_address);
    free(manager);
}

void manager_defer(struct manager *manager, void (*free_fn)(void *arg), void *arg)
{
    struct deferred *deferred = xnew(struct deferred);
    *deferred = (struct deferred){.next = manager->deferred, .free_fn = free_fn, .arg = arg};
    manager->deferred = deferred;
}

struct loop *manager_loop(struct manager *manager)
{
    return manager->loop;
}

struct kube_client *manager_client(struct manager *manager)
{
    return manager->client;
}

struct http_client *manager_http(struct manager *manager)
{
    return manager->http;
}

struct metrics *manager_metrics(struct manager *manager)
{
    return manager->metrics;
}

struct event_recorder *manager_events(struct manager *manager)
{
    return manager->events;
}

const struct kube_resource *manager_use_kind(struct manager *manager, const struct kube_kind *kind)
{
    for (size_t i = 0; i < manager->kind_count; i++) {
        if (manager->kinds[i] == kind)
            return &manager->resources[i];
    }
    if (manager->kind_count == MANAGER_KINDS_MAX || manager->set_up) {
        log_error("kind declared too late, or too many", LOG_STR("kind", kind->kind));
        abort();
    }
    size_t i = manager->kind_count++;
    manager->kinds[i] = kind;
    manager->resources[i] = (struct kube_resource){.kind = kind};
    return &manager->resources[i];
}

struct informer *manager_informer(struct manager *manager, const struct kube_resource *resource,
    const struct kube_projection *projection, const struct informer_options *options)
{
    struct informer_options filled = options ? *options : (struct informer_options){.ns = NULL};
    if (!filled.metrics)
        filled.metrics = manager->metrics;
    struct owned_informer *owned = xnew(struct owned_informer);
    owned->informer = informer_new(manager->loop, manager->client, resource, projection, &filled);
    owned->next = manager->informers;
    manager->informers = owned;
    return owned->informer;
}

struct controller *manager_controller(
    struct manager *manager, const struct reconciler *reconciler, const struct controller_options *options)
{
    struct controller_options filled = options ? *options : (struct controller_options){.concurrency = 0};
    if (!filled.metrics)
        filled.metrics = manager->metrics;
    struct owned_controller *owned = xnew(struct owned_controller);
    owned->controller = controller_new(manager->loop, reconciler, &filled);
    controller_set_gate(owned->controller, may_write, manager);
    owned->next = manager->controllers;
    manager->controllers = owned;
    return owned->controller;
}

void manager_let_wait(struct manager *manager, const struct controller *controller, const struct informer *informer)
{
    for (struct owned_informer *owned = manager->informers; owned; owned = owned->next) {
        if (owned->informer == informer)
            owned->waits = controller;
    }
}

bool manager_leads(const struct manager *manager)
{
    return manager->leading && (!manager->elector || leader_elector_is_leader(manager->elector));
}

/* ---- watching ourselves --------------------------------------------------------------------------------------- */

static void on_tick(void *arg)
{
    struct manager *manager = arg;
    int64_t now_ms = clock_monotonic_ms();
    manager->worst_lag_ms = MAX_OF(manager->worst_lag_ms, now_ms - manager->tick_due_ms);
    manager->tick_due_ms = now_ms + TICK_MS;
    loop_timer_arm(&manager->tick_timer, TICK_MS);
    if (++manager->ticks % TRIM_TICKS == 0)
        malloc_trim(0);
}

static const char *check_healthy(void *arg)
{
    const struct manager *manager = arg;
    if (clock_monotonic_ms() - manager->tick_due_ms > STUCK_MS)
        return "the event loop does not turn";
    for (const struct owned_informer *owned = manager->informers; owned; owned = owned->next) {
        if (informer_silence_ms(owned->informer) > SILENT_MS)
            return "a watch is silent";
    }
    return NULL;
}

static const char *check_ready(void *arg)
{
    const struct manager *manager = arg;
    if (manager->stopping)
        return "stopping";
    return manager->synced ? NULL : "informers are not synced";
}

static void manager_collect(void *arg)
{
    struct manager *manager = arg;
    metric_set(manager->lag_metric, (double)manager->worst_lag_ms / 1000);
    metric_set(manager->leader_metric, manager_leads(manager));
    metric_set(manager->stretch_metric, manager->lease_stretch);
    manager->worst_lag_ms = 0;
}

static int manager_serve(struct manager *manager, struct error *err)
{
    if (!manager->options.port)
        return 0;
    const struct health_checks checks = {.healthy = check_healthy, .ready = check_ready, .arg = manager};
    const char *address = manager->options.bind_address ? manager->options.bind_address : "0.0.0.0";
    manager->health =
        health_server_new(manager->loop, address, manager->options.port, &checks, manager->metrics, NULL, err);
    return manager->health ? 0 : -1;
}

/* ---- stopping ------------------------------------------------------------------------------------------------- */

static void manager_end(struct manager *manager, int exit_code)
{
    manager->exit_code = exit_code;
    loop_stop(manager->loop);
}

static size_t manager_in_work(const struct manager *manager)
{
    size_t count = 0;
    for (const struct owned_controller *owned = manager->controllers; owned; owned = owned->next)
        count += controller_in_work(owned->controller);
    return count;
}

static void on_released(void *arg)
{
    manager_end(arg, 0);
}

/* First waits for the reconciles in work, then for the lease to be given back. */
static void on_stop_timer(void *arg)
{
    struct manager *manager = arg;
    size_t in_work = manager_in_work(manager);
    bool releasing = manager->drain_until_ms == 0;
    if (releasing) {
        manager_end(manager, 0);
        return;
    }
    if (in_work > 0 && clock_monotonic_ms() < manager->drain_until_ms) {
        loop_timer_arm(&manager->stop_timer, DRAIN_POLL_MS);
        return;
    }
    if (in_work > 0)
        log_warn("reconciles did not end in time", LOG_INT("count", in_work));
    event_recorder_flush(manager->events);
    if (!manager->elector) {
        manager_end(manager, 0);
        return;
    }
    manager->drain_until_ms = 0;
    loop_timer_arm(&manager->stop_timer, RELEASE_MAX_MS);
    leader_elector_release(manager->elector, on_released, manager);
}

static void on_signal(int signum, void *arg)
{
    struct manager *manager = arg;
    log_info("signal", LOG_INT("number", signum));
    if (manager->stopping) {
        manager_end(manager, 1);
        return;
    }
    manager->stopping = true;
    for (struct owned_controller *owned = manager->controllers; owned; owned = owned->next)
        controller_stop(owned->controller);
    loop_timer_cancel(&manager->discovery_timer);
    manager->drain_until_ms = clock_monotonic_ms() + DRAIN_MAX_MS;
    loop_timer_arm(&manager->stop_timer, 0);
}

/* ---- starting ------------------------------------------------------------------------------------------------- */

/* The first lists that this controller waits for are there; NULL: those that the manager waits for. */
static bool has_synced(const struct manager *manager, const struct controller *controller)
{
    for (const struct owned_informer *owned = manager->informers; owned; owned = owned->next) {
        if (owned->waits == controller && !informer_synced(owned->informer))
            return false;
    }
    return true;
}

static void start_controllers(struct manager *manager)
{
    if (!manager->leading || manager->stopping)
        return;
    for (struct owned_controller *owned = manager->controllers; owned; owned = owned->next) {
        if (owned->started || !has_synced(manager, owned->controller))
            continue;
        owned->started = true;
        controller_start(owned->controller);
    }
}

static void on_leading(void *arg)
{
    struct manager *manager = arg;
    manager->leading = true;
    start_controllers(manager);
}

static void on_not_leading(void *arg)
{
    struct manager *manager = arg;
    manager->leading = false;
    manager->has_lost_lease = true;
    manager_end(manager, 1);
}

static void on_new_leader(void *arg, const char *identity)
{
    UNUSED(arg);
    log_info("leader", LOG_STR("identity", identity));
}

/* One that leads again at once, without begin_anew, keeps the time-out of its requests: they are given up earlier. */
static void on_stretched(void *arg, unsigned stretch)
{
    struct manager *manager = arg;
    char text[16];
    snprintf(text, sizeof(text), "%u", stretch);
    setenv(STRETCH_VARIABLE, text, 1);
    manager->lease_stretch = stretch;
}

static void manager_stand(struct manager *manager)
{
    if (!manager->options.leader_namespace) {
        on_leading(manager);
        return;
    }
    const struct leader_elector_options options = {
        .ns = manager->options.leader_namespace,
        .name = manager->options.component,
        .identity = manager->options.leader_identity,
        .lease_duration_ms = manager->options.lease_duration_ms,
        .renew_deadline_ms = manager->options.renew_deadline_ms,
        .retry_period_ms = manager->options.retry_period_ms,
        .stretch = manager->lease_stretch,
        .stretched = on_stretched,
        .guard = true,
        .expired = manager->options.lease_expired,
        .started_leading = on_leading,
        .stopped_leading = on_not_leading,
        .new_leader = on_new_leader,
        .arg = manager,
    };
    manager->elector =
        leader_elector_new(manager->loop, manager->lease_client, manager_use_kind(manager, &kube_kind_lease), &options);
    leader_elector_start(manager->elector);
}

static void on_informer_sync(void *arg)
{
    struct manager *manager = arg;
    if (manager->synced)
        start_controllers(manager); /* one may have waited for this list alone */
    if (manager->synced || manager->stopping || !has_synced(manager, NULL))
        return;
    manager->synced = true;
    malloc_trim(0);
    log_info("synced");
    manager_stand(manager);
}

static void on_discovered(void *arg, const struct error *err)
{
    static const struct backoff_policy policy = {
        .base_ms = DISCOVERY_RETRY_MS, .max_ms = DISCOVERY_RETRY_MAX_MS, .jitter_percent = 20};
    struct manager *manager = arg;
    if (manager->stopping)
        return;
    if (err) {
        uint32_t delay_ms = backoff_next_ms(&manager->discovery_backoff, &policy);
        log_warn("discovery failed", LOG_ERR(err), LOG_INT("retryMs", delay_ms));
        loop_timer_arm(&manager->discovery_timer, delay_ms);
        return;
    }
    struct error setup_err = ERROR_INIT;
    manager->set_up = true;
    manager->events = event_recorder_new(manager->loop, manager->client, manager_use_kind(manager, &kube_kind_event),
        manager->options.component, str_or_empty(manager->options.leader_identity));
    if (manager->setup && manager->setup(manager->setup_arg, manager, &setup_err) < 0) {
        log_error("set-up failed", LOG_ERR(&setup_err));
        manager_end(manager, 1);
        return;
    }
    for (struct owned_informer *owned = manager->informers; owned; owned = owned->next) {
        informer_on_sync(owned->informer, on_informer_sync, manager);
        informer_start(owned->informer);
    }
    on_informer_sync(manager); /* for a manager without informers */
}

static void manager_discover(void *arg)
{
    struct manager *manager = arg;
    kube_discover(manager->client, manager->kinds, manager->kind_count, manager->resources, on_discovered, manager);
}

int manager_run(struct manager *manager, manager_setup_fn setup, void *setup_arg)
{
    struct error err = ERROR_INIT;
    manager->setup = setup;
    manager->setup_arg = setup_arg;
    if (manager_serve(manager, &err) < 0) {
        log_error("start failed", LOG_ERR(&err));
        return 1;
    }
    loop_on_signal(manager->loop, SIGTERM, on_signal, manager);
    loop_on_signal(manager->loop, SIGINT, on_signal, manager);
    manager->tick_due_ms = clock_monotonic_ms();
    loop_timer_arm(&manager->tick_timer, 0);
    manager_discover(manager);
    loop_run(manager->loop);
    return manager->exit_code;
}

bool manager_has_work_left(const struct manager *manager)
{
    return manager_in_work(manager) > 0;
}

bool manager_has_lost_lease(const struct manager *manager)
{
    return manager->has_lost_lease;
}
