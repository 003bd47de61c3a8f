/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/failover_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/replication_rig.h"
#include "agent/tests/replication_writer.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/gtid.h"

#define LONG_MS 60000
#define NOBODY MEMBERS
#define SELF_FENCE_MS 3000
#define WAITING 6

/* The members of a group of cases. */
struct stage {
    struct replication_rig *rig;
    unsigned primary;
    bool gone[MEMBERS]; /* its history is another: for good */
};

static int setup(void **state, const char *root)
{
    struct stage *stage = xnew(struct stage);

    stage->rig = replication_rig_new(root);
    stage->rig->semi_sync = true;
    *state = stage;
    return 0;
}

static int setup_mariadb(void **state)
{
    return setup(state, NULL);
}

static int setup_mysql(void **state)
{
    _cleanup_(freep) char *root = agent_rig_mysql_root();

    return root ? setup(state, root) : -1;
}

static int teardown(void **state)
{
    struct stage *stage = *state;

    replication_rig_free(stage->rig);
    free(stage);
    return 0;
}

/* ---- what the operator does ---- */

static struct agent_order hold_order(const struct replication_rig *rig)
{
    struct agent_order order = {.epoch = rig->epoch, .role = AGENT_ROLE_REPLICA, .max_lag_seconds = 5};

    order.semi_sync = rig->semi_sync;
    return order;
}

static bool is_hung(const struct member *member)
{
    return member->status.phase == AGENT_PHASE_HUNG;
}

static bool has_no_order(const struct member *member)
{
    return member_runs(member) && !*member->status.order_hash;
}

static bool is_lost(const struct member *member)
{
    return member->status.replication.source_lost && member->status.replication.source_seen;
}

static bool is_receiving(const struct member *member)
{
    return member_done(member) && member->status.replication.receiver == AGENT_THREAD_RUNNING;
}

/* Kills the primary's server and waits until its agent has said so. */
static void kill_primary(struct stage *stage)
{
    struct member *member = &stage->rig->members[stage->primary];
    int64_t killed_us = clock_monotonic_us();

    kill(member->rig->server.inner, SIGKILL);
    member_await(stage->rig, stage->primary, member_is_down, "down");
    printf("killed, and told as Down after %lld us\n", (long long)(member->told_us - killed_us));
    agent_rig_wait(&member->rig->server);
}

static void hold_others(struct stage *stage)
{
    int64_t started_us = clock_monotonic_us();

    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i != stage->primary && !stage->gone[i])
            member_give(stage->rig, i, hold_order(stage->rig));
    }
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i != stage->primary && !stage->gone[i])
            member_await(stage->rig, i, member_is_held, "held");
    }
    printf("held after %lld us\n", (long long)(clock_monotonic_us() - started_us));
}

static bool has_received_more(const struct replication_rig *rig, unsigned a, unsigned b)
{
    enum gtid_flavour flavour = agent_gtid_flavour(rig->members[a].status.flavour);
    _cleanup_(gtid_set_freep) struct gtid_set *left =
        gtid_set_parse(flavour, rig->members[a].status.gtid_received, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *right =
        gtid_set_parse(flavour, rig->members[b].status.gtid_received, NULL);

    assert_non_null(left);
    assert_non_null(right);
    return gtid_set_compare(left, right) == GTID_SUPERSET;
}

static unsigned candidate(const struct stage *stage)
{
    unsigned best = NOBODY;

    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i == stage->primary || stage->gone[i])
            continue;
        if (best == NOBODY || has_received_more(stage->rig, i, best))
            best = i;
    }
    return best;
}

static void tell_to_open(struct stage *stage, unsigned member)
{
    member_give(
        stage->rig, member, replication_rig_primary(stage->rig, stage->rig->members[member].status.gtid_received));
}

/* The rest follow, but for the one that was the primary. */
static void follow(struct stage *stage, unsigned opened)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i != opened && i != stage->primary && !stage->gone[i])
            member_give(stage->rig, i, replication_rig_replica(stage->rig, opened));
    }
}

