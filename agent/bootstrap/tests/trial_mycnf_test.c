/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/trial_mycnf.h"

#include <setjmp.h>
#include <cmocka.h>

#define HEAD "\n# for the check alone\n[mysqld]\nskip_networking\n"

static void test_what_is_cut(void **unused)
{
    static const struct {
        const char *mycnf, *adds, *cut;
    } cases[] = {
        {"[mysqld]\nmax_connections = 99999\ninnodb_buffer_pool_size = 256M\n", "", ""},
        {"[mysqld]\ninnodb-buffer-pool-size = 64G\n", "innodb_buffer_pool_size = 256M\n",
            "innodb_buffer_pool_size = 256M instead of 64G"},
        {"[mysqld]\nloose_innodb_redo_log_capacity = \"300m\"\nkey_buffer_size=268435457\n",
            "loose_innodb_redo_log_capacity = 256M\nkey_buffer_size = 256M\n",
            "innodb_redo_log_capacity = 256M instead of 300m, key_buffer_size = 256M instead of 268435457"},
        /* The last setting counts. */
        {"[mysqld]\ninnodb_buffer_pool_size = 64G\ninnodb_buffer_pool_size = 64M\n", "", ""},
        {"[client]\ninnodb_buffer_pool_size = 64G\n", "", ""},
        /* A number that no integer holds. */
        {"[mysqld]\ninnodb_buffer_pool_size = 99999999999E\n", "innodb_buffer_pool_size = 256M\n",
            "innodb_buffer_pool_size = 256M instead of 99999999999E"},
        {"[mysqld]\ninnodb_buffer_pool_size = plenty\n", "", ""},
        /* All files of the redo log together. */
        {"[mysqld]\ninnodb_log_file_size = 128M\n", "", ""},
        {"[mysqld]\ninnodb_log_file_size = 2G\n", "innodb_log_file_size = 128M\n",
            "innodb_log_file_size = 128M instead of 2G"},
        {"[mysqld]\ninnodb_log_file_size = 128M\ninnodb_log_files_in_group = 100\n",
            "innodb_log_file_size = 64M\ninnodb_log_files_in_group = 4\n",
            "innodb_log_file_size = 64M instead of 128M, innodb_log_files_in_group = 4 instead of 100"},
        {"[mysqld]\ninnodb_undo_tablespaces = 127\n", "innodb_undo_tablespaces = 16\n",
            "innodb_undo_tablespaces = 16 instead of 127"},
        {"[mysqld]\ninnodb_data_file_path = ibdata1:12M;ibdata2:10G:autoextend:max:20G\n",
            "innodb_data_file_path = ibdata1:12M;ibdata2:256M:autoextend:max:20G\n",
            "innodb_data_file_path = ibdata1:12M;ibdata2:256M:autoextend:max:20G instead of "
            "ibdata1:12M;ibdata2:10G:autoextend:max:20G"},
        {"[mysqld]\ninnodb_temp_data_file_path = ibtmp1:12M:autoextend\n", "", ""},
        {"[mysqld]\ninnodb_temp_data_file_path = nonsense\ninnodb_data_file_path =\n", "", ""},
        {"[mysqld]\ninnodb_dedicated_server\n", "innodb_dedicated_server = OFF\n",
            "innodb_dedicated_server = OFF instead of ON"},
        {"[mysqld]\ninnodb_dedicated_server = off\n", "", ""},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _cleanup_(strbuf_release) struct strbuf out, cut;
        strbuf_init(&out, 4096);
        strbuf_init(&cut, 4096);
        assert_int_equal(trial_mycnf_add(cases[i].mycnf, &out, &cut, NULL), 0);
        assert_true(str_starts_with(out.buf, HEAD));
        assert_string_equal(out.buf + strlen(HEAD), cases[i].adds);
        assert_string_equal(str_or_empty(cut.buf), cases[i].cut);
    }
}

static void test_where_the_log_goes(void **unused)
{
    char name[64];

    UNUSED(unused);
    assert_true(trial_mycnf_log("[mysqld]\nlog-error = /tmp/x.log\n", name, sizeof(name)));
    assert_string_equal(name, "/tmp/x.log");
    assert_false(trial_mycnf_log("[mysqld]\nlog_error\n", name, sizeof(name)));
    assert_false(trial_mycnf_log("[mysqld]\nlog_error = stderr\n", name, sizeof(name)));
    assert_false(trial_mycnf_log("[mysqld]\nmax_connections = 7\n", name, sizeof(name)));
}

/* Standard error of MySQL 9.7 and MariaDB 10.11, and of a program that is no server. */
static void test_reasons(void **unused)
{
    static const struct {
        const char *said, *reason;
    } cases[] = {
        {"2026-11-26T17:58:32.1Z 0 [System] [MY-015015] [Server] MySQL Server - start.\n"
         "2026-11-26T17:58:33.1Z 0 [ERROR] [MY-010329] [Server] Fatal error: Illegal or unknown default time zone 'Nowhere'\n"
         "2026-11-26T17:58:33.2Z 0 [ERROR] [MY-010119] [Server] Aborting\n",
            "Illegal or unknown default time zone 'Nowhere'"},
        {"a\nb\nc\nd\n", "b; c; d"},
        {"mysqld: error while loading shared libraries: libaio.so.1\n",
            "mysqld: error while loading shared libraries: libaio.so.1"},
        {"", ""},
    };
    char reason[256];

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        trial_mycnf_reason(cases[i].said, reason, sizeof(reason));
        assert_string_equal(reason, cases[i].reason);
    }
}

static void test_whom_a_reason_blames(void **unused)
{
    static const char mycnf[] = "[mysqld]\ndefault-time-zone = Nowhere/Land\nmax_connections = 500\n"
                                "innodb_log_group_home_dir = /no/such\nskip_name_resolve\nsync_binlog = 1\n";
    static const struct {
        const char *reason, *blames;
    } cases[] = {
        {"Illegal or unknown default time zone 'Nowhere/Land'", "default_time_zone = Nowhere/Land"},
        {"File /no/such/ib_logfile0: 'open' returned OS error 2", "innodb_log_group_home_dir = /no/such"},
        {"the option --skip-name-resolve, and innodb_log_group_home_dir",
            "innodb_log_group_home_dir = /no/such, skip_name_resolve"},
        {"no such thing as max_connections_per_hour", ""},
        {"1 of 500 pages", ""},
        {"", ""},
    };
    char blames[256];

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(trial_mycnf_blame(mycnf, cases[i].reason, blames, sizeof(blames)), *cases[i].blames != '\0');
        assert_string_equal(blames, cases[i].blames);
    }
    assert_true(trial_mycnf_blame(mycnf, cases[0].reason, blames, 10));
    assert_string_equal(blames, "default_t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_cut),
        cmocka_unit_test(test_where_the_log_goes),
        cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_whom_a_reason_blames),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
