/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/sql_text.h"

#include <setjmp.h>
#include <cmocka.h>

static void expect(void (*add)(struct strbuf *, const char *), const char *input, const char *expected)
{
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, 1024);
    add(&out, input);
    assert_string_equal(out.buf, expected);
}

static void test_strings(void **unused)
{
    UNUSED(unused);
    expect(sql_add_string, "", "''");
    expect(sql_add_string, "it's", "'it\\'s'");
    expect(sql_add_string, "a\\' OR 1=1 -- ", "'a\\\\\\' OR 1=1 -- '");
    expect(sql_add_string, "\"\n\r\x1a", "'\\\"\\n\\r\\Z'");
    expect(sql_add_string, "päss", "'päss'");
}

static void test_identifiers(void **unused)
{
    UNUSED(unused);
    expect(sql_add_identifier, "shop", "`shop`");
    expect(sql_add_identifier, "a`b", "`a``b`");
    expect(sql_add_identifier, "`; DROP DATABASE mysql; --", "```; DROP DATABASE mysql; --`");
}

static void test_wildcards_of_grants(void **unused)
{
    _cleanup_(strbuf_release) struct strbuf out;

    UNUSED(unused);
    strbuf_init(&out, 1024);
    sql_add_grant_database(&out, "a_b%c\\", false);
    assert_string_equal(out.buf, "`a\\_b\\%c\\\\`");
    strbuf_reset(&out);
    sql_add_grant_database(&out, "a_b%`", true);
    assert_string_equal(out.buf, "`a_b%```");
}

static void test_accounts(void **unused)
{
    _cleanup_(strbuf_release) struct strbuf out;

    UNUSED(unused);
    strbuf_init(&out, 1024);
    sql_add_account(&out, "o'brien", "%");
    assert_string_equal(out.buf, "'o\\'brien'@'%'");
}

/* SELECT PASSWORD('password') on a server. */
static void test_native_hash(void **unused)
{
    char hash[SQL_NATIVE_HASH_SIZE];

    UNUSED(unused);
    sql_native_password_hash("password", hash);
    assert_string_equal(hash, "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_identifiers),
        cmocka_unit_test(test_wildcards_of_grants),
        cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_native_hash),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
