/* SPDX-License-Identifier: Apache-2.0 */
/* The Secrets of a cluster against the API double: made once, completed, never taken over. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/json.h"
#include "operator/cluster/reconcile/cluster_secrets.h"
#include "operator/cluster/reconcile/secret_data.h"
#include "operator/kube/tests/kube_world.h"

#define NOW_MS 1770000000000LL
#define SECRETS "/api/v1/namespaces/" WORLD_NS "/secrets"
#define OURS "11111111-0000-4000-8000-000000000001"
#define FORMER "11111111-0000-4000-8000-00000000000f"

static const struct kube_resource secret_resource = {&kube_kind_secret, "v1"};

struct result {
    int done;
    struct cluster_secrets_facts facts;
    char user_password[64], ca_pem[4096];
    struct error err;
};

static void on_done(void *arg, const struct cluster_secrets_facts *facts, const struct cluster_credentials *credentials,
    const struct error *err)
{
    struct result *result = arg;
    result->done++;
    result->facts = *facts;
    snprintf(result->user_password, sizeof(result->user_password), "%s", str_or_empty(credentials->user_password));
    snprintf(result->ca_pem, sizeof(result->ca_pem), "%s", str_or_empty(credentials->ca_pem));
    if (err)
        result->err = *err;
}

static bool is_done(const struct world *world, const void *arg)
{
    UNUSED(world);
    return ((const struct result *)arg)->done > 0;
}

static json_t *metadata_of(const char *uid)
{
    return json_build("{s:{s:s}, s:[{s:s, s:s, s:s, s:b}]}", "labels", "app", "a", "ownerReferences", "kind",
        "MysqlCluster", "name", "shop", "uid", uid, "controller", 1);
}

static struct cluster_secrets_request usual_request(void)
{
    static const char *const dns_names[] = {"*.shop-mysql.ns1.svc", NULL};
    return (struct cluster_secrets_request){
        .ns = WORLD_NS,
        .accounts_name = "accounts",
        .ca_name = "ca",
        .tls_name = "tls",
        .dns_names = dns_names,
        .now_ms = NOW_MS,
    };
}

static struct result ensure(struct world *world, struct cluster_secrets_request request)
{
    struct result result = {.done = 0};
    _cleanup_(json_decrefp) json_t *metadata = metadata_of(OURS);
    request.metadata = metadata;
    cluster_secrets_ensure(world->client, &secret_resource, &request, on_done, &result);
    assert_int_equal(result.done, 0);
    assert_true(world_run(world, is_done, &result, 20000));
    world_run_for(world, 20);
    assert_int_equal(result.done, 1);
    return result;
}

static char *value_of(const struct world *world, const char *name, const char *key)
{
    _cleanup_(freep) char *path = xasprintf(SECRETS "/%s", name);
    return secret_data_get(json_path(kube_api_double_get(world->api, path), "data"), key);
}

static void put_secret(struct world *world, const char *name, const char *owner, const char *key, const char *encoded)
{
    _cleanup_(freep) char *path = xasprintf(SECRETS "/%s", name);
    _cleanup_(json_decrefp) json_t *secret = json_build("{s:s, s:s, s:o, s:{s:s}}", "apiVersion", "v1", "kind",
        "Secret", "metadata", owner ? metadata_of(owner) : json_object(), "data", key, encoded);
    kube_api_double_put(world->api, path, secret);
}

/* ---- making ---- */

static void a_fresh_cluster_costs_three_writes(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    request.fresh = true;
    struct result result = ensure(world, request);
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_int_equal(kube_api_double_requests(world->api, NULL, NULL), 3);
    assert_int_equal(kube_api_double_count(world->api, "/api/v1/secrets"), 3);
    assert_null(result.facts.client_tls);
    assert_int_equal(result.facts.user_password, USER_PASSWORD_NONE);
    assert_true(result.facts.certificate_not_after_ms > NOW_MS);
}

static void what_is_complete_is_only_read(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    ensure(world, request);
    size_t writes = kube_api_double_writes(world->api);
    request.want_client_tls = true;
    struct result first = ensure(world, request), second = ensure(world, request);
    assert_int_equal(kube_api_double_writes(world->api), writes);
    assert_non_null(first.facts.client_tls);
    assert_true(first.facts.client_tls_digest == second.facts.client_tls_digest);
    http_tls_unref(first.facts.client_tls);
    http_tls_unref(second.facts.client_tls);
}

