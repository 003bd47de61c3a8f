/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/server_features.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

/* As --verbose --help of 10.5.23 and 10.11.19 ends. */
#define OLD_MARIADB                                                        \
    "log-bin-trust-function-creators                              FALSE\n" \
    "log-disabled-statements                                      sp\n"
#define NEW_MARIADB                                                        \
    "log-bin-trust-function-creators                              FALSE\n" \
    "log-ddl-recovery                                             ddl_recovery.log\n"

static void test_what_comes_first(void **unused)
{
    static const struct {
        enum agent_flavour flavour;
        const char *help;
        bool log_first;
    } rows[] = {
        {AGENT_FLAVOUR_MARIADB, OLD_MARIADB, false},
        {AGENT_FLAVOUR_MARIADB, NEW_MARIADB, true},
        {AGENT_FLAVOUR_MARIADB, "", false},
        {AGENT_FLAVOUR_MARIADB, "  see log-ddl-recovery \n", false},
        {AGENT_FLAVOUR_MARIADB, "log-ddl-recovery-dir  x\n", false},
        {AGENT_FLAVOUR_MYSQL, "", true},
        {AGENT_FLAVOUR_PERCONA, "", true},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct server_features features = {0};
        server_features_parse(rows[i].flavour, rows[i].help, &features);
        assert_int_equal(features.log_first, rows[i].log_first);
    }
}

/* 5.6.21, with --plugin-load-add=semisync_master.so, and 9.7.4. */
#define OLD_MYSQL                                                                          \
    "lc-messages                                                en_US\n"                   \
    "lc-messages-dir                                            /usr/local/mysql/share/\n" \
    "rpl-semi-sync-master-wait-no-slave                         TRUE\n"
#define NEW_MYSQL                                                                    \
    "initialize                                                 FALSE\n"             \
    "lc-messages-dir                                            /usr/share/mysql/\n" \
    "rpl-semi-sync-source-wait-point                            AFTER_SYNC\n"        \
    "super-read-only                                            FALSE\n"

static void test_what_a_server_lacks(void **unused)
{
    struct server_features features = {0};

    UNUSED(unused);
    server_features_parse(AGENT_FLAVOUR_MYSQL, OLD_MYSQL, &features);
    assert_false(features.initialises);
    assert_string_equal(features.share_dir, "/usr/local/mysql/share/");
    assert_string_equal(server_features_lacking(&features), "super_read_only and no lossless semi-sync");
    features.lossless_semi_sync = true;
    assert_string_equal(server_features_lacking(&features), "super_read_only");
    server_features_parse(AGENT_FLAVOUR_MYSQL, NEW_MYSQL, &features);
    assert_true(features.initialises);
    assert_true(features.lossless_semi_sync);
    assert_string_equal(server_features_lacking(&features), "");
    server_features_parse(AGENT_FLAVOUR_MARIADB, OLD_MARIADB, &features);
    assert_true(features.initialises);
    assert_string_equal(features.share_dir, "");
    assert_string_equal(server_features_lacking(&features), "");
}

/* basedir is set only for a server that was built for another folder, if nothing is there. */
static void test_an_archive_at_another_place(void **unused)
{
    _cleanup_(freep) char *dir = xasprintf("%s/opt", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    _cleanup_(freep) char *share = xasprintf("%s/share", dir);
    _cleanup_(freep) char *program = xasprintf("%s/bin/mariadbd", dir);
    char found[SERVER_SHARE_DIR_SIZE];

    UNUSED(unused);
    server_features_base_dir("/nowhere/", program, found, sizeof(found));
    assert_string_equal(found, ""); /* no archive either */
    assert_int_equal(fs_mkdir_all(share, 0755, NULL), 0);
    server_features_base_dir("/nowhere/", program, found, sizeof(found));
    assert_string_equal(found, dir);
    server_features_base_dir("/usr/", program, found, sizeof(found));
    assert_string_equal(found, ""); /* its own files are there */
    server_features_base_dir("", program, found, sizeof(found));
    assert_string_equal(found, ""); /* it does not say */
    server_features_base_dir("/nowhere/", "mariadbd", found, sizeof(found));
    assert_string_equal(found, "");
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_comes_first),
        cmocka_unit_test(test_what_a_server_lacks),
        cmocka_unit_test(test_an_archive_at_another_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
