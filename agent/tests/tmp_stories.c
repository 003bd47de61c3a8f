/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/tmp_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "agent/tests/replication_writer.h"
#include "common/alloc.h"
#include "common/clock.h"

#define LONG_MS 60000
#define CLIENT_MS 240000
#define BOUND_MIB 24
#define BOUND "24"
#define SMALL_BOUND "4"
#define APP "tmpapp"
#define APP_PASSWORD "pw-tmpapp"
/* Rows of t.big, 1,200 bytes each: 72 MB, and a sort of them takes as much on the disk. */
#define PIECE_ROWS 7500
#define PIECES 8
/* Some rows take a while, as a sort of what does not fit into memory does: seconds until the bound. */
#define SLOWLY "SLEEP(IF(id & 511, 0, 0.1))"
/* It is slow where rows are read, which is when its files grow. With SLEEP in ORDER BY MariaDB is slow before: it reads
 * into a table that its page cache holds, and sorts that at full speed, so that all files come and go between looks. */
#define SORT(which)                                                                                     \
    "SELECT MAX(LENGTH(filler)) FROM (SELECT id, filler FROM t.big WHERE " which " AND " SLOWLY " = 0 " \
    "ORDER BY filler LIMIT 18446744073709551615) s"

static bool app_sql(struct replication_rig *rig, const char *sql)
{
    _cleanup_(freep) char *text = xasprintf("USE t; %s", sql);

    return agent_rig_sql(rig->members[0].rig, APP, APP_PASSWORD, text, NULL);
}

/* A client of its own: its exit code is 0 if the server did all of it. */
static pid_t app_begins(struct replication_rig *rig, const char *sql)
{
    pid_t pid = replication_rig_fork();

    if (pid > 0)
        return pid;
    _exit(app_sql(rig, sql) ? 0 : 1);
}

static bool has_ended(pid_t pid, int *ret_code)
{
    int status = 0;

    if (waitpid(pid, &status, WNOHANG) != pid)
        return false;
    *ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return true;
}

static int await_end(struct replication_rig *rig, pid_t pid)
{
    int64_t end_ms = clock_monotonic_ms() + CLIENT_MS;
    int code = -1;

    while (!has_ended(pid, &code)) {
        assert_true(clock_monotonic_ms() < end_ms);
        replication_rig_run(rig, 100);
    }
    return code;
}

/* -1: it is not known. */
static int64_t metric(struct replication_rig *rig, unsigned member, const char *name)
{
    _cleanup_(strbuf_release) struct strbuf body;
    _cleanup_(freep) char *line = xasprintf("\n%s ", name);

    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_get(rig->members[member].rig, "/metrics", &body), 200);
    const char *at = strstr(body.buf, line);
    return at ? (int64_t)strtod(at + strlen(line), NULL) : -1;
}

static int64_t tmp_bytes(struct replication_rig *rig, unsigned member)
{
    return metric(rig, member, "kubemysql_agent_tmp_bytes");
}

static int64_t ended(struct replication_rig *rig, unsigned member)
{
    return metric(rig, member, "kubemysql_agent_tmp_ended_connections_total");
}

/* So many by now, and no more. */
static void await_ended(struct replication_rig *rig, unsigned member, int64_t count)
{
    for (int i = 0; i < 100 && ended(rig, member) < count; i++)
        replication_rig_run(rig, 200);
    assert_int_equal(ended(rig, member), count);
}

static void await_tmp(struct replication_rig *rig, unsigned member, int64_t least, int64_t most)
{
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;

    for (int64_t bytes = tmp_bytes(rig, member); bytes < least || bytes > most; bytes = tmp_bytes(rig, member)) {
        if (clock_monotonic_ms() >= end_ms)
            fail_msg("temporary files take %lld bytes", (long long)bytes);
        replication_rig_run(rig, 200);
    }
}

static void expect_said(struct replication_rig *rig, unsigned member, const char *text)
{
    for (int i = 0; i < 50 && !agent_rig_file_says(rig->members[member].rig, "run.log", text); i++)
        replication_rig_run(rig, 200);
    assert_true(agent_rig_file_says(rig->members[member].rig, "run.log", text));
}

