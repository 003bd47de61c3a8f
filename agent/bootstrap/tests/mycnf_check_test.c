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

/* Standard error of MariaDB 10.11 and MySQL 8.4 for max_allowed_packet = 5G and the like. */
static void test_what_is_adjusted(void **unused)
{
    static const struct {
        const char *said, *adjusted;
    } cases[] = {
        {"2026-11-26 17:58:32 0 [Warning] option 'max_allowed_packet': unsigned value 5368709120 adjusted to 1073741824\n"
         "2026-11-26 17:58:32 0 [Warning] Could not increase number of max_open_files to more than 20000\n"
         "2026-11-26 17:58:32 0 [Warning] Changed limits: max_open_files: 20000  max_connections: 16770 (was 100000)\n"
         "2026-11-26 17:58:32 0 [Warning] Buffered warning: option 'max_connections': unsigned value 999999 adjusted to 100000\n",
            "option 'max_allowed_packet': unsigned value 5368709120 adjusted to 1073741824; "
            "option 'max_connections': unsigned value 999999 adjusted to 100000"},
        {"2026-11-26T17:58:32.1Z 0 [Warning] [MY-000081] [Server] option 'max_allowed_packet': unsigned value 5368709120 "
         "adjusted to 1073741824.\n",
            "option 'max_allowed_packet': unsigned value 5368709120 adjusted to 1073741824"},
        {"2026-11-26 17:58:32 0 [Warning] option 'a': value 2 adjusted to 1\n"
         "2026-11-26 17:58:32 0 [Warning] Buffered warning: option 'a': value 2 adjusted to 1\n",
            "option 'a': value 2 adjusted to 1"},
        {"2026-11-26 17:58:32 0 [Warning] Could not open mysql.plugin table\n", ""},
        {"", ""},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf adjusted;
        strbuf_init(&adjusted, 4096);
        mycnf_check_adjusted(cases[i].said, &adjusted);
        assert_string_equal(adjusted.buf, cases[i].adjusted);
        strbuf_release(&adjusted);
    }
}

#define LINES                                                                                              \
    "# theirs\n[mysqld]\ncharacter_set_server = utf8\ninnodb-file-format = Barracuda\nskip_name_resolve\n" \
    "sql_mode = NO_AUTO_CREATE_USER\nquery_cache_size=0\nquery_cache_type = 0\nempty ="

/* What is left of those lines, and how the reason reads then. */
static void test_whom_a_reason_names(void **unused)
{
    static const struct {
        const char *reason, *without, *reads;
    } cases[] = {
        {"unknown variable 'innodb_file_format=Barracuda'.", "innodb-file-format = Barracuda\n", NULL},
        {"unknown variable 'query-cache-size=0'; unknown variable 'query_cache_type=0'",
            "query_cache_size=0\nquery_cache_type = 0\n", NULL},
        {"unknown option '--skip-name-resolve'", "skip_name_resolve\n", NULL},
        {"Error while setting value 'NO_AUTO_CREATE_USER' to 'sql_mode'.", "sql_mode = NO_AUTO_CREATE_USER\n", NULL},
        {"Character set 'utf8' rejected as command line option.; Unknown character set: 'utf8'.",
            "character_set_server = utf8\n",
            "Character set 'utf8' rejected as command line option.; Unknown character set: 'utf8'. (character_set_server = utf8)"},
        {"unknown variable 'innodb_file_form=1'", NULL, NULL},
        {"an apostrophe ' and ''", NULL, NULL},
        {"nothing is named", NULL, NULL},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf rest;
        char reason[512];
        strbuf_init(&rest, 4096);
        snprintf(reason, sizeof(reason), "%s", cases[i].reason);
        assert_int_equal(mycnf_check_without(LINES, reason, sizeof(reason), &rest), cases[i].without != NULL);
        assert_string_equal(reason, cases[i].reads ? cases[i].reads : cases[i].reason);
        if (!cases[i].without)
            continue;
        const char *at = strstr(LINES, cases[i].without);
        assert_non_null(at);
        size_t before = (size_t)(at - LINES);
        assert_int_equal(rest.len, strlen(LINES) - strlen(cases[i].without));
        assert_memory_equal(rest.buf, LINES, before);
        assert_string_equal(rest.buf + before, at + strlen(cases[i].without));
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
        cmocka_unit_test(test_what_is_adjusted),
        cmocka_unit_test(test_whom_a_reason_names),
        cmocka_unit_test(test_a_long_reason_is_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
