/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/room_stories.h"

#include <setjmp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/bootstrap/volume_reserve.h"
#include "agent/tests/replication_rig.h"
#include "agent/tests/replication_writer.h"
#include "agent/volume_room.h"
#include "common/alloc.h"
#include "common/clock.h"

#define LONG_MS 60000
#define SMALL_MIB 420
#define LARGE_MIB 4000
#define GROWN_WITHIN_MS 10000
#define STORM "storm"
#define STORM_PASSWORD "pw-storm"

static bool is_closed_for_room(const struct member *member)
{
    return member->status.closed_for_room && !member->status.writable && member->status.ready &&
        member_has_problem(member, "VolumeFull");
}

static bool is_open(const struct member *member)
{
    return member_ready(member) && member->status.writable && !member->status.closed_for_room;
}

static uint64_t free_mib(const struct member *member)
{
    return member->status.volume_free_bytes / KM_MIB;
}

/* As somebody who may write, and is no administrator. */
static bool storm_sql(struct replication_rig *rig, const char *sql, struct strbuf *out)
{
    return agent_rig_sql(rig->members[0].rig, STORM, STORM_PASSWORD, sql, out);
}

static void resize(struct replication_rig *rig, unsigned first, unsigned last, unsigned mib)
{
    for (unsigned i = first; i <= last; i++)
        agent_rig_resize_volume(rig->members[i].rig, mib);
}

static void test_the_members(void **state)
{
    struct replication_rig *rig = *state;

    resize(rig, 1, MEMBERS - 1, LARGE_MIB);
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_runs, "up");
    replication_rig_form(rig);
    assert_true(member_sql(rig, 0,
        "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY, filler LONGBLOB DEFAULT (REPEAT('x', 100000)))",
        NULL));
    assert_true(member_owner_sql(
        rig, 0, "CREATE USER storm@'%' IDENTIFIED BY 'pw-storm'; GRANT ALL ON t.* TO storm@'%'", NULL));
}

/* Whoever is connected stays, reads go on, replicas stay ready though no heartbeat comes; the server is not ended. */
static void test_writes_fill_the_volume(void **state)
{
    struct replication_rig *rig = *state;
    _cleanup_(strbuf_release) struct strbuf sql, out;
    struct agent_process server = rig->members[0].rig->server;

    strbuf_init(&sql, 16 * KM_MIB);
    strbuf_init(&out, KM_MIB);
    pid_t reader = member_hold_lock(rig, 0, "SELECT 1", 600);
    struct writer *writer = writer_start_at(rig, 0, STORM, STORM_PASSWORD, "t.w (id)");
    assert_true(replication_rig_await(rig, 0, is_closed_for_room, "closed for want of room", LONG_MS));
    printf("closed with %llu of %d MiB free after %llu rows\n", (unsigned long long)free_mib(&rig->members[0]),
        SMALL_MIB, (unsigned long long)writer_acknowledged(writer));
    replication_rig_run(rig, 8000);
    writer_stop(writer);
    assert_true(is_closed_for_room(&rig->members[0]));
    assert_true(free_mib(&rig->members[0]) > 20);
    assert_int_equal(rig->members[0].rig->server.inner, server.inner);
    assert_int_equal(waitpid(reader, NULL, WNOHANG), 0);
    member_release_lock(reader);
    for (unsigned i = 1; i < MEMBERS; i++)
        assert_true(member_ready(&rig->members[i]));
    assert_true(member_says(rig, 0, "SELECT @@event_scheduler", "OFF"));
    assert_false(storm_sql(rig, "INSERT INTO t.w (id) VALUES (-1)", NULL));
    assert_true(storm_sql(rig, "SELECT COUNT(*) FROM t.w", &out));
    _cleanup_(freep) char *all = xasprintf("%llu", (unsigned long long)writer_acknowledged(writer));
    writer_check_sql(writer, "t.w", &sql);
    assert_true(member_says(rig, 0, sql.buf, all));
    assert_true(member_says(rig, 1, sql.buf, all));
    writer_free(writer);
}

