/* SPDX-License-Identifier: Apache-2.0 */
/* Which archived segments go: never one that a backup needs. */
#include "common/base.h"

#include "operator/backup/archive_retention.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/tests/document_util.h"

#define OLD INT64_C(1700000000000)
#define NOW INT64_C(1795262400000)
#define UUID_A "aaaaaaaa-71ca-11e1-9e33-c80aa9429562"
#define UUID_B "bbbbbbbb-71ca-11e1-9e33-c80aa9429562"

static void test_may_begin(void **state)
{
    UNUSED(state);
    static const struct {
        const char *name, *flavour, *after;
        const char *backups[3];
        size_t count;
        bool expected;
    } rows[] = {
        {"no backup", "mariadb", "0-1-10", {NULL}, 0, false},
        {"the first segment", "mariadb", "", {"0-1-10"}, 1, true},
        {"behind the backup's end", "mariadb", "0-1-11", {"0-1-10"}, 1, false},
        {"at the backup's end", "mariadb", "0-1-10", {"0-1-10"}, 1, true},
        {"one of three is older", "mariadb", "0-1-50", {"0-1-60", "0-1-40", "0-1-90"}, 3, false},
        {"all three are later", "mariadb", "0-1-40", {"0-1-60", "0-1-40", "0-1-90"}, 3, true},
        {"a later primary's", "mariadb", "0-2-10", {"0-1-20"}, 1, true},
        {"another domain, unknown to the backup", "mariadb", "0-1-10,7-1-1", {"0-1-20"}, 1, false},
        {"a position that was cut", "mariadb", "0-1-10", {"0-1-20,1-1..."}, 1, false},
        {"none at all", "mariadb", "0-1-10", {""}, 1, false},
        {"mysql", "mysql", UUID_A ":1-10", {UUID_A ":1-12"}, 1, true},
        {"mysql, a hole in the backup", "mysql", UUID_A ":1-10", {UUID_A ":1-5:7-12"}, 1, false},
        {"mysql, the lost end of an epoch", "mysql", UUID_A ":1-10", {UUID_A ":1-9," UUID_B ":1-99"}, 1, false},
        {"mysql, the epoch behind it", "mysql", UUID_A ":1-9", {UUID_A ":1-9," UUID_B ":1-99"}, 1, true},
        {"percona", "percona", UUID_A ":1-9", {UUID_A ":1-9"}, 1, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct binlog_segment segment = {.name = {1, 1, OLD}, .after = rows[i].after};
        snprintf(segment.flavour, sizeof(segment.flavour), "%s", rows[i].flavour);
        _cleanup_(archive_held_release) struct archive_held held = {.set = NULL};
        for (size_t k = 0; k < rows[i].count; k++)
            archive_held_add(&held, str_eq(rows[i].flavour, "mariadb"), rows[i].backups[k]);
        if (archive_may_begin_at(&segment, &held) != rows[i].expected)
            fail_msg("%s", rows[i].name);
    }
}

/* Sets of 400 servers; one that lacks a server, one of the other family. */
static void test_held(void **state)
{
    UNUSED(state);
    _cleanup_(strbuf_release) struct strbuf many, fewer;
    struct binlog_segment segment = {.name = {1, 1, OLD}, .flavour = "mysql"};
    strbuf_init(&many, POSITION_TEXT_MAX);
    strbuf_init(&fewer, POSITION_TEXT_MAX);
    document_servers(400, 9, &many);
    document_servers(399, 20, &fewer);
    for (int i = 0; i < 4; i++) {
        _cleanup_(archive_held_release) struct archive_held held = {.set = NULL};
        archive_held_add(&held, false, many.buf);
        if (i == 1)
            archive_held_add(&held, false, fewer.buf);
        if (i == 2)
            archive_held_add(&held, true, "0-1-7");
        if (i == 3)
            archive_held_add(&held, false, POSITION_TOO_LONG);
        segment.after = many.buf;
        assert_int_equal(archive_may_begin_at(&segment, &held), i == 0);
        segment.after = UUID_A ":1";
        assert_false(archive_may_begin_at(&segment, &held));
        segment.after = "00000001-71ca-11e1-9e33-c80aa9429562:1-9";
        assert_int_equal(archive_may_begin_at(&segment, &held), i < 2);
    }
}

static void add(struct archive_batch *batch, uint64_t epoch, uint64_t sequence, int64_t archived_ms, const char *ending)
{
    const struct binlog_segment_name name = {epoch, sequence, archived_ms};
    char text[BINLOG_SEGMENT_NAME_SIZE], whole[BINLOG_SEGMENT_NAME_SIZE + 8];
    binlog_segment_name_print(&name, text);
    snprintf(whole, sizeof(whole), "%s%s", text, ending);
    assert_true(archive_batch_add(batch, whole));
}

static void test_batch(void **state)
{
    UNUSED(state);
    struct archive_batch *batch = xnew(struct archive_batch);
    add(batch, 1, 1, OLD, ".json");
    add(batch, 1, 1, OLD, ".log");
    add(batch, 1, 2, OLD, ".log"); /* its writer died */
    assert_true(archive_batch_add(batch, "README") && archive_batch_add(batch, ""));
    assert_int_equal(batch->count, 2);
    assert_true(batch->entries[0].has_meta && batch->entries[0].has_log);
    assert_true(!batch->entries[1].has_meta && batch->entries[1].has_log);
    for (uint64_t sequence = 3; sequence <= ARCHIVE_BATCH; sequence++)
        add(batch, 1, sequence, OLD, ".json");
    assert_false(batch->more);
    char text[BINLOG_SEGMENT_NAME_SIZE];
    const struct binlog_segment_name last = {2, 1, OLD};
    binlog_segment_name_print(&last, text);
    _cleanup_(freep) char *whole = xasprintf("%s.json", text);
    assert_false(archive_batch_add(batch, whole));
    assert_true(batch->more);
    assert_int_equal(batch->count, ARCHIVE_BATCH);
    free(batch);
}

static void test_cut(void **state)
{
    UNUSED(state);
    struct archive_batch *batch = xnew(struct archive_batch);
    add(batch, 1, 1, OLD, ".json");
    add(batch, 1, 2, OLD, ".json");
    add(batch, 1, 3, OLD, ".json");
    add(batch, 1, 3, OLD + 9000, ".json"); /* two writers */
    add(batch, 2, 1, OLD, ".json");
    add(batch, 2, 2, NOW - ARCHIVE_KEEP_MS + 1000, ".json");
    add(batch, 2, 3, NOW, ".json");
    assert_int_equal(archive_cut(batch, 0, NOW), 0);
    assert_int_equal(archive_cut(batch, 1, NOW), 1);
    assert_int_equal(archive_cut(batch, 2, NOW), 2);
    assert_int_equal(archive_cut(batch, 3, NOW), 2); /* the other one of that number stays, too */
    assert_int_equal(archive_cut(batch, 4, NOW), 4);
    assert_int_equal(archive_cut(batch, 6, NOW), 5); /* the last hour */
    assert_int_equal(archive_cut(batch, 6, NOW + 2000), 6);
    free(batch);
}

/* Whatever the truth is: what is found is one with which all may begin, or the first. */
static void test_search(void **state)
{
    UNUSED(state);
    for (size_t count = 0; count <= 40; count++) {
        for (size_t truth = 0; truth <= count; truth++) {
            struct archive_search search = {0, count};
            size_t probe, probes = 0;
            while (archive_search_next(&search, &probe)) {
                assert_true(probe > 0 && probe < count && ++probes <= 6);
                archive_search_take(&search, probe, probe < truth);
            }
            assert_int_equal(search.low, truth > 0 ? truth - 1 : 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_may_begin),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
