/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/others_room.h"

#include <setjmp.h>
#include <cmocka.h>

#define NOW 1000000

/* What the others said, and how long ago: l less than the last floor, s short, e enough. */
static void it_is_lacking_as_in_the_table(void **state)
{
    static const struct {
        const char *name, *said;
        int64_t ago_ms[4];
        uint32_t acks;
        bool lacks, is_last;
    } rows[] = {
        {"nobody is heard", "", {0}, 1, false, false},
        {"the only one", "s", {10}, 1, true, false},
        {"the only one has room", "e", {10}, 1, false, false},
        {"one of two is enough", "se", {10, 10}, 1, false, false},
        {"MariaDB counts one", "se", {10, 10}, 0, false, false},
        {"both", "ss", {10, 900}, 1, true, false},
        {"the one with room is silent", "se", {10, OTHERS_ROOM_MS}, 1, true, false},
        {"who was short is silent for long", "s", {OTHERS_ROOM_MS}, 1, false, false},
        {"two of four are needed", "ssee", {1, 1, 1, 1}, 2, false, false},
        {"three of four are short", "ssse", {1, 1, 1, 1}, 2, true, false},
        {"the only one has hardly any", "l", {10}, 1, true, true},
        {"one of two, the other is short", "ls", {10, 10}, 1, true, false},
        {"both have hardly any", "ll", {10, 10}, 0, true, true},
        {"two of three are needed", "lls", {1, 1, 1}, 2, true, true},
        {"who had hardly any is silent for long", "l", {OTHERS_ROOM_MS}, 1, false, false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct others_room room = {0};
        for (int at = 0; rows[i].said[at]; at++) {
            char name[] = {'m', (char)('0' + at), '\0'};
            struct others_word word = {.is_short = rows[i].said[at] == 's', .is_last = rows[i].said[at] == 'l'};
            others_room_note(&room, name, &word, NOW - rows[i].ago_ms[at]);
        }
        if (others_room_lacks(&room, rows[i].acks, NOW) != rows[i].lacks ||
            others_room_is_last(&room, rows[i].acks, NOW) != rows[i].is_last)
            fail_msg("%s", rows[i].name);
    }
}

static void the_latest_word_counts(void **state)
{
    struct others_room room = {0};

    UNUSED(state);
    others_room_note(&room, "m1", &(struct others_word){.is_short = true}, NOW);
    others_room_note(&room, "m1", &(struct others_word){.is_short = false}, NOW + 1);
    assert_false(others_room_lacks(&room, 1, NOW + 1));
    assert_int_equal(others_room_count(&room, NOW + 1), 1);
    for (int i = 0; i < 3 * OTHERS_ROOM_MAX; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        others_room_note(&room, name, &(struct others_word){.is_short = true}, NOW + 2 + i);
    }
    assert_int_equal(others_room_count(&room, NOW + 2 + 3 * OTHERS_ROOM_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_lacking_as_in_the_table),
        cmocka_unit_test(the_latest_word_counts),
    };

    return cmocka_run_group_tests_name("others_room", tests, NULL, NULL);
}
