/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/lock_stories.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "agent/tests/replication_writer.h"
#include "common/clock.h"

#define LONG_MS 60000
#define WRITING_MS 3000
#define LOCKED_MS 7000 /* longer than WritesLocked takes */
#define SLACK_MS 1000  /* two looks of the agent */

static bool is_locked(const struct member *member)
{
    return member_has_problem(member, "WritesLocked");
}

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "up");
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
}

/* By our clock: how old it was in the agent's newest word. */
static int64_t took_writes_ms(const struct member *member)
{
    const struct agent_status *status = &member->status;

    return member->told_us / 1000 - (status->clock_ms - status->took_writes.at_ms);
}

/* Held when it returns; a client that is started takes its time. */
static pid_t hold_lock(struct replication_rig *rig)
{
    pid_t holder = member_hold_lock(rig, 0, "FLUSH TABLES WITH READ LOCK", 120);

    assert_true(member_says(
        rig, 0, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'", "1"));
    return holder;
}

/* As the operator does it. */
static void close_and_open(struct replication_rig *rig)
{
    int64_t started_ms = clock_monotonic_ms();

    rig->epoch++;
    member_give(rig, 0, replication_rig_fence(rig));
    member_await(rig, 0, member_done, "closed");
    int64_t closed_ms = clock_monotonic_ms();
    member_give(rig, 1, replication_rig_primary(rig, rig->members[0].status.gtid_executed));
    member_await(rig, 1, member_done, "open");
    member_give(rig, 0, replication_rig_replica(rig, 1));
    member_give(rig, 2, replication_rig_replica(rig, 1));
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
    close_and_open(rig);
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

int lock_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_a_lock_is_told),
        cmocka_unit_test(test_a_switchover_says_since_when_writers_wait),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return mysql
        ? cmocka_run_group_tests_name("lock MySQL", tests, replication_rig_setup_semi_mysql, replication_rig_teardown)
        : cmocka_run_group_tests_name(
              "lock MariaDB", tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
