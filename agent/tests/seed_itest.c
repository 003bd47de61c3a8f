/* SPDX-License-Identifier: Apache-2.0 */
/* full: it takes more than a minute, and make test leaves it out */
/* A member without data gets a donor's: two or three pods on loopback with real servers, and everything that can go
 * wrong between them. */
#include "common/base.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/seed_aside_stories.h"
#include "agent/tests/seed_rig.h"
#include "common/alloc.h"
#include "common/frame_stream.h"
#include "common/http_server.h"

#define ROWS "40000"

/* ---- set up ---- */

/* About 100 MiB: enough for a stream to be met in the middle. */
static void load_data(struct agent_rig *rig)
{
    assert_true(agent_rig_sql(rig, "root", SEED_RIG_ROOT_PASSWORD,
        "CREATE DATABASE d; USE d; CREATE TABLE d.big (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(2000));"
        "INSERT INTO d.big (v) SELECT REPEAT(UUID(), 50) FROM seq_1_to_" ROWS ";"
        "CREATE TABLE d.live (id INT PRIMARY KEY AUTO_INCREMENT, at TIMESTAMP(6));"
        "CREATE TABLE d.aria (id INT PRIMARY KEY AUTO_INCREMENT, v INT) ENGINE=Aria;"
        "CREATE TABLE d.go (id INT PRIMARY KEY); INSERT INTO d.go VALUES (1);"
        "\nDELIMITER //\nCREATE PROCEDURE d.write_on() BEGIN WHILE EXISTS (SELECT * FROM d.go) DO"
        " INSERT INTO d.live (at) VALUES (NOW(6)); INSERT INTO d.aria (v) VALUES (1); COMMIT; END WHILE; END//\n",
        NULL));
}

static int setup(void **state)
{
    struct seed_rig *world = seed_rig_new(NULL);

    load_data(world->donor);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    seed_rig_free(*state);
    return 0;
}

/* ---- what is asked and seen ---- */

/* I8: what is called data is a whole database. */
static bool data_is_absent_or_whole(const struct agent_rig *rig)
{
    return !agent_rig_has(rig, "vol/data") ||
        (agent_rig_has(rig, "vol/data/ibdata1") && agent_rig_has(rig, "vol/data/kube-mysql-seed.json") &&
            agent_rig_has(rig, "vol/data/d/big.ibd"));
}

static void start_replica(struct seed_rig *world)
{
    seed_rig_start_replica(world, world->member);
}

static void await_equal_at(const struct seed_rig *world, const struct agent_rig *rig)
{
    _cleanup_(freep) char *position = seed_rig_text(world->donor, "SELECT @@gtid_current_pos");

    position[strcspn(position, "\n")] = '\0';
    for (int i = 0; i < 3000 && !seed_rig_is(rig, "SELECT @@gtid_current_pos", position); i++)
        usleep(20 * 1000);
    static const char sums[] = "CHECKSUM TABLE d.big, d.live, d.aria; SELECT COUNT(*), MIN(id), MAX(id) FROM d.live;"
                               "SELECT COUNT(*) FROM d.big; SELECT @@gtid_current_pos";
    _cleanup_(freep) char *ours = seed_rig_text(world->donor, sums);
    _cleanup_(freep) char *theirs = seed_rig_text(rig, sums);
    assert_string_equal(ours, theirs);
}

static void await_equal(struct seed_rig *world)
{
    await_equal_at(world, world->member);
}

/* ---- while the data is copied ---- */

static void test_clone_under_writes(void **state)
{
    struct seed_rig *world = *state;

    seed_rig_start_writer(world);
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_false(agent_rig_has(world->member, "vol/data.new"));
    assert_true(data_is_absent_or_whole(world->member));
    assert_true(agent_rig_has(world->member, "vol/data"));
    start_replica(world);
    assert_false(agent_rig_has(world->member, "vol/data/kube-mysql-seed.json")); /* told to the server, once */
    seed_rig_has_own_server_id(world->member);
    usleep(300 * 1000);
    seed_rig_stop_writer(world);
    await_equal(world);

    /* A copy of the copy, whose own binary log has hardly begun: its position is the donor's all the same. */
    world->other = seed_rig_pod(world, "demo-mysql-2");
    init = agent_rig_start(world->other, "init");
    _cleanup_(freep) char *text = seed_rig_clone_order(world->member, 1, false);
    seed_rig_order(world->other, text);
    assert_int_equal(agent_rig_wait(&init), 0);
    _cleanup_(freep) char *position = seed_rig_text(world->donor, "SELECT @@gtid_current_pos");
    position[strcspn(position, "\n")] = '\0';
    assert_true(agent_rig_file_says(world->other, "vol/data/kube-mysql-seed.json", position));
}

