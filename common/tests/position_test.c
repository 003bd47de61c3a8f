/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/position.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

#define U1 "3e11fa47-71ca-11e1-9e33-c80aa9429562"

static char *long_text(size_t len)
{
    char *text = xmalloc(len + 1);
    memset(text, '1', len);
    text[len] = '\0';
    return text;
}

static void a_text_is_stored_once(void **state)
{
    (void)state;
    _cleanup_(position_pool_unrefp) struct position_pool *pool = position_pool_new(100);
    const char *first = position_take(pool, "0-1-5");
    char again[] = "0-1-5";
    assert_string_equal(first, "0-1-5");
    assert_ptr_equal(position_take(pool, again), first);
    assert_ptr_equal(position_take(pool, first), first);
    assert_int_equal(position_pool_size(pool), 5);
    assert_string_equal(position_take(pool, NULL), "");
    assert_string_equal(position_take(pool, ""), "");
    assert_int_equal(position_pool_size(pool), 5);
}

static void many_texts_are_found_again(void **state)
{
    (void)state;
    enum { COUNT = 500 };
    _cleanup_(position_pool_unrefp) struct position_pool *pool = position_pool_new((size_t)(16 * KM_KIB));
    const char *taken[COUNT];
    char text[32];
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof(text), "0-1-%d", i + 1);
        taken[i] = position_take(pool, text);
    }
    size_t size = position_pool_size(pool);
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof(text), "0-1-%d", i + 1);
        assert_ptr_equal(position_take(pool, text), taken[i]);
        assert_string_equal(taken[i], text);
    }
    assert_int_equal(position_pool_size(pool), size);
}

/* A copy of a struct is as good as the struct, as long as anybody holds the pool. */
static void positions_live_as_long_as_their_pool(void **state)
{
    (void)state;
    struct position_pool *pool = position_pool_new(100), *other = position_pool_ref(pool);
    const char *position = position_take(pool, "0-1-5");
    position_pool_unref(pool);
    assert_string_equal(position, "0-1-5");
    assert_ptr_equal(position_take(other, "0-1-5"), position);
    position_pool_unref(other);
    position_pool_unref(NULL);
    assert_null(position_pool_ref(NULL));
}

static void what_is_too_long_is_not_cut(void **state)
{
    (void)state;
    _cleanup_(position_pool_unrefp) struct position_pool *pool = position_pool_new(3 * POSITION_TEXT_MAX);
    _cleanup_(freep) char *longest = long_text(POSITION_TEXT_MAX), *longer = long_text(POSITION_TEXT_MAX + 1);
    assert_string_equal(position_take(pool, longest), longest);
    assert_string_equal(position_take(pool, longer), POSITION_TOO_LONG);
    assert_int_equal(position_pool_size(pool), POSITION_TEXT_MAX);
}

static void a_pool_has_a_maximum(void **state)
{
    (void)state;
    _cleanup_(position_pool_unrefp) struct position_pool *pool = position_pool_new(12);
    assert_string_equal(position_take(pool, "0-1-5"), "0-1-5");
    assert_string_equal(position_take(pool, "0-1-1000"), POSITION_TOO_LONG); /* 13 */
    assert_string_equal(position_take(pool, "0-1-100"), "0-1-100");
    assert_string_equal(position_take(pool, "1"), POSITION_TOO_LONG);
    assert_string_equal(position_take(pool, "0-1-5"), "0-1-5");
    assert_string_equal(position_take(pool, POSITION_TOO_LONG), POSITION_TOO_LONG);
    assert_int_equal(position_pool_size(pool), 12);
}

static void only_whole_ones_are_read(void **state)
{
    static const struct {
        const char *text;
        bool whole, readable;
    } rows[] = {
        {NULL, true, true}, {"", true, true}, {U1 ":1-5", true, true}, {"?", true, false},
        {POSITION_TOO_LONG, false, false}, {U1 ":1-5,3e11fa47-71ca...", false, false}, /* as an earlier version cut it */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(gtid_set_freep) struct gtid_set *set = position_parse(GTID_MYSQL, rows[i].text);
        assert_int_equal(position_is_whole(rows[i].text), rows[i].whole);
        assert_int_equal(set != NULL, rows[i].readable);
    }
    assert_true(position_same(NULL, ""));
    assert_true(position_same("0-1-5", "0-1-5"));
    assert_false(position_same("0-1-5", NULL));
}

