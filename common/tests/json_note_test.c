/* SPDX-License-Identifier: Apache-2.0 */
/* A record in a file: what json_note_write has written is read again, and a file without such a record is an error. */
#include "common/base.h"

#include "common/json_note.h"

#include <errno.h>
#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

#define MAX 200

struct sample {
    char name[16];
    const char *position;
    uint32_t number;
};

static const struct json_field fields[] = {
    JSON_FIELD(sample, "name", JSON_FIELD_TEXT, CHANGE_COUNTS, name),
    JSON_FIELD(sample, "position", JSON_FIELD_POSITION, CHANGE_COUNTS, position),
    JSON_FIELD(sample, "number", JSON_FIELD_U32, CHANGE_COUNTS, number),
};

static int enter_tmp(void **state)
{
    char dir[] = "/tmp/km-json-note-test-XXXXXX";
    if (!mkdtemp(dir) || chdir(dir) != 0)
        return -1;
    *state = xstrdup(dir);
    return 0;
}

static int leave_tmp(void **state)
{
    int rc = chdir("/") == 0 ? fs_remove_all(*state, NULL) : -1;
    free(*state);
    return rc;
}

static void what_is_written_is_read(void **state)
{
    struct sample sample = {.name = "shop", .position = "0-1-5", .number = 7}, got = {.name = ""};
    struct stat stat_of;
    _cleanup_(position_pool_unrefp) struct position_pool *pool = position_pool_new(MAX);
    (void)state;

    assert_int_equal(json_note_write("note", fields, ARRAY_LEN(fields), &sample, NULL), 0);
    assert_int_equal(json_note_read("note", MAX, fields, ARRAY_LEN(fields), pool, &got, NULL), 0);
    assert_string_equal(got.name, "shop");
    assert_string_equal(got.position, "0-1-5");
    assert_int_equal(got.number, 7);
    assert_int_equal(stat("note", &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0600);
}

static void what_is_no_record_is_told(void **state)
{
    static const char *const texts[] = {"", "[]", "{\"number\": 7", "{\"number\": \"seven\"}", "{\"name\": \""};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct sample got = {.name = ""};
        struct error err = ERROR_INIT;
        assert_int_equal(fs_write_file_atomic("note", texts[i], strlen(texts[i]), 0600, NULL), 0);
        assert_int_equal(json_note_read("note", MAX, fields, ARRAY_LEN(fields), NULL, &got, &err), -1);
        assert_false(str_empty(err.message));
    }
}

static void what_is_longer_than_it_may_be_is_refused(void **state)
{
    struct sample sample = {.name = "shop"}, got = {.name = ""};
    struct error err = ERROR_INIT;
    (void)state;

    assert_int_equal(json_note_write("note", fields, ARRAY_LEN(fields), &sample, NULL), 0);
    assert_int_equal(json_note_read("note", 8, fields, ARRAY_LEN(fields), NULL, &got, &err), -1);
    assert_int_equal(err.kind, ERROR_TOO_LARGE);
}

static void none_is_told_by_its_errno(void **state)
{
    struct sample got = {.name = ""};
    struct error err = ERROR_INIT;
    (void)state;

    unlink("note");
    assert_int_equal(json_note_read("note", MAX, fields, ARRAY_LEN(fields), NULL, &got, &err), -1);
    assert_int_equal(err.code, ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_no_record_is_told),
        cmocka_unit_test(what_is_longer_than_it_may_be_is_refused),
        cmocka_unit_test(none_is_told_by_its_errno),
    };
    return cmocka_run_group_tests_name("json_note", tests, enter_tmp, leave_tmp);
}
