/* SPDX-License-Identifier: Apache-2.0 */
/* The task of a check reaches an agent by way of the fleet, is given until the status shows it, and again to a new
 * process. Against an HTTP server with mutual TLS, as an agent has one. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_server.h"
#include "common/tests/clock_util.h"
#include "operator/instance/agent_fleet.h"

#define WAIT_MS 20000
#define KEY "ns1/scratch"
#define POD "scratch-mysql-0"
#define SERVER_NAME POD ".scratch-mysql.ns1.svc"

struct rig {
    struct loop *loop;
    struct http_client *http;
    struct http_server *server;
    struct http_exchange *stream;
    struct agent_fleet *fleet;
    struct agent_status status;
    struct check_task task; /* given last */
    int puts, news;
};

static void on_stream_closed(void *arg)
{
    ((struct rig *)arg)->stream = NULL;
}

static void handle_status(struct http_exchange *exchange, void *arg)
{
    struct rig *rig = arg;
    rig->stream = exchange;
    http_stream_start(exchange, 200, "application/json", on_stream_closed, rig);
}

static void handle_check(struct http_exchange *exchange, void *arg)
{
    struct rig *rig = arg;
    size_t len;
    const char *body = http_exchange_body(exchange, &len);
    rig->puts++;
    assert_int_equal(check_task_decode(body, len, &rig->task, NULL), 0);
    http_replyf(exchange, rig->puts == 1 ? 503 : 200, "ok"); /* the first one gets lost */
}

static const struct http_route routes[] = {
    {"GET", "/v1/status", handle_status}, {"PUT", "/v1/check", handle_check}, {.method = NULL}};

static void say(struct rig *rig, const char *boot_id)
{
    struct strbuf line;
    snprintf(rig->status.boot_id, sizeof(rig->status.boot_id), "%s", boot_id);
    strbuf_init(&line, AGENT_STATUS_MAX);
    agent_status_encode(&rig->status, &line);
    strbuf_addc(&line, '\n');
    assert_true(http_stream_write(rig->stream, line.buf, line.len));
    strbuf_release(&line);
}

static void issue(const struct tls_keypair *ca, const char *name, const char *dns, struct tls_keypair *ret)
{
    const char *const dns_names[] = {dns, NULL};
    const struct tls_cert_request request = {
        .common_name = name,
        .dns_names = dns ? dns_names : NULL,
        .server_auth = dns != NULL,
        .client_auth = dns == NULL,
        .not_before_ms = clock_realtime_ms() - 60000,
        .not_after_ms = clock_realtime_ms() + 3600000,
    };
    assert_int_equal(ca ? tls_issue(ca, &request, ret, NULL) : tls_make_ca(&request, ret, NULL), 0);
}

static void on_news(void *arg, const char *cluster_key)
{
    assert_string_equal(cluster_key, KEY);
    ((struct rig *)arg)->news++;
}

#define RUN_UNTIL(rig, condition)                                \
    do {                                                         \
        int64_t until_ms_ = clock_monotonic_ms() + WAIT_MS;      \
        while (!(condition) && clock_monotonic_ms() < until_ms_) \
            loop_run_once((rig)->loop, 20);                      \
        assert_true(condition);                                  \
    } while (0)

static void want(const struct rig *rig, const struct check_task *task)
{
    struct strbuf text;
    strbuf_init(&text, CHECK_TASK_MAX);
    check_task_encode(task, &text);
    task_sender_want(agent_fleet_check(rig->fleet, KEY, POD), "drill", task->id, text.buf);
    strbuf_release(&text);
}

static void run(struct rig *rig)
{
    const struct check_task task = {.id = "scratch", .gtid = "0-1-99"};
    assert_null(agent_fleet_check(rig->fleet, KEY, "another"));
    RUN_UNTIL(rig, rig->stream);
    rig->status.phase = AGENT_PHASE_RUNNING;
    say(rig, "first");
    RUN_UNTIL(rig, rig->news > 0);
    want(rig, &task);
    RUN_UNTIL(rig, rig->puts >= 2);
    assert_string_equal(rig->task.id, "scratch");
    assert_string_equal(rig->task.gtid, "0-1-99");
    /* It stands in the status: nothing more is said. */
    rig->status.check = (struct check_report){.task = "scratch", .phase = CHECK_PHASE_RUNNING, .tables = 3};
    rig->news = 0;
    say(rig, "first");
    RUN_UNTIL(rig, rig->news > 0);
    assert_int_equal(agent_fleet_status(rig->fleet, KEY, POD)->check.tables, 3);
    int puts = rig->puts;
    want(rig, &task);
    rig->status.check.phase = CHECK_PHASE_PASSED;
    rig->news = 0;
    say(rig, "first");
    RUN_UNTIL(rig, rig->news > 0);
    assert_int_equal(rig->puts, puts);
    /* Another process knows nothing of it. */
    rig->status.check = (struct check_report){.task = ""};
    say(rig, "second");
    RUN_UNTIL(rig, rig->puts > puts);
}

static void a_task_is_given_until_it_shows(void **state)
{
    struct tls_keypair ca, leaf, client;
    struct rig *rig = xnew(struct rig);
    uint16_t port = 0;
    UNUSED(state);
    issue(NULL, "ca", NULL, &ca);
    issue(&ca, AGENT_COMMON_NAME, SERVER_NAME, &leaf);
    issue(&ca, AGENT_OPERATOR_COMMON_NAME, NULL, &client);
    clock_stand_still();
    rig->loop = loop_new();
    rig->http = http_client_new(rig->loop);
    struct tls_server *server_tls = tls_server_new(&leaf, ca.cert_pem, NULL);
    struct http_tls *client_tls = http_tls_new(
        &(struct http_tls_options){.ca_pem = ca.cert_pem, .cert_pem = client.cert_pem, .key_pem = client.key_pem});
    rig->server = http_server_new(rig->loop, server_tls, routes, rig);
    assert_int_equal(http_server_listen(rig->server, "127.0.0.1", 0, &port, NULL), 0);
    rig->fleet = agent_fleet_new(rig->loop, rig->http, on_news, rig);
    const struct agent_fleet_member member = {
        .name = POD, .target = {.address = "127.0.0.1", .server_name = SERVER_NAME, .port = port, .tls = client_tls}};
    agent_fleet_sync(rig->fleet, KEY, &member, 1);
    run(rig);
    agent_fleet_free(rig->fleet);
    http_client_free(rig->http);
    http_server_free(rig->server);
    tls_server_free(server_tls);
    http_tls_unref(client_tls);
    tls_keypair_release(&ca);
    tls_keypair_release(&leaf);
    tls_keypair_release(&client);
    loop_free(rig->loop);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_task_is_given_until_it_shows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
