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

/* ---- items in the way ---- */

#define PORT(name, port) "{\"name\":\"" name "\",\"port\":" #port ",\"protocol\":\"TCP\"}"
#define PORT_FIELDS(port) \
    "\"k:{\\\"port\\\":" #port ",\\\"protocol\\\":\\\"TCP\\\"}\":{\".\":{},\"f:name\":{},\"f:port\":{}}"
#define ENTRY(manager, operation, fields) \
    "{\"manager\":\"" manager "\",\"operation\":\"" operation "\",\"apiVersion\":\"v1\",\"fieldsV1\":" fields "}"
#define OURS_WITHOUT ENTRY("ours", "Apply", "{\"f:metadata\":{\"f:labels\":{\"f:a\":{}}}}")
#define SERVICE(ports) "{\"spec\":{\"ports\":[" ports "]}}"

static json_t *parse(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = json_parse(text, strlen(text), &err);
    if (!json)
        fail_msg("%s: %s", err.message, text);
    return json;
}

/* The patch against what stands in the way of the wanted ports. */
static json_t *take(const char *entries, const char *live, const char *wanted_text)
{
    _cleanup_(json_decrefp) json_t *object = object_with(entries);
    _cleanup_(json_decrefp) json_t *spec = parse(live);
    _cleanup_(json_decrefp) json_t *wanted = parse(wanted_text);
    json_object_update(object, spec);
    return managed_fields_take(object, "ours", wanted);
}

static void what_has_our_name_or_none_is_in_the_way(void **state)
{
    UNUSED(state);
    static const struct {
        const char *live;
        bool taken;
    } rows[] = {
        {SERVICE(PORT("mysql", 3307)), true}, {SERVICE("{\"port\":3307,\"protocol\":\"TCP\"}"), true},
        {SERVICE(PORT("more", 3307)), false}, {SERVICE(PORT("mysql", 3308)), false}, /* not what the entry speaks of */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _cleanup_(json_decrefp) json_t *patch =
            take("[" OURS_WITHOUT "," ENTRY("edit", "Update", "{\"f:spec\":{\"f:ports\":{" PORT_FIELDS(3307) "}}}") "]",
                rows[i].live, SERVICE(PORT("mysql", 3306)));
        if ((patch != NULL) != rows[i].taken)
            fail_msg("row %zu", i);
    }
}

static void an_item_in_the_way_becomes_ours(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *patch = take("[" OURS_WITHOUT "," ENTRY("edit", "Update",
                                                     "{\"f:spec\":{\"f:type\":{},\"f:ports\":{\".\":{}," PORT_FIELDS(
                                                         3307) "," PORT_FIELDS(9104) "}}}") "," STATUS "]",
        SERVICE(PORT("mysql", 3307) "," PORT("more", 9104)), SERVICE(PORT("mysql", 3306)));
    assert_non_null(patch);
    assert_string_equal(json_path_str(json_array_get(patch, 0), "value", ""), "17");
    const json_t *entries = json_path(json_array_get(patch, 1), "value");
    assert_int_equal(json_array_size(entries), 3);
    const json_t *ours = json_path(json_array_get(entries, 0), "fieldsV1");
    assert_non_null(json_path(ours, "f:metadata.f:labels.f:a"));
    const json_t *taken = json_path(ours, "f:spec.f:ports");
    assert_int_equal(json_object_size(taken), 1);
    assert_int_equal(json_object_size(json_object_get(taken, "k:{\"port\":3307,\"protocol\":\"TCP\"}")), 3);
    const json_t *left = json_path(json_array_get(entries, 1), "fieldsV1.f:spec");
    assert_non_null(json_object_get(left, "f:type"));
    assert_int_equal(json_object_size(json_object_get(left, "f:ports")), 2);
    assert_non_null(json_object_get(json_object_get(left, "f:ports"), "k:{\"port\":9104,\"protocol\":\"TCP\"}"));
}

static void an_entry_without_fields_goes(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *patch =
        take("[" ENTRY("edit", "Update", "{\"f:spec\":{\"f:ports\":{" PORT_FIELDS(3307) "}}}") "," OURS_WITHOUT "]",
            SERVICE(PORT("mysql", 3307)), SERVICE(PORT("mysql", 3306)));
    const json_t *entries = json_path(json_array_get(patch, 1), "value");
    assert_int_equal(json_array_size(entries), 1);
    assert_string_equal(json_path_str(json_array_get(entries, 0), "manager", ""), "ours");
}

/* A container's ports are a list in an item of a list. */
static void lists_in_items_are_looked_at(void **state)
{
    UNUSED(state);
    static const char fields[] =
        "{\"f:spec\":{\"f:containers\":{\"k:{\\\"name\\\":\\\"mysql\\\"}\":{\"f:ports\":{" PORT_FIELDS(3307) "}}}}}";
    _cleanup_(freep) char *entries = xasprintf("[%s,{\"manager\":\"edit\",\"operation\":\"Update\","
                                               "\"apiVersion\":\"v1\",\"fieldsV1\":%s}]",
        OURS_WITHOUT, fields);
    _cleanup_(json_decrefp) json_t *patch =
        take(entries, "{\"spec\":{\"containers\":[{\"name\":\"mysql\",\"ports\":[" PORT("mysql", 3307) "]}]}}",
            "{\"spec\":{\"containers\":[{\"name\":\"mysql\",\"ports\":[" PORT("mysql", 3306) "]}]}}");
    assert_non_null(patch);
}

/* Its paths need not be those of ours. */
static void an_entry_of_another_version_stays(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *patch =
        take("[" OURS_WITHOUT ",{\"manager\":\"edit\",\"operation\":\"Update\","
             "\"apiVersion\":\"v2\",\"fieldsV1\":{\"f:spec\":{\"f:ports\":{" PORT_FIELDS(3307) "}}}}]",
            SERVICE(PORT("mysql", 3307)), SERVICE(PORT("mysql", 3306)));
    assert_null(patch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_without_a_creation),
        cmocka_unit_test(created_fields_become_applied_ones),
        cmocka_unit_test(a_creation_alone_becomes_applied),
        cmocka_unit_test(the_object_is_left_as_it_was),
        cmocka_unit_test(what_has_our_name_or_none_is_in_the_way),
        cmocka_unit_test(an_item_in_the_way_becomes_ours),
        cmocka_unit_test(an_entry_without_fields_goes),
        cmocka_unit_test(lists_in_items_are_looked_at),
        cmocka_unit_test(an_entry_of_another_version_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
