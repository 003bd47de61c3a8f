/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/seed_mysql_stories.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/tests/seed_aside_stories.h"
#include "agent/tests/seed_rig.h"
#include "common/alloc.h"
#include "common/subprocess.h"

#define ROWS "40000"
/* So that a copy can be met in the middle: the receiving server reads its own my.cnf. */
#define SLOW_CLONE \
    "loose_clone_max_data_bandwidth = 16\nloose_clone_max_concurrency = 1\nloose_clone_autotune_concurrency = OFF\n"

static char *mysql_root;

/* ---- set up ---- */

/* About 100 MiB. */
static void load_data(struct agent_rig *rig)
{
    assert_true(agent_rig_sql(rig, "root", SEED_RIG_ROOT_PASSWORD,
        "CREATE DATABASE d; SET SESSION cte_max_recursion_depth = " ROWS ";"
        "CREATE TABLE d.big (id INT PRIMARY KEY AUTO_INCREMENT, v VARBINARY(2000));"
        "INSERT INTO d.big (v) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " ROWS ")"
        " SELECT REPEAT(UUID(), 50) FROM n;"
        "CREATE TABLE d.live (id INT PRIMARY KEY AUTO_INCREMENT, at TIMESTAMP(6));"
        "CREATE TABLE d.go (id INT PRIMARY KEY); INSERT INTO d.go VALUES (1);"
        "\nDELIMITER //\nCREATE PROCEDURE d.write_on() BEGIN WHILE EXISTS (SELECT * FROM d.go) DO"
        " INSERT INTO d.live (at) VALUES (NOW(6)); COMMIT; END WHILE; END//\n",
        NULL));
}

static int setup(void **state)
{
    struct seed_rig *world = seed_rig_new(mysql_root);

    load_data(world->donor);
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    seed_rig_free(*state);
    return 0;
}

static void slow_down(struct seed_rig *world)
{
    agent_rig_put(world->member, "config/my.cnf",
        "[mysqld]\nbind_address = 127.0.0.1\nskip_name_resolve = 1\ninnodb_buffer_pool_size = 32M\n" SLOW_CLONE);
}

/* I8: what is called data is a whole database. */
static bool data_is_absent_or_whole(const struct agent_rig *rig)
{
    return !agent_rig_has(rig, "vol/data") ||
        (agent_rig_has(rig, "vol/data/ibdata1") && agent_rig_has(rig, "vol/data/mysql.ibd") &&
            agent_rig_has(rig, "vol/data/#innodb_redo") && agent_rig_has(rig, "vol/data/d/big.ibd"));
}

static void expect_nothing_left(const struct agent_rig *rig)
{
    assert_false(agent_rig_has(rig, "vol/data.new/ibdata1"));
    assert_false(agent_rig_has(rig, "vol/data.gone"));
    assert_false(agent_rig_has(rig, "vol/.kube-mysql/scratch"));
}

static void await_equal(const struct seed_rig *world)
{
    static const char sums[] = "CHECKSUM TABLE d.big, d.live; SELECT COUNT(*), MIN(id), MAX(id) FROM d.live;"
                               "SELECT COUNT(*) FROM d.big; SELECT user, host, plugin FROM mysql.user ORDER BY 1, 2";
    _cleanup_(freep) char *position = seed_rig_text(world->donor, "SELECT REPLACE(@@GLOBAL.gtid_executed, '\n', '')");

    position[strcspn(position, "\n")] = '\0';
    assert_true(seed_rig_becomes(world->member, "SELECT REPLACE(@@GLOBAL.gtid_executed, '\n', '')", position));
    _cleanup_(freep) char *ours = seed_rig_text(world->donor, sums);
    _cleanup_(freep) char *theirs = seed_rig_text(world->member, sums);
    assert_string_equal(ours, theirs);
}

/* ---- stories ---- */

