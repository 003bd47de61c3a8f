/* SPDX-License-Identifier: Apache-2.0 */
/* The status streams, against an HTTP server with mutual TLS, as an agent has one. */
#include "common/base.h"

#include "operator/instance/agent_watch.h"

#include <malloc.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "operator/instance/tests/watch_rig_util.h"

static void on_nothing(void *arg)
{
    UNUSED(arg);
}

static void words_arrive_and_repeated_ones_are_no_news(void **state)
{
    struct watch_rig *rig = *state;
    watch_rig_start(rig, WATCH_RIG_SERVER);
    assert_null(watch_rig_status_of(rig));
    assert_string_equal(agent_watch_error(rig->watch), "not connected yet");
    RUN_UNTIL(rig, rig->stream);
    assert_false(agent_watch_connected(rig->watch));
    watch_rig_say_status(rig, "starting", "a:1");
    RUN_UNTIL(rig, rig->news == 1);
    assert_true(agent_watch_connected(rig->watch));
    assert_string_equal(agent_watch_error(rig->watch), "");
    assert_string_equal(watch_rig_status_of(rig)->ready_reason, "starting");
    watch_rig_say_status(rig, "starting", "a:1");
    watch_rig_say_status(rig, "starting", "a:1-2"); /* transactions are no news, but they are kept */
    RUN_UNTIL(rig, str_eq(watch_rig_status_of(rig)->gtid_executed, "a:1-2"));
    assert_int_equal(rig->news, 1);
    watch_rig_say_status(rig, "lagging", "a:1-2");
    RUN_UNTIL(rig, rig->news == 2);
    assert_true(agent_watch_age_ms(rig->watch) < WATCH_RIG_WAIT_MS);
}

static void what_moves_all_the_time_is_no_news(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING, .volume_free_bytes = 1000000, .long_transactions = 1};
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_tell(rig, &status);
    assert_int_equal(rig->news, 1);
    watch_rig_run_for(rig, AGENT_WATCH_PROGRESS_MS);
    status.gtid_executed = "a:1-9";
    status.gtid_received = "a:1-10";
    snprintf(status.long_transaction, sizeof(status.long_transaction), "thread 17, 42 s");
    status.replication.lag_ms = 900;
    status.waiting_commits = 3;
    status.writes_blocked_ms = AGENT_WATCH_BLOCKED_MS - 1;
    status.volume_free_bytes = 995000;
    watch_rig_tell(rig, &status);
    assert_int_equal(rig->news, 1);
    assert_string_equal(rig->status.gtid_received, "a:1-10");
    status.writes_blocked_ms = AGENT_WATCH_BLOCKED_MS;
    watch_rig_tell(rig, &status);
    assert_int_equal(rig->news, 2);
    status.writes_blocked_ms += 500;
    watch_rig_tell(rig, &status);
    assert_int_equal(rig->news, 2);
    status.writes_blocked_ms = 0;
    watch_rig_tell(rig, &status);
    assert_int_equal(rig->news, 3);
}

static void what_decisions_need_is_news_at_once(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};
    int news = 1;
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_tell(rig, &status);
#define NEWS(change)                         \
    do {                                     \
        change;                              \
        watch_rig_tell(rig, &status);        \
        assert_int_equal(rig->news, ++news); \
    } while (0)
    NEWS(status.order_done = true);
    NEWS(status.role = AGENT_ROLE_PRIMARY);
    NEWS(status.epoch = 2);
    NEWS(status.writable = true);
    NEWS(snprintf(status.errant, sizeof(status.errant), "0-2-7"));
    NEWS(status.replication.applier = AGENT_THREAD_RUNNING);
    NEWS(status.semi_sync_replicas = 1);
    NEWS(agent_status_add_problem(&status, AGENT_PROBLEM_BINLOGS_PURGED, "gone"));
    NEWS(status.seed.step = AGENT_SEED_STEP_COPYING);
#undef NEWS
}

/* A log of which somebody tells has been begun, whatever its node's clock said then. */
static void binary_logs_begin_when_they_are_heard_of_at_the_latest(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING, .binlogs_from_ms = 1770000000000};
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_tell(rig, &status);
    assert_true(rig->status.binlogs_from_ms == 1770000000000);
    int64_t before_ms = clock_realtime_ms();
    status.binlogs_from_ms = before_ms + 3600000;
    watch_rig_tell(rig, &status);
    int64_t heard_ms = rig->status.binlogs_from_ms;
    assert_true(heard_ms >= before_ms && heard_ms <= clock_realtime_ms());
    watch_rig_run_for(rig, 20);
    watch_rig_tell(rig, &status); /* again: it was heard of before */
    assert_true(rig->status.binlogs_from_ms == heard_ms);
    status.binlogs_from_ms = 0;
    watch_rig_tell(rig, &status);
    assert_true(rig->status.binlogs_from_ms == 0);
}

