/* SPDX-License-Identifier: Apache-2.0 */
/* A changed my.cnf on its way to an agent, against an HTTP server with mutual TLS, through a fleet of one stream. */
#include "common/base.h"

#include "operator/instance/mycnf_sender.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_server.h"
#include "common/tests/clock_util.h"
#include "operator/instance/agent_fleet.h"
#include "operator/instance/tests/agent_pki_util.h"

#define WAIT_MS 10000
#define CLUSTER "ns1/shop"
#define MEMBER "m-0"
#define APPLIED "{\"applied\":[\"max_connections\"],\"needsRestart\":[]}"

struct rig {
    struct loop *loop;
    struct http_client *http;
    struct agent_pki pki;
    struct http_server *server;
    struct agent_fleet *fleet;
    struct http_exchange *stream; /* NULL: none is open */
    struct http_exchange *held;   /* a request that the test answers */
    bool hold;
    int news, posts, previews;
    char posted[64]; /* the last body */
    int answer_status;
    const char *answer;
    const char *words; /* of the last verdict */
};

/* ---- the agent's side ---- */

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

static void answer(struct rig *rig, struct http_exchange *exchange)
{
    http_reply(exchange, rig->answer_status, "application/json", rig->answer, strlen(rig->answer));
}

static void handle_apply(struct http_exchange *exchange, void *arg)
{
    struct rig *rig = arg;
    size_t len;
    const char *body = http_exchange_body(exchange, &len);
    rig->posts++;
    snprintf(rig->posted, sizeof(rig->posted), "%.*s", (int)len, body);
    if (rig->hold)
        rig->held = exchange;
    else
        answer(rig, exchange);
}

static void handle_preview(struct http_exchange *exchange, void *arg)
{
    struct rig *rig = arg;
    rig->previews++;
    if (rig->hold)
        rig->held = exchange;
    else
        answer(rig, exchange);
}

static const struct http_route routes[] = {{"GET", "/v1/status", handle_status},
    {"POST", "/v1/mycnf/apply", handle_apply}, {"POST", "/v1/mycnf/preview", handle_preview}, {.method = NULL}};

/* ---- the rig ---- */

static void on_news(void *arg, const char *cluster_key)
{
    UNUSED(cluster_key);
    ((struct rig *)arg)->news++;
}

static int set_up(void **state)
{
    struct rig *rig = xnew(struct rig);
    struct error err = ERROR_INIT;
    uint16_t port;
    clock_stand_still();
    rig->loop = loop_new();
    rig->http = http_client_new(rig->loop);
    agent_pki_init(&rig->pki, "m-0.shop");
    rig->server = http_server_new(rig->loop, rig->pki.server_tls, routes, rig);
    if (http_server_listen(rig->server, "127.0.0.1", 0, &port, &err) < 0)
        fail_msg("%s", err.message);
    rig->answer_status = 200;
    rig->answer = APPLIED;
    rig->fleet = agent_fleet_new(rig->loop, rig->http, on_news, rig);
    const struct agent_fleet_member member = {.name = MEMBER,
        .target = {.address = "127.0.0.1", .server_name = "m-0.shop", .port = port, .tls = rig->pki.client_tls}};
    agent_fleet_sync(rig->fleet, CLUSTER, &member, 1);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    agent_fleet_free(rig->fleet);
    http_client_free(rig->http);
    http_server_free(rig->server);
    agent_pki_release(&rig->pki);
    loop_free(rig->loop);
    free(rig);
    return 0;
}

#define RUN_UNTIL(rig, condition)                                \
    do {                                                         \
        int64_t until_ms_ = clock_monotonic_ms() + WAIT_MS;      \
        while (!(condition) && clock_monotonic_ms() < until_ms_) \
            loop_run_once((rig)->loop, 20);                      \
        assert_true(condition);                                  \
    } while (0)

static void run_for(struct rig *rig, int64_t ms)
{
    for (int64_t until_ms = clock_monotonic_ms() + ms; clock_monotonic_ms() < until_ms;)
        loop_run_once(rig->loop, 10);
}

