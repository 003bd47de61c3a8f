/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/close_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "agent/tests/replication_writer.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/gtid.h"

#define LONG_MS 60000
#define STORMS 5
#define STORMS_LONG 15 /* with LONG=1 */
#define WRITERS 8
#define SOFT_KILLS 5
#define HANGS 4
#define IDLE 2 /* with WRITERS the least max_connections that MariaDB takes */
/* IDLE, and a heartbeat whose commit waits: that outlives its agent. */
#define THOSE_THAT_STAY \
    "(SELECT 2 + COUNT(*) FROM information_schema.processlist WHERE user IN ('storm', 'replication') OR info LIKE 'REPLACE%')"
#define GIVEN_UP_MS 3000
#define GOES_ON_AFTER 20 /* of 50 ms: the hook has tried to close it, and waits for its end */
#define KILLED (128 + SIGKILL)
#define HANG_MS 3500 /* longer than a second session is tried for at once */

static bool is_closed(const struct member *member)
{
    return !member->status.writable && member_runs(member);
}

static bool is_fenced(const struct member *member)
{
    return member_done(member) && is_closed(member);
}

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "up");
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0, "CREATE DATABASE t", NULL));
    assert_true(member_owner_sql(
        rig, 0, "CREATE USER storm@'%' IDENTIFIED BY 'pw-storm'; GRANT SELECT, INSERT ON t.* TO storm@'%'", NULL));
}

static int await_end(struct replication_rig *rig, struct agent_process *process)
{
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;
    int code = -1;

    while (!agent_rig_ended(process, &code) && clock_monotonic_ms() < end_ms)
        replication_rig_run(rig, 20);
    return code;
}

static bool receives_nothing(const struct member *member)
{
    return member->status.replication.receiver == AGENT_THREAD_OFF;
}

/* The pod that comes after it drops its relay logs. */
static void test_the_replica_that_is_stopped_applies_what_it_has_received(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_rig *pod = rig->members[1].rig;
    int code = -1;

    assert_true(member_sql(rig, 0, "CREATE TABLE t.r (id BIGINT PRIMARY KEY)", NULL));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.r", "0"));
    pid_t lock = member_hold_lock(rig, 1, "LOCK TABLES t.r READ", 30);
    replication_rig_run(rig, 500);
    assert_true(member_sql(rig, 0, "INSERT INTO t.r VALUES (1)", NULL));
    replication_rig_run(rig, 500); /* received */
    agent_rig_put_instance(pod, 3);
    struct agent_process hook = agent_rig_start(pod, "pre-stop");
    member_await(rig, 1, receives_nothing, "no longer receiving");
    replication_rig_run(rig, 1000);
    assert_false(agent_rig_ended(&hook, &code));
    assert_true(member_sql(rig, 0, "INSERT INTO t.r VALUES (2)", NULL)); /* acknowledged by another one */
    member_release_lock(lock);
    assert_int_equal(await_end(rig, &hook), 0);
    assert_true(member_says(rig, 1, "SELECT MAX(id) FROM t.r", "1"));
    assert_int_equal(kill(pod->server.inner, SIGTERM), 0);
    assert_int_equal(await_end(rig, &pod->server), 0);
    replication_rig_start(rig, 1, "server");
    assert_true(member_says(rig, 1, "SELECT MAX(id) FROM t.r", "2"));
    member_await(rig, 1, member_ready, "ready again");
}

static int storms(void)
{
    return getenv("LONG") ? STORMS_LONG : STORMS;
}

static void end_writers(struct writer **writers)
{
    for (unsigned i = 0; i < WRITERS; i++) {
        writer_stop(writers[i]);
        writer_free(writers[i]);
    }
}

static void start_writers_of(struct replication_rig *rig, struct writer **writers, bool administrators)
{
    for (unsigned i = 0; i < WRITERS; i++) {
        bool root = administrators && i % 2 == 0;
        _cleanup_(freep) char *table = xasprintf("t.storm%u", i);
        _cleanup_(freep) char *sql =
            xasprintf("DROP TABLE IF EXISTS %s; CREATE TABLE %s (id BIGINT PRIMARY KEY)", table, table);
        assert_true(member_sql(rig, 0, sql, NULL));
        writers[i] = writer_start_at(rig, 0, root ? "root" : "storm", root ? "pw-root'\\\\" : "pw-storm", table);
    }
}

