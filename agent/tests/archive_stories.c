/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/archive_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/archive_rig.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/subprocess.h"

#define LONG_MS 60000
#define KILLS 25

static int setup(void **state, const char *root)
{
    *state = archive_rig_new(root);
    return 0;
}

static int setup_mariadb(void **state)
{
    return setup(state, NULL);
}

static int setup_mysql(void **state)
{
    _cleanup_(freep) char *root = agent_rig_mysql_root();

    return root ? setup(state, root) : -1;
}

static int teardown(void **state)
{
    if (*state) /* setup ended in the middle */
        archive_rig_free(*state);
    return 0;
}

static void write_rows(struct archive_rig *rig, unsigned member, unsigned count)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, KM_MIB);
    for (unsigned i = 0; i < count; i++)
        strbuf_adds(&sql, "INSERT INTO d.t (v) VALUES (REPEAT('x', 500));");
    assert_true(member_sql(rig->members, member, sql.buf, NULL));
}

/* What a reader makes of the archive is what the member has, each transaction once. */
static void check(struct archive_rig *rig, unsigned member, uint64_t from_epoch)
{
    struct gtid_list archived = {0};
    struct gtid_list expected = {0};
    _cleanup_(gtid_set_freep) struct gtid_set *after = NULL;

    archive_rig_read(rig, from_epoch, &after, &archived);
    archive_rig_expected(rig, member, after, &expected);
    /* The heartbeat goes on: what has come since is not archived yet. */
    assert_true(expected.n >= archived.n);
    expected.n = rig->flavour == GTID_MARIADB ? archived.n : expected.n;
    printf("  %zu transactions, %u segments\n", archived.n, archive_rig_count(rig, ".json"));
    archive_rig_assert_same(rig, &archived, &expected);
    gtid_list_release(&archived);
    gtid_list_release(&expected);
}

/* Nobody writes: what the archive has is all that there is. */
static void check_all(struct archive_rig *rig, unsigned member, uint64_t from_epoch)
{
    struct archive_word word;

    if (rig->flavour == GTID_MYSQL) {
        struct agent_order order = replication_rig_fence(rig->members);
        assert_int_equal(replication_rig_order(rig->members, member, &order), 200);
        assert_true(replication_rig_await(rig->members, member, member_done, "fenced", LONG_MS));
    }
    archive_rig_catch_up(rig, member, &word);
    check(rig, member, from_epoch);
    if (rig->flavour == GTID_MYSQL) {
        struct agent_order order = replication_rig_primary(rig->members, "");
        assert_int_equal(replication_rig_order(rig->members, member, &order), 200);
        assert_true(replication_rig_await(rig->members, member, member_done, "open", LONG_MS));
    }
}