static void progress_is_told_once_a_second(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_status status = {.phase = AGENT_PHASE_SEEDING};
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    int64_t since_ms = clock_monotonic_ms();
    int told = 0;
    for (; clock_monotonic_ms() < since_ms + 3 * AGENT_WATCH_PROGRESS_MS / 2; told++) {
        status.seed.bytes++;
        watch_rig_tell(rig, &status);
        watch_rig_run_for(rig, 20);
    }
    int64_t most = 1 + (clock_monotonic_ms() - since_ms) / AGENT_WATCH_PROGRESS_MS;
    assert_true(told > 3);
    assert_in_range(rig->news, 2, most);
}

/* What came within the second is told with the next word after it, also if nothing moves any more. */
static void progress_is_not_forgotten(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING};
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_tell(rig, &status);
    status.replication.lag_ms = 5000;
    watch_rig_tell(rig, &status);
    watch_rig_run_for(rig, AGENT_WATCH_PROGRESS_MS);
    int news = rig->news;
    watch_rig_tell(rig, &status);
    assert_int_equal(rig->news, MAX_OF(2, news));
    watch_rig_tell(rig, &status);
    assert_int_equal(rig->news, 2);
}

static void lines_may_come_in_pieces(void **state)
{
    struct watch_rig *rig = *state;
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_say(rig, "{\"phase\":\"Runn");
    watch_rig_run_for(rig, 50);
    assert_int_equal(rig->news, 0);
    watch_rig_say(rig, "ing\"}\n{\"phase\":\"Down\"}\n{\"pha");
    RUN_UNTIL(rig, rig->news == 2);
    assert_int_equal(watch_rig_status_of(rig)->phase, AGENT_PHASE_DOWN);
}

static void a_lost_stream_is_opened_again(void **state)
{
    struct watch_rig *rig = *state;
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_say_status(rig, "x", "");
    RUN_UNTIL(rig, rig->news == 1);
    http_stream_abort(steal_ptr(rig->stream));
    RUN_UNTIL(rig, rig->news == 2); /* lost */
    assert_false(agent_watch_connected(rig->watch));
    assert_non_null(watch_rig_status_of(rig)); /* the last word is kept (I5) */
    assert_string_not_equal(agent_watch_error(rig->watch), "");
    RUN_UNTIL(rig, rig->stream);
    watch_rig_say_status(rig, "x", "");
    RUN_UNTIL(rig, rig->news == 3); /* the same word, but after a loss */
}

static void silence_is_a_loss(void **state)
{
    struct watch_rig *rig = *state;
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_say_status(rig, "x", "");
    RUN_UNTIL(rig, rig->news == 1);
    RUN_UNTIL(rig, rig->news == 2);
    assert_false(agent_watch_connected(rig->watch));
    RUN_UNTIL(rig, rig->streams == 2);
}

static void an_endless_line_ends_the_stream(void **state)
{
    struct watch_rig *rig = *state;
    char piece[8192];
    memset(piece, 'x', sizeof(piece));
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    for (int64_t sent = 0; rig->stream && sent < 4 * AGENT_STATUS_MAX; sent += (int64_t)sizeof(piece)) {
        http_stream_write(rig->stream, piece, sizeof(piece));
        watch_rig_run_for(rig, 5);
    }
    RUN_UNTIL(rig, strstr(agent_watch_error(rig->watch), "a status line of more than"));
    assert_int_equal(rig->news, 1); /* the first attempt has failed */
    assert_true(agent_watch_tried(rig->watch));
    RUN_UNTIL(rig, rig->streams >= 2);
}

static void nonsense_ends_the_stream(void **state)
{
    struct watch_rig *rig = *state;
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_say(rig, "hello\n");
    RUN_UNTIL(rig, rig->streams >= 2);
    assert_null(watch_rig_status_of(rig));
}

static void a_refusal_is_told_and_tried_again(void **state)
{
    struct watch_rig *rig = *state;
    rig->refuse_status = 503;
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, strstr(agent_watch_error(rig->watch), "503"));
    rig->refuse_status = 0;
    RUN_UNTIL(rig, rig->stream);
}

static void a_certificate_of_another_name_is_refused(void **state)
{
    struct watch_rig *rig = *state;
    watch_rig_start(rig, "m-0.other-mysql.ns1.svc");
    RUN_UNTIL(rig, !str_eq(agent_watch_error(rig->watch), "not connected yet"));
    assert_int_equal(rig->streams, 0);
    assert_false(agent_watch_connected(rig->watch));
}

