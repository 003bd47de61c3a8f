/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/check_stories.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/agent_rig.h"
#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"

#define PRIMARY "{\"epoch\":3,\"role\":\"primary\"}"
#define LONG_MS 120000
#define TABLES 230 /* more than two pages */

/* PUT or DELETE /v1/check: the status code. */
static int tell(const struct agent_rig *rig, const char *identity, const char *task)
{
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    return agent_rig_check(rig, identity, task, &body);
}

static int set_up(void **state, struct agent_rig *rig)
{
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    *state = rig;
    if (agent_rig_init(rig) != 0)
        return -1;
    agent_rig_start(rig, "run");
    agent_rig_start(rig, "server");
    if (!agent_rig_await(rig, "/startup", 200, LONG_MS) || agent_rig_order(rig, PRIMARY, &body) != 200)
        return -1;
    return agent_rig_await_status(rig, "\"writable\":true", LONG_MS) ? 0 : -1;
}

static int setup_mariadb(void **state)
{
    return set_up(state, agent_rig_new());
}

static int setup_mysql(void **state)
{
    _cleanup_(freep) char *root = agent_rig_mysql_root();

    return root ? set_up(state, agent_rig_new_in(root)) : -1;
}

static int teardown(void **state)
{
    if (*state)
        agent_rig_free(*state);
    return 0;
}

static struct check_report report_of(const struct agent_rig *rig)
{
    _cleanup_(strbuf_release) struct strbuf body;
    struct agent_status *status = xnew(struct agent_status);
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(AGENT_STATUS_POSITIONS_MAX);
    struct check_report ret = {.task = ""};
    struct error err = ERROR_INIT;

    strbuf_init(&body, KM_MIB);
    int code = agent_rig_tls(rig, "operator", "/v1/status", NULL, &body);
    size_t len = strcspn(body.buf, "\n"); /* behind it comes the code */
    if (code == 200 && agent_status_decode(body.buf, len, positions, status, &err) == 0)
        ret = status->check;
    if (err.kind)
        fail_msg("%s", err.message);
    free(status);
    return ret;
}

static void ask(const struct agent_rig *rig, const char *id, const char *gtid)
{
    struct check_task task = {.id = ""};
    _cleanup_(strbuf_release) struct strbuf text;

    snprintf(task.id, sizeof(task.id), "%s", id);
    snprintf(task.gtid, sizeof(task.gtid), "%s", gtid);
    strbuf_init(&text, CHECK_TASK_MAX);
    check_task_encode(&task, &text);
    assert_int_equal(tell(rig, "operator", text.buf), 200);
}

static struct check_report await_end(const struct agent_rig *rig, const char *id)
{
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;
    struct check_report report;

    do {
        usleep(50000);
        report = report_of(rig);
        assert_true(clock_monotonic_ms() < end_ms);
    } while (!str_eq(report.task, id) || report.phase < CHECK_PHASE_PASSED);
    return report;
}

static struct check_report check(const struct agent_rig *rig, const char *id, const char *gtid)
{
    ask(rig, id, gtid);
    return await_end(rig, id);
}

static void make_tables(const struct agent_rig *rig)
{
    struct strbuf sql;

    strbuf_init(&sql, KM_MIB);
    strbuf_adds(&sql,
        "CREATE DATABASE `d\\``e`; CREATE DATABASE many;"
        "CREATE TABLE `d\\``e`.`T` (id INT PRIMARY KEY, v TEXT); INSERT INTO `d\\``e`.`T` VALUES (1, 'x');"
        "CREATE TABLE `d\\``e`.`t` (id INT PRIMARY KEY); CREATE TABLE `d\\``e`.`a b.c'd` (id INT);"
        "CREATE VIEW many.aview AS SELECT 1 AS one; CREATE TABLE many.noted (a INT) ENGINE=MEMORY;"
        "CREATE TABLE many.zz (a INT PRIMARY KEY, v VARCHAR(100)) ENGINE=MyISAM;"
        "INSERT INTO many.zz VALUES (1, 'hello'), (2, 'world');");
    for (int i = 0; i < TABLES; i++)
        strbuf_addf(&sql, "CREATE TABLE many.t%d (a INT PRIMARY KEY);", i);
    assert_true(agent_rig_owner_sql(rig, sql.buf, NULL));
    strbuf_release(&sql);
}

/* Of schemas that are not the server's own. */
static uint64_t count_tables(const struct agent_rig *rig)
{
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_KIB);
    assert_true(agent_rig_owner_sql(rig,
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_SCHEMA NOT IN "
        "('mysql', 'sys', 'information_schema', 'performance_schema')",
        &out));
    return strtoull(out.buf, NULL, 10);
}

