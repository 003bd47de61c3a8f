/* SPDX-License-Identifier: Apache-2.0 */
/* What the Secrets should hold, given what they hold. */
#include "common/base.h"

#include "operator/cluster/reconcile/secret_data.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/reconcile/cluster_secrets.h"

#define NOW_MS 1770000000000LL
#define DAY_MS (24LL * 60 * 60 * 1000)

static const char *const dns_names[] = {"*.shop-mysql.ns1.svc", "shop-mysql-primary.ns1.svc", NULL};

/* ---- accounts ---- */

static json_t *applied(const json_t *data, const json_t *patch)
{
    json_t *now = data ? json_deep_copy(data) : json_object();
    json_merge(now, patch);
    return now;
}

static json_t *accounts(const json_t *data, enum secret_user user, const char *password)
{
    _cleanup_(json_decrefp) json_t *patch = secret_data_accounts(data, user, password);
    return applied(data, patch);
}

static void assert_value(const json_t *data, const char *key, const char *wanted)
{
    _cleanup_(secret_freep) char *value = secret_data_get(data, key);
    assert_string_equal(value, wanted);
}

static void accounts_are_made_once(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *first = accounts(NULL, SECRET_USER_NONE, NULL);
    assert_int_equal(json_object_size(first), 3);
    _cleanup_(secret_freep) char *root = secret_data_get(first, "root");
    _cleanup_(secret_freep) char *monitor = secret_data_get(first, "monitor");
    assert_int_equal(strlen(root), CLUSTER_PASSWORD_LENGTH);
    assert_string_not_equal(root, monitor);
    _cleanup_(json_decrefp) json_t *patch = secret_data_accounts(first, SECRET_USER_NONE, NULL);
    assert_int_equal(json_object_size(patch), 0);
}

static void a_lost_or_garbled_password_is_made_anew(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *data = accounts(NULL, SECRET_USER_NONE, NULL);
    json_object_del(data, "root");
    json_put_str(data, "monitor", "***");
    json_put_int(data, "replication", 7);
    _cleanup_(json_decrefp) json_t *patch = secret_data_accounts(data, SECRET_USER_NONE, NULL);
    assert_int_equal(json_object_size(patch), 3);
}

static void the_users_password_follows_its_source(void **state)
{
    UNUSED(state);
    _cleanup_(json_decrefp) json_t *given = accounts(NULL, SECRET_USER_GIVEN, "one");
    assert_value(given, "user", "one");
    _cleanup_(json_decrefp) json_t *of_root = accounts(given, SECRET_USER_ROOT, "mine");
    assert_value(of_root, "root", "mine");
    assert_null(json_object_get(of_root, "user"));
    _cleanup_(json_decrefp) json_t *given_no_more = accounts(of_root, SECRET_USER_NONE, NULL);
    assert_value(given_no_more, "root", "mine");
    _cleanup_(json_decrefp) json_t *at_once = accounts(NULL, SECRET_USER_ROOT, "first");
    assert_value(at_once, "root", "first");
    assert_int_equal(json_object_size(at_once), 3);
    _cleanup_(json_decrefp) json_t *changed = accounts(given, SECRET_USER_GIVEN, "two");
    assert_value(changed, "user", "two");
    _cleanup_(json_decrefp) json_t *kept = accounts(changed, SECRET_USER_KEEP, NULL);
    assert_value(kept, "user", "two");
    _cleanup_(json_decrefp) json_t *still = accounts(kept, SECRET_USER_GENERATE, NULL);
    assert_value(still, "user", "two");
    _cleanup_(json_decrefp) json_t *none = accounts(still, SECRET_USER_NONE, NULL);
    assert_null(json_object_get(none, "user"));
    _cleanup_(json_decrefp) json_t *made = accounts(none, SECRET_USER_GENERATE, NULL);
    _cleanup_(secret_freep) char *password = secret_data_get(made, "user");
    assert_int_equal(strlen(password), CLUSTER_PASSWORD_LENGTH);
    _cleanup_(json_decrefp) json_t *unknown = accounts(NULL, SECRET_USER_KEEP, NULL);
    assert_null(json_object_get(unknown, "user"));
}