static void a_client_of_another_ca_is_refused(void **state)
{
    struct watch_rig *rig = *state;
    struct tls_keypair other_ca = {0}, stranger = {0};
    agent_pki_issue(NULL, "other", NULL, true, &other_ca);
    agent_pki_issue(&other_ca, AGENT_OPERATOR_COMMON_NAME, NULL, false, &stranger);
    const struct http_tls_options options = {
        .ca_pem = rig->pki.ca.cert_pem, .cert_pem = stranger.cert_pem, .key_pem = stranger.key_pem};
    http_tls_unref(rig->pki.client_tls);
    rig->pki.client_tls = http_tls_new(&options);
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, !str_eq(agent_watch_error(rig->watch), "not connected yet"));
    assert_int_equal(rig->streams, 0);
    tls_keypair_release(&other_ca);
    tls_keypair_release(&stranger);
}

/* ---- whose agent it is ---- */

#define UID_1 "0b1c2d3e-0000-4000-8000-000000000001"
#define UID_2 "0b1c2d3e-0000-4000-8000-000000000002"

static void start_asking_for(struct watch_rig *rig, const char *pod, const char *uid)
{
    struct agent_target target = watch_rig_target_of(rig, WATCH_RIG_SERVER);
    target.pod = pod;
    target.uid = uid;
    rig->watch = agent_watch_new(rig->loop, rig->http, &target, on_nothing, rig);
    RUN_UNTIL(rig, rig->stream);
}

static void say_as(struct watch_rig *rig, const char *pod, const char *uid)
{
    char line[256];
    snprintf(line, sizeof(line), "{\"phase\":\"Running\",\"instance\":\"%s\",\"podUid\":\"%s\"}\n", pod, uid);
    watch_rig_say(rig, line);
}

/* S7: in an election one member would count twice. */
static void the_word_of_another_pod_is_nobodys(void **state)
{
    struct watch_rig *rig = *state;
    start_asking_for(rig, "m-0", UID_1);
    assert_string_equal(rig->status_to, "m-0 " UID_1);
    say_as(rig, "m-1", UID_2);
    RUN_UNTIL(rig, strstr(agent_watch_error(rig->watch), "answers the agent of m-1, not m-0"));
    assert_null(watch_rig_status_of(rig));
    assert_false(agent_watch_connected(rig->watch));
    RUN_UNTIL(rig, rig->streams >= 2 && rig->stream); /* it is asked again */
    say_as(rig, "m-0", UID_2);                        /* its successor, or who was there before */
    RUN_UNTIL(rig, strstr(agent_watch_error(rig->watch), "another pod of that name"));
    assert_null(watch_rig_status_of(rig));
    RUN_UNTIL(rig, rig->streams >= 3 && rig->stream);
    say_as(rig, "m-0", UID_1);
    RUN_UNTIL(rig, agent_watch_connected(rig->watch));
}

static void what_was_heard_before_a_stranger_stays(void **state)
{
    struct watch_rig *rig = *state;
    start_asking_for(rig, "m-0", UID_1);
    say_as(rig, "m-0", UID_1);
    RUN_UNTIL(rig, agent_watch_connected(rig->watch));
    say_as(rig, "m-1", UID_2);
    RUN_UNTIL(rig, !agent_watch_connected(rig->watch));
    assert_string_equal(watch_rig_status_of(rig)->instance, "m-0");
}

/* Of an earlier version. */
static void an_agent_without_a_uid_is_known_by_its_name(void **state)
{
    struct watch_rig *rig = *state;
    start_asking_for(rig, "m-0", UID_1);
    watch_rig_say(rig, "{\"phase\":\"Running\",\"instance\":\"m-0\"}\n");
    RUN_UNTIL(rig, agent_watch_connected(rig->watch));
}

static void an_agent_that_says_that_it_is_another_is_not_listened_to(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_target target = watch_rig_target_of(rig, WATCH_RIG_SERVER);
    target.pod = "m-0";
    rig->refuse_status = 421;
    rig->watch = agent_watch_new(rig->loop, rig->http, &target, on_nothing, rig);
    RUN_UNTIL(rig, strstr(agent_watch_error(rig->watch), "another pod's agent answers at 127.0.0.1"));
    rig->refuse_status = 0;
    RUN_UNTIL(rig, rig->stream);
}

