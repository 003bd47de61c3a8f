/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/dump_command.h"

#include <setjmp.h>
#include <cmocka.h>

static void test_it_fits_its_position_in_every_version(void **state)
{
    static const struct {
        const char *version, *lock;
    } rows[] = {
        {"5.7.44", "--master-data=2"},
        {"8.0.21", "--master-data=2"},
        {"8.0.25", "--master-data=2"},
        {"8.0.26", "--source-data=2"},
        {"8.4.0", "--source-data=2"},
        {"9.7.4-2", "--source-data=2"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(strvec_release) struct strvec argv;
        struct server_version version;
        strvec_init(&argv);
        assert_int_equal(server_version_parse(rows[i].version, NULL, &version, NULL), 0);
        dump_command(&version, "/usr/bin/mysqldump", "/run/s.sock", "mysql", &argv);
        assert_string_equal(argv.v[0], "/usr/bin/mysqldump");
        assert_string_equal(argv.v[1], "--no-defaults"); /* must be the first option */
        assert_true(strvec_contains(&argv, "--socket=/run/s.sock"));
        assert_true(strvec_contains(&argv, "--user=mysql"));
        assert_true(strvec_contains(&argv, "--single-transaction"));
        assert_true(strvec_contains(&argv, "--set-gtid-purged=ON"));
        if (!strvec_contains(&argv, rows[i].lock))
            fail_msg("%s without %s", rows[i].version, rows[i].lock);
    }
}

/* Without these two a dump says nothing of its position. */
static void test_mariadb(void **state)
{
    _cleanup_(strvec_release) struct strvec argv;

    UNUSED(state);
    strvec_init(&argv);
    dump_command_mariadb("/usr/bin/mariadb-dump", "/run/s.sock", "mysql", &argv);
    assert_string_equal(argv.v[0], "/usr/bin/mariadb-dump");
    assert_string_equal(argv.v[1], "--no-defaults");
    assert_true(strvec_contains(&argv, "--master-data=2"));
    assert_true(strvec_contains(&argv, "--gtid"));
    assert_true(strvec_contains(&argv, "--single-transaction"));
    assert_true(strvec_contains(&argv, "--all-databases"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_fits_its_position_in_every_version),
        cmocka_unit_test(test_mariadb),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
