/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/frame_stream.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/json_fields.h"

const char *const stream_method_names[STREAM_METHOD_COUNT] = {
    [STREAM_METHOD_UNKNOWN] = "",
    [STREAM_METHOD_XBSTREAM] = "xbstream",
    [STREAM_METHOD_BINLOG] = "binlog",
    [STREAM_METHOD_SQL] = "sql",
    [STREAM_METHOD_TAR] = "tar",
};
static const char *const status_names[] = {"failed", "ok"};

static const struct json_field header_fields[] = {
    JSON_FIELD_ENUM(stream_header, "method", CHANGE_COUNTS, method, stream_method_names),
    JSON_FIELD(stream_header, "flavour", JSON_FIELD_TEXT, CHANGE_COUNTS, flavour),
    JSON_FIELD(stream_header, "serverVersion", JSON_FIELD_TEXT, CHANGE_COUNTS, server_version),
    JSON_FIELD(stream_header, "estimateBytes", JSON_FIELD_U64, CHANGE_COUNTS, estimate_bytes),
    JSON_FIELD(stream_header, "redoBytes", JSON_FIELD_U64, CHANGE_COUNTS, redo_bytes),
};
static const struct json_field trailer_fields[] = {
    JSON_FIELD(stream_trailer, "bytes", JSON_FIELD_U64, CHANGE_COUNTS, bytes),
    JSON_FIELD(stream_trailer, "gtid", JSON_FIELD_POSITION, CHANGE_COUNTS, gtid),
    JSON_FIELD(stream_trailer, "serverVersion", JSON_FIELD_TEXT, CHANGE_COUNTS, server_version),
    JSON_FIELD(stream_trailer, "error", JSON_FIELD_TEXT, CHANGE_COUNTS, error),
};

/* ---- the giving side ---- */

static void put_head(char type, size_t len, char head[static FRAME_HEAD_BYTES])
{
    head[0] = type;
    for (int i = 0; i < 4; i++)
        head[1 + i] = (char)(len >> (24 - 8 * i) & 0xff);
}

static void put_text(char type, const json_t *document, struct strbuf *out)
{
    _cleanup_(freep) char *text = json_text(document);
    char head[FRAME_HEAD_BYTES];

    put_head(type, strlen(text), head);
    strbuf_add(out, head, sizeof(head));
    strbuf_adds(out, text);
}

void frame_writer_init(struct frame_writer *writer)
{
    *writer = (struct frame_writer){0};
    stream_digest_init(&writer->digest);
}

void frame_writer_release(struct frame_writer *writer)
{
    stream_digest_release(&writer->digest);
}

static void begin_poly1305(struct frame_writer *writer, json_t *document)
{
    char key[STREAM_DIGEST_KEY_HEX_SIZE];

    stream_digest_make_key(key);
    if (stream_digest_use_poly1305(&writer->digest, key) < 0)
        return;
    json_put_str(document, "digest", stream_digest_names[STREAM_DIGEST_POLY1305]);
    json_put_str(document, "digestKey", key);
}

void frame_writer_begin(struct frame_writer *writer, const struct stream_header *header, struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();

    json_fields_encode(header_fields, ARRAY_LEN(header_fields), header, document);
    if (header->digest == STREAM_DIGEST_POLY1305)
        begin_poly1305(writer, document);
    strbuf_adds(out, FRAME_MAGIC);
    put_text('H', document, out);
}

void frame_writer_data(struct frame_writer *writer, const void *data, size_t len, char head[static FRAME_HEAD_BYTES])
{
    stream_digest_add(&writer->digest, data, len);
    writer->bytes += len;
    put_head('D', len, head);
}

void frame_writer_end(struct frame_writer *writer, struct stream_trailer *trailer, struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();

    trailer->bytes = writer->bytes;
    stream_digest_hex(&writer->digest, trailer->digest);
    json_put_str(document, "status", status_names[trailer->ok]);
    json_fields_encode(trailer_fields, ARRAY_LEN(trailer_fields), trailer, document);
    json_put_str(document, stream_digest_names[writer->digest.kind], trailer->digest);
    put_text('T', document, out);
}

/* ---- the taking side ---- */

enum { READ_MAGIC, READ_HEAD, READ_TEXT, READ_DATA, READ_END };

void frame_reader_init(struct frame_reader *reader, const struct frame_reader_ops *ops, void *arg)
{
    *reader = (struct frame_reader){.ops = *ops, .arg = arg, .state = READ_MAGIC, .left = sizeof(FRAME_MAGIC) - 1};
    stream_digest_init(&reader->digest);
    strbuf_init(&reader->text, FRAME_TEXT_MAX);
}

void frame_reader_release(struct frame_reader *reader)
{
    stream_digest_release(&reader->digest);
    strbuf_release(&reader->text);
    position_pool_unref(reader->positions);
    reader->positions = NULL;
}

static void expect_head(struct frame_reader *reader)
{
    reader->state = READ_HEAD;
    reader->left = FRAME_HEAD_BYTES;
    strbuf_reset(&reader->text);
}

static int read_magic(struct frame_reader *reader, struct error *err)
{
    if (memcmp(reader->text.buf, FRAME_MAGIC, sizeof(FRAME_MAGIC) - 1) != 0)
        return error_set(err, ERROR_PROTOCOL, "this is no stream of a backup");
    expect_head(reader);
    return 0;
}

/* The header comes first and once, the trailer last and once. */
static bool in_order(const struct frame_reader *reader, char type)
{
    return reader->type == '\0' ? type == 'H' : type == 'D' || type == 'T';
}

