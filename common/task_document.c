#include "common/base.h"

#include "common/task_document.h"

#include <openssl/crypto.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/tls.h"

#define PEM_MAX (48 * KM_KIB)

/* ---- stores ---- */

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

/* What jansson holds of a document with secrets, before it is freed. */
static void wipe_texts(json_t *value)
{
    const char *key;
    json_t *member;

    if (json_is_string(value))
        OPENSSL_cleanse((char *)(uintptr_t)json_string_value(value), json_string_length(value));
    json_object_foreach(value, key, member)
        wipe_texts(member);
}

void task_document_drop(json_t **document)
{
    if (*document)
        wipe_texts(*document);
    json_decref(*document);
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

int task_text_decode(const json_t *document, const char *key, size_t max, char **ret, struct error *err)
{
    const char *text = NULL;

    if (json_want_str(document, key, &text, err) < 0)
        return -1;
    if (text && json_string_length(json_object_get(document, key)) > max)
        return error_set(err, ERROR_INVALID, "%s: longer than %zu bytes", key, max);
    *ret = xstrdup(text);
    return 0;
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

/* ---- members ---- */

void task_key_encode(json_t *document, const unsigned char key[static BACKUP_KEY_BYTES])
{
    char *text = tls_base64_encode(key, BACKUP_KEY_BYTES);

    json_put_str(document, "key", text);
    secret_free(text);
}

int task_key_decode(
    const json_t *document, bool *ret_sealed, unsigned char ret[static BACKUP_KEY_BYTES], struct error *err)
{
    const char *text = NULL;
    size_t len = 0;

    *ret_sealed = false;
    if (json_want_str(document, "key", &text, err) < 0)
        return -1;
    if (!text)
        return 0;
    char *key = tls_base64_decode(text, strlen(text), &len, NULL);
    bool fits = key && len == BACKUP_KEY_BYTES;
    if (fits)
        memcpy(ret, key, len);
    if (key)
        OPENSSL_cleanse(key, len);
    free(key);
    *ret_sealed = fits;
    return fits ? 0 : error_set(err, ERROR_INVALID, "key: no %d bytes in base64", BACKUP_KEY_BYTES);
}

int task_name_decode(
    const json_t *document, const char *key, const char *const *names, unsigned count, unsigned *ret, struct error *err)
{
    const char *text = NULL;

    *ret = 0;
    if (json_want_str(document, key, &text, err) < 0)
        return -1;
    for (unsigned i = 0; text && i < count; i++) {
        if (!str_eq(names[i], text))
            continue;
        *ret = i;
        return 0;
    }
    return text ? error_set(err, ERROR_INVALID, "%s: not one that this version knows", key) : 0;
}

int task_lengths_check(const struct json_field *fields, size_t count, const json_t *document, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = json_string_length(json_object_get(document, fields[i].key));
        if (fields[i].type == JSON_FIELD_TEXT && len >= fields[i].size)
            return error_set(err, ERROR_INVALID, "%s: longer than %zu bytes", fields[i].key, fields[i].size - 1);
    }
    return 0;
}

bool task_path_ok(const char *text, bool slashes)
{
    static const char allowed[] = "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t len = strlen(text);

    return len > 0 && text[strspn(text, slashes ? allowed : allowed + 1)] == '\0' && !strstr(text, "..") &&
        !strstr(text, "//") && text[0] != '/' && text[len - 1] != '/';
}