/* Says it and waits until it has arrived. */
static void tell(struct rig *rig, const char *boot_id, enum agent_phase phase, const char *mycnf_hash)
{
    static uint64_t sequence;
    sequence++;
    struct agent_status status = {.phase = phase, .sequence = sequence};
    struct strbuf line;
    snprintf(status.boot_id, sizeof(status.boot_id), "%s", boot_id);
    snprintf(status.mycnf_hash, sizeof(status.mycnf_hash), "%s", mycnf_hash);
    RUN_UNTIL(rig, rig->stream);
    strbuf_init(&line, AGENT_STATUS_MAX);
    agent_status_encode(&status, &line);
    strbuf_addc(&line, '\n');
    assert_true(http_stream_write(rig->stream, line.buf, line.len));
    strbuf_release(&line);
    const struct agent_status *heard;
    RUN_UNTIL(rig, (heard = agent_fleet_status(rig->fleet, CLUSTER, MEMBER)) && heard->sequence == sequence);
}

static void want(struct rig *rig, const char *hash, const char *text)
{
    agent_fleet_mycnf(rig->fleet, CLUSTER, MEMBER, hash, text);
}

static enum mycnf_verdict verdict(struct rig *rig, const char *hash)
{
    return agent_watch_mycnf_verdict(agent_fleet_get(rig->fleet, CLUSTER, MEMBER), hash, &rig->words);
}

/* ---- tests ---- */

static void it_is_sent_once(void **state)
{
    struct rig *rig = *state;
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    assert_int_equal(verdict(rig, "new"), MYCNF_UNKNOWN);
    int news = rig->news;
    want(rig, "new", "[mysqld]\nmax_connections = 9\n");
    want(rig, "new", "[mysqld]\nmax_connections = 9\n");
    assert_int_equal(verdict(rig, "new"), MYCNF_PENDING);
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_APPLIED);
    assert_string_equal(rig->posted, "[mysqld]\nmax_connections = 9\n");
    assert_int_equal(rig->news, news + 1);
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old"); /* was under way when the answer came */
    want(rig, "new", "[mysqld]\nmax_connections = 9\n");
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "new");
    run_for(rig, 100);
    assert_int_equal(rig->posts, 1);
    assert_int_equal(verdict(rig, "new"), MYCNF_APPLIED);
    assert_int_equal(verdict(rig, "other"), MYCNF_UNKNOWN);
}

static void what_needs_a_restart_is_named(void **state)
{
    static const struct {
        const char *answer, *words;
    } table[] = {
        {"{\"applied\":[],\"needsRestart\":[\"innodb_log_file_size\"]}",
            "my.cnf changes innodb_log_file_size, which needs a restart"},
        {"{\"applied\":[\"max_connections\"],\"needsRestart\":[\"a\",\"b\"]}",
            "my.cnf changes a, b, which need a restart"},
        {"{\"needsRestart\":[\"a\",\"a_very_long_name_of_a_variable_that_takes_half_of_the_room_there_is\","
         "\"another_very_long_name_of_a_variable\",\"b\"]}",
            "my.cnf changes a, a_very_long_name_of_a_variable_that_takes_half_of_the_room_there_is, b and 1 more, which need a restart"},
        {"{\"needsRestart\":[17]}", "my.cnf has changed, which needs a restart"},
    };
    struct rig *rig = *state;
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char hash[16];
        snprintf(hash, sizeof(hash), "new%zu", i);
        rig->answer = table[i].answer;
        want(rig, hash, "x");
        RUN_UNTIL(rig, verdict(rig, hash) == MYCNF_NEEDS_RESTART);
        assert_string_equal(rig->words, table[i].words);
    }
}

static void an_agent_without_that_door_needs_a_restart(void **state)
{
    struct rig *rig = *state;
    rig->answer_status = 404;
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    want(rig, "new", "x");
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_NEEDS_RESTART);
    assert_string_equal(rig->words, "my.cnf has changed, and its agent cannot apply that at run time");
    assert_int_equal(rig->posts, 1);
}

static enum mycnf_verdict preview(struct rig *rig, const char *hash)
{
    return agent_watch_preview_verdict(agent_fleet_get(rig->fleet, CLUSTER, MEMBER), hash);
}

