#include "common/base.h"

#include "agent/backup/copy_position.h"

#include <setjmp.h>
#include <cmocka.h>

#define SAYS "[00] 2026-11-21 14:43:58 MySQL binlog position: "

static void test_find(void **state)
{
    struct copy_position position = {0};

    UNUSED(state);
    assert_true(copy_position_find(
        SAYS "filename 'binlog.000001', position '23984779', GTID of the last change '0-1-42035'", &position));
    assert_string_equal(position.file, "binlog.000001");
    assert_int_equal(position.offset, 23984779);
    assert_string_equal(position.gtid, "0-1-42035");
    assert_false(copy_position_find("[00] 2026-11-21 14:43:58 completed OK!", &position));
    assert_false(copy_position_find(SAYS "filename 'binlog.000001", &position));
    assert_string_equal(position.file, "binlog.000001"); /* untouched */
    /* No transaction yet. */
    assert_true(copy_position_find(SAYS "filename 'binlog.000002', position '330'", &position));
    assert_string_equal(position.file, "binlog.000002");
    assert_string_equal(position.gtid, "");
}

/* Our own tool's; nothing else is taken for it, and what is not whole is not. */
static void test_told(void **state)
{
    char gtid[AGENT_GTID_SIZE] = "kept";
    char many[AGENT_GTID_SIZE + 40] = COPY_POSITION_TOLD "'";

    UNUSED(state);
    assert_false(copy_position_told("the server makes another copy", gtid));
    assert_false(copy_position_told(COPY_POSITION_TOLD "'30bddb81-e6e1-11f1-8660-02fc00000001:1-34", gtid));
    assert_false(copy_position_told("it is said that " COPY_POSITION_TOLD "'a:1'", gtid));
    memset(many + strlen(many), '1', sizeof(many) - strlen(many) - 2);
    many[sizeof(many) - 2] = '\'';
    assert_false(copy_position_told(many, gtid));
    assert_string_equal(gtid, "kept");
    assert_true(copy_position_told(COPY_POSITION_TOLD "'30bddb81-e6e1-11f1-8660-02fc00000001:1-34'", gtid));
    assert_string_equal(gtid, "30bddb81-e6e1-11f1-8660-02fc00000001:1-34");
    assert_true(copy_position_told(COPY_POSITION_TOLD "''", gtid)); /* no transaction yet */
    assert_string_equal(gtid, "");
}

static void test_join(void **state)
{
    static const struct {
        const char *told, *at_offset, *expect;
    } rows[] = {
        {"", "", ""},
        {"0-1-5", "", "0-1-5"},
        {"", "0-1-5", "0-1-5"},
        {"0-1-5", "0-1-6", "0-1-6"},
        {"0-2-7", "0-1-6", "0-2-7"},
        {"0-1-9,3-1-1", "0-2-10,1-4-2", "0-2-10,1-4-2,3-1-1"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char joined[AGENT_GTID_SIZE];
        assert_int_equal(copy_position_join(rows[i].told, rows[i].at_offset, joined, NULL), 0);
        assert_string_equal(joined, rows[i].expect);
    }
}

static void test_join_refuses(void **state)
{
    char joined[AGENT_GTID_SIZE] = "kept";
    char many[3 * AGENT_GTID_SIZE] = "";
    struct error err = ERROR_INIT;

    UNUSED(state);
    assert_int_equal(copy_position_join("0-1", "0-1-6", joined, &err), -1);
    for (size_t used = 0, domain = 1; used < 2 * AGENT_GTID_SIZE; domain++)
        used += (size_t)snprintf(many + used, sizeof(many) - used, "%zu-1-1000000,", domain);
    assert_int_equal(copy_position_join(many, "", joined, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_string_equal(joined, "kept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_join_refuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