/* I6: under the order that is in force then. */
static void test_it_opens_with_room(void **state)
{
    struct replication_rig *rig = *state;
    int64_t began_ms = clock_monotonic_ms();

    resize(rig, 0, 0, SMALL_MIB + 8); /* not enough */
    replication_rig_run(rig, 2000);
    assert_true(is_closed_for_room(&rig->members[0]));
    began_ms = clock_monotonic_ms();
    resize(rig, 0, 0, 2 * SMALL_MIB);
    assert_true(replication_rig_await(rig, 0, is_open, "open again", GROWN_WITHIN_MS));
    printf("open again %lld ms after there was room\n", (long long)(clock_monotonic_ms() - began_ms));
    assert_true(storm_sql(rig, "INSERT INTO t.w (id) VALUES (-1)", NULL));
    assert_true(member_says(rig, 0, "SELECT @@event_scheduler", "ON"));
    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(rig, i, member_ready, "ready");
}

static unsigned used_mib(const struct member *member)
{
    return (unsigned)((member->status.volume_bytes - member->status.volume_free_bytes) / KM_MIB);
}

static void leave_free(struct replication_rig *rig, unsigned member, unsigned mib)
{
    agent_rig_resize_volume(rig->members[member].rig, used_mib(&rig->members[member]) + mib);
}

/* ---- root makes room ---- */

static bool is_open_for_root(const struct member *member)
{
    return is_closed_for_room(member) && member->status.open_for_root;
}

static bool is_closed_for_root(const struct member *member)
{
    return is_closed_for_room(member) && !member->status.open_for_root;
}

/* The order in force is said again, with a wish; its identity is what the hash leaves out. */
static void wish_root(struct replication_rig *rig, uint32_t left_ms)
{
    struct agent_order order = rig->members[0].order;

    order.root_until_ms = left_ms > 0 ? (uint64_t)clock_realtime_us() / 1000 + left_ms : 0;
    order.root_ms = left_ms;
    member_give(rig, 0, order);
}

/* MariaDB's can always: nothing keeps out who may write in spite of read_only. */
static void expect_root_may_not_write(struct replication_rig *rig)
{
    if (rig->members[0].rig->mysql)
        assert_false(member_root_sql(rig, 0, "INSERT INTO t.old (id) VALUES (-1)", NULL));
}

static void expect_applications_may_not(struct replication_rig *rig)
{
    assert_false(storm_sql(rig, "INSERT INTO t.w (id) VALUES (-20)", NULL));
    assert_false(storm_sql(rig, "TRUNCATE TABLE t.old", NULL));
}

/* Its transaction stays open. Where nobody may write any more it fails at its COMMIT, elsewhere it is ended before. */
static pid_t root_writes_on(struct replication_rig *rig, bool as_owner)
{
    static const char sql[] = "BEGIN; INSERT INTO t.old (id) VALUES (-2); SELECT SLEEP(20); COMMIT";

    fflush(NULL);
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    bool done = as_owner ? member_owner_sql(rig, 0, sql, NULL) : member_root_sql(rig, 0, sql, NULL);
    _exit(done ? 0 : 1);
}

static void expect_ended(pid_t pid)
{
    int status = 0;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_not_equal(status, 0);
}

/* What root does is replicated and acknowledged as ever, and nobody takes it for errant. */
static void root_drops_a_table(struct replication_rig *rig)
{
    uint64_t lapses = rig->members[0].status.semi_sync_lapses;

    assert_true(member_root_sql(rig, 0, "TRUNCATE TABLE t.old; DROP TABLE t.older", NULL));
    assert_true(member_root_sql(rig, 0, "INSERT INTO t.old (id) VALUES (-3)", NULL));
    for (unsigned i = 1; i < MEMBERS; i++) {
        assert_true(member_says(rig, i, "SELECT COUNT(*), MIN(id) FROM t.old", "1\t-3"));
        assert_true(
            member_says(rig, i, "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'older'", "0"));
    }
    replication_rig_run(rig, 1000);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_string_equal(rig->members[i].status.errant, "");
    assert_int_equal(rig->members[0].status.semi_sync_lapses, lapses);
}

