/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/archive_word.h"

#include "common/json.h"
#include "common/json_fields.h"

#define MEMORY(key, type, member) JSON_FIELD(archive_memory, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field memory_fields[] = {
    MEMORY("known", BOOL, known),
    MEMORY("epoch", U64, newest.epoch),
    MEMORY("sequence", U64, newest.sequence),
    MEMORY("archivedMs", I64, newest.archived_ms),
    MEMORY("digest", TEXT, digest),
    MEMORY("chainEpoch", U64, chain.epoch),
    MEMORY("chainSequence", U64, chain.sequence),
    MEMORY("chainArchivedMs", I64, chain.archived_ms),
    MEMORY("fromGtid", TEXT, from_gtid),
    MEMORY("fromMs", I64, from_ms),
    MEMORY("gapMs", I64, gap_ms),
    MEMORY("until", POSITION, until),
    MEMORY("newestMs", I64, newest_ms),
    MEMORY("file", TEXT, file),
    MEMORY("offset", U64, offset),
    MEMORY("head", U64, head),
};

#define ORDER(key, type, member) JSON_FIELD(archive_order, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field order_fields[] = {
    ORDER("epoch", U64, epoch),
    ORDER("writer", TEXT, writer),
    ORDER("flavour", TEXT, flavour),
    ORDER("serverVersion", TEXT, server_version),
    ORDER("executed", POSITION, executed),
    ORDER("namedAfterMs", I64, named_after_ms),
};

#define WORD(key, type, member) JSON_FIELD(archive_word, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field word_fields[] = {
    WORD("beganMs", I64, began_ms),
    WORD("segments", U64, segments),
    WORD("storedBytes", U64, stored_bytes),
    WORD("ended", BOOL, ended),
    WORD("full", BOOL, full),
    WORD("errorReason", TEXT, error_reason),
    WORD("message", TEXT, message),
};

static void encode(const struct json_field *fields, size_t count, const void *record,
    const struct archive_memory *memory, struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();
    json_t *object = json_object();

    json_fields_encode(fields, count, record, document);
    json_fields_encode(memory_fields, ARRAY_LEN(memory_fields), memory, object);
    json_put(document, "memory", object);
    json_canonical(document, out);
    strbuf_addc(out, '\n');
}

static int decode(const char *text, size_t len, const struct json_field *fields, size_t count, void *record,
    struct archive_memory *memory, struct error *err)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(text, len, err);

    if (!document)
        return -1;
    const json_t *object = json_object_get(document, "memory");
    if (!json_is_object(document) || !json_is_object(object))
        return error_set(err, ERROR_PROTOCOL, "it is no JSON object with a memory");
    if (json_fields_decode(fields, count, document, record, err) < 0 ||
        json_fields_decode(memory_fields, ARRAY_LEN(memory_fields), object, memory, err) < 0)
        return -1;
    memory->positions = position_pool_new(2 * POSITION_TEXT_MAX);
    json_fields_take(fields, count, memory->positions, record);
    json_fields_take(memory_fields, ARRAY_LEN(memory_fields), memory->positions, memory);
    return 0;
}

void archive_memory_release(struct archive_memory *memory)
{
    position_pool_unref(memory->positions);
    *memory = (struct archive_memory){0};
}

void archive_memory_keep(struct archive_memory *to, const struct archive_memory *from)
{
    struct position_pool *old = to->positions;

    *to = *from;
    position_pool_ref(to->positions);
    position_pool_unref(old);
}

void archive_memory_set_until(struct archive_memory *memory, const char *until)
{
    struct position_pool *old = memory->positions;

    memory->positions = position_pool_new(POSITION_TEXT_MAX);
    memory->until = position_take(memory->positions, until);
    position_pool_unref(old);
}

void archive_order_encode(const struct archive_order *order, struct strbuf *out)
{
    encode(order_fields, ARRAY_LEN(order_fields), order, &order->memory, out);
}

int archive_order_decode(const char *text, size_t len, struct archive_order *ret, struct error *err)
{
    struct archive_order order = {0};

    if (decode(text, len, order_fields, ARRAY_LEN(order_fields), &order, &order.memory, err) < 0)
        return error_prefix(err, "the order of a round");
    *ret = order;
    return 0;
}

void archive_word_encode(const struct archive_word *word, struct strbuf *out)
{
    encode(word_fields, ARRAY_LEN(word_fields), word, &word->memory, out);
}

int archive_word_decode(const char *text, size_t len, struct archive_word *ret, struct error *err)
{
    struct archive_word word = {0};

    if (decode(text, len, word_fields, ARRAY_LEN(word_fields), &word, &word.memory, err) < 0)
        return error_prefix(err, "a word of the archive");
    *ret = word;
    return 0;
}
