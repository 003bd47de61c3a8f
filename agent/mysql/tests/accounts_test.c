/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/accounts.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/strbuf.h"

/* GOLDEN_UPDATE=1 writes the files anew. */
static void expect_golden(const char *name, const char *text)
{
    _cleanup_(strbuf_release) struct strbuf golden;
    _cleanup_(freep) char *path = xasprintf("agent/mysql/tests/data/%s", name);

    strbuf_init(&golden, FS_READ_MAX);
    if (getenv("GOLDEN_UPDATE"))
        assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0644, NULL), 0);
    assert_int_equal(fs_read_file(path, &golden, NULL), 0);
    assert_string_equal(golden.buf, text);
}

static struct accounts_want full_want(void)
{
    return (struct accounts_want){
        .root_password = xstrdup("ro'ot\\"),
        .replication_password = xstrdup("repl"),
        .monitor_password = xstrdup("moni\"tor"),
        .user_password = xstrdup("us\ner"),
        .database = xstrdup("shop_1`x"),
        .username = xstrdup("o'brien"),
        .agent_user = xstrdup("mysql"),
        .scope = ACCOUNTS_LOGGED,
        .hash = "abc",
    };
}

static int make(const char *version, const struct accounts_want *want, bool partial_revokes, struct accounts_plan *ret,
    struct error *err)
{
    struct server_version server;

    assert_int_equal(server_version_parse(version, NULL, &server, NULL), 0);
    return accounts_plan_make(want, dialect_for(&server), partial_revokes, ret, err);
}

static char *plan_text(const char *version, const struct accounts_want *want)
{
    struct accounts_plan plan;
    struct strbuf text;

    strbuf_init(&text, FS_READ_MAX);
    assert_int_equal(make(version, want, false, &plan, NULL), 0);
    for (size_t i = 0; i < plan.count; i++)
        strbuf_addf(&text, "%s: %s\n", plan.steps[i].what, plan.steps[i].sql);
    accounts_plan_release(&plan);
    return strbuf_detach(&text, NULL);
}

static void test_goldens(void **unused)
{
    static const struct {
        const char *version;
        const char *file;
    } cases[] = {
        {"10.5.5-MariaDB", "accounts-mariadb-10.5.5.txt"},
        {"10.11.19-MariaDB", "accounts-mariadb-10.11.txt"},
        {"5.6.21", "accounts-mysql-5.6.txt"},
        {"5.7.44", "accounts-mysql-5.7.txt"},
        {"9.7.4", "accounts-mysql-9.7.txt"},
    };
    _cleanup_(accounts_want_release) struct accounts_want want = full_want();

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(freep) char *text = plan_text(cases[i].version, &want);
        expect_golden(cases[i].file, text);
    }
}

static void test_mariadb_statements_hold_no_password(void **unused)
{
    _cleanup_(accounts_want_release) struct accounts_want want = full_want();
    _cleanup_(freep) char *text = plan_text("10.11.19-MariaDB", &want);

    UNUSED(unused);
    assert_null(strstr(text, "ro\\'ot"));
    assert_null(strstr(text, "moni\\\""));
}

static void test_missing_files_leave_accounts_alone(void **unused)
{
    _cleanup_(accounts_want_release) struct accounts_want want = {
        .username = xstrdup("app"), .database = xstrdup("db"), .agent_user = xstrdup("mysql"), .scope = ACCOUNTS_LOGGED};
    _cleanup_(freep) char *text = plan_text("9.7.4", &want);

    UNUSED(unused);
    assert_null(strstr(text, "USER"));
    assert_non_null(strstr(text, "\ndatabase: CREATE DATABASE IF NOT EXISTS `db`\n"));
}

/* What is done without the log must be done with it again; the record says that all was, so it comes last. */
static void test_what_goes_into_the_binary_log(void **unused)
{
    _cleanup_(accounts_want_release) struct accounts_want want = full_want();

    UNUSED(unused);
    _cleanup_(freep) char *text = plan_text("9.7.4", &want);
    const char *on = strstr(text, "sql_log_bin = 1");
    assert_non_null(on);
    assert_true(strstr(text, "CREATE DATABASE") > on);
    assert_non_null(strstr(on, "'root'"));
    assert_non_null(strstr(on, "'monitor'"));
    assert_true(strstr(on, "REPLACE INTO kubemysql.accounts VALUES (1, 'abc')") > strstr(on, "brien"));
    want.scope = ACCOUNTS_LOCAL;
    _cleanup_(freep) char *local = plan_text("9.7.4", &want);
    assert_null(strstr(local, "sql_log_bin = 1"));
    assert_null(strstr(local, "CREATE DATABASE"));
    assert_null(strstr(local, "brien"));
    assert_non_null(strstr(local, "'replication'"));
    want.scope = ACCOUNTS_NONE;
    _cleanup_(freep) char *none = plan_text("9.7.4", &want);
    assert_string_equal(none, "");
}

static void expect_refused(struct accounts_want *want, const char *says)
{
    struct accounts_plan plan;
    struct error err = ERROR_INIT;

    assert_int_equal(make("9.7.4", want, false, &plan, &err), -1);
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.message, says));
}

static void test_names_that_cannot_be(void **unused)
{
    static const char *const users[] = {
        "root", "replication", "monitor", "mysql", "mariadb.sys", "own", "abcdefghijklmnopqrstuvwxyzabcdefg"};
    static const char *const databases[] = {
        "mysql", "SYS", "information_schema", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggg"};

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(users); i++) {
        _cleanup_(accounts_want_release) struct accounts_want want = {
            .username = xstrdup(users[i]), .agent_user = xstrdup("own")};
        expect_refused(&want, "username");
    }
    for (size_t i = 0; i < ARRAY_LEN(databases); i++) {
        _cleanup_(accounts_want_release) struct accounts_want want = {.database = xstrdup(databases[i])};
        expect_refused(&want, "database");
    }
    _cleanup_(accounts_want_release) struct accounts_want empty = {.root_password = xstrdup("")};
    expect_refused(&empty, "\"root\" is empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_mariadb_statements_hold_no_password),
        cmocka_unit_test(test_missing_files_leave_accounts_alone),
        cmocka_unit_test(test_what_goes_into_the_binary_log),
        cmocka_unit_test(test_names_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
