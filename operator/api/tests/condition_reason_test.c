/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/condition_reason.h"

#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "common/fs.h"
#include "common/strbuf.h"

static void test_each_is_read_back(void **state)
{
    UNUSED(state);
    for (int reason = REASON_OTHER + 1; reason < REASON_COUNT; reason++)
        assert_int_equal(reason_of_name(reason_name((enum condition_reason)reason)), reason);
}

static void test_what_is_no_reason_of_these(void **state)
{
    UNUSED(state);
    struct kube_condition condition = {.reason = "SomethingNew"};

    assert_int_equal(reason_of(&condition), REASON_OTHER);
    assert_int_equal(reason_of(NULL), REASON_OTHER);
    assert_int_equal(reason_of_name(NULL), REASON_OTHER);
    assert_int_equal(reason_of_name(""), REASON_OTHER);
    assert_string_equal(reason_name(REASON_OTHER), "");
}

/* What is decided by a reason is explained to people, too. */
static void test_each_stands_in_the_docs(void **state)
{
    _cleanup_(strbuf_release) struct strbuf page;
    char quoted[KUBE_CONDITION_REASON_MAX + 2];

    UNUSED(state);
    strbuf_init(&page, 1 * KM_MIB);
    assert_int_equal(fs_read_file("docs/status.md", &page, NULL), 0);
    for (int reason = REASON_OTHER + 1; reason < REASON_COUNT; reason++) {
        snprintf(quoted, sizeof(quoted), "`%s`", reason_name((enum condition_reason)reason));
        if (!strstr(page.buf, quoted))
            fail_msg("docs/status.md does not name %s", quoted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_is_read_back),
        cmocka_unit_test(test_what_is_no_reason_of_these),
        cmocka_unit_test(test_each_stands_in_the_docs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
