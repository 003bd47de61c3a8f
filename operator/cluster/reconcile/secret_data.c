/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/secret_data.h"

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/json.h"
#include "common/strvec.h"
#include "operator/cluster/reconcile/cluster_secrets.h"

#define DAY_MS (24LL * 60 * 60 * 1000)
/* Clocks of nodes differ: a certificate is valid a little before it was made. */
#define CLOCK_SKEW_MS (60 * 60 * 1000LL)

static const char *const generated_accounts[] = {"root", "replication", "monitor"};

char *secret_data_get(const json_t *data, const char *key)
{
    const char *text = json_string_value(json_object_get(data, key));
    return text ? tls_base64_decode(text, strlen(text), NULL, NULL) : NULL;
}

static void put_encoded(json_t *patch, const char *key, const char *value)
{
    _cleanup_(secret_freep) char *encoded = tls_base64_encode(value, strlen(value));
    json_put_str(patch, key, encoded);
}

/* Makes a password for `key` unless there is one. */
static void generate_if_absent(json_t *patch, const json_t *data, const char *key)
{
    _cleanup_(secret_freep) char *held = secret_data_get(data, key);
    if (!str_empty(held))
        return;
    _cleanup_(secret_freep) char *password = tls_random_password(CLUSTER_PASSWORD_LENGTH);
    put_encoded(patch, key, password);
}

static void set_if_different(json_t *patch, const json_t *data, const char *key, const char *value)
{
    _cleanup_(secret_freep) char *held = secret_data_get(data, key);
    if (!str_eq(held, value))
        put_encoded(patch, key, value);
}

json_t *secret_data_accounts(const json_t *data, enum secret_user user, const char *user_password)
{
    json_t *patch = json_object();
    for (size_t i = 0; i < ARRAY_LEN(generated_accounts); i++) {
        if (user != SECRET_USER_ROOT || !str_eq(generated_accounts[i], "root"))
            generate_if_absent(patch, data, generated_accounts[i]);
    }
    if (user == SECRET_USER_ROOT)
        set_if_different(patch, data, "root", user_password);
    if (user == SECRET_USER_GIVEN)
        set_if_different(patch, data, "user", user_password);
    else if (user == SECRET_USER_GENERATE)
        generate_if_absent(patch, data, "user");
    else if (user != SECRET_USER_KEEP && json_object_get(data, "user"))
        json_object_set_new(patch, "user", json_null());
    return patch;
}

static struct tls_keypair pair_get(const json_t *data, const char *cert_key, const char *key_key)
{
    return (struct tls_keypair){.cert_pem = secret_data_get(data, cert_key), .key_pem = secret_data_get(data, key_key)};
}

static void pair_put(json_t *patch, const struct tls_keypair *pair, const char *cert_key, const char *key_key)
{
    put_encoded(patch, cert_key, pair->cert_pem);
    put_encoded(patch, key_key, pair->key_pem);
}

/* Still good for `margin_ms`, and everything about it fits. */
static bool pair_is_good(const struct tls_keypair *pair, const char *ca_pem, const char *const *dns_names,
    int64_t now_ms, int64_t margin_ms, int64_t *ret_not_after_ms)
{
    struct tls_cert_info info;
    if (!pair->cert_pem || !pair->key_pem || tls_cert_check(pair, ca_pem, dns_names, now_ms, &info, NULL) < 0)
        return false;
    if (info.not_after_ms - now_ms < margin_ms)
        return false;
    if (ret_not_after_ms)
        *ret_not_after_ms = info.not_after_ms;
    return true;
}

static struct tls_cert_request leaf_request(
    const char *common_name, const char *const *dns_names, int64_t now_ms, int64_t days)
{
    return (struct tls_cert_request){
        .common_name = common_name,
        .dns_names = dns_names,
        .not_before_ms = now_ms - CLOCK_SKEW_MS,
        .not_after_ms = now_ms + days * DAY_MS,
    };
}

/* The former CA's certificate alone (not what it followed itself: a bundle never grows beyond two), while leaves that
 * it signed may be about. NULL if there is none. Caller frees. */
static char *former_ca(const char *pem, int64_t now_ms)
{
    static const char end_line[] = "-----END CERTIFICATE-----";
    struct tls_cert_info info;
    const char *end = pem ? strstr(pem, end_line) : NULL;
    if (!end || tls_cert_inspect(pem, &info, NULL) < 0 || !info.is_ca || info.not_after_ms <= now_ms)
        return NULL;
    return xasprintf("%.*s%s\n", (int)(end - pem), pem, end_line);
}