/* ---- certificates ---- */

/* The whole life of a cluster's certificates: what is held, and what the last pass changed. */
struct chain {
    json_t *ca, *tls;
    size_t ca_changes, tls_changes;
    struct tls_keypair ca_pair, client;
    int64_t not_after_ms;
};

static void chain_release(struct chain *chain)
{
    json_decref(chain->ca);
    json_decref(chain->tls);
    tls_keypair_release(&chain->ca_pair);
    tls_keypair_release(&chain->client);
}

static void chain_pass(struct chain *chain, int64_t now_ms)
{
    struct error err = ERROR_INIT;
    json_t *ca_patch = NULL, *tls_patch = NULL;
    tls_keypair_release(&chain->ca_pair);
    tls_keypair_release(&chain->client);
    if (secret_data_ca(chain->ca, "shop-mysql-ca", now_ms, &ca_patch, &chain->ca_pair, &chain->client, &err) < 0 ||
        secret_data_tls(chain->tls, &chain->ca_pair, dns_names, now_ms, &tls_patch, &chain->not_after_ms, &err) < 0)
        fail_msg("%s", err.message);
    chain->ca_changes = json_object_size(ca_patch);
    chain->tls_changes = json_object_size(tls_patch);
    json_t *ca = applied(chain->ca, ca_patch), *tls = applied(chain->tls, tls_patch);
    json_decref(chain->ca);
    json_decref(chain->tls);
    json_decref(ca_patch);
    json_decref(tls_patch);
    chain->ca = ca;
    chain->tls = tls;
}

/* What the agents serve is trusted by what they and the operator hold. */
static void assert_chain(const struct chain *chain, int64_t now_ms)
{
    struct error err = ERROR_INIT;
    struct tls_keypair leaf = {secret_data_get(chain->tls, "tls.key"), secret_data_get(chain->tls, "tls.crt")};
    _cleanup_(secret_freep) char *ca = secret_data_get(chain->tls, "ca.crt");
    assert_string_equal(ca, chain->ca_pair.cert_pem);
    if (tls_cert_check(&leaf, ca, dns_names, now_ms, NULL, &err) < 0 ||
        tls_cert_check(&chain->client, ca, NULL, now_ms, NULL, &err) < 0)
        fail_msg("%s", err.message);
    tls_keypair_release(&leaf);
}

static int count_certificates(const json_t *data, const char *key)
{
    int count = 0;
    _cleanup_(secret_freep) char *pem = secret_data_get(data, key);
    for (const char *at = pem; (at = strstr(at, "BEGIN CERTIFICATE")); at++)
        count++;
    return count;
}

static void a_chain_is_made_once(void **state)
{
    UNUSED(state);
    _cleanup_(chain_release) struct chain chain = {.ca = NULL};
    chain_pass(&chain, NOW_MS);
    assert_int_equal(chain.ca_changes, 4);
    assert_int_equal(chain.tls_changes, 3);
    assert_chain(&chain, NOW_MS);
    assert_int_equal(chain.not_after_ms, NOW_MS + CLUSTER_LEAF_DAYS * DAY_MS);
    chain_pass(&chain, NOW_MS + DAY_MS);
    assert_int_equal(chain.ca_changes + chain.tls_changes, 0);
    assert_int_equal(chain.not_after_ms, NOW_MS + CLUSTER_LEAF_DAYS * DAY_MS);
}

static void leaves_are_renewed_with_a_third_left(void **state)
{
    UNUSED(state);
    _cleanup_(chain_release) struct chain chain = {.ca = NULL};
    int64_t boundary_ms = NOW_MS + CLUSTER_LEAF_DAYS * DAY_MS - CLUSTER_LEAF_DAYS * DAY_MS / 3;
    chain_pass(&chain, NOW_MS);
    chain_pass(&chain, boundary_ms);
    assert_int_equal(chain.ca_changes + chain.tls_changes, 0);
    chain_pass(&chain, boundary_ms + 1000);
    assert_int_equal(chain.ca_changes, 2); /* the client's pair; the CA stays */
    assert_int_equal(chain.tls_changes, 2);
    assert_int_equal(count_certificates(chain.ca, "ca.crt"), 1);
    assert_chain(&chain, boundary_ms + 1000);
}

