/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for a lock on all tables, by rows of the list of processes. */
#include "common/base.h"

#include "agent/mysql/lock_waits.h"

#include <setjmp.h>
#include <cmocka.h>

static void test_who_writes_rows_and_waits_for_all_tables(void **unused)
{
    static const struct {
        const char *state, *info;
        bool waits;
    } rows[] = {
        {"Waiting for backup lock", "INSERT INTO t VALUES (1)", true},
        {"Waiting for global read lock", "/* app */ update t set a = 1", true},
        {"Waiting for commit lock", "COMMIT", true},
        {"Waiting for backup lock", " (/* a */ /* b */REPLACE INTO t VALUES (1))", true},
        {"Waiting for backup lock", "ALTER TABLE t ADD b INT", false},
        {"Waiting for global read lock", "FLUSH TABLES WITH READ LOCK", false},
        {"Waiting for table metadata lock", "INSERT INTO t VALUES (1)", false}, /* of one table */
        {"Waiting for semi-sync ACK from slave", "INSERT INTO t VALUES (1)", false},
        {"Waiting for backup lock", "/* never ends", false},
        {"Waiting for backup lock", NULL, false},
        {NULL, "INSERT INTO t VALUES (1)", false},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (lock_waits_row(rows[i].state, rows[i].info) != rows[i].waits)
            fail_msg("%s: %s", str_or_empty(rows[i].state), str_or_empty(rows[i].info));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_who_writes_rows_and_waits_for_all_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
