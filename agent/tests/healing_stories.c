/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/healing_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/mysql/start_domain.h"
#include "agent/tests/replication_rig.h"
#include "agent/tests/tail_client.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/frame_stream.h"
#include "common/fs.h"
#include "common/gtid.h"
#include "common/http_server.h"
#include "common/strbuf.h"

#define LONG_MS 30000

struct stage {
    struct replication_rig *rig;
    bool mysql;
    bool recovers; /* its server's recovery cuts off a tail and completes DDL (bootstrap/server_features.h) */
    unsigned primary;
};

/* Asked of the server itself. */
static bool server_recovers(void)
{
    return agent_rig_server_has_option("log-ddl-recovery");
}

static int setup(void **state, const char *root)
{
    struct stage *stage = xnew(struct stage);

    stage->rig = replication_rig_new(root);
    stage->mysql = root != NULL;
    stage->recovers = !root && server_recovers();
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

/* ---- the operator ---- */

static void order(struct replication_rig *rig, unsigned member, const struct agent_order *what)
{
    assert_int_equal(replication_rig_order(rig, member, what), 200);
}

static struct agent_order hold_order(const struct replication_rig *rig)
{
    return (struct agent_order){.epoch = rig->epoch, .role = AGENT_ROLE_REPLICA, .semi_sync = rig->semi_sync};
}

/* Everybody else receives no more: what is written now, nobody else has. */
static void hold_others(struct stage *stage)
{
    struct replication_rig *rig = stage->rig;

    rig->epoch++;
    for (unsigned i = 0; i < MEMBERS; i++) {
        struct agent_order hold = hold_order(rig);
        if (i == stage->primary)
            continue;
        order(rig, i, &hold);
        assert_true(replication_rig_await(rig, i, member_done, "held", LONG_MS));
    }
}

static struct agent_order salvage_order(const struct stage *stage, uint32_t port)
{
    struct agent_order what = replication_rig_primary(stage->rig, "");

    snprintf(what.salvage_host, sizeof(what.salvage_host), "localhost");
    what.salvage_agent_port = port;
    return what;
}

static void follow(struct stage *stage, unsigned member)
{
    struct agent_order what = replication_rig_replica(stage->rig, stage->primary);

    order(stage->rig, member, &what);
}

/* Everybody follows the primary and is ready. */
static void gather(struct stage *stage)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (i != stage->primary)
            follow(stage, i);
    }
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(stage->rig, i, member_ready, "ready", LONG_MS));
}

static void kill_server(struct stage *stage, unsigned member)
{
    agent_rig_kill(&stage->rig->members[member].rig->server);
}

static char *executed(struct stage *stage, unsigned member)
{
    struct strbuf out;

    strbuf_init(&out, KM_MIB);
    assert_true(member_sql(stage->rig, member,
        stage->mysql ? "SELECT REPLACE(@@global.gtid_executed, '\\n', '')" : "SELECT @@global.gtid_binlog_pos", &out));
    strbuf_truncate(&out, strcspn(out.buf, "\n"));
    return strbuf_detach(&out, NULL);
}

