/* What init and its child say to each other: there and back, and lines of a log are none of it. */
#include "common/base.h"

#include "agent/backup/replay_word.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

static void test_told(void **state)
{
    struct replay_told told = {.flavour = "mariadb", .gtid = "0-1-7", .backup_ms = 12000, .spool = "/vol/data.new"};
    struct replay_told got = {0};
    struct error err = ERROR_INIT;
    struct strbuf line;

    UNUSED(state);
    strbuf_init(&line, KM_KIB);
    replay_told_encode(&told, &line);
    assert_int_equal(line.buf[line.len - 1], '\n');
    assert_int_equal(replay_told_decode(line.buf, line.len - 1, &got, &err), 0);
    assert_memory_equal(&got, &told, sizeof(got));
    assert_int_equal(replay_told_decode("{\"backupMs\":\"now\"}", 18, &got, &err), -1);
    assert_int_equal(replay_told_decode("{", 1, &got, &err), -1);
    strbuf_release(&line);
}

static void test_said(void **state)
{
    struct replay_word word = {.said = REPLAY_SAID_BATCH,
        .number = 2,
        .segment = 3,
        .segments = 9,
        .bytes = 100,
        .total_bytes = 900,
        .at_ms = 5000,
        .gtid = "0-1-9",
        .reason = "GapInArchive",
        .message = "what \"is\" it"};
    struct replay_word got = {0};
    struct strbuf line;

    UNUSED(state);
    strbuf_init(&line, KM_KIB);
    replay_word_encode(&word, &line);
    strbuf_truncate(&line, line.len - 1);
    assert_true(replay_word_decode(line.buf, &got));
    assert_memory_equal(&got, &word, sizeof(got));
    assert_false(replay_word_decode("{\"level\":\"info\",\"msg\":\"replay\"}", &got));
    assert_false(replay_word_decode("{\"replay\":\"later\"}", &got));
    assert_false(replay_word_decode("{\"replay\":\"batch\",\"number\":-1}", &got));
    assert_false(replay_word_decode("text", &got));
    assert_false(replay_word_decode("", &got));
    strbuf_release(&line);
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