static void test_root_makes_room(void **state)
{
    struct replication_rig *rig = *state;

    resize(rig, 0, MEMBERS - 1, LARGE_MIB);
    member_await(rig, 0, is_open, "open");
    assert_true(storm_sql(rig,
        "CREATE TABLE t.old LIKE t.w; INSERT INTO t.old (id) VALUES (1), (2); CREATE TABLE t.older LIKE t.w", NULL));
    replication_rig_run(rig, 3000); /* the reserve is made, and what is used is told */
    leave_free(rig, 0, 50);
    member_await(rig, 0, is_closed_for_room, "closed for want of room");
    expect_root_may_not_write(rig);
    expect_applications_may_not(rig);

    wish_root(rig, 60000);
    member_await(rig, 0, is_open_for_root, "open for root");
    expect_applications_may_not(rig);
    root_drops_a_table(rig);
    expect_applications_may_not(rig);
    wish_root(rig, 0);
    member_await(rig, 0, is_closed_for_root, "closed for root, as the wish was taken back");
    expect_root_may_not_write(rig);
}

static void test_root_has_but_its_time(void **state)
{
    struct replication_rig *rig = *state;
    int64_t began_ms = clock_monotonic_ms();

    wish_root(rig, 4000);
    member_await(rig, 0, is_open_for_root, "open for root");
    assert_true(member_root_sql(rig, 0, "INSERT INTO t.old (id) VALUES (-4)", NULL));
    member_await(rig, 0, is_closed_for_root, "closed for root, as its time has passed");
    printf("closed for root after %lld ms of 4000\n", (long long)(clock_monotonic_ms() - began_ms));
    assert_true(clock_monotonic_ms() - began_ms >= 3900);
    expect_root_may_not_write(rig);

    /* A later order ends it, too, unless that wishes it as well. */
    wish_root(rig, 60000);
    member_await(rig, 0, is_open_for_root, "open for root");
    rig->epoch++;
    member_give(rig, 0, replication_rig_primary(rig, ""));
    member_await(rig, 0, is_closed_for_root, "closed for root under the new epoch");
    assert_int_equal(rig->members[0].status.epoch, rig->epoch);
    for (unsigned i = 1; i < MEMBERS; i++) {
        member_give(rig, i, replication_rig_replica(rig, 0));
        member_await(rig, i, member_ready, "ready");
    }
    expect_root_may_not_write(rig);
}

/* Down to 32 MiB; then whoever writes is ended, also where nothing keeps the next one from writing. */
static void test_root_has_a_last_floor(void **state)
{
    struct replication_rig *rig = *state;

    wish_root(rig, 60000);
    member_await(rig, 0, is_open_for_root, "open for root");
    bool as_owner = !rig->members[0].rig->mysql; /* the container's own user, by whom people enter as well */
    pid_t pid = root_writes_on(rig, false);
    replication_rig_run(rig, 2000);
    assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
    pid_t owner = as_owner ? root_writes_on(rig, true) : -1;
    replication_rig_run(rig, 1000);
    int64_t began_ms = clock_monotonic_ms();
    leave_free(rig, 0, 25);
    member_await(rig, 0, is_closed_for_root, "closed for root at the last floor");
    expect_ended(pid);
    if (as_owner)
        expect_ended(owner);
    printf("whoever wrote as root was ended after %lld ms\n", (long long)(clock_monotonic_ms() - began_ms));
    assert_true(rig->members[0].rig->mysql || clock_monotonic_ms() - began_ms < 10000);
    expect_root_may_not_write(rig);
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.old WHERE id = -2", "0"));
    leave_free(rig, 0, 50);
    member_await(rig, 0, is_open_for_root, "open for root again");

    /* With room enough for all. */
    resize(rig, 0, 0, LARGE_MIB);
    assert_true(replication_rig_await(rig, 0, is_open, "open again", GROWN_WITHIN_MS));
    assert_true(storm_sql(rig, "INSERT INTO t.w (id) VALUES (-20)", NULL));
    resize(rig, 0, 0, 2 * SMALL_MIB);
}

static bool is_short(const struct member *member)
{
    return member_has_problem(member, "VolumeFull");
}

static bool is_closed_for_others(const struct member *member)
{
    return member->status.closed_for_room && !member->status.writable && member->status.ready;
}

