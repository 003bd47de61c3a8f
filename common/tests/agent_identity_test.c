/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_identity.h"

#include <setjmp.h>
#include <cmocka.h>

static void a_request_says_whom_it_is_for(void **state)
{
    static const struct {
        const char *url, *pod, *uid, *whole;
    } rows[] = {
        {"/v1/role", "m-0", "u-1", "/v1/role?to=m-0&uid=u-1"},
        {"/v1/role?asOf=7", "m-0", "u-1", "/v1/role?asOf=7&to=m-0&uid=u-1"},
        {"/v1/backups/b", "m-0", "", "/v1/backups/b?to=m-0"},
        {"/v1/role", "m-0", NULL, "/v1/role?to=m-0"},
        {"/v1/role", "", "u-1", "/v1/role"},
        {"/v1/role", NULL, NULL, "/v1/role"},
        {"/v1/role", "m 0&x=y", "u-1", "/v1/role"},
        {"/v1/role", "m-0", "u&1", "/v1/role?to=m-0"},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(strbuf_release) struct strbuf url;
        strbuf_init(&url, 256);
        strbuf_adds(&url, rows[i].url);
        agent_identity_add(&url, rows[i].pod, rows[i].uid);
        assert_string_equal(url.buf, rows[i].whole);
    }
}

static void names_name_pods_and_addresses_do_not(void **state)
{
    static const char *const rows[][2] = {
        {"c1-mysql-0.c1-mysql.ns.svc", "c1-mysql-0"},
        {"127.0.0.1", ""},
        {"10.244.1.17", ""},
        {"fd00::17", ""},
        {"localhost", ""},
        {"", ""},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char pod[AGENT_POD_NAME_SIZE];
        agent_identity_of_host(rows[i][0], pod);
        assert_string_equal(pod, rows[i][1]);
    }
}

static void only_what_both_sides_say_is_compared(void **state)
{
    static const struct {
        const char *to, *to_uid, *pod, *uid;
        bool same;
    } rows[] = {
        {"m-0", "u-1", "m-0", "u-1", true},
        {"m-0", "u-1", "m-1", "u-1", false},
        {"m-0", "u-1", "m-0", "u-2", false},
        {"m-0", "u-1", "m-0", "", true},  /* an earlier version's agent */
        {NULL, NULL, "m-0", "u-2", true}, /* an earlier version's operator */
        {"m-0", "", "m-0", "u-2", true},  /* a member, which knows names */
        {"m-0", "", "m-1", "u-2", false},
        {"m-0", "u-1", "", "", true},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(agent_identity_is(rows[i].to, rows[i].to_uid, rows[i].pod, rows[i].uid), rows[i].same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_says_whom_it_is_for),
        cmocka_unit_test(names_name_pods_and_addresses_do_not),
        cmocka_unit_test(only_what_both_sides_say_is_compared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
