/* SPDX-License-Identifier: Apache-2.0 */
/* kube_object_test.c: metadata, digests, keys, versions; paths and discovery of kinds. */
#include "common/base.h"

#include "operator/kube/kube_object.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "operator/kube/kube_resource.h"

#define UID1 "0a1b2c3d-0000-4000-8000-00000000000f"
#define UID2 "ffffffff-0000-4000-8000-000000000001"

static struct json_slice slice(const char *text)
{
    return (struct json_slice){.data = text, .len = strlen(text)};
}

static struct kube_object *child(const char *text)
{
    return kube_projection_child.project(slice(text), NULL);
}

static void test_projection(void **state)
{
    UNUSED(state);
    _cleanup_(freep) struct kube_object *object =
        child("{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"uid\":\"" UID1
              "\",\"resourceVersion\":\"12\",\"generation\":7,"
              "\"ownerReferences\":[{\"uid\":\"" UID1 "\"},{\"controller\":true,\"uid\":\"" UID2 "\"}],"
              "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},\"spec\":{}}");
    assert_string_equal(object->key, "n/a");
    assert_string_equal(object->resource_version, "12");
    assert_int_equal(object->generation, 7);
    assert_true(object->deleting);
    assert_true(kube_uid_eq(object->uid, kube_uid_parse(UID1, 36)));
    assert_true(kube_uid_eq(object->owner, kube_uid_parse(UID2, 36)));
    _cleanup_(freep) struct kube_object *plain = child("{\"metadata\":{\"name\":\"a\",\"deletionTimestamp\":null}}");
    assert_string_equal(plain->key, "a");
    assert_string_equal(plain->resource_version, "");
    assert_false(plain->deleting);
    assert_true(kube_uid_is_zero(plain->uid) && kube_uid_is_zero(plain->owner));
}

static void test_projection_refuses(void **state)
{
    UNUSED(state);
    static const char *const bad[] = {"", "{", "[]", "{}", "{\"metadata\":{}}", "{\"metadata\":{\"name\":\"\"}}",
        "{\"metadata\":{\"name\":7}}", "{\"metadata\":{\"name\":\"a\\u0062\"}}",
        "{\"metadata\":{\"name\":\"a\",\"uid\":7}}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_null(child(bad[i]));
    char text[2 * KUBE_NAME_MAX + 64];
    snprintf(text, sizeof(text), "{\"metadata\":{\"name\":\"%0*d\"}}", KUBE_NAME_MAX + 1, 0);
    assert_null(child(text));
}

static void test_digest(void **state)
{
    UNUSED(state);
    static const char base[] = "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}},\"spec\":{\"a\":1}}";
    static const struct {
        const char *text;
        bool same;
    } cases[] = {
        {"{\"kind\":\"K\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}},\"spec\":{\"a\":1}}",
            true},
        {"{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"},\"resourceVersion\":\"9\",\"managedFields\":[1]},\"spec\":{\"a\":1},\"status\":{}}",
            true},
        {"{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"2\"}},\"spec\":{\"a\":1}}", false},
        {"{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"},\"annotations\":{\"y\":\"\"}},\"spec\":{\"a\":1}}",
            false},
        {"{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"},\"finalizers\":[]},\"spec\":{\"a\":1}}", false},
        {"{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}},\"spec\":{\"a\":2}}", false},
        {"{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":\"1\"}},\"spec\":{\"a\":1},\"data\":{}}", false},
    };
    uint64_t digest = kube_object_digest(slice(base));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_int_equal(kube_object_digest(slice(cases[i].text)) == digest, cases[i].same);
}

static void test_uids(void **state)
{
    UNUSED(state);
    struct kube_uid uid = kube_uid_parse(UID1, 36);
    assert_int_equal(uid.bytes[0], 0x0a);
    assert_int_equal(uid.bytes[15], 0x0f);
    assert_true(kube_uid_is_zero(kube_uid_parse("", 0)));
    static const char *const others[] = {
        "x", "y", "0A1B2C3D-0000-4000-8000-00000000000F", "0a1b2c3d-0000-4000-8000-0000000000"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct kube_uid other = kube_uid_parse(others[i], strlen(others[i]));
        assert_false(kube_uid_eq(other, uid));
        assert_false(kube_uid_is_zero(other));
    }
}

