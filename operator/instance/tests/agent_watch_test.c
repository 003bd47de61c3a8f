/* The status streams, and orders, against an HTTP server with mutual TLS, as an agent has one. */
#include "common/base.h"

#include "operator/instance/agent_watch.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_server.h"
#include "common/json.h"
#include "operator/instance/agent_fleet.h"
#include "operator/instance/order_sender.h"

#define WAIT_MS 10000
#define SERVER_NAME "m-0.shop-mysql.ns1.svc"

struct rig {
    struct loop *loop;
    struct http_client *http;
    struct tls_keypair ca, leaf, client;
    struct tls_server *server_tls;
    struct http_tls *client_tls;
    struct http_server *server;
    uint16_t port;
    struct http_exchange *stream; /* the open one; NULL: none */
    int streams;                  /* opened so far */
    int refuse_status;            /* answer this instead of a stream */
    struct agent_watch *watch;
    struct agent_status status;
    int news;
    /* orders */
    int puts;
    char put_hash[17]; /* of the last one */
    int put_answer;    /* 0: 200 */
    const char *put_text;
    bool hold_puts; /* answer when the test says so */
    bool muzzled;   /* the operator may tell nothing */
    struct http_exchange *held;
};

/* ---- the agent's side ---- */

static void on_stream_closed(void *arg)
{
    ((struct rig *)arg)->stream = NULL;
}

static void handle_status(struct http_exchange *exchange, void *arg)
{
    struct rig *rig = arg;
    rig->streams++;
    if (rig->refuse_status) {
        http_replyf(exchange, rig->refuse_status, "no");
        return;
    }
    rig->stream = exchange;
    http_stream_start(exchange, 200, "application/json", on_stream_closed, rig);
}

static void answer_put(struct rig *rig, struct http_exchange *exchange)
{
    http_replyf(exchange, rig->put_answer ? rig->put_answer : 200, "%s", rig->put_text ? rig->put_text : "{}");
}

static void handle_role(struct http_exchange *exchange, void *arg)
{
    struct rig *rig = arg;
    struct agent_order order;
    struct error err = ERROR_INIT;
    size_t len;
    const char *body = http_exchange_body(exchange, &len);
    rig->puts++;
    if (agent_order_decode(body, len, &order, &err) < 0)
        fail_msg("%s", err.message);
    agent_order_hash(&order, rig->put_hash);
    if (rig->hold_puts)
        rig->held = exchange;
    else
        answer_put(rig, exchange);
}

static const struct http_route routes[] = {
    {"GET", "/v1/status", handle_status}, {"PUT", "/v1/role", handle_role}, {.method = NULL}};

static void say(struct rig *rig, const char *text)
{
    assert_non_null(rig->stream);
    assert_true(http_stream_write(rig->stream, text, strlen(text)));
}

static void say_whole(struct rig *rig, const struct agent_status *status)
{
    struct strbuf line;
    strbuf_init(&line, AGENT_STATUS_MAX);
    agent_status_encode(status, &line);
    strbuf_addc(&line, '\n');
    say(rig, line.buf);
    strbuf_release(&line);
}

static void say_status(struct rig *rig, const char *reason, const char *gtid)
{
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};
    snprintf(status.ready_reason, sizeof(status.ready_reason), "%s", reason);
    snprintf(status.gtid_executed, sizeof(status.gtid_executed), "%s", gtid);
    say_whole(rig, &status);
}

static void say_order(struct rig *rig, const char *boot_id, const char *order_hash)
{
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};
    snprintf(status.boot_id, sizeof(status.boot_id), "%s", boot_id);
    snprintf(status.order_hash, sizeof(status.order_hash), "%s", order_hash);
    say_whole(rig, &status);
}

/* ---- the rig ---- */

static void issue(const struct tls_keypair *ca, const char *name, const char *dns, bool server, struct tls_keypair *ret)
{
    struct error err = ERROR_INIT;
    const char *const dns_names[] = {dns, NULL};
    const struct tls_cert_request request = {
        .common_name = name,
        .dns_names = dns ? dns_names : NULL,
        .server_auth = server,
        .client_auth = !server,
        .not_before_ms = clock_realtime_ms() - 60000,
        .not_after_ms = clock_realtime_ms() + 3600000,
    };
    if ((ca ? tls_issue(ca, &request, ret, &err) : tls_make_ca(&request, ret, &err)) < 0)
        fail_msg("%s", err.message);
}

