/* SPDX-License-Identifier: Apache-2.0 */
/* What a row of CHECK TABLE means, and which positions count. The rest is tried with real servers:
 * agent/tests/check_stories.c. */
#include "common/base.h"

#include "agent/mysql/table_check.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/mysql/position_check.h"

static void rows_of_check_table(void **state)
{
    static const struct {
        const char *type, *text;
        bool damage;
    } rows[] = {
        {"status", "OK", false},
        {"status", "Table is already up to date", false},
        {"note", "The storage engine for the table doesn't support check", false},
        {"warning", "1 client is using or hasn't closed the table properly", false},
        {"Warning", "InnoDB: Index a is marked as corrupted", false},
        {"error", "Corrupt", true},
        {"Error", "Table 'd.t' doesn't exist in engine", true},
        {"status", "Operation failed", true},
        {"status", "Corrupt", true},
        {"", "", false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(table_check_is_damage(rows[i].type, rows[i].text), rows[i].damage);
}

static void positions_of_others(void **state)
{
    static const struct {
        const char *positions;
        uint32_t server_id;
        const char *wanted, *others;
    } cases[] = {
        {"", 7, "0-1-5", ""},
        {"0-1-100,0-7-130", 7, "0-1-100", "0-1-100"},
        {"0-1-90,0-7-130", 7, "0-1-100", "0-1-90"},
        {"0-7-130", 7, "0-1-100", ""},
        {"0-1-90,\n0-7-130", 7, "0-7-100", "0-1-90,0-7-130"}, /* the position itself was written under that number */
        {"0-1-90,1-7-3,1-2-2", 7, "0-1-90", "0-1-90,1-2-2"},
        {"0-17-5,0-7-6", 7, "", "0-17-5"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf out;
        strbuf_init(&out, KM_KIB);
        position_of_others(cases[i].positions, cases[i].server_id, cases[i].wanted, &out);
        assert_string_equal(out.buf, cases[i].others);
        strbuf_release(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_check_table),
        cmocka_unit_test(positions_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