/* ---- nobody acknowledges ---- */

static void start_commit(struct seed_rig *world)
{
    fflush(NULL);
    world->helper = fork();
    if (world->helper == 0)
        _exit(
            agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD, "INSERT INTO d.live (at) VALUES (NOW(6))", NULL)
                ? 0
                : 1);
    assert_true(agent_rig_await_status(world->donor, "\"waitingCommits\":1", 20000));
}

static void follow_and_acknowledge(const struct seed_rig *world)
{
    _cleanup_(freep) char *text =
        xasprintf("{\"epoch\":2,\"role\":\"replica\",\"semiSync\":true,\"sourceHost\":\"localhost\",\"sourcePort\":%u,"
                  "\"sourceAgentPort\":%u}",
            world->donor->mysql_port, world->donor->tls_port);

    agent_rig_start(world->member, "server");
    agent_rig_start(world->member, "run");
    assert_true(agent_rig_await(world->member, "/startup", 200, 60000));
    seed_rig_order(world->member, text);
}

/* The commit waits for the replica that is being made, and the copy does not wait for the commit: its donor stays open,
 * and the replica acknowledges the commit in the end. */
static void test_statements_while_nobody_acknowledges(void **state)
{
    struct seed_rig *world = *state;

    assert_true(agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD, "DROP TABLE d.aria", NULL));
    seed_rig_order(world->donor, "{\"epoch\":2,\"role\":\"primary\",\"semiSync\":true,\"acks\":1}");
    assert_true(agent_rig_await_status(world->donor, "\"semiSync\":true", 20000));
    start_commit(world);
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_file_says(world->member, "init.log", "comes as statements"));
    assert_false(agent_rig_file_says(world->donor, "run.log", "closed for writes"));
    assert_true(agent_rig_await_status(world->donor, "\"waitingCommits\":1", 5000)); /* its client may have gone */
    follow_and_acknowledge(world);
    assert_true(seed_rig_becomes(world->donor, "SELECT COUNT(*) FROM d.live", "1"));
    assert_false(agent_rig_await_status(world->donor, "UnacknowledgedCommits", 1000));
    assert_true(seed_rig_becomes(world->member, "SELECT COUNT(*) FROM d.live", "1"));
    static const char sums[] = "CHECKSUM TABLE d.big, d.live; SELECT COUNT(*) FROM d.big; SELECT @@gtid_current_pos";
    _cleanup_(freep) char *ours = seed_rig_text(world->donor, sums);
    _cleanup_(freep) char *theirs = seed_rig_text(world->member, sums);
    assert_string_equal(ours, theirs);
    seed_rig_has_own_server_id(world->member);
}

/* Rows of other engines are not of one moment: files are copied, and the donor closes for it. */
static void test_files_where_statements_do_not_fit(void **state)
{
    struct seed_rig *world = *state;

    seed_rig_order(world->donor, "{\"epoch\":2,\"role\":\"primary\",\"semiSync\":true,\"acks\":1}");
    assert_true(agent_rig_await_status(world->donor, "\"semiSync\":true", 20000));
    start_commit(world);
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_false(agent_rig_file_says(world->member, "init.log", "comes as statements"));
    assert_true(agent_rig_file_says(world->donor, "run.log", "closed for writes"));
}

/* ---- a donor that applies ---- */

