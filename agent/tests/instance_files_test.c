/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/instance_files.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

struct fixture {
    char root[64];
    struct agent_paths paths;
};

static void put(const struct fixture *fixture, const char *name, const char *content, size_t len)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", fixture->root, name);

    assert_int_equal(fs_write_file_atomic(path, content, len, 0600, NULL), 0);
}

static void put_text(const struct fixture *fixture, const char *name, const char *content)
{
    put(fixture, name, content, strlen(content));
}

static int setup(void **state)
{
    struct fixture *fixture = xnew(struct fixture);

    snprintf(fixture->root, sizeof(fixture->root), "/tmp/km-files-XXXXXX");
    assert_non_null(mkdtemp(fixture->root));
    agent_paths_init(&fixture->paths, NULL, NULL, fixture->root, fixture->root, fixture->root, NULL);
    put_text(fixture, "instance.json", "{\"clusterUID\":\"u\",\"username\":\"app\"}");
    put_text(fixture, "root", "secret \n");
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(fs_remove_all(fixture->root, NULL), 0);
    agent_paths_release(&fixture->paths);
    free(fixture);
    return 0;
}

static void test_bytes_are_kept_and_gaps_are_named(void **state)
{
    const struct fixture *fixture = *state;
    _cleanup_(accounts_want_release) struct accounts_want want = {0};
    const char *missing = NULL;

    assert_int_equal(instance_files_read_accounts(&fixture->paths, "mysql", &want, &missing, NULL), 0);
    assert_string_equal(want.root_password, "secret \n");
    assert_null(want.monitor_password);
    assert_string_equal(want.username, "app");
    assert_string_equal(want.agent_user, "mysql");
    assert_string_equal(missing, "user");
    assert_int_equal(strlen(want.hash), 64);
    assert_int_equal(want.scope, ACCOUNTS_NONE);
}

static void test_unusable_files(void **state)
{
    const struct fixture *fixture = *state;
    struct accounts_want want = {0};
    const char *missing = NULL;
    struct error err = ERROR_INIT;

    put(fixture, "user", "a\0b", 3);
    assert_int_equal(instance_files_read_accounts(&fixture->paths, "mysql", &want, &missing, &err), -1);
    assert_non_null(strstr(err.message, "\"user\" holds a NUL byte"));
    put_text(fixture, "user", "x");
    put_text(fixture, "instance.json", "[]");
    assert_int_equal(instance_files_read_accounts(&fixture->paths, "mysql", &want, &missing, &err), -1);
    assert_null(want.root_password);
}

static void test_every_change_is_seen(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t before = instance_files_accounts_signature(&fixture->paths);

    assert_true(before == instance_files_accounts_signature(&fixture->paths));
    put_text(fixture, "root", "secret \n"); /* same bytes, another file */
    uint64_t after = instance_files_accounts_signature(&fixture->paths);
    assert_true(before != after);
    put_text(fixture, "monitor", "new");
    assert_true(after != instance_files_accounts_signature(&fixture->paths));
    uint64_t tls = instance_files_tls_signature(&fixture->paths);
    put_text(fixture, "ca.crt", "x");
    assert_true(tls != instance_files_tls_signature(&fixture->paths));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_bytes_are_kept_and_gaps_are_named, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unusable_files, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_change_is_seen, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
