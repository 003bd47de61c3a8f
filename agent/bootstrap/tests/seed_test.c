/* SPDX-License-Identifier: Apache-2.0 */
/* What `init` decides and computes: orders against volumes, room, positions, the files that outlive it. */
#include "common/base.h"

#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/bootstrap/clone_mysql.h"
#include "agent/bootstrap/clone_space.h"
#include "agent/bootstrap/clone_stream.h"
#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/epoch_file.h"
#include "agent/bootstrap/seed_decide.h"
#include "agent/bootstrap/seed_path.h"
#include "agent/bootstrap/seed_position.h"
#include "agent/bootstrap/volume_mark.h"
#include "common/alloc.h"
#include "common/fs.h"

static void test_decide(void **state)
{
    static const struct {
        enum agent_seed seed;
        bool replace;
        enum agent_mark order_mark;
        bool has_data;
        enum seed_act act;
        const char *says;
    } rows[] = {
        {AGENT_SEED_NONE, false, AGENT_MARK_NONE, false, SEED_ACT_WAIT, "is empty"},
        {AGENT_SEED_NONE, true, AGENT_MARK_NONE, true, SEED_ACT_WAIT, "holds a database"},
        {AGENT_SEED_KEEP, false, AGENT_MARK_NONE, true, SEED_ACT_KEEP, ""},
        {AGENT_SEED_KEEP, false, AGENT_MARK_NONE, false, SEED_ACT_REFUSE, "the volume is empty"},
        {AGENT_SEED_KEEP, false, AGENT_MARK_LEFT, true, SEED_ACT_REFUSE, "one or the other"},
        {AGENT_SEED_INITIALISE, false, AGENT_MARK_NONE, false, SEED_ACT_INITIALISE, ""},
        {AGENT_SEED_INITIALISE, false, AGENT_MARK_NONE, true, SEED_ACT_REFUSE, "left alone"},
        {AGENT_SEED_INITIALISE, true, AGENT_MARK_NONE, true, SEED_ACT_REFUSE,
            "left alone"}, /* I7: never, whatever is said */
        {AGENT_SEED_CLONE, false, AGENT_MARK_NONE, false, SEED_ACT_CLONE, ""},
        {AGENT_SEED_CLONE, false, AGENT_MARK_NONE, true, SEED_ACT_REFUSE, "replace"},
        {AGENT_SEED_CLONE, true, AGENT_MARK_NONE, true, SEED_ACT_CLONE, ""},
        {AGENT_SEED_RESTORE, false, AGENT_MARK_NONE, false, SEED_ACT_RESTORE, ""},
        {AGENT_SEED_RESTORE, false, AGENT_MARK_NONE, true, SEED_ACT_REFUSE, "left alone"},
        {AGENT_SEED_RESTORE, true, AGENT_MARK_NONE, true, SEED_ACT_RESTORE, ""},
        {AGENT_SEED_RESTORE_BESIDE, false, AGENT_MARK_NONE, true, SEED_ACT_RESTORE, ""},
        {AGENT_SEED_RESTORE_BESIDE, false, AGENT_MARK_NONE, false, SEED_ACT_RESTORE, ""},
        {AGENT_SEED_TAKE_RESTORED, false, AGENT_MARK_NONE, true, SEED_ACT_TAKE, ""},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct agent_order order = {.seed = rows[i].seed,
            .replace = rows[i].replace,
            .mark = rows[i].order_mark,
            .donor_host = "c1-mysql-0",
            .restore_id = "b1",
            .restore_number = 2};
        const struct seed_facts facts = {
            .has_data = rows[i].has_data, .mark = AGENT_MARK_LEFT, .task = "b1", .beside = 1};
        struct seed_decision decision = seed_decide(&order, &facts);
        if (decision.act != rows[i].act || !strstr(decision.message, rows[i].says))
            fail_msg("row %zu: %d \"%s\"", i, decision.act, decision.message);
    }
    const struct seed_facts empty = {.task = ""}, left = {.has_data = true, .mark = AGENT_MARK_LEFT, .task = ""};
    assert_int_equal(seed_decide(NULL, &empty).act, SEED_ACT_WAIT);
    assert_non_null(strstr(seed_decide(NULL, &left).message, "marked left"));
    /* Not by another one's task. */
    const struct agent_order restore = {.seed = AGENT_SEED_RESTORE, .restore_id = "b2"};
    const struct seed_facts of_another = {.task = "b1"};
    assert_int_equal(seed_decide(&restore, &of_another).act, SEED_ACT_WAIT);
    assert_non_null(strstr(seed_decide(&restore, &empty).message, "waiting to be told where"));
    /* Once it is there it waits, whatever task comes. */
    const struct agent_order beside = {.seed = AGENT_SEED_RESTORE_BESIDE, .restore_id = "b1", .restore_number = 2};
    const struct seed_facts ready = {.has_data = true, .task = "", .beside = 2};
    assert_int_equal(seed_decide(&beside, &ready).act, SEED_ACT_WAIT);
    assert_non_null(strstr(seed_decide(&beside, &ready).message, "the word to take it"));
}

