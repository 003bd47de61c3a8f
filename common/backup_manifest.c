/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/backup_manifest.h"

#include <time.h>

#include "common/alloc.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "common/stored_document.h"

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
    FIELD("gtid", POSITION, gtid),
    FIELD("dataBytes", U64, data_bytes),
    FIELD("rawBytes", U64, raw_bytes),
    FIELD("storedBytes", U64, stored_bytes),
    FIELD("partBytes", U64, part_bytes),
    FIELD("pieceBytes", U64, piece_bytes),
};
static const char *const other_keys[] = {"method", "stream", "compression", "pieces"};

static const struct stored_document_kind manifest_kind = {
    .format = BACKUP_FORMAT,
    .mac_info = "kube-mysql manifest 1",
    .fields = fields,
    .field_count = ARRAY_LEN(fields),
    .other_keys = other_keys,
    .other_count = ARRAY_LEN(other_keys),
};

void backup_manifest_release(struct backup_manifest *manifest)
{
    free(manifest->pieces);
    manifest->pieces = NULL;
    manifest->piece_count = 0;
    position_pool_unref(manifest->positions);
    manifest->positions = NULL;
    manifest->gtid = NULL;
}

void backup_manifest_add_piece(struct backup_manifest *manifest, uint64_t bytes, const char *sha256)
{
    manifest->pieces = xreallocarray(manifest->pieces, manifest->piece_count + 1, sizeof(*manifest->pieces));
    struct backup_piece *piece = &manifest->pieces[manifest->piece_count++];
    piece->bytes = bytes;
    snprintf(piece->sha256, sizeof(piece->sha256), "%s", sha256);
}

/* ---- names ---- */

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

static struct stored_seal seal_of(const struct backup_manifest *manifest)
{
    struct stored_seal seal = {.sealed = manifest->sealed};

    memcpy(seal.key_id, manifest->key_id, sizeof(seal.key_id));
    memcpy(seal.salt, manifest->salt, sizeof(seal.salt));
    return seal;
}

void backup_manifest_encode(
    const struct backup_manifest *manifest, const unsigned char user_key[BACKUP_KEY_BYTES], struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();
    struct stored_seal seal = seal_of(manifest);

    stored_document_encode(&manifest_kind, manifest, document);
    json_put_str(document, "method", backup_method_names[manifest->method]);
    json_put_str(document, "stream", stream_method_names[manifest->stream]);
    json_put_str(document, "compression", backup_compression_names[manifest->compression]);
    json_put(document, "pieces", encode_pieces(manifest));
    stored_document_seal(&manifest_kind, &seal, user_key, document);
    json_canonical(document, out);
}

/* ---- decode ---- */

static int decode_names(const json_t *document, struct backup_manifest *manifest, struct error *err)
{
    unsigned method = 0;
    unsigned stream = 0;
    unsigned compression = 0;

    if (stored_name_decode(document, "method", backup_method_names, BACKUP_METHOD_COUNT, &method, err) < 0 ||
        stored_name_decode(document, "stream", stream_method_names, STREAM_METHOD_COUNT, &stream, err) < 0 ||
        stored_name_decode(
            document, "compression", backup_compression_names, BACKUP_COMPRESSION_COUNT, &compression, err) < 0)
        return -1;
    manifest->method = (enum backup_method)method;
    manifest->stream = (enum stream_method)stream;
    manifest->compression = (enum backup_compression)compression;
    return 0;
}

static int decode_seal(const json_t *document, struct backup_manifest *manifest, struct error *err)
{
    struct stored_seal seal;

    if (stored_document_decode_seal(document, manifest->key_id, &seal, err) < 0)
        return -1;
    manifest->sealed = seal.sealed;
    memcpy(manifest->salt, seal.salt, sizeof(seal.salt));
    return 0;
}

static int decode_piece(const json_t *item, size_t index, struct backup_manifest *manifest, struct error *err)
{
    int64_t bytes = json_path_int(item, "bytes", 0);
    const char *sha256 = json_path_str(item, "sha256", "");

    if (json_object_size(item) != 2 || bytes <= 0 || !stored_hex_ok(sha256, 64))
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
    if (!stored_name_ok(manifest->id))
        return error_set(err, ERROR_PROTOCOL, "id: not a name");
    if (!stored_name_ok(manifest->ns))
        return error_set(err, ERROR_PROTOCOL, "namespace: not a name");
    if (!stored_name_ok(manifest->cluster))
        return error_set(err, ERROR_PROTOCOL, "cluster: not a name");
    return manifest->completed_ms < manifest->started_ms
        ? error_set(err, ERROR_PROTOCOL, "completedMs: before startedMs")
        : 0;
}

static int decode(json_t *document, const unsigned char *user_key, struct backup_manifest *manifest, struct error *err)
{
    if (stored_document_decode(&manifest_kind, document, manifest, err) < 0 ||
        decode_names(document, manifest, err) < 0 || decode_seal(document, manifest, err) < 0 ||
        decode_pieces(document, manifest, err) < 0 || check_names(manifest, err) < 0 || check_sizes(manifest, err) < 0)
        return -1;
    struct stored_seal seal = seal_of(manifest);
    manifest->positions = position_pool_new(POSITION_TEXT_MAX);
    json_fields_take(fields, ARRAY_LEN(fields), manifest->positions, manifest);
    return user_key ? stored_document_check_mac(&manifest_kind, document, &seal, user_key, err) : 0;
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
