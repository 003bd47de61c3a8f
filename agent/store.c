/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/store.h"

#include <signal.h>

#include "agent/backup/store_server.h"
#include "agent/instance_files.h"
#include "common/agent_api.h"
#include "common/clock.h"
#include "common/http_server.h"
#include "common/log.h"
#include "common/loop.h"

#define LOOK_INTERVAL_MS 1000
/* A store that has not been able to open for so long ends: the kubelet starts it again, and why stands in the pod's
 * status, where the operator reads it. */
#define OPEN_MAX_MS 10000
/* It ends when no request is under way and all answers are sent, so that none is cut off when its pod is replaced; at
 * the latest then, before the kubelet's patience ends (terminationGracePeriodSeconds in
 * operator/api/backup_store_pod.c). */
#define DRAIN_MAX_MS 8000
#define DRAIN_LOOK_MS 50

struct store {
    const struct agent_options *options;
    struct loop *loop;
    struct store_folder folder;
    struct store_server *server; /* NULL until the folder is ours */
    struct http_server *plain;
    struct http_server *door; /* NULL until there are certificates */
    struct tls_server *tls;
    struct loop_timer timer;
    uint64_t files_signature;
    char trouble[ERROR_MESSAGE_MAX]; /* why it is not ready; logged */
    int64_t begun_ms;
    int64_t ending_ms;  /* since when it ends; 0: it does not */
    struct error error; /* it ends with it */
};

static const char *const peers[] = {AGENT_OPERATOR_COMMON_NAME, AGENT_COMMON_NAME, NULL};

/* ---- plain ---- */

static void handle_live(struct http_exchange *exchange, void *arg)
{
    UNUSED(arg);
    http_replyf(exchange, 200, "ok");
}

static void handle_ready(struct http_exchange *exchange, void *arg)
{
    const struct store *store = arg;

    if (store->door && store->ending_ms == 0)
        http_replyf(exchange, 200, "ok");
    else
        http_replyf(exchange, 503, "%s", *store->trouble ? store->trouble : store->door ? "it ends" : "it begins");
}

static const struct http_route plain_routes[] = {
    {"GET", "/live", handle_live},
    {"GET", "/ready", handle_ready},
    {NULL, NULL, NULL},
};

/* ---- the door ---- */

static int open_folder(struct store *store, struct error *err)
{
    if (store->server)
        return 0;
    if (store_folder_open(store->options->store_dir, &store->folder, err) < 0)
        return -1;
    store->server = store_server_new(store->loop, &store->folder, peers);
    return 0;
}

static int open_door(struct store *store, const struct tls_files *files, struct error *err)
{
    uint16_t port = 0;

    store->tls = tls_server_new(&files->pair, files->ca_pem, err);
    if (!store->tls)
        return -1;
    store->door = http_server_new(store->loop, store->tls, store_server_routes, store->server);
    http_server_stream_bodies(store->door, STORE_BODY_MAX);
    if (http_server_listen(store->door, store->options->bind, store->options->tls_port, &port, err) == 0) {
        log_info("the store is open", LOG_STR("directory", store->options->store_dir), LOG_INT("port", port));
        return 0;
    }
    http_server_free(steal_ptr(store->door));
    tls_server_free(steal_ptr(store->tls));
    return -1;
}

static int load_files(struct store *store, struct error *err)
{
    _cleanup_(tls_files_release) struct tls_files files = {0};
    uint64_t signature = instance_files_tls_signature(&store->options->paths);

    if (store->door && signature == store->files_signature)
        return 0;
    if (instance_files_read_tls(&store->options->paths, &files, err) < 0)
        return -1;
    int rc = store->door ? tls_server_reload(store->tls, &files.pair, files.ca_pem, err) : open_door(store, &files, err);
    if (rc == 0)
        store->files_signature = signature;
    return rc;
}

static void drain(struct store *store)
{
    bool idle = !store->door || store_server_is_idle(store->server, store->door);

    if (idle || clock_monotonic_ms() - store->ending_ms >= DRAIN_MAX_MS)
        loop_stop(store->loop);
    else
        loop_timer_arm(&store->timer, DRAIN_LOOK_MS);
}

static void on_look(void *arg)
{
    struct store *store = arg;
    struct error err = ERROR_INIT;

    if (store->ending_ms > 0) {
        drain(store);
        return;
    }
    loop_timer_arm(&store->timer, LOOK_INTERVAL_MS);
    if (open_folder(store, &err) == 0 && load_files(store, &err) == 0) {
        *store->trouble = '\0';
        return;
    }
    if (!str_eq(store->trouble, err.message))
        log_warn("the store is not ready, or its certificates are old", LOG_ERR(&err));
    snprintf(store->trouble, sizeof(store->trouble), "%s", err.message);
    bool waits = err.kind == ERROR_CONFLICT; /* for another store, which is about to end */
    if (store->door || waits || clock_monotonic_ms() - store->begun_ms < OPEN_MAX_MS)
        return;
    store->error = err;
    loop_stop(store->loop);
}

/* ---- life ---- */

static void on_signal(int signum, void *arg)
{
    struct store *store = arg;

    UNUSED(signum);
    if (store->ending_ms > 0)
        return;
    store->ending_ms = clock_monotonic_ms();
    if (store->server)
        store_server_close(store->server);
    loop_timer_arm(&store->timer, 0);
}

static void release(struct store *store)
{
    loop_timer_release(&store->timer);
    http_server_free(store->door);
    tls_server_free(store->tls);
    if (store->server) {
        store_server_free(store->server);
        store_folder_close(&store->folder);
    }
    http_server_free(store->plain);
    loop_free(store->loop);
}

int store_run(const struct agent_options *options, struct error *err)
{
    struct store store = {.options = options, .loop = loop_new(), .begun_ms = clock_monotonic_ms()};

    if (str_empty(options->store_dir)) {
        loop_free(store.loop);
        return error_set(err, ERROR_INVALID, "--directory is missing");
    }
    loop_timer_init(&store.timer, store.loop, on_look, &store);
    loop_on_signal(store.loop, SIGTERM, on_signal, &store);
    loop_on_signal(store.loop, SIGINT, on_signal, &store);
    store.plain = http_server_new(store.loop, NULL, plain_routes, &store);
    int rc = http_server_listen(store.plain, options->bind, options->plain_port, NULL, err);
    if (rc == 0) {
        loop_timer_arm(&store.timer, 0);
        loop_run(store.loop);
    }
    release(&store);
    if (store.error.kind != ERROR_NONE) {
        *err = store.error;
        return -1;
    }
    return rc;
}