static void start_writers(struct replication_rig *rig, struct writer **writers)
{
    start_writers_of(rig, writers, true);
}

static void tell_to_hold(struct replication_rig *rig)
{
    rig->epoch++;
    for (unsigned i = 1; i < MEMBERS; i++) {
        struct agent_order order = {
            .epoch = rig->epoch, .role = AGENT_ROLE_REPLICA, .max_lag_seconds = 5, .semi_sync = true};
        member_give(rig, i, order);
    }
}

static void hold_replicas(struct replication_rig *rig)
{
    tell_to_hold(rig);
    for (unsigned i = 1; i < MEMBERS; i++)
        member_await(rig, i, member_is_held, "held");
}

static void await_waiting_commits(struct replication_rig *rig)
{
    static const char sql[] =
        "SELECT COUNT(*) > 0 FROM information_schema.processlist WHERE state LIKE 'Waiting for semi%'";

    assert_true(member_says(rig, 0, sql, "1"));
    replication_rig_run(rig, 200);
}

static void let_commits_wait(struct replication_rig *rig)
{
    hold_replicas(rig);
    await_waiting_commits(rig);
}

static unsigned received_most(const struct replication_rig *rig)
{
    enum gtid_flavour flavour = agent_gtid_flavour(rig->members[1].status.flavour);
    _cleanup_(gtid_set_freep) struct gtid_set *one = gtid_set_parse(flavour, rig->members[1].status.gtid_received, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *two = gtid_set_parse(flavour, rig->members[2].status.gtid_received, NULL);

    assert_non_null(one);
    assert_non_null(two);
    return gtid_set_compare(one, two) == GTID_SUPERSET ? 1 : 2;
}

static bool has_applied(const struct member *member)
{
    enum gtid_flavour flavour = agent_gtid_flavour(member->status.flavour);
    _cleanup_(gtid_set_freep) struct gtid_set *executed = gtid_set_parse(flavour, member->status.gtid_executed, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *received = gtid_set_parse(flavour, member->status.gtid_received, NULL);

    if (!executed || !received)
        return false;
    enum gtid_relation relation = gtid_set_compare(executed, received);
    return relation == GTID_EQUAL || relation == GTID_SUPERSET;
}

static int64_t closed_us; /* when the close began */

static void print_missing(struct replication_rig *rig, const struct writer *writer, unsigned number)
{
    _cleanup_(freep) char *table = xasprintf("t.storm%u", number);
    _cleanup_(freep) char *sql = xasprintf("SELECT id FROM %s WHERE id >= 0", table);
    _cleanup_(strbuf_release) struct strbuf ids;

    strbuf_init(&ids, 64 * KM_MIB);
    if (member_sql(rig, received_most(rig), sql, &ids))
        writer_print_missing(writer, table, ids.buf, closed_us);
    else
        printf("%s: which rows are there is not known: %s\n", table, ids.buf);
}

/* Whoever was told that a row is written finds it on a replica. Returns how many rows that are. */
static uint64_t expect_told_is_held(struct replication_rig *rig, struct writer *const *writers)
{
    _cleanup_(strbuf_release) struct strbuf sql;
    uint64_t sum = 0;

    member_await(rig, received_most(rig), has_applied, "has applied what it has received");
    strbuf_init(&sql, 64 * KM_MIB);
    strbuf_adds(&sql, "SELECT 0");
    for (unsigned i = 0; i < WRITERS; i++) {
        _cleanup_(freep) char *table = xasprintf("t.storm%u", i);
        strbuf_adds(&sql, " + (");
        writer_check_sql(writers[i], table, &sql);
        strbuf_adds(&sql, ")");
        sum += writer_acknowledged(writers[i]);
    }
    _cleanup_(freep) char *count = xasprintf("%llu", (unsigned long long)sum);
    bool held = member_says(rig, received_most(rig), sql.buf, count);
    for (unsigned i = 1; i < MEMBERS && !held; i++)
        printf("member %u has received %s\n", i, rig->members[i].status.gtid_received);
    for (unsigned i = 0; i < WRITERS && !held; i++)
        print_missing(rig, writers[i], i);
    assert_true(held);
    return sum;
}

static void open_again(struct replication_rig *rig)
{
    rig->epoch++;
    member_give(rig, 0, replication_rig_primary(rig, ""));
    member_await(rig, 0, member_done, "open");
    for (unsigned i = 1; i < MEMBERS; i++)
        member_give(rig, i, replication_rig_replica(rig, 0));
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_ready, "ready");
    replication_rig_run(rig, 300);
}

/* Acknowledgements end while the server is being closed: who leads a group is killed before it begins to wait. */
static void close_while_being_held(struct replication_rig *rig)
{
    tell_to_hold(rig);
    closed_us = clock_monotonic_us();
    member_give(rig, 0, replication_rig_fence(rig));
    for (unsigned i = 1; i < MEMBERS; i++)
        member_await(rig, i, member_is_held, "held");
    member_await(rig, 0, is_fenced, "fenced");
    replication_rig_run(rig, 200);
}

static uint64_t acknowledged(struct writer *const *writers)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < WRITERS; i++)
        sum += writer_acknowledged(writers[i]);
    return sum;
}