/* Commits wait for one of the two: with room on one of them writes go on. */
static void test_those_who_acknowledge_need_room(void **state)
{
    struct replication_rig *rig = *state;

    resize(rig, 0, 0, LARGE_MIB);
    member_await(rig, 0, is_open, "open");
    replication_rig_run(rig, 1000);
    leave_free(rig, 1, 40);
    member_await(rig, 1, is_short, "short of room");
    replication_rig_run(rig, 2000);
    assert_true(is_open(&rig->members[0]));
    leave_free(rig, 2, 40);
    assert_true(replication_rig_await(rig, 0, is_closed_for_others, "closed for the others", 5000));
    assert_false(storm_sql(rig, "INSERT INTO t.w (id) VALUES (-5)", NULL));
    for (unsigned i = 1; i < MEMBERS; i++)
        assert_true(member_ready(&rig->members[i]));
    resize(rig, 2, 2, LARGE_MIB);
    assert_true(replication_rig_await(rig, 0, is_open, "open again", GROWN_WITHIN_MS));

    /* With less than half of its floor the other one stops receiving: nobody needs it. */
    leave_free(rig, 1, 20);
    member_await(rig, 1, member_is_held, "held");
    assert_true(storm_sql(rig, "INSERT INTO t.w (id) VALUES (-5)", NULL));
    resize(rig, 1, 1, LARGE_MIB);
    member_await(rig, 1, member_ready, "ready");
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id = -5", "1"));
    resize(rig, 0, 0, 2 * SMALL_MIB);
}

/* ---- binary logs ---- */

static bool wishes_for_room(const struct member *member)
{
    return *member->status.purge_wish && member->status.purge_for_room;
}

static bool wishes_by_size(const struct member *member)
{
    return *member->status.purge_wish && !member->status.purge_for_room;
}

static bool wishes_nothing(const struct member *member)
{
    return !*member->status.purge_wish;
}

static bool is_oldest(struct replication_rig *rig, const char *log)
{
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_MIB);
    assert_true(member_sql(rig, 0, "SHOW BINARY LOGS", &out));
    const char *first = strstr(out.buf, "binlog.");
    return first && str_starts_with(first, log);
}

/* As the operator does, which has found nobody that lacks them. *ret: the log that is the oldest now. */
static void grant_purge(struct replication_rig *rig, char ret[static AGENT_BINLOG_NAME_SIZE])
{
    const struct member *member = &rig->members[0];
    _cleanup_(strbuf_release) struct strbuf said;
    char wish[AGENT_PURGE_ID_SIZE];

    strbuf_init(&said, KM_MIB);
    memcpy(wish, member->status.purge_wish, sizeof(wish));
    memcpy(ret, member->status.purge_until, AGENT_BINLOG_NAME_SIZE);
    assert_false(is_oldest(rig, ret));
    assert_int_equal(agent_rig_purge(member->rig, "tls/tls", wish, &said), 403);
    assert_int_equal(agent_rig_purge(member->rig, "operator", "0123456789abcdef", &said), 409);
    assert_int_equal(agent_rig_purge(member->rig, "operator", wish, &said), 200);
    for (int i = 0; i < 20 && !is_oldest(rig, ret); i++)
        replication_rig_run(rig, 500);
    assert_true(is_oldest(rig, ret));
    replication_rig_run(rig, 1000);
    assert_string_equal(member->status.purge_granted, wish);
}

/* So many rows of 8 MB, in one transaction, and with it in one log. */
static void write_log(struct replication_rig *rig, int id, int rows, bool is_ended)
{
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, KM_MIB);
    for (int i = 0; i < rows; i++)
        strbuf_addf(&sql, "%s(%d, REPEAT('z', 8000000))", i ? ", " : "INSERT INTO t.w VALUES ", id - i);
    assert_true(member_sql(rig, 0, sql.buf, NULL));
    if (is_ended)
        assert_true(member_sql(rig, 0, "FLUSH BINARY LOGS", NULL));
}

static void all_are_well(struct replication_rig *rig)
{
    resize(rig, 0, MEMBERS - 1, LARGE_MIB);
    member_await(rig, 0, is_open, "open");
    for (unsigned i = 1; i < MEMBERS; i++)
        member_await(rig, i, member_ready, "ready");
}

static void set_binlog_max(struct replication_rig *rig, const char *more)
{
    _cleanup_(freep) char *text = xasprintf(
        "{\"namespace\":\"ns\",\"cluster\":\"demo\",\"clusterUID\":\"u-1\",\"serviceDomain\":\"demo-mysql.ns.svc\","
        "\"serverIdBase\":1000,\"replicas\":1,\"database\":\"app_db\",\"username\":\"app\"%s}",
        more);

    agent_rig_put(rig->members[0].rig, "config/instance.json", text);
}

