/* SPDX-License-Identifier: Apache-2.0 */
/* Which certificates are trusted when nobody names some: by paths of a folder of its own. */
#include "common/base.h"

#include "common/ca_bundle.h"

#include <setjmp.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

static char *in_folder(const char *name)
{
    const char *top = getenv("TMPDIR");
    return xasprintf("%s/ca_bundle_test/%s", top ? top : "/tmp", name);
}

static void put(const char *path, const char *text)
{
    assert_int_equal(fs_write_file_atomic(path, text, strlen(text), 0644, NULL), 0);
}

static void assert_chosen(const struct ca_bundle_places *places, const char *wanted)
{
    _cleanup_(freep) char *got = ca_bundle_choose(places);
    if (!str_eq(got, wanted))
        fail_msg("chosen: %s, wanted: %s", str_or_empty(got), str_or_empty(wanted));
}

static void test_order(void **state)
{
    UNUSED(state);
    _cleanup_(freep) char *debian = in_folder("debian.crt");
    _cleanup_(freep) char *redhat = in_folder("redhat.crt");
    _cleanup_(freep) char *folder = in_folder("opt");
    _cleanup_(freep) char *program = in_folder("opt/kube-mysql-agent");
    _cleanup_(freep) char *own = in_folder("opt/" CA_BUNDLE_NAME);
    const char *const system[] = {debian, redhat, NULL};
    struct ca_bundle_places places = {NULL, system, program};
    assert_int_equal(fs_mkdir_all(folder, 0755, NULL), 0);
    assert_chosen(&places, NULL);
    put(own, "own");
    assert_chosen(&places, own);
    put(redhat, "redhat");
    assert_chosen(&places, redhat);
    put(debian, ""); /* an image that was emptied of it */
    assert_chosen(&places, redhat);
    assert_int_equal(fs_remove_all(debian, NULL), 0);
    assert_int_equal(fs_mkdir_all(debian, 0755, NULL), 0);
    assert_chosen(&places, redhat);
    assert_int_equal(fs_remove_all(debian, NULL), 0);
    put(debian, "debian");
    assert_chosen(&places, debian);
    places.wish = "";
    assert_chosen(&places, debian);
    places.wish = "/nowhere/wished.pem";
    assert_chosen(&places, "/nowhere/wished.pem");
}

static void test_no_program(void **state)
{
    UNUSED(state);
    const char *const none[] = {NULL};
    assert_chosen(&(struct ca_bundle_places){NULL, none, NULL}, NULL);
    assert_chosen(&(struct ca_bundle_places){NULL, none, ""}, NULL);
}

static void test_of_this_process(void **state)
{
    UNUSED(state);
    assert_int_equal(setenv("SSL_CERT_FILE", "/wished/here.pem", 1), 0);
    _cleanup_(freep) char *wished = ca_bundle_find();
    assert_string_equal(wished, "/wished/here.pem");
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
    _cleanup_(freep) char *found = ca_bundle_find();
    assert_true(!found || fs_exists(found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_no_program),
        cmocka_unit_test(test_of_this_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