/* A busy machine takes its time. */
static void await_acknowledged(struct replication_rig *rig, struct writer *const *writers, uint64_t before)
{
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;

    while (acknowledged(writers) <= before && clock_monotonic_ms() < end_ms)
        replication_rig_run(rig, 50);
    assert_true(acknowledged(writers) > before);
}

static int64_t close_in_storm(struct replication_rig *rig)
{
    closed_us = clock_monotonic_us();
    member_give(rig, 0, replication_rig_fence(rig));
    member_await(rig, 0, is_fenced, "fenced");
    int64_t took_ms = (rig->members[0].told_us - closed_us) / 1000;
    replication_rig_run(rig, 200); /* who was let go is told now */
    return took_ms;
}

/* I3: clients wait for acknowledgements that do not come, those that are refused come back at once. */
static void test_closed_under_a_storm_of_writers(void **state)
{
    struct replication_rig *rig = *state;
    struct writer *writers[WRITERS];
    int64_t longest_ms = 0;
    uint64_t before = 0;

    start_writers(rig, writers);
    for (int storm = 0; storm < storms(); storm++) {
        open_again(rig);
        await_acknowledged(rig, writers, before);
        let_commits_wait(rig);
        int64_t took_ms = close_in_storm(rig);
        uint64_t told = expect_told_is_held(rig, writers);
        printf("storm %d: closed and told so after %lld ms, %llu rows acknowledged\n", storm, (long long)took_ms,
            (unsigned long long)told);
        before = told;
        longest_ms = MAX_OF(longest_ms, took_ms);
    }
    printf("%d storms: closed after %lld ms at the longest\n", storms(), (long long)longest_ms);
    end_writers(writers);
}

static void test_closed_as_acknowledgements_end(void **state)
{
    struct replication_rig *rig = *state;
    struct writer *writers[WRITERS];
    uint64_t before = 0;

    open_again(rig);
    start_writers(rig, writers);
    for (int storm = 0; storm < storms(); storm++) {
        open_again(rig);
        await_acknowledged(rig, writers, before);
        close_while_being_held(rig);
        before = expect_told_is_held(rig, writers);
    }
    end_writers(writers);
}

static void write_until_commits_wait(
    struct replication_rig *rig, struct writer **writers, void (*trouble)(struct replication_rig *rig))
{
    open_again(rig);
    start_writers(rig, writers);
    await_acknowledged(rig, writers, 0);
    let_commits_wait(rig);
    closed_us = clock_monotonic_us();
    if (trouble)
        trouble(rig);
}