/* Asking is not telling: each has a verdict of its own. */
static void what_it_could_take_up_is_asked_apart(void **state)
{
    struct rig *rig = *state;
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    agent_fleet_preview(rig->fleet, CLUSTER, MEMBER, "new", "x");
    RUN_UNTIL(rig, preview(rig, "new") == MYCNF_APPLIED);
    assert_int_equal(rig->previews, 1);
    assert_int_equal(rig->posts, 0);
    assert_int_equal(verdict(rig, "new"), MYCNF_UNKNOWN);
    rig->answer = "{\"applied\":[],\"needsRestart\":[\"back_log\"]}";
    agent_fleet_preview(rig->fleet, CLUSTER, MEMBER, "newer", "y");
    RUN_UNTIL(rig, preview(rig, "newer") == MYCNF_NEEDS_RESTART);
    assert_int_equal(preview(rig, "new"), MYCNF_UNKNOWN);
    rig->hold = true; /* it has had that all the time: no answer is needed, and that is news */
    int news = rig->news;
    agent_fleet_preview(rig->fleet, CLUSTER, MEMBER, "old", "w");
    RUN_UNTIL(rig, rig->held);
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    RUN_UNTIL(rig, preview(rig, "old") == MYCNF_APPLIED);
    assert_true(rig->news > news);
    answer(rig, steal_ptr(rig->held));
    rig->hold = false;
    rig->answer_status = 404; /* an agent of an earlier version */
    agent_fleet_preview(rig->fleet, CLUSTER, MEMBER, "newest", "z");
    RUN_UNTIL(rig, preview(rig, "newest") == MYCNF_NEEDS_RESTART);
    tell(rig, "boot2", AGENT_PHASE_RUNNING, "old"); /* another process has said nothing yet */
    assert_int_equal(preview(rig, "newest"), MYCNF_UNKNOWN);
    assert_int_equal(rig->posts, 0);
}

static void failures_are_tried_again_and_end(void **state)
{
    struct rig *rig = *state;
    rig->answer_status = 503;
    rig->answer = "the server is away\nfor a while";
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    want(rig, "new", "x");
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_FAILED);
    assert_string_equal(rig->words, "its agent answered 503: the server is away");
    want(rig, "new", "x"); /* does not begin anew */
    rig->answer_status = 200;
    rig->answer = "hello";
    RUN_UNTIL(rig, rig->posts == 2);
    RUN_UNTIL(rig, str_eq(rig->words, "the agent's answer makes no sense") || verdict(rig, "new") != MYCNF_FAILED);
    assert_int_equal(rig->posts, 2);
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_NEEDS_RESTART);
    assert_int_equal(rig->posts, MYCNF_SENDER_TRIES);
    assert_string_equal(
        rig->words, "my.cnf has changed and could not be taken up at run time: the agent's answer makes no sense");
    rig->answer = APPLIED;
    want(rig, "newer", "y");
    RUN_UNTIL(rig, verdict(rig, "newer") == MYCNF_APPLIED);
    assert_string_equal(rig->words, "");
}

static void a_failure_may_be_followed_by_success(void **state)
{
    struct rig *rig = *state;
    rig->answer_status = 503;
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    want(rig, "new", "x");
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_FAILED);
    rig->answer_status = 200;
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_APPLIED);
    assert_int_equal(rig->posts, 2);
}

/* Whoever cannot be asked now is asked later; nothing counts as a failure meanwhile. */
static void only_a_running_server_is_told(void **state)
{
    struct rig *rig = *state;
    want(rig, "new", "x");
    tell(rig, "boot1", AGENT_PHASE_DOWN, "old");
    assert_int_equal(verdict(rig, "new"), MYCNF_UNKNOWN); /* it was wanted of nobody known */
    want(rig, "new", "x");
    run_for(rig, 100);
    assert_int_equal(rig->posts, 0);
    assert_int_equal(verdict(rig, "new"), MYCNF_PENDING);
    http_stream_abort(steal_ptr(rig->stream));
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_APPLIED);
    assert_int_equal(rig->posts, 1);
}

