/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/binlog_segment.h"

#include <ctype.h>

#include "common/clock.h"
#include "common/gtid.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "common/stored_document.h"

/* "EEEEEEEEEE-SSSSSSSSSS-20261121T204512Z" */
#define NUMBER_DIGITS 10
#define NUMBER_MAX 9999999999ULL
#define NAME_LEN (2 * (NUMBER_DIGITS + 1) + sizeof("20261121T204512Z") - 1)
#define META_ENDING ".json"
#define LOG_ENDING ".log"

#define FIELD(key, type, member) JSON_FIELD(binlog_segment, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field fields[] = {
    FIELD("epoch", U64, name.epoch),
    FIELD("sequence", U64, name.sequence),
    FIELD("archivedMs", I64, name.archived_ms),
    FIELD("chainEpoch", U64, chain.epoch),
    FIELD("chainSequence", U64, chain.sequence),
    FIELD("chainArchivedMs", I64, chain.archived_ms),
    FIELD("namespace", TEXT, ns),
    FIELD("cluster", TEXT, cluster),
    FIELD("clusterUID", TEXT, cluster_uid),
    FIELD("writer", TEXT, writer),
    FIELD("flavour", TEXT, flavour),
    FIELD("serverVersion", TEXT, server_version),
    FIELD("after", POSITION, after),
    FIELD("until", POSITION, until),
    FIELD("previous", TEXT, previous),
    FIELD("gap", BOOL, gap),
    FIELD("firstMs", I64, first_ms),
    FIELD("lastMs", I64, last_ms),
    FIELD("transactions", U64, count),
    FIELD("rawBytes", U64, raw_bytes),
    FIELD("storedBytes", U64, stored_bytes),
    FIELD("sha256", TEXT, sha256),
    FIELD("keyId", TEXT, key_id),
};
static const char *const other_keys[] = {"compression"};

static const struct stored_document_kind segment_kind = {
    .format = BINLOG_SEGMENT_FORMAT,
    .mac_info = "kube-mysql binlog segment 1",
    .fields = fields,
    .field_count = ARRAY_LEN(fields),
    .other_keys = other_keys,
    .other_count = ARRAY_LEN(other_keys),
};

/* ---- names ---- */

void binlog_folder_of(const char *ns, const char *cluster, const char *uid, struct strbuf *out)
{
    strbuf_addf(out, "%s/%s/binlogs/%s", ns, cluster, uid);
}

void binlog_segment_name_print(const struct binlog_segment_name *name, char out[static BINLOG_SEGMENT_NAME_SIZE])
{
    char time[CLOCK_RFC3339_SIZE]; /* "2026-11-21T20:45:12Z" */

    clock_format_rfc3339(name->archived_ms, time);
    snprintf(out, BINLOG_SEGMENT_NAME_SIZE, "%0*llu-%0*llu-%.4s%.2s%.2sT%.2s%.2s%.2sZ", NUMBER_DIGITS,
        (unsigned long long)name->epoch, NUMBER_DIGITS, (unsigned long long)name->sequence, time, time + 5, time + 8,
        time + 11, time + 14, time + 17);
}

/* Any digits do: what was read is printed again and compared. */
static uint64_t number_at(const char *text, size_t digits)
{
    uint64_t number = 0;

    for (size_t i = 0; i < digits; i++)
        number = number * 10 + (isdigit((unsigned char)text[i]) ? (uint64_t)(text[i] - '0') : 0);
    return number;
}