/* The same TLS object comes back only when nothing was read anew. */
static struct http_tls *again(
    struct world *world, struct cluster_secrets_request *request, const struct cluster_secrets_facts *known)
{
    request->known = known;
    struct result result = ensure(world, *request);
    assert_int_equal(result.err.kind, ERROR_NONE);
    http_tls_unref(result.facts.client_tls);
    return result.facts.client_tls;
}

static void known_certificates_are_not_verified_again(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    ensure(world, request);
    request.want_client_tls = true;
    struct result first = ensure(world, request);
    struct http_tls *tls = first.facts.client_tls;
    assert_true(first.facts.good_digest != 0);
    assert_ptr_equal(again(world, &request, &first.facts), tls);
    request.now_ms = NOW_MS + CLUSTER_CERTIFICATES_TRUST_MS - 1;
    assert_ptr_equal(again(world, &request, &first.facts), tls);
    request.now_ms = NOW_MS + CLUSTER_CERTIFICATES_TRUST_MS; /* not for ever */
    assert_ptr_not_equal(again(world, &request, &first.facts), tls);
    request.now_ms = NOW_MS - 1; /* nor after the clock was set back */
    assert_ptr_not_equal(again(world, &request, &first.facts), tls);
    static const char *const other_names[] = {"*.other.ns1.svc", NULL};
    request.now_ms = NOW_MS;
    request.dns_names = other_names;
    assert_ptr_not_equal(again(world, &request, &first.facts), tls);
    http_tls_unref(tls);
}

/* Those of a cluster that had no pods yet. */
static void the_first_agents_cost_no_other_look(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    ensure(world, request);
    struct result before = ensure(world, request);
    assert_null(before.facts.client_tls);
    request.want_client_tls = true;
    request.known = &before.facts;
    request.now_ms = NOW_MS + 1000;
    struct result known = ensure(world, request);
    assert_true(known.facts.good_until_ms == before.facts.good_until_ms);
    request.known = NULL;
    struct result verified = ensure(world, request);
    assert_true(verified.facts.good_until_ms > before.facts.good_until_ms);
    assert_non_null(known.facts.client_tls);
    assert_true(known.facts.client_tls_digest == verified.facts.client_tls_digest);
    http_tls_unref(known.facts.client_tls);
    http_tls_unref(verified.facts.client_tls);
}

static void known_certificates_that_end_are_renewed(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    ensure(world, request);
    struct result first = ensure(world, request);
    _cleanup_(secret_freep) char *before = value_of(world, "tls", "tls.crt");
    request.known = &first.facts;
    request.now_ms = NOW_MS + (CLUSTER_LEAF_DAYS - 1) * 24 * 3600 * 1000LL;
    struct result second = ensure(world, request);
    assert_int_equal(second.err.kind, ERROR_NONE);
    _cleanup_(secret_freep) char *after = value_of(world, "tls", "tls.crt");
    assert_string_not_equal(before, after);
    assert_true(second.facts.certificate_not_after_ms > first.facts.certificate_not_after_ms);
}

static void known_certificates_that_were_changed_are_repaired(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    ensure(world, request);
    struct result first = ensure(world, request);
    _cleanup_(secret_freep) char *before = value_of(world, "tls", "tls.crt");
    put_secret(world, "tls", OURS, "tls.crt", "Z2FyYmFnZQ==");
    request.known = &first.facts;
    struct result second = ensure(world, request);
    assert_int_equal(second.err.kind, ERROR_NONE);
    _cleanup_(secret_freep) char *after = value_of(world, "tls", "tls.crt");
    assert_true(str_starts_with(after, "-----BEGIN CERTIFICATE-----"));
    assert_string_not_equal(before, after);
    assert_true(second.facts.good_digest == 0); /* what was just written has not been read yet */
}

static void a_cluster_that_is_not_so_fresh_keeps_its_passwords(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    ensure(world, request);
    _cleanup_(secret_freep) char *before = value_of(world, "accounts", "root");
    request.fresh = true; /* as after a status that was lost */
    struct result result = ensure(world, request);
    _cleanup_(secret_freep) char *after = value_of(world, "accounts", "root");
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_string_equal(before, after);
}

static void a_deleted_one_comes_back_alone(void **state)
{
    struct world *world = *state;
    ensure(world, usual_request());
    _cleanup_(secret_freep) char *ca = value_of(world, "ca", "ca.crt");
    kube_api_double_remove(world->api, SECRETS "/tls");
    struct result result = ensure(world, usual_request());
    _cleanup_(secret_freep) char *trusted = value_of(world, "tls", "ca.crt");
    assert_int_equal(result.err.kind, ERROR_NONE);
    assert_string_equal(trusted, ca);
}