static void a_new_ca_keeps_the_old_ones_leaves_trusted(void **state)
{
    UNUSED(state);
    _cleanup_(chain_release) struct chain chain = {.ca = NULL};
    int64_t last_year_ms = NOW_MS + (CLUSTER_CA_DAYS - 365) * DAY_MS;
    chain_pass(&chain, NOW_MS);
    chain_pass(&chain, last_year_ms - DAY_MS); /* fresh leaves of the old CA */
    assert_int_equal(chain.ca_changes, 2);
    chain_pass(&chain, last_year_ms + 1000);
    assert_int_equal(chain.ca_changes, 2); /* CA only: the client's certificate is of the old one and good */
    assert_int_equal(chain.tls_changes, 1);
    assert_int_equal(count_certificates(chain.ca, "ca.crt"), 2);
    assert_int_equal(count_certificates(chain.tls, "ca.crt"), 2);
    assert_chain(&chain, last_year_ms + 1000);
    chain_pass(&chain, last_year_ms + 2 * DAY_MS);
    assert_int_equal(chain.ca_changes + chain.tls_changes, 0);
}

static void a_bundle_does_not_grow(void **state)
{
    UNUSED(state);
    _cleanup_(chain_release) struct chain chain = {.ca = NULL};
    for (int i = 0; i < 5; i++) {
        chain_pass(&chain, NOW_MS);
        json_object_del(chain.ca, "ca.key"); /* lost by hand */
    }
    chain_pass(&chain, NOW_MS);
    assert_int_equal(count_certificates(chain.ca, "ca.crt"), 2);
    assert_chain(&chain, NOW_MS);
}

/* Whether who knows the bundle `ca` takes what the agents serve. */
static bool is_trusted(const struct chain *chain, const char *ca)
{
    struct tls_keypair leaf = {secret_data_get(chain->tls, "tls.key"), secret_data_get(chain->tls, "tls.crt")};
    bool ret = tls_cert_check(&leaf, ca, dns_names, NOW_MS, NULL, NULL) == 0;
    tls_keypair_release(&leaf);
    return ret;
}

/* docs/tls.md: by taking the key away; then the certificate, when all clients have the bundle. */
static void a_ca_is_replaced_with_overlap(void **state)
{
    UNUSED(state);
    _cleanup_(chain_release) struct chain chain = {.ca = NULL};
    chain_pass(&chain, NOW_MS);
    _cleanup_(secret_freep) char *old = secret_data_get(chain.ca, "ca.crt");
    json_object_del(chain.ca, "ca.key");
    chain_pass(&chain, NOW_MS);
    _cleanup_(secret_freep) char *both = secret_data_get(chain.ca, "ca.crt");
    assert_int_equal(count_certificates(chain.ca, "ca.crt"), 2);
    assert_int_equal(chain.tls_changes, 1); /* the bundle; the certificate stays */
    assert_true(is_trusted(&chain, old));
    assert_true(is_trusted(&chain, both));
    json_decref(chain.tls);
    chain.tls = NULL;
    chain_pass(&chain, NOW_MS);
    assert_false(is_trusted(&chain, old));
    assert_true(is_trusted(&chain, both));
}

static void a_ca_whose_secret_is_deleted_has_no_overlap(void **state)
{
    UNUSED(state);
    _cleanup_(chain_release) struct chain chain = {.ca = NULL};
    chain_pass(&chain, NOW_MS);
    _cleanup_(secret_freep) char *old = secret_data_get(chain.ca, "ca.crt");
    json_decref(chain.ca);
    chain.ca = NULL;
    chain_pass(&chain, NOW_MS);
    assert_int_equal(count_certificates(chain.ca, "ca.crt"), 1);
    assert_false(is_trusted(&chain, old));
    assert_chain(&chain, NOW_MS);
}