static void test_clone_under_writes(void **state)
{
    struct seed_rig *world = *state;

    seed_rig_start_writer(world);
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(world->member, "vol/data"));
    assert_true(data_is_absent_or_whole(world->member));
    expect_nothing_left(world->member);
    seed_rig_start_replica(world, world->member);
    seed_rig_has_own_server_id(world->member);
    usleep(300 * 1000);
    seed_rig_stop_writer(world);
    await_equal(world);
}

static void test_donor_dies_in_mid_stream(void **state)
{
    struct seed_rig *world = *state;
    int code = 0;

    slow_down(world);
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_true(agent_rig_await_status(world->member, "\"seedBytes\":", 60000));
    agent_rig_kill(&world->donor->server);
    assert_true(agent_rig_await_status(world->member, "\"seed\":\"Failed\"", 60000));
    assert_true(agent_rig_await_status(world->member, "its server takes no connections", 1000));
    assert_false(agent_rig_has(world->member, "vol/data"));
    expect_nothing_left(world->member);
    assert_false(agent_rig_ended(&init, &code));

    agent_rig_start(world->donor, "server");
    assert_int_equal(agent_rig_wait(&init), 0); /* it tries again by itself */
    assert_true(agent_rig_has(world->member, "vol/data/d/big.ibd"));
    expect_nothing_left(world->member);
}

/* Kills init at many moments, counted from its start and from the first byte on; what is called data is whole at
 * each. */
static void kill_receiver_at_each_stage(struct seed_rig *world, const char *half, const char *begun)
{
    static const unsigned early_ms[] = {0, 200, 1000, 2000}, late_ms[] = {0, 0, 100, 500, 1000, 2000, 3000, 4000};
    unsigned halves = 0, beginnings = 0;

    for (size_t i = 0; i < ARRAY_LEN(early_ms) + ARRAY_LEN(late_ms); i++) {
        struct agent_process init = seed_rig_clone(world, world->donor, true);
        bool late = i >= ARRAY_LEN(early_ms);
        if (late)
            assert_true(agent_rig_await_status(world->member, "\"seedBytes\":", 60000));
        usleep((late ? late_ms[i - ARRAY_LEN(early_ms)] : early_ms[i]) * 1000);
        agent_rig_kill(&init);
        halves += agent_rig_has(world->member, half);
        beginnings += agent_rig_has(world->member, begun) && !agent_rig_has(world->member, half);
        assert_true(data_is_absent_or_whole(world->member));
        if (agent_rig_has(world->member, "vol/data"))
            break;
    }
    assert_true(halves > 0 && beginnings > 0); /* otherwise the test proved nothing */
    struct agent_process init = seed_rig_clone(world, world->donor, true);
    assert_int_equal(agent_rig_wait(&init), 0);
    expect_nothing_left(world->member);
    seed_rig_start_replica(world, world->member);
    await_equal(world);
}

static void test_receiver_dies_at_each_stage(void **state)
{
    struct seed_rig *world = *state;

    slow_down(world);
    kill_receiver_at_each_stage(world, "vol/data.new/ibdata1", "vol/.kube-mysql/scratch");
}

static void test_volume_too_small(void **state)
{
    static const char *const sizes[] = {"40M", "260M"}; /* for the server that receives; for the copy */
    static const char *const says[] = {"MiB are free, the server that receives", "Clone estimated database size is"};
    struct seed_rig *world = *state;
    int code = 0;

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        seed_rig_limit_volume(world, sizes[i]);
        struct agent_process init = seed_rig_clone(world, world->donor, false);
        assert_true(agent_rig_await_status(world->member, "the data volume is too small", 60000));
        assert_true(agent_rig_await_status(world->member, says[i], 1000));
        assert_false(agent_rig_has(world->member, "vol/data"));
        assert_false(agent_rig_ended(&init, &code));
        agent_rig_kill(&init);
        umount2(agent_rig_path(world->member, "vol"), MNT_DETACH);
    }
    assert_true(agent_rig_await_status(world->donor, "\"phase\":\"Running\"", 5000));
}