static bool has_all(const struct stage *stage, const char *have, const char *want)
{
    enum gtid_flavour flavour = stage->mysql ? GTID_MYSQL : GTID_MARIADB;
    _cleanup_(gtid_set_freep) struct gtid_set *a = gtid_set_parse(flavour, want, NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *b = gtid_set_parse(flavour, have, NULL);

    assert_non_null(a);
    assert_non_null(b);
    enum gtid_relation relation = gtid_set_compare(a, b);
    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

/* ---- what was written to the dead primary alone ---- */

static void write_alone(struct stage *stage, const char *table)
{
    struct replication_rig *rig = stage->rig;
    unsigned primary = stage->primary;
    _cleanup_(freep) char *first = xasprintf("CREATE TABLE heal.%s (id INT PRIMARY KEY, t TEXT) ENGINE=InnoDB;"
                                             "INSERT INTO heal.%s VALUES (1, 'a'), (2, NULL); FLUSH BINARY LOGS",
        table, table);
    _cleanup_(freep) char *second =
        xasprintf("CREATE TABLE heal.%s_copy ENGINE=InnoDB AS SELECT * FROM heal.%s;"
                  "BEGIN; INSERT INTO heal.%s VALUES (3, 'c'); UPDATE heal.%s SET t = 'x' WHERE id = 1;"
                  "COMMIT; DELETE FROM heal.%s WHERE id = 2",
            table, table, table, table, table);

    assert_true(member_sql(rig, primary, first, NULL));
    assert_true(member_sql(rig, primary, second, NULL));
    for (int i = 10; i < 30; i++) {
        _cleanup_(freep) char *row = xasprintf("INSERT INTO heal.%s VALUES (%d, REPEAT('%d', 2000))", table, i, i);
        assert_true(member_sql(rig, primary, row, NULL));
    }
}

static void expect_alone(struct stage *stage, unsigned member, const char *table)
{
    _cleanup_(freep) char *rows = xasprintf(
        "SELECT CONCAT(COUNT(*), ' ', SUM(id), ' ', SUM(LENGTH(t)), ' ', (SELECT COUNT(*) FROM heal.%s_copy)) FROM heal.%s",
        table, table);

    assert_true(member_says(stage->rig, member, rows, "22 394 80002 2"));
}

static void form(struct stage *stage)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(replication_rig_await(stage->rig, i, member_runs, "running", LONG_MS));
    replication_rig_form(stage->rig);
    stage->primary = 0;
    assert_true(member_sql(stage->rig, 0, "CREATE DATABASE heal; CREATE TABLE heal.t (id INT PRIMARY KEY)", NULL));
    for (unsigned i = 1; i < MEMBERS; i++)
        assert_true(member_says(stage->rig, i, "SELECT COUNT(*) FROM heal.t", "0"));
}

/* As those of a member that was made by a copy: they begin behind what it had then, and do not say so. The others get
 * all of it first. */
static void forget_logs(struct stage *stage, unsigned member)
{
    if (stage->mysql)
        assert_true(member_sql(stage->rig, member,
            "SET GLOBAL super_read_only = 1; DO SLEEP(0.3); SET GLOBAL super_read_only = 1; SET @all = @@global.gtid_executed;"
            "RESET BINARY LOGS AND GTIDS; SET GLOBAL gtid_purged = @all; SET GLOBAL read_only = 0",
            NULL));
}

/* ---- cases of both families ---- */

static void test_what_only_a_dead_primary_has_is_taken_over(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;

    form(stage);
    forget_logs(stage, 0);
    _cleanup_(freep) char *before = executed(stage, 0);
    hold_others(stage);
    write_alone(stage, "a");
    _cleanup_(freep) char *all = executed(stage, 0);
    assert_int_equal(tail_client_ask(rig, stage->primary, "tls/tls", before), 409); /* while it runs */
    kill_server(stage, 0);
    assert_true(replication_rig_await(rig, 0, member_is_down, "down", LONG_MS));
    assert_int_equal(tail_client_ask(rig, stage->primary, NULL, before), 0); /* no certificate, no answer */
    assert_int_equal(tail_client_ask(rig, stage->primary, "operator", before), 200);
    int64_t started_ms = clock_monotonic_ms();
    struct agent_order what = salvage_order(stage, rig->members[0].rig->tls_port);
    order(rig, 1, &what);
    assert_true(replication_rig_await(rig, 1, member_done, "open with all", LONG_MS));
    printf("taken over and open after %lld ms: %s\n", (long long)(clock_monotonic_ms() - started_ms),
        rig->members[1].status.salvaged);
    assert_true(*rig->members[1].status.salvaged);
    assert_true(rig->members[1].status.writable);
    stage->primary = 1;
    expect_alone(stage, 1, "a");
    _cleanup_(freep) char *now = executed(stage, 1);
    assert_true(has_all(stage, now, all));
    replication_rig_start(rig, 0, "server");
    gather(stage); /* the old primary too: nothing of its own is errant */
    expect_alone(stage, 2, "a");
    assert_string_equal(rig->members[0].status.errant, "");
}

/* What a liar sends: a stream without an end. */
static void send_half(struct http_exchange *exchange, void *arg)
{
    struct frame_writer writer;
    struct stream_header header = {.method = STREAM_METHOD_BINLOG, .flavour = "mariadb"};
    _cleanup_(strbuf_release) struct strbuf out;
    char head[FRAME_HEAD_BYTES];

    UNUSED(arg);
    strbuf_init(&out, 64 * KM_KIB);
    http_stream_start(exchange, 200, "application/octet-stream", NULL, NULL);
    frame_writer_init(&writer);
    frame_writer_begin(&writer, &header, &out);
    frame_writer_data(&writer,
        "\xfe"
        "bin",
        4, head);
    strbuf_add(&out, head, sizeof(head));
    strbuf_add(&out,
        "\xfe"
        "bin",
        4);
    frame_writer_release(&writer);
    http_stream_write(exchange, out.buf, out.len);
    http_stream_end(exchange);
}

static bool says_salvage_failed(const struct member *member)
{
    return member_has_problem(member, "SalvageFailed");
}

static void expect_refused(struct stage *stage, unsigned member, uint32_t port, const char *words)
{
    struct replication_rig *rig = stage->rig;
    struct agent_order what = salvage_order(stage, port);
    bool said = false;

    order(rig, member, &what);
    assert_true(replication_rig_await(rig, member, says_salvage_failed, "refusing", LONG_MS));
    for (int i = 0; i < rig->members[member].status.problem_count; i++) {
        const struct agent_problem *problem = &rig->members[member].status.problems[i];
        printf("%s: %s\n", problem->reason, problem->message);
        said = said || strstr(problem->message, words);
    }
    assert_true(said);
    replication_rig_run(rig, 1500); /* tried again */
    assert_false(rig->members[member].status.writable);
    assert_false(rig->members[member].status.order_done);
    assert_true(member_says(rig, member, "SELECT @@global.read_only", "1"));
}

static void test_a_stream_without_an_end_is_not_used(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    static const struct http_route routes[] = {{"GET", "/v1/binlogs/tail", send_half}, {NULL, NULL, NULL}};
    _cleanup_(freep) char *ca = tail_client_text(rig->members[0].rig, "tls/ca.crt");
    struct tls_keypair pair = {.cert_pem = tail_client_text(rig->members[0].rig, "tls/tls.crt"),
        .key_pem = tail_client_text(rig->members[0].rig, "tls/tls.key")};
    struct tls_server *tls = tls_server_new(&pair, ca, NULL);
    struct http_server *liar = http_server_new(rig->loop, tls, routes, NULL);
    uint16_t port = 0;

    assert_non_null(tls);
    assert_int_equal(http_server_listen(liar, "127.0.0.1", 0, &port, NULL), 0);
    hold_others(stage);
    write_alone(stage, "b");
    _cleanup_(freep) char *all = executed(stage, 1);
    kill_server(stage, 1);
    rig->epoch++;
    expect_refused(stage, 2, port, "without a trailer");
    http_server_free(liar);
    tls_server_free(tls);
    tls_keypair_release(&pair);
    /* The operator names the right one: the order is the same otherwise. */
    struct agent_order what = salvage_order(stage, rig->members[1].rig->tls_port);
    order(rig, 2, &what);
    assert_true(replication_rig_await(rig, 2, member_done, "open with all", LONG_MS));
    assert_false(says_salvage_failed(&rig->members[2]));
    stage->primary = 2;
    expect_alone(stage, 2, "b");
    _cleanup_(freep) char *now = executed(stage, 2);
    assert_true(has_all(stage, now, all));
    replication_rig_start(rig, 1, "server");
    gather(stage);
}

static void test_a_gap_damage_and_a_torn_end(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    struct agent_rig *donor = rig->members[2].rig;
    /* The head of an event of 100 bytes, and no more: what a crash tears off. */
    static const uint8_t torn[] = {0, 0, 0, 0, 2, 1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7};
    char original[1];

    _cleanup_(freep) char *before = executed(stage, 2);
    hold_others(stage);
    write_alone(stage, "c");
    kill_server(stage, 2);
    assert_true(replication_rig_await(rig, 2, member_is_down, "down", LONG_MS));
    assert_int_equal(
        tail_client_ask(rig, stage->primary, "tls/tls", stage->mysql ? "" : "7-1-1"), stage->mysql ? 200 : 409);
    if (stage->mysql)
        assert_int_equal(
            tail_client_ask(rig, stage->primary, "tls/tls", "11111111-2222-3333-4444-555555555555:1-5"), 409);
    else
        assert_int_equal(tail_client_ask(rig, stage->primary, "tls/tls", "0-77-3"), 409); /* another history */
    /* One byte of a row, with others behind it. */
    _cleanup_(freep) char *log = tail_newest_log(donor);
    _cleanup_(freep) char *path = xstrdup(agent_rig_path(donor, log));
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fseek(file, -10000, SEEK_END), 0);
    assert_int_equal(fread(original, 1, 1, file), 1);
    fclose(file);
    char wrong = (char)(original[0] ^ 1);
    tail_change_log(donor, log, -10000, &wrong, 1);
    rig->epoch++;
    expect_refused(stage, 0, donor->tls_port, "damaged");
    tail_change_log(donor, log, -10000, original, 1);
    tail_append_log(donor, log, torn, sizeof(torn));
    assert_true(replication_rig_await(rig, 0, member_done, "open with all", LONG_MS));
    stage->primary = 0;
    expect_alone(stage, 0, "c");
    _cleanup_(freep) char *now = executed(stage, 0);
    assert_true(has_all(stage, now, before));
    replication_rig_start(rig, 2, "server");
    gather(stage);
}