/* A server that hangs goes on once the hook has given up closing it. */
static void run_hook(struct replication_rig *rig)
{
    struct agent_rig *pod = rig->members[0].rig;
    int64_t end_ms = clock_monotonic_ms() + 2 * (int64_t)LONG_MS;
    int code = -1, hopeless = 0;

    /* Without others the hook has nothing to do. */
    agent_rig_put_instance(pod, 3);
    agent_rig_put(pod, "pre-stop.log", NULL);
    struct agent_process hook = agent_rig_start(pod, "pre-stop");
    while (!agent_rig_ended(&hook, &code) && clock_monotonic_ms() < end_ms) {
        replication_rig_run(rig, 50);
        hopeless += agent_rig_file_says(pod, "pre-stop.log", "the server is killed");
        if (hopeless == GOES_ON_AFTER)
            kill(pod->server.inner, SIGCONT);
    }
    assert_true(code == 0 || (hopeless && code == KILLED)); /* one that kills the server may end with its container */
}

/* Runs the hook, and ends the server as kubelet does then. Each commit that was answered with OK is on a replica. Only
 * a server that could not be closed is killed: one that ends in order tells some of those who wait that their commits
 * are done, but not each time. */
static void stop_by_hook(struct replication_rig *rig, struct writer **writers, bool is_killed)
{
    struct agent_rig *pod = rig->members[0].rig;
    int code = -1;

    run_hook(rig);
    kill(pod->server.inner, SIGTERM);
    for (int i = 0; i < 1200 && !agent_rig_ended(&pod->server, &code); i++)
        replication_rig_run(rig, 50);
    assert_int_equal(code, is_killed ? KILLED : 0);
    replication_rig_run(rig, 500); /* who was let go is told now */
    expect_told_is_held(rig, writers);
    end_writers(writers);
    replication_rig_start(rig, 0, "server");
}

/* The hook closes the server itself: MySQL would tell those who wait that their commits are done when it ends. */
static void stop_while_its_agent_is_dead(
    struct replication_rig *rig, void (*trouble)(struct replication_rig *rig), bool is_killed)
{
    struct writer *writers[WRITERS];

    write_until_commits_wait(rig, writers, trouble);
    agent_rig_kill(&rig->members[0].rig->agent);
    stop_by_hook(rig, writers, is_killed);
    replication_rig_start(rig, 0, "run");
    member_await(rig, 0, member_runs, "up again");
}

/* Its agent runs and has the order to be a replica of nobody, but cannot close the server: that is no replica yet. */
static void stop_while_it_is_told_to_hold(struct replication_rig *rig, void (*trouble)(struct replication_rig *rig))
{
    struct writer *writers[WRITERS];

    write_until_commits_wait(rig, writers, trouble);
    rig->epoch++;
    member_give(rig, 0, (struct agent_order){.epoch = rig->epoch, .role = AGENT_ROLE_REPLICA, .semi_sync = true});
    replication_rig_run(rig, 1000);
    assert_false(rig->members[0].status.order_done);
    stop_by_hook(rig, writers, true);
    member_await(rig, 0, member_runs, "up again");
}

static void test_stopped_while_its_agent_is_dead(void **state)
{
    stop_while_its_agent_is_dead(*state, NULL, false);
}

static pid_t account_maker;

static void make_an_account(struct replication_rig *rig)
{
    account_maker = member_hold_lock(rig, 0, "CREATE USER IF NOT EXISTS replication@'%'", 1);
    replication_rig_run(rig, 1500);
}

/* What a dead agent was about: until the commit is acknowledged mysql.user is locked, and MySQL lets nobody log in. */
static void test_stopped_while_an_account_is_being_made(void **state)
{
    const struct replication_rig *rig = *state;

    stop_while_its_agent_is_dead(*state, make_an_account, rig->members[0].rig->mysql);
    member_release_lock(account_maker);
}

static void freeze_server(struct replication_rig *rig)
{
    kill(rig->members[0].rig->server.inner, SIGSTOP);
}

static void test_stopped_while_it_hangs(void **state)
{
    stop_while_its_agent_is_dead(*state, freeze_server, true);
}

/* MySQL alone: a MariaDB server lets its agent in, and is closed. */
static void test_stopped_while_an_account_is_being_made_and_told_to_hold(void **state)
{
    stop_while_it_is_told_to_hold(*state, make_an_account);
    member_release_lock(account_maker);
}

static void test_stopped_while_it_hangs_and_is_told_to_hold(void **state)
{
    stop_while_it_is_told_to_hold(*state, freeze_server);
}

