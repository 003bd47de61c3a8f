/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/error.h"

#include <errno.h>
#include <setjmp.h>
#include <cmocka.h>

static void test_set_and_prefix(void **state)
{
    UNUSED(state);
    struct error err = ERROR_INIT;
    err.retry_after_ms = 5;
    assert_int_equal(error_set(&err, ERROR_CONFLICT, "%s %d", "pod", 7), -1);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_int_equal(err.code, 0);
    assert_int_equal(err.retry_after_ms, 0);
    assert_string_equal(err.message, "pod 7");
    assert_int_equal(error_prefix(&err, "patch %s", "x"), -1);
    assert_string_equal(err.message, "patch x: pod 7");
    assert_int_equal(err.kind, ERROR_CONFLICT);
    error_set_code(&err, ERROR_UNAVAILABLE, 503, "again: %s", err.message);
    assert_string_equal(err.message, "again: patch x: pod 7");
    assert_int_equal(err.code, 503);
    error_clear(&err);
    assert_int_equal(err.kind, ERROR_NONE);
    assert_int_equal(err.code, 0);
    assert_string_equal(err.message, "");
}

static void test_null_is_fine(void **state)
{
    UNUSED(state);
    assert_int_equal(error_set(NULL, ERROR_IO, "x"), -1);
    assert_int_equal(error_set_code(NULL, ERROR_IO, 1, "x"), -1);
    assert_int_equal(error_set_errno(NULL, ENOENT, "x"), -1);
    assert_int_equal(error_prefix(NULL, "x"), -1);
    error_clear(NULL);
    assert_false(error_is_transient(NULL));
}

static void test_errno(void **state)
{
    UNUSED(state);
    static const struct {
        int errnum;
        enum error_kind kind;
    } cases[] = {{ENOENT, ERROR_NOT_FOUND}, {EACCES, ERROR_FORBIDDEN}, {EPERM, ERROR_FORBIDDEN}, {EEXIST, ERROR_EXISTS},
        {ECONNREFUSED, ERROR_UNAVAILABLE}, {ETIMEDOUT, ERROR_TIMEOUT}, {ENOSPC, ERROR_IO}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = ERROR_INIT;
        assert_int_equal(error_set_errno(&err, cases[i].errnum, "open %s", "/x"), -1);
        assert_int_equal(err.kind, cases[i].kind);
        assert_int_equal(err.code, cases[i].errnum);
    }
    struct error err = ERROR_INIT;
    error_set_errno(&err, ENOENT, "open %s", "/x");
    assert_string_equal(err.message, "open /x: No such file or directory");
}

static void test_long_messages_are_cut_between_characters(void **state)
{
    UNUSED(state);
    for (int shift = 0; shift < 4; shift++) {
        char text[1024];
        memset(text, 'a', sizeof(text));
        for (size_t i = (size_t)shift; i + 2 < sizeof(text); i += 2)
            memcpy(text + i, "\xc3\xa9", 2);
        text[sizeof(text) - 1] = '\0';
        struct error err = ERROR_INIT;
        error_set(&err, ERROR_IO, "%s", text);
        size_t len = strlen(err.message);
        assert_true(len <= ERROR_MESSAGE_MAX - 1 && len >= ERROR_MESSAGE_MAX - 3);
        assert_string_equal(err.message + len - 3, "...");
        assert_int_equal((unsigned char)err.message[len - 4], 0xa9);
        error_prefix(&err, "%s", "head");
        assert_memory_equal(err.message, "head: ", 6);
        len = strlen(err.message);
        assert_string_equal(err.message + len - 3, "...");
    }
}

static void test_names_and_transience(void **state)
{
    UNUSED(state);
    for (int kind = 0; kind < ERROR_KIND_COUNT; kind++)
        assert_true(strlen(error_kind_name((enum error_kind)kind)) > 1);
    assert_string_equal(error_kind_name(ERROR_NOT_FOUND), "NotFound");
    assert_string_equal(error_kind_name(ERROR_KIND_COUNT), "Unknown");
    struct error err = {.kind = ERROR_UNAVAILABLE};
    assert_true(error_is_transient(&err));
    err.kind = ERROR_INVALID;
    assert_false(error_is_transient(&err));
    err.kind = ERROR_NONE;
    assert_false(error_is_transient(&err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_prefix),
        cmocka_unit_test(test_null_is_fine),
        cmocka_unit_test(test_errno),
        cmocka_unit_test(test_long_messages_are_cut_between_characters),
        cmocka_unit_test(test_names_and_transience),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
