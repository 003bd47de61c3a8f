/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/relay_keep.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

static void test_what_has_to_be_the_same(void **unused)
{
    static const struct {
        struct relay_keep noted, now;
        bool keep;
    } rows[] = {
        {{"", "", false, false}, {"a", "p", false, false}, false}, /* the first start, or an agent that noted nothing */
        {{"a", "p", false, false}, {"a", "p", false, false}, true},
        {{"a", "p", false, false}, {"b", "p", false, false}, false}, /* the node was started anew */
        {{"a", "p", false, false}, {"a", "q", false, false}, false}, /* another pod */
        {{"a", "p", true, false}, {"b", "q", true, false}, true},
        {{"a", "p", false, false}, {"b", "q", true, false}, false},
        {{"a", "p", true, false}, {"b", "q", false, false}, false},
        {{"a", "p", false, false}, {"", "p", false, false}, false},
        {{"a", "", false, false}, {"a", "", false, false}, false},
        {{"a", "p", false, true}, {"a", "p", false, false}, false}, /* those of an earlier boot are not dropped yet */
        {{"a", "p", true, true}, {"b", "q", true, false}, false},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (relay_keep_decide(&rows[i].noted, &rows[i].now) != rows[i].keep)
            fail_msg("row %zu", i);
    }
}

static const char *option(const struct agent_paths *paths, const char *banner)
{
    struct server_version version;

    assert_int_equal(server_version_parse_banner(banner, &version, NULL), 0);
    const char *text = relay_keep_option(paths, &version);
    return text ? text : "";
}

#define KEPT "--relay-log-recovery=OFF"
#define DROPPED "--relay-log-recovery=ON"
#define MYSQL "mysqld Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)"
#define MYSQL_5 "mysqld Ver 5.7.44 for Linux on x86_64 (MySQL Community Server (GPL))"
#define MARIADB "mariadbd Ver 10.11.19-MariaDB for debian-linux-gnu on x86_64 (Debian 12)"

/* The data folder, the run folder and the note of an agent in it. */
static void test_starts(void **unused)
{
    char dir[] = "/tmp/relay-keep-XXXXXX";
    struct error err = ERROR_INIT;

    UNUSED(unused);
    assert_non_null(mkdtemp(dir));
    _cleanup_(freep) char *mycnf = xasprintf("%s/my.cnf", dir);
    _cleanup_(freep) char *proof = xasprintf("%s/caught-up.json", dir);
    _cleanup_(freep) char *pod = xasprintf("%s/relay-pod", dir);
    _cleanup_(freep) char *noted = xasprintf("%s/data/kube-mysql-relay.json", dir);
    _cleanup_(freep) char *data = xasprintf("%s/data", dir);
    struct agent_paths paths = {.run_dir = dir, .data_dir = data, .run_mycnf = mycnf};
    assert_int_equal(fs_mkdir_all(data, 0700, &err), 0);
    assert_int_equal(fs_write_file_atomic(mycnf, "", 0, 0600, &err), 0);
    assert_int_equal(fs_write_file_atomic(proof, "{}", 2, 0600, &err), 0);
    assert_string_equal(option(&paths, MYSQL), DROPPED);
    assert_false(fs_exists(proof));
    assert_int_equal(fs_write_file_atomic(proof, "{}", 2, 0600, &err), 0);
    assert_string_equal(option(&paths, MYSQL), DROPPED); /* the server before may have been killed too soon */
    assert_false(fs_exists(proof));
    assert_int_equal(fs_write_file_atomic(proof, "{}", 2, 0600, &err), 0);
    assert_int_equal(relay_keep_dropped(&paths, &err), 0);
    assert_string_equal(option(&paths, MYSQL), KEPT);
    assert_string_equal(option(&paths, MARIADB), KEPT);
    assert_true(fs_exists(proof));
    assert_int_equal(unlink(noted), 0); /* another data folder */
    assert_string_equal(option(&paths, MYSQL), DROPPED);
    assert_int_equal(unlink(pod), 0); /* another pod */
    assert_string_equal(option(&paths, MYSQL), DROPPED);
    assert_int_equal(relay_keep_dropped(&paths, &err), 0);
    assert_int_equal(fs_write_file_atomic(mycnf, "sync_relay_log=1\n", 17, 0600, &err), 0);
    assert_string_equal(option(&paths, MYSQL), KEPT);
    assert_int_equal(unlink(pod), 0);
    assert_string_equal(option(&paths, MYSQL), DROPPED); /* of what is there, not all was synced */
    assert_true(relay_keep_is_dropping(&paths));
    assert_int_equal(relay_keep_dropped(&paths, &err), 0);
    assert_false(relay_keep_is_dropping(&paths));
    assert_int_equal(unlink(pod), 0);
    assert_string_equal(option(&paths, MYSQL), KEPT); /* synced before, and now */
    assert_int_equal(relay_keep_unsynced(&paths, &err), 0);
    assert_string_equal(option(&paths, MYSQL), KEPT); /* the same pod */
    assert_int_equal(unlink(pod), 0);
    assert_string_equal(option(&paths, MYSQL), DROPPED); /* it was not synced for a while, by SET GLOBAL */
    assert_int_equal(relay_keep_dropped(&paths, &err), 0);
    assert_int_equal(unlink(pod), 0);
    assert_string_equal(option(&paths, MYSQL), KEPT); /* what is there now was */
    assert_int_equal(fs_write_file_atomic(proof, "{}", 2, 0600, &err), 0);
    assert_string_equal(option(&paths, MYSQL_5), ""); /* as my.cnf has it */
    assert_false(fs_exists(proof));
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_has_to_be_the_same),
        cmocka_unit_test(test_starts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