static void test_keys(void **state)
{
    UNUSED(state);
    char ns[KUBE_LABEL_MAX + 1];
    char name[KUBE_NAME_MAX + 1];
    assert_int_equal(kube_key_split("n/a", ns, name), 0);
    assert_string_equal(ns, "n");
    assert_string_equal(name, "a");
    assert_int_equal(kube_key_split("a", ns, name), 0);
    assert_string_equal(ns, "");
    static const char *const bad[] = {
        "", "/", "n/", "/a", "n/a/b", "0123456789012345678901234567890123456789012345678901234567890123/a"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(kube_key_split(bad[i], ns, name), -1);
    _cleanup_(freep) char *key = kube_key(NULL, "a");
    assert_string_equal(key, "a");
}

static void test_versions(void **state)
{
    UNUSED(state);
    static const struct {
        const char *a, *b;
        bool comparable;
        int order;
    } cases[] = {{"9", "10", true, -1}, {"10", "9", true, 1}, {"7", "7", true, 0}, {"007", "7", true, 0},
        {"0", "00", true, 0}, {"123456789012345678901234567890", "123456789012345678901234567891", true, -1},
        {"", "1", false, 0}, {"1", "x", false, 0}, {"1a", "1", false, 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int order = 42;
        assert_int_equal(kube_version_compare(cases[i].a, cases[i].b, &order), cases[i].comparable);
        if (cases[i].comparable)
            assert_int_equal((order > 0) - (order < 0), cases[i].order);
    }
}

/* ---- kinds ---- */

static void assert_path(
    const struct kube_resource *resource, const char *ns, const char *name, const char *sub, const char *path)
{
    _cleanup_(strbuf_release) struct strbuf out;
    strbuf_init(&out, KM_KIB);
    kube_resource_path(resource, ns, name, sub, &out);
    assert_string_equal(out.buf, path);
}

static void test_paths(void **state)
{
    UNUSED(state);
    const struct kube_resource pods = {.kind = &kube_kind_pod, .version = "v1"};
    const struct kube_resource sets = {.kind = &kube_kind_stateful_set, .version = "v1"};
    const struct kube_resource classes = {.kind = &kube_kind_storage_class, .version = "v1"};
    assert_path(&pods, NULL, NULL, NULL, "/api/v1/pods");
    assert_path(&pods, "n", "a", "status", "/api/v1/namespaces/n/pods/a/status");
    assert_path(&sets, "n", NULL, NULL, "/apis/apps/v1/namespaces/n/statefulsets");
    assert_path(&classes, NULL, "a b", NULL, "/apis/storage.k8s.io/v1/storageclasses/a%20b");
}

static void test_choose(void **state)
{
    UNUSED(state);
    static const struct kube_kind kind = {
        .group = "policy", .kind = "Thing", .plural = "things", .versions = {"v2", "v1"}};
    static const char old[] = "{\"groups\":[{\"name\":\"policy\",\"versions\":[{\"version\":\"v1\"}]}]}";
    static const char new[] =
        "{\"groups\":[{\"name\":\"policy\",\"versions\":[{\"version\":\"v1\"},{\"version\":\"v2\"}]}]}";
    static const char none[] = "{\"groups\":[{\"name\":\"policy\",\"versions\":[{\"version\":\"v1beta1\"}]}]}";
    struct error err = ERROR_INIT;
    struct kube_resource resource = {.kind = NULL};
    assert_int_equal(kube_resource_choose(&kind, old, strlen(old), &resource, &err), 0);
    assert_string_equal(resource.version, "v1");
    assert_int_equal(kube_resource_choose(&kind, new, strlen(new), &resource, &err), 0);
    assert_string_equal(resource.version, "v2");
    assert_int_equal(kube_resource_choose(&kube_kind_secret, "", 0, &resource, &err), 0);
    assert_int_equal(kube_resource_choose(&kube_kind_endpoint_slice, new, strlen(new), &resource, &err), -1);
    assert_int_equal(err.kind, ERROR_NOT_FOUND);
    assert_string_equal(
        err.message, "the API server does not serve EndpointSlice of group \"discovery.k8s.io\" in version v1");
    assert_int_equal(kube_resource_choose(&kind, none, strlen(none), &resource, &err), -1);
    assert_string_equal(err.message, "the API server does not serve Thing of group \"policy\" in version v2 or v1");
}

/* If nothing of a group is installed discovery fails, if one CustomResourceDefinition beside others is missing the list
 * does: both errors name it, and what installs it. */
static void a_missing_definition_is_named(void **state)
{
    UNUSED(state);
    static const struct kube_kind kind = {.group = "example.org",
        .kind = "Thing",
        .plural = "things",
        .versions = {"v2", "v1"},
        .installed_by = "kubectl apply -k crds"};
    static const char missing[] =
        "CustomResourceDefinition things.example.org is missing, or does not have version v2; "
        "kubectl apply -k crds installs it: ";
    static const char none[] = "{\"groups\":[]}";
    struct error err = ERROR_INIT;
    struct kube_resource resource = {.kind = NULL};
    assert_int_equal(kube_resource_choose(&kind, none, strlen(none), &resource, &err), -1);
    assert_memory_equal(err.message, missing, strlen(missing));
    assert_non_null(strstr(err.message, "does not serve Thing"));
    err = (struct error){.kind = ERROR_NOT_FOUND, .message = "HTTP status 404: 404 page not found"};
    kube_resource_explain(&kube_kind_pod, &err);
    assert_string_equal(err.message, "HTTP status 404: 404 page not found");
    kube_resource_explain(&kind, &err);
    assert_memory_equal(err.message, missing, strlen(missing));
    err = (struct error){.kind = ERROR_FORBIDDEN, .message = "no"};
    kube_resource_explain(&kind, &err);
    assert_string_equal(err.message, "no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_definition_is_named),
        cmocka_unit_test(test_projection),
        cmocka_unit_test(test_projection_refuses),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_uids),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_choose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