static void test_space(void **state)
{
    const uint64_t mib = (uint64_t)KM_MIB;
    struct error err = ERROR_INIT;
    struct clone_space space = {.estimate_bytes = 1000 * mib, .redo_bytes = 96 * mib, .free_bytes = 1224 * mib};

    UNUSED(state);
    assert_true(clone_space_needed(&space) == 1224 * mib); /* the margin's minimum is 128 MiB */
    assert_int_equal(clone_space_check(&space, &err), CLONE_FITS);
    space.free_bytes--;
    assert_int_equal(clone_space_check(&space, &err), CLONE_DOES_NOT_FIT);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_non_null(strstr(err.message, "needs 1224 MiB (1000 MiB of data"));
    assert_non_null(strstr(err.message, "1223 MiB are free"));
    space.old_bytes = 1;
    assert_int_equal(clone_space_check(&space, &err), CLONE_FITS_IF_EMPTY);
    space = (struct clone_space){.estimate_bytes = 10000 * mib, .free_bytes = 10999 * mib};
    assert_int_equal(clone_space_check(&space, NULL), CLONE_DOES_NOT_FIT); /* a tenth */
    space.free_bytes = 11000 * mib;
    assert_int_equal(clone_space_check(&space, NULL), CLONE_FITS);

    assert_true(clone_prepare_memory(0) == 256 * mib);
    assert_true(clone_prepare_memory(100 * mib) == 64 * mib);
    assert_true(clone_prepare_memory(512 * mib) == 256 * mib);
    assert_true(clone_prepare_memory(1024 * 1024 * mib) == 1024 * mib);
}

static void test_binlog_info(void **state)
{
    static const struct {
        const char *text;
        const char *gtid; /* NULL: refused */
    } rows[] = {
        {"binlog.000001\t1062\t0-1-5\n", "0-1-5"},
        {"binlog.000001\t325\t\n", ""}, /* no transaction ever */
        {"binlog.000001\t325\n", ""},
        {"binlog.000004\t9\t0-1-5,1-2-77,3-4-900000000000", "0-1-5,1-2-77,3-4-900000000000"},
        {"binlog.000001\t1062\t0-1-5'; DROP", NULL},
        {"binlog.000001\t1062\t3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5", NULL},
        {"", NULL},
        {"binlog.000001\n", NULL},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *gtid = xstrdup("untouched");
        int rc = seed_position_parse_binlog_info(rows[i].text, &gtid, NULL);
        assert_int_equal(rc, rows[i].gtid ? 0 : -1);
        assert_string_equal(gtid, rows[i].gtid ? rows[i].gtid : "untouched");
    }
}

