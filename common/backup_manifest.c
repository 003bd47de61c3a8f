#include "common/base.h"

#include "common/backup_manifest.h"

#include <ctype.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <time.h>

#include "common/alloc.h"
#include "common/backup_seal.h"
#include "common/json.h"
#include "common/json_fields.h"

#define MAC_INFO "kube-mysql manifest 1"
#define MAC_BYTES 32
/* What a writer may choose; a reader hashes parts without holding them. */
#define PART_BYTES_MAX ((uint64_t)(1024 * KM_MIB))

const char *const backup_method_names[BACKUP_METHOD_COUNT] = {
    [BACKUP_METHOD_PHYSICAL] = "physical",
    [BACKUP_METHOD_LOGICAL] = "logical",
};
const char *const backup_compression_names[BACKUP_COMPRESSION_COUNT] = {
    [BACKUP_COMPRESSION_ZSTD] = "zstd",
    [BACKUP_COMPRESSION_NONE] = "none",
};

#define FIELD(key, type, member) JSON_FIELD(backup_manifest, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field fields[] = {
    FIELD("id", TEXT, id),
    FIELD("namespace", TEXT, ns),
    FIELD("cluster", TEXT, cluster),
    FIELD("clusterUID", TEXT, cluster_uid),
    FIELD("keyId", TEXT, key_id),
    FIELD("flavour", TEXT, flavour),
    FIELD("serverVersion", TEXT, server_version),
    FIELD("donor", TEXT, donor),
    FIELD("startedMs", I64, started_ms),
    FIELD("completedMs", I64, completed_ms),
    FIELD("gtid", TEXT, gtid),
    FIELD("dataBytes", U64, data_bytes),
    FIELD("rawBytes", U64, raw_bytes),
    FIELD("storedBytes", U64, stored_bytes),
    FIELD("partBytes", U64, part_bytes),
    FIELD("pieceBytes", U64, piece_bytes),
};
/* Beside those of the table. */
static const char *const other_keys[] = {"format", "method", "stream", "compression", "salt", "pieces", "mac"};

void backup_manifest_release(struct backup_manifest *manifest)
{
    free(manifest->pieces);
    manifest->pieces = NULL;
    manifest->piece_count = 0;
}

void backup_manifest_add_piece(struct backup_manifest *manifest, uint64_t bytes, const char *sha256)
{
    manifest->pieces = xreallocarray(manifest->pieces, manifest->piece_count + 1, sizeof(*manifest->pieces));
    struct backup_piece *piece = &manifest->pieces[manifest->piece_count++];
    piece->bytes = bytes;
    snprintf(piece->sha256, sizeof(piece->sha256), "%s", sha256);
}

/* ---- texts ---- */

static void to_hex(const unsigned char *data, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[data[i] >> 4];
        out[2 * i + 1] = digits[data[i] & 15];
    }
    out[2 * len] = '\0';
}

static bool is_hex(const char *text, size_t len)
{
    return strlen(text) == len && strspn(text, "0123456789abcdef") == len;
}

static unsigned hex_value(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static bool from_hex(const char *text, unsigned char *out, size_t len)
{
    if (!is_hex(text, 2 * len))
        return false;
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char)(hex_value(text[2 * i]) << 4 | hex_value(text[2 * i + 1]));
    return true;
}

/* Part of the names of objects. */
static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

    return *text && *text != '.' && text[strspn(text, allowed)] == '\0';
}

void backup_piece_name(size_t index, char out[static 16])
{
    snprintf(out, 16, "data-%06zu", index + 1);
}

