/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/names_stories.h"

#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/strbuf.h"

#define PROCESSES "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE = "
#define USER_PASSWORD "pw-user'\\"

static void put_instance(struct replication_rig *rig, const char *username, const char *database, bool requires_tls)
{
    _cleanup_(freep) char *text = xasprintf(
        "{\"namespace\":\"ns\",\"cluster\":\"demo\",\"clusterUID\":\"u-1\",\"serviceDomain\":\"demo-mysql.ns.svc\","
        "\"serverIdBase\":1000,\"replicas\":3,\"database\":\"%s\",\"username\":\"%s\"%s}",
        database, username, requires_tls ? ",\"requireTLS\":true" : "");

    for (unsigned i = 0; i < MEMBERS; i++)
        agent_rig_put(rig->members[i].rig, "config/instance.json", text);
}

static void put_names(struct replication_rig *rig, const char *username, const char *database)
{
    put_instance(rig, username, database, false);
}

static bool enters(struct replication_rig *rig, unsigned member, const char *user, const char *sql)
{
    return agent_rig_sql(rig->members[member].rig, user, USER_PASSWORD, sql, NULL);
}

static bool says(
    const struct member *member, const char *user, const char *open, const char *locked, const char *databases)
{
    const struct agent_status *status = &member->status;

    return status->named_known && str_eq(status->named_user, user) && str_eq(status->left_accounts, open) &&
        str_eq(status->locked_accounts, locked) && str_eq(status->left_databases, databases);
}

static bool names_app_alone(const struct member *member)
{
    return says(member, "app", "", "", "");
}

static bool has_left_app(const struct member *member)
{
    return says(member, "fresh", "app", "", "app_db") && str_eq(member->status.named_database, "new_db");
}

static bool has_locked_app(const struct member *member)
{
    return says(member, "fresh", "", "app", "app_db");
}

static bool has_left_fresh(const struct member *member)
{
    return says(member, "app", "fresh", "", "new_db");
}

static bool has_locked_fresh(const struct member *member)
{
    return says(member, "app", "", "fresh", "new_db");
}

static void wish_locks(struct replication_rig *rig, unsigned member, bool lock)
{
    struct agent_order order = rig->members[member].order;

    order.lock_left = lock;
    member_give(rig, member, order);
}

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "up");
    replication_rig_form(rig);
    member_await(rig, 0, names_app_alone, "nothing is left");
    assert_true(enters(rig, 0, "app", "CREATE TABLE app_db.t (i INT PRIMARY KEY)"));
}

/* It keeps its password and its rights, and the new one has none of them: that is told. */
static void test_other_names_leave_the_former(void **state)
{
    struct replication_rig *rig = *state;

    put_names(rig, "fresh", "new_db");
    member_await(rig, 0, has_left_app, "app and app_db are left");
    assert_true(enters(rig, 0, "app", "INSERT INTO app_db.t VALUES (1)"));
    assert_true(enters(rig, 0, "fresh", "CREATE TABLE new_db.t (i INT PRIMARY KEY)"));
    assert_false(enters(rig, 0, "fresh", "SELECT * FROM app_db.t"));
    assert_false(rig->members[1].status.named_known); /* the primary's to say */
}

/* Nothing is dropped; a replica gets it like the accounts themselves. */
static void test_what_is_left_is_locked_on_a_wish(void **state)
{
    struct replication_rig *rig = *state;

    wish_locks(rig, 0, true);
    member_await(rig, 0, has_locked_app, "app is locked");
    assert_true(rig->members[0].status.locks_left);
    assert_false(enters(rig, 0, "app", "SELECT 1"));
    assert_true(enters(rig, 0, "fresh", "SELECT 1"));
    for (unsigned i = 1; i < MEMBERS; i++) {
        assert_true(member_says(rig, i, "SELECT COUNT(*) FROM app_db.t", "1"));
        replication_rig_run(rig, 1000);
        assert_false(enters(rig, i, "app", "SELECT 1"));
    }
    wish_locks(rig, 0, false); /* loosens nothing */
    replication_rig_run(rig, 3000);
    assert_true(has_locked_app(&rig->members[0]));
    assert_false(enters(rig, 0, "app", "SELECT 1"));
}

static void test_naming_it_again_unlocks_it(void **state)
{
    struct replication_rig *rig = *state;

    wish_locks(rig, 0, true);
    put_names(rig, "app", "app_db");
    member_await(rig, 0, has_locked_fresh, "fresh is locked, and app is not");
    assert_true(enters(rig, 0, "app", "INSERT INTO app_db.t VALUES (2)"));
    assert_false(enters(rig, 0, "fresh", "SELECT 1"));
    wish_locks(rig, 0, false);
    assert_true(member_sql(rig, 0, "ALTER USER fresh@'%' ACCOUNT UNLOCK", NULL));
    assert_true(replication_rig_await(rig, 0, has_left_fresh, "somebody has unlocked it", 20000));
}

static bool enters_with(struct replication_rig *rig, const char *password, int64_t limit_ms)
{
    int64_t end_ms = clock_monotonic_ms() + limit_ms;

    do {
        if (agent_rig_sql(rig->members[0].rig, "app", password, "SELECT 1", NULL))
            return true;
        replication_rig_run(rig, 200);
    } while (clock_monotonic_ms() < end_ms);
    return false;
}