static void test_header(void **state)
{
    struct server_version mariadb;
    struct server_version mysql;
    struct error err = ERROR_INIT;
    struct stream_header header = {
        .method = STREAM_METHOD_XBSTREAM, .flavour = "mariadb", .server_version = "10.11.4-MariaDB-log"};

    UNUSED(state);
    assert_int_equal(server_version_parse("10.11.19-MariaDB", NULL, &mariadb, NULL), 0);
    assert_int_equal(server_version_parse("8.0.36", NULL, &mysql, NULL), 0);
    assert_int_equal(clone_stream_check_header(&header, &mariadb, STREAM_METHOD_XBSTREAM, &err), 0);
    assert_int_equal(clone_stream_check_header(&header, &mysql, STREAM_METHOD_SQL, &err), -1);
    snprintf(header.server_version, sizeof(header.server_version), "11.4.2-MariaDB");
    assert_int_equal(clone_stream_check_header(&header, &mariadb, STREAM_METHOD_XBSTREAM, &err), -1);
    assert_non_null(strstr(err.message, "11.4.2-MariaDB"));
    assert_non_null(strstr(err.message, "10.11.19-MariaDB"));
    snprintf(header.server_version, sizeof(header.server_version), "10.11.4-MariaDB");
    header.method = STREAM_METHOD_UNKNOWN;
    assert_int_equal(clone_stream_check_header(&header, &mariadb, STREAM_METHOD_XBSTREAM, &err), -1);
    header.method =
        STREAM_METHOD_SQL; /* a dump is MySQL's way only, and of its own series: it holds the system tables */
    assert_int_equal(clone_stream_check_header(&header, &mariadb, STREAM_METHOD_XBSTREAM, &err), -1);
    snprintf(header.flavour, sizeof(header.flavour), "mysql");
    snprintf(header.server_version, sizeof(header.server_version), "8.0.11");
    assert_int_equal(clone_stream_check_header(&header, &mysql, STREAM_METHOD_SQL, &err), 0);
    assert_int_equal(clone_stream_check_header(&header, &mariadb, STREAM_METHOD_XBSTREAM, &err), -1);
    snprintf(header.server_version, sizeof(header.server_version), "5.7.44");
    assert_int_equal(clone_stream_check_header(&header, &mysql, STREAM_METHOD_SQL, &err), -1);
    assert_non_null(strstr(err.message, "5.7.44"));
}

static void test_path(void **state)
{
    static const struct {
        const char *version;
        bool has_tool;
        enum seed_path path;
    } rows[] = {
        {"10.6.18-MariaDB", true, SEED_PATH_PHYSICAL},
        {"11.4.5-MariaDB", true, SEED_PATH_PHYSICAL},
        {"11.4.5-MariaDB", false, SEED_PATH_LOGICAL},
        {"5.7.44", false, SEED_PATH_LOGICAL},
        {"5.7.44-log", true, SEED_PATH_LOGICAL},
        {"8.0.11", false, SEED_PATH_LOGICAL},
        {"8.0.21", true, SEED_PATH_LOGICAL}, /* CLONE is there, but still stops DDL on the donor */
        {"8.0.22", true, SEED_PATH_CLONE},
        {"8.0.22", false, SEED_PATH_LOGICAL},
        {"8.0.26", false, SEED_PATH_LOGICAL},
        {"8.0.36-28", true, SEED_PATH_CLONE},
        {"8.4.0", true, SEED_PATH_CLONE},
        {"9.7.4-2", true, SEED_PATH_CLONE},
        {"9.7.4-2", false, SEED_PATH_LOGICAL},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server_version version;
        assert_int_equal(server_version_parse(rows[i].version, NULL, &version, NULL), 0);
        if (seed_path_choose(&version, rows[i].has_tool) != rows[i].path)
            fail_msg("%s: %d", rows[i].version, seed_path_choose(&version, rows[i].has_tool));
    }
}

static void test_clone_statement(void **state)
{
    struct agent_order order = {.donor_host = "c1-mysql-0.c1-mysql.ns.svc", .donor_port = 3306};
    _cleanup_(strbuf_release) struct strbuf sql;

    UNUSED(state);
    strbuf_init(&sql, 4096);
    clone_mysql_statement(&order, "p'w\\", "/v/data.new", &sql);
    assert_string_equal(sql.buf,
        "CLONE INSTANCE FROM 'replication'@'c1-mysql-0.c1-mysql.ns.svc':3306 IDENTIFIED BY 'p\\'w\\\\' "
        "DATA DIRECTORY = '/v/data.new' REQUIRE SSL");
}

