/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/backup_store.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/object_store.h"
#include "common/task_document.h"

#define PEM_MAX (48 * KM_KIB)

struct store_text {
    const char *key;
    size_t offset;
    size_t max;
    bool secret;
};
#define STORE_TEXT(key, member, max, secret)                    \
    {                                                           \
        key, offsetof(struct backup_store, member), max, secret \
    }

static const struct store_text store_texts[] = {
    STORE_TEXT("endpoint", endpoint, TASK_TEXT_MAX, false),
    STORE_TEXT("region", region, TASK_TEXT_MAX, false),
    STORE_TEXT("bucket", bucket, TASK_TEXT_MAX, false),
    STORE_TEXT("prefix", prefix, TASK_TEXT_MAX, false),
    STORE_TEXT("accessKey", access_key, TASK_TEXT_MAX, true),
    STORE_TEXT("secretKey", secret_key, TASK_TEXT_MAX, true),
    STORE_TEXT("sessionToken", session_token, TASK_TEXT_MAX, true),
    STORE_TEXT("ca", ca_pem, PEM_MAX, false),
    STORE_TEXT("connectTo", connect_to, TASK_TEXT_MAX, false),
    STORE_TEXT("serverName", server_name, TASK_TEXT_MAX, false),
};

static char **store_member(const struct backup_store *store, const struct store_text *text)
{
    return (char **)(uintptr_t)((const char *)store + text->offset);
}

void backup_store_release(struct backup_store *store)
{
    for (size_t i = 0; i < ARRAY_LEN(store_texts); i++)
        secret_free(*store_member(store, &store_texts[i]));
    *store = (struct backup_store){0};
}

void backup_store_take_keys(struct backup_store *to, const struct backup_store *from)
{
    for (size_t i = 0; i < ARRAY_LEN(store_texts); i++) {
        if (!store_texts[i].secret)
            continue;
        char **member = store_member(to, &store_texts[i]);
        secret_free(*member);
        *member = xstrdup(*store_member(from, &store_texts[i]));
    }
}

json_t *backup_store_encode(const struct backup_store *store)
{
    json_t *object = json_object();

    for (size_t i = 0; i < ARRAY_LEN(store_texts); i++) {
        const char *text = *store_member(store, &store_texts[i]);
        if (!str_empty(text))
            json_put_str(object, store_texts[i].key, text);
    }
    if (store->path_style)
        json_put_bool(object, "pathStyle", true);
    if (store->is_volume)
        json_put_bool(object, "volume", true);
    return object;
}

static int check_store(const struct backup_store *store, struct error *err)
{
    if (str_empty(store->bucket))
        return error_set(err, ERROR_INVALID, "bucket is missing");
    if (store->is_volume && (str_empty(store->connect_to) || str_empty(store->server_name)))
        return error_set(err, ERROR_INVALID, "a volume needs connectTo and serverName");
    if (str_empty(store->access_key) != str_empty(store->secret_key))
        return error_set(err, ERROR_INVALID, "accessKey and secretKey belong together");
    return 0;
}

static int decode_store(const json_t *object, struct backup_store *store, struct error *err)
{
    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "is missing, or no object");
    for (size_t i = 0; i < ARRAY_LEN(store_texts); i++) {
        const struct store_text *text = &store_texts[i];
        if (task_text_decode(object, text->key, text->max, store_member(store, text), err) < 0)
            return -1;
    }
    if (json_want_bool(object, "pathStyle", &store->path_style, err) < 0 ||
        json_want_bool(object, "volume", &store->is_volume, err) < 0)
        return -1;
    return check_store(store, err);
}

int backup_store_decode(const json_t *document, struct backup_store *store, struct error *err)
{
    return decode_store(json_object_get(document, "store"), store, err) < 0 ? error_prefix(err, "store") : 0;
}

struct object_store *backup_store_open(
    struct loop *loop, const struct backup_store *store, struct http_tls *tls, int64_t keys_grace_ms, struct error *err)
{
    const struct object_target target = {
        .is_volume = store->is_volume,
        .endpoint = store->endpoint,
        .region = store->region,
        .bucket = store->bucket,
        .prefix = store->prefix,
        .path_style = store->path_style,
        .access_key = store->access_key,
        .secret_key = store->secret_key,
        .session_token = store->session_token,
        .connect_to = str_empty(store->connect_to) ? NULL : store->connect_to,
        .tls = tls,
        .keys_grace_ms = keys_grace_ms,
    };

    return object_store_new(loop, &target, err);
}
