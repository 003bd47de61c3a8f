/* Three real servers, three agents, orders by HTTP. The cases share the members and run in order. */
#include "common/base.h"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "agent/tests/replication_writer.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/subprocess.h"

#define LONG_MS 60000
#define SWITCHES 20

static int setup(void **state)
{
    *state = replication_rig_new();
    return 0;
}

static int teardown(void **state)
{
    replication_rig_free(*state);
    return 0;
}

static bool waits_for_word(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_RUNNING && member->status.accounts_applied;
}

/* I1 */
static void test_nobody_is_open_before_an_order(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++) {
        const struct agent_status *status = &rig->members[i].status;
        assert_true(replication_rig_await(rig, i, waits_for_word, "waiting", LONG_MS));
        assert_true(status->read_only);
        assert_false(status->writable);
        assert_false(status->ready);
        assert_non_null(strstr(status->ready_reason, "operator"));
        assert_string_equal(status->gtid_executed, "");
        assert_false(member_sql(rig, i, "CREATE DATABASE forbidden", NULL));
    }
}

static void test_a_primary_and_two_replicas(void **state)
{
    struct replication_rig *rig = *state;

    replication_rig_form(rig);
    assert_true(rig->members[0].status.writable);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (-1)", NULL));
    for (unsigned i = 1; i < MEMBERS; i++) {
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM t.w", "1"));
        assert_false(member_sql(rig, i, "INSERT INTO t.w VALUES (-2)", NULL));
        assert_false(rig->members[i].status.writable);
    }
}

static int compare_times(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;

    return left < right ? -1 : left > right;
}

static void expect_all_rows(struct replication_rig *rig, struct writer *writer)
{
    _cleanup_(freep) char *count = xasprintf("%llu", (unsigned long long)writer_acknowledged(writer));
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, 64 * KM_MIB);
    writer_check_sql(writer, "t.w", &sql);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(member_says(rig, i, sql.buf, count));
}

static void switch_back_and_forth(struct replication_rig *rig, const char *mode)
{
    int64_t times_us[SWITCHES];
    struct writer *writer = writer_start(rig, "t.w");

    replication_rig_run(rig, 500);
    for (unsigned i = 0; i < SWITCHES; i++) {
        times_us[i] = replication_rig_switch_us(rig, i % 2, (i + 1) % 2);
        replication_rig_run(rig, 150);
        for (unsigned m = 0; m < MEMBERS; m++)
            assert_true(replication_rig_await(rig, m, member_ready, "ready", LONG_MS));
    }
    writer_stop(writer);
    qsort(times_us, SWITCHES, sizeof(times_us[0]), compare_times);
    printf(
        "%s: %d switchovers, closed to open as the operator sees it: p50 %lld us, max %lld us; %llu rows, longest gap "
        "between two acknowledged writes: p50 %lld ms, max %lld ms\n",
        mode, SWITCHES, (long long)times_us[SWITCHES / 2], (long long)times_us[SWITCHES - 1],
        (unsigned long long)writer_acknowledged(writer), (long long)writer_gap_ms(writer, SWITCHES, 50),
        (long long)writer_gap_ms(writer, SWITCHES, 99));
    assert_true(writer_acknowledged(writer) > 1000);
    expect_all_rows(rig, writer);
    writer_free(writer);
    for (unsigned m = 0; m < MEMBERS; m++)
        assert_string_equal(rig->members[m].status.errant, "");
}

static void test_twenty_switchovers_lose_nothing(void **state)
{
    switch_back_and_forth(*state, "async");
}

/* I2 */
static void test_an_older_epoch_is_refused(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_order order = replication_rig_primary(rig, "");

    order.epoch = rig->epoch - 1;
    assert_int_equal(replication_rig_order(rig, 1, &order), 409);
    agent_rig_kill(&rig->members[1].rig->agent);
    replication_rig_start(rig, 1, "run");
    replication_rig_run(rig, 1000);
    assert_int_equal(replication_rig_order(rig, 1, &order), 409);
    assert_int_equal(rig->members[1].status.epoch, rig->epoch);
    assert_string_equal(rig->members[1].status.order_hash, "");
    order = replication_rig_replica(rig, 0);
    assert_int_equal(replication_rig_order(rig, 1, &order), 200);
    assert_true(replication_rig_await(rig, 1, member_ready, "ready", LONG_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_is_open_before_an_order),
        cmocka_unit_test(test_a_primary_and_two_replicas),
        cmocka_unit_test(test_twenty_switchovers_lose_nothing),
        cmocka_unit_test(test_an_older_epoch_is_refused),
    };

    return agent_rig_possible() ? cmocka_run_group_tests(tests, setup, teardown) : 77;
}