/* The member knows another authority: the donor's server is not whom it says to be. */
static void test_wrong_authority(void **state)
{
    struct seed_rig *world = *state;
    int code = 0;

    agent_rig_put_certificates(world->member);
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_true(agent_rig_await_status(world->member, "\"seed\":\"Failed\"", 60000));
    assert_true(agent_rig_await_status(world->member, "certificate", 1000));
    assert_true(agent_rig_await_status(world->member, "cloning from localhost", 1000));
    assert_false(agent_rig_has(world->member, "vol/data"));
    expect_nothing_left(world->member);
    assert_false(agent_rig_ended(&init, &code));
    agent_rig_kill(&init);
}

/* Old and new do not fit together, and the old was proven to be of no more use: it goes first. */
static void test_replace_where_one_fits(void **state)
{
    struct seed_rig *world = *state;

    seed_rig_limit_volume(world, "520M");
    assert_int_equal(agent_rig_init(world->member), 0);
    agent_rig_put(world->member, "vol/.kube-mysql/mark", "reseed\n");
    struct agent_process init = seed_rig_clone(world, world->donor, true);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_file_says(world->member, "init.log", "goes first"));
    assert_true(agent_rig_has(world->member, "vol/data/d/big.ibd"));
    assert_false(agent_rig_has(world->member, "vol/.kube-mysql/mark"));
    expect_nothing_left(world->member);
}

#define POSITION "SELECT REPLACE(@@global.gtid_executed, CHAR(10), '')"

static void test_what_a_member_had_alone_is_set_aside(void **state)
{
    seed_aside_story_left(*state, POSITION);
}

static void test_what_cannot_be_set_aside_stays(void **state)
{
    seed_aside_story_no_room(*state, POSITION);
}

/* A newer order ends what runs. */
static void test_another_order(void **state)
{
    struct seed_rig *world = *state;

    slow_down(world);
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_true(agent_rig_await_status(world->member, "\"seedBytes\":", 60000));
    seed_rig_order(world->member, "{\"epoch\":3}");
    assert_true(agent_rig_await_status(world->member, "\"seed\":\"Waiting\"", 5000));
    assert_false(agent_rig_has(world->member, "vol/data"));
    expect_nothing_left(world->member);
    _cleanup_(freep) char *again = seed_rig_clone_order(world->donor, 4, false);
    seed_rig_order(world->member, again);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(world->member, "vol/data/d/big.ibd"));
}

/* ---- an image without CLONE: a dump ---- */

/* Of the image's plugins, the member gets all but that one. */
static void take_clone_away(struct agent_rig *rig)
{
    _cleanup_(freep) char *from = xasprintf("%s/usr/lib/mysql/plugin/.", mysql_root);
    _cleanup_(freep) char *to = xstrdup(agent_rig_path(rig, "plugins"));
    const char *argv[] = {"cp", "-a", from, to, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 60000};
    struct subprocess_result result;

    assert_int_equal(mkdir(to, 0755), 0);
    assert_int_equal(subprocess_run(&options, NULL, NULL, &result, NULL), 0);
    agent_rig_put(rig, "plugins/mysql_clone.so", NULL);
    str_replace(&rig->plugin_dir, to);
}

