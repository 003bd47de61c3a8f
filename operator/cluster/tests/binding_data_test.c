/* SPDX-License-Identifier: Apache-2.0 */
/* What an application's Secret and the ConfigMap of the CA hold. */
#include "common/base.h"

#include "operator/cluster/reconcile/binding_data.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/reconcile/secret_data.h"

static const struct binding shop = {
    .host = "shop-mysql-primary.shops.svc",
    .port = 3307,
    .username = "sh op@x",
    .database = "shop/1",
    .password = "p@:/?#[]%",
    .ca_pem = "PEM\n",
};

static void all_keys_and_no_others(void **state)
{
    UNUSED(state);
    static const char *const keys[][2] = {
        {"type", "mysql"},
        {"provider", "kube-mysql"},
        {"host", "shop-mysql-primary.shops.svc"},
        {"port", "3307"},
        {"username", "sh op@x"},
        {"password", "p@:/?#[]%"},
        {"database", "shop/1"},
        {"uri", "mysql://sh%20op%40x:p%40%3A%2F%3F%23%5B%5D%25@shop-mysql-primary.shops.svc:3307/shop%2F1"},
        {"jdbc-uri",
            "jdbc:mysql://shop-mysql-primary.shops.svc:3307/shop%2F1?user=sh%20op%40x&password=p%40%3A%2F%3F%23%5B%5D%25"},
        {"ca.crt", "PEM\n"},
    };
    _cleanup_(json_decrefp) json_t *data = binding_secret_data(&shop);
    assert_int_equal(json_object_size(data), ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        _cleanup_(secret_freep) char *value = secret_data_get(data, keys[i][0]);
        assert_non_null(value);
        assert_string_equal(value, keys[i][1]);
    }
}

static void bytes_beyond_ascii_are_encoded(void **state)
{
    UNUSED(state);
    struct binding binding = shop;
    binding.username = "a-b_c.d~e";
    binding.password = "Zürich\n+&=";
    _cleanup_(json_decrefp) json_t *data = binding_secret_data(&binding);
    _cleanup_(secret_freep) char *uri = secret_data_get(data, "uri");
    assert_string_equal(uri, "mysql://a-b_c.d~e:Z%C3%BCrich%0A%2B%26%3D@shop-mysql-primary.shops.svc:3307/shop%2F1");
}

static void the_bundle_is_the_certificate_alone(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *data = binding_bundle_data("NEW\nOLD\n");
    assert_int_equal(json_object_size(data), 1);
    assert_string_equal(json_string_value(json_object_get(data, "ca.crt")), "NEW\nOLD\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_keys_and_no_others),
        cmocka_unit_test(bytes_beyond_ascii_are_encoded),
        cmocka_unit_test(the_bundle_is_the_certificate_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