/* With a limit. What nobody has granted stays. */
static void test_binary_logs_go_by_size(void **state)
{
    struct replication_rig *rig = *state;
    char until[AGENT_BINLOG_NAME_SIZE];

    all_are_well(rig);
    for (int i = 0; i < 3; i++)
        write_log(rig, -1000 - i, 1, true);
    replication_rig_run(rig, 6000);
    assert_true(wishes_nothing(&rig->members[0])); /* without a limit, and with room */
    set_binlog_max(rig, ",\"binlogMaxBytes\":16777216");
    member_await(rig, 0, wishes_by_size, "of too many binary logs");
    assert_true(rig->members[0].status.binlog_bytes > 16 * KM_MIB);
    replication_rig_run(rig, 6000);
    assert_false(is_oldest(rig, rig->members[0].status.purge_until));
    grant_purge(rig, until);
    member_await(rig, 0, wishes_nothing, "within the limit");
    printf("by size: %llu MiB are left, from %s on\n",
        (unsigned long long)(rig->members[0].status.binlog_bytes / KM_MIB), until);
    assert_true(rig->members[0].status.binlog_bytes <= 16 * KM_MIB);
    assert_true(rig->members[0].status.binlog_bytes > 8 * KM_MIB);
    set_binlog_max(rig, "");
    all_are_well(rig);
}

/* Without one, below twice the floor; the newest is ended for that. Writes go on. */
static void test_binary_logs_go_for_room(void **state)
{
    struct replication_rig *rig = *state;
    char until[AGENT_BINLOG_NAME_SIZE] = "";
    int grants = 0;

    all_are_well(rig);
    write_log(rig, -2000, 1, true);
    write_log(rig, -2001, 3, false);
    replication_rig_run(rig, 1000);
    /* What a smaller volume takes away looks like a filling, so the floor is a quarter of it: three eighths of what is
     * used, between which and twice of it there is to be room. */
    unsigned room_mib = used_mib(&rig->members[0]) / 2;
    leave_free(rig, 0, room_mib);
    member_await(rig, 0, wishes_for_room, "in want of room");
    for (; wishes_for_room(&rig->members[0]) && grants < 5; grants++) {
        grant_purge(rig, until);
        replication_rig_run(rig, 3000);
    }
    printf("for room: %llu MiB are free, logs from %s on\n", (unsigned long long)free_mib(&rig->members[0]), until);
    assert_true(grants >= 1);
    assert_true(free_mib(&rig->members[0]) >= room_mib + 20); /* the newest, which was ended, among them */
    assert_true(is_open(&rig->members[0]));
    assert_true(storm_sql(rig, "INSERT INTO t.w (id) VALUES (-4000)", NULL));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM t.w WHERE id = -4000", "1"));
    all_are_well(rig);
    resize(rig, 0, 0, 2 * SMALL_MIB);
}

/* ---- a start on a full volume ---- */

static off_t reserve_bytes(const struct replication_rig *rig, unsigned member)
{
    struct stat st;

    return stat(agent_rig_path(rig->members[member].rig, "vol/.kube-mysql/reserve"), &st) < 0 ? -1 : st.st_size;
}

static bool await_reserve(struct replication_rig *rig, unsigned member, off_t bytes)
{
    for (int i = 0; i < 20 && reserve_bytes(rig, member) != bytes; i++)
        replication_rig_run(rig, 500);
    return reserve_bytes(rig, member) == bytes;
}

/* A server makes files at each start: without room for them it ends at once. */
static void test_a_server_starts_on_a_full_volume(void **state)
{
    struct replication_rig *rig = *state;
    struct agent_rig *one = rig->members[1].rig;

    all_are_well(rig);
    assert_true(await_reserve(rig, 1, VOLUME_RESERVE_BYTES));
    agent_rig_kill(&one->server);
    member_await(rig, 1, member_is_down, "down");
    leave_free(rig, 1, 1);
    replication_rig_start(rig, 1, "server");
    member_await(rig, 1, member_runs, "up");
    assert_int_equal(reserve_bytes(rig, 1), 0);
    member_await(rig, 1, is_short, "short of room"); /* what was given up does not count as free */
    printf("up on a full volume, %llu MiB are told as free\n", (unsigned long long)free_mib(&rig->members[1]));
    resize(rig, 1, 1, LARGE_MIB);
    member_await(rig, 1, member_ready, "ready");
    assert_true(await_reserve(rig, 1, VOLUME_RESERVE_BYTES));
    resize(rig, 0, 0, 2 * SMALL_MIB);
}

