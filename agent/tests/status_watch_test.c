/* SPDX-License-Identifier: Apache-2.0 */
/* The status on its way out: whoever asks once, and whoever watches. */
#include "common/base.h"

#include "agent/status_watch.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/tests/http_util.h"

struct rig {
    struct loop *loop;
    struct agent_status status;
    struct status_watch *watch;
    struct http_server *server;
    struct http_client *client;
    uint16_t port;
    struct outcome out;
    int lines;
};

static void handle(struct http_exchange *exchange, void *arg)
{
    status_watch_handle(((struct rig *)arg)->watch, exchange, true);
}

static const struct http_route routes[] = {{"GET", "/v1/status", handle}, {NULL, NULL, NULL}};

static int setup(void **state)
{
    struct rig *rig = xnew(struct rig);

    rig->loop = loop_new();
    rig->watch = status_watch_new(rig->loop, &rig->status);
    rig->server = http_server_new(rig->loop, NULL, routes, rig);
    rig->client = http_client_new(rig->loop);
    assert_int_equal(http_server_listen(rig->server, "127.0.0.1", 0, &rig->port, NULL), 0);
    outcome_init(&rig->out);
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *rig = *state;

    http_client_free(rig->client);
    http_server_free(rig->server);
    status_watch_free(rig->watch);
    loop_free(rig->loop);
    outcome_release(&rig->out);
    free(rig);
    return 0;
}

static int on_data(void *arg, const char *data, size_t len)
{
    struct rig *rig = arg;

    strbuf_add(&rig->out.streamed, data, len);
    for (size_t i = 0; i < len; i++)
        rig->lines += data[i] == '\n';
    return 0;
}

static void on_done(void *arg, const struct http_response *response, const struct error *err)
{
    outcome_done(&((struct rig *)arg)->out, response, err);
}

static void get(struct rig *rig, const char *query, bool stream)
{
    _cleanup_(freep) char *url = xasprintf("http://127.0.0.1:%u/v1/status%s", rig->port, query);

    http_client_start(rig->client,
        &(struct http_request_options){.method = "GET",
            .url = url,
            .data = stream ? on_data : NULL,
            .done = on_done,
            .arg = rig,
            .max_body = AGENT_STATUS_MAX + 1});
}

/* Each written as two bytes. */
static void fill(char *text, size_t size)
{
    memset(text, '"', size - 1);
    text[size - 1] = '\0';
}

#define FILL(member) fill(status->member, sizeof(status->member))

static void make_largest(struct agent_status *status, struct strbuf positions[static 3])
{
    *status = (struct agent_status){.phase = AGENT_PHASE_RUNNING, .seed.step = AGENT_SEED_STEP_FAILED};
    for (size_t i = 0; i < 3; i++) {
        strbuf_init(&positions[i], POSITION_TEXT_MAX);
        while (positions[i].len < POSITION_TEXT_MAX)
            strbuf_addc(&positions[i], (char)('a' + i));
    }
    status->gtid_executed = positions[0].buf;
    status->gtid_received = positions[1].buf;
    status->gtid_state = positions[2].buf;
    FILL(ready_reason);
    FILL(errant);
    FILL(named_user);
    FILL(named_database);
    FILL(named_tls);
    FILL(left_accounts);
    FILL(locked_accounts);
    FILL(left_databases);
    FILL(replication.receiver_error);
    FILL(replication.applier_error);
    FILL(replication.dropped);
    for (int i = 0; i < AGENT_SET_ASIDES_MAX; i++)
        FILL(set_aside.sets[i]);
    FILL(salvaged);
    FILL(long_transaction);
    FILL(lock_holder);
    FILL(seed.message);
    FILL(seed.task);
    FILL(backup.id);
    FILL(backup.gtid);
    FILL(backup.message);
    FILL(archive.task);
    FILL(archive.from_gtid);
    FILL(archive.until_gtid);
    FILL(archive.message);
    FILL(check.task);
    FILL(check.table);
    FILL(check.message);
    FILL(check.gtid);
    status->backup.state = BACKUP_STATE_RUNNING;
    for (int i = 0; i < AGENT_PROBLEMS_MAX; i++) {
        agent_status_add_problem(status, AGENT_PROBLEM_VOLUME_FULL, "x");
        FILL(problems[i].message);
    }
}

static void check_line(const struct rig *rig, const struct strbuf *text)
{
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(AGENT_STATUS_POSITIONS_MAX);
    const char *end = memchr(text->buf, '\n', text->len);
    struct agent_status read = {0};

    assert_non_null(end);
    assert_int_equal(agent_status_decode(text->buf, (size_t)(end - text->buf), positions, &read, NULL), 0);
    assert_true(agent_status_same(&rig->status, &read));
}

static void test_the_largest_status_comes_whole(void **state)
{
    struct rig *rig = *state;
    struct strbuf positions[3];

    make_largest(&rig->status, positions);
    get(rig, "", false);
    assert_true(loop_until(rig->loop, &rig->out.done, 1));
    assert_int_equal(rig->out.status, 200);
    check_line(rig, &rig->out.body);
    get(rig, "?watch=1", true);
    for (int i = 0; i < 4; i++) { /* while it waits, too */
        loop_for(rig->loop, 1);
        status_watch_publish(rig->watch);
    }
    assert_true(loop_until(rig->loop, &rig->lines, 3));
    check_line(rig, &rig->out.streamed);
    for (int i = 0; i < 3; i++)
        strbuf_release(&positions[i]);
}

static void test_for_how_long_nobody_watches(void **state)
{
    struct rig *rig = *state;
    int64_t began_ms = clock_monotonic_ms();

    assert_true(status_watch_alone_ms(rig->watch, began_ms + 5000) >= 5000);
    get(rig, "?watch=1", true);
    assert_true(loop_until(rig->loop, &rig->lines, 1));
    assert_int_equal(status_watch_alone_ms(rig->watch, clock_monotonic_ms() + 5000), 0);
    get(rig, "", false); /* asking once is not watching */
    assert_true(loop_until(rig->loop, &rig->out.done, 1));
    loop_for(rig->loop, 50);
    int64_t left_ms = clock_monotonic_ms();
    http_client_free(rig->client);
    rig->client = http_client_new(rig->loop);
    for (int i = 0; i < 100 && status_watch_count(rig->watch) > 0; i++)
        loop_for(rig->loop, 10);
    int64_t now_ms = clock_monotonic_ms(), alone_ms = status_watch_alone_ms(rig->watch, now_ms);
    assert_true(alone_ms > 0 && alone_ms <= MAX_OF(now_ms - left_ms, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_largest_status_comes_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_for_how_long_nobody_watches, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