static bool time_at(const char *text, int64_t *ret_ms)
{
    char time[CLOCK_RFC3339_SIZE];

    snprintf(
        time, sizeof(time), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", text, text + 4, text + 6, text + 9, text + 11, text + 13);
    return clock_parse_rfc3339(time, ret_ms) == 0 && *ret_ms >= 0;
}

bool binlog_segment_name_parse(const char *text, struct binlog_segment_name *ret, bool *ret_is_meta)
{
    struct binlog_segment_name name;
    char again[BINLOG_SEGMENT_NAME_SIZE];

    if (strlen(text) <= NAME_LEN || (!str_eq(text + NAME_LEN, META_ENDING) && !str_eq(text + NAME_LEN, LOG_ENDING)))
        return false;
    name.epoch = number_at(text, NUMBER_DIGITS);
    name.sequence = number_at(text + NUMBER_DIGITS + 1, NUMBER_DIGITS);
    if (name.sequence == 0 || !time_at(text + (size_t)2 * (NUMBER_DIGITS + 1), &name.archived_ms))
        return false;
    binlog_segment_name_print(&name, again);
    if (strncmp(text, again, NAME_LEN) != 0)
        return false;
    *ret = name;
    *ret_is_meta = str_eq(text + NAME_LEN, META_ENDING);
    return true;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

int binlog_segment_name_compare(const struct binlog_segment_name *a, const struct binlog_segment_name *b)
{
    int rc = compare_numbers(a->epoch, b->epoch);

    if (rc == 0)
        rc = compare_numbers(a->sequence, b->sequence);
    return rc ? rc : compare_numbers((uint64_t)a->archived_ms, (uint64_t)b->archived_ms);
}

bool binlog_segment_name_same_place(const struct binlog_segment_name *a, const struct binlog_segment_name *b)
{
    return a->epoch == b->epoch && a->sequence == b->sequence;
}

/* ---- encode ---- */

static struct stored_seal seal_of(const struct binlog_segment *segment)
{
    struct stored_seal seal = {.sealed = segment->sealed};

    memcpy(seal.key_id, segment->key_id, sizeof(seal.key_id));
    memcpy(seal.salt, segment->salt, sizeof(seal.salt));
    return seal;
}

void binlog_segment_encode(
    const struct binlog_segment *segment, const unsigned char user_key[BACKUP_KEY_BYTES], struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();
    struct stored_seal seal = seal_of(segment);

    stored_document_encode(&segment_kind, segment, document);
    json_put_str(document, "compression", backup_compression_names[segment->compression]);
    stored_document_seal(&segment_kind, &seal, user_key, document);
    json_canonical(document, out);
}

/* ---- decode ---- */

static int check_names(const struct binlog_segment *segment, struct error *err)
{
    const struct binlog_segment_name *chain = &segment->chain;

    if (chain->epoch > segment->name.epoch ||
        (chain->epoch == segment->name.epoch && chain->sequence > segment->name.sequence))
        return error_set(err, ERROR_PROTOCOL, "chainEpoch, chainSequence: behind the segment itself");
    if (segment->name.epoch > NUMBER_MAX)
        return error_set(err, ERROR_PROTOCOL, "epoch: out of range");
    if (segment->name.sequence == 0 || segment->name.sequence > NUMBER_MAX)
        return error_set(err, ERROR_PROTOCOL, "sequence: out of range");
    if (!stored_name_ok(segment->ns))
        return error_set(err, ERROR_PROTOCOL, "namespace: not a name");
    if (!stored_name_ok(segment->cluster))
        return error_set(err, ERROR_PROTOCOL, "cluster: not a name");
    if (!stored_name_ok(segment->cluster_uid))
        return error_set(err, ERROR_PROTOCOL, "clusterUID: not a name");
    return 0;
}

static int check_times(const struct binlog_segment *segment, struct error *err)
{
    struct binlog_segment_name again;
    char text[BINLOG_SEGMENT_NAME_SIZE + sizeof(META_ENDING)];
    bool is_meta = false;

    binlog_segment_name_print(&segment->name, text);
    memcpy(text + NAME_LEN, META_ENDING, sizeof(META_ENDING));
    if (!binlog_segment_name_parse(text, &again, &is_meta) || again.archived_ms != segment->name.archived_ms)
        return error_set(err, ERROR_PROTOCOL, "archivedMs: no whole second that a name can say");
    if (segment->first_ms % 1000 != 0)
        return error_set(err, ERROR_PROTOCOL, "firstMs: no whole second");
    if (segment->last_ms % 1000 != 0)
        return error_set(err, ERROR_PROTOCOL, "lastMs: no whole second");
    return 0;
}

static int check_sizes(const struct binlog_segment *segment, struct error *err)
{
    if (segment->count == 0)
        return error_set(err, ERROR_PROTOCOL, "transactions: there are none");
    if (segment->raw_bytes == 0)
        return error_set(err, ERROR_PROTOCOL, "rawBytes: there are none");
    if (segment->stored_bytes == 0)
        return error_set(err, ERROR_PROTOCOL, "storedBytes: there are none");
    bool plain = segment->compression == BACKUP_COMPRESSION_NONE && !segment->sealed;
    if (plain && segment->raw_bytes != segment->stored_bytes)
        return error_set(err, ERROR_PROTOCOL, "rawBytes: it is not storedBytes, though nothing is packed");
    if (!stored_hex_ok(segment->sha256, 64))
        return error_set(err, ERROR_PROTOCOL, "sha256: no 64 digits in hex");
    return 0;
}

/* The first of an epoch follows nothing, every other one follows one. */
static int check_previous(const struct binlog_segment *segment, struct error *err)
{
    bool first = segment->name.sequence == 1;

    if (first != (*segment->previous == '\0'))
        return error_set(err, ERROR_PROTOCOL, "previous: %s", first ? "an epoch's first has none" : "is missing");
    if (!first && !stored_hex_ok(segment->previous, 64))
        return error_set(err, ERROR_PROTOCOL, "previous: no 64 digits in hex");
    return 0;
}

static struct gtid_set *parse_position(enum gtid_flavour flavour, const char *key, const char *text, struct error *err)
{
    struct error why = ERROR_INIT;
    struct gtid_set *set = gtid_set_parse(flavour, text, &why);

    if (!set)
        error_set(err, ERROR_PROTOCOL, "%s: %s", key, why.message);
    return set;
}

static int check_positions(const struct binlog_segment *segment, struct error *err)
{
    enum gtid_flavour flavour = str_eq(segment->flavour, "mariadb") ? GTID_MARIADB : GTID_MYSQL;

    if (flavour == GTID_MYSQL && !str_eq(segment->flavour, "mysql") && !str_eq(segment->flavour, "percona"))
        return error_set(err, ERROR_PROTOCOL, "flavour: not known");
    _cleanup_(gtid_set_freep) struct gtid_set *after = parse_position(flavour, "after", segment->after, err);
    if (!after)
        return -1;
    _cleanup_(gtid_set_freep) struct gtid_set *until = parse_position(flavour, "until", segment->until, err);
    if (!until)
        return -1;
    if (gtid_set_compare(until, after) != GTID_SUPERSET)
        return error_set(err, ERROR_PROTOCOL, "until: not more than `after`");
    return 0;
}

static int decode_seal(const json_t *document, struct binlog_segment *segment, struct error *err)
{
    struct stored_seal seal;

    if (stored_document_decode_seal(document, segment->key_id, &seal, err) < 0)
        return -1;
    segment->sealed = seal.sealed;
    memcpy(segment->salt, seal.salt, sizeof(seal.salt));
    return 0;
}

static int decode(json_t *document, const unsigned char *user_key, struct binlog_segment *segment, struct error *err)
{
    unsigned compression = 0;

    if (stored_document_decode(&segment_kind, document, segment, err) < 0 ||
        stored_name_decode(
            document, "compression", backup_compression_names, BACKUP_COMPRESSION_COUNT, &compression, err) < 0)
        return -1;
    segment->compression = (enum backup_compression)compression;
    if (decode_seal(document, segment, err) < 0 || check_names(segment, err) < 0 || check_times(segment, err) < 0 ||
        check_sizes(segment, err) < 0 || check_previous(segment, err) < 0 || check_positions(segment, err) < 0)
        return -1;
    struct stored_seal seal = seal_of(segment);
    return user_key ? stored_document_check_mac(&segment_kind, document, &seal, user_key, err) : 0;
}

int binlog_segment_decode(const char *text, size_t len, const unsigned char user_key[BACKUP_KEY_BYTES],
    struct position_pool *positions, struct binlog_segment *ret, struct error *err)
{
    struct binlog_segment segment = {0};

    if (len > BINLOG_SEGMENT_META_MAX)
        return error_set(err, ERROR_PROTOCOL, "the segment: %zu bytes are too many", len);
    _cleanup_(json_decrefp) json_t *document = json_parse(text, len, err);
    if (!document || decode(document, user_key, &segment, err) < 0)
        return error_prefix(err, "the segment");
    json_fields_take(fields, ARRAY_LEN(fields), positions, &segment);
    *ret = segment;
    return 0;
}