static unsigned open_best(struct stage *stage)
{
    int64_t started_us = clock_monotonic_us();
    unsigned best = candidate(stage);

    tell_to_open(stage, best);
    member_await(stage->rig, best, member_done, "open");
    printf("drained and open after %lld us\n", (long long)(clock_monotonic_us() - started_us));
    follow(stage, best);
    return best;
}

static void fence_primary(struct stage *stage)
{
    stage->rig->epoch++;
    member_give(stage->rig, stage->primary, replication_rig_fence(stage->rig));
}

static void fail_over(struct stage *stage)
{
    fence_primary(stage);
    hold_others(stage);
    unsigned lost = stage->primary;
    stage->primary = open_best(stage);
    printf("member %u takes over from member %u\n", stage->primary, lost);
}

static void bring_back(struct stage *stage, unsigned member)
{
    replication_rig_start(stage->rig, member, "server");
    member_await(stage->rig, member, member_runs, "up again");
    member_give(stage->rig, member, replication_rig_replica(stage->rig, stage->primary));
}

static void await_all(struct stage *stage)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (!stage->gone[i])
            member_await(stage->rig, i, member_ready, "ready");
    }
}

static void write_row(struct stage *stage, int id)
{
    _cleanup_(freep) char *sql = xasprintf("INSERT INTO t.w VALUES (%d)", id);

    assert_true(member_sql(stage->rig, stage->primary, sql, NULL));
}

static void expect_row(struct stage *stage, int id)
{
    _cleanup_(freep) char *sql = xasprintf("SELECT COUNT(*) FROM t.w WHERE id = %d", id);

    for (unsigned i = 0; i < MEMBERS; i++) {
        if (!stage->gone[i])
            assert_true(member_says(stage->rig, i, sql, "1"));
    }
}

/* ---- the cases ---- */

static void test_the_members(void **state)
{
    struct stage *stage = *state;

    for (unsigned i = 0; i < MEMBERS; i++)
        member_await(stage->rig, i, has_no_order, "up");
    replication_rig_form(stage->rig);
    assert_true(member_sql(stage->rig, 0, "CREATE DATABASE t; CREATE TABLE t.w (id BIGINT PRIMARY KEY)", NULL));
    write_row(stage, -1);
    expect_row(stage, -1);
    for (unsigned i = 1; i < MEMBERS; i++) {
        assert_true(stage->rig->members[i].status.replication.source_seen);
        assert_false(stage->rig->members[i].status.replication.source_lost);
    }
}

/* Nothing is written but the heartbeat for a while: a source that is quiet is not lost. */
static bool is_ever_lost;

static bool watch_for_loss(const struct member *member)
{
    is_ever_lost = is_ever_lost || member->status.replication.source_lost;
    return is_ever_lost;
}

static void test_a_quiet_source_is_not_lost(void **state)
{
    struct stage *stage = *state;
    struct agent_order order = replication_rig_primary(stage->rig, "");

    order.heartbeat = false;
    member_give(stage->rig, 0, order);
    member_await(stage->rig, 0, member_done, "open");
    int64_t end_ms = clock_monotonic_ms() + 5000;
    while (clock_monotonic_ms() < end_ms) {
        replication_rig_run(stage->rig, 0);
        assert_false(watch_for_loss(&stage->rig->members[1]));
        assert_false(watch_for_loss(&stage->rig->members[2]));
    }
    member_give(stage->rig, 0, replication_rig_primary(stage->rig, ""));
    await_all(stage);
}

/* ---- I6 ---- */

static bool is_isolated(const struct member *member)
{
    return member->status.isolated && member_has_problem(member, "Isolated") && !member->status.writable &&
        !member->status.ready;
}

