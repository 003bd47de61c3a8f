/* SPDX-License-Identifier: Apache-2.0 */
/* The floor of a data volume, and what is less than it, as series of looks. */
#include "common/base.h"

#include "agent/volume_room.h"

#include <setjmp.h>
#include <cmocka.h>

#define GIB (1024ULL)

/* A volume of so many MiB that stays as it is for long. */
static void the_floor_is_the_largest(void **state)
{
    static const struct {
        const char *name;
        uint64_t mib, extension_mib, floor_mib;
    } rows[] = {
        {"a small one", 500, 0, 64},
        {"3 %", 10 * GIB, 0, 307},
        {"2 GiB at most", 1024 * GIB, 0, 2 * GIB},
        {"the next extension of a data file", 1000, 200, 200},
        {"of which a small volume has no room", 400, 1000, 100},
        {"an extension that is smaller", 10 * GIB, 64, 307},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct volume_room room = {0};
        volume_room_look(&room, rows[i].mib * KM_MIB / 2, rows[i].mib * KM_MIB, rows[i].extension_mib * KM_MIB, 1000);
        if (room.floor / KM_MIB != rows[i].floor_mib)
            fail_msg("%s: %llu MiB", rows[i].name, (unsigned long long)(room.floor / KM_MIB));
    }
}

/* Looks at a volume of 8 GiB, whose floor is 245 MiB when nobody writes. */
struct step {
    int64_t at_ms;
    uint64_t free_mib, floor_mib;
    bool is_short, ends;
};

static const struct {
    const char *name;
    struct step steps[8];
} table[] = {
    {"nobody writes", {{1000, 4000, 245, false, false}, {61000, 4000, 245, false, false}}},
    {"ten seconds of what the fastest three seconds took",
        {{1000, 4000, 245, false, false}, {2000, 3950, 245, false, false}, {3000, 3850, 500, false, false},
            {4000, 3840, 533, false, false}, {5000, 3840, 533, false, false}, {63999, 3840, 533, false, false},
            {64000, 3840, 245, false, false}}},
    {"within a second",
        {{1000, 4000, 245, false, false}, {1200, 3970, 245, false, false}, {1400, 3840, 533, false, false}}},
    {"a burst of a second now and then",
        {{1000, 4000, 245, false, false}, {2000, 3930, 245, false, false}, {4000, 3930, 245, false, false},
            {5000, 3860, 245, false, false}, {8000, 3860, 245, false, false}, {9000, 3790, 245, false, false}}},
    {"over a long look", {{1000, 4000, 245, false, false}, {11000, 3500, 500, false, false}}},
    {"a quarter of the volume at most", {{1000, 4000, 245, false, false}, {2000, 3000, 2048, false, false}}},
    {"less than the floor, and enough again",
        {{1000, 300, 245, false, false}, {9000, 240, 245, true, false}, {70000, 300, 245, true, false},
            {71000, 307, 245, true, false}, {72000, 308, 245, false, false}}},
    {"the fastest filling is forgotten after a minute, while it is short, too",
        {{1000, 800, 245, false, false}, {2000, 500, 1000, true, false}, {61900, 500, 1000, true, false},
            {62000, 500, 245, false, false}}},
    {"who fills as fast again is closed again",
        {{1000, 1200, 245, false, false}, {2000, 900, 1000, true, false}, {62000, 900, 245, false, false},
            {63000, 600, 1000, true, false}, {64000, 600, 1000, true, false}}},
    {"less than half", {{1000, 240, 245, true, false}, {9000, 121, 245, true, true}, {10000, 124, 245, true, false}}},
    {"a larger file system", {{1000, 60, 245, true, true}, {1200, 2000, 245, false, false}}},
};

/* Of one who has just begun. */
static bool ends(const struct volume_room *room)
{
    return volume_room_ends(room, room->free_bytes, 0, room->at_ms);
}

static void it_is_short_as_in_the_table(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct volume_room room = {0};
        for (size_t at = 0; at < ARRAY_LEN(table[i].steps) && table[i].steps[at].at_ms; at++) {
            const struct step *step = &table[i].steps[at];
            bool was_short = room.is_short;
            bool changed = volume_room_look(&room, step->free_mib * KM_MIB, 8 * GIB * KM_MIB, 0, step->at_ms);
            bool right = room.floor / KM_MIB == step->floor_mib && room.is_short == step->is_short &&
                ends(&room) == step->ends && changed == (was_short != step->is_short);
            if (!right)
                fail_msg("%s: look %zu: floor %llu MiB, short %d, ends %d", table[i].name, at + 1,
                    (unsigned long long)(room.floor / KM_MIB), room.is_short, ends(&room));
        }
    }
}

