/* SPDX-License-Identifier: Apache-2.0 */
/* Only MariaDB has domains: of a MySQL server nothing is asked, and nothing is done. */
#include "common/base.h"

#include "agent/mysql/start_domain.h"

#include <setjmp.h>
#include <cmocka.h>

/* What a variable without a value is then. */
static void __attribute__((noinline)) soil_stack(void)
{
    volatile unsigned char rubbish[4096];

    for (size_t i = 0; i < sizeof(rubbish); i++)
        rubbish[i] = 0xa5;
}

static void test_mysql_is_left_alone(void **unused)
{
    struct server_version version;
    struct error err = ERROR_INIT;
    char text[64] = "x";

    UNUSED(unused);
    assert_int_equal(server_version_parse("9.7.4", "MySQL", &version, NULL), 0);
    soil_stack();
    assert_int_equal(start_domain_leave(NULL, dialect_for(&version), &err), 0);
    soil_stack();
    assert_int_equal(start_domain_look(NULL, dialect_for(&version), text, sizeof(text), &err), 0);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mysql_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