static void test_first_rounds(void **state)
{
    struct archive_rig *rig = *state;
    struct archive_word word;

    assert_true(member_sql(
        rig->members, 0, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, v TEXT)", NULL));
    archive_rig_catch_up(rig, 0, &word);
    assert_int_equal(word.segments, 1);
    assert_true(word.memory.newest.epoch == rig->members->epoch && word.memory.newest.sequence == 1);
    assert_true(word.memory.from_ms == word.memory.newest.archived_ms);
    write_rows(rig, 0, 20);
    archive_rig_catch_up(rig, 0, &word);
    assert_int_equal(word.memory.newest.sequence, 2);
    _cleanup_(freep) char *until = xstrdup(word.memory.until);
    /* What it knew is not needed. */
    archive_memory_release(&rig->memory);
    write_rows(rig, 0, 20);
    assert_true(member_sql(rig->members, 0, "FLUSH BINARY LOGS", NULL));
    write_rows(rig, 0, 20);
    archive_rig_catch_up(rig, 0, &word);
    assert_int_equal(word.memory.newest.sequence, 3);
    assert_string_not_equal(word.memory.until, until);
    assert_int_equal(word.memory.chain.sequence, 1);
    assert_int_equal(word.memory.gap_ms, 0);
    check_all(rig, 0, 0);
}

static void test_killed_at_any_moment(void **state)
{
    struct archive_rig *rig = *state;
    struct archive_word word;
    unsigned killed = rig->killed;

    srandom(7);
    for (unsigned i = 0; i < KILLS; i++) {
        write_rows(rig, 0, 1 + (unsigned)random() % 20);
        if (random() % 4 == 0)
            assert_true(member_sql(rig->members, 0, "FLUSH BINARY LOGS", NULL));
        (void)archive_rig_round(rig, 0, (int)(random() % (i % 2 ? 60 : 250)), &word);
        printf("  %s after %llu segments\n", word.ended ? "ended" : "killed", (unsigned long long)word.segments);
    }
    assert_true(rig->killed > killed);
    check_all(rig, 0, 0);
}

/* Larger than a part; killed in the middle of the upload, or not. */
static void test_large_transaction(void **state)
{
    struct archive_rig *rig = *state;
    struct archive_word word;

    rig->task.compression = BACKUP_COMPRESSION_NONE;
    assert_true(member_sql(rig->members, 0,
        "CREATE TABLE d.big (v LONGBLOB); BEGIN; INSERT INTO d.big VALUES (REPEAT('a', 900000)); "
        "INSERT INTO d.big SELECT * FROM d.big; INSERT INTO d.big SELECT * FROM d.big; "
        "INSERT INTO d.big SELECT * FROM d.big; COMMIT",
        NULL));
    (void)archive_rig_round(rig, 0, 300, &word);
    archive_rig_catch_up(rig, 0, &word);
    check_all(rig, 0, 0);
    rig->task.compression = BACKUP_COMPRESSION_ZSTD;
}

/* Beyond what positions could have in earlier versions: what is remembered, and what only the store says. */
static void test_many_servers(void **state)
{
    struct archive_rig *rig = *state;
    struct archive_word word;

    assert_true(agent_rig_add_servers(rig->members->members[0].rig, 400));
    archive_rig_catch_up(rig, 0, &word);
    assert_true(strlen(word.memory.until) > 15000);
    write_rows(rig, 0, 10);
    archive_rig_catch_up(rig, 0, &word);
    archive_memory_release(&rig->memory);
    write_rows(rig, 0, 10);
    archive_rig_catch_up(rig, 0, &word);
    assert_true(word.segments > 0 && strlen(word.memory.until) > 15000);
    check_all(rig, 0, 0);
}

static void promote(struct archive_rig *rig, unsigned member)
{
    struct agent_order order;

    rig->members->epoch++;
    order = replication_rig_primary(rig->members, "");
    assert_int_equal(replication_rig_order(rig->members, member, &order), 200);
    assert_true(replication_rig_await(rig->members, member, member_done, "open", LONG_MS));
}

/* The primary archives what no other member ever gets, then dies; the next one goes on with the same numbers. */
static void test_lost_tail(void **state)
{
    struct archive_rig *rig = *state;
    struct archive_word word;
    struct archive_word before;
    struct agent_order order = replication_rig_fence(rig->members);

    archive_rig_catch_up(rig, 0, &before);
    for (unsigned i = 1; i < MEMBERS; i++) {
        assert_int_equal(replication_rig_order(rig->members, i, &order), 200);
        assert_true(replication_rig_await(rig->members, i, member_done, "fenced", LONG_MS));
    }
    write_rows(rig, 0, 10);
    archive_rig_catch_up(rig, 0, &word);
    write_rows(rig, 0, 10);
    archive_rig_catch_up(rig, 0, &word);
    assert_true(word.memory.newest.sequence >= before.memory.newest.sequence + 2);
    agent_rig_kill(&rig->members->members[0].rig->agent);
    agent_rig_kill(&rig->members->members[0].rig->server);
    promote(rig, 1);
    write_rows(rig, 1, 40);
    archive_rig_catch_up(rig, 1, &word);
    assert_true(word.memory.newest.epoch == rig->members->epoch && word.memory.newest.sequence == 1);
    assert_int_equal(word.memory.gap_ms, 0);
    assert_true(word.memory.chain.epoch < rig->members->epoch);
    write_rows(rig, 1, 5);
    for (unsigned i = 0; i < 5; i++) {
        write_rows(rig, 1, 5);
        (void)archive_rig_round(rig, 1, (int)(random() % 250), &word);
    }
    check_all(rig, 1, 0);
}

static void test_gap(void **state)
{
    struct archive_rig *rig = *state;
    struct archive_word word;
    struct archive_word before;

    archive_rig_catch_up(rig, 1, &before);
    write_rows(rig, 1, 10);
    assert_true(member_sql(rig->members, 1, "FLUSH BINARY LOGS", NULL));
    write_rows(rig, 1, 10);
    assert_true(member_sql(rig->members, 1, "FLUSH BINARY LOGS", NULL));
    assert_true(member_purge_binlogs(rig->members, 1));
    write_rows(rig, 1, 10);
    archive_rig_catch_up(rig, 1, &word);
    assert_true(word.memory.gap_ms > 0);
    assert_int_equal(word.memory.newest.sequence, before.memory.newest.sequence + 1);
    assert_true(binlog_segment_name_compare(&word.memory.chain, &word.memory.newest) == 0);
    assert_true(word.memory.from_ms == word.memory.newest.archived_ms);
    /* The store alone says the same. */
    write_rows(rig, 1, 10);
    struct binlog_segment_name chain = word.memory.chain;
    archive_memory_release(&rig->memory);
    archive_rig_catch_up(rig, 1, &word);
    assert_true(binlog_segment_name_compare(&word.memory.chain, &chain) == 0);
    assert_true(word.memory.gap_ms == chain.archived_ms);
}

/* ---- by the agent ---- */

static int tell_agent(struct archive_rig *rig, unsigned member, bool archive)
{
    _cleanup_(strbuf_release) struct strbuf body;
    _cleanup_(strbuf_release) struct strbuf task;

    strbuf_init(&body, KM_MIB);
    strbuf_init(&task, ARCHIVE_TASK_MAX);
    archive_task_encode(&rig->task, &task);
    return agent_rig_archive(rig->members->members[member].rig, "operator", archive ? task.buf : NULL, &body);
}

static bool is_archived(const struct member *member)
{
    const struct archive_report *report = &member->status.archive;

    return report->known && report->until_ms > 0 && !*report->error_reason && report->segments > 2;
}

static bool has_no_store(const struct member *member)
{
    return str_eq(member->status.archive.error_reason, "StoreUnavailable");
}

static bool has_no_task(const struct member *member)
{
    return !*member->status.archive.task && *member->status.instance;
}

static void await(struct archive_rig *rig, unsigned member, status_test test, const char *what)
{
    assert_true(replication_rig_await(rig->members, member, test, what, 2 * LONG_MS));
}

static void test_by_the_agent(void **state)
{
    struct archive_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    const struct agent_rig *pod = rig->members->members[1].rig;
    assert_int_equal(agent_rig_archive(pod, "tls/tls", "{}", &body), 403);
    assert_int_equal(agent_rig_archive(pod, "operator", "{}", &body), 400);
    assert_non_null(strstr(body.buf, "namespace"));
    assert_int_equal(tell_agent(rig, 1, true), 200);
    assert_int_equal(tell_agent(rig, 1, true), 200);
    assert_int_equal(tell_agent(rig, 2, true), 200); /* rests: no primary */
    await(rig, 1, is_archived, "archived");
    const struct archive_report *report = &rig->members->members[1].status.archive;
    char digest[17];
    archive_task_digest(&rig->task, digest);
    assert_string_equal(report->task, digest);
    assert_true(report->epoch == rig->members->epoch && report->gap_ms > 0);
    int64_t age_ms = clock_realtime_ms() - report->newest_ms; /* whole seconds */
    assert_true(age_ms >= 0 && age_ms < LONG_MS);
    assert_false(rig->members->members[2].status.archive.known);
    agent_rig_kill(&rig->store_process);
    await(rig, 1, has_no_store, "without a store");
    archive_rig_start_store(rig);
    await(rig, 1, is_archived, "archived");
    assert_int_equal(tell_agent(rig, 1, false), 200);
    await(rig, 1, has_no_task, "without a task");
}

static void test_nothing_is_left(void **state)
{
    struct archive_rig *rig = *state;
    const char *argv[] = {
        "find", agent_rig_path(rig->store, "vol"), "-type", "f", "-path", "*/.uploads/*/*", "-printf", "x", NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 20000};
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_MIB);
    assert_int_equal(subprocess_run(&options, &out, NULL, NULL, NULL), 0);
    assert_int_equal(out.len, 0);
    printf("  %u rounds, %u killed, %u logs, %u segments\n", rig->rounds, rig->killed, archive_rig_count(rig, ".log"),
        archive_rig_count(rig, ".json"));
    assert_true(archive_rig_count(rig, ".log") >= archive_rig_count(rig, ".json"));
}

int archive_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_rounds),
        cmocka_unit_test(test_killed_at_any_moment),
        cmocka_unit_test(test_large_transaction),
        cmocka_unit_test(test_many_servers),
        cmocka_unit_test(test_lost_tail),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_nothing_is_left),
    };

    /* The program of a rig in another root file system is its loader, which cannot start itself as the child. */
    const struct CMUnitTest by_agent[] = {
        cmocka_unit_test(test_first_rounds),
        cmocka_unit_test(test_killed_at_any_moment),
        cmocka_unit_test(test_large_transaction),
        cmocka_unit_test(test_lost_tail),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_by_the_agent),
        cmocka_unit_test(test_nothing_is_left),
    };

    return mysql ? cmocka_run_group_tests_name("archive MySQL", tests, setup_mysql, teardown)
                 : cmocka_run_group_tests_name("archive MariaDB", by_agent, setup_mariadb, teardown);
}