/* Read-only waits for it; half-way to the end it loses its connection, and is undone, whatever is in its text. */
static void test_one_statement_fills_the_volume(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(member_says(rig, 0, "SELECT COUNT(*) FROM t.w WHERE id = -2", "0"));
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool done = storm_sql(rig, "CREATE TABLE t.big LIKE t.w", NULL);
        for (int i = 0; done && i < 4; i++)
            done = storm_sql(rig,
                "SET NAMES utf8mb4; INSERT INTO t.big SELECT id + 1000000 * (SELECT COUNT(*) FROM t.big), "
                "REPEAT('y', 200000) FROM t.w WHERE id >= 0 AND '\xf0\x9f\x98\x80' <> ''",
                NULL);
        _exit(done ? 0 : 1);
    }
    assert_true(replication_rig_await(rig, 0, is_closed_for_room, "closed for want of room", LONG_MS));
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_not_equal(status, 0);
    replication_rig_run(rig, 1000);
    printf("closed with %llu MiB free\n", (unsigned long long)free_mib(&rig->members[0]));
    assert_true(free_mib(&rig->members[0]) > 20);
    assert_true(member_runs(&rig->members[0]));
}

/* A later epoch finds it closed: it does all else of the order, and no client writes meanwhile. */
static void test_a_later_order_does_not_open_it(void **state)
{
    struct replication_rig *rig = *state;

    assert_true(is_closed_for_room(&rig->members[0]));
    rig->epoch++;
    member_give(rig, 0, replication_rig_primary(rig, ""));
    replication_rig_run(rig, 1000);
    member_await(rig, 0, is_closed_for_room, "closed under the new epoch");
    assert_int_equal(rig->members[0].status.epoch, rig->epoch);
    assert_false(storm_sql(rig, "INSERT INTO t.w (id) VALUES (-3)", NULL));
    for (unsigned i = 1; i < MEMBERS; i++) {
        member_give(rig, i, replication_rig_replica(rig, 0));
        member_await(rig, i, member_ready, "ready");
    }
}

/* The switchover that the operator makes of it: the others know of the new primary, and have told it of their room,
 * before it opens. Whether the old one has room enough to receive depends on how fast its volume was filled. */
static void test_another_takes_over(void **state)
{
    struct replication_rig *rig = *state;

    rig->epoch++;
    member_give(rig, 0, replication_rig_replica(rig, 1));
    member_await(rig, 0, member_done, "closed");
    member_give(rig, 2, replication_rig_replica(rig, 1));
    replication_rig_run(rig, 2000);
    member_give(rig, 1, replication_rig_primary(rig, rig->members[0].status.gtid_executed));
    member_await(rig, 1, is_open, "open");
    for (unsigned i = 1; i < MEMBERS; i++)
        member_await(rig, i, member_ready, "ready");
    assert_false(rig->members[0].status.closed_for_room);
    assert_true(rig->members[1].status.writable);
    assert_true(member_sql(rig, 1, "INSERT INTO t.w (id) VALUES (-4)", NULL));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w WHERE id = -4", "1"));
}

int room_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_writes_fill_the_volume),
        cmocka_unit_test(test_it_opens_with_room),
        cmocka_unit_test(test_root_makes_room),
        cmocka_unit_test(test_root_has_but_its_time),
        cmocka_unit_test(test_root_has_a_last_floor),
        cmocka_unit_test(test_those_who_acknowledge_need_room),
        cmocka_unit_test(test_binary_logs_go_by_size),
        cmocka_unit_test(test_binary_logs_go_for_room),
        cmocka_unit_test(test_a_server_starts_on_a_full_volume),
        cmocka_unit_test(test_one_statement_fills_the_volume),
        cmocka_unit_test(test_a_later_order_does_not_open_it),
        cmocka_unit_test(test_another_takes_over),
    };

    if (!agent_rig_volumes_of(SMALL_MIB))
        return 77;
    return cmocka_run_group_tests_name(mysql ? "room of MySQL" : "room of MariaDB", tests,
        mysql ? replication_rig_setup_semi_mysql : replication_rig_setup_semi_mariadb, replication_rig_teardown);
}
