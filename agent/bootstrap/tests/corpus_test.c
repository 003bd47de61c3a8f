/* SPDX-License-Identifier: Apache-2.0 */
/* The notes that an earlier version left on volumes (agent/tests/data/corpus-604752d/volumes) say to this one what
 * they said to it. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/bootstrap/epoch_file.h"
#include "agent/bootstrap/start_mode.h"
#include "agent/bootstrap/volume_mark.h"
#include "common/alloc.h"

static void notes_are_read(void **state)
{
    static const struct {
        const char *volume;
        uint64_t epoch, primary;
        enum agent_mark mark;
    } rows[] = {
        {"left", 18446744073709, 0, AGENT_MARK_LEFT},
        {"reseed", 18446744073710, 0, AGENT_MARK_RESEED},
        {"primary", 18446744073711, 41, AGENT_MARK_NONE},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(freep) char *volume = xasprintf("agent/tests/data/corpus-604752d/volumes/%s", rows[i].volume);
        struct agent_paths paths;
        struct error err = ERROR_INIT;
        enum agent_mark mark = AGENT_MARK_NONE;
        uint64_t epoch = 0;

        agent_paths_init(&paths, volume, NULL, NULL, NULL, NULL, NULL);
        if (epoch_file_read(&paths, &epoch, &err) < 0 || volume_mark_read(&paths, &mark, &err) < 0)
            fail_msg("%s: %s", rows[i].volume, err.message);
        assert_true(epoch == rows[i].epoch);
        assert_int_equal(mark, rows[i].mark);
        assert_true(start_mode_primary(&paths) == rows[i].primary);
        agent_paths_release(&paths);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(notes_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
