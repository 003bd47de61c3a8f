/* SPDX-License-Identifier: Apache-2.0 */
/* The names in a cluster's certificate: what clients call its servers. */
#include "common/base.h"

#include "operator/cluster/desired/service_names.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/reconcile/secret_data.h"

#define NOW_MS 1770000000000LL

static void names_of(const char *domain, struct strvec *ret)
{
    struct cluster_names names;
    cluster_names_init(&names, "shop");
    strvec_init(ret);
    service_names(&names, "ns1", domain, ret);
}

static void every_form_of_every_service(void **state)
{
    UNUSED(state);
    static const char *const services[] = {"shop-mysql", "shop-mysql-primary", "shop-mysql-replicas"};
    static const char *const forms[] = {"", ".ns1", ".ns1.svc", ".ns1.svc.cluster.local"};
    struct strvec names;
    names_of("cluster.local", &names);
    for (size_t i = 0; i < ARRAY_LEN(services); i++)
        for (size_t j = 0; j < ARRAY_LEN(forms); j++) {
            _cleanup_(freep) char *name = xasprintf("%s%s", services[i], forms[j]);
            if (!strvec_contains(&names, name))
                fail_msg("%s", name);
        }
    assert_true(strvec_contains(&names, "shop-mysql-8.shop-mysql"));
    assert_true(strvec_contains(&names, "*.shop-mysql.ns1.svc"));
    strvec_release(&names);
}

static void without_a_domain_its_names_are_left_out(void **state)
{
    UNUSED(state);
    struct strvec names;
    names_of(NULL, &names);
    for (size_t i = 0; i < names.n; i++)
        assert_null(strstr(names.v[i], ".svc."));
    assert_true(strvec_contains(&names, "shop-mysql-primary.ns1.svc"));
    strvec_release(&names);
}

/* What was issued for some names alone is issued anew, once, by the CA that there is. */
static void a_certificate_of_earlier_names_is_renewed_once(void **state)
{
    UNUSED(state);
    static const char *const earlier[] = {
        "*.shop-mysql.ns1.svc", "shop-mysql-primary.ns1.svc", "shop-mysql-replicas.ns1.svc", NULL};
    static const char *const asked[] = {"shop-mysql-primary", "shop-mysql-primary.ns1", "shop-mysql-primary.ns1.svc",
        "shop-mysql-primary.ns1.svc.cluster.local", "shop-mysql-replicas", "shop-mysql", "shop-mysql-0.shop-mysql",
        "shop-mysql-0.shop-mysql.ns1", "shop-mysql-0.shop-mysql.ns1.svc.cluster.local", NULL};
    struct tls_keypair ca = {0}, client = {0};
    struct strvec names;
    int64_t not_after_ms;
    _cleanup_(json_decrefp) json_t *ca_patch = NULL, *before = NULL, *patch = NULL, *settled = NULL;
    names_of("cluster.local", &names);
    assert_int_equal(secret_data_ca(NULL, "ca", NOW_MS, &ca_patch, &ca, &client, NULL), 0);
    assert_int_equal(secret_data_tls(NULL, &ca, earlier, NOW_MS, &before, &not_after_ms, NULL), 0);
    const char *const *wanted = (const char *const *)names.v;
    assert_int_equal(secret_data_tls(before, &ca, wanted, NOW_MS, &patch, &not_after_ms, NULL), 0);
    assert_int_equal(json_object_size(patch), 2); /* certificate and key: who trusted the CA goes on */
    json_merge(before, patch);
    assert_int_equal(secret_data_tls(before, &ca, wanted, NOW_MS, &settled, &not_after_ms, NULL), 0);
    assert_int_equal(json_object_size(settled), 0);
    struct tls_keypair leaf = {
        .cert_pem = secret_data_get(before, "tls.crt"), .key_pem = secret_data_get(before, "tls.key")};
    assert_int_equal(tls_cert_check(&leaf, ca.cert_pem, asked, NOW_MS, NULL, NULL), 0);
    tls_keypair_release(&leaf);
    tls_keypair_release(&ca);
    tls_keypair_release(&client);
    strvec_release(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_every_service),
        cmocka_unit_test(without_a_domain_its_names_are_left_out),
        cmocka_unit_test(a_certificate_of_earlier_names_is_renewed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