/* In pieces: the binary log's cache of one is a temporary file as well. */
static void fill_table(struct replication_rig *rig)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, KM_MIB);
    assert_true(member_sql(rig, 0,
        "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY); CREATE TABLE t.v (id BIGINT PRIMARY KEY); "
        "CREATE TABLE t.digits (d INT PRIMARY KEY); "
        "INSERT INTO t.digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9); "
        "CREATE TABLE t.big (id BIGINT PRIMARY KEY AUTO_INCREMENT, filler VARCHAR(1200)) CHARACTER SET latin1; "
        "CREATE TABLE t.copy (id BIGINT PRIMARY KEY, filler VARCHAR(1200)) CHARACTER SET latin1",
        NULL));
    strbuf_addf(&sql,
        "USE t; INSERT INTO t.big (filler) SELECT RPAD(SHA2(RAND(), 256), 1200, 'x') "
        "FROM t.digits a, t.digits b, t.digits c, t.digits d LIMIT %d",
        PIECE_ROWS);
    for (int i = 0; i < PIECES; i++)
        assert_true(member_sql(rig, 0, sql.buf, NULL));
}

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++) {
        rig->members[i].rig->client_ms = CLIENT_MS; /* how long a sort takes depends on what else runs here */
        member_await(rig, i, member_runs, "up");
    }
    replication_rig_form(rig);
    fill_table(rig);
    assert_true(member_owner_sql(
        rig, 0, "CREATE USER tmpapp@'%' IDENTIFIED BY 'pw-tmpapp'; GRANT ALL ON t.* TO tmpapp@'%'", NULL));
    await_tmp(rig, 0, 0, (int64_t)(BOUND_MIB * KM_MIB));
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_int_equal(ended(rig, i), 0);
}

/* The child that a server has from before it was one. */
static pid_t scout_of(struct replication_rig *rig, unsigned member)
{
    char path[64], line[64];
    int server = (int)rig->members[member].rig->server.inner;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", server, server);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    return (pid_t)strtol(line, NULL, 10);
}

/* It holds neither the server's lock nor its port nor its volume when that is gone: the next one starts. */
static void test_the_scout_ends_with_its_server(void **state)
{
    struct replication_rig *rig = *state;
    pid_t scout = scout_of(rig, 2);

    assert_true(agent_rig_has(rig->members[2].rig, "run/tmp-look"));
    assert_int_equal(kill(scout, 0), 0);
    agent_rig_kill(&rig->members[2].rig->server);
    assert_int_equal(kill(scout, 0), -1);
    member_await(rig, 2, member_is_down, "down");
    replication_rig_start(rig, 2, "server");
    member_await(rig, 2, member_ready, "ready");
    await_tmp(rig, 2, 0, (int64_t)(BOUND_MIB * KM_MIB));
    assert_int_not_equal(scout_of(rig, 2), scout);
}

/* The server, whose child it was, goes on and ends as any other: with the exit code 0. */
static void test_a_server_without_its_scout(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_process *server = &rig->members[2].rig->server;

    assert_int_equal(kill(scout_of(rig, 2), SIGKILL), 0);
    await_tmp(rig, 2, -1, -1);
    expect_said(rig, 2, "temporary files take is not known any more");
    assert_true(member_ready(&rig->members[2]));
    assert_true(member_says(rig, 2, "SELECT 1", "1"));
    assert_int_equal(kill(server->inner, SIGTERM), 0);
    assert_int_equal(agent_rig_wait(server), 0);
}

/* Beside it: a client that reads for longer, with a character of four bytes in its statement, one that sleeps, and one
 * that writes all the time, into the binary log as well. */
static void test_a_sort_is_ended(void **state)
{
    struct replication_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf check;
    struct agent_process server = rig->members[0].rig->server;

    strbuf_init(&check, 16 * KM_MIB);
    pid_t reader = app_begins(rig,
        "SET NAMES utf8mb4; SELECT SUM(" SLOWLY " + LENGTH(filler)), '\xf0\x9f\x98\x80' FROM t.big; SELECT SLEEP(600)");
    pid_t sleeper = member_hold_lock(rig, 0, "SELECT 1", 600);
    struct writer *writer = writer_start_at(rig, 0, APP, APP_PASSWORD, "t.w (id)");
    replication_rig_run(rig, 1500);
    int64_t began_ms = clock_monotonic_ms();
    pid_t sorter = app_begins(rig, SORT("1"));
    assert_int_equal(await_end(rig, sorter), 1);
    printf("a sort was ended after %lld ms\n", (long long)(clock_monotonic_ms() - began_ms));
    expect_said(rig, 0, "the connection that fills them is ended");
    expect_said(rig, 0, "user=" APP);
    await_ended(rig, 0, 1);
    await_tmp(rig, 0, 0, (int64_t)(BOUND_MIB * KM_MIB / 4));
    replication_rig_run(rig, 3000);
    assert_int_equal(ended(rig, 0), 1);

    assert_int_equal(waitpid(reader, NULL, WNOHANG), 0);
    assert_int_equal(waitpid(sleeper, NULL, WNOHANG), 0);
    assert_int_equal(rig->members[0].rig->server.inner, server.inner);
    writer_stop(writer);
    assert_true(writer_acknowledged(writer) > 0);
    _cleanup_(freep) char *all = xasprintf("%llu", (unsigned long long)writer_acknowledged(writer));
    writer_check_sql(writer, "t.w", &check);
    assert_true(member_says(rig, 1, check.buf, all));
    writer_free(writer);
    member_release_lock(reader);
    member_release_lock(sleeper);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(member_ready(&rig->members[i]));
}

