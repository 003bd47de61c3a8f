/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/task_document.h"

#include <openssl/crypto.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/tls.h"

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