static void test_logs_that_do_not_reach_back(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;

    hold_others(stage);
    write_alone(stage, "d");
    assert_true(member_purge_binlogs(rig, 0));
    kill_server(stage, 0);
    rig->epoch++;
    expect_refused(stage, 1, rig->members[0].rig->tls_port, "reach back");
    /* The operator gives it up: without salvage, what was alone is lost to the cluster, and set aside below. */
    struct agent_order what = replication_rig_primary(rig, "");
    order(rig, 1, &what);
    assert_true(replication_rig_await(rig, 1, member_done, "open", LONG_MS));
    assert_string_equal(rig->members[1].status.salvaged, "");
    stage->primary = 1;
    assert_true(member_sql(rig, 1, "INSERT INTO heal.t VALUES (77)", NULL));
    follow(stage, 2);
    assert_true(replication_rig_await(rig, 2, member_ready, "ready", LONG_MS));
}

static bool is_errant(const struct member *member)
{
    return *member->status.errant && member->status.phase == AGENT_PHASE_RUNNING;
}

static bool is_marked(const struct member *member)
{
    return member->status.mark == AGENT_MARK_RESEED;
}

/* What the image's own tool reads in what was set aside. */
static void expect_set_aside(struct stage *stage, unsigned member, const char *words)
{
    const struct agent_rig *rig = stage->rig->members[member].rig;
    const char *text = stage->rig->members[member].status.set_aside.sets[0];
    _cleanup_(freep) char *folder = xasprintf("vol/.kube-mysql/set-aside/%.*s", (int)strcspn(text, ":"), text);
    _cleanup_(freep) char *list = xasprintf("%s/transactions.txt", folder);
    _cleanup_(freep) char *log = xasprintf("%s/binlog.000001", folder);

    printf("set aside: %s\n", text);
    assert_true(agent_rig_file_says(rig, list, "# transactions: "));
    assert_true(agent_rig_has(rig, log));
    assert_true(agent_rig_file_says(rig, list, words));
}