/* Replicas of one donor: `member` is behind a lock of ours, and `other` gets its copy from it. */
static void hold_applier(struct seed_rig *world, const char *lock)
{
    _cleanup_(freep) char *sql = xasprintf("BEGIN; %s; SELECT SLEEP(100)", lock);

    fflush(NULL);
    world->helper = fork();
    if (world->helper == 0)
        _exit(agent_rig_owner_sql(world->member, sql, NULL) ? 0 : 1); /* root may lock nothing in a replica */
    assert_true(seed_rig_becomes(
        world->member, "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'User sleep'", "1"));
}

static void clone_other_from_member(struct seed_rig *world)
{
    _cleanup_(freep) char *text = seed_rig_clone_order(world->member, 1, false);

    world->other = seed_rig_pod(world, "demo-mysql-2");
    struct agent_process init = agent_rig_start(world->other, "init");
    seed_rig_order(world->other, text);
    assert_int_equal(agent_rig_wait(&init), 0);
}

/* What a parallel applier has prepared, but not committed yet, is not part of the copy; what a client has prepared
 * is. */
static void test_donor_has_prepared_transactions(void **state)
{
    struct seed_rig *world = *state;

    /* Also where that is not the default: there are no Aria rows here (bootstrap/server_features.h). */
    agent_rig_put(world->member, "config/my.cnf",
        "[mysqld]\nbind_address = 127.0.0.1\nskip_name_resolve = 1\nslave_parallel_threads = 4\n");
    struct agent_process init = seed_rig_clone(world, world->donor, false);

    assert_int_equal(agent_rig_wait(&init), 0);
    start_replica(world);
    assert_true(agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD,
        "XA START 'mine'; INSERT INTO d.live (at) VALUES (NOW(6)); XA END 'mine'; XA PREPARE 'mine'", NULL));
    await_equal(world);
    hold_applier(world, "SELECT * FROM d.go FOR UPDATE");
    assert_true(agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD,
        "INSERT INTO d.go VALUES (2); INSERT INTO d.live (at) VALUES (NOW(6)); INSERT INTO d.live (at) VALUES (NOW(6))",
        NULL));
    assert_true(seed_rig_becomes(world->member,
        "SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'Waiting for prior transaction to commit'",
        "2"));
    clone_other_from_member(world);
    assert_true(agent_rig_file_says(world->other, "init.log", "Found 3 prepared transaction(s)"));
    seed_rig_start_replica(world, world->other);
    assert_true(agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD, "XA COMMIT 'mine'", NULL));
    await_equal_at(world, world->other);
    assert_true(seed_rig_is(world->other, "SELECT COUNT(*) FROM d.live", "3"));
}

/* A replica's own position is set after the change: here the tables hold one that it does not know of. */
static void test_donor_does_not_know_its_position(void **state)
{
    struct seed_rig *world = *state;
    struct agent_process init = seed_rig_clone(world, world->donor, false);

    assert_int_equal(agent_rig_wait(&init), 0);
    start_replica(world);
    await_equal(world);
    _cleanup_(freep) char *before = seed_rig_text(world->donor, "SELECT @@gtid_binlog_pos");
    before[strcspn(before, "\n")] = '\0';
    hold_applier(world, "SELECT * FROM mysql.gtid_slave_pos FOR UPDATE");
    assert_true(
        agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD, "ALTER TABLE d.live ADD COLUMN late INT", NULL));
    _cleanup_(freep) char *after = seed_rig_text(world->donor, "SELECT @@gtid_binlog_pos");
    after[strcspn(after, "\n")] = '\0';
    assert_true(seed_rig_becomes(
        world->member, "SELECT COUNT(*) FROM information_schema.columns WHERE column_name = 'late'", "1"));
    assert_true(seed_rig_is(world->member, "SELECT @@gtid_current_pos", before));
    clone_other_from_member(world);
    _cleanup_(freep) char *told = xasprintf("\t%s\n", before);
    assert_true(agent_rig_file_says(world->other, "vol/data/xtrabackup_binlog_info", told) ||
        agent_rig_file_says(world->other, "vol/data/mariadb_backup_binlog_info", told)); /* since 11.1 */
    assert_true(agent_rig_file_says(world->other, "vol/data/kube-mysql-seed.json", after));
    seed_rig_start_replica(world, world->other);
    assert_true(
        agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD, "INSERT INTO d.live (late) VALUES (1)", NULL));
    await_equal_at(world, world->other);
}

