/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/copy_position.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

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
    assert_null(position.gtid);
}

/* A name, a file and a position. */
static char *many_domains(size_t len, const char *before)
{
    struct strbuf text;

    strbuf_init(&text, len + KM_KIB);
    strbuf_adds(&text, before);
    for (unsigned domain = 1; text.len < len; domain++)
        strbuf_addf(&text, "%s%u-1-1000000", domain > 1 ? "," : "", domain);
    return strbuf_detach(&text, NULL);
}

/* Our own tool's; nothing else is taken for it, and what is not whole is not. */
static void test_told(void **state)
{
    _cleanup_(freep) char *gtid = xstrdup("kept");
    _cleanup_(freep) char *too_many = many_domains(POSITION_TEXT_MAX + 100, COPY_POSITION_TOLD "'");
    _cleanup_(freep) char *many = many_domains(20000, COPY_POSITION_TOLD "'");
    _cleanup_(freep) char *too_long = xasprintf("%s'", too_many);
    _cleanup_(freep) char *whole = xasprintf("%s'", many);

    UNUSED(state);
    assert_false(copy_position_told("the server makes another copy", &gtid));
    assert_false(copy_position_told(COPY_POSITION_TOLD "'30bddb81-e6e1-11f1-8660-02fc00000001:1-34", &gtid));
    assert_false(copy_position_told("it is said that " COPY_POSITION_TOLD "'a:1'", &gtid));
    assert_false(copy_position_told(too_long, &gtid));
    assert_string_equal(gtid, "kept");
    assert_true(copy_position_told(COPY_POSITION_TOLD "'30bddb81-e6e1-11f1-8660-02fc00000001:1-34'", &gtid));
    assert_string_equal(gtid, "30bddb81-e6e1-11f1-8660-02fc00000001:1-34");
    assert_true(copy_position_told(whole, &gtid));
    assert_string_equal(gtid, many + strlen(COPY_POSITION_TOLD "'"));
    assert_true(copy_position_told(COPY_POSITION_TOLD "''", &gtid)); /* no transaction yet */
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
    _cleanup_(freep) char *many = many_domains(20000, "");

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *joined = NULL;
        assert_int_equal(copy_position_join(rows[i].told, rows[i].at_offset, &joined, NULL), 0);
        assert_string_equal(joined, rows[i].expect);
    }
    _cleanup_(freep) char *joined = NULL;
    assert_int_equal(copy_position_join(many, "", &joined, NULL), 0);
    assert_string_equal(joined, many);
}

static void test_join_refuses(void **state)
{
    _cleanup_(freep) char *joined = xstrdup("kept");
    _cleanup_(freep) char *many = many_domains((size_t)(65 * KM_KIB), "");
    _cleanup_(freep) char *line = xasprintf(SAYS "filename 'b.1', position '330', GTID of the last change '%s'", many);
    _cleanup_(copy_position_release) struct copy_position position = {.offset = 0};
    struct error err = ERROR_INIT;

    UNUSED(state);
    assert_int_equal(copy_position_join("0-1", "0-1-6", &joined, &err), -1);
    assert_int_equal(copy_position_join(many, "", &joined, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
    assert_non_null(strstr(err.message, "gtid: "));
    /* A position that is longer than the limit is an error, not an empty one. */
    assert_true(copy_position_find(line, &position));
    assert_int_equal(copy_position_join(position.gtid, "0-1-6", &joined, &err), -1);
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
