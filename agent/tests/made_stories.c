/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/made_stories.h"

#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/seed_rig.h"
#include "common/alloc.h"

/* Each of these ended with a server that never started, as data was made with the server's defaults. */
#define MYCNF                                                                   \
    "[mysqld]\nbind_address = 127.0.0.1\nskip_name_resolve\nlog_bin = binlog\n" \
    "innodb_buffer_pool_size = 64M\nlower_case_table_names = 1\n"               \
    "innodb-page-size = 32k\ninnodb_data_file_path = ibdata1:20M:autoextend\n"  \
    "loose_innodb_undo_tablespaces = 4\ndefault_time_zone = Europe/Berlin\n"    \
    "character_set_server = latin2\n"
#define WINTER "SELECT CONVERT_TZ('2026-01-15 12:00:00', 'UTC', 'Europe/Berlin')"
#define SUMMER "SELECT CONVERT_TZ('2037-07-15 12:00:00', 'UTC', 'America/New_York')"
#define BY_ANOTHER_NAME "SELECT CONVERT_TZ('2026-07-15 12:00:00', 'UTC', 'Asia/Calcutta')"

static const char *mysql_root;

static int setup(void **state)
{
    *state = seed_rig_new_with(mysql_root, MYCNF);
    return 0;
}

static int teardown(void **state)
{
    seed_rig_free(*state);
    return 0;
}

static void expect_made_as_configured(const struct agent_rig *rig)
{
    assert_true(seed_rig_is(rig, "SELECT @@innodb_page_size", "32768"));
    assert_true(seed_rig_is(rig, "SELECT @@lower_case_table_names", "1"));
    assert_true(seed_rig_is(rig, "SELECT @@innodb_data_file_path", "ibdata1:20M:autoextend"));
    assert_true(seed_rig_is(rig, "SELECT @@GLOBAL.time_zone", "Europe/Berlin"));
}

static void expect_zones(const struct agent_rig *rig)
{
    assert_true(seed_rig_is(rig, WINTER, "2026-01-15 13:00:00"));
    assert_true(seed_rig_is(rig, SUMMER, "2037-07-15 08:00:00"));
    assert_true(seed_rig_is(rig, BY_ANOTHER_NAME, "2026-07-15 17:30:00"));
}

static void test_a_new_database_and_a_copy_of_it(void **state)
{
    struct seed_rig *world = *state;

    expect_made_as_configured(world->donor);
    expect_zones(world->donor);
    assert_true(seed_rig_is(world->donor,
        "SELECT default_character_set_name FROM information_schema.schemata WHERE schema_name = 'app_db'", "latin2"));
    assert_true(agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD,
        "CREATE TABLE app_db.Upper (id INT); INSERT INTO APP_DB.UPPER VALUES (7)", NULL));
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_int_equal(agent_rig_wait(&init), 0);
    seed_rig_start_replica(world, world->member);
    expect_made_as_configured(world->member);
    expect_zones(world->member);
    assert_true(seed_rig_becomes(world->member, "SELECT id FROM app_db.uppeR", "7"));
}

/* The check pod's instance.json says what the members' data was made with. */
static void expect_checked(struct agent_rig *rig, const char *made_with, const char *lines, int code, const char *says)
{
    _cleanup_(freep) char *mycnf = xasprintf(MYCNF "%s", lines);
    _cleanup_(freep) char *instance = xasprintf(
        "{\"namespace\":\"ns\",\"cluster\":\"demo\",\"clusterUID\":\"u-1\",\"serverIdBase\":1000,\"replicas\":1,"
        "\"madeWith\":\"%s\"}",
        made_with);

    agent_rig_put(rig, "config/my.cnf", mycnf);
    agent_rig_put(rig, "config/instance.json", instance);
    struct agent_process check = agent_rig_start(rig, "check");
    assert_int_equal(agent_rig_wait(&check), code);
    assert_true(agent_rig_file_says(rig, "check.log", says));
}

static void test_what_cannot_change_is_refused(void **state)
{
    struct seed_rig *world = *state;
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    assert_true(agent_rig_await_status(world->donor, "\"madeWith\":\"", 10000));
    assert_int_equal(agent_rig_tls(world->donor, "operator", "/v1/status", NULL, &body), 200);
    char *made_with = strstr(body.buf, "\"madeWith\":\"") + strlen("\"madeWith\":\"");
    made_with[strcspn(made_with, "\"")] = '\0';
    assert_non_null(strstr(made_with, "lower_case_table_names=1"));
    expect_checked(world->member, made_with, "max_connections = 77\n", 0, "found the server");
    expect_checked(world->member, made_with, "lower_case_table_names = 0\ninnodb_page_size = 16384\n", 1,
        "innodb_page_size: the data was made with 32768 and keeps it, it cannot become 16384; "
        "lower_case_table_names: the data was made with 1 and keeps it, it cannot become 0");
    expect_checked(world->member, made_with, "innodb_data_file_path = ibdata1:30M:autoextend\n", 1,
        "innodb_data_file_path: the data was made with ibdata1:20M:autoextend");
}

/* Data that an earlier version of the agent has made: the next change of accounts fills them. */
static void test_empty_tables_are_filled(void **state)
{
    struct seed_rig *world = *state;

    assert_true(agent_rig_owner_sql(world->donor,
        "SET sql_log_bin = 0; DELETE FROM mysql.time_zone_name; DELETE FROM mysql.time_zone_transition WHERE Time_zone_id < 100",
        NULL));
    agent_rig_put(world->donor, "accounts/user", "another");
    assert_true(seed_rig_becomes(world->donor, WINTER, "2026-01-15 13:00:00"));
    expect_zones(world->donor);
}

int made_stories_run(const char *root)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_new_database_and_a_copy_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_change_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_empty_tables_are_filled, setup, teardown),
    };

    mysql_root = root;
    return cmocka_run_group_tests_name(root ? "made MySQL" : "made MariaDB", tests, NULL, NULL);
}