static int setup_dump(void **state)
{
    setup(state);
    struct seed_rig *world = *state;

    take_clone_away(world->member);
    assert_true(agent_rig_owner_sql(world->donor, /* root may not make triggers where there is a binary log */
        "CREATE USER 'o''hara'@'10.%' IDENTIFIED BY 'secret' REQUIRE SSL; CREATE ROLE reader; GRANT SELECT ON d.* TO reader;"
        "GRANT reader TO 'o''hara'@'10.%'; CREATE VIEW d.v AS SELECT COUNT(*) AS n FROM d.big;"
        "CREATE TABLE d.odd (id INT PRIMARY KEY, b LONGBLOB, t TEXT, j JSON, g INT AS (id + 1) STORED, p POINT, bits BIT(9));"
        "INSERT INTO d.odd (id, b, t, j, p, bits) VALUES (1, x'00270a5c1aff', 'a\\\\b\\n''; \\\\! ls', '{\"a\": [1]}', POINT(1, 2), b'101'),"
        " (2, NULL, '\xf0\x9f\x90\xac', NULL, NULL, NULL), (3, REPEAT(x'ff00', 3000000), '', NULL, NULL, NULL);"
        "CREATE TRIGGER d.on_odd BEFORE UPDATE ON d.odd FOR EACH ROW SET NEW.t = 'changed';"
        "CREATE EVENT d.nightly ON SCHEDULE EVERY 1 DAY DISABLE DO DELETE FROM d.live;"
        "CREATE FUNCTION d.one() RETURNS INT DETERMINISTIC RETURN 1",
        NULL));
    return 0;
}

static void expect_all_of_it(const struct seed_rig *world)
{
    static const char all[] =
        "USE d; CHECKSUM TABLE d.odd; SHOW CREATE TABLE d.odd; SHOW CREATE VIEW d.v;"
        "SELECT trigger_name, action_statement, definer, sql_mode FROM information_schema.triggers ORDER BY 1;"
        "SELECT event_name, event_definition, status FROM information_schema.events ORDER BY 1;"
        "SELECT routine_schema, routine_name, routine_definition FROM information_schema.routines ORDER BY 1, 2;"
        "SHOW CREATE USER 'o''hara'@'10.%'; SHOW GRANTS FOR 'o''hara'@'10.%'; SHOW GRANTS FOR reader;"
        "SELECT user, host, plugin FROM mysql.user ORDER BY 1, 2; SELECT SHA2(b, 256), t FROM d.odd ORDER BY id";
    _cleanup_(strbuf_release) struct strbuf ours;
    _cleanup_(strbuf_release) struct strbuf theirs;

    strbuf_init(&ours, KM_MIB);
    strbuf_init(&theirs, KM_MIB);
    assert_true(agent_rig_owner_sql(world->donor, all, &ours));
    assert_true(agent_rig_owner_sql(world->member, all, &theirs));
    assert_true(ours.len > 1000);
    assert_string_equal(ours.buf, theirs.buf);
}

static void test_dump_under_writes(void **state)
{
    struct seed_rig *world = *state;

    seed_rig_start_writer(world);
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_file_says(world->member, "init.log", "the copy has been loaded"));
    assert_true(agent_rig_file_says(world->donor, "run.log", "a copy of the data went out"));
    assert_true(data_is_absent_or_whole(world->member));
    expect_nothing_left(world->member);
    seed_rig_start_replica(world, world->member);
    usleep(300 * 1000);
    seed_rig_stop_writer(world);
    await_equal(world);
    expect_all_of_it(world);
    _cleanup_(freep) char *uuid = seed_rig_text(world->donor, "SELECT @@server_uuid");
    assert_false(agent_rig_file_says(world->member, "vol/data/auto.cnf", uuid));
}

static void test_dump_donor_dies(void **state)
{
    struct seed_rig *world = *state;
    int code = 0;

    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_true(agent_rig_await_status(world->member, "\"seedBytes\":", 60000));
    agent_rig_kill(&world->donor->server); /* its agent lives, and says what became of it */
    assert_true(agent_rig_await_status(world->member, "\"seed\":\"Failed\"", 60000));
    assert_true(agent_rig_await_status(world->member, "mysqldump ended with", 1000));
    assert_false(agent_rig_has(world->member, "vol/data"));
    expect_nothing_left(world->member);
    assert_false(agent_rig_ended(&init, &code));
    agent_rig_start(world->donor, "server");
    assert_true(agent_rig_await_status(world->member, "\"seedBytes\":", 60000));
    agent_rig_kill(&world->donor->agent);
    assert_true(agent_rig_await_status(world->member, "the copy from localhost", 60000));
    assert_false(agent_rig_has(world->member, "vol/data"));
    agent_rig_start(world->donor, "run");
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(world->member, "vol/data/d/big.ibd"));
    expect_nothing_left(world->member);
}

