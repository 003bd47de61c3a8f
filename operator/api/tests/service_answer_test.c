/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/service_answer.h"

#include <setjmp.h>
#include <cmocka.h>

#define INVALID "Service \"a\" is invalid: "

static void a_field_is_to_blame_as_in_the_table(void **state)
{
    UNUSED(state);
    static const struct {
        enum error_kind kind;
        const char *words;
        bool is_of_fields;
        const char *field;
    } rows[] = {
        {ERROR_INVALID, INVALID "metadata.annotations: Invalid value: \"Bad Key\"", true, ".annotations"},
        {ERROR_INVALID, INVALID "metadata.labels: Invalid value: \"no value\"", true, ".labels"},
        {ERROR_INVALID, INVALID "spec.loadBalancerSourceRanges[0]: Invalid value: \"300.1.1.1/8\"", true,
            ".loadBalancerSourceRanges"},
        {ERROR_INVALID, INVALID "spec.LoadBalancerSourceRanges[0]: Invalid value: \"300.1.1.1/8\"", true,
            ".loadBalancerSourceRanges"},
        {ERROR_INVALID, INVALID "spec.type: Unsupported value", true, ".type"},
        {ERROR_INVALID, INVALID "spec.ports[0].port: Invalid value: 0", true, ""},
        {ERROR_INVALID, "admission webhook \"v\" denied the request: no such annotations", false, ""},
        {ERROR_FORBIDDEN, "services \"a\" is forbidden: exceeded quota: q", false, ""},
        {ERROR_UNAVAILABLE, "no leader", false, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = ERROR_INIT;
        error_set(&err, rows[i].kind, "%s", rows[i].words);
        if (service_answer_blames_fields(&err) != rows[i].is_of_fields ||
            !str_eq(service_answer_field(&err), rows[i].field))
            fail_msg("%s", rows[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_field_is_to_blame_as_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