/* A process that ends with 0 when it is told that its row is written. */
static pid_t commit_aside(struct replication_rig *rig, int id)
{
    _cleanup_(freep) char *sql = xasprintf("INSERT INTO t.w VALUES (%d)", id);

    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(member_sql(rig, 0, sql, NULL) ? 0 : 1);
    return pid;
}

/* I3: of commits that wait together one waits for all; when connections are killed, nobody may be told that his is
 * done. */
static void expect_unacknowledged(const pid_t *pids, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    }
}

static void test_a_primary_that_hears_nobody_closes(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    struct agent_order order = replication_rig_primary(rig, "");
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    order.self_fence_ms = SELF_FENCE_MS;
    member_give(rig, 0, order);
    member_await(rig, 0, member_done, "open");
    replication_rig_run(rig, 2 * SELF_FENCE_MS); /* members ask for it */
    assert_false(rig->members[0].status.isolated);
    for (unsigned i = 1; i < MEMBERS; i++)
        agent_rig_kill(&rig->members[i].rig->server);
    for (unsigned i = 1; i < MEMBERS; i++)
        agent_rig_kill(&rig->members[i].rig->agent);
    int64_t cut_us = clock_monotonic_us();
    pid_t pids[WAITING];
    for (int i = 0; i < WAITING; i++) {
        pids[i] = commit_aside(rig, -100 - i);
        replication_rig_run(rig, 100);
    }
    member_await(rig, 0, is_isolated, "isolated and closed");
    printf("closed %lld ms after the last word, the limit is %d ms\n",
        (long long)((clock_monotonic_us() - cut_us) / 1000), SELF_FENCE_MS);
    expect_unacknowledged(pids, WAITING);
    assert_false(member_sql(rig, 0, "INSERT INTO t.w VALUES (-3)", NULL));
    assert_int_equal(agent_rig_tls(rig->members[0].rig, "tls/tls", "/v1/status", NULL, &body), 200);
    assert_int_equal(agent_rig_tls(rig->members[0].rig, "operator", "/v1/status", NULL, &body), 200);
    replication_rig_run(rig, 1000);
    assert_true(is_isolated(&rig->members[0]));
    member_give(rig, 0, replication_rig_primary(rig, ""));
    replication_rig_run(rig, 1000);
    assert_true(is_isolated(&rig->members[0])); /* of an epoch under which another may be open */
    rig->epoch++;
    member_give(rig, 0, replication_rig_primary(rig, ""));
    member_await(rig, 0, member_done, "open again");
    for (unsigned i = 1; i < MEMBERS; i++) {
        replication_rig_start(rig, i, "server");
        replication_rig_start(rig, i, "run");
        member_await(rig, i, has_no_order, "up again");
        member_give(rig, i, replication_rig_replica(rig, 0));
    }
    await_all(stage);
    expect_row(stage, -100);
}

static bool is_open_without_order(const struct member *member)
{
    return has_no_order(member) && member->status.writable;
}

/* Nor does the promise end with the agent that gave it. */
static void test_a_server_left_open_is_closed_by_the_next_agent(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    struct agent_order order = replication_rig_primary(rig, "");

    order.self_fence_ms = SELF_FENCE_MS;
    member_give(rig, 0, order);
    member_await(rig, 0, member_done, "open");
    for (unsigned i = 0; i < MEMBERS; i++)
        agent_rig_kill(&rig->members[i].rig->agent);
    replication_rig_start(rig, 0, "run");
    member_await(rig, 0, is_open_without_order, "open, and nobody's");
    member_await(rig, 0, is_isolated, "isolated and closed");
    member_give(rig, 0, order);
    replication_rig_run(rig, 1000);
    assert_true(is_isolated(&rig->members[0])); /* another may be open under that epoch */
    rig->epoch++;
    member_give(rig, 0, replication_rig_primary(rig, ""));
    member_await(rig, 0, member_done, "open again");
    for (unsigned i = 1; i < MEMBERS; i++) {
        replication_rig_start(rig, i, "run");
        member_await(rig, i, has_no_order, "up again");
        member_give(rig, i, replication_rig_replica(rig, 0));
    }
    await_all(stage);
    /* It has promised nothing since. */
    agent_rig_kill(&rig->members[0].rig->agent);
    replication_rig_start(rig, 0, "run");
    member_await(rig, 0, is_open_without_order, "open, and nobody's");
    int64_t end_ms = clock_monotonic_ms() + SELF_FENCE_MS + 1000;
    while (clock_monotonic_ms() < end_ms) {
        replication_rig_run(rig, 0);
        assert_false(rig->members[0].status.isolated);
    }
    member_give(rig, 0, replication_rig_primary(rig, ""));
    await_all(stage);
}

