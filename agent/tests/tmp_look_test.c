/* SPDX-License-Identifier: Apache-2.0 */
/* What the scout leaves, and whom it credits with files that have grown. */
#include "common/base.h"

#include "agent/tmp_look.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"

#define MIB(n) ((uint64_t)(n)*KM_MIB)

static void a_text_is_read_as_it_was_written(void **state)
{
    struct tmp_look look = {.at_ms = 123456, .bytes = MIB(900), .writer_count = TMP_LOOK_WRITERS}, read;
    char text[TMP_LOOK_TEXT_SIZE], over[TMP_LOOK_TEXT_SIZE];

    UNUSED(state);
    for (size_t i = 0; i < TMP_LOOK_WRITERS; i++)
        look.writers[i] = (struct tmp_writer){.thread = UINT64_MAX - i, .bytes = UINT64_MAX, .last_ms = INT64_MAX};
    size_t len = tmp_look_render(&look, text);
    assert_int_equal(len, strlen(text));
    assert_true(tmp_look_parse(text, &read));
    assert_memory_equal(&read, &look, sizeof(look));

    /* A shorter one over it. */
    struct tmp_look less = {.at_ms = 7, .bytes = 1, .writer_count = 1, .writers = {{2, 3, 4}}};
    len = tmp_look_render(&less, over);
    memcpy(text, over, len);
    assert_true(tmp_look_parse(text, &read));
    assert_memory_equal(&read, &less, sizeof(less));
}

static void half_a_text_is_none(void **state)
{
    static const char *const texts[] = {"", "\n", "1", "1 2", "1 2 0", "1 2 0\n", "1 2 0\nen", "1 2 1\nend\n",
        "1 2 1\n1 2\nend\n", "1 2 2\n1 2 3\nend\n", "-1 2 0\nend\n", "1 2 33\nend\n", "1 2 3x\nend\n", "x"};
    struct tmp_look look;

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (tmp_look_parse(texts[i], &look))
            fail_msg("\"%s\"", texts[i]);
    }
    assert_true(tmp_look_parse("1 2 0\nend\n9 9\n", &look));
}

/* Threads "NUMBER:MIB written", apart by spaces. */
static void take(struct tmp_ledger *ledger, const char *said, uint64_t mib, int64_t at_ms)
{
    struct tmp_thread *threads = xnew_array(struct tmp_thread, 64);
    size_t count = 0;
    char *end;

    for (const char *at = said; *at; at = end) {
        threads[count].thread = strtoull(at, &end, 10);
        threads[count++].written = MIB(strtoull(end + 1, &end, 10));
    }
    tmp_ledger_take(ledger, threads, count, MIB(mib), at_ms);
}

static void expect(const struct tmp_ledger *ledger, const char *credits)
{
    struct tmp_look look = {0};
    char text[256] = "";

    tmp_ledger_fill(ledger, &look);
    for (size_t i = 0; i < look.writer_count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%llu:%llu@%lld", i ? " " : "",
            (unsigned long long)look.writers[i].thread, (unsigned long long)(look.writers[i].bytes / KM_MIB),
            (long long)look.writers[i].last_ms);
    assert_string_equal(text, credits);
}

static void who_writes_while_they_grow_is_credited(void **state)
{
    struct tmp_ledger ledger = {0};

    UNUSED(state);
    take(&ledger, "1:9000 2:5 3:70", 50, 10); /* nothing to compare with */
    expect(&ledger, "");
    take(&ledger, "1:9001 2:105 3:70", 150, 20);
    expect(&ledger, "2:100@20 1:1@20");
    take(&ledger, "3:70 1:9900 2:305", 350, 30); /* the log writer cannot have made more than there is more */
    expect(&ledger, "2:300@30 1:201@30");
    take(&ledger, "3:300 1:9900 2:305", 350, 40); /* they do not grow */
    expect(&ledger, "2:300@30 1:201@30");
    take(&ledger, "3:300 1:9900 4:50 2:305", 400, 50); /* a new one */
    expect(&ledger, "2:300@30 1:201@30 4:50@50");
    tmp_ledger_release(&ledger);
}

static void credits_shrink_with_them(void **state)
{
    struct tmp_ledger ledger = {0};

    UNUSED(state);
    take(&ledger, "1:0 2:0", 0, 10);
    take(&ledger, "1:300 2:100", 400, 20);
    take(&ledger, "1:300 2:100", 200, 30);
    expect(&ledger, "1:150@20 2:50@20");
    take(&ledger, "2:100", 200, 40); /* its thread has ended */
    expect(&ledger, "2:50@20");
    take(&ledger, "2:60", 200, 50); /* less than before: another thread of that number */
    expect(&ledger, "");
    take(&ledger, "2:60 1:1", 0, 60);
    expect(&ledger, "");
    tmp_ledger_release(&ledger);
}

static void the_largest_are_told(void **state)
{
    struct tmp_ledger ledger = {0};
    struct tmp_look look = {0};
    struct tmp_thread *threads = xnew_array(struct tmp_thread, 100);

    UNUSED(state);
    take(&ledger, "", 0, 10);
    for (size_t i = 0; i < 100; i++)
        threads[i] = (struct tmp_thread){.thread = i, .written = MIB((i * 37) % 100)};
    tmp_ledger_take(&ledger, threads, 100, MIB(10000), 20);
    tmp_ledger_fill(&ledger, &look);
    assert_int_equal(look.writer_count, TMP_LOOK_WRITERS);
    for (size_t i = 0; i < TMP_LOOK_WRITERS; i++)
        assert_int_equal(look.writers[i].bytes, MIB(99 - i));
    tmp_ledger_release(&ledger);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_read_as_it_was_written),
        cmocka_unit_test(half_a_text_is_none),
        cmocka_unit_test(who_writes_while_they_grow_is_credited),
        cmocka_unit_test(credits_shrink_with_them),
        cmocka_unit_test(the_largest_are_told),
    };

    return cmocka_run_group_tests_name("tmp_look", tests, NULL, NULL);
}