/* It began with 1000 MiB free, three seconds ago; a commit takes as much again. */
static void a_commit_that_finds_no_room_is_ended(void **state)
{
    struct volume_room room = {0};

    UNUSED(state);
    for (int i = 0; i <= 3; i++)
        volume_room_look(&room, (uint64_t)(1000 - 200 * i) * KM_MIB, 1600 * KM_MIB, 0, 1000 + 1000 * i);
    assert_int_equal(room.floor / KM_MIB, 400);
    assert_true(volume_room_ends(&room, 400 * KM_MIB, 3000, 4000));
    assert_true(volume_room_ends(&room, 500 * KM_MIB, 3000, 4000));
    assert_false(volume_room_ends(&room, 520 * KM_MIB, 3000, 4000));
    assert_false(volume_room_ends(&room, 400 * KM_MIB, 900, 4000)); /* others have filled it */
    assert_false(volume_room_ends(&room, 201 * KM_MIB, 0, 4000));
    assert_true(volume_room_ends(&room, 199 * KM_MIB, 0, 4000));
}

/* Short for the speed alone: it says so, and is right. Short for good: it does not. */
static void what_was_filled_fast_passes(void **state)
{
    struct volume_room room = {0};
    UNUSED(state);
    volume_room_look(&room, 800 * KM_MIB, 8 * GIB * KM_MIB, 0, 1000);
    assert_false(volume_room_passes(&room));
    volume_room_look(&room, 500 * KM_MIB, 8 * GIB * KM_MIB, 0, 2000);
    assert_true(room.is_short);
    assert_true(volume_room_passes(&room));
    volume_room_look(&room, 500 * KM_MIB, 8 * GIB * KM_MIB, 0, 62000);
    assert_false(room.is_short);
    assert_false(volume_room_passes(&room));
    volume_room_look(&room, 240 * KM_MIB, 8 * GIB * KM_MIB, 0, 130000);
    assert_true(room.is_short);
    assert_false(volume_room_passes(&room));
    volume_room_look(&room, 300 * KM_MIB, 8 * GIB * KM_MIB, 0, 200000); /* more than the floor, and not enough yet */
    assert_true(room.is_short);
    assert_false(volume_room_passes(&room));
}

/* The reserve is made: 192 MiB within a look would make a floor of 640. */
static void what_is_taken_by_ourselves_is_no_filling(void **state)
{
    struct volume_room room = {0};

    UNUSED(state);
    volume_room_look(&room, 2000 * KM_MIB, 8 * GIB * KM_MIB, 0, 1000);
    volume_room_skip(&room);
    volume_room_look(&room, 1808 * KM_MIB, 8 * GIB * KM_MIB, 0, 1200);
    assert_int_equal(room.floor / KM_MIB, 245);
    assert_false(volume_room_look(&room, 1616 * KM_MIB, 8 * GIB * KM_MIB, 0, 1400));
    assert_int_equal(room.floor / KM_MIB, 640);
}

static void a_look_that_failed_changes_nothing(void **state)
{
    struct volume_room room = {0};

    UNUSED(state);
    assert_false(volume_room_look(&room, 0, 0, 0, 1000));
    assert_false(room.is_short);
    assert_true(volume_room_look(&room, 0, GIB * KM_MIB, 0, 2000));
    assert_false(volume_room_look(&room, 0, 0, 0, 3000));
    assert_true(room.is_short);
}

static void people_are_told_in_steps(void **state)
{
    UNUSED(state);
    assert_int_equal(volume_room_rounded_mib(63 * KM_MIB, 500 * KM_MIB), 63);
    assert_int_equal(volume_room_rounded_mib(4099 * KM_MIB, 1024 * GIB * KM_MIB), 4096);
    assert_int_equal(volume_room_rounded_up_mib(63 * KM_MIB, 500 * KM_MIB), 63);
    assert_int_equal(volume_room_rounded_up_mib(63 * KM_MIB + 1, 500 * KM_MIB), 64);
    assert_int_equal(volume_room_rounded_up_mib(4097 * KM_MIB, 1024 * GIB * KM_MIB), 8192);
    assert_true(volume_room_is_low(63 * KM_MIB, 500 * KM_MIB, false));
    assert_true(volume_room_is_low(400 * KM_MIB, 10 * GIB * KM_MIB, false));
    assert_false(volume_room_is_low(600 * KM_MIB, 10 * GIB * KM_MIB, false));
    assert_true(volume_room_is_low(600 * KM_MIB, 10 * GIB * KM_MIB, true));
    assert_false(volume_room_is_low(0, 0, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_floor_is_the_largest),
        cmocka_unit_test(what_was_filled_fast_passes),
        cmocka_unit_test(it_is_short_as_in_the_table),
        cmocka_unit_test(a_commit_that_finds_no_room_is_ended),
        cmocka_unit_test(what_is_taken_by_ourselves_is_no_filling),
        cmocka_unit_test(a_look_that_failed_changes_nothing),
        cmocka_unit_test(people_are_told_in_steps),
    };

    return cmocka_run_group_tests_name("volume_room", tests, NULL, NULL);
}