/* A replica whose order is older than its source's gives no more acknowledgements: nobody would count them. */
static bool has_stopped_receiving(const struct member *member)
{
    return member_done(member) && member->status.replication.receiver == AGENT_THREAD_OFF;
}

static void test_a_replica_of_an_older_epoch_stops_to_receive(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;

    rig->epoch++;
    member_give(rig, 0, replication_rig_primary(rig, ""));
    member_await(rig, 0, member_done, "open");
    member_give(rig, 1, replication_rig_replica(rig, 0));
    member_await(rig, 2, has_stopped_receiving, "no longer receiving");
    assert_false(rig->members[2].status.replication.source_lost);
    assert_int_equal(rig->members[2].status.replication.applier, AGENT_THREAD_RUNNING);
    member_give(rig, 2, replication_rig_replica(rig, 0));
    await_all(stage);
}

static bool has_no_lock(const struct member *member)
{
    return !member_has_problem(member, "WritesLocked");
}

/* FLUSH TABLES WITH READ LOCK for longer than a failure takes to be declared: only WritesLocked is reported. */
static void test_a_locked_server_is_no_stalled_storage(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    pid_t pid = member_hold_lock(rig, 0, "FLUSH TABLES WITH READ LOCK", 12);
    int64_t end_ms = clock_monotonic_ms() + 9000;
    int64_t worst_ms = 0;
    bool told = false;

    while (clock_monotonic_ms() < end_ms) {
        replication_rig_run(rig, 0);
        told = told || member_has_problem(&rig->members[0], "WritesLocked");
        worst_ms = MAX_OF(worst_ms, rig->members[0].status.stalled_ms);
        worst_ms = MAX_OF(worst_ms, rig->members[0].status.writes_blocked_ms);
    }
    printf("stalled or blocked for %lld ms at most\n", (long long)worst_ms);
    assert_true(worst_ms < 3000);
    assert_true(rig->members[0].status.writable);
    assert_true(told);
    member_release_lock(pid);
    member_await(rig, 0, has_no_lock, "no longer locked");
    await_all(stage);
}

/* ---- I4 ---- */

static void hold_applier(struct replication_rig *rig, unsigned member)
{
    member_hold_lock(rig, member, "LOCK TABLES t.w READ", 60);
    replication_rig_run(rig, 500);
}

static void release_applier(struct replication_rig *rig, unsigned member)
{
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_MIB);
    assert_true(member_owner_sql(rig, member,
        "SELECT CONCAT('KILL ', id) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%'", &out));
    assert_true(out.len > 0);
    assert_true(member_owner_sql(rig, member, out.buf, NULL));
}

