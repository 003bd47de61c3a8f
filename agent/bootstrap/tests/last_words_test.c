/* SPDX-License-Identifier: Apache-2.0 */
/* The last words of a program that failed: which are kept, and which tell. */
#include "common/base.h"

#include "agent/bootstrap/last_words.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/fs.h"
#include "common/strbuf.h"

static void expect(const char *said, size_t size, const char *telling)
{
    struct last_words words = {.count = 0};
    char text[512];

    last_words_note_all(&words, said);
    last_words_telling(&words, text, size);
    assert_string_equal(text, telling);
}

static void test_errors_tell_and_else_the_last_line(void **unused)
{
    static const char server[] = "2026-11-24 18:01:02 0 [Note] InnoDB: Using Linux native AIO\n"
                                 "2026-11-24 18:01:02 0 [ERROR] Can't init tc log\n"
                                 "2026-11-24 18:01:02 0 [ERROR] Please restart without --tc-heuristic-recover\n"
                                 "2026-11-24 18:01:02 0 [Note] shutdown complete\n";

    UNUSED(unused);
    expect("", 512, "");
    expect("one\n\ntwo\n", 512, "two");
    expect(server, 512, "Can't init tc log; Please restart without --tc-heuristic-recover");
    expect(server, 40, "Can't init tc log; Please restart...");
    expect("aaaaaaaaaaaaaaaaaaaa", 12, "aaaaaaaa...");
}

/* Notes and warnings are no cause, nor is what follows from one; the first error is, however much is printed after. */
static void test_noise_does_not_tell(void **unused)
{
    UNUSED(unused);
    expect("1 0 [Note] Starting MariaDB 10.11 as process 1\n2 0 [Warning] slow\ncannot go on\n3 0 [Note] shutdown\n",
        512, "cannot go on");
    expect("1 [ERROR] Plugin 'InnoDB' registration as a STORAGE ENGINE failed.\n2 [ERROR] Aborting\n3 [Note] n\n", 512,
        "Plugin 'InnoDB' registration as a STORAGE ENGINE failed.");
    expect("1 [ERROR] old\n2 0 [Note] Starting MariaDB 10.11 as process 1\n3 [ERROR] new\n4 [ERROR] Aborting\n", 512,
        "new");
    expect("2026-11-27T16:21:26Z UTC - mysqld got signal 11 ;\nstack_bottom = 0\n", 512, "mysqld got signal 11 ;");
    expect("1 0 [Note] only\n2 0 [Note] notes\n", 512, "2 0 [Note] notes");
}

/* common/tests/server_log_test.c has where they are from. */
static void test_real_logs_tell_the_cause(void **unused)
{
    static const struct {
        const char *log, *telling;
    } rows[] = {
        {"mariadb-zero-ibdata",
            "InnoDB: The data file './ibdata1' has the wrong space ID. It should be 0, but 0 was found"},
        {"mariadb-engine", "Unknown/unsupported storage engine: ARCHIVE2"},
        {"mariadb-nolog", "InnoDB: File ./ib_logfile0 was not found"},
        {"mysql-tz", "Illegal or unknown default time zone 'Nowhere/Land'"},
        {"mysql-noredo", "Neither found #innodb_redo subdirectory, nor ib_logfile* files in ./"},
        {"mysql-segv", "mysqld got signal 11 ;"},
    };

    UNUSED(unused);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char path[128];
        _cleanup_(strbuf_release) struct strbuf text;
        snprintf(path, sizeof(path), "common/tests/data/server-log/%s.log", rows[i].log);
        strbuf_init(&text, 4096);
        assert_int_equal(fs_read_file(path, &text, NULL), 0);
        expect(text.buf, 512, rows[i].telling);
    }
}

static void test_twenty_lines_and_the_first_errors_are_kept(void **unused)
{
    struct last_words words = {.count = 0};
    char line[32], text[64];

    UNUSED(unused);
    last_words_note(&words, "[ERROR] the first");
    for (int i = 1; i < LAST_WORDS_LINES; i++) {
        snprintf(line, sizeof(line), "line %d", i);
        last_words_note(&words, line);
    }
    last_words_telling(&words, text, sizeof(text));
    assert_string_equal(text, "the first");
    last_words_note(&words, "line 20");
    last_words_note(&words, "[ERROR] the last");
    last_words_telling(&words, text, sizeof(text));
    assert_string_equal(text, "the first; the last");
    last_words_note(&words, "0 [Note] Starting MariaDB 10.11 as process 1");
    last_words_note(&words, "line 21");
    last_words_telling(&words, text, sizeof(text));
    assert_string_equal(text, "line 21");
    last_words_log(&words, "mariadb-backup");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_tell_and_else_the_last_line),
        cmocka_unit_test(test_noise_does_not_tell),
        cmocka_unit_test(test_real_logs_tell_the_cause),
        cmocka_unit_test(test_twenty_lines_and_the_first_errors_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