static int read_head(struct frame_reader *reader, struct error *err)
{
    const unsigned char *head = (const unsigned char *)reader->text.buf;
    size_t len = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 | head[4];
    char type = (char)head[0];

    if (!in_order(reader, type))
        return error_set(err, ERROR_PROTOCOL, "the stream has a frame of type 0x%02x where none belongs", head[0]);
    if ((len == 0 && type != 'D') || len > (size_t)(type == 'D' ? FRAME_DATA_MAX : FRAME_TEXT_MAX))
        return error_set(err, ERROR_PROTOCOL, "the stream has a frame of %zu bytes", len);
    reader->type = type;
    if (len == 0) {
        expect_head(reader);
        return 0;
    }
    reader->state = type == 'D' ? READ_DATA : READ_TEXT;
    reader->left = len;
    strbuf_reset(&reader->text);
    return 0;
}

static int choose_digest(struct frame_reader *reader, const json_t *document, struct error *err)
{
    const char *name = json_path_str(document, "digest", stream_digest_names[STREAM_DIGEST_SHA256]);
    const char *key = json_path_str(document, "digestKey", "");

    if (str_eq(name, stream_digest_names[STREAM_DIGEST_SHA256]))
        return 0;
    if (str_eq(name, stream_digest_names[STREAM_DIGEST_POLY1305]) &&
        stream_digest_use_poly1305(&reader->digest, key) == 0)
        return 0;
    return error_set(err, ERROR_PROTOCOL, "the stream's header: no digest and key that this agent can check");
}

static int read_header(struct frame_reader *reader, const json_t *document, struct error *err)
{
    struct stream_header header = {0};

    if (json_fields_decode(header_fields, ARRAY_LEN(header_fields), document, &header, err) < 0)
        return error_prefix(err, "the stream's header");
    if (choose_digest(reader, document, err) < 0)
        return -1;
    header.digest = reader->digest.kind;
    expect_head(reader);
    return reader->ops.header(reader->arg, &header, err);
}

static int read_trailer(struct frame_reader *reader, const json_t *document, struct error *err)
{
    struct stream_trailer trailer = {0};

    if (json_fields_decode(trailer_fields, ARRAY_LEN(trailer_fields), document, &trailer, err) < 0)
        return error_prefix(err, "the stream's trailer");
    snprintf(trailer.digest, sizeof(trailer.digest), "%s",
        json_path_str(document, stream_digest_names[reader->digest.kind], ""));
    reader->positions = position_pool_new(POSITION_TEXT_MAX);
    json_fields_take(trailer_fields, ARRAY_LEN(trailer_fields), reader->positions, &trailer);
    trailer.ok = str_eq(json_path_str(document, "status", ""), status_names[1]);
    reader->trailer = trailer;
    reader->state = READ_END;
    return 0;
}

static int read_text(struct frame_reader *reader, struct error *err)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(reader->text.buf, reader->text.len, err);

    if (!document)
        return error_prefix(err, "the stream's own words");
    if (!json_is_object(document))
        return error_set(err, ERROR_PROTOCOL, "the stream's own words are no JSON object");
    return reader->type == 'H' ? read_header(reader, document, err) : read_trailer(reader, document, err);
}

static int text_complete(struct frame_reader *reader, struct error *err)
{
    switch (reader->state) {
    case READ_MAGIC:
        return read_magic(reader, err);
    case READ_HEAD:
        return read_head(reader, err);
    default:
        return read_text(reader, err);
    }
}

static int take_data(struct frame_reader *reader, const char *data, size_t len, struct error *err)
{
    stream_digest_add(&reader->digest, data, len);
    reader->bytes += len;
    reader->left -= len;
    if (reader->left == 0)
        expect_head(reader);
    return reader->ops.data(reader->arg, data, len, err);
}

static int take_text(struct frame_reader *reader, const char *data, size_t len, struct error *err)
{
    strbuf_add(&reader->text, data, len);
    reader->left -= len;
    return reader->left > 0 ? 0 : text_complete(reader, err);
}

int frame_reader_feed(struct frame_reader *reader, const char *data, size_t len, struct error *err)
{
    while (len > 0) {
        if (reader->state == READ_END)
            return error_set(err, ERROR_PROTOCOL, "the stream goes on after its trailer");
        size_t piece = MIN_OF(len, reader->left);
        int rc = reader->state == READ_DATA ? take_data(reader, data, piece, err) : take_text(reader, data, piece, err);
        if (rc < 0)
            return -1;
        data += piece;
        len -= piece;
    }
    return 0;
}

int frame_reader_finish(struct frame_reader *reader, struct stream_trailer *ret, struct error *err)
{
    const struct stream_trailer *trailer = &reader->trailer;
    char digest[STREAM_DIGEST_HEX_SIZE];

    if (reader->state != READ_END)
        return error_set(err, ERROR_PROTOCOL, "the stream broke off after %llu bytes of data, without a trailer",
            (unsigned long long)reader->bytes);
    if (!trailer->ok)
        return error_set(err, ERROR_UNAVAILABLE, "the donor could not complete the copy: %s",
            *trailer->error ? trailer->error : "it does not say why");
    if (trailer->bytes != reader->bytes)
        return error_set(err, ERROR_PROTOCOL, "%llu bytes of data arrived, the donor sent %llu",
            (unsigned long long)reader->bytes, (unsigned long long)trailer->bytes);
    stream_digest_hex(&reader->digest, digest);
    if (!str_eq(digest, trailer->digest))
        return error_set(err, ERROR_PROTOCOL, "the data is damaged: its digest (%s) is not what the donor sent",
            stream_digest_names[reader->digest.kind]);
    *ret = *trailer;
    return 0;
}
