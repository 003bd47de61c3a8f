/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/made_with.h"

#include <setjmp.h>
#include <cmocka.h>

#define HELP                                                \
    "Variables (--variable-name=value)\n"                   \
    "innodb-data-file-path        ibdata1:12M:autoextend\n" \
    "innodb-page-size             32768\n"                  \
    "innodb-page-size-of-others   1\n"                      \
    "innodb-undo-tablespaces      3\n"                      \
    "lower-case-table-names       1\n"

static void test_options(void **state)
{
    static const struct {
        const char *mycnf, *options;
    } rows[] = {
        {"", "[mysqld]\n"},
        {"[mysqld]\nmax_connections = 5\ndefault_time_zone = Europe/Berlin\n", "[mysqld]\n"},
        {"[mysqld]\nlower-case-table-names = 1\n", "[mysqld]\nlower_case_table_names = \"1\"\n"},
        {"[mysqld]\ninnodb_page_size = 16k\nloose_innodb_undo_tablespaces=4\n[mysqld]\ninnodb_page_size = 32k\n",
            "[mysqld]\ninnodb_page_size = \"32k\"\nloose_innodb_undo_tablespaces = \"4\"\n"},
        {"[client]\nlower_case_table_names = 1\n", "[mysqld]\n"},
        {"[mysqld]\ninnodb_data_file_path = \"a\\\\b:20M\"\n", "[mysqld]\ninnodb_data_file_path = \"a\\\\b:20M\"\n"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(strbuf_release) struct strbuf out;
        strbuf_init(&out, KM_KIB);
        assert_int_equal(made_with_options(rows[i].mycnf, &out, NULL), 0);
        assert_string_equal(out.buf, rows[i].options);
    }
}

static void test_compare(void **state)
{
    static const struct {
        const char *version, *data, *wrong; /* NULL: it fits */
    } rows[] = {
        {"9.7.4", "", NULL},
        {"9.7.4", "innodb_page_size=32768 lower_case_table_names=1", NULL},
        {"9.7.4", "innodb_page_size=16384 lower_case_table_names=1",
            "innodb_page_size: the data was made with 16384 and keeps it, it cannot become 32768"},
        {"11.8.9-MariaDB", "innodb_data_file_path=ibdata1:20M:autoextend lower_case_table_names=0",
            "innodb_data_file_path: the data was made with ibdata1:20M:autoextend and keeps it, it cannot become "
            "ibdata1:12M:autoextend; lower_case_table_names: the data was made with 0 and keeps it, it cannot become 1"},
        {"10.5.23-MariaDB", "innodb_undo_tablespaces=0",
            "innodb_undo_tablespaces: the data was made with 0 and keeps it, it cannot become 3"},
        {"10.11.19-MariaDB", "innodb_undo_tablespaces=0", NULL}, /* an upgrade changes the default */
        {"9.7.4", "innodb_undo_tablespaces=2", NULL},
        {"9.7.4", "some_lower_case_table_names=0 unknown=1", NULL},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server_version version;
        struct error err = ERROR_INIT;
        assert_int_equal(server_version_parse(rows[i].version, NULL, &version, NULL), 0);
        int rc = made_with_compare(rows[i].data, HELP, &version, &err);
        if ((rc < 0) != (rows[i].wrong != NULL) || (rows[i].wrong && strcmp(err.message, rows[i].wrong) != 0))
            fail_msg("%zu: %d %s", i, rc, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_compare),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
