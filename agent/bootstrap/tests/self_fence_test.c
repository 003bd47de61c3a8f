/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/self_fence.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/fs.h"

static void test_only_a_primary_promises(void **unused)
{
    struct agent_order order = {.epoch = 4, .role = AGENT_ROLE_PRIMARY, .self_fence_ms = 3000, .self_fence_members = 2};
    struct self_fence fence = self_fence_of(&order);
    struct self_fence other = fence;

    UNUSED(unused);
    assert_int_equal(fence.epoch, 4);
    assert_int_equal(fence.ms, 3000);
    assert_int_equal(fence.members, 2);
    assert_true(self_fence_same(&fence, &other));
    other.members = 1;
    assert_false(self_fence_same(&fence, &other));
    order.self_fence_ms = 0;
    assert_int_equal(self_fence_of(&order).epoch, 0);
    order = (struct agent_order){.epoch = 5, .role = AGENT_ROLE_REPLICA, .self_fence_ms = 3000};
    assert_int_equal(self_fence_of(&order).ms, 0);
}

static void test_a_promise_is_kept_on_disk(void **unused)
{
    char dir[] = "/tmp/self-fence-XXXXXX";
    struct agent_paths paths = {0};
    struct self_fence fence = {.epoch = 4, .ms = 3000, .members = 2};

    UNUSED(unused);
    assert_non_null(mkdtemp(dir));
    paths.run_dir = dir;
    assert_int_equal(self_fence_read(&paths).ms, 0);
    assert_int_equal(self_fence_write(&paths, &fence, NULL), 0);
    struct self_fence read = self_fence_read(&paths);
    assert_true(self_fence_same(&fence, &read));
    assert_int_equal(self_fence_write(&paths, &(struct self_fence){0}, NULL), 0);
    assert_int_equal(self_fence_read(&paths).ms, 0);
    assert_int_equal(self_fence_write(&paths, &(struct self_fence){0}, NULL), 0); /* again */
    assert_int_equal(fs_remove_all(dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_a_primary_promises),
        cmocka_unit_test(test_a_promise_is_kept_on_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