/* ---- the volume ---- */

static char *volume(struct agent_paths *paths)
{
    char *dir = xasprintf("%s/seed-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");

    assert_non_null(mkdtemp(dir));
    agent_paths_init(paths, dir, dir, dir, dir, dir, dir);
    return dir;
}

static void put(const char *dir, const char *name, const char *text)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, name);

    assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0600, NULL), 0);
}

static void test_files(void **state)
{
    struct agent_paths paths;
    _cleanup_(freep) char *dir = volume(&paths);
    uint64_t epoch = 9;
    enum agent_mark mark = AGENT_MARK_LEFT;

    UNUSED(state);
    assert_int_equal(epoch_file_read(&paths, &epoch, NULL), 0);
    assert_true(epoch == 0);
    assert_int_equal(epoch_file_write(&paths, UINT64_MAX, NULL), 0);
    assert_int_equal(epoch_file_read(&paths, &epoch, NULL), 0);
    assert_true(epoch == UINT64_MAX);
    static const char *const bad[] = {"", "x\n", "12", "-1\n", " 3\n", "99999999999999999999999\n", "1\n2\n"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        put(paths.state_dir, "epoch", bad[i]);
        assert_int_equal(epoch_file_read(&paths, &epoch, NULL), -1);
    }
    assert_int_equal(volume_mark_read(&paths, &mark, NULL), 0);
    assert_int_equal(mark, AGENT_MARK_NONE);
    assert_int_equal(volume_mark_write(&paths, AGENT_MARK_LEFT, NULL), 0);
    assert_int_equal(volume_mark_read(&paths, &mark, NULL), 0);
    assert_int_equal(mark, AGENT_MARK_LEFT);
    put(paths.state_dir, "mark", "of a newer agent\n");
    assert_int_equal(volume_mark_read(&paths, &mark, NULL), 0);
    assert_int_equal(mark, AGENT_MARK_RESEED);
    assert_int_equal(volume_mark_write(&paths, AGENT_MARK_NONE, NULL), 0);
    assert_int_equal(volume_mark_write(&paths, AGENT_MARK_NONE, NULL), 0);
    assert_int_equal(volume_mark_read(&paths, &mark, NULL), 0);
    assert_int_equal(mark, AGENT_MARK_NONE);
    assert_int_equal(fs_remove_all(dir, NULL), 0);
    agent_paths_release(&paths);
}

static bool there(const char *dir, const char *name)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, name);

    return fs_exists(path);
}

/* I7, I8: the old data goes only when the new is in its place, and only if that was ordered. */
static void test_publish(void **state)
{
    struct agent_paths paths;
    _cleanup_(freep) char *dir = volume(&paths);
    _cleanup_(freep) char *old = xasprintf("%s/data.old", dir);
    struct error err = ERROR_INIT;

    UNUSED(state);
    assert_int_equal(datadir_begin(&paths, NULL), 0);
    put(paths.data_new_dir, "first", "");
    assert_int_equal(datadir_publish(&paths, false, NULL), 0);
    assert_true(there(paths.data_dir, "first"));
    assert_int_equal(datadir_begin(&paths, NULL), 0);
    put(paths.data_new_dir, "second", "");
    assert_int_equal(datadir_publish(&paths, false, &err), -1);
    assert_int_equal(err.kind, ERROR_EXISTS);
    assert_true(there(paths.data_dir, "first"));
    assert_int_equal(datadir_publish(&paths, true, NULL), 0);
    assert_true(there(paths.data_dir, "second"));
    assert_false(there(paths.data_dir, "first"));
    assert_false(fs_exists(paths.data_new_dir));
    /* A crash between the two renames of a file system that cannot exchange. */
    assert_int_equal(rename(paths.data_dir, old), 0);
    assert_int_equal(datadir_recover(&paths, NULL), 0);
    assert_true(there(paths.data_dir, "second"));
    assert_int_equal(fs_remove_all(dir, NULL), 0);
    agent_paths_release(&paths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decide),
        cmocka_unit_test(test_space),
        cmocka_unit_test(test_binlog_info),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_clone_statement),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_publish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
