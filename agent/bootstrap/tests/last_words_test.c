/* SPDX-License-Identifier: Apache-2.0 */
/* The last words of a program that failed: which are kept, and which tell. */
#include "common/base.h"

#include "agent/bootstrap/last_words.h"

#include <setjmp.h>
#include <cmocka.h>

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

static void test_twenty_lines_are_kept(void **unused)
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
    last_words_telling(&words, text, sizeof(text));
    assert_string_equal(text, "line 20");
    last_words_log(&words, "mariadb-backup");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_tell_and_else_the_last_line),
        cmocka_unit_test(test_twenty_lines_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
