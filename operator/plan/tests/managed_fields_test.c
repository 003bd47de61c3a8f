/* SPDX-License-Identifier: Apache-2.0 */
/* What was created becomes what is applied. */
#include "common/base.h"

#include "operator/plan/managed_fields.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"

static json_t *object_with(const char *entries)
{
    _cleanup_(freep) char *text = xasprintf("{\"metadata\":{\"resourceVersion\":\"17\",\"managedFields\":%s}}", entries);
    struct error err = ERROR_INIT;
    json_t *object = json_parse(text, strlen(text), &err);
    assert_non_null(object);
    return object;
}

static void assert_nothing(const char *entries)
{
    _cleanup_(json_decrefp) json_t *object = object_with(entries);
    assert_null(managed_fields_adopt(object, "ours"));
}

#define CREATED \
    "{\"manager\":\"ours\",\"operation\":\"Update\",\"fieldsV1\":{\"f:spec\":{\"f:old\":{},\"f:both\":{\".\":{},\"f:x\":{}}}}}"
#define APPLIED "{\"manager\":\"ours\",\"operation\":\"Apply\",\"fieldsV1\":{\"f:spec\":{\"f:both\":{\"f:y\":{}}}}}"
#define OTHER "{\"manager\":\"kubectl\",\"operation\":\"Update\",\"fieldsV1\":{\"f:spec\":{\"f:z\":{}}}}"
#define STATUS \
    "{\"manager\":\"ours\",\"operation\":\"Update\",\"subresource\":\"status\",\"fieldsV1\":{\"f:status\":{}}}"

static void nothing_without_a_creation(void **state)
{
    UNUSED(state);
    assert_nothing("[]");
    assert_nothing("[" APPLIED "," OTHER "]");
    assert_nothing("[" APPLIED "," STATUS "]"); /* what was written to a subresource is no creation of ours */
}

static void created_fields_become_applied_ones(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *object = object_with("[" CREATED "," OTHER "," APPLIED "," STATUS "]");
    _cleanup_(json_decrefp) json_t *patch = managed_fields_adopt(object, "ours");
    assert_non_null(patch);
    assert_string_equal(json_path_str(json_array_get(patch, 0), "path", ""), "/metadata/resourceVersion");
    assert_string_equal(json_path_str(json_array_get(patch, 0), "value", ""), "17");
    const json_t *entries = json_path(json_array_get(patch, 1), "value");
    assert_int_equal(json_array_size(entries), 3);
    assert_string_equal(json_path_str(json_array_get(entries, 0), "manager", ""), "kubectl");
    const json_t *applied = json_array_get(entries, 1);
    assert_string_equal(json_path_str(applied, "operation", ""), "Apply");
    const json_t *fields = json_path(applied, "fieldsV1.f:spec");
    assert_non_null(json_object_get(fields, "f:old"));
    assert_int_equal(json_object_size(json_object_get(fields, "f:both")), 3);
    assert_null(json_object_get(fields, "f:z"));
    assert_string_equal(json_path_str(json_array_get(entries, 2), "subresource", ""), "status");
}

static void a_creation_alone_becomes_applied(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *object = object_with("[" OTHER "," CREATED "]");
    _cleanup_(json_decrefp) json_t *patch = managed_fields_adopt(object, "ours");
    const json_t *entries = json_path(json_array_get(patch, 1), "value");
    assert_int_equal(json_array_size(entries), 2);
    assert_string_equal(json_path_str(json_array_get(entries, 1), "operation", ""), "Apply");
    assert_int_equal(json_object_size(json_path(json_array_get(entries, 1), "fieldsV1.f:spec")), 2);
}

static void the_object_is_left_as_it_was(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *object = object_with("[" CREATED "," APPLIED "]");
    json_t *before = json_deep_copy(object);
    json_decref(managed_fields_adopt(object, "ours"));
    assert_true(json_equal(object, before));
    json_decref(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_without_a_creation),
        cmocka_unit_test(created_fields_become_applied_ones),
        cmocka_unit_test(a_creation_alone_becomes_applied),
        cmocka_unit_test(the_object_is_left_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
