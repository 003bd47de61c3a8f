/* SPDX-License-Identifier: Apache-2.0 */
/* Which binary logs go for their size: sizes in MiB. */
#include "common/base.h"

#include "agent/binlog_limit.h"

#include <setjmp.h>
#include <cmocka.h>

#define LOGS 5

static void the_oldest_go_first(void **state)
{
    static const struct {
        const char *what;
        uint64_t mib[LOGS]; /* up to the first 0 */
        uint64_t max_mib, lacking_mib;
        size_t count;
    } rows[] = {
        {"no limit, and room", {100, 100, 100}, 0, 0, 0},
        {"within the limit", {25, 25, 25, 25}, 100, 0, 0},
        {"beyond it", {25, 25, 25, 25, 1}, 100, 0, 1},
        {"far beyond it", {90, 25, 25, 25, 10}, 50, 0, 3},
        {"the newest stays, be it too large", {25, 200}, 100, 0, 1},
        {"it alone", {200}, 100, 100, 0},
        {"room is lacking", {10, 10, 10, 10}, 0, 15, 2},
        {"more than there is", {10, 10, 10, 10}, 0, 500, 3},
        {"both: the limit asks for more", {10, 10, 10, 10}, 20, 5, 2},
        {"both: room asks for more", {10, 10, 10, 10}, 35, 25, 3},
        {"none at all", {0}, 100, 100, 0},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint64_t bytes[LOGS];
        size_t n = 0;
        for (; n < LOGS && rows[i].mib[n]; n++)
            bytes[n] = rows[i].mib[n] * KM_MIB;
        size_t count = binlog_limit_count(bytes, n, rows[i].max_mib * KM_MIB, rows[i].lacking_mib * KM_MIB);
        if (count != rows[i].count)
            fail_msg("%s: %zu", rows[i].what, count);
    }
}

static struct volume_room room_of(uint64_t free_mib, uint64_t floor_mib)
{
    return (struct volume_room){.bytes = 1000 * KM_MIB, .free_bytes = free_mib * KM_MIB, .floor = floor_mib * KM_MIB};
}

static void room_is_lacking_below_twice_the_floor(void **state)
{
    static const struct {
        uint64_t free_mib, floor_mib, lacking_mib;
    } rows[] = {{500, 64, 0}, {128, 64, 0}, {127, 64, 17}, {64, 64, 80}, {0, 64, 144}, {150, 100, 75}};

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct volume_room room = room_of(rows[i].free_mib, rows[i].floor_mib);
        assert_int_equal(binlog_limit_lacking(&room) / KM_MIB, rows[i].lacking_mib);
    }
    assert_int_equal(binlog_limit_lacking(&(struct volume_room){.floor = 64 * KM_MIB}), 0);
}

static void the_newest_is_ended_for_room(void **state)
{
    static const struct {
        const char *what;
        uint64_t free_mib, older_mib, newest_mib;
        bool rotates;
    } rows[] = {
        {"there is room", 500, 1, 300, false},
        {"it is all that there is", 100, 0, 300, true},
        {"those before it are not enough", 100, 10, 300, true},
        {"those before it are enough", 100, 60, 300, false},
        {"it is small", 100, 1, 15, false},
        {"the server might not be able to begin another", 31, 1, 300, false},
        {"just about", 32, 1, 300, true},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct volume_room room = room_of(rows[i].free_mib, 64);
        const uint64_t bytes[] = {rows[i].older_mib * KM_MIB, rows[i].newest_mib * KM_MIB};
        if (binlog_limit_rotates(bytes, ARRAY_LEN(bytes), &room) != rows[i].rotates)
            fail_msg("%s", rows[i].what);
    }
    struct volume_room room = room_of(100, 64);
    assert_false(binlog_limit_rotates(NULL, 0, &room));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_go_first),
        cmocka_unit_test(room_is_lacking_below_twice_the_floor),
        cmocka_unit_test(the_newest_is_ended_for_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
