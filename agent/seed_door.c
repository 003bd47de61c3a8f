/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/seed_door.h"

#include "agent/addressee.h"
#include "agent/instance_files.h"
#include "agent/status_watch.h"
#include "common/alloc.h"
#include "common/backup_task.h"
#include "common/http_server.h"
#include "common/log.h"

#define FILES_INTERVAL_MS 1000
#define JSON_TYPE "application/json"

struct seed_door {
    struct seed_door_options options;
    struct loop *loop;
    struct tls_server *tls;
    struct http_server *server;
    struct status_watch *watch;
    struct loop_timer files_timer;
    uint64_t files_signature;
    bool complained;
};

static bool is_operator(const struct seed_door *door, struct http_exchange *exchange)
{
    if (str_eq(http_exchange_peer_name(exchange), AGENT_OPERATOR_COMMON_NAME))
        return addressee_check(door->options.status, exchange);
    http_replyf(exchange, 403, "this door serves %s only", AGENT_OPERATOR_COMMON_NAME);
    return false;
}

static void handle_status(struct http_exchange *exchange, void *arg)
{
    struct seed_door *door = arg;

    if (is_operator(door, exchange))
        status_watch_handle(door->watch, exchange, true);
}

static void handle_role(struct http_exchange *exchange, void *arg)
{
    struct seed_door *door = arg;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(AGENT_ORDER_POSITIONS_MAX);
    struct agent_order order;
    struct error err = ERROR_INIT;
    uint64_t epoch = 0;
    char answer[64];
    size_t len = 0;

    if (!is_operator(door, exchange))
        return;
    const char *body = http_exchange_body(exchange, &len);
    if (agent_order_decode(body, len, positions, &order, &err) < 0) {
        http_replyf(exchange, 400, "%s", err.message);
        return;
    }
    bool taken = door->options.order(door->options.arg, &order, &epoch);
    int answer_len = snprintf(answer, sizeof(answer), "{\"epoch\":%llu}", (unsigned long long)epoch);
    http_reply(exchange, taken ? 200 : 409, JSON_TYPE, answer, (size_t)answer_len);
}

static void handle_restore(struct http_exchange *exchange, void *arg)
{
    struct seed_door *door = arg;
    struct backup_task task;
    struct error err = ERROR_INIT;
    size_t len = 0;

    if (!is_operator(door, exchange))
        return;
    const char *body = http_exchange_body(exchange, &len);
    if (backup_task_decode(body, len, &task, &err) < 0) {
        http_replyf(exchange, 400, "%s", err.message);
    } else {
        door->options.task(door->options.arg, task.id, body, len);
        backup_task_release(&task);
        http_reply(exchange, 202, JSON_TYPE, "{}", 2);
    }
}

static const struct http_route routes[] = {
    {"GET", "/v1/status", handle_status},
    {"PUT", "/v1/role", handle_role},
    {"PUT", "/v1/restore", handle_restore},
    {NULL, NULL, NULL},
};

static int open_door(struct seed_door *door, const struct tls_files *files, struct error *err)
{
    door->tls = tls_server_new(&files->pair, files->ca_pem, err);
    if (!door->tls)
        return -1;
    door->server = http_server_new(door->loop, door->tls, routes, door);
    if (http_server_listen(door->server, door->options.bind, door->options.port, NULL, err) == 0)
        return 0;
    http_server_free(steal_ptr(door->server));
    tls_server_free(steal_ptr(door->tls));
    return -1;
}

static int load_files(struct seed_door *door, struct error *err)
{
    _cleanup_(tls_files_release) struct tls_files files = {0};

    if (instance_files_read_tls(door->options.paths, &files, err) < 0)
        return -1;
    int rc = door->server ? tls_server_reload(door->tls, &files.pair, files.ca_pem, err) : open_door(door, &files, err);
    if (rc == 0)
        door->options.status->certificate_not_after_ms = files.not_after_ms;
    return rc;
}

static void on_files(void *arg)
{
    struct seed_door *door = arg;
    uint64_t signature = instance_files_tls_signature(door->options.paths);
    struct error err = ERROR_INIT;

    loop_timer_arm(&door->files_timer, FILES_INTERVAL_MS);
    if (signature == door->files_signature)
        return;
    if (load_files(door, &err) == 0) {
        door->files_signature = signature;
        door->complained = false;
        return;
    }
    if (!door->complained)
        log_warn("the TLS door cannot be opened", LOG_ERR(&err));
    door->complained = true;
}

struct seed_door *seed_door_new(struct loop *loop, const struct seed_door_options *options)
{
    struct seed_door *door = xnew(struct seed_door);

    door->options = *options;
    door->loop = loop;
    door->watch = status_watch_new(loop, options->status);
    loop_timer_init(&door->files_timer, loop, on_files, door);
    loop_timer_arm(&door->files_timer, 0);
    return door;
}

void seed_door_free(struct seed_door *door)
{
    if (!door)
        return;
    loop_timer_release(&door->files_timer);
    http_server_free(door->server);
    status_watch_free(door->watch);
    tls_server_free(door->tls);
    free(door);
}

void seed_door_publish(struct seed_door *door)
{
    status_watch_publish(door->watch);
}
