/* SPDX-License-Identifier: Apache-2.0 */
/* `copy`, the init container: what another image needs to run the agent lies in one folder. */
#include "common/base.h"

#include <setjmp.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/ca_bundle.h"
#include "common/fs.h"

static int run(const char *program, const char *word, const char *folder)
{
    const char *const argv[] = {program, word, folder, NULL};
    pid_t pid;
    int status = -1;
    assert_int_equal(posix_spawn(&pid, program, NULL, NULL, (char *const *)(uintptr_t)argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void assert_same(const char *a, const char *b, mode_t mode)
{
    _cleanup_(strbuf_release) struct strbuf one, two;
    struct stat st;
    strbuf_init(&one, 256 * KM_MIB);
    strbuf_init(&two, 256 * KM_MIB);
    assert_int_equal(fs_read_file(a, &one, NULL), 0);
    assert_int_equal(fs_read_file(b, &two, NULL), 0);
    assert_true(one.len > 0);
    assert_int_equal(one.len, two.len);
    assert_memory_equal(one.buf, two.buf, one.len);
    assert_int_equal(stat(b, &st), 0);
    assert_int_equal(st.st_mode & 07777, mode);
}

static void test_copy(void **state)
{
    UNUSED(state);
    const char *build = getenv("KM_BUILD");
    assert_non_null(build);
    _cleanup_(freep) char *agent = xasprintf("%s/kube-mysql-agent", build);
    _cleanup_(freep) char *bundle = xasprintf("%s/authorities.pem", getenv("TMPDIR"));
    _cleanup_(freep) char *first = xasprintf("%s/opt/first", getenv("TMPDIR"));
    _cleanup_(freep) char *copied = xasprintf("%s/kube-mysql-agent", first);
    _cleanup_(freep) char *copied_bundle = xasprintf("%s/" CA_BUNDLE_NAME, first);
    _cleanup_(freep) char *second = xasprintf("%s/opt/second", getenv("TMPDIR"));
    _cleanup_(freep) char *copied_again = xasprintf("%s/kube-mysql-agent", second);
    assert_int_equal(fs_write_file_atomic(bundle, "PEM", 3, 0600, NULL), 0);
    assert_int_equal(setenv("SSL_CERT_FILE", bundle, 1), 0);
    for (int i = 0; i < 2; i++) { /* the second time over what is there */
        assert_int_equal(run(agent, "copy", first), 0);
        assert_same(agent, copied, 0755);
        assert_same(bundle, copied_bundle, 0644);
    }
    /* What is named and not there stops the pod at once, not the first backup. */
    assert_int_equal(unlink(bundle), 0);
    assert_int_not_equal(run(agent, "copy", first), 0);
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    /* The copy runs by itself. */
    assert_int_equal(run(copied, "copy", second), 0);
    assert_same(agent, copied_again, 0755);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