static void test_the_one_that_received_more_wins(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;

    hold_applier(rig, 2);
    write_row(stage, -10);
    member_give(rig, 1, hold_order(rig));
    member_await(rig, 1, member_is_held, "held");
    write_row(stage, -11); /* acknowledged by member 2, which cannot apply it */
    kill_primary(stage);
    fence_primary(stage);
    hold_others(stage);
    assert_true(has_received_more(rig, 2, 1));
    assert_string_not_equal(rig->members[2].status.gtid_received, rig->members[2].status.gtid_executed);
    assert_int_equal(candidate(stage), 2);
    tell_to_open(stage, 2);
    replication_rig_run(rig, 1500);
    assert_false(member_done(&rig->members[2]));
    assert_false(rig->members[2].status.writable);
    assert_true(rig->members[2].status.replication.receiver == AGENT_THREAD_OFF);
    release_applier(rig, 2);
    member_await(rig, 2, member_done, "open");
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM t.w WHERE id IN (-10, -11)", "2"));
    follow(stage, 2);
    stage->primary = 2;
    bring_back(stage, 0);
    await_all(stage);
    expect_row(stage, -11);
}

/* ---- one after the other ---- */

static void test_two_failures_two_seconds_apart(void **state)
{
    struct stage *stage = *state;
    unsigned first = stage->primary;

    write_row(stage, -20);
    kill_primary(stage);
    fail_over(stage);
    bring_back(stage, first);
    replication_rig_run(stage->rig, 2000);
    write_row(stage, -21);
    unsigned second = stage->primary;
    kill_primary(stage);
    fail_over(stage);
    bring_back(stage, second);
    await_all(stage);
    expect_row(stage, -20);
    expect_row(stage, -21);
}

/* ---- whose answer counts ---- */

static bool counts(const struct member *member)
{
    return member->status.replication.caught_up;
}

static bool is_ready_and_counts(const struct member *member)
{
    return member_ready(member) && counts(member);
}

static void await_proof(struct stage *stage)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (!stage->gone[i])
            member_await(stage->rig, i, i == stage->primary ? member_ready : is_ready_and_counts, "caught up");
    }
}

/* The last one that follows. */
static unsigned follower(const struct stage *stage)
{
    unsigned last = NOBODY;

    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i != stage->primary && !stage->gone[i])
            last = i;
    }
    return last;
}

static bool is_held_again(const struct member *member)
{
    return member_is_held(member) && member_runs(member) && !str_empty(member->status.gtid_executed);
}

/* Its relay log outlived it: what it has received is proof of what it has acknowledged, once it is applied. */
static void test_a_replica_that_crashed_with_its_primary(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    unsigned lost = stage->primary;
    unsigned crashed = follower(stage);

    await_proof(stage);
    write_row(stage, -30);
    kill(rig->members[crashed].rig->server.inner, SIGKILL);
    kill_primary(stage);
    agent_rig_wait(&rig->members[crashed].rig->server);
    fence_primary(stage);
    stage->gone[crashed] = true; /* for now */
    hold_others(stage);
    stage->gone[crashed] = false;
    replication_rig_start(rig, crashed, "server");
    member_await(rig, crashed, member_runs, "up again");
    member_give(rig, crashed, hold_order(rig));
    member_await(rig, crashed, is_held_again, "held");
    member_await(rig, crashed, counts, "with all that it had received");
    unsigned whole = NOBODY;
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i != lost && i != crashed)
            whole = i;
    }
    assert_true(counts(&rig->members[whole]));
    agent_rig_kill(&rig->members[whole].rig->agent); /* and nothing happens to its server */
    replication_rig_start(rig, whole, "run");
    member_await(rig, whole, has_no_order, "up again");
    member_give(rig, whole, hold_order(rig));
    member_await(rig, whole, is_held_again, "held");
    assert_true(counts(&rig->members[whole]));
    tell_to_open(stage, whole);
    member_await(rig, whole, member_done, "open");
    stage->primary = whole;
    member_give(rig, crashed, replication_rig_replica(rig, whole));
    bring_back(stage, lost);
    await_proof(stage);
    expect_row(stage, -30);
}

static bool has_met_an_error(const struct member *member)
{
    return member->status.replication.applier_errno == 1062;
}

