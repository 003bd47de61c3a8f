/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/first_logged.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/tests/binlog_double.h"

static void look(const struct binlog_double *logs, enum gtid_flavour flavour, struct replication_facts *ret)
{
    *ret = (struct replication_facts){.oldest_log = 99, .first_logged = "old"};
    first_logged_look(logs->dir, flavour, ret);
}

static void test_where_logs_begin(void **unused)
{
    static const struct {
        enum gtid_flavour flavour;
        const char *before, *first, *second, *all;
    } rows[] = {
        {GTID_MARIADB, "0-1-7", "0-1-8", "0-1-9", "0-1-9"},
        {GTID_MYSQL, "8829f773-0000-4000-8000-000000000001:1-7", "8829f773-0000-4000-8000-000000000001:8",
            "8829f773-0000-4000-8000-000000000001:9", "8829f773-0000-4000-8000-000000000001:1-9"},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct binlog_double logs;
        struct replication_facts facts;

        binlog_double_init(&logs, rows[i].flavour);
        look(&logs, rows[i].flavour, &facts);
        assert_int_equal(facts.oldest_log, 0); /* no index */
        assert_string_equal(facts.first_logged, "");
        binlog_double_rotate(&logs, rows[i].before);
        look(&logs, rows[i].flavour, &facts);
        assert_int_equal(facts.oldest_log, 1);
        assert_string_equal(facts.first_logged, "");
        binlog_double_add(&logs, rows[i].first, 1000000, 300);
        binlog_double_add(&logs, rows[i].second, 1000000, 300);
        binlog_double_rotate(&logs, rows[i].all);
        look(&logs, rows[i].flavour, &facts);
        assert_int_equal(facts.oldest_log, 1);
        assert_string_equal(facts.first_logged, rows[i].first);
        binlog_double_release(&logs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_logs_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
