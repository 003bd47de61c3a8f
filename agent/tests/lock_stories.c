/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/lock_stories.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/mysql/session.h"
#include "agent/tests/replication_rig.h"
#include "agent/tests/replication_writer.h"
#include "common/clock.h"
#include "common/strbuf.h"

#define LONG_MS 60000
#define WRITING_MS 3000
#define LOCKED_MS 7000 /* longer than WritesLocked takes */
#define HELD_S 240
#define SLACK_MS 1000 /* two looks of the agent */

static bool is_locked(const struct member *member)
{
    return member_has_problem(member, "WritesLocked");
}

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++) {
        rig->members[i].rig->client_ms = HELD_S * 1000; /* longer than anything is awaited */
        member_await(rig, i, member_runs, "up");
    }
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
}

/* By our clock: how old it was in the agent's newest word. */
static int64_t took_writes_ms(const struct member *member)
{
    const struct agent_status *status = &member->status;

    return member->told_us / 1000 - (status->clock_ms - status->took_writes.at_ms);
}

/* A client that is started takes its time. */
static void await_held(struct replication_rig *rig, unsigned member)
{
    assert_true(member_says(
        rig, member, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'", "1"));
}

/* Held when it returns. */
static pid_t hold_lock(struct replication_rig *rig)
{
    pid_t holder = member_hold_lock(rig, 0, "FLUSH TABLES WITH READ LOCK", HELD_S);

    await_held(rig, 0);
    return holder;
}

/* As the operator does it. */
static void close_and_open(struct replication_rig *rig, unsigned from, unsigned to)
{
    int64_t started_ms = clock_monotonic_ms();

    rig->epoch++;
    member_give(rig, from, replication_rig_fence(rig));
    member_await(rig, from, member_done, "closed");
    int64_t closed_ms = clock_monotonic_ms();
    member_give(rig, to, replication_rig_primary(rig, rig->members[from].status.gtid_executed));
    member_await(rig, to, member_done, "open");
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i != to)
            member_give(rig, i, replication_rig_replica(rig, to));
    }
    printf("closed within %lld ms, the next one open within %lld ms\n", (long long)(closed_ms - started_ms),
        (long long)(clock_monotonic_ms() - closed_ms));
}

static bool tells_of_a_lock(const struct member *member)
{
    return member->status.locked_ms > 0;
}

static bool is_free(const struct member *member)
{
    return member_ready(member) && member->status.locked_ms == 0 && !is_locked(member);
}

/* Told as soon as a heartbeat is late; MySQL says whose it is. */
static void test_a_lock_is_told(void **state)
{
    struct replication_rig *rig = *state;
    pid_t holder = hold_lock(rig);
    int64_t locked_ms = clock_monotonic_ms();

    member_await(rig, 0, tells_of_a_lock, "telling of the lock");
    printf("told after %lld ms: '%s'\n", (long long)(clock_monotonic_ms() - locked_ms),
        rig->members[0].status.lock_holder);
    assert_false(is_locked(&rig->members[0]));
    member_await(rig, 0, is_locked, "locked for long");
    if (rig->members[0].rig->mysql)
        assert_non_null(strstr(rig->members[0].status.lock_holder, " of root@"));
    printf("%s\na replica lags %lld ms\n", rig->members[0].status.problems[0].message,
        (long long)rig->members[1].status.replication.lag_ms);
    member_release_lock(holder);
    member_await(rig, 0, is_free, "free");
    assert_string_equal(rig->members[0].status.lock_holder, "");
}

/* The lock does not hold the change up, and ends with it. Writers have waited since it was taken. */
static void test_a_switchover_says_since_when_writers_wait(void **state)
{
    struct replication_rig *rig = *state;
    struct writer *writer = writer_start(rig, "t.w");
    struct member *from = &rig->members[0];

    replication_rig_run(rig, WRITING_MS);
    pid_t holder = hold_lock(rig);
    int64_t locked_ms = clock_monotonic_ms();
    replication_rig_run(rig, LOCKED_MS);
    close_and_open(rig, 0, 1);
    int64_t took_ms = took_writes_ms(from) - locked_ms;
    replication_rig_run(rig, WRITING_MS);
    int64_t gap_ms = writer_gap_ms(writer, 1, 100);
    member_release_lock(holder);
    writer_stop(writer);
    writer_free(writer);
    printf(
        "locked for %d ms before; the writer waited %lld ms in all; the last sign of a write: %lld ms after the lock\n",
        LOCKED_MS, (long long)gap_ms, (long long)took_ms);
    assert_true(gap_ms > LOCKED_MS);
    assert_true(took_ms < SLACK_MS);
}

static void read_text(struct replication_rig *rig, unsigned member, const char *sql, struct strbuf *ret)
{
    strbuf_reset(ret);
    assert_true(member_sql(rig, member, sql, ret));
}

/* By the agent's own account, as kubectl exec enters: it is ended like any other, since the former primary could neither
 * be told what to follow nor apply it beside that lock. The agent's own go on. */
static void test_a_lock_by_the_socket_does_not_hold_a_switchover_up(void **state)
{
    static const char unmarked[] = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'mysql' AND "
                                   "IS_USED_LOCK(CONCAT('" SESSION_MARK "', id)) IS NULL";
    /* Of the probe lane; those that write have a database. */
    static const char oldest[] =
        "SELECT MIN(id) FROM information_schema.processlist WHERE user = 'mysql' AND db IS NULL";
    struct replication_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf before, after;

    strbuf_init(&before, KM_KIB);
    strbuf_init(&after, KM_KIB);
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_ready, "ready");
    assert_true(member_says(rig, 1, unmarked, "0"));
    read_text(rig, 1, oldest, &before);
    pid_t holder = member_hold_lock_as_owner(rig, 1, "FLUSH TABLES WITH READ LOCK", HELD_S);
    await_held(rig, 1);
    assert_true(member_says(rig, 1, unmarked, "1"));
    close_and_open(rig, 1, 0);
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_ready, "ready");
    assert_true(member_says(rig, 1, unmarked, "0"));
    read_text(rig, 1, oldest, &after);
    assert_string_equal(before.buf, after.buf);
    member_release_lock(holder);
}

int lock_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_a_lock_is_told),
        cmocka_unit_test(test_a_switchover_says_since_when_writers_wait),
        cmocka_unit_test(test_a_lock_by_the_socket_does_not_hold_a_switchover_up),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return mysql
        ? cmocka_run_group_tests_name("lock MySQL", tests, replication_rig_setup_semi_mysql, replication_rig_teardown)
        : cmocka_run_group_tests_name(
              "lock MariaDB", tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
