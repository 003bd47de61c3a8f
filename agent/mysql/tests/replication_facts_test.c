#include "common/base.h"

#include "agent/mysql/replication_facts.h"

#include <setjmp.h>
#include <cmocka.h>

static void test_a_statement_is_told_by_its_verb(void **unused)
{
    static const struct {
        const char *statement;
        const char *command;
        const char *verb;
    } rows[] = {
        {"UPDATE people SET iban = 'DE00' WHERE id = 7", "Query", "UPDATE"},
        {"insert into t values ('secret')", "Query", "INSERT"},
        {"  (SELECT 'secret') UNION SELECT 2", "Query", "SELECT"},
        {"/* order 17 of Ada */ DELETE FROM t", "Query", "DELETE"},
        {"-- Ada\n# Bob\n CALL pay('Ada')", "Query", "CALL"},
        {"/* Ada", "Query", "Query"},
        {"-- Ada", "Execute", "Execute"},
        {"ada: BEGIN NOT ATOMIC SELECT 1; END", "Query", "Query"},
        {"SELECTADA", "Query", "Query"},
        {"", "Query", "Query"},
        {NULL, "Sleep", "Sleep"},
        {NULL, "Ada", "Query"},
        {NULL, NULL, "Query"},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_string_equal(replication_verb(rows[i].statement, rows[i].command), rows[i].verb);
}

#define BEAT "REPLACE INTO kubemysql.heartbeat SELECT 1, 3, 4 FROM DUAL WHERE @@global.read_only = 0"

/* What servers call it, and what is something else. */
static void test_a_heartbeat_that_waits_for_a_lock(void **unused)
{
    static const struct {
        const char *user, *state, *info;
        bool locked;
    } rows[] = {
        {"mysql", "Waiting for backup lock", BEAT, true},
        {"mysql", "Waiting for global read lock", BEAT, true},
        {"mysql", "Waiting for table metadata lock", BEAT, true},
        {"mysql", "Waiting for commit lock", BEAT, true},
        {"mysql", "Update", BEAT, false}, /* a row's lock */
        {"mysql", "waiting for handler commit", BEAT, false},
        {"mysql", "Waiting for semi-sync ACK from slave", BEAT, false},
        {"mysql", "", BEAT, false},
        {"mysql", NULL, NULL, false},
        {"mysql", "Waiting for backup lock", "UPDATE t SET a = 1", false},
        {"app", "Waiting for backup lock", BEAT, false},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (replication_is_locked_beat(rows[i].user, rows[i].state, rows[i].info, "mysql") != rows[i].locked)
            fail_msg("%s: %s", rows[i].user, str_or_empty(rows[i].state));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_statement_is_told_by_its_verb),
        cmocka_unit_test(test_a_heartbeat_that_waits_for_a_lock),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
