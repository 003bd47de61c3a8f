/* SPDX-License-Identifier: Apache-2.0 */
/* object_target.c: where objects are: addresses made of what a user wrote, or the operator (object_call.h). */
#include "common/base.h"

#include <arpa/inet.h>

#include "common/alloc.h"
#include "common/object_call.h"

#define BUCKET_MAX 255
#define ENDPOINT_MAX 512

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool consists_of(const char *text, const char *others)
{
    for (; *text; text++)
        if (!is_alnum(*text) && !strchr(others, *text))
            return false;
    return true;
}

int object_name_check(const char *name, bool folder, struct error *err)
{
    const size_t len = strlen(name);
    if (len == 0 || len >= OBJECT_NAME_SIZE)
        return error_set(err, ERROR_INVALID, "a name has 1 to %d bytes", OBJECT_NAME_SIZE - 1);
    if (!consists_of(name, "-_./"))
        return error_set(err, ERROR_INVALID, "a name holds letters, digits and -_./ only: %s", name);
    for (const char *segment = name; segment;) {
        const char *slash = strchr(segment, '/');
        const size_t n = slash ? (size_t)(slash - segment) : strlen(segment);
        const bool last = folder && !slash && segment > name;
        if ((n == 0 && !last) || (n == 1 && *segment == '.') || (n == 2 && segment[0] == '.' && segment[1] == '.'))
            return error_set(err, ERROR_INVALID, "a name has no empty segment, no . and no ..: %s", name);
        segment = slash ? slash + 1 : NULL;
    }
    return 0;
}

/* ---- endpoint ---- */

struct endpoint {
    const char *scheme; /* with "://" */
    char *authority;    /* host, or host:port when that is not the scheme's own */
};

static int endpoint_wrong(const char *text, struct error *err)
{
    return error_set(err, ERROR_INVALID, "endpoint is not http(s)://HOST[:PORT]: %.200s", text);
}

static int split_endpoint(const char *text, struct endpoint *ret, struct error *err)
{
    const bool secure = str_starts_with(text, "https://");
    if (strlen(text) > ENDPOINT_MAX || (!secure && !str_starts_with(text, "http://")))
        return endpoint_wrong(text, err);
    const char *scheme = secure ? "https://" : "http://";
    const char *host = text + strlen(scheme);
    size_t len = strlen(host);
    if (len > 0 && host[len - 1] == '/')
        len--;
    char *authority = xstrndup(host, len);
    const char *own_port = secure ? ":443" : ":80";
    const size_t port_len = strlen(own_port);
    if (len > port_len && str_eq(authority + len - port_len, own_port))
        authority[len - port_len] = '\0';
    if (!*authority || !consists_of(authority, "-._:[]") || *authority == ':') {
        free(authority);
        return endpoint_wrong(text, err);
    }
    *ret = (struct endpoint){.scheme = scheme, .authority = authority};
    return 0;
}

/* AWS's own: https://docs.aws.amazon.com/general/latest/gr/s3.html */
static char *own_endpoint(const char *region)
{
    return xasprintf("https://s3.%s.amazonaws.com%s", region, str_starts_with(region, "cn-") ? ".cn" : "");
}

static bool is_address(const char *authority)
{
    struct in_addr v4;
    char *host = xstrdup(authority);
    char *colon = strrchr(host, ':');
    if (colon)
        *colon = '\0';
    const bool is = *authority == '[' || inet_pton(AF_INET, host, &v4) == 1;
    free(host);
    return is;
}

/* An address has no names below it, and a bucket with dots no certificate; "localhost" neither. */
static bool needs_path(const struct object_target *target, const struct endpoint *endpoint)
{
    return target->path_style || is_address(endpoint->authority) || !consists_of(target->bucket, "-") ||
        str_eq(endpoint->authority, "localhost") || str_starts_with(endpoint->authority, "localhost:");
}

/* ---- the rest ---- */

static int check_bucket(const char *bucket, struct error *err)
{
    const size_t len = strlen(bucket);
    if (len < 1 || len > BUCKET_MAX || !consists_of(bucket, "-_.") || *bucket == '.' || strstr(bucket, ".."))
        return error_set(err, ERROR_INVALID, "bucket is not the name of one: %.200s", bucket);
    return 0;
}

