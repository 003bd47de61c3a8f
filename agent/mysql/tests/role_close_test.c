/* SPDX-License-Identifier: Apache-2.0 */
/* Which statements shut everybody out of a MySQL server while they wait for an acknowledgement. */
#include "common/base.h"

#include "agent/mysql/role_close.h"

#include <setjmp.h>
#include <cmocka.h>

static void account_statements_are_known_by_their_text(void **state)
{
    static const struct {
        const char *text;
        bool is_one;
    } rows[] = {
        {"CREATE USER IF NOT EXISTS 'root'@'%' IDENTIFIED BY <secret>", true},
        {"alter user app identified by 'x'", true},
        {"DROP USER app", true},
        {"RENAME USER a TO b", true},
        {"GRANT SELECT ON *.* TO app", true},
        {"REVOKE ALL ON *.* FROM app", true},
        {"CREATE ROLE r", true},
        {"SET PASSWORD FOR app = 'x'", true},
        {"SET DEFAULT ROLE r TO app", true},
        {"  /* from a tool */ CREATE/**/USER a", true},
        {"CREATE PROCEDURE p() SELECT 1", false},
        {"CREATE TABLE user (id INT)", false},
        {"CREATE DATABASE grants", false},
        {"REPLACE INTO kubemysql.accounts VALUES (1, 'x')", false},
        {"INSERT INTO grants VALUES (1)", false},
        {"GRANTED", false},
        {"SET SESSION lock_wait_timeout = 3, GLOBAL super_read_only = 1", false},
        {"COMMIT", false},
        {"/* unfinished", false},
        {"", false},
        {NULL, false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (role_is_account_statement(rows[i].text) != rows[i].is_one)
            fail_msg("row %zu", i + 1);
    }
}

static const struct dialect *dialect_of(const char *version)
{
    struct server_version server;

    assert_int_equal(server_version_parse(version, NULL, &server, NULL), 0);
    return dialect_for(&server);
}

static void replicas_are_not_cut_off_while_they_could_not_come_back(void **state)
{
    const struct dialect *mysql = dialect_of("9.7.4"), *mariadb = dialect_of("10.11.19-MariaDB");

    UNUSED(state);
    assert_true(role_may_cut_replicas(mysql, true, false));
    assert_false(role_may_cut_replicas(mysql, true, true));
    assert_false(role_may_cut_replicas(mysql, false, false)); /* an account statement may still begin */
    assert_true(role_may_cut_replicas(mariadb, false, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(account_statements_are_known_by_their_text),
        cmocka_unit_test(replicas_are_not_cut_off_while_they_could_not_come_back),
    };

    return cmocka_run_group_tests_name("role_close", tests, NULL, NULL);
}