static void test_donor_dies_in_mid_stream(void **state)
{
    struct seed_rig *world = *state;
    int code = 0;

    world->other = seed_rig_pod(world, "demo-mysql-2");
    seed_rig_start_primary(world->other);
    load_data(world->other);
    assert_true(agent_rig_sql(world->other, "root", SEED_RIG_ROOT_PASSWORD, "CREATE TABLE d.mine (id INT)", NULL));
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_true(agent_rig_await_status(world->member, "\"seedBytes\":", 20000));
    agent_rig_kill(&world->donor->agent);
    assert_true(agent_rig_await_status(world->member, "\"seed\":\"Failed\"", 20000));
    assert_true(agent_rig_await_status(world->member, "SeedFailed", 1000));
    assert_false(agent_rig_has(world->member, "vol/data"));
    assert_false(agent_rig_has(world->member, "vol/data.new/ibdata1"));
    assert_false(agent_rig_ended(&init, &code));
    /* Whatever fails in the same way again does not look well in between. */
    assert_true(agent_rig_await_status(world->member, "\"seedAttempts\":3", 20000));
    assert_true(agent_rig_await_status(world->member, "SeedFailed", 1));

    _cleanup_(freep) char *text = seed_rig_clone_order(world->other, 1, false);
    seed_rig_order(world->member, text);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(world->member, "vol/data/d/mine.frm"));
}

static void test_receiver_dies_at_each_stage(void **state)
{
    static const unsigned moments_ms[] = {0, 30, 100, 200, 300, 400, 500, 600, 800, 1000, 1200};
    struct seed_rig *world = *state;
    unsigned halves = 0;

    for (size_t i = 0; i < ARRAY_LEN(moments_ms); i++) {
        struct agent_process init = seed_rig_clone(world, world->donor, true);
        usleep(moments_ms[i] * 1000);
        agent_rig_kill(&init);
        halves += agent_rig_has(world->member, "vol/data.new");
        assert_true(data_is_absent_or_whole(world->member));
        /* The donor is free again before long. */
        for (int j = 0; j < 500 && !agent_rig_file_says(world->donor, "run.log", "a copy of the data"); j++)
            usleep(20 * 1000);
    }
    assert_true(halves > 0); /* otherwise the test proved nothing */
    struct agent_process init = seed_rig_clone(world, world->donor, true);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_false(agent_rig_has(world->member, "vol/data.new"));
    start_replica(world);
    await_equal(world);
}

static void test_volume_too_small(void **state)
{
    struct seed_rig *world = *state;
    int code = 0;

    seed_rig_limit_volume(world, "200M");
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_true(agent_rig_await_status(world->member, "the data volume is too small: the copy needs", 20000));
    assert_true(agent_rig_await_status(world->member, "MiB are free", 1000));
    assert_false(agent_rig_has(world->member, "vol/data.new/ibdata1"));
    assert_false(agent_rig_ended(&init, &code));
    assert_true(agent_rig_await_status(world->donor, "\"phase\":\"Running\"", 5000));
    agent_rig_kill(&init);
}

/* Old and new do not fit together, and the old was proven to be of no more use: it goes first. */
static void test_replace_where_one_fits(void **state)
{
    struct seed_rig *world = *state;

    seed_rig_limit_volume(world, "440M");
    assert_int_equal(agent_rig_init(world->member), 0);
    assert_int_equal(mkdir(agent_rig_path(world->member, "vol/.kube-mysql"), 0700) < 0, 1);
    agent_rig_put(world->member, "vol/.kube-mysql/mark", "reseed\n");
    struct agent_process init = seed_rig_clone(world, world->donor, true);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_file_says(world->member, "init.log", "goes first"));
    assert_true(agent_rig_has(world->member, "vol/data/d/big.ibd"));
    assert_false(agent_rig_has(world->member, "vol/data.gone"));
    assert_false(agent_rig_has(world->member, "vol/.kube-mysql/mark"));
}