void backup_id_make(int64_t now_ms, const char *name, unsigned attempt, char out[static BACKUP_ID_SIZE])
{
    char stamp[sizeof("20261121T204512Z")];
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm tm;

    gmtime_r(&seconds, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
    snprintf(out, BACKUP_ID_SIZE, "%s-%.*s-%u", stamp, BACKUP_ID_SIZE - (int)sizeof("20261121T204512Z--4294967295"),
        name, attempt);
}

void backup_folder_of(const char *ns, const char *cluster, const char *id, struct strbuf *out)
{
    strbuf_addf(out, "%s/%s/backups/%s", ns, cluster, str_or_empty(id));
}

/* ---- the mac ---- */

static void mac_of(const json_t *document, const unsigned char *user_key, const unsigned char *salt,
    char out[static 2 * MAC_BYTES + 1])
{
    unsigned char key[BACKUP_KEY_BYTES];
    unsigned char mac[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(
        &text, 2 * BACKUP_MANIFEST_MAX); /* what was read is never longer written in the canonical form; to be sure */
    json_canonical(document, &text);
    backup_key_derive(user_key, salt, MAC_INFO, key);
    if (!HMAC(EVP_sha256(), key, sizeof(key), (const unsigned char *)text.buf, text.len, mac, &len) || len != MAC_BYTES)
        abort();
    OPENSSL_cleanse(key, sizeof(key));
    to_hex(mac, MAC_BYTES, out);
}

/* ---- encode ---- */

static json_t *encode_pieces(const struct backup_manifest *manifest)
{
    json_t *list = json_array();

    for (size_t i = 0; i < manifest->piece_count; i++) {
        json_t *piece = json_object();
        json_put_int(piece, "bytes", (int64_t)manifest->pieces[i].bytes);
        json_put_str(piece, "sha256", manifest->pieces[i].sha256);
        json_array_append_new(list, piece);
    }
    return list;
}

void backup_manifest_encode(
    const struct backup_manifest *manifest, const unsigned char user_key[BACKUP_KEY_BYTES], struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();
    char salt[2 * BACKUP_SALT_BYTES + 1];
    char mac[2 * MAC_BYTES + 1];

    json_fields_encode(fields, ARRAY_LEN(fields), manifest, document);
    json_put_int(document, "format", BACKUP_FORMAT);
    json_put_str(document, "method", backup_method_names[manifest->method]);
    json_put_str(document, "stream", stream_method_names[manifest->stream]);
    json_put_str(document, "compression", backup_compression_names[manifest->compression]);
    json_put(document, "pieces", encode_pieces(manifest));
    if (manifest->sealed) {
        to_hex(manifest->salt, sizeof(manifest->salt), salt);
        json_put_str(document, "salt", salt);
        mac_of(document, user_key, manifest->salt, mac);
        json_put_str(document, "mac", mac);
    }
    json_canonical(document, out);
}

/* ---- decode ---- */

static bool is_known(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (str_eq(fields[i].key, key))
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(other_keys); i++) {
        if (str_eq(other_keys[i], key))
            return true;
    }
    return false;
}

static int check_known(const json_t *document, struct error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)document, key, value) {
        if (!is_known(key))
            return error_set(err, ERROR_PROTOCOL, "member \"%.64s\" is not known to this version", key);
    }
    return 0;
}

static int check_format(const json_t *document, struct error *err)
{
    int64_t format = json_path_int(document, "format", 0);

    if (format != BACKUP_FORMAT)
        return error_set(
            err, ERROR_PROTOCOL, "format: it is %lld, this version reads %d", (long long)format, BACKUP_FORMAT);
    return check_known(document, err);
}

/* What does not fit would be cut; a cut position or name is a wrong one. */
static int decode_fields(const json_t *document, struct backup_manifest *manifest, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const json_t *value = json_object_get(document, fields[i].key);
        if (fields[i].type == JSON_FIELD_TEXT && json_string_length(value) >= fields[i].size)
            return error_set(err, ERROR_PROTOCOL, "%s: too long", fields[i].key);
        if (strlen(str_or_empty(json_string_value(value))) != json_string_length(value))
            return error_set(err, ERROR_PROTOCOL, "%s: it holds a NUL", fields[i].key);
    }
    if (json_fields_decode(fields, ARRAY_LEN(fields), document, manifest, err) == 0)
        return 0;
    if (err)
        err->kind = ERROR_PROTOCOL;
    return -1;
}

