/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/replication_facts.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/mysql/semi_sync.h"

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

static struct replication_facts semi_sync_of(const char *version, const char *const (*rows)[2])
{
    struct replication_facts facts = {0};
    struct server_version number;

    assert_int_equal(server_version_parse(version, "", &number, NULL), 0);
    for (; (*rows)[0]; rows++)
        semi_sync_take(dialect_for(&number)->replication, &facts, (*rows)[0], (*rows)[1]);
    return facts;
}

/* As servers spell it: the names of 8.0.26 and later, and those before, which MariaDB keeps. */
static void test_semi_sync_as_servers_tell_it(void **unused)
{
    static const char *const source[][2] = {{"rpl_semi_sync_source_enabled", "ON"},
        {"rpl_semi_sync_source_timeout", "4294967295"}, {"rpl_semi_sync_source_wait_for_replica_count", "2"},
        {"rpl_semi_sync_source_wait_no_replica", "ON"}, {"rpl_semi_sync_source_wait_point", "AFTER_SYNC"},
        {"Rpl_semi_sync_source_status", "ON"}, {"Rpl_semi_sync_source_no_tx", "3"}, {NULL, NULL}};
    static const char *const master[][2] = {{"rpl_semi_sync_master_enabled", "ON"},
        {"rpl_semi_sync_master_timeout", "4294967295"}, {"rpl_semi_sync_master_wait_for_slave_count", "2"},
        {"rpl_semi_sync_master_wait_no_slave", "ON"}, {"rpl_semi_sync_master_wait_point", "AFTER_SYNC"},
        {"Rpl_semi_sync_master_status", "OFF"}, {NULL, NULL}};
    static const char *const altered[][3][2] = {
        {{"rpl_semi_sync_source_timeout", "1000"}, {NULL, NULL}},
        {{"rpl_semi_sync_source_wait_point", "AFTER_COMMIT"}, {NULL, NULL}},
        {{"rpl_semi_sync_source_wait_no_replica", "OFF"}, {NULL, NULL}},
    };

    UNUSED(unused);
    struct replication_facts facts = semi_sync_of("9.7.0", source);
    assert_true(facts.semi_sync_source && facts.semi_sync_waits && !facts.semi_sync_altered);
    assert_true(facts.unacknowledged_known && facts.unacknowledged == 3);
    assert_int_equal(facts.semi_sync_acks, 2);
    facts = semi_sync_of("5.7.44", master);
    assert_true(facts.semi_sync_source && !facts.semi_sync_waits && !facts.semi_sync_altered);
    assert_false(facts.unacknowledged_known);
    assert_int_equal(facts.semi_sync_acks, 2);
    assert_int_equal(semi_sync_of("10.11.19-MariaDB", master).semi_sync_acks, 0);
    for (size_t i = 0; i < ARRAY_LEN(altered); i++)
        assert_true(semi_sync_of("8.4.0", altered[i]).semi_sync_altered);
}

/* Decisions look at its beginning, people at all of it; the applier's is the one that counts. */
static void test_an_error_is_whole(void **unused)
{
    static const char applier[] =
        "Worker 1 failed executing transaction '3E11FA47-71CA-11E1-9E33-C80AA9429562:17' at source log "
        "shop-mysql-0-bin.000002, end_log_pos 712; Could not execute Update_rows event on table shop.orders; Can't find "
        "record in 'orders', Error_code: 1032; handler error HA_ERR_KEY_NOT_FOUND; the event's source log "
        "shop-mysql-0-bin.000002, end_log_pos 712";
    struct replication_facts facts = {0};

    UNUSED(unused);
    replication_facts_take(&facts, "Last_IO_Error", "error connecting");
    assert_string_equal(facts.error_text, "error connecting");
    replication_facts_take(&facts, "Last_SQL_Error", "");
    assert_string_equal(facts.error_text, "error connecting");
    replication_facts_take(&facts, "Last_SQL_Error", applier);
    assert_string_equal(facts.error_text, applier);
    assert_string_equal(facts.receiver_error, "error connecting");
    assert_int_equal(strlen(facts.applier_error), sizeof(facts.applier_error) - 1);
}