static void test_errant_transactions_are_set_aside_before_the_mark(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;

    replication_rig_start(rig, 0, "server");
    follow(stage, 0);
    assert_true(replication_rig_await(rig, 0, is_errant, "errant", LONG_MS));
    struct agent_order what = replication_rig_replica(rig, 1);
    what.mark = AGENT_MARK_RESEED;
    what.set_aside = true;
    /* No folder can be made: then there is no mark either. */
    agent_rig_put(rig->members[0].rig, "vol/.kube-mysql/set-aside", "in the way");
    assert_int_equal(replication_rig_order(rig, 0, &what), 503);
    replication_rig_run(rig, 700);
    assert_true(member_has_problem(&rig->members[0], "SetAsideFailed"));
    assert_int_equal(rig->members[0].status.mark, AGENT_MARK_NONE);
    assert_false(agent_rig_has(rig->members[0].rig, "vol/.kube-mysql/mark"));
    agent_rig_put(rig->members[0].rig, "vol/.kube-mysql/set-aside", NULL);
    order(rig, 0, &what);
    assert_true(replication_rig_await(rig, 0, is_marked, "marked", LONG_MS));
    assert_false(member_has_problem(&rig->members[0], "SetAsideFailed"));
    expect_set_aside(stage, 0, stage->mysql ? rig->members[0].status.server_uuid : "0-1000-");
    char said[sizeof(rig->members[0].status.set_aside.sets[0])];
    snprintf(said, sizeof(said), "%s", rig->members[0].status.set_aside.sets[0]);
    /* A new agent reads it from the volume. */
    agent_rig_kill(&rig->members[0].rig->agent);
    replication_rig_start(rig, 0, "run");
    assert_true(replication_rig_await(rig, 0, is_marked, "marked still", LONG_MS));
    assert_string_equal(rig->members[0].status.set_aside.sets[0], said);
}