static struct http_tls *make_client_tls(const struct rig *rig)
{
    const struct http_tls_options options = {
        .ca_pem = rig->ca.cert_pem, .cert_pem = rig->client.cert_pem, .key_pem = rig->client.key_pem};
    return http_tls_new(&options);
}

static int set_up(void **state)
{
    struct rig *rig = xnew(struct rig);
    struct error err = ERROR_INIT;
    rig->loop = loop_new();
    rig->http = http_client_new(rig->loop);
    issue(NULL, "ca", NULL, true, &rig->ca);
    issue(&rig->ca, AGENT_COMMON_NAME, "*.shop-mysql.ns1.svc", true, &rig->leaf);
    issue(&rig->ca, AGENT_OPERATOR_COMMON_NAME, NULL, false, &rig->client);
    rig->server_tls = tls_server_new(&rig->leaf, rig->ca.cert_pem, &err);
    rig->client_tls = make_client_tls(rig);
    rig->server = http_server_new(rig->loop, rig->server_tls, routes, rig);
    if (http_server_listen(rig->server, "127.0.0.1", 0, &rig->port, &err) < 0)
        fail_msg("%s", err.message);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    struct rig *rig = *state;
    agent_watch_free(rig->watch);
    http_client_free(rig->http);
    http_server_free(rig->server);
    tls_server_free(rig->server_tls);
    http_tls_unref(rig->client_tls);
    tls_keypair_release(&rig->ca);
    tls_keypair_release(&rig->leaf);
    tls_keypair_release(&rig->client);
    loop_free(rig->loop);
    free(rig);
    return 0;
}

static void on_news(void *arg)
{
    ((struct rig *)arg)->news++;
}

static bool may_tell(void *arg)
{
    return !((struct rig *)arg)->muzzled;
}

static struct agent_target target_of(const struct rig *rig, const char *server_name)
{
    return (struct agent_target){
        .address = "127.0.0.1",
        .server_name = server_name,
        .port = rig->port,
        .tls = rig->client_tls,
        .may_tell = may_tell,
        .may_tell_arg = (void *)(uintptr_t)rig,
    };
}

static void start(struct rig *rig, const char *server_name)
{
    const struct agent_target target = target_of(rig, server_name);
    rig->watch = agent_watch_new(rig->loop, rig->http, &target, on_news, rig);
}

#define RUN_UNTIL(rig, condition)                                \
    do {                                                         \
        int64_t until_ms_ = clock_monotonic_ms() + WAIT_MS;      \
        while (!(condition) && clock_monotonic_ms() < until_ms_) \
            loop_run_once((rig)->loop, 20);                      \
        assert_true(condition);                                  \
    } while (0)

static const struct agent_status *status_of(struct rig *rig)
{
    return agent_watch_read_status(rig->watch, &rig->status) ? &rig->status : NULL;
}

static void run_for(struct rig *rig, int64_t ms)
{
    for (int64_t until_ms = clock_monotonic_ms() + ms; clock_monotonic_ms() < until_ms;)
        loop_run_once(rig->loop, 10);
}

/* ---- tests ---- */

static void words_arrive_and_repeated_ones_are_no_news(void **state)
{
    struct rig *rig = *state;
    start(rig, SERVER_NAME);
    assert_null(status_of(rig));
    assert_string_equal(agent_watch_error(rig->watch), "not connected yet");
    RUN_UNTIL(rig, rig->stream);
    assert_false(agent_watch_connected(rig->watch));
    say_status(rig, "starting", "a:1");
    RUN_UNTIL(rig, rig->news == 1);
    assert_true(agent_watch_connected(rig->watch));
    assert_string_equal(agent_watch_error(rig->watch), "");
    assert_string_equal(status_of(rig)->ready_reason, "starting");
    say_status(rig, "starting", "a:1");
    say_status(rig, "starting", "a:1-2"); /* transactions are no news, but they are kept */
    RUN_UNTIL(rig, str_eq(status_of(rig)->gtid_executed, "a:1-2"));
    assert_int_equal(rig->news, 1);
    say_status(rig, "lagging", "a:1-2");
    RUN_UNTIL(rig, rig->news == 2);
    assert_true(agent_watch_age_ms(rig->watch) < WAIT_MS);
}

