/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two pod templates: named, bounded, and never a value that may be secret. */
#include "common/base.h"

#include "operator/cluster/desired/template_change.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"

static json_t *parse(const char *text)
{
    json_t *json = json_parse(text, strlen(text), NULL);
    if (!json)
        fail_msg("not JSON: %s", text);
    return json;
}

static void changes_are_named(void **state)
{
    static const struct {
        const char *before, *now, *text;
    } rows[] = {
        {"{\"spec\":{\"containers\":[{\"name\":\"mysql\",\"resources\":{\"limits\":{\"memory\":\"1Gi\"}}}]}}",
            "{\"spec\":{\"containers\":[{\"name\":\"mysql\",\"resources\":{\"limits\":{\"memory\":\"2Gi\"}}}]}}",
            "resources.limits.memory 1Gi -> 2Gi (mysql)"},
        {"{\"spec\":{\"initContainers\":[{\"name\":\"init\",\"image\":\"a:1\"}],\"containers\":[{\"name\":\"mysql\",\"image\":\"a:1\"}]}}",
            "{\"spec\":{\"initContainers\":[{\"name\":\"init\",\"image\":\"a:2\"}],\"containers\":[{\"name\":\"mysql\",\"image\":\"a:2\"}]}}",
            "image a:1 -> a:2 (init, mysql)"},
        {"{\"spec\":{\"containers\":[{\"name\":\"mysql\",\"resources\":{\"limits\":{\"memory\":\"1Gi\"}}}]}}",
            "{\"spec\":{\"containers\":[{\"name\":\"mysql\"}]}}", "resources.limits.memory 1Gi -> unset (mysql)"},
        {"{\"spec\":{\"containers\":[{\"name\":\"mysql\"}]}}",
            "{\"spec\":{\"containers\":[{\"name\":\"mysql\"},{\"name\":\"exporter\",\"env\":[{\"name\":\"A\",\"value\":\"secret\"}]}]}}",
            "container exporter added"},
        {"{\"spec\":{\"containers\":[{\"name\":\"mysql\",\"env\":[{\"name\":\"A\",\"value\":\"secret1\"}]}]}}",
            "{\"spec\":{\"containers\":[{\"name\":\"mysql\",\"env\":[{\"name\":\"A\",\"value\":\"secret2\"}]}]}}",
            "env.A.value changed (mysql)"},
        {"{\"spec\":{\"containers\":[{\"name\":\"x\",\"args\":[\"--password=a\"]}]}}",
            "{\"spec\":{\"containers\":[{\"name\":\"x\",\"args\":[\"--password=b\"]}]}}", "args changed (x)"},
        {"{\"metadata\":{\"annotations\":{\"a\":\"secret1\"}},\"spec\":{\"terminationGracePeriodSeconds\":120}}",
            "{\"metadata\":{\"annotations\":{\"a\":\"secret2\"}},\"spec\":{\"terminationGracePeriodSeconds\":60}}",
            "metadata.annotations.a changed; terminationGracePeriodSeconds 120 -> 60"},
        {"{\"spec\":{\"a\":1}}", "{\"spec\":{\"a\":1}}", ""},
    };
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[TEMPLATE_CHANGE_SIZE];
        _cleanup_(json_decrefp) json_t *before = parse(rows[i].before);
        _cleanup_(json_decrefp) json_t *now = parse(rows[i].now);
        template_change_text(before, now, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void many_are_counted(void **state)
{
    UNUSED(state);
    char text[TEMPLATE_CHANGE_SIZE];
    _cleanup_(json_decrefp) json_t *before = json_object();
    _cleanup_(json_decrefp) json_t *now = json_object();
    for (int i = 0; i < 40; i++) {
        char key[64];
        snprintf(key, sizeof(key), "aFieldWithAVeryLongNameThatTakesRoom%02d", i);
        json_put_int(before, key, i);
        json_put_int(now, key, i + 1);
    }
    template_change_text(before, now, text);
    assert_true(strlen(text) < TEMPLATE_CHANGE_SIZE);
    assert_non_null(strstr(text, " more"));
    template_change_text(NULL, now, text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_named),
        cmocka_unit_test(many_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