/* Where both fit, the old data stays until the new is whole. */
static void test_replace_keeps_the_old_until_the_end(void **state)
{
    struct seed_rig *world = *state;

    assert_int_equal(agent_rig_init(world->member), 0);
    struct agent_process init = seed_rig_clone(world, world->donor, true);
    assert_true(agent_rig_await_status(world->member, "\"seedBytes\":", 20000));
    assert_true(agent_rig_has(world->member, "vol/data/ibdata1"));
    agent_rig_kill(&world->donor->agent);
    assert_true(agent_rig_await_status(world->member, "\"seed\":\"Failed\"", 20000));
    assert_true(agent_rig_has(world->member, "vol/data/ibdata1"));
    agent_rig_start(world->donor, "run");
    assert_int_equal(agent_rig_wait(&init), 0); /* it tries again by itself */
    assert_true(agent_rig_has(world->member, "vol/data/d/big.ibd"));
    assert_false(agent_rig_has(world->member, "vol/data.new"));
    assert_false(agent_rig_has(world->member, "vol/data.old"));
}

#define POSITION "SELECT @@global.gtid_binlog_state"

static void test_what_a_member_had_alone_is_set_aside(void **state)
{
    seed_aside_story_left(*state, POSITION);
}

static void test_what_cannot_be_set_aside_stays(void **state)
{
    seed_aside_story_no_room(*state, POSITION);
}

/* What would be a crash loop of the server is an attempt that failed, in the server's words. */
static void test_server_cannot_use_it(void **state)
{
    struct seed_rig *world = *state;

    agent_rig_put(world->member, "config/my.cnf", "[mysqld]\nbind_address = 127.0.0.1\ninnodb_page_size = 8K\n");
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_true(agent_rig_await_status(world->member, "the server cannot be started on the copy", 20000));
    assert_true(agent_rig_await_status(world->member, "page size", 1000));
    assert_false(agent_rig_has(world->member, "vol/data"));
    agent_rig_kill(&init);
}

/* ---- who may have it ---- */

static pid_t slow_reader(struct seed_rig *world)
{
    _cleanup_(freep) char *cert = xstrdup(agent_rig_path(world->donor, "tls/tls.crt"));
    _cleanup_(freep) char *key = xstrdup(agent_rig_path(world->donor, "tls/tls.key"));
    _cleanup_(freep) char *ca = xstrdup(agent_rig_path(world->donor, "tls/ca.crt"));
    _cleanup_(freep) char *url = xasprintf("https://localhost:%u/v1/backup", world->donor->tls_port);

    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("curl", "curl", "--silent", "--limit-rate", "2M", "--output", "/dev/null", "--cacert", ca, "--cert",
            cert, "--key", key, url, (char *)NULL);
        _exit(99);
    }
    return pid;
}

static void test_who_may_have_it(void **state)
{
    struct seed_rig *world = *state;
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_MIB);
    assert_int_equal(agent_rig_tls(world->donor, NULL, "/v1/backup", NULL, &body), 0);
    assert_int_equal(agent_rig_tls(world->donor, "stranger", "/v1/backup", NULL, &body), 403);
    world->helper = slow_reader(world);
    assert_true(agent_rig_await_status(world->donor, "\"servingBackups\":1", 10000));
    assert_int_equal(agent_rig_tls(world->donor, "tls/tls", "/v1/backup", NULL, &body), 503);
    assert_true(agent_rig_await(world->donor, "/live", 200, 100));
    /* The reader goes: the tool is ended, and the next one is served. */
    seed_rig_end_helper(world);
    for (int i = 0; i < 250 && !agent_rig_file_says(world->donor, "run.log", "the receiver has gone"); i++)
        usleep(20 * 1000);
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_int_equal(agent_rig_wait(&init), 0);
}

/* ---- a donor that lies ---- */

struct lie {
    char *version; /* of a server that could use it */
    bool trailer;
};

