/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/mycnf_check.h"

#include <setjmp.h>
#include <cmocka.h>

/* Standard error of real servers, and what a person should read. */
static void test_reasons(void **unused)
{
    static const struct {
        const char *said;
        const char *reason;
    } cases[] = {
        {"2026-11-21  3:16:52 0 [Warning] Could not increase number of max_open_files to more than 20000\n"
         "2026-11-21  3:16:52 0 [ERROR] mariadbd: unknown variable 'no_such_key=5'\n",
            "unknown variable 'no_such_key=5'"},
        {"2026-11-21  3:16:52 0 [ERROR] Buffered error: Unknown suffix 'a' used for variable 'max_connections'\n"
         "2026-11-21  3:16:52 0 [ERROR] Buffered error: mariadbd: Error while setting value 'abc' to 'max_connections'\n",
            "Unknown suffix 'a' used for variable 'max_connections'; Error while setting value 'abc' to 'max_connections'"},
        {"error: Found option without preceding group in config file: /tmp/my.cnf at line: 1\n"
         "Fatal error in defaults handling. Program aborted\n",
            "Found option without preceding group in config file: /tmp/my.cnf at line: 1"},
        {"2026-11-21T03:19:55.101580Z 0 [ERROR] [MY-000067] [Server] unknown variable 'no_such_key=5'.\n"
         "2026-11-21T03:19:55.101606Z 0 [ERROR] [MY-010119] [Server] Aborting\n",
            "unknown variable 'no_such_key=5'."},
        {"2026-11-21T03:19:55.1Z 0 [ERROR] [MY-000077] [Server] /usr/sbin/mysqld: Error while setting value 'FOO' to 'binlog_format'.\n",
            "Error while setting value 'FOO' to 'binlog_format'."},
        {"2026-11-21  3:16:53 0 [Warning] Could not open mysql.plugin table\n", ""},
        {"", ""},
    };
    char reason[512];

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        mycnf_check_reason(cases[i].said, reason, sizeof(reason));
        assert_string_equal(reason, cases[i].reason);
    }
}

static void test_a_long_reason_is_cut(void **unused)
{
    char reason[24];

    UNUSED(unused);
    mycnf_check_reason(
        "0 [ERROR] aaaaaaaaaaaaaaaaaaaa\n0 [ERROR] bbbbbbbbbbbbbb\n0 [ERROR] c\n", reason, sizeof(reason));
    assert_string_equal(reason, "aaaaaaaaaaaaaaaaaaaa; b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_a_long_reason_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