/* What a close of MariaDB rests upon; with KILL in place of KILL SOFT rows are acknowledged that no replica has. */
static void test_who_is_killed_softly_lets_nobody_go(void **state)
{
    static const char choice[] =
        "SELECT GROUP_CONCAT('KILL SOFT ', id, '; ' SEPARATOR '') FROM "
        "information_schema.processlist WHERE user = 'storm' OR state LIKE 'Waiting for semi%'";
    _cleanup_(strbuf_release) struct strbuf kills;
    struct replication_rig *rig = *state;
    struct writer *writers[WRITERS];

    strbuf_init(&kills, 65536);
    open_again(rig);
    start_writers(rig, writers);
    for (int i = 0; i < SOFT_KILLS; i++) {
        open_again(rig);
        let_commits_wait(rig);
        assert_true(member_owner_sql(rig, 0, choice, &kills));
        _cleanup_(freep) char *sql =
            xasprintf("DELIMITER //\nBEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR 1094 BEGIN END; "
                      "%s END //\n",
                kills.buf);
        assert_true(member_owner_sql(rig, 0, sql, NULL));
        replication_rig_run(rig, 200);
        expect_told_is_held(rig, writers);
        close_in_storm(rig);
        expect_told_is_held(rig, writers);
    }
    end_writers(writers);
}

/* A server that hangs has the first statement in its socket and lets nobody in: clients come back with it. What is in
 * the way goes then, and not only when the server has given the statement up (CLEARING_S in role_close.c). */
static void test_closed_when_it_goes_on(void **state)
{
    struct replication_rig *rig = *state;
    struct writer *writers[WRITERS];
    int64_t shortest_ms = LONG_MS;

    open_again(rig);
    start_writers(rig, writers);
    for (int hang = 0; hang < HANGS; hang++) {
        open_again(rig);
        let_commits_wait(rig);
        assert_int_equal(kill(rig->members[0].rig->server.inner, SIGSTOP), 0);
        closed_us = clock_monotonic_us();
        member_give(rig, 0, replication_rig_fence(rig));
        replication_rig_run(rig, HANG_MS);
        assert_int_equal(kill(rig->members[0].rig->server.inner, SIGCONT), 0);
        int64_t goes_on_us = clock_monotonic_us();
        member_await(rig, 0, is_fenced, "fenced");
        int64_t took_ms = (rig->members[0].told_us - goes_on_us) / 1000;
        printf("hang %d: closed %lld ms after it went on\n", hang, (long long)took_ms);
        shortest_ms = MIN_OF(shortest_ms, took_ms);
        replication_rig_run(rig, 200);
        expect_told_is_held(rig, writers);
    }
    assert_true(shortest_ms < GIVEN_UP_MS);
    end_writers(writers);
}

/* Who comes back for more may be quicker, also by the connection that is kept for administrators. */
static void allow_connections(struct replication_rig *rig, const char *count)
{
    _cleanup_(freep) char *sql = xasprintf("SET @count = %s; SET GLOBAL max_connections = @count", count);
    int64_t end_ms = clock_monotonic_ms() + LONG_MS;
    bool done = false;

    while (!(done = member_owner_sql(rig, 0, sql, NULL)) && clock_monotonic_ms() < end_ms)
        replication_rig_run(rig, 20);
    assert_true(done);
}

/* Commits that wait keep their connections, and clients come back for more: nobody else gets in, not even by the one
 * that is kept for administrators. */
static void test_closed_without_a_connection_left(void **state)
{
    struct replication_rig *rig = *state;
    struct writer *writers[WRITERS];

    open_again(rig);
    start_writers(rig, writers);
    for (int hang = 0; hang < HANGS; hang++) {
        open_again(rig);
        let_commits_wait(rig);
        allow_connections(rig, "10");
        printf("storm %d: closed after %lld ms\n", hang, (long long)close_in_storm(rig));
        expect_told_is_held(rig, writers);
        assert_true(member_says(rig, 0, "SELECT @@global.max_connections", "10"));
        allow_connections(rig, "151");
    }
    end_writers(writers);
}

static bool has_no_order(const struct member *member)
{
    return member_runs(member) && member->status.role == AGENT_ROLE_NONE;
}

