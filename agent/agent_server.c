/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/agent_server.h"

#include "agent/addressee.h"
#include "agent/archive_keeper.h"
#include "agent/backup_keeper.h"
#include "agent/check_keeper.h"
#include "agent/donor.h"
#include "agent/readiness.h"
#include "agent/role_decide.h"
#include "agent/status_watch.h"
#include "agent/tail_donor.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_server.h"
#include "common/json.h"
#include "common/strbuf.h"

#define METRICS_TEXT_MAX (1 * KM_MIB)
#define JSON_TYPE "application/json"

struct agent_server {
    struct agent_view *view;
    struct http_server *plain;
    struct http_server *tls;
    struct status_watch *watch;
};

int64_t agent_server_alone_ms(const struct agent_server *server, int64_t now_ms)
{
    return status_watch_alone_ms(server->watch, now_ms);
}

/* ---- plain ---- */

static void answer(struct http_exchange *exchange, struct readiness readiness)
{
    http_replyf(exchange, readiness.yes ? 200 : 503, "%s", readiness.yes ? "ok" : readiness.reason);
}

static void handle_live(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    answer(exchange, readiness_live(server->view->state, clock_monotonic_ms()));
}

static void handle_ready(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    int64_t now_ms = clock_monotonic_ms(), alone_ms = agent_server_alone_ms(server, now_ms);
    struct readiness ready = readiness_ready(server->view->state, now_ms);

    if (ready.yes && alone_ms >= OPERATOR_SILENT_MS)
        http_replyf(exchange, 200, "ok, but no operator has been heard for %lld s", (long long)(alone_ms / 1000));
    else
        answer(exchange, ready);
}

static void handle_startup(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    answer(exchange, readiness_startup(server->view->state, clock_monotonic_ms()));
}