static void an_order_says_whom_it_is_for(void **state)
{
    struct watch_rig *rig = *state;
    const struct agent_order order = watch_rig_order_of(3);
    char hash[17];
    start_asking_for(rig, "m-0", UID_1);
    watch_rig_say(rig, "{\"phase\":\"Running\",\"instance\":\"m-0\",\"podUid\":\"" UID_1 "\",\"bootId\":\"b7\"}\n");
    RUN_UNTIL(rig, agent_watch_connected(rig->watch));
    agent_watch_order(rig->watch, &order);
    RUN_UNTIL(rig, rig->puts == 1);
    assert_string_equal(rig->put_to, "m-0 " UID_1);
    assert_string_equal(rig->put_boot, "b7");
    agent_order_hash(&order, hash);
    assert_string_equal(rig->put_hash, hash); /* which is no part of what it is */
}

static void another_pod_is_another_target(void **state)
{
    struct watch_rig *rig = *state;
    struct agent_target target = watch_rig_target_of(rig, WATCH_RIG_SERVER);
    start_asking_for(rig, "m-0", UID_1);
    target.pod = "m-0";
    target.uid = UID_1;
    assert_true(agent_watch_same_target(rig->watch, &target));
    target.uid = UID_2;
    assert_false(agent_watch_same_target(rig->watch, &target));
}

/* Before the first turn, while connecting, with an open stream, while waiting to try again: no callback follows,
 * nothing leaks. */
static void it_can_be_freed_at_any_time(void **state)
{
    struct watch_rig *rig = *state;
    for (int turns = 0; turns < 12; turns++) {
        rig->refuse_status = turns % 2 ? 503 : 0;
        watch_rig_start(rig, WATCH_RIG_SERVER);
        for (int i = 0; i < turns; i++)
            loop_run_once(rig->loop, 5);
        agent_watch_free(steal_ptr(rig->watch));
        int news = rig->news;
        watch_rig_run_for(rig, 20);
        assert_int_equal(rig->news, news);
    }
}

#ifndef __SANITIZE_ADDRESS__
/* Without what the rig itself keeps of positions. */
static size_t used_bytes(const struct watch_rig *rig)
{
    return mallinfo2().uordblks - position_pool_size(rig->positions);
}
#endif

/* Of a position nothing is kept but its text in the last line: a cluster of some years costs no more at rest than its
 * texts. */
static void positions_take_the_bytes_that_they_have(void **state)
{
#ifdef __SANITIZE_ADDRESS__
    UNUSED(state);
    skip();
#else
    struct watch_rig *rig = *state;
    struct agent_status status = {.phase = AGENT_PHASE_RUNNING, .gtid_executed = "0-1-7", .gtid_received = "0-1-7"};
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, POSITION_TEXT_MAX);
    for (int i = 0; i < 400; i++)
        strbuf_addf(&text, "%s%08x-71ca-11e1-9e33-c80aa9429562:1-%d", i ? "," : "", i, 10000000 + i);
    watch_rig_start(rig, WATCH_RIG_SERVER);
    RUN_UNTIL(rig, rig->stream);
    watch_rig_tell(rig, &status);
    size_t before = used_bytes(rig);
    status.gtid_executed = text.buf;
    watch_rig_tell(rig, &status);
    assert_string_equal(rig->status.gtid_executed, text.buf);
    assert_in_range(used_bytes(rig), before, before + text.len + (size_t)KM_KIB);
    status.gtid_executed = "0-1-8";
    watch_rig_tell(rig, &status);
    assert_in_range(used_bytes(rig), 0, before + (size_t)KM_KIB);
#endif
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, watch_rig_set_up, watch_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(positions_take_the_bytes_that_they_have),
        RIG_TEST(words_arrive_and_repeated_ones_are_no_news),
        RIG_TEST(what_moves_all_the_time_is_no_news),
        RIG_TEST(what_decisions_need_is_news_at_once),
        RIG_TEST(binary_logs_begin_when_they_are_heard_of_at_the_latest),
        RIG_TEST(progress_is_told_once_a_second),
        RIG_TEST(progress_is_not_forgotten),
        RIG_TEST(lines_may_come_in_pieces),
        RIG_TEST(a_lost_stream_is_opened_again),
        RIG_TEST(silence_is_a_loss),
        RIG_TEST(an_endless_line_ends_the_stream),
        RIG_TEST(nonsense_ends_the_stream),
        RIG_TEST(a_refusal_is_told_and_tried_again),
        RIG_TEST(a_certificate_of_another_name_is_refused),
        RIG_TEST(a_client_of_another_ca_is_refused),
        RIG_TEST(the_word_of_another_pod_is_nobodys),
        RIG_TEST(what_was_heard_before_a_stranger_stays),
        RIG_TEST(an_agent_without_a_uid_is_known_by_its_name),
        RIG_TEST(an_agent_that_says_that_it_is_another_is_not_listened_to),
        RIG_TEST(an_order_says_whom_it_is_for),
        RIG_TEST(another_pod_is_another_target),
        RIG_TEST(it_can_be_freed_at_any_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
