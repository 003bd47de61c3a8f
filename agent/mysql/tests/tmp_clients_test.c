/* SPDX-License-Identifier: Apache-2.0 */
/* Whose connection may be ended for the temporary files that it has. */
#include "common/base.h"

#include "agent/mysql/tmp_clients.h"

#include <setjmp.h>
#include <cmocka.h>

static void a_connection_is_as_in_the_table(void **state)
{
    static const struct {
        const char *user, *command, *state, *files;
        bool may_end, runs, makes_files;
    } rows[] = {
        {"app", "Query", "Creating sort index", NULL, true, true, true},
        {"root", "Execute", "converting HEAP to Aria", NULL, true, true, true},
        {"app", "Query", "Copying to tmp table on disk", NULL, true, true, true},
        {"app", "Query", "executing", "3", true, true, true},
        {"app", "Query", "executing", "0", true, true, false},
        {"app", "Query", "Sending data", NULL, true, true, false},
        {"app", "Sleep", "", NULL, true, false, false},
        /* I3 */
        {"app", "Query", "Waiting for semi-sync ACK from slave", NULL, false, true, false},
        {"app", "Query", "Waiting for semi-sync ACK from replica", "1", false, true, true},
        {"app", "Query", "Waiting for prior transaction to commit", NULL, false, true, false},
        {"app", "Query", "waiting for handler commit", NULL, false, true, false},
        {"app", "Query", "Commit", NULL, false, true, false},
        {"app", "Query", "Commit implicit", NULL, false, true, false},
        {"app", "Query", "Writing to binlog", NULL, false, true, false},
        {"app", "Query", "query end", "1", false, true, true},
        {"app", "Query", "starting", NULL, false, true, false},
        {"app", "Query", "checking permissions", NULL, false, true, false},
        {"app", "Execute", "", NULL, false, true, false},
        {"app", "Query", NULL, NULL, false, true, false},
        {"app", "Killed", "Creating sort index", NULL, false, true, true},
        {"system user", "Slave_worker", "Write_rows_log_event::write_row()", NULL, false, true, false},
        {"system user", "Query", "Creating sort index", "1", false, true, true},
        {"event_scheduler", "Daemon", "Waiting on empty queue", NULL, false, true, false},
        {"replication", "Binlog Dump", "Master has sent all binlog to slave", NULL, false, true, false},
        {"app", "Binlog Dump GTID", "", NULL, false, true, false},
        {"replication", "Query", "executing", "1", false, true, true},
        {"monitor", "Query", "Creating sort index", "1", false, true, true},
        {"mysql", "Query", "Creating sort index", "1", false, true, true},
        {"unauthenticated user", "Connect", "login", NULL, false, true, false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tmp_row row = {.id = "7", .user = rows[i].user, .command = rows[i].command, .state = rows[i].state};
        row.files = rows[i].files;
        struct tmp_client client = tmp_client_of(&row, "mysql", false);
        if (client.may_end != rows[i].may_end || client.runs != rows[i].runs ||
            client.makes_files != rows[i].makes_files)
            fail_msg("row %zu", i + 1);
        row.user = "mysql"; /* as a client in the server's container */
        if (str_eq(rows[i].user, "app") && tmp_client_of(&row, "mysql", true).may_end != rows[i].may_end)
            fail_msg("row %zu by the agent's account", i + 1);
    }
}

static void numbers_are_taken_over(void **state)
{
    struct tmp_row row = {
        .id = "7", .user = "app", .command = "Query", .age_ms = "1500.125", .thread = "99", .bytes = "65536"};

    UNUSED(state);
    struct tmp_client client = tmp_client_of(&row, "mysql", false);
    assert_int_equal(client.id, 7);
    assert_int_equal(client.age_ms, 1500);
    assert_int_equal(client.thread, 99);
    assert_int_equal(client.bytes, 65536);
    assert_string_equal(client.user, "app");
    row = (struct tmp_row){.command = "Query"};
    assert_false(tmp_client_of(&row, "mysql", false).may_end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_is_as_in_the_table),
        cmocka_unit_test(numbers_are_taken_over),
    };

    return cmocka_run_group_tests_name("tmp_clients", tests, NULL, NULL);
}
