/* SPDX-License-Identifier: Apache-2.0 */
/* Derived names and their bounds, ordinals, quantities. */
#include "common/base.h"

#include "operator/api/names.h"

#include <setjmp.h>
#include <cmocka.h>

#include "operator/api/quantity.h"

#define GIB (INT64_C(1) << 30)

static void derived(void **state)
{
    UNUSED(state);
    struct cluster_names names;
    char text[DERIVED_NAME_SIZE];
    cluster_names_init(&names, "shop");
    assert_string_equal(names.stateful_set, "shop-mysql");
    assert_string_equal(names.service_primary, "shop-mysql-primary");
    assert_string_equal(names.service_replicas, "shop-mysql-replicas");
    assert_string_equal(names.accounts, "shop-mysql-accounts");
    assert_string_equal(names.app, "shop-mysql-app");
    assert_string_equal(names.ca_bundle, "shop-mysql-ca-bundle");
    assert_string_equal(names.terminal, "shop");
    cluster_pod_name(text, "shop", 3);
    assert_string_equal(text, "shop-mysql-3");
    assert_int_equal(names_ordinal(text), 3);
    cluster_claim_name(text, "shop", 0);
    assert_string_equal(text, "data-shop-mysql-0");
}

/* The longest name that is accepted fits everywhere, whole. */
static void longest(void **state)
{
    UNUSED(state);
    char name[CLUSTER_NAME_MAX + 2], revision[128], text[DERIVED_NAME_SIZE];
    struct cluster_names names;
    struct api_problems problems = {0};
    memset(name, 'a', sizeof(name));
    name[CLUSTER_NAME_MAX] = '\0';
    assert_int_equal(cluster_name_check(name, &problems), 0);
    cluster_names_init(&names, name);
    assert_int_equal(strlen(names.service_replicas), CLUSTER_NAME_MAX + strlen("-mysql-replicas"));
    cluster_claim_name(text, name, 9);
    assert_int_equal(strlen(text), CLUSTER_NAME_MAX + strlen("data--mysql-9"));
    snprintf(revision, sizeof(revision), "%s-%s", names.stateful_set, "0123456789");
    assert_int_equal(strlen(revision), KUBE_LABEL_MAX);
    memset(name, 'a', CLUSTER_NAME_MAX + 1);
    name[CLUSTER_NAME_MAX + 1] = '\0';
    assert_int_equal(cluster_name_check(name, &problems), -1);
    assert_string_equal(problems.items[0].path, "metadata.name");
    assert_non_null(strstr(problems.items[0].message, "at most 46 characters, not 47"));
}

static void refused(void **state)
{
    UNUSED(state);
    static const char *const bad[] = {"", "1a", "-a", "a-", "a.b", "A", "a_b"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct api_problems problems = {0};
        assert_int_equal(cluster_name_check(bad[i], &problems), -1);
        assert_int_equal(terminal_name_check(bad[i], &problems), -1);
    }
}

static void ordinals(void **state)
{
    UNUSED(state);
    static const struct {
        const char *name;
        int ordinal;
    } rows[] = {{"a-0", 0}, {"a-mysql-12", 12}, {"a", -1}, {"a-", -1}, {"a-01", -1}, {"a-1x", -1},
        {"a-99999999999", -1}, {"", -1}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(names_ordinal(rows[i].name), rows[i].ordinal);
}

static void quantities(void **state)
{
    UNUSED(state);
    static const struct {
        const char *text;
        int64_t value; /* -1: refused */
    } rows[] = {
        {"0", 0},
        {"1", 1},
        {"10Gi", INT64_C(10) << 30},
        {"1.5Ki", 1536},
        {".5k", 500},
        {"1500m", 2},
        {"1n", 1},
        {"1e3", 1000},
        {"1E", INT64_C(1000000000000000000)},
        {"12E-1", 2},
        {"2Ei", INT64_C(2) << 60},
        {"4Ei", INT64_C(4) << 60},
        {"5Ei", -1},
        {"1Gx", -1},
        {"", -1},
        {"Gi", -1},
        {"-1", -1},
        {"1 Gi", -1},
        {"1..5", -1},
        {"1e", -1},
        {"1e99", -1},
        {"99999999999999999999", -1},
        {"0.0000000000000000000000001", -1},
        {"000000000000000000000001", 1},
        {"+1", 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        int64_t value = -1;
        int rc = quantity_parse(rows[i].text, &value);
        if (rc != (rows[i].value < 0 ? -1 : 0) || value != rows[i].value)
            fail_msg("%s gives %d, %lld", rows[i].text, rc, (long long)value);
    }
}

static void quantities_as_text(void **state)
{
    UNUSED(state);
    static const struct {
        int64_t value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {1023, "1023"},
        {1024, "1Ki"},
        {1536, "1536"},
        {5 * GIB, "5Gi"},
        {5 * GIB / 2, "2560Mi"},
        {INT64_C(1) << 60, "1Ei"},
        {1500000000, "1500M"},
        {3000, "3k"},
        {INT64_C(1) << 62, "4Ei"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[QUANTITY_TEXT_SIZE];
        int64_t value;
        quantity_print(rows[i].value, text);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(quantity_parse(text, &value), 0);
        assert_int_equal(value, rows[i].value);
    }
}

static void versions_as_labels(void **state)
{
    UNUSED(state);
    static const struct {
        const char *version, *label;
    } table[] = {
        {"0.2.0", "0.2.0"},
        {"1.2.3-rc.1+ab~c", "1.2.3-rc.1-ab-c"},
        {"+1.0+", "1.0"},
        {"", ""},
        {"--", ""},
        {"0123456789012345678901234567890123456789012345678901234567890.-89",
            "0123456789012345678901234567890123456789012345678901234567890"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char out[KUBE_LABEL_MAX + 1];
        label_value_of_version(out, table[i].version);
        assert_string_equal(out, table[i].label);
    }
}

static void the_cluster_of_a_stateful_set(void **state)
{
    UNUSED(state);
    static const char *const rows[][2] = {{"shops/shop-mysql", "shops/shop"}, {"shop-mysql", "shop"},
        {"a-mysql-mysql", "a-mysql"}, {"-mysql", "-mysql"}, {"other", "other"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char name[64];
        cluster_name_of_set(name, sizeof(name), rows[i][0]);
        assert_string_equal(name, rows[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cluster_of_a_stateful_set),
        cmocka_unit_test(quantities_as_text),
        cmocka_unit_test(versions_as_labels),
        cmocka_unit_test(derived),
        cmocka_unit_test(longest),
        cmocka_unit_test(refused),
        cmocka_unit_test(ordinals),
        cmocka_unit_test(quantities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