static bool holds_all(struct replication_rig *rig, unsigned member, const char *gtids)
{
    enum gtid_flavour flavour = agent_gtid_flavour(rig->members[member].status.flavour);
    _cleanup_(gtid_set_freep) struct gtid_set *has =
        gtid_set_parse(flavour, rig->members[member].status.gtid_received, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *wanted = gtid_set_parse(flavour, gtids, NULL);

    assert_non_null(has);
    assert_non_null(wanted);
    enum gtid_relation relation = gtid_set_compare(wanted, has);
    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

/* It has acknowledged what it cannot apply. */
static void test_what_waits_behind_an_error_is_there(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    unsigned stopped = follower(stage);
    char before[POSITION_TOLD_SIZE];

    assert_true(member_write_aside(rig, stopped, false, "INSERT INTO t.w VALUES (-40)"));
    write_row(stage, -40);
    member_await(rig, stopped, has_met_an_error, "stopped by an error");
    write_row(stage, -41);
    replication_rig_run(rig, 1000);
    snprintf(before, sizeof(before), "%s", rig->members[stopped].status.gtid_received);
    assert_string_not_equal(before, rig->members[stopped].status.gtid_executed);
    member_give(rig, stopped, hold_order(rig));
    member_await(rig, stopped, member_is_held, "held");
    replication_rig_run(rig, 1500);
    assert_true(holds_all(rig, stopped, before));
    assert_true(counts(&rig->members[stopped]));
    assert_true(member_write_aside(rig, stopped, false, "DELETE FROM t.w WHERE id = -40"));
    member_give(rig, stopped, replication_rig_replica(rig, stage->primary));
    member_await(rig, stopped, is_receiving, "connected");
    assert_true(member_start_applier(rig, stopped));
    await_proof(stage);
    expect_row(stage, -41);
}

/* A living copy of what was acknowledged is not thrown away because there is another one. */
static void test_what_was_received_is_applied_before_another_is_followed(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    unsigned lost = stage->primary;
    unsigned slow = follower(stage);
    char before[POSITION_TOLD_SIZE];

    hold_applier(rig, slow);
    write_row(stage, -50);
    write_row(stage, -51);
    replication_rig_run(rig, 1000);
    kill_primary(stage);
    fence_primary(stage);
    hold_others(stage);
    snprintf(before, sizeof(before), "%s", rig->members[slow].status.gtid_received);
    assert_string_not_equal(before, rig->members[slow].status.gtid_executed);
    stage->primary = open_best(stage);
    assert_int_not_equal(stage->primary, slow);
    int64_t end_ms = clock_monotonic_ms() + 2500;
    while (clock_monotonic_ms() < end_ms) {
        replication_rig_run(rig, 0);
        assert_true(holds_all(rig, slow, before));
        assert_true(counts(&rig->members[slow]));
    }
    /* MySQL keeps what it has received when it turns. */
    if (rig->members[slow].status.flavour == AGENT_FLAVOUR_MARIADB)
        assert_int_equal(rig->members[slow].status.replication.receiver, AGENT_THREAD_OFF);
    release_applier(rig, slow);
    member_await(rig, slow, member_ready, "ready");
    assert_true(counts(&rig->members[slow]));
    bring_back(stage, lost);
    await_proof(stage);
    expect_row(stage, -51);
}

/* ---- with a writer ---- */

static void expect_acknowledged(struct stage *stage, struct writer *writer, const char *table)
{
    _cleanup_(freep) char *count = xasprintf("%llu", (unsigned long long)writer_acknowledged(writer));
    _cleanup_(strbuf_release) struct strbuf sql;

    strbuf_init(&sql, 64 * KM_MIB);
    writer_check_sql(writer, table, &sql);
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (!stage->gone[i])
            assert_true(member_says(stage->rig, i, sql.buf, count));
    }
    printf("%s: all of %s acknowledged rows are there, the longest gap was %lld ms\n", table, count,
        (long long)writer_gap_ms(writer, 1, 100));
}

/* I3 */
static void test_a_primary_killed_while_it_writes(void **state)
{
    struct stage *stage = *state;
    unsigned lost = stage->primary;

    assert_true(member_sql(stage->rig, lost, "CREATE TABLE t.killed (id BIGINT PRIMARY KEY)", NULL));
    struct writer *writer = writer_start(stage->rig, "t.killed");
    replication_rig_run(stage->rig, 1000);
    kill_primary(stage);
    fail_over(stage);
    stage->gone[lost] = true; /* it may hold what nobody acknowledged */
    replication_rig_run(stage->rig, 1000);
    writer_stop(writer);
    assert_true(writer_acknowledged(writer) > 0);
    await_all(stage);
    expect_acknowledged(stage, writer, "t.killed");
    writer_free(writer);
}

static bool is_fenced(const struct member *member)
{
    return member_done(member) && !member->status.writable && member_runs(member);
}

static void await_loss_by_replicas(struct stage *stage, int64_t stopped_us)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i != stage->primary && !stage->gone[i])
            member_await(stage->rig, i, is_lost, "missing its source");
    }
    printf("told as lost by the replicas after %lld ms\n", (long long)((clock_monotonic_us() - stopped_us) / 1000));
}

