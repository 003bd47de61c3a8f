/* SPDX-License-Identifier: Apache-2.0 */
/* What init and its child say to each other: there and back, and lines of a log are none of it. */
#include "common/base.h"

#include "agent/backup/replay_word.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/tests/document_util.h"

static void test_told(void **state)
{
    _cleanup_(position_pool_unrefp) struct position_pool *positions = position_pool_new(POSITION_TEXT_MAX);
    _cleanup_(strbuf_release) struct strbuf line, gtids;
    struct replay_told told = {.flavour = "mysql", .backup_ms = 12000, .spool = "/vol/data.new"};
    struct replay_told got = {0};
    struct error err = ERROR_INIT;

    UNUSED(state);
    strbuf_init(&line, REPLAY_LINE_MAX);
    strbuf_init(&gtids, POSITION_TEXT_MAX);
    document_servers(400, 7, &gtids);
    told.gtid = gtids.buf;
    replay_told_encode(&told, &line);
    assert_int_equal(line.buf[line.len - 1], '\n');
    assert_int_equal(replay_told_decode(line.buf, line.len - 1, positions, &got, &err), 0);
    assert_string_equal(got.gtid, gtids.buf);
    assert_string_equal(got.flavour, "mysql");
    assert_string_equal(got.spool, "/vol/data.new");
    assert_true(got.backup_ms == 12000);
    assert_int_equal(replay_told_decode("{\"backupMs\":\"now\"}", 18, positions, &got, &err), -1);
    assert_int_equal(replay_told_decode("{", 1, positions, &got, &err), -1);
}

static void test_said(void **state)
{
    _cleanup_(strbuf_release) struct strbuf line, gtids;
    struct replay_word word = {.said = REPLAY_SAID_BATCH,
        .number = 2,
        .segment = 3,
        .segments = 9,
        .bytes = 100,
        .total_bytes = 900,
        .at_ms = 5000,
        .reason = "GapInArchive",
        .message = "what \"is\" it"};
    _cleanup_(replay_word_release) struct replay_word got = {0};
    _cleanup_(replay_word_release) struct replay_word kept = {0};

    UNUSED(state);
    strbuf_init(&line, REPLAY_LINE_MAX);
    strbuf_init(&gtids, POSITION_TEXT_MAX);
    document_servers(400, 9, &gtids);
    word.gtid = gtids.buf;
    replay_word_encode(&word, &line);
    strbuf_truncate(&line, line.len - 1);
    assert_true(replay_word_decode(line.buf, &got));
    replay_word_keep(&kept, &got);
    replay_word_release(&got);
    assert_string_equal(kept.gtid, gtids.buf);
    assert_true(kept.said == REPLAY_SAID_BATCH && kept.number == 2 && kept.segment == 3 && kept.segments == 9);
    assert_true(kept.bytes == 100 && kept.total_bytes == 900 && kept.at_ms == 5000);
    assert_string_equal(kept.reason, "GapInArchive");
    assert_string_equal(kept.message, word.message);
    assert_false(replay_word_decode("{\"level\":\"info\",\"msg\":\"replay\"}", &got));
    assert_false(replay_word_decode("{\"replay\":\"later\"}", &got));
    assert_false(replay_word_decode("{\"replay\":\"batch\",\"number\":-1}", &got));
    assert_false(replay_word_decode("text", &got));
    assert_false(replay_word_decode("", &got));
}

static void test_path(void **state)
{
    _cleanup_(freep) char *path = replay_batch_path("/d", 12);

    UNUSED(state);
    assert_string_equal(path, "/d/" REPLAY_SPOOL_NAME ".000012");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_said),
        cmocka_unit_test(test_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