/* Says it and waits until it has arrived. */
static void tell(struct rig *rig, struct agent_status *status)
{
    status->sequence++;
    say_whole(rig, status);
    RUN_UNTIL(rig, status_of(rig) && rig->status.sequence == status->sequence);
}

static void what_moves_all_the_time_is_no_news(void **state)
{
    struct rig *rig = *state;
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING, .volume_free_bytes = 1000000, .long_transactions = 1};
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, rig->stream);
    tell(rig, &status);
    assert_int_equal(rig->news, 1);
    run_for(rig, AGENT_WATCH_PROGRESS_MS);
    snprintf(status.gtid_executed, sizeof(status.gtid_executed), "a:1-9");
    snprintf(status.gtid_received, sizeof(status.gtid_received), "a:1-10");
    snprintf(status.long_transaction, sizeof(status.long_transaction), "thread 17, 42 s");
    status.replication.lag_ms = 900;
    status.waiting_commits = 3;
    status.writes_blocked_ms = AGENT_WATCH_BLOCKED_MS - 1;
    status.volume_free_bytes = 995000;
    tell(rig, &status);
    assert_int_equal(rig->news, 1);
    assert_string_equal(rig->status.gtid_received, "a:1-10");
    status.writes_blocked_ms = AGENT_WATCH_BLOCKED_MS;
    tell(rig, &status);
    assert_int_equal(rig->news, 2);
    status.writes_blocked_ms += 500;
    tell(rig, &status);
    assert_int_equal(rig->news, 2);
    status.writes_blocked_ms = 0;
    tell(rig, &status);
    assert_int_equal(rig->news, 3);
}

static void what_decisions_need_is_news_at_once(void **state)
{
    struct rig *rig = *state;
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};
    int news = 1;
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, rig->stream);
    tell(rig, &status);
#define NEWS(change)                         \
    do {                                     \
        change;                              \
        tell(rig, &status);                  \
        assert_int_equal(rig->news, ++news); \
    } while (0)
    NEWS(status.order_done = true);
    NEWS(status.role = AGENT_ROLE_PRIMARY);
    NEWS(status.epoch = 2);
    NEWS(status.writable = true);
    NEWS(snprintf(status.errant, sizeof(status.errant), "0-2-7"));
    NEWS(status.replication.applier = AGENT_THREAD_RUNNING);
    NEWS(status.semi_sync_replicas = 1);
    NEWS(agent_status_add_problem(&status, "BinlogsPurged", "gone"));
    NEWS(status.seed.step = AGENT_SEED_STEP_COPYING);
#undef NEWS
}

static void progress_is_told_once_a_second(void **state)
{
    struct rig *rig = *state;
    struct agent_status status = {.phase = AGENT_PHASE_SEEDING};
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, rig->stream);
    int64_t since_ms = clock_monotonic_ms();
    int told = 0;
    for (; clock_monotonic_ms() < since_ms + 3 * AGENT_WATCH_PROGRESS_MS / 2; told++) {
        status.seed.bytes++;
        tell(rig, &status);
        run_for(rig, 20);
    }
    int64_t most = 1 + (clock_monotonic_ms() - since_ms) / AGENT_WATCH_PROGRESS_MS;
    assert_true(told > 3);
    assert_in_range(rig->news, 2, most);
}

/* What came within the second is told with the next word after it, also if nothing moves any more. */
static void progress_is_not_forgotten(void **state)
{
    struct rig *rig = *state;
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, rig->stream);
    tell(rig, &status);
    status.replication.lag_ms = 5000;
    tell(rig, &status);
    run_for(rig, AGENT_WATCH_PROGRESS_MS);
    int news = rig->news;
    tell(rig, &status);
    assert_int_equal(rig->news, MAX_OF(2, news));
    tell(rig, &status);
    assert_int_equal(rig->news, 2);
}

/* ---- orders ---- */

static struct agent_order order_of(uint64_t epoch)
{
    return (struct agent_order){.epoch = epoch, .role = AGENT_ROLE_PRIMARY, .heartbeat = true};
}

static void start_with_word(struct rig *rig, const char *order_hash)
{
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, rig->stream);
    say_order(rig, "boot1", order_hash);
    RUN_UNTIL(rig, agent_watch_connected(rig->watch));
}

