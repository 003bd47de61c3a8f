/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/dump_position.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/tests/document_util.h"

#define UUID "3e11fa47-71ca-11e1-9e33-c80aa9429562"

struct row {
    const char *text, *gtid;
    bool found;
};

static const struct row rows[] = {
    {"-- MariaDB dump 10.19\n\n-- CHANGE MASTER TO MASTER_USE_GTID=slave_pos;\n-- SET GLOBAL gtid_slave_pos='0-1-5,1-2-7';\n\nCREATE TABLE `t`",
        "0-1-5,1-2-7", true},
    {"-- MySQL dump\nSET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '" UUID ":1-5';\n", UUID ":1-5", true},
    {"-- MySQL dump\nSET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '" UUID ":1-5,\n" UUID ":7-9';\n",
        UUID ":1-5," UUID ":7-9", true},
    {"-- MySQL dump\nSET @@GLOBAL.GTID_PURGED='" UUID ":1';\n", UUID ":1", true},
    {"-- SQL\n-- SET GLOBAL gtid_slave_pos='';\n", "", true},
    {"\nCREATE TABLE t (a text);\nINSERT INTO t VALUES ('\n-- SET GLOBAL gtid_slave_pos='0-6-6';\n');", "", false},
    {"\n-- SET GLOBAL gtid_slave_pos='0-1-5", "", false},
    {"nothing of the kind", "", false},
};

/* Far behind the head, among the last lines; the last one counts. */
static void test_tail(void **state)
{
    static const char end[] = "CREATE PROCEDURE p()\n-- SET GLOBAL gtid_slave_pos='0-6-6';\n;;\n"
                              "-- SET GLOBAL gtid_slave_pos='0-1-9';\n/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;\n";
    static const size_t steps[] = {1, 100, 5000, DUMP_TAIL_MAX, 100000, 1000000};
    size_t len = 500000;
    _cleanup_(freep) char *text = xmalloc(len);

    UNUSED(state);
    memset(text, 'x', len);
    memcpy(text, "\nCREATE TABLE ", 14);
    memcpy(text + len - sizeof(end) + 1, end, sizeof(end) - 1);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct dump_position position;
        dump_position_init(&position);
        for (size_t at = 0; at < len; at += steps[i])
            dump_position_feed(&position, text + at, MIN_OF(steps[i], len - at));
        assert_null(position.gtid);
        dump_position_end(&position);
        assert_string_equal(position.gtid, "0-1-9");
        assert_true(position.found);
        dump_position_release(&position);
    }
}

/* Whole, and byte by byte. */
static void test_rows(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i / 2];
        size_t len = strlen(row->text);
        size_t step = i % 2 ? 1 : len;
        struct dump_position position;
        dump_position_init(&position);
        for (size_t at = 0; at < len; at += step)
            dump_position_feed(&position, row->text + at, step);
        assert_string_equal(str_or_empty(position.gtid), row->gtid);
        assert_int_equal(position.found, row->found);
        dump_position_release(&position);
    }
}

/* As mysqldump writes it, a server a line. */
static void test_many_servers(void **state)
{
    static const int counts[] = {400, 1700};

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        _cleanup_(strbuf_release) struct strbuf text, gtids;
        struct dump_position position;
        strbuf_init(&text, (size_t)(256 * KM_KIB));
        strbuf_init(&gtids, (size_t)(256 * KM_KIB));
        document_servers(counts[i], 5, &gtids);
        strbuf_adds(&text, "-- MySQL dump\nSET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '");
        for (const char *at = gtids.buf; *at; at++)
            strbuf_addf(&text, *at == ',' ? "%c\n" : "%c", *at);
        strbuf_adds(&text, "';\n\nCREATE TABLE `t`");
        dump_position_init(&position);
        for (size_t at = 0; at < text.len; at += 1000)
            dump_position_feed(&position, text.buf + at, MIN_OF((size_t)1000, text.len - at));
        dump_position_end(&position);
        assert_int_equal(position.found, i == 0);
        if (i == 0)
            assert_string_equal(position.gtid, gtids.buf);
        dump_position_release(&position);
    }
}

static void test_bounded(void **state)
{
    struct dump_position position;
    char piece[1000];

    UNUSED(state);
    memset(piece, '-', sizeof(piece));
    dump_position_init(&position);
    for (int i = 0; i < 1000; i++)
        dump_position_feed(&position, piece, sizeof(piece));
    assert_true(position.over);
    assert_int_equal(position.head.capacity, 0);
    dump_position_release(&position);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_tail),
        cmocka_unit_test(test_many_servers),
        cmocka_unit_test(test_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