/* ---- MariaDB alone ---- */

static bool has_waiting_commit(const struct member *member)
{
    return member->status.waiting_commits > 0;
}

static void order_primary(struct stage *stage, unsigned member)
{
    struct agent_order what = replication_rig_primary(stage->rig, "");

    order(stage->rig, member, &what);
    assert_true(replication_rig_await(stage->rig, member, member_done, "open", LONG_MS));
    stage->primary = member;
}

/* A server that cannot cut anything off is started plainly, and does not get in with what it has alone. */
static void expect_not_cut(struct stage *stage, unsigned member, int id)
{
    struct replication_rig *rig = stage->rig;
    _cleanup_(freep) char *rows = xasprintf("SELECT COUNT(*) FROM heal.t WHERE id = %d", id);

    assert_true(replication_rig_await(rig, member, member_runs, "running", LONG_MS));
    assert_true(replication_rig_await(rig, member, is_errant, "errant", LONG_MS));
    assert_true(member_says(rig, member, rows, "1"));
    assert_false(rig->members[member].status.ready);
    assert_true(agent_rig_file_says(rig->members[member].rig, "server.log", "this server cannot cut off"));
    assert_false(agent_rig_has(rig->members[member].rig, "vol/.kube-mysql/start-cut"));
}

/* The primary dies with a commit that nobody acknowledges; the other one takes over. */
static void die_with_a_waiting_commit(struct stage *stage, unsigned to, int id)
{
    struct replication_rig *rig = stage->rig;
    unsigned from = stage->primary;
    struct agent_order hold = hold_order(rig);
    _cleanup_(freep) char *insert = xasprintf("INSERT INTO heal.t VALUES (%d)", id);

    for (int i = 0; i < 100 && !agent_rig_has(rig->members[from].rig, "vol/.kube-mysql/semi-sync-primary"); i++)
        replication_rig_run(rig, 100);
    assert_true(agent_rig_has(rig->members[from].rig, "vol/.kube-mysql/semi-sync-primary"));
    order(rig, to, &hold);
    assert_true(replication_rig_await(rig, to, member_done, "held", LONG_MS));
    pid_t writer = member_hold_lock(rig, from, insert, 1);
    assert_true(replication_rig_await(rig, from, has_waiting_commit, "waiting", LONG_MS));
    replication_rig_run(rig, 500);
    kill_server(stage, from);
    member_release_lock(writer);
    assert_true(replication_rig_await(rig, from, member_is_down, "down", LONG_MS));
    rig->epoch++;
    order_primary(stage, to);
}

static void restart_as_replica(struct stage *stage, unsigned member, bool truncate)
{
    struct agent_order what = replication_rig_replica(stage->rig, stage->primary);

    what.truncate = truncate;
    order(stage->rig, member, &what);
    replication_rig_start(stage->rig, member, "server");
}