static void an_order_is_given_until_the_status_shows_it(void **state)
{
    struct rig *rig = *state;
    char hash[17];
    struct agent_order order = order_of(1);
    agent_order_hash(&order, hash);
    start(rig, SERVER_NAME);
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->stream);
    run_for(rig, 50);
    assert_int_equal(rig->puts, 0); /* it has not spoken yet */
    say_order(rig, "boot1", "");
    RUN_UNTIL(rig, rig->puts == 1);
    assert_string_equal(rig->put_hash, hash);
    say_order(rig, "boot1", ""); /* was under way when the order came */
    run_for(rig, 200);
    assert_int_equal(rig->puts, 1);
    RUN_UNTIL(rig, rig->puts == 2); /* taken up, but never shown: once more */
    say_order(rig, "boot1", hash);
    agent_watch_order(rig->watch, &order);
    run_for(rig, 2 * ORDER_SENDER_GRACE_MS);
    assert_int_equal(rig->puts, 2);
    say_order(rig, "boot1", "f00d"); /* somebody else's */
    RUN_UNTIL(rig, rig->puts == 3);
    assert_string_equal(agent_watch_order_error(rig->watch), "");
}

static void a_new_order_is_given_at_once(void **state)
{
    struct rig *rig = *state;
    char hash[17];
    struct agent_order first = order_of(1), second = order_of(2);
    start_with_word(rig, "");
    rig->put_answer = 500;
    rig->put_text = "not now";
    agent_watch_order(rig->watch, &first);
    RUN_UNTIL(rig, rig->puts >= 6); /* the back-off is at its longest */
    assert_string_equal(agent_watch_order_error(rig->watch), "the order was answered 500: not now\n");
    rig->put_answer = 0;
    int puts = rig->puts;
    int64_t before_ms = clock_monotonic_ms();
    agent_watch_order(rig->watch, &second);
    RUN_UNTIL(rig, rig->puts > puts);
    assert_true(clock_monotonic_ms() - before_ms < 1000);
    agent_order_hash(&second, hash);
    assert_string_equal(rig->put_hash, hash);
    assert_string_equal(agent_watch_order_error(rig->watch), "");
}

/* What it was told before may be wrong by now: only a fresh decision is sent. */
static void a_restarted_agent_is_told_what_is_wanted_then(void **state)
{
    struct rig *rig = *state;
    char hash[17];
    struct agent_order order = order_of(1);
    agent_order_hash(&order, hash);
    start_with_word(rig, "");
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 1);
    say_order(rig, "boot1", hash);
    run_for(rig, 100);
    http_stream_abort(steal_ptr(rig->stream));
    RUN_UNTIL(rig, rig->stream);
    assert_int_equal(rig->puts, 1);
    say_order(rig, "boot2", "");
    run_for(rig, 200);
    assert_int_equal(rig->puts, 1);
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 2);
    assert_string_equal(rig->put_hash, hash);
}

/* Its server has ended: nobody has decided yet that it is to open once more. */
static void an_order_that_was_dropped_is_not_given_again(void **state)
{
    struct rig *rig = *state;
    char hash[17];
    struct agent_order order = order_of(1);
    agent_order_hash(&order, hash);
    start_with_word(rig, "");
    agent_watch_order(rig->watch, &order);
    agent_watch_repeat_order(rig->watch, true);
    RUN_UNTIL(rig, rig->puts == 1);
    say_order(rig, "boot1", hash);
    RUN_UNTIL(rig, rig->puts == 2); /* a sign of life */
    say_order(rig, "boot1", "");
    run_for(rig, 2 * ORDER_SENDER_REPEAT_MS);
    assert_int_equal(rig->puts, 2);
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 3);
    assert_string_equal(rig->put_hash, hash);
}

/* Orders never overtake each other. */
static void one_order_at_a_time(void **state)
{
    struct rig *rig = *state;
    char hash[17];
    struct agent_order first = order_of(1), second = order_of(2), third = order_of(3);
    start_with_word(rig, "");
    rig->hold_puts = true;
    agent_watch_order(rig->watch, &first);
    RUN_UNTIL(rig, rig->held);
    agent_watch_order(rig->watch, &second);
    agent_watch_order(rig->watch, &third);
    say_order(rig, "boot1", "");
    run_for(rig, 200);
    assert_int_equal(rig->puts, 1);
    rig->hold_puts = false;
    rig->put_answer = 409; /* of the first order: says nothing about the third */
    answer_put(rig, steal_ptr(rig->held));
    rig->put_answer = 0;
    RUN_UNTIL(rig, rig->puts == 2);
    agent_order_hash(&third, hash);
    assert_string_equal(rig->put_hash, hash);
    uint64_t epoch;
    assert_false(agent_watch_order_refused(rig->watch, &epoch));
}

