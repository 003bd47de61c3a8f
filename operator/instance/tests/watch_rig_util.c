/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/instance/tests/watch_rig_util.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/tests/clock_util.h"

/* ---- the agent's side ---- */

static void on_stream_closed(void *arg)
{
    ((struct watch_rig *)arg)->stream = NULL;
}

static void note_addressee(struct http_exchange *exchange, char ret[static 128])
{
    snprintf(ret, 128, "%s %s", str_or_empty(http_exchange_query(exchange, "to")),
        str_or_empty(http_exchange_query(exchange, "uid")));
}

static void handle_status(struct http_exchange *exchange, void *arg)
{
    struct watch_rig *rig = arg;
    rig->streams++;
    note_addressee(exchange, rig->status_to);
    if (rig->refuse_status) {
        http_replyf(exchange, rig->refuse_status, "no");
        return;
    }
    rig->stream = exchange;
    http_stream_start(exchange, 200, "application/json", on_stream_closed, rig);
}

void watch_rig_answer_put(struct watch_rig *rig, struct http_exchange *exchange)
{
    http_replyf(exchange, rig->put_answer ? rig->put_answer : 200, "%s", rig->put_text ? rig->put_text : "{}");
}

static void handle_role(struct http_exchange *exchange, void *arg)
{
    struct watch_rig *rig = arg;
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(POSITION_TEXT_MAX);
    struct agent_order order;
    struct error err = ERROR_INIT;
    size_t len;
    const char *body = http_exchange_body(exchange, &len);
    rig->puts++;
    note_addressee(exchange, rig->put_to);
    snprintf(rig->put_boot, sizeof(rig->put_boot), "%s", str_or_empty(http_exchange_query(exchange, "boot")));
    if (agent_order_decode(body, len, positions, &order, &err) < 0)
        fail_msg("%s", err.message);
    agent_order_hash(&order, rig->put_hash);
    rig->put_last = order.nobody_stays;
    if (rig->hold_puts)
        rig->held = exchange;
    else
        watch_rig_answer_put(rig, exchange);
}

static const struct http_route routes[] = {
    {"GET", "/v1/status", handle_status}, {"PUT", "/v1/role", handle_role}, {.method = NULL}};

void watch_rig_say(struct watch_rig *rig, const char *text)
{
    assert_non_null(rig->stream);
    assert_true(http_stream_write(rig->stream, text, strlen(text)));
}

static void watch_rig_say_whole(struct watch_rig *rig, const struct agent_status *status)
{
    struct strbuf line;
    strbuf_init(&line, AGENT_STATUS_MAX);
    agent_status_encode(status, &line);
    strbuf_addc(&line, '\n');
    watch_rig_say(rig, line.buf);
    strbuf_release(&line);
}

void watch_rig_say_status(struct watch_rig *rig, const char *reason, const char *gtid)
{
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};
    snprintf(status.ready_reason, sizeof(status.ready_reason), "%s", reason);
    status.gtid_executed = gtid;
    watch_rig_say_whole(rig, &status);
}

void watch_rig_say_order(struct watch_rig *rig, const char *boot_id, const char *order_hash)
{
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};
    snprintf(status.boot_id, sizeof(status.boot_id), "%s", boot_id);
    snprintf(status.order_hash, sizeof(status.order_hash), "%s", order_hash);
    watch_rig_say_whole(rig, &status);
}

/* ---- the rig ---- */

int watch_rig_set_up(void **state)
{
    struct watch_rig *rig = xnew(struct watch_rig);
    struct error err = ERROR_INIT;
    clock_stand_still();
    rig->loop = loop_new();
    rig->http = http_client_new(rig->loop);
    rig->positions = position_pool_new((size_t)(16 * KM_MIB));
    agent_pki_init(&rig->pki, "*.shop-mysql.ns1.svc");
    rig->server = http_server_new(rig->loop, rig->pki.server_tls, routes, rig);
    if (http_server_listen(rig->server, "127.0.0.1", 0, &rig->port, &err) < 0)
        fail_msg("%s", err.message);
    *state = rig;
    return 0;
}

int watch_rig_tear_down(void **state)
{
    struct watch_rig *rig = *state;
    agent_watch_free(rig->watch);
    position_pool_unref(rig->positions);
    http_client_free(rig->http);
    http_server_free(rig->server);
    agent_pki_release(&rig->pki);
    loop_free(rig->loop);
    free(rig);
    return 0;
}

static void on_news(void *arg)
{
    ((struct watch_rig *)arg)->news++;
}

static bool may_tell(void *arg)
{
    return !((struct watch_rig *)arg)->muzzled;
}

struct agent_target watch_rig_target_of(const struct watch_rig *rig, const char *server_name)
{
    return (struct agent_target){
        .address = "127.0.0.1",
        .server_name = server_name,
        .port = rig->port,
        .tls = rig->pki.client_tls,
        .may_tell = may_tell,
        .may_tell_arg = (void *)(uintptr_t)rig,
    };
}

void watch_rig_start(struct watch_rig *rig, const char *server_name)
{
    const struct agent_target target = watch_rig_target_of(rig, server_name);
    rig->watch = agent_watch_new(rig->loop, rig->http, &target, on_news, rig);
}

const struct agent_status *watch_rig_status_of(struct watch_rig *rig)
{
    return agent_watch_read_status(rig->watch, rig->positions, &rig->status) ? &rig->status : NULL;
}

void watch_rig_run_for(struct watch_rig *rig, int64_t ms)
{
    for (int64_t until_ms = clock_monotonic_ms() + ms; clock_monotonic_ms() < until_ms;)
        loop_run_once(rig->loop, 10);
}

void watch_rig_tell(struct watch_rig *rig, struct agent_status *status)
{
    status->sequence++;
    watch_rig_say_whole(rig, status);
    RUN_UNTIL(rig, watch_rig_status_of(rig) && rig->status.sequence == status->sequence);
}

struct agent_order watch_rig_order_of(uint64_t epoch)
{
    return (struct agent_order){.epoch = epoch, .role = AGENT_ROLE_PRIMARY, .heartbeat = true};
}

void watch_rig_start_with(struct watch_rig *rig, const char *order_hash)
{
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_say_order(rig, "boot1", order_hash);
    RUN_UNTIL(rig, agent_watch_connected(rig->watch));
}