static void test_what_nobody_acknowledged_is_cut_off_when_ordered(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;

    rig->semi_sync = true;
    rig->epoch++;
    follow(stage, 2);
    order_primary(stage, 1);
    assert_true(replication_rig_await(rig, 2, member_ready, "ready", LONG_MS));
    die_with_a_waiting_commit(stage, 2, 900);
    restart_as_replica(stage, 1, true);
    if (!stage->recovers) {
        expect_not_cut(stage, 1, 900);
        return;
    }
    assert_true(replication_rig_await(rig, 1, member_ready, "ready", LONG_MS));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM heal.t WHERE id = 900", "0"));
    assert_string_equal(rig->members[1].status.errant, "");
    assert_true(agent_rig_file_says(rig->members[1].rig, "server.log", "cuts off what nobody has acknowledged"));
    assert_false(agent_rig_has(rig->members[1].rig, "vol/.kube-mysql/semi-sync-primary"));
    assert_false(agent_rig_has(rig->members[1].rig, "run/start-mode.json"));
    replication_rig_run(rig, 1500);
    expect_set_aside(stage, 1, "cuts off");
}

/* The whole pod is started anew: init gets the order. */
static void test_a_new_pod_cuts_off_when_init_is_told(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    struct agent_rig *pod = rig->members[2].rig;

    die_with_a_waiting_commit(stage, 1, 902);
    agent_rig_kill(&pod->agent);
    struct agent_order what = replication_rig_replica(rig, 1);
    what.truncate = true;
    what.seed = AGENT_SEED_KEEP;
    _cleanup_(strbuf_release) struct strbuf body;
    _cleanup_(strbuf_release) struct strbuf answer;
    strbuf_init(&body, AGENT_ORDER_MAX);
    strbuf_init(&answer, KM_MIB);
    agent_order_encode(&what, &body);
    struct agent_process init = agent_rig_start(pod, "init");
    int code = 0;
    for (int i = 0; i < 200 && code == 0; i++) {
        code = agent_rig_order(pod, body.buf, &answer);
        replication_rig_run(rig, 20);
    }
    assert_int_equal(code, 200);
    assert_int_equal(agent_rig_wait(&init), 0);
    replication_rig_start(rig, 2, "server");
    replication_rig_start(rig, 2, "run");
    assert_true(replication_rig_await(rig, 2, member_runs, "running", LONG_MS));
    follow(stage, 2);
    if (!stage->recovers) {
        expect_not_cut(stage, 2, 902);
        return;
    }
    assert_true(replication_rig_await(rig, 2, member_ready, "ready", LONG_MS));
    assert_true(member_says(rig, 2, "SELECT COUNT(*) FROM heal.t WHERE id = 902", "0"));
    assert_string_equal(rig->members[2].status.errant, "");
}

static bool has_written_by_itself(const struct member *member)
{
    return strstr(member->status.errant, START_DOMAIN "-") != NULL;
}

/* A semi-sync primary (0) dies in the midst of a DROP behind a commit that waits; another one (1) has taken over all of
 * it. False: there is no strace. */