static int ensure_ca(const json_t *data, const char *common_name, int64_t now_ms, json_t *patch, struct tls_keypair *ca,
    struct error *err)
{
    *ca = pair_get(data, "ca.crt", "ca.key");
    if (pair_is_good(ca, ca->cert_pem, NULL, now_ms, 365 * DAY_MS, NULL))
        return 0;
    const struct tls_cert_request request = leaf_request(common_name, NULL, now_ms, CLUSTER_CA_DAYS);
    struct tls_keypair made = {0};
    if (tls_make_ca(&request, &made, err) < 0)
        return error_prefix(err, "certificate authority");
    _cleanup_(freep) char *former = former_ca(ca->cert_pem, now_ms);
    if (former) {
        char *bundle = xasprintf("%s%s", made.cert_pem, former);
        free(made.cert_pem);
        made.cert_pem = bundle;
    }
    tls_keypair_release(ca);
    *ca = made;
    pair_put(patch, ca, "ca.crt", "ca.key");
    return 0;
}

static int ensure_client(const json_t *data, const struct tls_keypair *ca, int64_t now_ms, json_t *patch,
    struct tls_keypair *client, struct error *err)
{
    *client = pair_get(data, "client.crt", "client.key");
    if (pair_is_good(client, ca->cert_pem, NULL, now_ms, CLUSTER_LEAF_DAYS * DAY_MS / 3, NULL))
        return 0;
    struct tls_cert_request request = leaf_request(AGENT_OPERATOR_COMMON_NAME, NULL, now_ms, CLUSTER_LEAF_DAYS);
    request.client_auth = true;
    struct tls_keypair made = {0};
    if (tls_issue(ca, &request, &made, err) < 0)
        return error_prefix(err, "operator's client certificate");
    tls_keypair_release(client);
    *client = made;
    pair_put(patch, client, "client.crt", "client.key");
    return 0;
}

int secret_data_ca(const json_t *data, const char *common_name, int64_t now_ms, json_t **ret_patch,
    struct tls_keypair *ret_ca, struct tls_keypair *ret_client, struct error *err)
{
    _cleanup_(json_decrefp) json_t *patch = json_object();
    struct tls_keypair ca = {0}, client = {0};
    if (ensure_ca(data, common_name, now_ms, patch, &ca, err) < 0 ||
        ensure_client(data, &ca, now_ms, patch, &client, err) < 0) {
        tls_keypair_release(&ca);
        tls_keypair_release(&client);
        return -1;
    }
    *ret_patch = steal_ptr(patch);
    *ret_ca = ca;
    *ret_client = client;
    return 0;
}

int secret_data_tls(const json_t *data, const struct tls_keypair *ca, const char *const *dns_names, int64_t now_ms,
    json_t **ret_patch, int64_t *ret_not_after_ms, struct error *err)
{
    _cleanup_(json_decrefp) json_t *patch = json_object();
    struct tls_keypair leaf = pair_get(data, "tls.crt", "tls.key");
    int64_t not_after_ms = now_ms + CLUSTER_LEAF_DAYS * DAY_MS;
    if (!pair_is_good(&leaf, ca->cert_pem, dns_names, now_ms, CLUSTER_LEAF_DAYS * DAY_MS / 3, &not_after_ms)) {
        tls_keypair_release(&leaf);
        leaf = (struct tls_keypair){0};
        struct tls_cert_request request = leaf_request(AGENT_COMMON_NAME, dns_names, now_ms, CLUSTER_LEAF_DAYS);
        request.client_auth = request.server_auth = true;
        if (tls_issue(ca, &request, &leaf, err) < 0)
            return error_prefix(err, "agents' certificate");
        pair_put(patch, &leaf, "tls.crt", "tls.key");
    }
    _cleanup_(secret_freep) char *held_ca = secret_data_get(data, "ca.crt");
    if (!str_eq(held_ca, ca->cert_pem))
        put_encoded(patch, "ca.crt", ca->cert_pem);
    tls_keypair_release(&leaf);
    *ret_patch = steal_ptr(patch);
    *ret_not_after_ms = not_after_ms;
    return 0;
}

void secret_data_key_names(const json_t *data, char *out, size_t size)
{
    struct strvec names;
    const char *key;
    json_t *value;
    strvec_init(&names);
    out[0] = '\0';
    json_object_foreach((json_t *)(uintptr_t)data, key, value)
        strvec_push(&names, key);
    strvec_sort(&names);
    for (size_t i = 0; i < names.n; i++) {
        size_t len = strlen(out);
        bool fits = len + strlen(names.v[i]) + sizeof(", ...") < size;
        snprintf(out + len, size - len, "%s%s", len ? ", " : "", fits ? names.v[i] : "...");
        if (!fits)
            break;
    }
    strvec_release(&names);
}