static void a_refused_order_is_told_and_not_repeated(void **state)
{
    struct rig *rig = *state;
    struct agent_order order = order_of(3);
    uint64_t epoch = 0;
    start_with_word(rig, "");
    int news = rig->news;
    rig->put_answer = 409;
    rig->put_text = "{\"epoch\":17}";
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->news == news + 1);
    assert_true(agent_watch_order_refused(rig->watch, &epoch));
    assert_int_equal(epoch, 17);
    assert_string_equal(agent_watch_order_error(rig->watch), "the order was refused: this member has seen epoch 17");
    say_order(rig, "boot1", "");
    agent_watch_order(rig->watch, &order);
    run_for(rig, 500);
    assert_int_equal(rig->puts, 1);
    rig->put_answer = 0;
    order.epoch = 18;
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 2);
    assert_false(agent_watch_order_refused(rig->watch, &epoch));
}

/* By whatever way an order would go out: a try again, a repetition, news of the agent, another order (I2). */
static void who_does_not_lead_says_nothing(void **state)
{
    struct rig *rig = *state;
    struct agent_order first = order_of(1), second = order_of(2);
    start_with_word(rig, "");
    rig->put_answer = 500;
    agent_watch_order(rig->watch, &first);
    agent_watch_repeat_order(rig->watch, true);
    RUN_UNTIL(rig, rig->puts == 1);
    rig->muzzled = true;
    run_for(rig, 300);
    int puts = rig->puts; /* one may have been under way */
    say_order(rig, "boot2", "");
    run_for(rig, 2 * ORDER_SENDER_REPEAT_MS);
    agent_watch_order(rig->watch, &second);
    run_for(rig, 300);
    assert_int_equal(rig->puts, puts);
    rig->muzzled = false;
    say_order(rig, "boot3", "");
    RUN_UNTIL(rig, rig->puts > puts);
}

static void no_order_no_request(void **state)
{
    struct rig *rig = *state;
    struct agent_order order = order_of(1);
    start_with_word(rig, "f00d");
    run_for(rig, 100);
    assert_int_equal(rig->puts, 0);
    rig->put_answer = 500;
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 1);
    run_for(rig, 20);
    agent_watch_order(rig->watch, NULL);
    int puts = rig->puts;
    run_for(rig, 1000);
    assert_int_equal(rig->puts, puts);
    assert_string_equal(agent_watch_order_error(rig->watch), "");
}

static void it_can_be_freed_with_an_order_under_way(void **state)
{
    struct rig *rig = *state;
    struct agent_order order = order_of(1);
    start_with_word(rig, "");
    rig->hold_puts = true;
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->held);
    agent_watch_free(steal_ptr(rig->watch));
    answer_put(rig, steal_ptr(rig->held));
    run_for(rig, 50);
}

static void lines_may_come_in_pieces(void **state)
{
    struct rig *rig = *state;
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, rig->stream);
    say(rig, "{\"phase\":\"Runn");
    run_for(rig, 50);
    assert_int_equal(rig->news, 0);
    say(rig, "ing\"}\n{\"phase\":\"Down\"}\n{\"pha");
    RUN_UNTIL(rig, rig->news == 2);
    assert_int_equal(status_of(rig)->phase, AGENT_PHASE_DOWN);
}

static void a_lost_stream_is_opened_again(void **state)
{
    struct rig *rig = *state;
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, rig->stream);
    say_status(rig, "x", "");
    RUN_UNTIL(rig, rig->news == 1);
    http_stream_abort(steal_ptr(rig->stream));
    RUN_UNTIL(rig, rig->news == 2); /* lost */
    assert_false(agent_watch_connected(rig->watch));
    assert_non_null(status_of(rig)); /* the last word is kept (I5) */
    assert_string_not_equal(agent_watch_error(rig->watch), "");
    RUN_UNTIL(rig, rig->stream);
    say_status(rig, "x", "");
    RUN_UNTIL(rig, rig->news == 3); /* the same word, but after a loss */
}