static bool die_in_a_drop(struct stage *stage)
{
    struct replication_rig *rig = stage->rig;
    unsigned from = 0, to = 1;

    form(stage);
    rig->semi_sync = true;
    rig->epoch++;
    gather(stage);
    order_primary(stage, from);
    assert_true(member_sql(rig, from, "CREATE TABLE heal.gone (id INT PRIMARY KEY)", NULL));
    assert_true(member_says(rig, to, "SELECT COUNT(*) FROM heal.gone", "0"));
    for (int i = 0; i < 100 && !agent_rig_has(rig->members[from].rig, "vol/.kube-mysql/semi-sync-primary"); i++)
        replication_rig_run(rig, 100);
    hold_others(stage);
    pid_t writer = member_hold_lock(rig, from, "INSERT INTO heal.t VALUES (904)", 1);
    assert_true(replication_rig_await(rig, from, has_waiting_commit, "waiting", LONG_MS));
    replication_rig_run(rig, 500);
    pid_t tracer = agent_rig_kill_at(
        stage->rig->members[from].rig, "unlink,unlinkat", "./heal/gone.frm"); /* DROP TABLE has begun to remove files */
    if (!tracer)
        return false;
    assert_false(member_sql(rig, from, "DROP TABLE heal.gone", NULL));
    waitpid(tracer, NULL, 0);
    kill_server(stage, from);
    member_release_lock(writer);
    assert_true(replication_rig_await(rig, from, member_is_down, "down", LONG_MS));
    rig->epoch++;
    struct agent_order what = salvage_order(stage, rig->members[from].rig->tls_port);
    order(rig, to, &what);
    assert_true(replication_rig_await(rig, to, member_done, "open with all", LONG_MS));
    stage->primary = to;
    assert_true(member_says(rig, to, "SELECT COUNT(*) FROM heal.t WHERE id = 904", "1"));
    return true;
}

static void expect_found(struct stage *stage)
{
    struct replication_rig *rig = stage->rig;

    assert_true(replication_rig_await(rig, 0, member_runs, "running", LONG_MS));
    assert_true(replication_rig_await(rig, 0, has_written_by_itself, "found", LONG_MS));
    assert_null(strstr(rig->members[0].status.gtid_executed, START_DOMAIN));
    assert_null(strstr(rig->members[0].status.gtid_received, START_DOMAIN));
    assert_true(member_says(rig, 0, "SELECT @@global.gtid_domain_id", "0"));
    replication_rig_run(rig, 1500);
    assert_true(has_written_by_itself(&rig->members[0]));
    assert_true(member_has_problem(&rig->members[0], "RoleFailed")); /* it takes no gtid_slave_pos (1948) */
    assert_false(rig->members[0].status.ready);
}

static void skip_without_recovery(const struct stage *stage)
{
    if (stage->recovers)
        return;
    printf("skipped: this server completes no DDL at its start and cuts nothing off: it has no option "
           "log_ddl_recovery\n");
    skip();
}

/* I14: what MariaDB logs when it completes the DROP must not take the number of the transaction that is cut off, which
 * the others hold. */
static void test_a_ddl_that_the_server_completes_is_found(void **state)
{
    struct stage *stage = *state;

    skip_without_recovery(stage);
    if (!die_in_a_drop(stage))
        skip();
    restart_as_replica(stage, 0, true);
    expect_found(stage);
}

/* "./binlog.000004": what the server's next start begins. */
static void next_binlog(struct agent_rig *pod, char out[static 32])
{
    char path[64];

    for (int i = 1; i < 100; i++) {
        snprintf(out, 32, "./binlog.%06d", i);
        snprintf(path, sizeof(path), "vol/data/%s", out);
        if (i > 1 && !agent_rig_has(pod, path))
            return;
    }
    fail();
}

/* The start that cuts off is killed behind the cut: the server refuses the next one, or completes the DROP there, and
 * is not let in again. */
static void test_a_cut_that_was_interrupted_marks_the_data(void **state)
{
    struct stage *stage = *state;
    struct agent_rig *pod = stage->rig->members[0].rig;
    char file[32];
    int code;

    skip_without_recovery(stage);
    if (!die_in_a_drop(stage))
        skip();
    next_binlog(pod, file);
    restart_as_replica(stage, 0, true);
    kill(pod->server.inner, SIGSTOP); /* the tracer needs time to be attached */
    pid_t tracer = agent_rig_kill_at(stage->rig->members[0].rig, "open,openat", file);
    kill(pod->server.inner, SIGCONT);
    bool ended = false;
    for (int i = 0; i < 600 && !ended; i++) {
        replication_rig_run(stage->rig, 50);
        ended = agent_rig_ended(&pod->server, &code);
    }
    assert_true(ended);
    waitpid(tracer, NULL, 0);
    assert_true(agent_rig_has(pod, "vol/.kube-mysql/start-cut"));
    assert_int_equal(stage->rig->members[0].status.mark, AGENT_MARK_NONE);
    replication_rig_start(stage->rig, 0, "server");
    assert_true(replication_rig_await(stage->rig, 0, is_marked, "marked", LONG_MS));
}

