/* SPDX-License-Identifier: Apache-2.0 */
/* Which stored backup a restore to a point begins from. */
#include "common/base.h"

#include "operator/cluster/restore/restore_choice.h"

#include <setjmp.h>
#include <cmocka.h>

#define UUID_A "aaaaaaaa-71ca-11e1-9e33-c80aa9429562"
#define UUID_B "bbbbbbbb-71ca-11e1-9e33-c80aa9429562"
#define NOON 1795262400000 /* 2026-11-21T12:00:00Z */

static void test_fits(void **state)
{
    UNUSED(state);
    static const struct {
        const char *name;
        struct restore_spec wish;
        const char *flavour, *gtid;
        int64_t completed_ms;
        int expected;
    } rows[] = {
        {"no point", {.point = RESTORE_POINT_NONE}, "mysql", UUID_A ":1-9", NOON, 1},
        {"all", {.point = RESTORE_POINT_LATEST}, "mysql", UUID_A ":1-9", NOON, 1},
        {"completed then", {.point = RESTORE_POINT_TIME, .until_ms = NOON}, "mysql", "", NOON, 1},
        {"completed after", {.point = RESTORE_POINT_TIME, .until_ms = NOON}, "mysql", "", NOON + 1, 0},
        {"a set that holds it", {.point = RESTORE_POINT_GTID, .until_gtid = UUID_A ":1-9"}, "mysql", UUID_A ":1-5", 1,
            1},
        {"the same set", {.point = RESTORE_POINT_GTID, .until_gtid = UUID_A ":1-9"}, "percona", UUID_A ":1-9", 1, 1},
        {"it holds more", {.point = RESTORE_POINT_GTID, .until_gtid = UUID_A ":1-9"}, "mysql", UUID_A ":1-10", 1, 0},
        {"it holds others", {.point = RESTORE_POINT_GTID, .until_gtid = UUID_A ":1-9"}, "mysql",
            UUID_A ":1-5," UUID_B ":1", 1, 0},
        {"one transaction to come", {.point = RESTORE_POINT_GTID, .until_gtid = UUID_A ":9"}, "mysql", UUID_A ":1-5", 1,
            1},
        {"the next one", {.point = RESTORE_POINT_GTID, .until_gtid = UUID_A ":6"}, "mysql", UUID_A ":1-5", 1, 1},
        {"one of a later primary", {.point = RESTORE_POINT_GTID, .until_gtid = UUID_B ":1"}, "mysql", UUID_A ":1-5", 1,
            1},
        {"one that it holds", {.point = RESTORE_POINT_GTID, .until_gtid = UUID_A ":5"}, "mysql", UUID_A ":1-5", 1, 0},
        {"mariadb, to come", {.point = RESTORE_POINT_GTID, .until_gtid = "0-2-100"}, "mariadb", "0-1-99", 1, 1},
        {"mariadb, the last one", {.point = RESTORE_POINT_GTID, .until_gtid = "0-1-99"}, "mariadb", "0-1-99", 1, 1},
        {"mariadb, it holds more", {.point = RESTORE_POINT_GTID, .until_gtid = "0-1-98"}, "mariadb", "0-1-99", 1, 0},
        {"mariadb, another's of that number", {.point = RESTORE_POINT_GTID, .until_gtid = "0-2-99"}, "mariadb",
            "0-1-99", 1, 0},
        {"mariadb, another domain, too", {.point = RESTORE_POINT_GTID, .until_gtid = "0-1-100"}, "mariadb",
            "0-1-99,1-1-5", 1, 0},
        {"a position that was cut", {.point = RESTORE_POINT_GTID, .until_gtid = "0-1-100"}, "mariadb", "0-1-99,1-1...",
            1, 0},
        {"another family's", {.point = RESTORE_POINT_GTID, .until_gtid = "0-1-100"}, "mysql", UUID_A ":1-5", 1, -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct backup_manifest manifest = {.completed_ms = rows[i].completed_ms};
        struct error err = ERROR_INIT;
        snprintf(manifest.id, sizeof(manifest.id), "b1");
        snprintf(manifest.flavour, sizeof(manifest.flavour), "%s", rows[i].flavour);
        manifest.gtid = rows[i].gtid;
        int fits = restore_fits(&rows[i].wish, &manifest, &err);
        if (fits != rows[i].expected)
            fail_msg("%s: %d", rows[i].name, fits);
        if (fits < 0)
            assert_non_null(strstr(err.message, "spec.restoreFrom.gtid: backup b1 is of mysql"));
    }
}

static void test_names(void **state)
{
    UNUSED(state);
    const struct restore_spec noon = {.point = RESTORE_POINT_TIME, .until_ms = NOON},
                              any = {.point = RESTORE_POINT_NONE};
    assert_true(restore_may_fit(&noon, "20261121T120000Z-nightly-1"));
    assert_true(restore_may_fit(&noon, "20261121T115959Z-nightly-1"));
    assert_false(restore_may_fit(&noon, "20261121T120001Z-nightly-1"));
    assert_true(restore_may_fit(&any, "20261121T120001Z-nightly-1"));
    assert_true(restore_may_fit(&noon, "by-hand")); /* its manifest will say */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