/* Both families list all channels in one answer, MariaDB by the name of a connection, before or behind ours. */
static void test_a_channel_of_somebody_else_is_no_status_of_ours(void **unused)
{
    static const char *const mariadb[] = {"Connection_name", "Master_Host", "Slave_IO_Running", "Gtid_IO_Pos"};
    static const char *const mysql[] = {"Source_Host", "Replica_IO_Running", "Channel_Name"};
    static const char *const ours[] = {"", "shop-mysql-0", "Yes", "0-1-50"};
    static const char *const theirs[] = {"chan2", "10.1.1.1", "No", "0-1-50"};
    static const char *const ours_mysql[] = {"shop-mysql-0", "Yes", ""};
    static const char *const theirs_mysql[] = {"10.1.1.1", "No", "chan2"};
    static const char *const salvage[] = {SALVAGE_CHANNEL, "nobody.invalid", "No", ""};
    struct replication_facts facts = {0};

    UNUSED(unused);
    replication_facts_take_row(&facts, 4, mariadb, salvage);
    assert_string_equal(facts.foreign_channel, "");
    replication_facts_take_row(&facts, 4, mariadb, ours);
    replication_facts_take_row(&facts, 4, mariadb, theirs);
    assert_string_equal(facts.source_host, "shop-mysql-0");
    assert_int_equal(facts.receiver, AGENT_THREAD_RUNNING);
    assert_string_equal(facts.foreign_channel, "chan2");
    facts = (struct replication_facts){0};
    replication_facts_take_row(&facts, 3, mysql, theirs_mysql);
    assert_false(facts.configured);
    replication_facts_take_row(&facts, 3, mysql, ours_mysql);
    assert_string_equal(facts.source_host, "shop-mysql-0");
    assert_string_equal(facts.foreign_channel, "chan2");
}

/* A refused statement is no reason to know nothing; a connection that is lost is. */
static void test_what_a_look_goes_without(void **unused)
{
    struct error failure = ERROR_INIT, err = ERROR_INIT;
    char unread[LOOK_UNREAD_SIZE] = "";

    UNUSED(unused);
    error_set_code(&failure, ERROR_DATABASE, 1054, "server error 1054: Unknown column");
    assert_true(replication_goes_without(unread, "the heartbeat", &failure, &err));
    assert_string_equal(unread, "the heartbeat: server error 1054: Unknown column");
    assert_true(replication_goes_without(unread, "accounts", &failure, &err));
    assert_string_equal(unread, "the heartbeat: server error 1054: Unknown column");
    assert_int_equal(err.kind, ERROR_NONE);
    error_set(&failure, ERROR_UNAVAILABLE, "the connection to the server is lost");
    assert_false(replication_goes_without(unread, "events", &failure, &err));
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    error_set(&failure, ERROR_TIMEOUT, "no answer");
    assert_false(replication_goes_without(unread, "events", &failure, NULL));
}

/* What has been applied stays applied, and nobody's lag is known by a row that cannot be read. */
static void test_a_heartbeat_that_cannot_be_read(void **unused)
{
    struct replication_facts kept = {0};
    const struct replication_facts good = {.seen = true, .has_beat = true, .beat_epoch = 4, .beat_us = 7};
    const struct replication_facts unread = {.seen = true, .beat_unread = true, .system_tables_seen = true};
    const struct replication_facts none = {.seen = true};

    UNUSED(unused);
    replication_facts_keep(&kept, &good);
    kept.accounts_present = kept.events_listed = true;
    replication_facts_keep(&kept, &unread);
    assert_false(kept.has_beat);
    assert_int_equal(kept.beat_us, 0);
    assert_int_equal(kept.beat_epoch, 4);
    assert_false(kept.accounts_present); /* queried, and the server has refused to answer */
    assert_false(kept.events_listed);
    replication_facts_keep(&kept, &unread);
    assert_int_equal(kept.beat_epoch, 4);
    replication_facts_keep(&kept, &none);
    assert_int_equal(kept.beat_epoch, 0);
}

/* Only what the agent makes anew may be dropped. */
static void test_whose_tables_are_not_read(void **state)
{
    UNUSED(state);
    assert_true(replication_unread_is_ours("the heartbeat (kubemysql.heartbeat): server error 1054: no such column"));
    assert_true(replication_unread_is_ours("accounts: server error 1146: no such table"));
    assert_false(replication_unread_is_ours("long transactions: server error 3854: Cannot convert string"));
    assert_false(replication_unread_is_ours("counters and settings: server error 1227: accounts: "));
    assert_false(replication_unread_is_ours(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_statement_is_told_by_its_verb),
        cmocka_unit_test(test_a_heartbeat_that_waits_for_a_lock),
        cmocka_unit_test(test_semi_sync_as_servers_tell_it),
        cmocka_unit_test(test_an_error_is_whole),
        cmocka_unit_test(test_a_channel_of_somebody_else_is_no_status_of_ours),
        cmocka_unit_test(test_what_a_look_goes_without),
        cmocka_unit_test(test_a_heartbeat_that_cannot_be_read),
        cmocka_unit_test(test_whose_tables_are_not_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