static void test_dump_receiver_dies(void **state)
{
    struct seed_rig *world = *state;

    kill_receiver_at_each_stage(world, "vol/data.new/d", "vol/data.new");
    expect_all_of_it(world);
}

static void test_dump_does_not_fit(void **state)
{
    static const char *const sizes[] = {"100M", "420M"}; /* for an empty database; for the copy */
    static const char *const says[] = {"an empty database alone needs", "the copy needs"};
    struct seed_rig *world = *state;
    int code = 0;

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        seed_rig_limit_volume(world, sizes[i]);
        struct agent_process init = seed_rig_clone(world, world->donor, false);
        assert_true(agent_rig_await_status(world->member, "the data volume is too small", 60000));
        assert_true(agent_rig_await_status(world->member, says[i], 1000));
        assert_false(agent_rig_has(world->member, "vol/data"));
        assert_false(agent_rig_ended(&init, &code));
        agent_rig_kill(&init);
        umount2(agent_rig_path(world->member, "vol"), MNT_DETACH);
    }
}

static void test_dump_another_order(void **state)
{
    struct seed_rig *world = *state;
    struct agent_process init = seed_rig_clone(world, world->donor, false);

    for (int i = 0; i < 2; i++) { /* while the empty server is made; while it loads */
        if (i == 1)
            assert_true(agent_rig_await_status(world->member, "\"seedBytes\":", 60000));
        else
            usleep(500 * 1000);
        _cleanup_(freep) char *other = xasprintf("{\"epoch\":%d}", 2 * i + 2);
        seed_rig_order(world->member, other);
        assert_true(agent_rig_await_status(world->member, "\"seed\":\"Waiting\"", 15000));
        assert_false(agent_rig_has(world->member, "vol/data"));
        expect_nothing_left(world->member);
        _cleanup_(freep) char *again = seed_rig_clone_order(world->donor, (unsigned)(2 * i + 3), false);
        seed_rig_order(world->member, again);
    }
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_true(agent_rig_has(world->member, "vol/data/d/odd.ibd"));
}

int seed_mysql_stories_run(bool dump)
{
    const struct CMUnitTest clone[] = {
        cmocka_unit_test_setup_teardown(test_clone_under_writes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_donor_dies_in_mid_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(test_receiver_dies_at_each_stage, setup, teardown),
        cmocka_unit_test_setup_teardown(test_volume_too_small, setup, teardown),
        cmocka_unit_test_setup_teardown(test_wrong_authority, setup, teardown),
        cmocka_unit_test_setup_teardown(test_replace_where_one_fits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_member_had_alone_is_set_aside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_set_aside_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_order, setup, teardown),
    };
    const struct CMUnitTest dumps[] = {
        cmocka_unit_test_setup_teardown(test_dump_under_writes, setup_dump, teardown),
        cmocka_unit_test_setup_teardown(test_dump_donor_dies, setup_dump, teardown),
        cmocka_unit_test_setup_teardown(test_dump_receiver_dies, setup_dump, teardown),
        cmocka_unit_test_setup_teardown(test_dump_does_not_fit, setup_dump, teardown),
        cmocka_unit_test_setup_teardown(test_dump_another_order, setup_dump, teardown),
    };

    mysql_root = agent_rig_possible() ? agent_rig_mysql_root() : NULL;
    if (!mysql_root)
        return 77;
    int rc = dump ? cmocka_run_group_tests(dumps, NULL, NULL) : cmocka_run_group_tests(clone, NULL, NULL);
    free(mysql_root);
    return rc;
}