static void put_user_password(struct replication_rig *rig, const char *password)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        agent_rig_put(rig->members[i].rig, "accounts/user", password);
}

static pid_t run_beside(struct replication_rig *rig, const char *sql)
{
    pid_t pid = replication_rig_fork();

    rig->members[0].rig->client_ms = pid == 0 ? 120000 : rig->members[0].rig->client_ms;
    if (pid == 0)
        _exit(member_sql(rig, 0, sql, NULL) ? 0 : 1);
    return pid;
}

static int await_end(pid_t pid)
{
    int status = -1;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void end_sleeper(struct replication_rig *rig)
{
    _cleanup_(strbuf_release) struct strbuf id;

    strbuf_init(&id, KM_KIB);
    assert_true(member_sql(rig, 0, "SELECT ID FROM information_schema.PROCESSLIST WHERE STATE = 'User sleep'", &id));
    _cleanup_(freep) char *sql = xasprintf("KILL %s", id.buf);
    assert_true(member_sql(rig, 0, sql, NULL));
}

/* An ALTER TABLE that takes its time holds a lock on the schema: a statement that asks for that one alone would wait
 * for it, and with it everybody who comes. */
static void test_a_long_alter_holds_up_no_password(void **state)
{
    struct replication_rig *rig = *state;
    pid_t reader = run_beside(rig, "START TRANSACTION; SELECT * FROM app_db.t; DO SLEEP(75); COMMIT");

    assert_true(member_says(rig, 0, PROCESSES "'User sleep'", "1"));
    pid_t alter = run_beside(rig, "ALTER TABLE app_db.t FORCE");
    assert_true(member_says(rig, 0, PROCESSES "'Waiting for table metadata lock'", "1"));
    put_user_password(rig, "another");
    assert_true(enters_with(rig, "another", 40000));
    assert_true(member_says(rig, 0, PROCESSES "'Waiting for schema metadata lock'", "0"));
    end_sleeper(rig);
    (void)await_end(reader);
    assert_int_equal(await_end(alter), 0);
    put_user_password(rig, USER_PASSWORD);
    assert_true(enters_with(rig, USER_PASSWORD, 30000));
}

static bool requires_tls(const struct member *member)
{
    return str_eq(member->status.named_tls, AGENT_TLS_REQUIRED);
}

static bool offers_tls(const struct member *member)
{
    return str_eq(member->status.named_tls, AGENT_TLS_OFFERED);
}

/* It says so once they are, and not when it has been told. */
static void test_accounts_are_bound_to_tls_and_set_free(void **state)
{
    static const char bound[] = "SELECT ssl_type FROM mysql.user WHERE User = 'app' AND Host = '%'";
    struct replication_rig *rig = *state;

    assert_true(offers_tls(&rig->members[0]));
    put_instance(rig, "app", "app_db", true);
    member_await(rig, 0, requires_tls, "accounts need TLS");
    assert_true(member_says(rig, 0, bound, "ANY"));
    put_instance(rig, "app", "app_db", false);
    member_await(rig, 0, offers_tls, "they are free again");
    assert_true(member_says(rig, 0, bound, ""));
    assert_string_equal(rig->members[1].status.named_tls, "");
}

/* Whoever follows finds the note in its data. */
static void test_another_primary_knows_of_it(void **state)
{
    struct replication_rig *rig = *state;

    (void)replication_rig_switch_us(rig, 0, 1);
    member_await(rig, 1, has_left_fresh, "fresh is left");
    assert_false(rig->members[0].status.named_known);
}

static void test_what_is_dropped_is_not_left(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(member_sql(rig, 1, "DROP USER fresh@'%'; DROP DATABASE new_db", NULL));
    assert_true(replication_rig_await(rig, 1, names_app_alone, "nothing is left", 20000));
}

static void test_the_named_one_is_made_again(void **state)
{
    struct replication_rig *rig = *state;
    int64_t end_ms = clock_monotonic_ms() + 40000;

    assert_true(enters(rig, 1, "app", "SELECT 1"));
    replication_rig_run(rig, 12000); /* it has been seen */
    assert_true(member_sql(rig, 1, "DROP USER app@'%'", NULL));
    assert_false(enters(rig, 1, "app", "SELECT 1"));
    while (!enters(rig, 1, "app", "SELECT 1") && clock_monotonic_ms() < end_ms)
        replication_rig_run(rig, 500);
    assert_true(enters(rig, 1, "app", "INSERT INTO app_db.t VALUES (3)"));
}

int names_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_other_names_leave_the_former),
        cmocka_unit_test(test_what_is_left_is_locked_on_a_wish),
        cmocka_unit_test(test_naming_it_again_unlocks_it),
        cmocka_unit_test(test_a_long_alter_holds_up_no_password),
        cmocka_unit_test(test_accounts_are_bound_to_tls_and_set_free),
        cmocka_unit_test(test_another_primary_knows_of_it),
        cmocka_unit_test(test_what_is_dropped_is_not_left),
        cmocka_unit_test(test_the_named_one_is_made_again),
    };

    return cmocka_run_group_tests_name(mysql ? "names of MySQL" : "names of MariaDB", tests,
        mysql ? replication_rig_setup_mysql : replication_rig_setup_mariadb, replication_rig_teardown);
}