static void silence_is_a_loss(void **state)
{
    struct rig *rig = *state;
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, rig->stream);
    say_status(rig, "x", "");
    RUN_UNTIL(rig, rig->news == 1);
    RUN_UNTIL(rig, rig->news == 2);
    assert_false(agent_watch_connected(rig->watch));
    RUN_UNTIL(rig, rig->streams == 2);
}

static void an_endless_line_ends_the_stream(void **state)
{
    struct rig *rig = *state;
    char piece[8192];
    memset(piece, 'x', sizeof(piece));
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, rig->stream);
    for (int64_t sent = 0; rig->stream && sent < 4 * AGENT_STATUS_MAX; sent += (int64_t)sizeof(piece)) {
        http_stream_write(rig->stream, piece, sizeof(piece));
        run_for(rig, 5);
    }
    RUN_UNTIL(rig, strstr(agent_watch_error(rig->watch), "a status line of more than"));
    assert_int_equal(rig->news, 1); /* the first attempt has failed */
    assert_true(agent_watch_tried(rig->watch));
    RUN_UNTIL(rig, rig->streams >= 2);
}

static void nonsense_ends_the_stream(void **state)
{
    struct rig *rig = *state;
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, rig->stream);
    say(rig, "hello\n");
    RUN_UNTIL(rig, rig->streams >= 2);
    assert_null(status_of(rig));
}

static void a_refusal_is_told_and_tried_again(void **state)
{
    struct rig *rig = *state;
    rig->refuse_status = 503;
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, strstr(agent_watch_error(rig->watch), "503"));
    rig->refuse_status = 0;
    RUN_UNTIL(rig, rig->stream);
}

static void a_certificate_of_another_name_is_refused(void **state)
{
    struct rig *rig = *state;
    start(rig, "m-0.other-mysql.ns1.svc");
    RUN_UNTIL(rig, !str_eq(agent_watch_error(rig->watch), "not connected yet"));
    assert_int_equal(rig->streams, 0);
    assert_false(agent_watch_connected(rig->watch));
}

static void a_client_of_another_ca_is_refused(void **state)
{
    struct rig *rig = *state;
    struct tls_keypair other_ca = {0}, stranger = {0};
    issue(NULL, "other", NULL, true, &other_ca);
    issue(&other_ca, AGENT_OPERATOR_COMMON_NAME, NULL, false, &stranger);
    const struct http_tls_options options = {
        .ca_pem = rig->ca.cert_pem, .cert_pem = stranger.cert_pem, .key_pem = stranger.key_pem};
    http_tls_unref(rig->client_tls);
    rig->client_tls = http_tls_new(&options);
    start(rig, SERVER_NAME);
    RUN_UNTIL(rig, !str_eq(agent_watch_error(rig->watch), "not connected yet"));
    assert_int_equal(rig->streams, 0);
    tls_keypair_release(&other_ca);
    tls_keypair_release(&stranger);
}

/* Before the first turn, while connecting, with an open stream, while waiting to try again: no callback follows, nothing leaks. */
static void it_can_be_freed_at_any_time(void **state)
{
    struct rig *rig = *state;
    for (int turns = 0; turns < 12; turns++) {
        rig->refuse_status = turns % 2 ? 503 : 0;
        start(rig, SERVER_NAME);
        for (int i = 0; i < turns; i++)
            loop_run_once(rig->loop, 5);
        agent_watch_free(steal_ptr(rig->watch));
        int news = rig->news;
        run_for(rig, 20);
        assert_int_equal(rig->news, news);
    }
}

/* ---- the fleet ---- */

struct fleet_news {
    int count;
    char key[64];
};

static void on_fleet_news(void *arg, const char *cluster_key)
{
    struct fleet_news *news = arg;
    news->count++;
    snprintf(news->key, sizeof(news->key), "%s", cluster_key);
}