static void restart_agent(struct replication_rig *rig)
{
    agent_rig_kill(&rig->members[0].rig->agent);
    replication_rig_run(rig, 300);
    replication_rig_start(rig, 0, "run");
    member_await(rig, 0, has_no_order, "seen by the next agent");
}

/* An agent that begins has the one connection for administrators and needs more; then the one it has makes room. */
static void test_closed_by_the_next_agent_without_a_connection_left(void **state)
{
    struct replication_rig *rig = *state;
    struct writer *writers[WRITERS];
    pid_t idle[IDLE];

    open_again(rig);
    start_writers_of(rig, writers, false);
    open_again(rig);
    for (unsigned i = 0; i < IDLE; i++)
        idle[i] = member_hold_lock(rig, 0, "SELECT 1", 120);
    let_commits_wait(rig);
    allow_connections(rig, THOSE_THAT_STAY);
    restart_agent(rig);
    printf("closed by the next agent after %lld ms\n", (long long)close_in_storm(rig));
    expect_told_is_held(rig, writers);
    allow_connections(rig, "151");
    for (unsigned i = 0; i < IDLE; i++)
        member_release_lock(idle[i]);
    end_writers(writers);
}

/* As the preStop hook leaves it, and then SIGTERM: nobody could move the primary. */
static void test_stopped_while_commits_wait(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_process *server = &rig->members[0].rig->server;
    struct writer *writers[WRITERS];

    open_again(rig);
    start_writers(rig, writers);
    await_acknowledged(rig, writers, 0);
    let_commits_wait(rig);
    closed_us = clock_monotonic_us();
    agent_rig_put(rig->members[0].rig, "run/stopping", "");
    member_await(rig, 0, is_closed, "closed");
    assert_int_equal(kill(server->inner, SIGTERM), 0);
    assert_int_equal(await_end(rig, server), 0);
    replication_rig_run(rig, 200);
    expect_told_is_held(rig, writers);
    end_writers(writers);
    replication_rig_start(rig, 0, "server");
    member_await(rig, 0, member_runs, "up again");
}

int close_stories_run(bool mysql)
{
    const struct CMUnitTest mysql_tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_the_replica_that_is_stopped_applies_what_it_has_received),
        cmocka_unit_test(test_closed_under_a_storm_of_writers),
        cmocka_unit_test(test_closed_as_acknowledgements_end),
        cmocka_unit_test(test_closed_when_it_goes_on),
        cmocka_unit_test(test_closed_without_a_connection_left),
        cmocka_unit_test(test_closed_by_the_next_agent_without_a_connection_left),
        cmocka_unit_test(test_stopped_while_commits_wait),
        cmocka_unit_test(test_stopped_while_its_agent_is_dead),
        cmocka_unit_test(test_stopped_while_an_account_is_being_made),
        cmocka_unit_test(test_stopped_while_it_hangs),
        cmocka_unit_test(test_stopped_while_an_account_is_being_made_and_told_to_hold),
        cmocka_unit_test(test_stopped_while_it_hangs_and_is_told_to_hold),
    };
    const struct CMUnitTest mariadb_tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_the_replica_that_is_stopped_applies_what_it_has_received),
        cmocka_unit_test(test_closed_under_a_storm_of_writers),
        cmocka_unit_test(test_closed_as_acknowledgements_end),
        cmocka_unit_test(test_closed_when_it_goes_on),
        cmocka_unit_test(test_closed_without_a_connection_left),
        cmocka_unit_test(test_closed_by_the_next_agent_without_a_connection_left),
        cmocka_unit_test(test_stopped_while_commits_wait),
        cmocka_unit_test(test_who_is_killed_softly_lets_nobody_go),
        cmocka_unit_test(test_stopped_while_its_agent_is_dead),
        cmocka_unit_test(test_stopped_while_an_account_is_being_made),
        cmocka_unit_test(test_stopped_while_it_hangs),
        cmocka_unit_test(test_stopped_while_it_hangs_and_is_told_to_hold),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return mysql ? cmocka_run_group_tests_name(
                       "close MySQL", mysql_tests, replication_rig_setup_semi_mysql, replication_rig_teardown)
                 : cmocka_run_group_tests_name(
                       "close MariaDB", mariadb_tests, replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