static void a_restarted_agent_is_asked_again(void **state)
{
    struct rig *rig = *state;
    rig->answer = "{\"needsRestart\":[\"a\"]}";
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    want(rig, "new", "x");
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_NEEDS_RESTART);
    tell(rig, "boot2", AGENT_PHASE_RUNNING, "old");
    assert_int_equal(verdict(rig, "new"), MYCNF_UNKNOWN);
    assert_string_equal(rig->words, "");
    rig->answer = APPLIED;
    want(rig, "new", "x");
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_APPLIED);
    assert_int_equal(rig->posts, 2);
}

/* The answer of the old process says nothing about the new one. */
static void an_answer_from_before_a_restart_does_not_count(void **state)
{
    struct rig *rig = *state;
    rig->hold = true;
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    want(rig, "new", "x");
    RUN_UNTIL(rig, rig->held);
    tell(rig, "boot2", AGENT_PHASE_RUNNING, "old");
    want(rig, "new", "x");
    rig->hold = false;
    rig->answer = "{\"needsRestart\":[\"a\"]}";
    answer(rig, steal_ptr(rig->held));
    rig->answer = APPLIED;
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_APPLIED);
    assert_int_equal(rig->posts, 2);
}

static void a_server_started_anew_with_the_old_one_is_asked_again(void **state)
{
    struct rig *rig = *state;
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    want(rig, "new", "x");
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_APPLIED);
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "new");
    tell(rig, "boot1", AGENT_PHASE_STARTING, "old");
    assert_int_equal(verdict(rig, "new"), MYCNF_UNKNOWN);
}

static void a_newer_one_waits_for_the_answer_to_the_older(void **state)
{
    struct rig *rig = *state;
    rig->hold = true;
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    want(rig, "first", "1");
    RUN_UNTIL(rig, rig->held);
    want(rig, "second", "2");
    want(rig, "third", "3");
    run_for(rig, 100);
    assert_int_equal(rig->posts, 1);
    rig->hold = false;
    rig->answer_status = 500;
    answer(rig, steal_ptr(rig->held));
    rig->answer_status = 200;
    RUN_UNTIL(rig, verdict(rig, "third") == MYCNF_APPLIED);
    assert_int_equal(rig->posts, 2);
    assert_string_equal(rig->posted, "3");
    assert_int_equal(verdict(rig, "first"), MYCNF_UNKNOWN);
}

static void a_status_that_shows_it_is_as_good_as_an_answer(void **state)
{
    struct rig *rig = *state;
    rig->answer_status = 500;
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    want(rig, "new", "x");
    RUN_UNTIL(rig, verdict(rig, "new") == MYCNF_FAILED);
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "new");
    assert_int_equal(verdict(rig, "new"), MYCNF_APPLIED);
    run_for(rig, 1500);
    assert_int_equal(rig->posts, 1);
}

static void it_can_be_freed_with_a_request_under_way(void **state)
{
    struct rig *rig = *state;
    rig->hold = true;
    tell(rig, "boot1", AGENT_PHASE_RUNNING, "old");
    want(rig, "new", "x");
    RUN_UNTIL(rig, rig->held);
    int news = rig->news;
    agent_fleet_sync(rig->fleet, CLUSTER, NULL, 0);
    answer(rig, steal_ptr(rig->held));
    run_for(rig, 50);
    assert_int_equal(rig->news, news);
    want(rig, "new", "x"); /* of nobody */
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(it_is_sent_once),
        RIG_TEST(what_needs_a_restart_is_named),
        RIG_TEST(an_agent_without_that_door_needs_a_restart),
        RIG_TEST(what_it_could_take_up_is_asked_apart),
        RIG_TEST(failures_are_tried_again_and_end),
        RIG_TEST(a_failure_may_be_followed_by_success),
        RIG_TEST(only_a_running_server_is_told),
        RIG_TEST(a_restarted_agent_is_asked_again),
        RIG_TEST(an_answer_from_before_a_restart_does_not_count),
        RIG_TEST(a_server_started_anew_with_the_old_one_is_asked_again),
        RIG_TEST(a_newer_one_waits_for_the_answer_to_the_older),
        RIG_TEST(a_status_that_shows_it_is_as_good_as_an_answer),
        RIG_TEST(it_can_be_freed_with_a_request_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
