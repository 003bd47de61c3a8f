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

static int make(const char *version, const struct accounts_want *want, const struct accounts_facts *facts,
    struct accounts_plan *ret, struct error *err)
{
    struct server_version server;

    assert_int_equal(server_version_parse(version, NULL, &server, NULL), 0);
    return accounts_plan_make(want, dialect_for(&server), facts, ret, err);
}

static char *plan_text_of(const char *version, const struct accounts_want *want, const struct accounts_facts *facts)
{
    struct accounts_plan plan;
    struct strbuf text;

    strbuf_init(&text, FS_READ_MAX);
    assert_int_equal(make(version, want, facts, &plan, NULL), 0);
    for (size_t i = 0; i < plan.count; i++)
        strbuf_addf(&text, "%s: %s\n", plan.steps[i].what, plan.steps[i].sql);
    accounts_plan_release(&plan);
    return strbuf_detach(&text, NULL);
}

static char *plan_text(const char *version, const struct accounts_want *want)
{
    return plan_text_of(version, want, &(struct accounts_facts){0});
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

/* On a primary it is made without the log already; the other members get it by the log alone. */
static void test_the_agents_account_is_logged_where_it_was_dropped(void **unused)
{
    _cleanup_(accounts_want_release) struct accounts_want want = full_want();

    UNUSED(unused);
    _cleanup_(freep) char *without = plan_text("9.7.4", &want);
    assert_null(strstr(without, "'mysql'@'localhost'"));
    want.own_account = true;
    _cleanup_(freep) char *text = plan_text("9.7.4", &want);
    const char *on = strstr(text, "sql_log_bin = 1");
    assert_non_null(on);
    assert_true(strstr(text, "'mysql'@'localhost'") > on);
    assert_non_null(strstr(on,
        "the agent's account: CREATE USER IF NOT EXISTS 'mysql'@'localhost' IDENTIFIED WITH auth_socket\n"
        "the agent's account: ALTER USER 'mysql'@'localhost' IDENTIFIED WITH auth_socket ACCOUNT UNLOCK\n"
        "the agent's account: GRANT ALL PRIVILEGES ON *.* TO 'mysql'@'localhost' WITH GRANT OPTION\n"));
    want.scope = ACCOUNTS_LOCAL;
    _cleanup_(freep) char *local = plan_text("9.7.4", &want);
    assert_null(strstr(local, "'mysql'@'localhost'"));
}

static int count_of(const char *text, const char *what)
{
    int count = 0;

    for (; (text = strstr(text, what)); text++)
        count++;
    return count;
}

/* The statement that changes an account in the logged part of a plan. */
static char *change_of(const char *text, const char *account)
{
    _cleanup_(freep) char *start = xasprintf("ALTER USER %s ", account);
    const char *at = strstr(strstr(text, "sql_log_bin = 1"), start);

    assert_non_null(at);
    return xstrndup(at, strcspn(at, "\n"));
}

static void expect_requires(const char *text, const char *account, const char *requires)
{
    _cleanup_(freep) char *change = change_of(text, account);

    if (!*requires ? strstr(change, "REQUIRE") != NULL : strstr(change, requires) == NULL)
        fail_msg("%s: %s", account, change);
}

static void expect_others(const char *text, const char *requires)
{
    static const char *const accounts[] = {"'monitor'@'%'", "'replication'@'%'", "'o\\'brien'@'%'"};

    for (size_t i = 0; i < ARRAY_LEN(accounts); i++)
        expect_requires(text, accounts[i], requires);
    expect_requires(text, "'root'@'%'", "REQUIRE SSL");
    expect_requires(text, "'root'@'localhost'", "");
}

/* What was bound to TLS is noted before, and set free once; what somebody else has bound stays. */
static void test_tls_is_required_and_not_any_more(void **unused)
{
    static const char *const versions[] = {"10.11.19-MariaDB", "9.7.4"};
    static const char note[] = "REPLACE INTO kubemysql.accounts VALUES (2, 'REQUIRE SSL')";
    static const char end[] = "DELETE FROM kubemysql.accounts WHERE id = 2";
    const struct accounts_facts noted = {.tls_noted = true};
    _cleanup_(accounts_want_release) struct accounts_want want = full_want();

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        want.require_tls = false;
        _cleanup_(freep) char *offered = plan_text(versions[i], &want);
        expect_others(offered, "");
        assert_null(strstr(offered, note));
        want.require_tls = true;
        _cleanup_(freep) char *required = plan_text(versions[i], &want);
        expect_others(required, " REQUIRE SSL ");
        const char *first = strstr(strstr(required, "sql_log_bin = 1"), "USER");
        assert_true(strstr(required, note) < first && strstr(required, note) > strstr(required, "CREATE TABLE"));
        assert_true(strstr(required, "REQUIRE") > strstr(required, "sql_log_bin = 1"));
        _cleanup_(freep) char *still = plan_text_of(versions[i], &want, &noted);
        expect_others(still, " REQUIRE SSL ");
        want.require_tls = false;
        _cleanup_(freep) char *back = plan_text_of(versions[i], &want, &noted);
        expect_others(back, " REQUIRE NONE ");
        assert_true(strstr(back, end) > strstr(back, "CREATE DATABASE IF NOT EXISTS `shop"));
        assert_int_equal(count_of(back, end), 1);
    }
    want.require_tls = true;
    _cleanup_(freep) char *old = plan_text("5.6.21", &want);
    assert_null(strstr(old, "REQUIRE"));
}