static void a_fleet_keeps_opens_and_closes_streams(void **state)
{
    struct rig *rig = *state;
    struct fleet_news news = {.count = 0};
    struct agent_fleet *fleet = agent_fleet_new(rig->loop, rig->http, on_fleet_news, &news);
    struct agent_fleet_member members[] = {
        {"m-0", target_of(rig, SERVER_NAME)}, {"m-1", target_of(rig, "m-1.shop-mysql.ns1.svc")}};
    agent_fleet_sync(fleet, "ns1/shop", members, 2);
    assert_int_equal(agent_fleet_count(fleet), 2);
    RUN_UNTIL(rig, rig->streams == 2);
    say_status(rig, "x", "");
    RUN_UNTIL(rig, news.count == 1);
    assert_string_equal(news.key, "ns1/shop");
    const struct agent_watch *kept = agent_fleet_get(fleet, "ns1/shop", "m-0");
    agent_fleet_sync(fleet, "ns1/shop", members, 1);
    assert_ptr_equal(agent_fleet_get(fleet, "ns1/shop", "m-0"), kept);
    assert_null(agent_fleet_get(fleet, "ns1/shop", "m-1"));
    assert_int_equal(agent_fleet_count(fleet), 1);
    /* New certificates: a new stream. */
    http_tls_unref(rig->client_tls);
    rig->client_tls = make_client_tls(rig);
    members[0].target = target_of(rig, SERVER_NAME);
    agent_fleet_sync(fleet, "ns1/shop", members, 1);
    RUN_UNTIL(rig, rig->streams == 3);
    assert_null(agent_fleet_status(fleet, "ns1/shop", "m-0")); /* what the old one said is gone with it */
    agent_fleet_sync(fleet, "ns1/shop", NULL, 0);
    assert_int_equal(agent_fleet_count(fleet), 0);
    assert_null(agent_fleet_get(fleet, "ns1/shop", "m-0"));
    agent_fleet_sync(fleet, "ns1/other", members, 1);
    agent_fleet_free(fleet);
}

static void a_fleet_hands_on_words_and_orders(void **state)
{
    struct rig *rig = *state;
    struct fleet_news news = {.count = 0};
    struct agent_order order = order_of(1);
    struct agent_fleet *fleet = agent_fleet_new(rig->loop, rig->http, on_fleet_news, &news);
    const struct agent_fleet_member member = {"m-0", target_of(rig, SERVER_NAME)};
    agent_fleet_order(fleet, "ns1/shop", "m-0", &order);
    agent_fleet_sync(fleet, "ns1/shop", &member, 1);
    agent_fleet_order(fleet, "ns1/shop", "m-1", &order);
    assert_null(agent_fleet_status(fleet, "ns1/shop", "m-0"));
    RUN_UNTIL(rig, rig->stream);
    say_status(rig, "starting", "");
    RUN_UNTIL(rig, news.count == 1);
    assert_string_equal(agent_fleet_status(fleet, "ns1/shop", "m-0")->ready_reason, "starting");
    assert_null(agent_fleet_status(fleet, "ns1/shop", "m-1"));
    assert_null(agent_fleet_status(fleet, "ns1/other", "m-0"));
    assert_int_equal(rig->puts, 0);
    agent_fleet_order(fleet, "ns1/shop", "m-0", &order);
    RUN_UNTIL(rig, rig->puts == 1);
    agent_fleet_free(fleet);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(words_arrive_and_repeated_ones_are_no_news),
        RIG_TEST(what_moves_all_the_time_is_no_news),
        RIG_TEST(what_decisions_need_is_news_at_once),
        RIG_TEST(progress_is_told_once_a_second),
        RIG_TEST(progress_is_not_forgotten),
        RIG_TEST(an_order_is_given_until_the_status_shows_it),
        RIG_TEST(a_new_order_is_given_at_once),
        RIG_TEST(a_restarted_agent_is_told_what_is_wanted_then),
        RIG_TEST(an_order_that_was_dropped_is_not_given_again),
        RIG_TEST(one_order_at_a_time),
        RIG_TEST(a_refused_order_is_told_and_not_repeated),
        RIG_TEST(who_does_not_lead_says_nothing),
        RIG_TEST(no_order_no_request),
        RIG_TEST(it_can_be_freed_with_an_order_under_way),
        RIG_TEST(lines_may_come_in_pieces),
        RIG_TEST(a_lost_stream_is_opened_again),
        RIG_TEST(silence_is_a_loss),
        RIG_TEST(an_endless_line_ends_the_stream),
        RIG_TEST(nonsense_ends_the_stream),
        RIG_TEST(a_refusal_is_told_and_tried_again),
        RIG_TEST(a_certificate_of_another_name_is_refused),
        RIG_TEST(a_client_of_another_ca_is_refused),
        RIG_TEST(it_can_be_freed_at_any_time),
        RIG_TEST(a_fleet_keeps_opens_and_closes_streams),
        RIG_TEST(a_fleet_hands_on_words_and_orders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
