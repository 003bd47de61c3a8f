/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/dialect.h"

#include <setjmp.h>
#include <cmocka.h>

static void test_versions_that_servers_print(void **unused)
{
    static const struct {
        const char *version;
        const char *comment;
        enum agent_flavour flavour;
        int number;
    } cases[] = {
        {"10.11.19-MariaDB-0+deb12u1-log", "Debian 12", AGENT_FLAVOUR_MARIADB, 101119},
        {"11.4.2-MariaDB-ubu2404", "mariadb.org binary distribution", AGENT_FLAVOUR_MARIADB, 110402},
        {"10.6.18", "MariaDB Server", AGENT_FLAVOUR_MARIADB, 100618},
        {"9.7.4-2", "(Debian)", AGENT_FLAVOUR_MYSQL, 90704},
        {"5.7.44", "MySQL Community Server (GPL)", AGENT_FLAVOUR_MYSQL, 50744},
        {"8.0.36-28", "Percona Server (GPL), Release 28, Revision 47601f19", AGENT_FLAVOUR_PERCONA, 80036},
        {"8.4.0", NULL, AGENT_FLAVOUR_MYSQL, 80400},
    };
    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct server_version version;
        struct error err = ERROR_INIT;
        assert_int_equal(server_version_parse(cases[i].version, cases[i].comment, &version, &err), 0);
        assert_int_equal(version.flavour, cases[i].flavour);
        assert_int_equal(version.number, cases[i].number);
        assert_string_equal(version.text, cases[i].version);
    }
}

static void test_banners(void **unused)
{
    static const struct {
        const char *banner;
        enum agent_flavour flavour;
        const char *text;
    } cases[] = {
        {"mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n", AGENT_FLAVOUR_MARIADB,
            "10.11.19-MariaDB-0+deb12u1"},
        {"/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))\n", AGENT_FLAVOUR_MYSQL, "9.7.4-2"},
        {"/usr/sbin/mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28, Revision 47601f19)\n",
            AGENT_FLAVOUR_PERCONA, "8.0.36-28"},
    };
    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct server_version version;
        assert_int_equal(server_version_parse_banner(cases[i].banner, &version, NULL), 0);
        assert_int_equal(version.flavour, cases[i].flavour);
        assert_string_equal(version.text, cases[i].text);
    }
}

static void test_what_is_no_version(void **unused)
{
    static const char *const bad[] = {"", "x", "8", "8.0", "8.0.", "8..1", "-1.2.3", "1000.1.1", "8.0.x"};
    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct server_version version = {.number = 7};
        struct error err = ERROR_INIT;
        assert_int_equal(server_version_parse(bad[i], NULL, &version, &err), -1);
        assert_int_equal(err.kind, ERROR_PROTOCOL);
        assert_int_equal(version.number, 7);
    }
    assert_int_equal(server_version_parse_banner("no such program", &(struct server_version){0}, NULL), -1);
}

static const struct dialect *dialect_of(const char *text, const char *comment)
{
    struct server_version version;

    assert_int_equal(server_version_parse(text, comment, &version, NULL), 0);
    return dialect_for(&version);
}

static void test_rows_of_the_table(void **unused)
{
    UNUSED(unused);
    assert_false(dialect_of("5.6.51", NULL)->account_statements);
    assert_false(dialect_of("5.6.51", NULL)->super_read_only);
    assert_false(dialect_of("5.6.51", NULL)->gtid_table);
    assert_true(dialect_of("5.7.44", NULL)->gtid_table);
    assert_true(dialect_of("5.7.44", NULL)->account_statements);
    assert_true(dialect_of("5.7.44", NULL)->super_read_only);
    assert_true(dialect_of("9.7.4", NULL)->super_read_only);
    assert_true(dialect_of("10.5.8-MariaDB", NULL)->account_statements);
    assert_false(dialect_of("11.4.2-MariaDB", NULL)->super_read_only);
    assert_false(dialect_of("5.7.44", NULL)->validate_config);
    assert_false(dialect_of("5.7.44", NULL)->mysqlx);
    assert_string_equal(dialect_of("8.0.21", NULL)->replica_status, "SHOW SLAVE STATUS");
    assert_string_equal(dialect_of("8.0.22", NULL)->replica_status, "SHOW REPLICA STATUS");
    assert_string_equal(dialect_of("9.7.4", NULL)->replica_status, "SHOW REPLICA STATUS");
    assert_true(dialect_of("8.0.36-28", "Percona Server")->validate_config);
    assert_non_null(strstr(dialect_of("10.11.19-MariaDB", NULL)->root_grants, "SUPER"));
    /* Before 10.11 SUPER overrides read_only, so nobody but us may have it. */
    assert_null(strstr(dialect_of("10.6.18-MariaDB", NULL)->root_grants, "SUPER"));
    assert_non_null(strstr(dialect_of("10.6.18-MariaDB", NULL)->root_revoke, "SUPER"));
    assert_null(strstr(dialect_of("10.5.8-MariaDB", NULL)->monitor_grants, "SLAVE MONITOR"));
}

static void test_no_mariadb_root_from_afar_writes_while_read_only(void **unused)
{
    static const char *const versions[] = {"10.5.5-MariaDB", "10.5.20-MariaDB", "10.11.1-MariaDB", "12.0.1-MariaDB"};
    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        const struct dialect *dialect = dialect_of(versions[i], NULL);
        assert_null(strstr(dialect->root_grants, "READ"));
        assert_null(strstr(dialect->root_grants, "ALL PRIVILEGES"));
        assert_non_null(strstr(dialect->root_revoke, "READ_ONLY ADMIN"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions_that_servers_print),
        cmocka_unit_test(test_banners),
        cmocka_unit_test(test_what_is_no_version),
        cmocka_unit_test(test_rows_of_the_table),
        cmocka_unit_test(test_no_mariadb_root_from_afar_writes_while_read_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
