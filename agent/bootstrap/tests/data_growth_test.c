/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/data_growth.h"

#include <setjmp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

static void put(const char *dir, const char *name, const char *text)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, name);

    assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0600, NULL), 0);
}

static void test_growth(void **unused)
{
    char dir[] = "/tmp/kube-mysql-growth.XXXXXX";

    UNUSED(unused);
    assert_non_null(mkdtemp(dir));
    _cleanup_(freep) char *below = xasprintf("%s/mysql", dir);
    struct data_growth growth = {.dir = dir};

    assert_int_equal(data_growth_of("/no/such/folder"), 0);
    put(dir, "ibdata1", "1");
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(data_growth_watch(&growth), SUBPROCESS_ADVANCES);
    assert_int_equal(data_growth_watch(&growth), SUBPROCESS_WAITS);
    put(dir, "ibdata1", "12");
    assert_int_equal(data_growth_watch(&growth), SUBPROCESS_ADVANCES);
    put(below, "user.MYI", "1");
    assert_int_equal(data_growth_watch(&growth), SUBPROCESS_ADVANCES);
    assert_int_equal(data_growth_watch(&growth), SUBPROCESS_WAITS);
    assert_int_equal(fs_remove_all(dir, NULL), 0);
    assert_int_equal(data_growth_watch(&growth), SUBPROCESS_ADVANCES);
    assert_int_equal(data_growth_watch(&growth), SUBPROCESS_WAITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_growth)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
