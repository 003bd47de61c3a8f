/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/judge_stories.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "common/alloc.h"
#include "common/fs.h"

#define FOLDER "vol/.kube-mysql/set-aside/2026-01-01T00-00-00Z-epoch1"
#define OLDER_FOLDER "vol/.kube-mysql/set-aside/2026-01-01T12-00-00Z-epoch1"
#define LATER_FOLDER "vol/.kube-mysql/set-aside/2026-01-02T00-00-00Z-epoch1"

static bool has_no_entry(const struct member *member)
{
    return str_empty(member->status.set_aside.sets[0]);
}

static bool has_entry(const struct member *member)
{
    return !str_empty(member->status.set_aside.sets[0]);
}

/* The agent's own. */
static void make_folder(const struct agent_rig *rig, const char *folder)
{
    struct error err = ERROR_INIT;
    _cleanup_(freep) char *parent = xasprintf("%s/..", agent_rig_path(rig, folder));
    _cleanup_(freep) char *path = xstrdup(agent_rig_path(rig, folder));

    assert_int_equal(fs_mkdir_all(path, 0755, &err), 0);
    assert_int_equal(chown(path, rig->uid, rig->gid), 0);
    assert_int_equal(chown(parent, rig->uid, rig->gid), 0);
}

/* The agent looks at what is there when it starts. */
static void put_set(struct replication_rig *rig, unsigned member, const char *folder, const char *gtids)
{
    _cleanup_(freep) char *path = xasprintf("%s/transactions.txt", folder);
    _cleanup_(freep) char *text = xasprintf("# transactions: %s\n# reason: a test\n# epoch: 1\n%s\n", gtids, gtids);

    agent_rig_kill(&rig->members[member].rig->agent);
    make_folder(rig->members[member].rig, folder);
    agent_rig_put(rig->members[member].rig, path, text);
    replication_rig_start(rig, member, "run");
    member_await(rig, member, member_runs, "running");
    member_await(rig, member, has_entry, "an entry");
}

static char *ask(struct replication_rig *rig, unsigned member, const char *sql)
{
    struct strbuf out;

    strbuf_init(&out, KM_MIB);
    assert_true(member_sql(rig, member, sql, &out));
    while (out.len > 0 && out.buf[out.len - 1] == '\n')
        out.buf[--out.len] = '\0';
    return strbuf_detach(&out, NULL);
}

/* Of the primary, as it is written. */
static char *last_gtid(struct replication_rig *rig, bool mysql)
{
    return ask(
        rig, 0, mysql ? "SELECT CONCAT(@@server_uuid, ':1-2')" : "SELECT SUBSTRING_INDEX(@@gtid_binlog_pos, ',', 1)");
}

/* MariaDB: its number is below the primary's; its server is one that never wrote. */
static char *foreign_gtid(struct replication_rig *rig, bool mysql)
{
    return ask(rig, 0, mysql ? "SELECT CONCAT(UUID(), ':1')" : "SELECT '0-4711-1'");
}

static void form(struct replication_rig *rig)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "running");
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
    assert_true(member_sql(rig, 0, "INSERT INTO t.w VALUES (1); INSERT INTO t.w VALUES (2)", NULL));
}

static void false_alarm(struct replication_rig *rig, unsigned member, bool mysql)
{
    _cleanup_(freep) char *gtid = last_gtid(rig, mysql);

    put_set(rig, member, FOLDER, gtid);
    member_give(rig, member, member == 0 ? replication_rig_primary(rig, "") : replication_rig_replica(rig, 0));
    member_await(rig, member, has_no_entry, "an entry that is taken back");
    assert_true(agent_rig_has(rig->members[member].rig, FOLDER "/transactions.txt"));
    assert_true(agent_rig_has(rig->members[member].rig, FOLDER "/taken-back.txt"));
}

static void real_one(struct replication_rig *rig, unsigned member, bool mysql)
{
    _cleanup_(freep) char *gtid = foreign_gtid(rig, mysql);

    put_set(rig, member, LATER_FOLDER, gtid);
    member_give(rig, member, replication_rig_replica(rig, 0));
    member_await(rig, member, member_ready, "ready");
    replication_rig_run(rig, 3000);
    assert_true(strstr(rig->members[member].status.set_aside.sets[0], gtid) != NULL);
    assert_false(agent_rig_has(rig->members[member].rig, LATER_FOLDER "/taken-back.txt"));
}

static bool has_one_entry(const struct member *member)
{
    return !str_empty(member->status.set_aside.sets[0]) && str_empty(member->status.set_aside.sets[1]);
}

static bool has_two_entries(const struct member *member)
{
    return !str_empty(member->status.set_aside.sets[1]);
}

/* The newest one is real, and stays. */
static void older_false_alarm(struct replication_rig *rig, unsigned member, bool mysql)
{
    _cleanup_(freep) char *gtid = last_gtid(rig, mysql);
    _cleanup_(freep) char *real = foreign_gtid(rig, mysql);

    put_set(rig, member, OLDER_FOLDER, gtid);
    member_await(rig, member, has_two_entries, "both entries");
    assert_true(strstr(rig->members[member].status.set_aside.sets[1], gtid) != NULL);
    member_give(rig, member, replication_rig_replica(rig, 0));
    member_await(rig, member, has_one_entry, "the older entry taken back");
    assert_true(mysql || strstr(rig->members[member].status.set_aside.sets[0], real) != NULL);
    assert_true(agent_rig_has(rig->members[member].rig, OLDER_FOLDER "/taken-back.txt"));
}

static void run_all(struct replication_rig *rig, bool mysql)
{
    form(rig);
    false_alarm(rig, 1, mysql);
    real_one(rig, 1, mysql);
    older_false_alarm(rig, 1, mysql);
    false_alarm(rig, 0, mysql); /* which is the primary itself */
}

static void test_judged_by_the_primary_mariadb(void **state)
{
    run_all(*state, false);
}

static void test_judged_by_the_primary_mysql(void **state)
{
    run_all(*state, true);
}

int judge_stories_run(bool mysql)
{
    const struct CMUnitTest of_mariadb[] = {cmocka_unit_test(test_judged_by_the_primary_mariadb)};
    const struct CMUnitTest of_mysql[] = {cmocka_unit_test(test_judged_by_the_primary_mysql)};

    return mysql ? cmocka_run_group_tests(of_mysql, replication_rig_setup_mysql, replication_rig_teardown)
                 : cmocka_run_group_tests(of_mariadb, replication_rig_setup_mariadb, replication_rig_teardown);
}
