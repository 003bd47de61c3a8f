/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/trial_stories.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "agent/tests/seed_rig.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"

#define INSTANCE                                                                               \
    "{\"namespace\":\"ns\",\"cluster\":\"demo\",\"clusterUID\":\"u-1\",\"serverIdBase\":1000," \
    "\"serviceDomain\":\"demo-mysql.ns.svc\",\"replicas\":1,\"start\":%s}"
/* More than a volume of a node, and than a check needs of its memory. */
#define LARGE                                                                                  \
    "innodb_buffer_pool_size = 600M\nloose_innodb_redo_log_capacity = 400G\n"                  \
    "loose_innodb_log_file_size = 400G\ninnodb_temp_data_file_path = ibtmp1:300G:autoextend\n" \
    "loose_aria_pagecache_buffer_size = 400M\nkey_buffer_size = 400M\n"

#define BEYOND "innodb_buffer_pool_size = 1024T\n"
#define BEYOND_WHY "innodb_buffer_pool_size = 1024T is more than the memory of its node ("

static const char *mysql_root;

/* The exit code; what it says is in termination and check.log. */
static int check(struct agent_rig *rig, const char *lines, bool start)
{
    _cleanup_(freep) char *mycnf = xasprintf("[mysqld]\n%s", lines);
    _cleanup_(freep) char *instance = xasprintf(INSTANCE, start ? "true" : "false");
    int64_t begin_ms = clock_monotonic_ms();

    agent_rig_put(rig, "config/my.cnf", mycnf);
    agent_rig_put(rig, "config/instance.json", instance);
    agent_rig_put(rig, "termination", "");
    struct agent_process process = agent_rig_start(rig, "check");
    int code = agent_rig_wait(&process);
    _cleanup_(strbuf_release) struct strbuf said;
    strbuf_init(&said, KM_MIB);
    if (fs_read_file(agent_rig_path(rig, "termination"), &said, NULL) == 0 && said.len > 0)
        print_message("it says: %s\n", said.buf);
    print_message("a check%s took %lld ms\n", start ? " that starts the server" : "",
        (long long)(clock_monotonic_ms() - begin_ms));
    return code;
}

static void expect_says(const struct agent_rig *rig, const char *text)
{
    _cleanup_(strbuf_release) struct strbuf said;

    strbuf_init(&said, KM_MIB);
    assert_int_equal(fs_read_file(agent_rig_path(rig, "termination"), &said, NULL), 0);
    if (!strstr(str_or_empty(said.buf), text))
        fail_msg("it does not say \"%s\": %s", text, str_or_empty(said.buf));
}

static void test_a_server_that_starts(void **unused)
{
    struct agent_rig *rig = agent_rig_new_in(mysql_root);

    UNUSED(unused);
    assert_int_equal(check(rig, "max_connections = 77\nlower_case_table_names = 1\n", false), 0);
    assert_false(agent_rig_has(rig, "vol/data"));
    assert_int_equal(check(rig,
                         "max_connections = 77\nlower_case_table_names = 1\ninnodb_page_size = 8k\n"
                         "character_set_server = latin2\ndefault_time_zone = Europe/Berlin\nmax_allowed_packet = 5G\n",
                         true),
        0);
    assert_true(agent_rig_has(rig, "vol/data"));
    expect_says(rig, "'max_allowed_packet'");
    assert_true(agent_rig_file_says(rig, "check.log", "the server starts"));
    agent_rig_free(rig);
}

/* What the look lets pass, what the start says, and whom it names. */
static void test_what_only_a_start_finds(void **unused)
{
    static const struct {
        const char *line, *named;
    } cases[] = {
        {"default_time_zone = Nowhere/Land\n", "default_time_zone = Nowhere/Land: "},
        {"default_storage_engine = NOPE\n", "default_storage_engine = NOPE: "},
        {"innodb_log_group_home_dir = /no/such/folder\n", "innodb_log_group_home_dir = /no/such/folder: "},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent_rig *rig = agent_rig_new_in(mysql_root);
        assert_int_equal(check(rig, cases[i].line, false), 0);
        assert_int_equal(check(rig, cases[i].line, true), 1);
        expect_says(rig, cases[i].named);
        expect_says(rig, "does not start");
        agent_rig_free(rig);
    }
}

/* It starts and answers, and yet nobody could write, nor a replica follow. */
static void test_a_server_that_takes_no_rows(void **unused)
{
    struct agent_rig *rig = agent_rig_new_in(mysql_root);

    UNUSED(unused);
    assert_int_equal(check(rig, "innodb_force_recovery = 6\n", true), 1);
    expect_says(rig, "innodb_force_recovery = 6: ");
    expect_says(rig, "starts, but takes no rows");
    agent_rig_free(rig);
}

static uint64_t bytes_below(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *entry;
    uint64_t sum = 0;

    while (dir && (entry = readdir(dir))) {
        _cleanup_(freep) char *child = xasprintf("%s/%s", path, entry->d_name);
        struct stat st;
        if (str_eq(entry->d_name, ".") || str_eq(entry->d_name, "..") || lstat(child, &st) < 0)
            continue;
        sum += S_ISDIR(st.st_mode) ? bytes_below(child) : (uint64_t)st.st_blocks * 512;
    }
    if (dir)
        closedir(dir);
    return sum;
}