static void give_rubbish(struct http_exchange *exchange, void *arg)
{
    const struct lie *lie = arg;
    struct frame_writer writer;
    struct stream_header header = {.method = STREAM_METHOD_XBSTREAM, .flavour = "mariadb"};
    struct stream_trailer end = {.ok = true};
    char head[FRAME_HEAD_BYTES];
    struct strbuf out;

    snprintf(header.server_version, sizeof(header.server_version), "%s", lie->version);
    strbuf_init(&out, KM_MIB);
    frame_writer_init(&writer);
    frame_writer_begin(&writer, &header, &out);
    if (lie->trailer) {
        frame_writer_data(&writer, "not an xbstream", 15, head);
        strbuf_add(&out, head, sizeof(head));
        strbuf_adds(&out, "not an xbstream");
        frame_writer_end(&writer, &end, &out);
    }
    frame_writer_release(&writer);
    http_stream_start(exchange, 200, "application/octet-stream", NULL, NULL);
    http_stream_write(exchange, out.buf, out.len);
    http_stream_end(exchange);
    strbuf_release(&out);
}

static void expect_refused(struct seed_rig *world, bool trailer, const char *says)
{
    static const struct http_route routes[] = {{"GET", "/v1/backup", give_rubbish}, {NULL, NULL, NULL}};
    _cleanup_(freep) char *version = seed_rig_text(world->donor, "SELECT @@version");
    struct lie lie = {.version = version, .trailer = trailer};
    version[strcspn(version, "\n")] = '\0';
    struct agent_rig liar = {.tls_port = seed_rig_start_liar(world, routes, &lie)};
    struct agent_process init = seed_rig_clone(world, &liar, false);
    int code = 0;

    assert_true(agent_rig_await_status(world->member, says, 20000));
    assert_false(agent_rig_has(world->member, "vol/data"));
    assert_false(agent_rig_ended(&init, &code));
    agent_rig_kill(&init);
    seed_rig_end_helper(world);
}

static void test_a_donor_that_lies(void **state)
{
    struct seed_rig *world = *state;

    expect_refused(world, false, "broke off after 0 bytes of data, without a trailer");
    expect_refused(world, true, "unpacking the copy");
}

/* A newer order ends what runs: here a stream whose donor has stopped giving. */
static void test_another_order(void **state)
{
    struct seed_rig *world = *state;
    struct agent_rig nowhere = {.tls_port = 1, .mysql_port = 1};
    struct agent_process init = seed_rig_clone(world, &nowhere, false);

    assert_true(agent_rig_await_status(world->member, "\"seed\":\"Failed\"", 20000));
    _cleanup_(freep) char *good = seed_rig_clone_order(world->donor, 2, false);
    seed_rig_order(world->member, good);
    for (int i = 0; i < 5000 && !agent_rig_file_says(world->donor, "run.log", "another member asks"); i++)
        usleep(1000);
    kill(world->donor->agent.inner, SIGSTOP);
    assert_true(agent_rig_await_status(world->member, "\"seed\":\"Copying\"", 5000));
    seed_rig_order(world->member, "{\"epoch\":3}");
    assert_true(agent_rig_await_status(world->member, "\"seed\":\"Waiting\"", 5000));
    assert_false(agent_rig_has(world->member, "vol/data"));
    assert_false(agent_rig_has(world->member, "vol/data.new/ibdata1"));
    kill(world->donor->agent.inner, SIGCONT);
    _cleanup_(freep) char *again = seed_rig_clone_order(world->donor, 4, false);
    seed_rig_order(world->member, again);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(world->member, "vol/data/d/big.ibd"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_clone_under_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_statements_while_nobody_acknowledges, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files_where_statements_do_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_donor_has_prepared_transactions, setup, teardown),
        cmocka_unit_test_setup_teardown(test_donor_does_not_know_its_position, setup, teardown),
        cmocka_unit_test_setup_teardown(test_donor_dies_in_mid_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(test_receiver_dies_at_each_stage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_volume_too_small, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replace_where_one_fits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_member_had_alone_is_set_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_set_aside_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replace_keeps_the_old_until_the_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_server_cannot_use_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_who_may_have_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_donor_that_lies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_order, setup, teardown),
    };

    cmocka_set_test_filter(getenv("TEST_CASE"));
    return agent_rig_possible() ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