static void handle_metrics(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;
    _cleanup_(strbuf_release) struct strbuf text;

    server->view->last_scrape_ms = clock_monotonic_ms();
    strbuf_init(&text, METRICS_TEXT_MAX);
    metrics_render(server->view->metrics, &text);
    http_reply(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", text.buf, text.len);
}

static const char *role_word(const struct agent_status *status)
{
    if (status->role != AGENT_ROLE_NONE)
        return agent_role_name(status->role);
    return *status->order_hash ? "fenced" : "none";
}

void agent_server_role_word(
    const struct instance_state *state, const struct agent_status *status, bool is_alone, char *out, size_t size)
{
    enum role_action running = state->role.running;
    bool is_closed = status->role == AGENT_ROLE_PRIMARY && !status->writable;
    bool is_turning = running == ROLE_ACTION_FOLLOW || running == ROLE_ACTION_PREPARE;

    /* A former primary that is ordered to be a replica, and could not be closed yet: clients may wait for commits. */
    bool is_shut = state->replication.seen && state->replication.read_only && !state->role.was_open;
    bool is_open = status->role == AGENT_ROLE_REPLICA && !is_shut;

    snprintf(out, size, "%s%s%s%s%s%s%s", role_word(status), is_closed ? " closed" : "", is_open ? " open" : "",
        is_turning ? " turning" : "", role_applies_before_end(state) ? " applying" : "", is_alone ? " alone" : "",
        state->role.nobody_stays ? " last" : "");
}

static void handle_role_word(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;
    const struct agent_status *status = server->view->status;

    char word[AGENT_SERVER_ROLE_WORD_SIZE];

    role_keeper_look_at_hooks(server->view->roles); /* the hook that asks has just left its mark */
    agent_server_role_word(server->view->state, status, status_watch_count(server->watch) == 0, word, sizeof(word));
    http_replyf(exchange, status->role == AGENT_ROLE_PRIMARY ? 200 : 404, "%s", word);
}

static const struct http_route plain_routes[] = {
    {"GET", "/live", handle_live},
    {"GET", "/ready", handle_ready},
    {"GET", "/startup", handle_startup},
    {"GET", "/role", handle_role_word},
    {"GET", "/metrics", handle_metrics},
    {NULL, NULL, NULL},
};

/* ---- status ---- */

/* How fresh its word is (hearing.h). A stream that is only listened to is no word. */
static void hear(struct agent_server *server, struct http_exchange *exchange, const char *member)
{
    const char *as_of = http_exchange_query(exchange, "asOf");
    struct others_word word = {
        .is_short = str_eq(http_exchange_query(exchange, "room"), "short"),
        .is_last = str_eq(http_exchange_query(exchange, "floor"), "last"),
        .pause_ms = (uint32_t)strtoul(str_or_empty(http_exchange_query(exchange, "again")), NULL, 10),
    };

    if (as_of)
        role_keeper_heard(server->view->roles, member, strtoll(as_of, NULL, 10));
    if (!str_empty(member))
        role_keeper_heard_room(server->view->roles, member, &word);
    if (member && !str_eq(http_exchange_query(exchange, "lag"), "stream"))
        role_keeper_heard_row_reader(server->view->roles);
}

/* Members have certificates of the same CA, and databases run in their pods: only the operator is served. */
static bool is_operator(struct agent_server *server, struct http_exchange *exchange)
{
    if (str_eq(http_exchange_peer_name(exchange), AGENT_OPERATOR_COMMON_NAME)) {
        if (!addressee_check(server->view->status, exchange))
            return false;
        hear(server, exchange, NULL);
        return true;
    }
    http_replyf(exchange, 403, "this door serves %s only", AGENT_OPERATOR_COMMON_NAME);
    return false;
}

/* A replica asks its source, too; only the operator watches. */
static void handle_status(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;
    bool member = str_eq(http_exchange_peer_name(exchange), AGENT_COMMON_NAME);

    if (member ? !addressee_check(server->view->status, exchange) : !is_operator(server, exchange))
        return;
    if (member)
        hear(server, exchange, str_or_empty(http_exchange_query(exchange, "from")));
    status_watch_handle(server->watch, exchange, !member);
}

/* ---- orders ---- */

static void reply_epoch(struct http_exchange *exchange, int code, uint64_t epoch)
{
    char text[64];
    int len = snprintf(text, sizeof(text), "{\"epoch\":%llu}", (unsigned long long)epoch);

    http_reply(exchange, code, JSON_TYPE, text, (size_t)len);
}

static void on_ordered(void *arg, uint64_t epoch, const struct error *error)
{
    struct http_exchange *exchange = arg;

    if (error->kind == ERROR_NONE)
        reply_epoch(exchange, 200, epoch);
    else if (error->kind == ERROR_CONFLICT)
        reply_epoch(exchange, 409, epoch);
    else
        http_replyf(exchange, 503, "%s", error->message);
}

static void handle_role(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(AGENT_ORDER_POSITIONS_MAX);
    struct agent_order order;
    struct error err = ERROR_INIT;
    size_t len = 0;

    if (!is_operator(server, exchange))
        return;
    const char *body = http_exchange_body(exchange, &len);
    if (agent_order_decode(body, len, positions, &order, &err) < 0)
        http_replyf(exchange, 400, "%s", err.message);
    else
        role_keeper_order(server->view->roles, &order, on_ordered, exchange);
}

/* ---- check of a my.cnf ---- */

static void on_checked(void *arg, const struct error *error)
{
    struct http_exchange *exchange = arg;
    _cleanup_(json_decrefp) json_t *result = json_object();
    bool refused = error->kind == ERROR_INVALID;

    if (error->kind != ERROR_NONE && !refused) {
        http_replyf(exchange, 503, "my.cnf could not be checked: %s", error->message);
        return;
    }
    json_put_bool(result, "ok", !refused);
    json_put_str(result, "message", error->message);
    char *text = json_text(result);
    http_reply(exchange, 200, JSON_TYPE, text, strlen(text));
    free(text);
}

static void handle_check(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;
    if (!is_operator(server, exchange))
        return;
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);

    if (strlen(body) != len) {
        http_replyf(exchange, 400, "a my.cnf holds no NUL bytes");
        return;
    }
    if (action_lane_check_mycnf(server->view->actions, body, len, server->view->pod_name, on_checked, exchange) < 0)
        http_replyf(exchange, 503, "other checks run");
}

static void handle_backup(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    if (addressee_check(server->view->status, exchange))
        donor_handle(server->view->donor, exchange);
}

static void handle_tail(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    if (addressee_check(server->view->status, exchange))
        tail_donor_handle(server->view->tail_donor, exchange);
}

static void handle_holds(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    if (addressee_check(server->view->status, exchange))
        holds_door_handle(server->view->holds, exchange);
}

/* ---- backups ---- */

static void handle_backup_post(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    if (is_operator(server, exchange))
        backup_keeper_post(server->view->backups, exchange);
}

static void handle_backup_delete(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    if (is_operator(server, exchange))
        backup_keeper_delete(server->view->backups, exchange);
}

static void handle_archive_put(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    if (is_operator(server, exchange))
        archive_keeper_put(server->view->archive, exchange);
}

static void handle_archive_delete(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    if (is_operator(server, exchange))
        archive_keeper_delete(server->view->archive, exchange);
}

static void handle_check_data(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    if (is_operator(server, exchange))
        check_keeper_put(server->view->check, exchange);
}

static void handle_check_end(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    if (is_operator(server, exchange))
        check_keeper_delete(server->view->check, exchange);
}

static void handle_purge(struct http_exchange *exchange, void *arg)
{
    struct agent_server *server = arg;

    if (is_operator(server, exchange))
        binlog_keeper_put(server->view->binlogs, exchange);
}