static void test_a_sort_within_the_bound_is_not(void **state)
{
    struct replication_rig *rig = *state;
    int64_t before = ended(rig, 0);

    pid_t sorter = app_begins(rig, SORT("id <= 2000"));
    assert_int_equal(await_end(rig, sorter), 0);
    assert_int_equal(ended(rig, 0), before);
}

/* Its files have names, unlike those of a sort. */
static void test_a_temporary_table_is_ended(void **state)
{
    struct replication_rig *rig = *state;
    int64_t before = ended(rig, 0);

    pid_t maker =
        app_begins(rig, "CREATE TEMPORARY TABLE t.mine ENGINE=MyISAM SELECT id, filler, " SLOWLY " s FROM t.big");
    assert_int_equal(await_end(rig, maker), 1);
    await_ended(rig, 0, before + 1);
    await_tmp(rig, 0, 0, (int64_t)(BOUND_MIB * KM_MIB / 4));
}

/* The cache of the binary log: it is undone. Who commits beside it writes the redo log of both, so as much as it. */
static void test_a_large_transaction_is_ended(void **state)
{
    struct replication_rig *rig = *state;
    int64_t before = ended(rig, 0);
    struct writer *small = writer_start_at(rig, 0, APP, APP_PASSWORD, "t.v (id)");

    pid_t writer = app_begins(rig, "INSERT INTO t.copy SELECT id, IF(" SLOWLY " = 0, filler, '') FROM t.big");
    assert_int_equal(await_end(rig, writer), 1);
    await_ended(rig, 0, before + 1);
    assert_true(member_says(rig, 0, "SELECT COUNT(*) FROM t.copy", "0"));
    writer_stop(small);
    writer_free(small);
    await_tmp(rig, 0, 0, (int64_t)(BOUND_MIB * KM_MIB / 4));
}

/* MySQL has emptied the cache of the binary log by then, MariaDB has it until the commit's end. A heartbeat may wait
 * for the acknowledgement already, in the name of those behind it: these say another thing than it does. */
static void await_waiting(struct replication_rig *rig)
{
    static const char waiting[] = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'tmpapp' AND "
                                  "info LIKE 'INSERT INTO t.copy%' AND (state LIKE 'Waiting for semi-sync ACK%' OR "
                                  "state LIKE 'Waiting for prior transaction%' OR "
                                  "state IN ('waiting for handler commit', 'Commit'))";
    bool mysql = rig->members[0].rig->mysql;
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;

    while (!member_says(rig, 0, waiting, "1")) {
        assert_true(clock_monotonic_ms() < end_ms);
        replication_rig_run(rig, 200);
    }
    await_tmp(rig, 0, mysql ? 0 : (int64_t)(8 * KM_MIB), (int64_t)(BOUND_MIB * KM_MIB));
}

static void signal_replicas(const struct replication_rig *rig, int number)
{
    for (unsigned i = 1; i < MEMBERS; i++)
        assert_int_equal(kill(rig->members[i].rig->server.inner, number), 0);
}

/* I3: what it has in the cache of the binary log counts, and it goes on waiting. */
static void test_a_commit_that_waits_is_not(void **state)
{
    struct replication_rig *rig = *state;
    int64_t before = ended(rig, 0);

    signal_replicas(rig, SIGSTOP);
    pid_t waiting = app_begins(rig, "INSERT INTO t.copy SELECT id, filler FROM t.big ORDER BY id LIMIT 9000");
    await_waiting(rig);
    replication_rig_run(rig, 1500);
    pid_t sorter = app_begins(rig, SORT("1"));
    assert_int_equal(await_end(rig, sorter), 1);
    await_waiting(rig); /* the sort's alone have gone */
    assert_int_equal(waitpid(waiting, NULL, WNOHANG), 0);
    signal_replicas(rig, SIGCONT);
    assert_int_equal(await_end(rig, waiting), 0);
    await_ended(rig, 0, before + 1);
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.copy", "9000"));
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_ready, "ready");
}