/* On a wish alone, and never the one that is named, which is unlocked. */
static void test_accounts_that_are_left_are_locked(void **unused)
{
    static const char *const versions[] = {"10.5.5-MariaDB", "10.11.19-MariaDB", "5.7.44", "9.7.4"};
    struct accounts_facts facts = {.left = {.is_known = true,
                                       .can_lock = true,
                                       .account_count = 3,
                                       .accounts = {{"o'brien", false}, {"old", false}, {"older", true}}}};
    _cleanup_(accounts_want_release) struct accounts_want want = full_want();

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        want.lock_left = false;
        _cleanup_(freep) char *text = plan_text_of(versions[i], &want, &facts);
        assert_int_equal(count_of(text, "ACCOUNT LOCK"), 0);
        want.lock_left = true;
        _cleanup_(freep) char *locks = plan_text_of(versions[i], &want, &facts);
        assert_int_equal(count_of(locks, "ACCOUNT LOCK"), 1);
        assert_true(strstr(locks, "\nan account that is left: ALTER USER IF EXISTS 'old'@'%' ACCOUNT LOCK\n") >
            strstr(locks, "sql_log_bin = 1"));
        _cleanup_(freep) char *named = change_of(locks, "'o\\'brien'@'%'");
        assert_non_null(strstr(named, "ACCOUNT UNLOCK"));
    }
    facts.left.can_lock = false;
    _cleanup_(freep) char *old = plan_text_of("5.6.21", &want, &facts);
    assert_int_equal(count_of(old, "LOCK"), 0);
}

/* Whatever is logged, and would wait for an acknowledgement while nobody can log in. */
static void test_what_asks_for_acknowledgements(void **unused)
{
    static const char *const versions[] = {"5.6.21", "5.7.44", "9.7.4", "10.11.19-MariaDB"};

    UNUSED(unused);
    for (size_t v = 0; v < ARRAY_LEN(versions); v++) {
        _cleanup_(accounts_want_release) struct accounts_want want = full_want();
        bool mariadb = strstr(versions[v], "MariaDB");
        struct accounts_plan plan;
        bool logged = false;
        assert_int_equal(make(versions[v], &want, &(struct accounts_facts){0}, &plan, NULL), 0);
        for (size_t i = 0; i < plan.count; i++) {
            if (plan.steps[i].asks != (logged && !mariadb))
                fail_msg("%s: %s", versions[v], plan.steps[i].sql);
            logged = logged || strstr(plan.steps[i].sql, "sql_log_bin = 1");
        }
        assert_true(logged);
        accounts_plan_release(&plan);
    }
}

static void expect_refused(struct accounts_want *want, const char *says)
{
    struct accounts_plan plan;
    struct error err = ERROR_INIT;

    assert_int_equal(make("9.7.4", want, &(struct accounts_facts){0}, &plan, &err), -1);
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
        cmocka_unit_test(test_the_agents_account_is_logged_where_it_was_dropped),
        cmocka_unit_test(test_tls_is_required_and_not_any_more),
        cmocka_unit_test(test_accounts_that_are_left_are_locked),
        cmocka_unit_test(test_what_asks_for_acknowledgements),
        cmocka_unit_test(test_names_that_cannot_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
