/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of how many connections there are, what the limit is, and what it becomes for replicas. */
#include "common/base.h"

#include "agent/mysql/room.h"

#include <setjmp.h>
#include <cmocka.h>

struct row {
    const char *what;
    bool lacking;
    uint32_t used, limit;
    uint32_t sets; /* 0: nothing */
};

static void check(const struct row *rows, size_t count)
{
    struct replica_room room = {0};

    for (size_t i = 0; i < count; i++) {
        uint32_t sets = replica_room_decide(&room, rows[i].lacking, rows[i].used, rows[i].limit);
        if (sets != rows[i].sets)
            fail_msg("%s: %u, not %u", rows[i].what, sets, rows[i].sets);
    }
}

static void test_it_grows_and_is_set_back(void **unused)
{
    static const struct row rows[] = {
        {"nothing waits", false, 151, 151, 0},
        {"commits wait, and there is room", true, 150, 151, 0},
        {"an administrator has the last one", true, 152, 151, 156},
        {"not taken yet", true, 155, 156, 0},
        {"clients have it", true, 156, 156, 160},
        {"the replica is there, clients are not gone", false, 160, 160, 0},
        {"they are", false, 151, 160, 151},
        {"it is forgotten", false, 20, 151, 0},
        {"again", true, 151, 151, 155},
    };

    UNUSED(unused);
    check(rows, ARRAY_LEN(rows));
}

static void test_it_has_an_end(void **unused)
{
    static const struct row rows[] = {
        {"the first", true, 100, 100, 104},
        {"many came at once", true, 190, 104, 100 + REPLICA_ROOM_MAX},
        {"no more", true, 100 + REPLICA_ROOM_MAX, 100 + REPLICA_ROOM_MAX, 0},
        {"back to where it was", false, 100, 100 + REPLICA_ROOM_MAX, 100},
    };

    UNUSED(unused);
    check(rows, ARRAY_LEN(rows));
}

static void test_a_limit_of_somebody_else_stays(void **unused)
{
    static const struct row rows[] = {
        {"raised", true, 100, 100, 104},
        {"my.cnf has another one now", false, 60, 300, 0},
        {"which counts from then on", true, 300, 300, 304},
        {"and is gone back to", false, 60, 304, 300},
    };

    UNUSED(unused);
    check(rows, ARRAY_LEN(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_grows_and_is_set_back),
        cmocka_unit_test(test_it_has_an_end),
        cmocka_unit_test(test_a_limit_of_somebody_else_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
