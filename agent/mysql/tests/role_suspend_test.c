/* SPDX-License-Identifier: Apache-2.0 */
/* Who loses the connection when a volume has less than half of its floor. */
#include "common/base.h"

#include "agent/mysql/role_suspend.h"

#include <setjmp.h>
#include <cmocka.h>

static void whoever_writes_is_ended(void **state)
{
    static const struct {
        const char *user, *database, *command, *state, *statement;
        uint64_t rows;
        bool writes;
    } rows[] = {
        {"app", "shop", "Query", "Sending data", "INSERT INTO t SELECT * FROM u", 0, true},
        {"app", "shop", "Execute", "update", "replace into t values (?)", 0, true},
        {"app", "shop", "Query", "copy to tmp table", "ALTER TABLE t ADD c INT", 0, true},
        {"app", "shop", "Query", "Sending data", "SELECT pay(1)", 17, true},
        {"app", "shop", "Query", "executing", "SELECT * FROM t", 0, false},
        {"app", "shop", "Query", "", "TRUNCATE t", 0, false},
        {"app", "shop", "Query", "", "DROP TABLE t", 0, false},
        /* Read-only ends their transactions as well, once the barrier stands. */
        {"app", "shop", "Sleep", "", NULL, 17, false},
        /* KILL would end that wait, and with MariaDB that of all whom it leads (I3). */
        {"app", "shop", "Query", "Waiting for semi-sync ACK from slave", "INSERT INTO t VALUES (1)", 1, false},
        {"app", "shop", "Query", "Waiting for semi-sync ACK from replica", "COMMIT", 1, false},
        {"app", "shop", "Query", "Waiting for prior transaction to commit", "COMMIT", 1, false},
        {"app", "shop", "Query", "waiting for handler commit", "INSERT INTO t VALUES (1)", 1, false},
        {"app", "shop", "Query", "Waiting for global read lock", "INSERT INTO t VALUES (1)", 0, false},
        {"app", "shop", "Killed", "", "INSERT INTO t VALUES (1)", 1, false},
        {"system user", NULL, "Query", "", "INSERT INTO t VALUES (1)", 1, false},
        {"replication", NULL, "Binlog Dump GTID", "", NULL, 0, false},
        {"mysql", NULL, "Query", "", "CREATE USER x", 0, false},
        {"mysql", "kubemysql", "Query", "update", "INSERT INTO kubemysql.heartbeat VALUES (1)", 1, true},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool writes = role_suspend_writes(rows[i].user, rows[i].database, rows[i].command, rows[i].state,
            rows[i].statement, rows[i].rows, "mysql", false);
        /* A client in the server's container comes in by the agent's account. */
        bool stranger_writes = role_suspend_writes(
            "mysql", rows[i].database, rows[i].command, rows[i].state, rows[i].statement, rows[i].rows, "mysql", true);
        if (writes != rows[i].writes || (str_eq(rows[i].user, "app") && stranger_writes != writes))
            fail_msg("row %zu", i + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(whoever_writes_is_ended)};

    return cmocka_run_group_tests_name("role_suspend", tests, NULL, NULL);
}