/* ---- a changed my.cnf ---- */

struct apply_request {
    struct agent_server *server;
    struct http_exchange *exchange;
    bool preview;
};

static json_t *names_of(const struct strvec *names)
{
    json_t *list = json_array();

    for (size_t i = 0; i < names->n; i++)
        json_array_append_new(list, json_string(names->v[i]));
    return list;
}

static void reply_applied(
    struct http_exchange *exchange, const struct strvec *applied, const struct strvec *needs_restart)
{
    _cleanup_(json_decrefp) json_t *result = json_object();

    json_put(result, "applied", names_of(applied));
    json_put(result, "needsRestart", names_of(needs_restart));
    _cleanup_(freep) char *text = json_text(result);
    http_reply(exchange, 200, JSON_TYPE, text, strlen(text));
}

static void on_applied(
    void *arg, const struct error *error, const struct strvec *applied, const struct strvec *needs_restart)
{
    struct apply_request *request = arg;
    const struct agent_view *view = request->server->view;

    if (error->kind == ERROR_NONE)
        reply_applied(request->exchange, applied, needs_restart);
    else
        http_replyf(request->exchange, error->kind == ERROR_INVALID ? 400 : 503, "%s", error->message);
    if (error->kind == ERROR_NONE && needs_restart->n == 0 && !request->preview)
        view->mycnf_applied(view->arg);
    free(request);
}

static void handle_new_mycnf(struct http_exchange *exchange, struct agent_server *server, bool preview)
{
    const struct agent_view *view = server->view;
    size_t len = 0;

    if (!is_operator(server, exchange))
        return;
    const char *body = http_exchange_body(exchange, &len);
    if (strlen(body) != len) {
        http_replyf(exchange, 400, "a my.cnf holds no NUL bytes");
        return;
    }
    struct apply_request *request = xnew(struct apply_request);
    *request = (struct apply_request){.server = server, .exchange = exchange, .preview = preview};
    int rc = preview
        ? action_lane_preview_mycnf(view->actions, body, len, view->pod_name, view->mysql_port, on_applied, request)
        : action_lane_apply_mycnf(view->actions, body, len, view->pod_name, view->mysql_port, on_applied, request);
    if (rc < 0) {
        free(request);
        http_replyf(exchange, 503, "other checks run");
    }
}

static void handle_apply(struct http_exchange *exchange, void *arg)
{
    handle_new_mycnf(exchange, arg, false);
}

static void handle_preview(struct http_exchange *exchange, void *arg)
{
    handle_new_mycnf(exchange, arg, true);
}

static const struct http_route tls_routes[] = {
    {"GET", "/v1/backup", handle_backup},
    {"POST", "/v1/backups", handle_backup_post},
    {"DELETE", "/v1/backups/*", handle_backup_delete},
    {"PUT", "/v1/archive", handle_archive_put},
    {"DELETE", "/v1/archive", handle_archive_delete},
    {"PUT", "/v1/check", handle_check_data},
    {"DELETE", "/v1/check", handle_check_end},
    {"PUT", "/v1/binlogs/purge", handle_purge},
    {"GET", "/v1/binlogs/tail", handle_tail},
    {"POST", "/v1/binlogs/tail", handle_tail},
    {"POST", "/v1/binlogs/holds", handle_holds},
    {"GET", "/v1/status", handle_status},
    {"PUT", "/v1/role", handle_role},
    {"POST", "/v1/mycnf/check", handle_check},
    {"POST", "/v1/mycnf/apply", handle_apply},
    {"POST", "/v1/mycnf/preview", handle_preview},
    {NULL, NULL, NULL},
};

void agent_server_publish(struct agent_server *server)
{
    status_watch_publish(server->watch);
}

/* ---- life ---- */

struct agent_server *agent_server_new(struct agent_view *view)
{
    struct agent_server *server = xnew(struct agent_server);

    server->view = view;
    server->watch = status_watch_new(view->loop, view->status);
    server->plain = http_server_new(view->loop, NULL, plain_routes, server);
    return server;
}

void agent_server_free(struct agent_server *server)
{
    if (!server)
        return;
    http_server_free(server->plain);
    http_server_free(server->tls);
    status_watch_free(server->watch);
    free(server);
}

int agent_server_listen_plain(struct agent_server *server, const char *address, uint16_t port, struct error *err)
{
    return http_server_listen(server->plain, address, port, NULL, err);
}

int agent_server_listen_tls(
    struct agent_server *server, struct tls_server *tls, const char *address, uint16_t port, struct error *err)
{
    server->tls = http_server_new(server->view->loop, tls, tls_routes, server);
    if (http_server_listen(server->tls, address, port, NULL, err) == 0)
        return 0;
    http_server_free(server->tls);
    server->tls = NULL;
    return -1;
}