static void test_sizes_are_cut(void **unused)
{
    struct agent_rig *rig = agent_rig_new_in(mysql_root);

    UNUSED(unused);
    assert_int_equal(check(rig, LARGE, true), 0);
    assert_true(agent_rig_file_says(rig, "check.log", "innodb_buffer_pool_size = 256M instead of 600M"));
    assert_true(agent_rig_file_says(rig, "check.log", "innodb_temp_data_file_path = ibtmp1:256M:autoextend"));
    uint64_t bytes = bytes_below(agent_rig_path(rig, "vol"));
    print_message("scratch data: %llu MiB\n", (unsigned long long)(bytes / (uint64_t)KM_MIB));
    assert_true(bytes > (uint64_t)(20 * KM_MIB) && bytes < (uint64_t)(1536 * KM_MIB));
    agent_rig_free(rig);
}

static void test_scratch_data_that_cannot_be_made(void **unused)
{
    struct agent_rig *rig = agent_rig_new_in(mysql_root);

    UNUSED(unused);
    assert_int_equal(check(rig, "innodb_data_file_path = nonsense\n", true), 1);
    expect_says(rig, "innodb_data_file_path = nonsense: ");
    agent_rig_free(rig);
}

static void test_a_cache_beyond_the_node(void **unused)
{
    struct agent_rig *rig = agent_rig_new_in(mysql_root);

    UNUSED(unused);
    assert_int_equal(check(rig, BEYOND, false), 1);
    expect_says(rig, BEYOND_WHY);
    assert_int_equal(check(rig, BEYOND, true), 1);
    expect_says(rig, BEYOND_WHY);
    assert_false(agent_rig_has(rig, "vol/data")); /* nothing was made, nothing started */
    agent_rig_free(rig);
}

/* POST to /v1/mycnf/VERB of what it has and these lines: the answer. */
static void post(struct agent_rig *rig, const char *verb, const char *lines, int status, const char *answers)
{
    _cleanup_(freep) char *path = xasprintf("/v1/mycnf/%s", verb);
    _cleanup_(strbuf_release) struct strbuf mycnf, body;

    strbuf_init(&mycnf, KM_MIB);
    strbuf_init(&body, KM_MIB);
    assert_int_equal(fs_read_file(agent_rig_path(rig, "config/my.cnf"), &mycnf, NULL), 0);
    strbuf_adds(&mycnf, lines);
    assert_int_equal(agent_rig_tls(rig, "operator", path, mycnf.buf, &body), status);
    if (!strstr(body.buf, answers))
        fail_msg("not %s: %s", answers, body.buf);
}

static void preview(struct agent_rig *rig, const char *lines, const char *answers)
{
    post(rig, "preview", lines, 200, answers);
}

static void test_preview(void **unused)
{
    struct agent_rig *rig = agent_rig_new_in(mysql_root);
    _cleanup_(strbuf_release) struct strbuf body;

    UNUSED(unused);
    strbuf_init(&body, KM_MIB);
    seed_rig_start_primary(rig);
    preview(rig, "max_connections = 77\n", "\"needsRestart\":[]");
    preview(rig, "max_connections = 77\ninnodb_log_group_home_dir = /tmp\n",
        "\"needsRestart\":[\"innodb_log_group_home_dir\"]");
    assert_true(seed_rig_is(rig, "SELECT @@max_connections = 77", "0"));
    assert_int_equal(agent_rig_tls(rig, "tls/tls", "/v1/mycnf/preview", "[mysqld]\n", &body), 403);
    agent_rig_free(rig);
}

/* A pool of that size would be set while the server runs: the descriptors of its pages alone take a node's memory. */
static void test_a_running_server_is_not_given_it(void **unused)
{
    struct agent_rig *rig = agent_rig_new_in(mysql_root);

    UNUSED(unused);
    seed_rig_start_primary(rig);
    assert_true(seed_rig_is(rig, "SELECT @@innodb_buffer_pool_size < 1 << 30", "1"));
    post(rig, "apply", "innodb_buffer_pool_size = 64M\n" BEYOND "max_connections = 77\n", 400, BEYOND_WHY);
    assert_true(seed_rig_is(rig, "SELECT @@max_connections = 77", "0"));
    post(rig, "apply", "innodb_buffer_pool_size = 64M\n", 200, "\"needsRestart\":[]");
    /* MySQL resizes the pool in the background. */
    assert_true(seed_rig_becomes(rig, "SELECT @@innodb_buffer_pool_size >> 20", "64"));
    agent_rig_free(rig);
}

int trial_stories_run(const char *root)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_that_starts),
        cmocka_unit_test(test_what_only_a_start_finds),
        cmocka_unit_test(test_a_server_that_takes_no_rows),
        cmocka_unit_test(test_sizes_are_cut),
        cmocka_unit_test(test_scratch_data_that_cannot_be_made),
        cmocka_unit_test(test_a_cache_beyond_the_node),
        cmocka_unit_test(test_preview),
        cmocka_unit_test(test_a_running_server_is_not_given_it),
    };

    mysql_root = root;
    return cmocka_run_group_tests_name(root ? "start check MySQL" : "start check MariaDB", tests, NULL, NULL);
}