static struct gtid_set *set_of_servers(int count)
{
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, GTID_TEXT_MAX);
    for (int i = 0; i < count; i++)
        strbuf_addf(&text, "%s%08x-71ca-11e1-9e33-c80aa9429562:1-%d", i ? "," : "", i, 10000000 + i);
    return gtid_set_parse(GTID_MYSQL, text.buf, NULL);
}

static void sets_of_many_servers_are_printed_whole_or_not(void **state)
{
    (void)state;
    _cleanup_(position_pool_unrefp) struct position_pool *pool = position_pool_new(2 * POSITION_TEXT_MAX);
    _cleanup_(gtid_set_freep) struct gtid_set *some = set_of_servers(400), *many = set_of_servers(1400);
    const char *position = position_print(pool, some);
    _cleanup_(gtid_set_freep) struct gtid_set *again = position_parse(GTID_MYSQL, position);
    assert_non_null(again);
    assert_int_equal(gtid_set_compare(some, again), GTID_EQUAL);
    assert_true(strlen(position) > 18000);
    assert_string_equal(position_print(pool, many), POSITION_TOO_LONG);
    _cleanup_(gtid_set_freep) struct gtid_set *none = gtid_set_new(GTID_MYSQL);
    assert_string_equal(position_print(pool, none), "");
}

/* Any set that a server prints in so many bytes: numbers that do not touch each other are the most that they can
 * hold. */
static void the_longest_position_has_intervals_that_can_be_read(void **state)
{
    (void)state;
    _cleanup_(strbuf_release) struct strbuf text;
    strbuf_init(&text, POSITION_TEXT_MAX);
    strbuf_adds(&text, U1);
    for (int number = 1; !text.overflowed; number += 2)
        strbuf_addf(&text, ":%d", number);
    assert_true(text.len > POSITION_TEXT_MAX - 8);
    _cleanup_(gtid_set_freep) struct gtid_set *set = position_parse(GTID_MYSQL, text.buf);
    assert_non_null(set);
}

static void what_is_told_is_whole_or_a_reference(void **unused)
{
    char told[POSITION_TOLD_SIZE], text[POSITION_TOLD_SIZE + 1];

    UNUSED(unused);
    position_tell(told, NULL);
    assert_string_equal(told, "");
    position_tell(told, "0-1-7");
    assert_string_equal(told, "0-1-7");
    memset(text, '1', sizeof(text));
    text[POSITION_TOLD_SIZE - 1] = '\0';
    position_tell(told, text);
    assert_string_equal(told, text);
    text[POSITION_TOLD_SIZE - 1] = '1';
    text[POSITION_TOLD_SIZE] = '\0';
    position_tell(told, text);
    assert_string_equal(told, POSITION_TOO_LONG);
}

static void what_it_holds(void **unused)
{
    UNUSED(unused);
    assert_true(position_holds(GTID_MARIADB, "0-1-7,1-2-5", "0-1-6"));
    assert_true(position_holds(GTID_MARIADB, "0-1-7", "0-1-7"));
    assert_true(position_holds(GTID_MARIADB, "0-1-7", NULL));
    assert_false(position_holds(GTID_MARIADB, "0-1-7", "0-1-8"));
    assert_false(position_holds(GTID_MARIADB, "0-1-7", "0-1-7,1-2-5"));
    assert_false(position_holds(GTID_MARIADB, POSITION_TOO_LONG, "0-1-7"));
    assert_false(position_holds(GTID_MARIADB, POSITION_TOO_LONG, POSITION_TOO_LONG));
    assert_false(position_holds(GTID_MARIADB, "what is no position", "0-1-7"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_stored_once),
        cmocka_unit_test(many_texts_are_found_again),
        cmocka_unit_test(positions_live_as_long_as_their_pool),
        cmocka_unit_test(what_is_too_long_is_not_cut),
        cmocka_unit_test(a_pool_has_a_maximum),
        cmocka_unit_test(what_is_told_is_whole_or_a_reference),
        cmocka_unit_test(only_whole_ones_are_read),
        cmocka_unit_test(what_it_holds),
        cmocka_unit_test(sets_of_many_servers_are_printed_whole_or_not),
        cmocka_unit_test(the_longest_position_has_intervals_that_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
