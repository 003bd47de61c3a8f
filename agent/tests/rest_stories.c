/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/rest_stories.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <cmocka.h>

#include "agent/beat_rest.h"
#include "agent/tests/replication_rig.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/hashmap.h"

#define LONG_MS 60000
#define VOLUME_MIB 1200
#define WATCHED_MS (2 * BEAT_REST_ROW_MS + 1000)
/* A row alone would take longer: the next one is due BEAT_REST_ROW_MS after the last. */
#define FOUND_MS (BEAT_REST_ROW_MS - 1000)
#define SEEN_MS 2500 /* two such times are less than it takes until the next row, too */
#define BYTES_A_DAY_MAX 5000000
#define ROWS_A_DAY (UINT64_C(24) * 3600 * 1000 / BEAT_REST_ROW_MS)

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    rig->semi_sync = true;
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(rig, i, member_runs, "running", LONG_MS));
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
}

/* What the primary has executed, from its agent's last status: a client started for each look answers late on a busy
 * machine. */
static uint64_t position(const struct replication_rig *rig)
{
    const char *executed = str_or_empty(rig->members[0].status.gtid_executed);

    return hash64(HASH64_INIT, executed, strlen(executed));
}

/* No row has come for longer than the interval of those that come while somebody writes. */
static void await_rest(struct replication_rig *rig)
{
    int64_t end_ms = clock_monotonic_ms() + LONG_MS, since_ms = clock_monotonic_ms();
    uint64_t last = position(rig);

    while (clock_monotonic_ms() - since_ms < BEAT_REST_AFTER_MS) {
        replication_rig_run(rig, 50);
        if (position(rig) != last)
            since_ms = clock_monotonic_ms();
        last = position(rig);
        assert_true(clock_monotonic_ms() < end_ms);
    }
}

/* How many rows, or whatever else was executed, came within that time; until there are `enough`. */
static unsigned rows_within(struct replication_rig *rig, int64_t ms, unsigned enough)
{
    int64_t end_ms = clock_monotonic_ms() + ms;
    uint64_t last = position(rig);
    unsigned rows = 0;

    while (rows < enough && clock_monotonic_ms() < end_ms) {
        replication_rig_run(rig, 20);
        rows += position(rig) != last;
        last = position(rig);
    }
    return rows;
}

/* At rest the next one is far then. */
static void await_row(struct replication_rig *rig)
{
    assert_int_equal(rows_within(rig, LONG_MS, 1), 1);
}

static uint64_t log_bytes(struct replication_rig *rig)
{
    bool mariadb = rig->members[0].status.flavour == AGENT_FLAVOUR_MARIADB;
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_KIB);
    assert_true(member_sql(rig, 0, mariadb ? "SHOW MASTER STATUS" : "SHOW BINARY LOG STATUS", &out));
    const char *tab = strchr(out.buf, '\t');
    assert_non_null(tab);
    return strtoull(tab + 1, NULL, 10);
}

static void test_at_rest_little_is_logged_and_nobody_lags(void **state)
{
    struct replication_rig *rig = *state;
    int64_t worst_ms = 0;
    unsigned rows = 0;

    await_rest(rig);
    await_row(rig);
    uint64_t bytes = log_bytes(rig);
    for (int64_t end_ms = clock_monotonic_ms() + WATCHED_MS; clock_monotonic_ms() < end_ms;) {
        rows += rows_within(rig, 100, UINT_MAX);
        for (unsigned i = 1; i < MEMBERS; i++) {
            assert_true(rig->members[i].status.ready);
            assert_true(rig->members[i].status.replication.lag_known);
            worst_ms = MAX_OF(worst_ms, rig->members[i].status.replication.lag_ms);
        }
    }
    assert_in_range(rows, 1, WATCHED_MS / BEAT_REST_ROW_MS);
    bytes = (log_bytes(rig) - bytes) / MAX_OF(rows, 1U) * ROWS_A_DAY;
    printf("%u rows, a lag of %lld ms at most, %llu bytes of binary log a day\n", rows, (long long)worst_ms,
        (unsigned long long)bytes);
    assert_true(worst_ms < 1000);
    assert_true(bytes > 0 && bytes <= BYTES_A_DAY_MAX);
    assert_int_equal(rig->members[0].status.stalled_ms, 0);
}