/* ---- the user's password ---- */

static void the_users_secret_is_copied_and_followed(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    request.user_secret_name = "theirs";
    request.user_secret_key = "password";
    request.generate_user_password = true;
    struct result result = ensure(world, request);
    assert_int_equal(result.facts.user_password, USER_PASSWORD_SECRET_MISSING);
    put_secret(world, "theirs", NULL, "other", "eA==");
    result = ensure(world, request);
    assert_int_equal(result.facts.user_password, USER_PASSWORD_KEY_MISSING);
    assert_string_equal(result.facts.user_keys, "other");
    assert_null(value_of(world, "accounts", "user"));
    put_secret(world, "theirs", NULL, "password", "b25l");
    result = ensure(world, request);
    assert_int_equal(result.facts.user_password, USER_PASSWORD_OK);
    _cleanup_(secret_freep) char *copied = value_of(world, "accounts", "user");
    assert_string_equal(copied, "one");
    put_secret(world, "theirs", NULL, "password", "");
    result = ensure(world, request);
    assert_int_equal(result.facts.user_password, USER_PASSWORD_EMPTY);
    assert_string_equal(result.user_password, "one");
    kube_api_double_remove(world->api, SECRETS "/theirs");
    result = ensure(world, request);
    assert_int_equal(result.facts.user_password, USER_PASSWORD_SECRET_MISSING);
    _cleanup_(secret_freep) char *kept = value_of(world, "accounts", "user");
    assert_string_equal(kept, "one");
    assert_string_equal(result.user_password, "one");
}

static void credentials_are_those_that_stand_there(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    struct result result = ensure(world, request);
    assert_string_equal(result.user_password, "");
    request.generate_user_password = true;
    result = ensure(world, request);
    _cleanup_(secret_freep) char *password = value_of(world, "accounts", "user");
    _cleanup_(secret_freep) char *ca = value_of(world, "ca", "ca.crt");
    assert_string_equal(result.user_password, password);
    assert_string_equal(result.ca_pem, ca);
    request.known = &result.facts;
    struct result again = ensure(world, request);
    assert_string_equal(again.user_password, password);
    assert_string_equal(again.ca_pem, ca); /* also of certificates that are not verified again */
    request.generate_user_password = false;
    request.user_password = "rooted";
    request.password_of_root = true;
    result = ensure(world, request);
    assert_string_equal(result.user_password, "");
}

/* What `echo secret | kubectl create secret --from-file` makes. It is taken as it is: another reader of the Secret sees
 * the same. */
static void a_newline_at_the_end_is_told_of_and_kept(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    request.user_secret_name = "theirs";
    request.user_secret_key = "password";
    put_secret(world, "theirs", NULL, "password", "b25lCg==");
    struct result result = ensure(world, request);
    assert_int_equal(result.facts.user_password, USER_PASSWORD_OK);
    assert_true(result.facts.password_ends_line);
    assert_string_equal(result.user_password, "one\n");
    request.known = &result.facts;
    struct result again = ensure(world, request);
    assert_true(again.facts.password_ends_line);
    request.known = &again.facts;
    put_secret(world, "theirs", NULL, "password", "b25l");
    again = ensure(world, request);
    assert_false(again.facts.password_ends_line);
}

/* ---- others' ---- */

static void a_foreign_secret_stops_everything(void **state)
{
    struct world *world = *state;
    put_secret(world, "tls", NULL, "tls.crt", "eA==");
    struct result result = ensure(world, usual_request());
    assert_int_equal(result.err.kind, ERROR_EXISTS);
    assert_non_null(strstr(result.err.message, "Secret tls"));
    assert_int_equal(kube_api_double_writes(world->api), 0);
}

static void a_foreign_secret_of_a_fresh_cluster_is_left_alone(void **state)
{
    struct world *world = *state;
    struct cluster_secrets_request request = usual_request();
    request.fresh = true;
    put_secret(world, "ca", NULL, "ca.crt", "eA==");
    struct result result = ensure(world, request);
    assert_int_equal(result.err.kind, ERROR_EXISTS);
    _cleanup_(secret_freep) char *theirs = value_of(world, "ca", "ca.crt");
    assert_string_equal(theirs, "x");
}

