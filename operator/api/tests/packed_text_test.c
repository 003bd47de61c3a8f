/* SPDX-License-Identifier: Apache-2.0 */
/* What is packed comes back byte for byte, whatever it is, and what clusters say gets small. */
#include "common/base.h"

#include "operator/api/packed_text.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/backoff.h"

static size_t there_and_back(const char *text, size_t len)
{
    size_t packed_len = SIZE_MAX;
    _cleanup_(freep) char *packed = text_pack(text, len, &packed_len);
    _cleanup_(freep) char *back = text_unpack(packed, packed_len, len);
    assert_true(packed_len <= len);
    assert_non_null(back);
    assert_memory_equal(back, text, len);
    assert_int_equal(back[len], '\0');
    return packed_len;
}

static void any_bytes(void **state)
{
    UNUSED(state);
    char noise[5000];
    uint64_t random_state = 7;
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (char)random_next(&random_state);
    for (size_t len = 0; len < 300; len++)
        there_and_back(noise, len);
    assert_int_equal(there_and_back(noise, sizeof(noise)), sizeof(noise));
    _cleanup_(freep) char *long_text = xcalloc(1, 300000);
    memset(long_text, 'x', 300000);
    assert_true(there_and_back(long_text, 300000) < 1000);
}

static void what_clusters_say(void **state)
{
    UNUSED(state);
    char text[1024];
    int len = snprintf(text, sizeof(text),
        "{\"appliedGeneration\":7,\"appliedHash\":\"2e8daf973aeafc35\",\"conditions\":[{\"lastTransitionTime\":"
        "\"2027-03-04T05:06:07Z\",\"message\":\"the spec is in force\",\"observedGeneration\":7,\"reason\":\"Accepted\","
        "\"status\":\"True\",\"type\":\"Accepted\"},{\"lastTransitionTime\":\"2027-03-04T05:06:07Z\",\"message\":"
        "\"shop-mysql-0 is not ready\",\"observedGeneration\":7,\"reason\":\"PrimaryNotReady\",\"status\":\"False\","
        "\"type\":\"Available\"}],\"observedGeneration\":7,\"selector\":\"kubemysql.dev/cluster=shop,"
        "app.kubernetes.io/component=database\",\"service\":\"shop-mysql\",\"statefulSet\":\"shop-mysql\"}");
    assert_true(there_and_back(text, (size_t)len) < (size_t)len / 4);
}

static void other_bytes_are_refused(void **state)
{
    UNUSED(state);
    size_t packed_len;
    char text[500];
    memset(text, 'y', sizeof(text));
    _cleanup_(freep) char *packed = text_pack(text, sizeof(text), &packed_len);
    assert_null(text_unpack(packed, packed_len, sizeof(text) + 1));
    assert_null(text_unpack(packed, packed_len, sizeof(text) - 1));
    assert_null(text_unpack(packed, packed_len - 1, sizeof(text)));
    packed[0] ^= 1;
    assert_null(text_unpack(packed, packed_len, sizeof(text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(what_clusters_say),
        cmocka_unit_test(other_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