static void test_whoever_writes_brings_the_rows_back(void **state)
{
    struct replication_rig *rig = *state;

    await_rest(rig);
    await_row(rig);
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (1)", NULL));
    assert_int_equal(rows_within(rig, FOUND_MS, 3), 3);
}

/* As a member asks its source; an agent of an earlier version does not say by what it knows its lag. */
static void ask_as_member(struct replication_rig *rig, const char *query)
{
    _cleanup_(freep) char *path = xasprintf("/v1/status?%s", query);
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, AGENT_STATUS_MAX + 1);
    assert_int_equal(agent_rig_tls(rig->members[0].rig, "tls/tls", path, NULL, &body), 200);
}

static void test_a_member_of_an_earlier_version_has_rows(void **state)
{
    struct replication_rig *rig = *state;

    await_rest(rig);
    await_row(rig);
    ask_as_member(rig, "room=enough&lag=stream");
    assert_int_equal(rows_within(rig, SEEN_MS, 1), 0);
    ask_as_member(rig, "room=enough");
    assert_int_equal(rows_within(rig, SEEN_MS, 3), 3);
}

static int64_t found_after_ms(struct replication_rig *rig, status_test test, const char *what)
{
    int64_t began_ms = clock_monotonic_ms();

    assert_true(replication_rig_await(rig, 0, test, what, LONG_MS));
    int64_t took_ms = clock_monotonic_ms() - began_ms;
    printf("%s is told after %lld ms\n", what, (long long)took_ms);
    return took_ms;
}

static bool has_stalled(const struct member *member)
{
    return member->status.stalled_ms > 0;
}

static bool is_well(const struct member *member)
{
    return member_ready(member) && member->status.writable && member->status.stalled_ms == 0 &&
        member->status.writes_blocked_ms == 0;
}

static void test_storage_that_hangs_at_rest_is_found(void **state)
{
    struct replication_rig *rig = *state;

    await_rest(rig);
    await_row(rig);
    pid_t pid = agent_rig_freeze(rig->members[0].rig, 30);
    int64_t took_ms = found_after_ms(rig, has_stalled, "storage that hangs");
    agent_rig_thaw(rig->members[0].rig, pid);
    assert_true(took_ms < FOUND_MS);
    assert_true(replication_rig_await(rig, 0, is_well, "well again", LONG_MS));
}

static bool is_blocked(const struct member *member)
{
    return member->status.writes_blocked_ms > 0;
}

static void test_a_commit_that_waits_at_rest_is_found(void **state)
{
    struct replication_rig *rig = *state;

    await_rest(rig);
    await_row(rig);
    for (unsigned i = 1; i < MEMBERS; i++)
        kill(rig->members[i].rig->server.inner, SIGSTOP);
    pid_t pid = member_hold_lock(rig, 0, "INSERT INTO t.w VALUES (2)", 0);
    int64_t took_ms = found_after_ms(rig, is_blocked, "a commit that waits");
    for (unsigned i = 1; i < MEMBERS; i++)
        kill(rig->members[i].rig->server.inner, SIGCONT);
    assert_true(took_ms < FOUND_MS);
    assert_true(replication_rig_await(rig, 0, is_well, "well again", LONG_MS));
    member_release_lock(pid);
}

int rest_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_at_rest_little_is_logged_and_nobody_lags),
        cmocka_unit_test(test_whoever_writes_brings_the_rows_back),
        cmocka_unit_test(test_a_member_of_an_earlier_version_has_rows),
        cmocka_unit_test(test_storage_that_hangs_at_rest_is_found),
        cmocka_unit_test(test_a_commit_that_waits_at_rest_is_found),
    };

    if (!agent_rig_disks_of(VOLUME_MIB))
        return 77;
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return mysql
        ? cmocka_run_group_tests_name("rest MySQL", tests, replication_rig_setup_mysql, replication_rig_teardown)
        : cmocka_run_group_tests_name("rest MariaDB", tests, replication_rig_setup_mariadb, replication_rig_teardown);
}