/* As the cluster's own, but that nobody owns them. */
static void disown(struct world *world, const char *name)
{
    _cleanup_(freep) char *path = xasprintf(SECRETS "/%s", name);
    _cleanup_(json_decrefp) json_t *changes = json_build("{s:{s:n, s:{s:s}, s:[{s:s}]}}", "metadata", "ownerReferences",
        "labels", "app", "a", "managedFields", "manager", kube_client_field_manager(world->client));
    kube_api_double_edit(world->api, path, changes);
}

static const char *owner_of(const struct world *world, const char *name)
{
    _cleanup_(freep) char *path = xasprintf(SECRETS "/%s", name);
    return json_path_str(kube_api_double_get(world->api, path), "metadata.ownerReferences[0].uid", "");
}

static void orphans_are_taken_over_only_if_that_is_asked_for(void **state)
{
    struct world *world = *state;
    static const char *const names[] = {"accounts", "ca", "tls"};
    struct cluster_secrets_request request = usual_request();
    request.want_client_tls = true;
    struct result made = ensure(world, request);
    _cleanup_(secret_freep) char *root = value_of(world, "accounts", "root");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        disown(world, names[i]);
    size_t writes = kube_api_double_writes(world->api);
    request.fresh = true; /* of another cluster of that name */
    struct result refused = ensure(world, request);
    assert_int_equal(refused.err.kind, ERROR_EXISTS);
    assert_string_equal(owner_of(world, "accounts"), "");
    request.adopts = true;
    request.fresh = false;
    struct result result = ensure(world, request);
    assert_int_equal(result.err.kind, ERROR_NONE);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_string_equal(owner_of(world, names[i]), OURS);
    _cleanup_(secret_freep) char *root_now = value_of(world, "accounts", "root");
    assert_string_equal(root_now, root);
    assert_string_equal(result.ca_pem, made.ca_pem);
    assert_true(kube_api_double_writes(world->api) > writes);
    http_tls_unref(made.facts.client_tls);
    http_tls_unref(result.facts.client_tls);
}

static void a_former_clusters_secret_is_waited_for(void **state)
{
    struct world *world = *state;
    put_secret(world, "accounts", FORMER, "root", "eA==");
    struct result result = ensure(world, usual_request());
    assert_int_equal(result.err.kind, ERROR_CONFLICT);
    assert_int_equal(kube_api_double_writes(world->api), 0);
}

/* ---- faults ---- */

static void any_failing_call_is_told_and_the_next_pass_completes(void **state)
{
    struct world *world = *state;
    const struct kube_client_options options = {.max_attempts = 1};
    static const char *const methods[] = {"GET", "POST"};
    world_new_client(world, &options);
    for (size_t method = 0; method < ARRAY_LEN(methods); method++)
        for (int nth = 1; nth <= 3; nth++) {
            const struct kube_api_fault fault = {.method = methods[method], .nth = nth, .status = 500};
            static const char *const names[] = {"/accounts", "/ca", "/tls"};
            for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                _cleanup_(freep) char *path = xasprintf(SECRETS "%s", names[i]);
                kube_api_double_remove(world->api, path);
            }
            kube_api_double_fault(world->api, &fault);
            struct result result = ensure(world, usual_request());
            assert_int_equal(result.err.kind, ERROR_UNAVAILABLE);
            result = ensure(world, usual_request());
            assert_int_equal(result.err.kind, ERROR_NONE);
            assert_int_equal(kube_api_double_count(world->api, "/api/v1/secrets"), 3);
        }
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_fresh_cluster_costs_three_writes),
        WORLD_TEST(what_is_complete_is_only_read),
        WORLD_TEST(known_certificates_are_not_verified_again),
        WORLD_TEST(the_first_agents_cost_no_other_look),
        WORLD_TEST(known_certificates_that_end_are_renewed),
        WORLD_TEST(known_certificates_that_were_changed_are_repaired),
        WORLD_TEST(a_cluster_that_is_not_so_fresh_keeps_its_passwords),
        WORLD_TEST(a_deleted_one_comes_back_alone),
        WORLD_TEST(the_users_secret_is_copied_and_followed),
        WORLD_TEST(credentials_are_those_that_stand_there),
        WORLD_TEST(a_newline_at_the_end_is_told_of_and_kept),
        WORLD_TEST(a_foreign_secret_stops_everything),
        WORLD_TEST(a_foreign_secret_of_a_fresh_cluster_is_left_alone),
        WORLD_TEST(orphans_are_taken_over_only_if_that_is_asked_for),
        WORLD_TEST(a_former_clusters_secret_is_waited_for),
        WORLD_TEST(any_failing_call_is_told_and_the_next_pass_completes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