/* All names count here, [0] too. */
static int decode_name(
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

static int decode_names(const json_t *document, struct backup_manifest *manifest, struct error *err)
{
    unsigned method = 0;
    unsigned stream = 0;
    unsigned compression = 0;

    if (decode_name(document, "method", backup_method_names, BACKUP_METHOD_COUNT, &method, err) < 0 ||
        decode_name(document, "stream", stream_method_names, STREAM_METHOD_COUNT, &stream, err) < 0 ||
        decode_name(document, "compression", backup_compression_names, BACKUP_COMPRESSION_COUNT, &compression, err) < 0)
        return -1;
    manifest->method = (enum backup_method)method;
    manifest->stream = (enum stream_method)stream;
    manifest->compression = (enum backup_compression)compression;
    return 0;
}

/* salt, keyId and mac are all there, or none is. */
static int decode_seal(const json_t *document, struct backup_manifest *manifest, struct error *err)
{
    const char *salt = json_path_str(document, "salt", NULL);
    const char *mac = json_path_str(document, "mac", NULL);

    manifest->sealed = salt != NULL;
    if (manifest->sealed != (mac != NULL) || manifest->sealed != (*manifest->key_id != '\0'))
        return error_set(err, ERROR_PROTOCOL, "salt, keyId, mac: only some of them are there");
    if (!manifest->sealed)
        return 0;
    if (!from_hex(salt, manifest->salt, sizeof(manifest->salt)))
        return error_set(err, ERROR_PROTOCOL, "salt: no %d bytes in hex", BACKUP_SALT_BYTES);
    if (!is_hex(manifest->key_id, sizeof(manifest->key_id) - 1))
        return error_set(err, ERROR_PROTOCOL, "keyId: no %zu digits in hex", sizeof(manifest->key_id) - 1);
    if (!is_hex(mac, (size_t)2 * MAC_BYTES))
        return error_set(err, ERROR_PROTOCOL, "mac: no %d bytes in hex", MAC_BYTES);
    return 0;
}

static int decode_piece(const json_t *item, size_t index, struct backup_manifest *manifest, struct error *err)
{
    int64_t bytes = json_path_int(item, "bytes", 0);
    const char *sha256 = json_path_str(item, "sha256", "");

    if (json_object_size(item) != 2 || bytes <= 0 || !is_hex(sha256, 64))
        return error_set(err, ERROR_PROTOCOL, "pieces[%zu]: it must have bytes and sha256", index);
    backup_manifest_add_piece(manifest, (uint64_t)bytes, sha256);
    return 0;
}

static int decode_pieces(const json_t *document, struct backup_manifest *manifest, struct error *err)
{
    const json_t *list = json_object_get(document, "pieces");
    size_t count = json_array_size(list);

    if (count == 0 || count > BACKUP_PIECES_MAX)
        return error_set(err, ERROR_PROTOCOL, "pieces: from 1 to %d are possible, not %zu", BACKUP_PIECES_MAX, count);
    for (size_t i = 0; i < count; i++) {
        if (decode_piece(json_array_get(list, i), i, manifest, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- check ---- */

static int check_sizes(const struct backup_manifest *manifest, struct error *err)
{
    uint64_t sum = 0;

    if (manifest->part_bytes == 0 || manifest->part_bytes > PART_BYTES_MAX)
        return error_set(err, ERROR_PROTOCOL, "partBytes: out of range");
    if (manifest->piece_bytes < manifest->part_bytes || manifest->piece_bytes > INT64_MAX / BACKUP_PIECES_MAX)
        return error_set(err, ERROR_PROTOCOL, "pieceBytes: out of range");
    for (size_t i = 0; i < manifest->piece_count; i++) {
        uint64_t bytes = manifest->pieces[i].bytes;
        bool last = i + 1 == manifest->piece_count;
        if (bytes > manifest->piece_bytes || (!last && bytes != manifest->piece_bytes))
            return error_set(err, ERROR_PROTOCOL, "pieces[%zu].bytes: not of the size of a piece", i);
        sum += bytes;
    }
    if (sum != manifest->stored_bytes)
        return error_set(err, ERROR_PROTOCOL, "storedBytes: the pieces have %llu together", (unsigned long long)sum);
    bool plain = manifest->compression == BACKUP_COMPRESSION_NONE && !manifest->sealed;
    if (plain && manifest->raw_bytes != manifest->stored_bytes)
        return error_set(err, ERROR_PROTOCOL, "rawBytes: it is not storedBytes, though nothing is packed");
    return 0;
}

static int check_names(const struct backup_manifest *manifest, struct error *err)
{
    if (!is_name(manifest->id))
        return error_set(err, ERROR_PROTOCOL, "id: not a name");
    if (!is_name(manifest->ns))
        return error_set(err, ERROR_PROTOCOL, "namespace: not a name");
    if (!is_name(manifest->cluster))
        return error_set(err, ERROR_PROTOCOL, "cluster: not a name");
    return manifest->completed_ms < manifest->started_ms
        ? error_set(err, ERROR_PROTOCOL, "completedMs: before startedMs")
        : 0;
}

static int check_mac(
    json_t *document, const struct backup_manifest *manifest, const unsigned char *user_key, struct error *err)
{
    char key_id[17];
    char mac[2 * MAC_BYTES + 1];
    char told[2 * MAC_BYTES + 1];

    if (!manifest->sealed)
        return error_set(err, ERROR_FORBIDDEN, "it is not encrypted, though a key was given");
    backup_key_id(user_key, key_id);
    if (!str_eq(key_id, manifest->key_id))
        return error_set(err, ERROR_FORBIDDEN, "it was encrypted with another key (%s) than the one given (%s)",
            manifest->key_id, key_id);
    snprintf(told, sizeof(told), "%s", json_path_str(document, "mac", ""));
    json_object_del(document, "mac");
    mac_of(document, user_key, manifest->salt, mac);
    if (CRYPTO_memcmp(mac, told, sizeof(mac)) != 0)
        return error_set(err, ERROR_FORBIDDEN, "mac: the manifest was altered");
    return 0;
}

static int decode(json_t *document, const unsigned char *user_key, struct backup_manifest *manifest, struct error *err)
{
    if (!json_is_object(document))
        return error_set(err, ERROR_PROTOCOL, "it is no JSON object");
    if (check_format(document, err) < 0 || decode_fields(document, manifest, err) < 0 ||
        decode_names(document, manifest, err) < 0 || decode_seal(document, manifest, err) < 0 ||
        decode_pieces(document, manifest, err) < 0 || check_names(manifest, err) < 0 || check_sizes(manifest, err) < 0)
        return -1;
    return user_key ? check_mac(document, manifest, user_key, err) : 0;
}

int backup_manifest_decode(const char *text, size_t len, const unsigned char user_key[BACKUP_KEY_BYTES],
    struct backup_manifest *ret, struct error *err)
{
    struct backup_manifest manifest = {0};

    if (len > BACKUP_MANIFEST_MAX)
        return error_set(err, ERROR_PROTOCOL, "the manifest: %zu bytes are too many", len);
    _cleanup_(json_decrefp) json_t *document = json_parse(text, len, err);
    if (!document)
        return error_prefix(err, "the manifest");
    if (decode(document, user_key, &manifest, err) < 0) {
        backup_manifest_release(&manifest);
        return error_prefix(err, "the manifest");
    }
    *ret = manifest;
    return 0;
}
