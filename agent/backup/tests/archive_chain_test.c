/* SPDX-License-Identifier: Apache-2.0 */
/* What names alone tell. */
#include "common/base.h"

#include "agent/backup/archive_chain.h"

#include <setjmp.h>
#include <cmocka.h>

#define AT(second) "-20261121T2045" second "Z"
#define DAY_MS ((int64_t)24 * 3600 * 1000)

static struct segment_list chain_of(const char *const *names)
{
    struct segment_list chain = {0};

    for (; *names; names++)
        assert_int_equal(segment_list_add(&chain, *names, NULL), 0);
    segment_list_sort(&chain);
    return chain;
}

static void test_sorted_and_joined(void **state)
{
    static const char *const names[] = {"f/0000000002-0000000001" AT("12") ".log",
        "f/0000000001-0000000002" AT("11") ".json", "f/0000000001-0000000002" AT("11") ".log",
        "f/0000000001-0000000001" AT("10") ".json", "f/README", "f/0000000001-0000000001" AT("10") ".json.old",
        "f/0000000001-0000000002" AT("10") ".json", NULL};
    _cleanup_(segment_list_release) struct segment_list chain = chain_of(names);
    size_t first = 9;
    size_t end = 9;

    UNUSED(state);
    assert_int_equal(chain.count, 4);
    assert_true(chain.entries[0].name.sequence == 1 && chain.entries[0].has_meta && !chain.entries[0].has_log);
    assert_true(chain.entries[1].name.sequence == 2 && !chain.entries[1].has_log);
    assert_true(chain.entries[2].name.sequence == 2 && chain.entries[2].has_meta && chain.entries[2].has_log);
    assert_true(chain.entries[3].name.epoch == 2 && !chain.entries[3].has_meta);
    /* A log alone makes no segment; two writers of one place are both there. */
    assert_true(archive_chain_newest(&chain, &first, &end));
    assert_true(first == 1 && end == 3);
}

static void test_empty(void **state)
{
    static const char *const names[] = {"0000000002-0000000001" AT("12") ".log", NULL};
    _cleanup_(segment_list_release) struct segment_list chain = chain_of(names);
    size_t first = 0;
    size_t end = 0;

    UNUSED(state);
    assert_false(archive_chain_newest(&chain, &first, &end));
}

static void test_begin(void **state)
{
    static const char *const names[] = {"0000000001-0000000003" AT("10") ".json", /* 0 */
        "0000000001-0000000005" AT("11") ".json",                                 /* 1: 4 is missing before it */
        "0000000001-0000000006" AT("12") ".json",                                 /* 2 */
        "0000000003-0000000001" AT("13") ".json",                                 /* 3 */
        "0000000003-0000000002" AT("14") ".json",                                 /* 4 */
        "0000000003-0000000002" AT("15") ".json",                                 /* 5: twice */
        "0000000003-0000000003" AT("16") ".log",                                  /* 6: no segment */
        "0000000004-0000000002" AT("17") ".json",                                 /* 7: its epoch's first is missing */
        "0000000004-0000000003" AT("18") ".json",                                 /* 8 */
        NULL};
    _cleanup_(segment_list_release) struct segment_list chain = chain_of(names);
    const struct binlog_segment_name oldest = {.epoch = 1, .sequence = 1};

    UNUSED(state);
    assert_int_equal(chain.count, 9);
    assert_int_equal(archive_chain_begin(&chain, 8, &oldest), 7);
    assert_int_equal(archive_chain_begin(&chain, 5, &oldest), 1);
    assert_int_equal(archive_chain_begin(&chain, 5, &chain.entries[2].name), 2);
    assert_int_equal(archive_chain_begin(&chain, 5, &chain.entries[5].name), 5);
    assert_int_equal(archive_chain_begin(&chain, 0, &oldest), 0);
}

static void test_orphans(void **state)
{
    struct segment_entry entry = {.name = {.archived_ms = DAY_MS}, .has_log = true};

    UNUSED(state);
    assert_false(archive_entry_is_orphan(&entry, 2 * DAY_MS));
    assert_true(archive_entry_is_orphan(&entry, 2 * DAY_MS + 1));
    entry.has_meta = true;
    assert_false(archive_entry_is_orphan(&entry, 9 * DAY_MS));
    /* What is still being written is not taken away. */
    assert_true(ARCHIVE_WRITE_MAX_MS < ARCHIVE_ORPHAN_MS);
}

static void test_next_name(void **state)
{
    const struct binlog_segment_name none = {0};
    const struct binlog_segment_name last = {.epoch = 3, .sequence = 9, .archived_ms = 5000};
    struct binlog_segment_name next = archive_name_next(&none, 3, 7999, 0);

    UNUSED(state);
    assert_true(next.epoch == 3 && next.sequence == 1 && next.archived_ms == 7000);
    next = archive_name_next(&last, 3, 7999, 7000);
    assert_true(next.epoch == 3 && next.sequence == 10 && next.archived_ms == 8000);
    next = archive_name_next(&last, 4, 7999, 6999);
    assert_true(next.epoch == 4 && next.sequence == 1 && next.archived_ms == 7000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorted_and_joined),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_begin),
        cmocka_unit_test(test_orphans),
        cmocka_unit_test(test_next_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
