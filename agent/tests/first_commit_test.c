/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/first_commit.h"

#include <setjmp.h>
#include <cmocka.h>

#define LOOKS_MAX 8
#define EVERY_MS 10

/* Looks that come one after the other, each EVERY_MS after the one before and answered a millisecond later. */
struct row {
    const char *name;
    struct {
        uint64_t count;
        unsigned begun, ended;
        bool changing;
        char waits; /* '-' not asked for, '0' nothing waits, 'w' something does */
        uint64_t acknowledged;
    } looks[LOOKS_MAX];
    int count;
    int found;              /* at which look; -1: at none */
    int64_t at_ms, span_ms; /* after the first look began */
};

static const struct row rows[] = {
    {"nobody writes", {{100, 0, 0, false, '-', 0}, {100, 0, 0, false, '-', 0}}, 2, -1, 0, 0},
    {"the agent alone writes", {{100, 1, 0, false, '-', 0}, {101, 1, 0, false, '-', 0}, {102, 2, 1, false, '-', 0}}, 3,
        -1, 0, 0},
    {"somebody", {{100, 0, 0, false, '-', 0}, {100, 0, 0, false, '-', 0}, {101, 0, 0, false, '0', 0}}, 3, 2, 10, 11},
    {"somebody beside the agent", {{100, 1, 1, false, '-', 0}, {101, 2, 1, false, '-', 0}, {103, 2, 2, false, '0', 0}},
        3, 2, 10, 11},
    {"the agent has begun what may be counted already",
        {{100, 1, 0, false, '-', 0}, {101, 1, 0, false, '-', 0}, {102, 1, 1, false, '0', 0}}, 3, 2, 10, 11},
    {"while it changes something of its own nothing is told apart",
        {{100, 0, 0, false, '-', 0}, {110, 0, 0, true, '-', 0}, {110, 0, 0, false, '-', 0}}, 3, -1, 0, 0},
    {"somebody meanwhile, and after it",
        {{100, 0, 0, false, '-', 0}, {110, 0, 0, true, '-', 0}, {111, 0, 0, false, '0', 0}}, 3, 2, 0, 21},
    {"somebody long after it",
        {{100, 0, 0, false, '-', 0}, {110, 0, 0, true, '-', 0}, {110, 0, 0, false, '-', 0}, {111, 0, 0, false, '0', 0}},
        4, 3, 20, 11},
    {"it waits for its acknowledgement",
        {{100, 0, 0, false, '-', 0}, {101, 0, 0, false, 'w', 7}, {101, 0, 0, false, 'w', 7}, {101, 0, 0, false, '0', 7}},
        4, 3, 20, 11},
    {"others wait when it has got it",
        {{100, 0, 0, false, '-', 0}, {101, 0, 0, false, 'w', 7}, {104, 0, 0, false, 'w', 8}}, 3, 2, 10, 11},
    {"one that waits stays one, whatever the agent does",
        {{100, 0, 0, false, '-', 0}, {101, 0, 0, false, 'w', 7}, {102, 1, 0, true, 'w', 7}, {103, 1, 1, false, '0', 8}},
        4, 3, 20, 11},
    {"a smaller count, as of another server, is none", {{100, 0, 0, false, '-', 0}, {90, 0, 0, false, '-', 0}}, 2, -1,
        0, 0},
};

static struct first_commit_look look_of(const struct row *row, int i)
{
    return (struct first_commit_look){.asked_ms = 1000 + i * EVERY_MS,
        .answered_ms = 1000 + i * EVERY_MS + 1,
        .count = row->looks[i].count,
        .begun = row->looks[i].begun,
        .ended = row->looks[i].ended,
        .changing = row->looks[i].changing,
        .has_waits = row->looks[i].waits != '-',
        .waits = row->looks[i].waits == 'w',
        .acknowledged = row->looks[i].acknowledged};
}