static void restart_agent(struct replication_rig *rig, unsigned member, const char *bound_mib)
{
    assert_int_equal(setenv(AGENT_RIG_TMP_MIB, bound_mib, 1), 0);
    agent_rig_kill(&rig->members[member].rig->agent);
    replication_rig_start(rig, member, "run");
    assert_true(agent_rig_await(rig->members[member].rig, "/startup", 200, LONG_MS));
    replication_rig_run(rig, 1000);
}

/* I3: MariaDB says "Writing to binlog" then, and has the whole transaction in the cache: alone more than the bound.
 * MySQL says "starting", and has emptied it. */
static void test_a_prepare_that_waits_is_not(void **state)
{
    static const char preparing[] = "SELECT COUNT(*) FROM information_schema.processlist "
                                    "WHERE user = 'tmpapp' AND info LIKE 'XA PREPARE%'";
    struct replication_rig *rig = *state;
    bool has_files = !rig->members[0].rig->mysql;

    signal_replicas(rig, SIGSTOP);
    pid_t waiting = app_begins(rig,
        "XA BEGIN 'x'; INSERT INTO t.copy SELECT id, filler FROM t.big ORDER BY id LIMIT 18000, 9000; XA END 'x'; "
        "XA PREPARE 'x'; XA COMMIT 'x'");
    assert_true(member_says(rig, 0, preparing, "1"));
    await_tmp(rig, 0, has_files ? (int64_t)(8 * KM_MIB) : 0, (int64_t)(BOUND_MIB * KM_MIB));
    restart_agent(rig, 0, SMALL_BOUND);
    if (has_files)
        expect_said(rig, 0, "whose they are is not known");
    assert_int_equal(waitpid(waiting, NULL, WNOHANG), 0);
    signal_replicas(rig, SIGCONT);
    assert_int_equal(await_end(rig, waiting), 0);
    assert_int_equal(ended(rig, 0), 0);
    restart_agent(rig, 0, BOUND);
    member_give(rig, 0, replication_rig_primary(rig, ""));
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_ready, "ready");
}

/* The applier has a large transaction in its cache, and waits in the midst of it. */
static void test_replication_is_not(void **state)
{
    struct replication_rig *rig = *state;

    restart_agent(rig, 1, SMALL_BOUND);
    member_give(rig, 1, replication_rig_replica(rig, 0));
    member_await(rig, 1, member_ready, "ready");

    assert_true(member_sql(
        rig, 0, "CREATE TABLE t.locked (id INT PRIMARY KEY, n INT); INSERT INTO t.locked VALUES (1, 0)", NULL));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.locked", "1"));
    /* On a server that is read-only FOR UPDATE is refused. */
    pid_t lock = member_hold_lock(rig, 1, "BEGIN; SELECT * FROM t.locked WHERE id = 1 LOCK IN SHARE MODE", 600);
    replication_rig_run(rig, 1000);
    assert_true(app_sql(rig,
        "BEGIN; INSERT INTO t.copy SELECT id, filler FROM t.big ORDER BY id LIMIT 9000, 9000; "
        "UPDATE t.locked SET n = 1; COMMIT"));
    await_tmp(rig, 1, (int64_t)(8 * KM_MIB), (int64_t)(BOUND_MIB * KM_MIB));
    expect_said(rig, 1, "whose they are is not known");
    assert_int_equal(waitpid(lock, NULL, WNOHANG), 0);
    assert_int_equal(ended(rig, 1), 0);
    member_release_lock(lock);
    assert_true(member_says(rig, 1, "SELECT n FROM t.locked", "1"));
    member_await(rig, 1, member_ready, "ready");
    assert_int_equal(ended(rig, 1), 0);
}

int tmp_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_a_sort_is_ended),
        cmocka_unit_test(test_a_sort_within_the_bound_is_not),
        cmocka_unit_test(test_a_temporary_table_is_ended),
        cmocka_unit_test(test_a_large_transaction_is_ended),
        cmocka_unit_test(test_a_commit_that_waits_is_not),
        cmocka_unit_test(test_a_prepare_that_waits_is_not),
        cmocka_unit_test(test_replication_is_not),
        cmocka_unit_test(test_the_scout_ends_with_its_server),
        cmocka_unit_test(test_a_server_without_its_scout),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    assert_int_equal(setenv(AGENT_RIG_TMP_MIB, BOUND, 1), 0);
    return cmocka_run_group_tests_name(mysql ? "temporary files of MySQL" : "temporary files of MariaDB", tests,
        mysql ? replication_rig_setup_semi_mysql : replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