static void garbage_is_replaced(void **state)
{
    UNUSED(state);
    static const char *const garbage[] = {"", "aGVsbG8=", "*", "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmdhcmJhZ2UK",
        "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmcKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="};
    static const char *const ca_keys[] = {"ca.crt", "ca.key", "client.crt", "client.key"};
    static const char *const tls_keys[] = {"ca.crt", "tls.crt", "tls.key"};
    for (size_t i = 0; i < ARRAY_LEN(garbage); i++) {
        _cleanup_(chain_release) struct chain chain = {.ca = json_object(), .tls = json_object()};
        for (size_t j = 0; j < ARRAY_LEN(ca_keys); j++)
            json_put_str(chain.ca, ca_keys[j], garbage[i]);
        for (size_t j = 0; j < ARRAY_LEN(tls_keys); j++)
            json_put_str(chain.tls, tls_keys[j], garbage[i]);
        chain_pass(&chain, NOW_MS);
        assert_chain(&chain, NOW_MS);
        assert_int_equal(count_certificates(chain.ca, "ca.crt"), 1);
        chain_pass(&chain, NOW_MS);
        assert_int_equal(chain.ca_changes + chain.tls_changes, 0);
    }
}

static void leaves_of_a_foreign_ca_are_replaced(void **state)
{
    UNUSED(state);
    _cleanup_(chain_release) struct chain chain = {.ca = NULL}, other = {.ca = NULL};
    chain_pass(&chain, NOW_MS);
    chain_pass(&other, NOW_MS);
    json_decref(chain.tls);
    chain.tls = json_deep_copy(other.tls);
    json_object_set(chain.ca, "client.crt", json_object_get(other.ca, "client.crt"));
    json_object_set(chain.ca, "client.key", json_object_get(other.ca, "client.key"));
    chain_pass(&chain, NOW_MS);
    assert_int_equal(chain.ca_changes, 2);
    assert_int_equal(chain.tls_changes, 3);
    assert_chain(&chain, NOW_MS);
}

static void a_further_name_asks_for_a_new_leaf(void **state)
{
    UNUSED(state);
    static const char *const more[] = {"*.shop-mysql.ns1.svc", "other.ns1.svc", NULL};
    struct error err = ERROR_INIT;
    _cleanup_(chain_release) struct chain chain = {.ca = NULL};
    _cleanup_(json_decrefp) json_t *patch = NULL;
    int64_t not_after_ms;
    chain_pass(&chain, NOW_MS);
    assert_int_equal(secret_data_tls(chain.tls, &chain.ca_pair, more, NOW_MS, &patch, &not_after_ms, &err), 0);
    assert_int_equal(json_object_size(patch), 2);
}

static void keys_are_named_without_values(void **state)
{
    UNUSED(state);
    char names[30];
    _cleanup_(json_decrefp) json_t *data =
        json_build("{s:s, s:s, s:s}", "user", "c2VjcmV0", "pass", "c2VjcmV0", "a-key-of-a-long-name", "c2VjcmV0");
    secret_data_key_names(data, names, sizeof(names));
    assert_string_equal(names, "a-key-of-a-long-name, ...");
    char all[64];
    secret_data_key_names(data, all, sizeof(all));
    assert_string_equal(all, "a-key-of-a-long-name, pass, user");
    secret_data_key_names(NULL, all, sizeof(all));
    assert_string_equal(all, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts_are_made_once),
        cmocka_unit_test(a_lost_or_garbled_password_is_made_anew),
        cmocka_unit_test(the_users_password_follows_its_source),
        cmocka_unit_test(a_chain_is_made_once),
        cmocka_unit_test(leaves_are_renewed_with_a_third_left),
        cmocka_unit_test(a_new_ca_keeps_the_old_ones_leaves_trusted),
        cmocka_unit_test(a_bundle_does_not_grow),
        cmocka_unit_test(a_ca_is_replaced_with_overlap),
        cmocka_unit_test(a_ca_whose_secret_is_deleted_has_no_overlap),
        cmocka_unit_test(garbage_is_replaced),
        cmocka_unit_test(leaves_of_a_foreign_ca_are_replaced),
        cmocka_unit_test(a_further_name_asks_for_a_new_leaf),
        cmocka_unit_test(keys_are_named_without_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
