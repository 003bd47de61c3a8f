/* SPDX-License-Identifier: Apache-2.0 */
/* A look that begins while the one before it is being taken in. The server is a double: see the Makefile. */
#include "common/base.h"

#include "agent/probe_lane.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/position.h"

#define LOOKS 6
#define PATIENCE_MS 5000

struct world {
    struct agent_paths paths;
    struct loop *loop;
    struct loop_timer limit;
    struct probe_lane *lane;
    unsigned taken;
    bool is_read_to_the_end; /* the loop reads on after the next one has begun */
};

static atomic_uint looks_done;

/* ---- the server ---- */

struct session *__wrap_session_open(const struct session_options *options, struct error *err);
int __wrap_session_exec(struct session *session, const char *sql, struct error *err);
void __wrap_session_close(struct session *session);
bool __wrap_session_is_broken(const struct session *session);
void __wrap_session_note_answers(struct session *session, _Atomic int64_t *at_ms);
int __wrap_observe_server(struct session *session, bool with_status, struct observation *ret, struct error *err);
int __wrap_replication_facts_observe(struct session *session, const struct dialect *dialect, const char *agent_user,
    struct replication_facts *ret, struct error *err);

struct session *__wrap_session_open(const struct session_options *options, struct error *err)
{
    UNUSED(options);
    UNUSED(err);
    return (struct session *)xnew(char);
}

void __wrap_session_close(struct session *session)
{
    free(session);
}

int __wrap_session_exec(struct session *session, const char *sql, struct error *err)
{
    UNUSED(session);
    UNUSED(sql);
    UNUSED(err);
    return 0;
}

bool __wrap_session_is_broken(const struct session *session)
{
    UNUSED(session);
    return false;
}

void __wrap_session_note_answers(struct session *session, _Atomic int64_t *at_ms)
{
    UNUSED(session);
    UNUSED(at_ms);
}

int __wrap_observe_server(struct session *session, bool with_status, struct observation *ret, struct error *err)
{
    UNUSED(session);
    UNUSED(with_status);
    *ret = (struct observation){0};
    return server_version_parse("9.7.0", "MySQL Community Server", &ret->version, err);
}

/* The nth look finds n transactions. */
int __wrap_replication_facts_observe(struct session *session, const struct dialect *dialect, const char *agent_user,
    struct replication_facts *ret, struct error *err)
{
    char text[64];

    UNUSED(session);
    UNUSED(dialect);
    UNUSED(agent_user);
    UNUSED(err);
    snprintf(text, sizeof(text), "aaaaaaaa-0000-0000-0000-000000000000:1-%u", atomic_load(&looks_done) + 1);
    *ret = (struct replication_facts){.seen = true, .read_only = true, .positions = position_pool_new(KM_KIB)};
    ret->gtid_executed = position_take(ret->positions, text);
    atomic_fetch_add(&looks_done, 1);
    return 0;
}

/* ---- the loop ---- */

static void begin(struct world *w)
{
    const struct probe_wish wish = {.sentinel = true};

    assert_int_equal(probe_lane_start(w->lane, &wish), 0);
}

static void await_looks(unsigned count)
{
    int64_t end_ms = clock_monotonic_ms() + PATIENCE_MS;

    while (atomic_load(&looks_done) < count && clock_monotonic_ms() < end_ms)
        usleep(1000);
    assert_true(atomic_load(&looks_done) >= count);
    usleep(20000); /* the thread is done with it */
}

/* As it was found, whatever begins meanwhile. */
static void expect_look(const struct probe_result *result, unsigned number)
{
    char text[64];

    snprintf(text, sizeof(text), "aaaaaaaa-0000-0000-0000-000000000000:1-%u", number);
    assert_int_equal(result->error.kind, ERROR_NONE);
    assert_true(result->replication.seen);
    assert_true(result->replication.read_only);
    assert_string_equal(str_or_empty(result->replication.gtid_executed), text);
    assert_non_null(result->sentinel);
}

/* As on a busy machine: the loop begins the next look, and that is done before the loop is done with this one. */
static void on_probe(void *arg, struct probe_result *result)
{
    struct world *w = arg;

    w->taken++;
    expect_look(result, w->taken);
    if (w->taken == LOOKS) {
        loop_stop(w->loop);
        return;
    }
    begin(w);
    await_looks(w->taken + 1);
    if (w->is_read_to_the_end)
        expect_look(result, w->taken);
}

static void on_limit(void *arg)
{
    loop_stop(((struct world *)arg)->loop);
}

static void take_looks(bool is_read_to_the_end)
{
    struct world w = {.loop = loop_new(), .is_read_to_the_end = is_read_to_the_end};

    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, 2);
    atomic_store(&looks_done, 0);
    agent_paths_init(&w.paths, "/nonexistent", "/nonexistent", NULL, NULL, NULL, NULL);
    w.lane = probe_lane_new(w.loop, &w.paths, "agent", on_probe, &w);
    loop_timer_init(&w.limit, w.loop, on_limit, &w);
    loop_timer_arm(&w.limit, (int64_t)2 * LOOKS * PATIENCE_MS);
    begin(&w);
    loop_run(w.loop);
    assert_int_equal(w.taken, LOOKS);
    probe_lane_free(w.lane);
    loop_timer_release(&w.limit);
    loop_free(w.loop);
    agent_paths_release(&w.paths);
}

/* What the loop lets go of is not what the next look has found. */
static void test_a_look_that_begins_early_is_whole(void **unused)
{
    take_looks(false);
    UNUSED(unused);
}

static void test_a_look_stays_while_it_is_taken(void **unused)
{
    take_looks(true);
    UNUSED(unused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_look_that_begins_early_is_whole),
        cmocka_unit_test(test_a_look_stays_while_it_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
