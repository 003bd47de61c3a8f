/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/stored_document.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "common/backup_seal.h"
#include "common/hex.h"
#include "common/json.h"

/* What was read is never longer written in the canonical form; to be sure. */
#define CANONICAL_MAX (2 * BACKUP_MANIFEST_MAX)

/* ---- texts ---- */

bool stored_hex_ok(const char *text, size_t digits)
{
    return text && strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

bool stored_name_ok(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    return *text && *text != '.' && text[strspn(text, allowed)] == '\0';
}

/* ---- the mac ---- */

static void mac_of(const struct stored_document_kind *kind, const json_t *document, const unsigned char *user_key,
    const unsigned char *salt, char out[static 2 * STORED_MAC_BYTES + 1])
{
    unsigned char key[STORED_KEY_BYTES];
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, CANONICAL_MAX);
    json_canonical(document, &text);
    backup_key_derive(user_key, salt, kind->mac_info, key);
    if (!HMAC(EVP_sha256(), key, sizeof(key), (const unsigned char *)text.buf, text.len, mac, &len) ||
        len != STORED_MAC_BYTES)
        abort();
    OPENSSL_cleanse(key, sizeof(key));
    hex_print(mac, STORED_MAC_BYTES, out);
}

/* ---- encode ---- */

void stored_document_encode(const struct stored_document_kind *kind, const void *record, json_t *document)
{
    json_fields_encode(kind->fields, kind->field_count, record, document);
    json_put_int(document, "format", kind->format);
}

void stored_document_seal(const struct stored_document_kind *kind, const struct stored_seal *seal,
    const unsigned char *user_key, json_t *document)
{
    char salt[2 * STORED_SALT_BYTES + 1];
    char mac[2 * STORED_MAC_BYTES + 1];

    if (!seal->sealed)
        return;
    hex_print(seal->salt, sizeof(seal->salt), salt);
    json_put_str(document, "salt", salt);
    mac_of(kind, document, user_key, seal->salt, mac);
    json_put_str(document, "mac", mac);
}

/* ---- decode ---- */

static bool is_known(const struct stored_document_kind *kind, const char *key)
{
    for (size_t i = 0; i < kind->field_count; i++) {
        if (str_eq(kind->fields[i].key, key))
            return true;
    }
    for (size_t i = 0; i < kind->other_count; i++) {
        if (str_eq(kind->other_keys[i], key))
            return true;
    }
    return str_eq(key, "format") || str_eq(key, "salt") || str_eq(key, "mac");
}

static int check_known(const struct stored_document_kind *kind, const json_t *document, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)document, key, value) {
        if (!is_known(kind, key))
            return error_set(err, ERROR_PROTOCOL, "member \"%.64s\" is not known to this version", key);
    }
    return 0;
}

static int check_format(const struct stored_document_kind *kind, const json_t *document, struct error *err)
{
    int64_t format = json_path_int(document, "format", 0);

    if (!json_is_object(document))
        return error_set(err, ERROR_PROTOCOL, "it is no JSON object");
    if (format != kind->format)
        return error_set(
            err, ERROR_PROTOCOL, "format: it is %lld, this version reads %d", (long long)format, kind->format);
    return check_known(kind, document, err);
}

int stored_document_decode(
    const struct stored_document_kind *kind, const json_t *document, void *record, struct error *err)
{
    if (check_format(kind, document, err) < 0)
        return -1;
    for (size_t i = 0; i < kind->field_count; i++) {
        const struct json_field *field = &kind->fields[i];
        const json_t *value = json_object_get(document, field->key);
        /* What does not fit would be cut; a cut position or name is a wrong one. */
        size_t max = field->type == JSON_FIELD_POSITION ? POSITION_TEXT_MAX : field->size - 1;
        bool is_text = field->type == JSON_FIELD_POSITION || field->type == JSON_FIELD_TEXT;
        if (is_text && json_string_length(value) > max)
            return error_set(err, ERROR_PROTOCOL, "%s: too long", field->key);
        if (strlen(str_or_empty(json_string_value(value))) != json_string_length(value))
            return error_set(err, ERROR_PROTOCOL, "%s: it holds a NUL", field->key);
    }
    if (json_fields_decode(kind->fields, kind->field_count, document, record, err) == 0)
        return 0;
    if (err)
        err->kind = ERROR_PROTOCOL;
    return -1;
}

int stored_name_decode(
    const json_t *document, const char *key, const char *const *names, unsigned count, unsigned *ret, struct error *err)
{
    const char *text = json_path_str(document, key, "");

    for (unsigned i = 0; i < count; i++) {
        if (*text && str_eq(names[i], text)) {
            *ret = i;
            return 0;
        }
    }
    return error_set(err, ERROR_PROTOCOL, "%s: \"%.32s\" is not known", key, text);
}

int stored_document_decode_seal(const json_t *document, const char *key_id, struct stored_seal *ret, struct error *err)
{
    const char *salt = json_path_str(document, "salt", NULL);
    const char *mac = json_path_str(document, "mac", NULL);
    struct stored_seal seal = {.sealed = salt != NULL};

    if (seal.sealed != (mac != NULL) || seal.sealed != (*key_id != '\0'))
        return error_set(err, ERROR_PROTOCOL, "salt, keyId, mac: only some of them are there");
    snprintf(seal.key_id, sizeof(seal.key_id), "%s", key_id);
    if (salt && !hex_parse(salt, seal.salt, sizeof(seal.salt)))
        return error_set(err, ERROR_PROTOCOL, "salt: no %d bytes in hex", STORED_SALT_BYTES);
    if (seal.sealed && !stored_hex_ok(key_id, sizeof(seal.key_id) - 1))
        return error_set(err, ERROR_PROTOCOL, "keyId: no %zu digits in hex", sizeof(seal.key_id) - 1);
    if (seal.sealed && !stored_hex_ok(mac, (size_t)2 * STORED_MAC_BYTES))
        return error_set(err, ERROR_PROTOCOL, "mac: no %d bytes in hex", STORED_MAC_BYTES);
    *ret = seal;
    return 0;
}

int stored_document_check_mac(const struct stored_document_kind *kind, json_t *document, const struct stored_seal *seal,
    const unsigned char *user_key, struct error *err)
{
    char key_id[17];
    char mac[2 * STORED_MAC_BYTES + 1];
    char told[2 * STORED_MAC_BYTES + 1];

    if (!seal->sealed)
        return error_set(err, ERROR_FORBIDDEN, "it is not encrypted, though a key was given");
    backup_key_id(user_key, key_id);
    if (!str_eq(key_id, seal->key_id))
        return error_set(err, ERROR_FORBIDDEN, "it was encrypted with another key (%s) than the one given (%s)",
            seal->key_id, key_id);
    snprintf(told, sizeof(told), "%s", json_path_str(document, "mac", ""));
    json_object_del(document, "mac");
    mac_of(kind, document, user_key, seal->salt, mac);
    if (CRYPTO_memcmp(mac, told, sizeof(mac)) != 0)
        return error_set(err, ERROR_FORBIDDEN, "mac: it was altered");
    return 0;
}