static void test_nothing_is_cut_off_without_the_word(void **state)
{
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;

    die_with_a_waiting_commit(stage, 2, 901);
    restart_as_replica(stage, 1, false);
    assert_true(replication_rig_await(rig, 1, member_runs, "running", LONG_MS));
    assert_true(member_says(rig, 1, "SELECT COUNT(*) FROM heal.t WHERE id = 901", "1"));
    assert_true(member_says(rig, 1, "SELECT @@global.read_only", "1"));
}

/* A cluster of its own, with semi-sync; `primary` leads, and the first member is out of it, as it is in the other
 * order. */
static int setup_led_by(void **state, unsigned primary)
{
    setup(state, NULL);
    struct stage *stage = *state;
    struct replication_rig *rig = stage->rig;
    form(stage);
    replication_rig_switch_us(rig, 0, primary);
    stage->primary = primary;
    rig->semi_sync = true;
    rig->epoch++;
    gather(stage);
    order_primary(stage, primary);
    assert_true(member_sql(rig, primary, "INSERT INTO heal.t VALUES (1)", NULL));
    kill_server(stage, 0);
    return 0;
}

static int setup_led_by_1(void **state)
{
    return setup_led_by(state, 1);
}

static int setup_led_by_2(void **state)
{
    return setup_led_by(state, 2);
}

/* Where a member that was not cut off is out of the cluster afterwards, each of these needs its own. */
static int run_without_recovery(void)
{
    const struct CMUnitTest first[] = {cmocka_unit_test(test_what_nobody_acknowledged_is_cut_off_when_ordered)};
    const struct CMUnitTest second[] = {cmocka_unit_test(test_a_new_pod_cuts_off_when_init_is_told)};
    const struct CMUnitTest third[] = {cmocka_unit_test(test_nothing_is_cut_off_without_the_word)};

    return cmocka_run_group_tests(first, setup_led_by_1, teardown) +
        cmocka_run_group_tests(second, setup_led_by_2, teardown) +
        cmocka_run_group_tests(third, setup_led_by_1, teardown);
}

int healing_stories_run(bool mysql)
{
    const struct CMUnitTest mariadb_tests[] = {
        cmocka_unit_test(test_what_only_a_dead_primary_has_is_taken_over),
        cmocka_unit_test(test_a_stream_without_an_end_is_not_used),
        cmocka_unit_test(test_a_gap_damage_and_a_torn_end),
        cmocka_unit_test(test_logs_that_do_not_reach_back),
        cmocka_unit_test(test_errant_transactions_are_set_aside_before_the_mark),
        cmocka_unit_test(test_what_nobody_acknowledged_is_cut_off_when_ordered),
        cmocka_unit_test(test_a_new_pod_cuts_off_when_init_is_told),
        cmocka_unit_test(test_nothing_is_cut_off_without_the_word),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_only_a_dead_primary_has_is_taken_over),
        cmocka_unit_test(test_a_stream_without_an_end_is_not_used),
        cmocka_unit_test(test_a_gap_damage_and_a_torn_end),
        cmocka_unit_test(test_logs_that_do_not_reach_back),
        cmocka_unit_test(test_errant_transactions_are_set_aside_before_the_mark),
    };

    const struct CMUnitTest recovery_tests[] = {
        cmocka_unit_test(test_a_ddl_that_the_server_completes_is_found),
    };
    const struct CMUnitTest late_recovery_tests[] = {
        cmocka_unit_test(test_a_cut_that_was_interrupted_marks_the_data),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    if (mysql)
        return cmocka_run_group_tests(tests, setup_mysql, teardown);
    int failed = server_recovers() ? cmocka_run_group_tests(mariadb_tests, setup_mariadb, teardown)
                                   : cmocka_run_group_tests(tests, setup_mariadb, teardown) + run_without_recovery();
    return failed + cmocka_run_group_tests(recovery_tests, setup_mariadb, teardown) +
        cmocka_run_group_tests(late_recovery_tests, setup_mariadb, teardown);
}