/* I1, I3: a primary that froze comes back when another one has long taken over; its clients are still connected, and
 * one waits. */
static void test_a_frozen_primary_comes_back(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    unsigned frozen = stage->primary;

    assert_true(member_sql(rig, frozen, "CREATE TABLE t.frozen (id BIGINT PRIMARY KEY)", NULL));
    struct writer *writer = writer_start(rig, "t.frozen");
    replication_rig_run(rig, 1000);
    int64_t stopped_us = clock_monotonic_us();
    kill(rig->members[frozen].rig->server.inner, SIGSTOP);
    member_await(rig, frozen, is_hung, "hung");
    printf("frozen, and told as Hung after %lld ms\n", (long long)((clock_monotonic_us() - stopped_us) / 1000));
    await_loss_by_replicas(stage, stopped_us);
    rig->semi_sync = false; /* nobody is left to acknowledge */
    fail_over(stage);
    replication_rig_run(rig, 3000); /* the probe that runs now is given up meanwhile */
    assert_false(member_done(&rig->members[frozen]));
    int64_t resumed_us = clock_monotonic_us();
    kill(rig->members[frozen].rig->server.inner, SIGCONT);
    member_await(rig, frozen, is_fenced, "fenced");
    printf("resumed, closed and told so after %lld us\n", (long long)(rig->members[frozen].told_us - resumed_us));
    stage->gone[frozen] = true;
    replication_rig_run(rig, 1000);
    writer_stop(writer);
    assert_true(writer_acknowledged(writer) > 0);
    expect_acknowledged(stage, writer, "t.frozen");
    writer_free(writer);
}

int failover_stories_run(bool mysql)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_members),
        cmocka_unit_test(test_a_quiet_source_is_not_lost),
        cmocka_unit_test(test_a_primary_that_hears_nobody_closes),
        cmocka_unit_test(test_a_server_left_open_is_closed_by_the_next_agent),
        cmocka_unit_test(test_a_replica_of_an_older_epoch_stops_to_receive),
        cmocka_unit_test(test_a_locked_server_is_no_stalled_storage),
        cmocka_unit_test(test_the_one_that_received_more_wins),
        cmocka_unit_test(test_two_failures_two_seconds_apart),
        cmocka_unit_test(test_a_replica_that_crashed_with_its_primary),
        cmocka_unit_test(test_what_waits_behind_an_error_is_there),
        cmocka_unit_test(test_what_was_received_is_applied_before_another_is_followed),
        cmocka_unit_test(test_a_primary_killed_while_it_writes),
        cmocka_unit_test(test_a_frozen_primary_comes_back),
    };

    return mysql ? cmocka_run_group_tests_name("failover MySQL", tests, setup_mysql, teardown)
                 : cmocka_run_group_tests_name("failover MariaDB", tests, setup_mariadb, teardown);
}