static void it_is_found_as_in_the_table(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        struct first_commit_view view = {.begun = false};
        struct first_commit_moment moment = {.idle_ms = 0};
        int found = -1;
        for (int at = 0; at < row->count && found < 0; at++) {
            struct first_commit_look look = look_of(row, at);
            bool is_asked = first_commit_is_there(&view, &look);
            if (is_asked != look.has_waits)
                fail_msg("%s, look %d: %s", row->name, at, is_asked ? "one is there" : "none is there");
            if (first_commit_take(&view, &look, &moment))
                found = at;
        }
        bool is_right = found < 0 || (moment.done.at_ms - 1000 == row->at_ms && moment.done.span_ms == row->span_ms);
        if (found != row->found || !is_right)
            fail_msg("%s: found at %d, %lld + %lld ms", row->name, found, (long long)moment.done.at_ms - 1000,
                (long long)moment.done.span_ms);
    }
}

/* A beat that waits for its acknowledgement does not stand for somebody's commit. */
static void what_was_there_at_the_opening_is_compared_with(void **state)
{
    struct first_commit_view view = {.begun = true, .count = 100, .ended = 4, .none_ms = 990};
    struct first_commit_look look = {.asked_ms = 1000, .answered_ms = 1001, .count = 101, .begun = 5, .ended = 4};
    struct first_commit_moment moment = {.idle_ms = 0};

    UNUSED(state);
    assert_false(first_commit_is_there(&view, &look));
    assert_false(first_commit_take(&view, &look, &moment));
    look = (struct first_commit_look){
        .asked_ms = 1010, .answered_ms = 1011, .count = 102, .begun = 5, .ended = 4, .has_waits = true};
    assert_true(first_commit_is_there(&view, &look));
    assert_true(first_commit_take(&view, &look, &moment));
    assert_int_equal(moment.done.at_ms, 1000);
    view = (struct first_commit_view){.begun = true, .count = 100, .ended = 4, .none_ms = 990};
    assert_true(first_commit_take(&view, &look, &moment));
    assert_int_equal(moment.done.at_ms, 990);
    assert_int_equal(moment.done.span_ms, 21);
}

/* Opened 10 ms before the first look; each look is 10 ms after the one before. */
static void what_waited_before_it_shows_that_nobody_could_as_in_the_table(void **state)
{
    static const struct {
        const char *name;
        const char *looks; /* '.' not asked, '0' nothing waits, 'w' something does, 'W' something else does */
        bool is_there;     /* at all looks that found something waiting: MariaDB counts what waits */
        int64_t idle_ms;
    } cases[] = {
        {"nobody came", "00000000", false, 80},
        {"nobody was asked about", "........", false, 80},
        {"commits waited, and then nobody came", "0ww00000", false, 50},
        {"the agent's own waited for a moment, now and then", "00w00w00", false, 80},
        {"and each time another one", "00wW00wW", false, 80},
        {"commits waited until then", "00wwwwww", false, 0},
        {"one that is counted did", "00wwwwww", true, 0},
        {"one came late and was acknowledged at once", "0000000w", true, 80},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct first_commit_view view = {.begun = true, .count = 100, .none_ms = 1000, .idle_since_ms = 1000};
        struct first_commit_moment moment = {.idle_ms = -1};
        int64_t now_ms = 1000;
        uint64_t acknowledged = 5, count = 100;
        for (const char *at = cases[i].looks; *at; at++) {
            bool waits = *at == 'w' || *at == 'W';
            now_ms += EVERY_MS;
            acknowledged += *at == 'W';
            count += waits && cases[i].is_there && count == 100;
            const struct first_commit_look look = {.asked_ms = now_ms,
                .answered_ms = now_ms,
                .count = count,
                .has_waits = *at != '.',
                .waits = waits,
                .acknowledged = acknowledged};
            assert_false(first_commit_take(&view, &look, &moment));
        }
        const struct first_commit_look last = {.asked_ms = now_ms + EVERY_MS,
            .answered_ms = now_ms + EVERY_MS,
            .count = 101,
            .has_waits = true,
            .acknowledged = acknowledged + 1};
        assert_true(first_commit_take(&view, &last, &moment));
        if (moment.idle_ms != cases[i].idle_ms)
            fail_msg("%s: %lld ms", cases[i].name, (long long)moment.idle_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_found_as_in_the_table),
        cmocka_unit_test(what_was_there_at_the_opening_is_compared_with),
        cmocka_unit_test(what_waited_before_it_shows_that_nobody_could_as_in_the_table),
    };

    return cmocka_run_group_tests_name("first_commit", tests, NULL, NULL);
}