/* What is executed, without its line break. */
static void position(const struct agent_rig *rig, bool mysql, struct strbuf *out)
{
    assert_true(
        agent_rig_owner_sql(rig, mysql ? "SELECT @@global.gtid_executed" : "SELECT @@global.gtid_binlog_pos", out));
    while (out->len > 0 && out->buf[out->len - 1] == '\n')
        strbuf_truncate(out, out->len - 1);
}

static void test_only_the_operator_asks(void **state)
{
    const struct agent_rig *rig = *state;

    assert_int_equal(tell(rig, "tls/tls", "{\"id\":\"x\"}"), 403);
    assert_int_equal(tell(rig, "operator", "{\"id\":\"../x\"}"), 400);
    assert_int_equal(tell(rig, "operator", "{}"), 400);
    assert_string_equal(report_of(rig).task, "");
}

static void test_all_tables_are_whole(void **state)
{
    const struct agent_rig *rig = *state;

    make_tables(rig);
    struct check_report report = check(rig, "whole", "");
    assert_string_equal(report.message, "");
    assert_int_equal(report.phase, CHECK_PHASE_PASSED);
    assert_true(report.tables > TABLES && report.tables == count_tables(rig));
    assert_string_not_equal(report.gtid, "");
    /* Again: in force, and not begun anew. */
    ask(rig, "whole", "");
    assert_int_equal(report_of(rig).phase, CHECK_PHASE_PASSED);
}

static void position_counts(const struct agent_rig *rig, bool mysql)
{
    _cleanup_(strbuf_release) struct strbuf gtid;

    strbuf_init(&gtid, POSITION_TEXT_MAX);
    position(rig, mysql, &gtid);
    assert_int_equal(check(rig, "position", gtid.buf).phase, CHECK_PHASE_PASSED);
    struct check_report report =
        check(rig, "ahead", mysql ? "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5" : "0-4711-999999999");
    assert_int_equal(report.phase, CHECK_PHASE_FAILED);
    assert_string_equal(report.reason, CHECK_POSITION_MISSING);
    assert_non_null(strstr(report.message, mysql ? "3e11fa47" : "0-4711-999999999"));
    /* Of another server, and less than this one has written itself: MariaDB's numbers alone would not tell. */
    report = check(rig, "behind", mysql ? "3e11fa47-71ca-11e1-9e33-c80aa9429562:1" : "0-4711-1");
    assert_string_equal(report.reason, CHECK_POSITION_MISSING);
}

static void test_position_of_mariadb(void **state)
{
    position_counts(*state, false);
}

static void test_position_of_mysql(void **state)
{
    position_counts(*state, true);
}

static void test_a_damaged_table_is_named(void **state)
{
    const struct agent_rig *rig = *state;

    assert_true(agent_rig_owner_sql(rig, "FLUSH TABLES", NULL));
    assert_int_equal(truncate(agent_rig_path(rig, "vol/data/many/zz.MYD"), 7), 0);
    struct check_report report = check(rig, "damaged", "");
    assert_int_equal(report.phase, CHECK_PHASE_FAILED);
    assert_string_equal(report.reason, CHECK_TABLES_DAMAGED);
    assert_string_equal(report.table, "many.zz");
    assert_true(report.tables > TABLES); /* those before it */
    assert_non_null(strstr(report.message, "many.zz"));
}

static void test_the_end_of_the_server_is_told(void **state)
{
    struct agent_rig *rig = *state;

    assert_int_equal(tell(rig, "operator", NULL), 200);
    assert_string_equal(report_of(rig).task, "");
    assert_true(agent_rig_owner_sql(rig, "DROP TABLE many.zz", NULL));
    agent_rig_kill(&rig->server);
    assert_true(agent_rig_await_status(rig, "\"phase\":\"Down\"", LONG_MS));
    ask(rig, "later", ""); /* waits for a server */
    usleep(300000);
    assert_int_equal(report_of(rig).phase, CHECK_PHASE_NONE);
    agent_rig_start(rig, "server");
    assert_int_equal(await_end(rig, "later").phase, CHECK_PHASE_PASSED);
}

int check_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_the_operator_asks),
        cmocka_unit_test(test_all_tables_are_whole),
        cmocka_unit_test(mysql ? test_position_of_mysql : test_position_of_mariadb),
        cmocka_unit_test(test_a_damaged_table_is_named),
        cmocka_unit_test(test_the_end_of_the_server_is_told),
    };

    return cmocka_run_group_tests(tests, mysql ? setup_mysql : setup_mariadb, teardown);
}
