/* SPDX-License-Identifier: Apache-2.0 */
/* The reserve of a volume that has room: a folder of this machine. What a full one does: agent/tests/room_stories.c. */
#include "common/base.h"

#include "agent/bootstrap/volume_reserve.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

static void it_is_made_kept_and_told(void **state)
{
    char dir[] = "/tmp/volume_reserve.XXXXXX";
    struct agent_paths paths;
    uint64_t free_bytes = 0, bytes = 0, real = 0;
    struct error err = ERROR_INIT;

    UNUSED(state);
    assert_non_null(mkdtemp(dir));
    agent_paths_init(&paths, dir, NULL, NULL, NULL, NULL, NULL);
    assert_int_equal(volume_reserve_look(&paths), VOLUME_RESERVE_NONE);
    assert_false(volume_reserve_start(&paths));
    assert_int_equal(volume_reserve_make(&paths, &err), 0);
    assert_int_equal(volume_reserve_look(&paths), VOLUME_RESERVE_WHOLE);
    assert_false(volume_reserve_start(&paths)); /* there is room */
    assert_int_equal(volume_reserve_look(&paths), VOLUME_RESERVE_WHOLE);

    _cleanup_(freep) char *path = xasprintf("%s/reserve", paths.state_dir);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(volume_reserve_look(&paths), VOLUME_RESERVE_GIVEN_UP);
    assert_int_equal(volume_reserve_space(&paths, &free_bytes, &bytes, &err), 0);
    assert_int_equal(fs_space(dir, &real, &bytes, &err), 0);
    assert_true(real > free_bytes + VOLUME_RESERVE_BYTES / 2);

    /* A file that is long, and holds nothing. */
    assert_int_equal(truncate(path, (off_t)VOLUME_RESERVE_BYTES), 0);
    assert_int_equal(volume_reserve_look(&paths), VOLUME_RESERVE_GIVEN_UP);
    assert_int_equal(volume_reserve_make(&paths, &err), 0);
    assert_int_equal(volume_reserve_look(&paths), VOLUME_RESERVE_WHOLE);
    assert_int_equal(fs_remove_all(dir, &err), 0);
    agent_paths_release(&paths);
}

/* MiB. What was given up has been left out of what is free. */
static void it_is_made_when_enough_is_left(void **state)
{
    static const struct {
        enum volume_reserve reserve;
        uint64_t free_mib, enough_mib;
        bool is_due;
    } rows[] = {
        {VOLUME_RESERVE_NONE, 191, 128, false},
        {VOLUME_RESERVE_NONE, 192, 128, true},
        {VOLUME_RESERVE_GIVEN_UP, 127, 128, false},
        {VOLUME_RESERVE_GIVEN_UP, 128, 128, true},
        {VOLUME_RESERVE_WHOLE, 9000, 128, false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (volume_reserve_is_due(rows[i].reserve, rows[i].free_mib * KM_MIB, rows[i].enough_mib * KM_MIB) !=
            rows[i].is_due)
            fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_made_kept_and_told),
        cmocka_unit_test(it_is_made_when_enough_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