/* More than names may hold: it is the user's. */
static int check_prefix(const char *prefix, struct error *err)
{
    if (strlen(prefix) > OBJECT_PREFIX_MAX)
        return error_set(err, ERROR_INVALID, "prefix has more than %d bytes", OBJECT_PREFIX_MAX);
    for (const char *p = prefix; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '\x7f' || *p == '\\')
            return error_set(err, ERROR_INVALID, "prefix has a control character or a backslash");
    for (const char *segment = prefix; segment && *prefix;) {
        const char *slash = strchr(segment, '/');
        const size_t n = slash ? (size_t)(slash - segment) : strlen(segment);
        if (n == 0 || (n <= 2 && strspn(segment, ".") >= n))
            return error_set(err, ERROR_INVALID, "prefix has an empty segment, . or ..: %.200s", prefix);
        segment = slash ? slash + 1 : NULL;
    }
    return 0;
}

/* They become headers. Never shown. */
int object_keys_check(const char *access_key, const char *secret_key, const char *session_token, struct error *err)
{
    const char *const texts[] = {access_key, secret_key, session_token};
    static const char *const names[] = {"access key", "secret key", "session token"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        for (const char *p = texts[i]; *p; p++)
            if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
                return error_set(err, ERROR_INVALID,
                    "the %s has a blank, a line break or another character that keys do not have", names[i]);
    if (*access_key && !*secret_key)
        return error_set(err, ERROR_INVALID, "the secret key is missing");
    return 0;
}

static void place_volume(struct object_store *store, const struct endpoint *endpoint)
{
    store->host = xstrdup(endpoint->authority);
    store->root = xstrdup("/v1/objects");
    store->shown = xstrdup("volume:");
    store->base_url = xasprintf("%s%s", endpoint->scheme, store->host);
}

static void place_bucket(struct object_store *store, const struct object_target *target, const struct endpoint *endpoint)
{
    const bool in_path = needs_path(target, endpoint);
    store->host = in_path ? xstrdup(endpoint->authority) : xasprintf("%s.%s", target->bucket, endpoint->authority);
    store->root = in_path ? xasprintf("/%s", target->bucket) : xstrdup("");
    store->shown = xasprintf("s3://%s", target->bucket);
    store->base_url = xasprintf("%s%s", endpoint->scheme, store->host);
}

static void set_times(struct object_store *store, const struct object_target *target)
{
    store->keys_grace_ms = target->keys_grace_ms;
    store->idle_timeout_ms = target->idle_timeout_ms > 0 ? target->idle_timeout_ms : 60000;
    store->pauses = (struct backoff_policy){
        .base_ms = target->retry_base_ms > 0 ? target->retry_base_ms : 500, .max_ms = 15000, .jitter_percent = 50};
    store->random_state = random_seed();
}

int object_target_fill(struct object_store *store, const struct object_target *target, struct error *err)
{
    const char *region = str_empty(target->region) ? "us-east-1" : target->region;
    const char *prefix = str_or_empty(target->prefix);
    const char *bucket = str_or_empty(target->bucket);
    struct endpoint endpoint = {.scheme = NULL};
    if ((!target->is_volume && check_bucket(bucket, err) < 0) || check_prefix(prefix, err) < 0 ||
        object_keys_check(str_or_empty(target->access_key), str_or_empty(target->secret_key),
            str_or_empty(target->session_token), err) < 0)
        return -1;
    if (!consists_of(region, "-_") || strlen(region) > 60)
        return error_set(err, ERROR_INVALID, "region is not the name of one: %.200s", region);
    _cleanup_(freep) char *text = str_empty(target->endpoint) ? own_endpoint(region) : xstrdup(target->endpoint);
    if (split_endpoint(text, &endpoint, err) < 0)
        return -1;
    if (target->is_volume)
        place_volume(store, &endpoint);
    else
        place_bucket(store, target, &endpoint);
    free(endpoint.authority);
    store->bucket = xstrdup(bucket);
    store->prefix = *prefix ? xasprintf("%s/", prefix) : xstrdup("");
    store->region = xstrdup(region);
    store->access_key = xstrdup(str_or_empty(target->access_key));
    store->secret_key = xstrdup(str_or_empty(target->secret_key));
    store->session_token = xstrdup(str_or_empty(target->session_token));
    store->connect_to = xstrdup(target->connect_to);
    store->tls = target->tls ? http_tls_ref(target->tls) : http_tls_new(&(struct http_tls_options){.ca_pem = NULL});
    set_times(store, target);
    return 0;
}

void object_target_release(struct object_store *store)
{
    free(store->base_url);
    free(store->host);
    free(store->bucket);
    free(store->root);
    free(store->shown);
    free(store->prefix);
    free(store->region);
    secret_free(store->access_key);
    secret_free(store->secret_key);
    secret_free(store->session_token);
    free(store->connect_to);
    http_tls_unref(store->tls);
}
