/* SPDX-License-Identifier: Apache-2.0 */
/* tar_read.c: the reading side of tar_stream.h. */
#include "common/base.h"

#include "agent/backup/tar_header.h"
#include "agent/backup/tar_stream.h"

enum state {
    AT_HEADER,
    AT_RECORDS, /* of an extended header; an entry follows */
    AT_CONTENT,
    AT_FILLING,
    AT_END, /* both blocks were there */
};

static int damaged(struct error *err, const char *what)
{
    return error_set(err, ERROR_PROTOCOL, "the archive is damaged: %s", what);
}

/* ---- fields ---- */

/* Octal digits, then a NUL or a space, then only such. */
static bool read_octal(const char *field, size_t size, uint64_t *ret)
{
    uint64_t value = 0;
    size_t i = 0;

    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        value = value * 8 + (uint64_t)(field[i] - '0');
    if (i == 0 || i == size)
        return false;
    for (; i < size; i++) {
        if (field[i] != '\0' && field[i] != ' ')
            return false;
    }
    *ret = value;
    return true;
}

static bool is_zero(const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (data[i])
            return false;
    }
    return true;
}

static bool checksum_is_right(const struct tar_header *header)
{
    const unsigned char *bytes = (const unsigned char *)header;
    size_t from = offsetof(struct tar_header, checksum);
    uint64_t said = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(*header); i++)
        sum += i >= from && i < from + sizeof(header->checksum) ? ' ' : bytes[i];
    return read_octal(header->checksum, sizeof(header->checksum), &said) && said == sum;
}

/* ---- extended headers ---- */

static bool read_number(const char *text, uint64_t *ret)
{
    uint64_t value = 0;

    if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
        return false;
    for (; *text; text++)
        value = value * 10 + (uint64_t)(*text - '0');
    *ret = value;
    return true;
}

static int take_record(struct tar_reader *reader, const char *key, const char *value, struct error *err)
{
    if (str_eq(key, "path") && !reader->has_path && strlen(value) < sizeof(reader->entry.path)) {
        memcpy(reader->entry.path, value, strlen(value) + 1);
        reader->has_path = true;
        return 0;
    }
    if (str_eq(key, "size") && !reader->has_size && read_number(value, &reader->entry.size)) {
        reader->has_size = true;
        return 0;
    }
    return damaged(err, "a record that does not belong there");
}

/* "LENGTH KEY=VALUE\n" each. Changes the text. */
static int take_records(struct tar_reader *reader, char *text, size_t len, struct error *err)
{
    while (len > 0) {
        size_t digits = strspn(text, "0123456789");
        size_t total = digits > 0 && digits < 8 ? (size_t)strtoul(text, NULL, 10) : 0;
        if (total < digits + 4 || total > len || text[digits] != ' ' || text[total - 1] != '\n')
            return damaged(err, "a record's length");
        text[total - 1] = '\0';
        char *key = text + digits + 1;
        char *equals = strchr(key, '=');
        if (!equals || strlen(key) != total - digits - 2)
            return damaged(err, "a record");
        *equals = '\0';
        if (take_record(reader, key, equals + 1, err) < 0)
            return -1;
        text += total;
        len -= total;
    }
    return 0;
}

/* ---- headers ---- */

static int take_name(struct tar_reader *reader, const struct tar_header *header, struct error *err)
{
    struct tar_entry *entry = &reader->entry;
    char name[sizeof(header->name) + 1] = {0};

    memcpy(name, header->name, sizeof(header->name));
    size_t len = strlen(name);
    if (!is_zero(name + len, sizeof(name) - len) || *header->prefix)
        return damaged(err, "a name");
    if (entry->is_folder != (len > 0 && name[len - 1] == '/'))
        return damaged(err, "a name of another kind");
    if (entry->is_folder)
        name[len - 1] = '\0';
    if (!reader->has_path)
        snprintf(entry->path, sizeof(entry->path), "%s", name);
    if (!tar_path_is_valid(entry->path))
        return damaged(err, "a name that would lead elsewhere");
    return 0;
}

static int take_entry(struct tar_reader *reader, const struct tar_header *header, uint64_t size, struct error *err)
{
    struct tar_entry *entry = &reader->entry;

    entry->is_folder = header->type == TAR_FOLDER;
    if (!reader->has_size)
        entry->size = size;
    if (take_name(reader, header, err) < 0)
        return -1;
    if (entry->is_folder && entry->size > 0)
        return damaged(err, "a folder with content");
    if (reader->max_bytes && entry->size >= reader->max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "the archive holds more than it should: %.100s has %llu bytes",
            entry->path, (unsigned long long)entry->size);
    reader->max_bytes -= reader->max_bytes ? entry->size : 0;
    reader->has_path = reader->has_size = false;
    reader->left = entry->size;
    reader->filling = tar_filling(entry->size);
    reader->state = reader->left > 0 ? AT_CONTENT : AT_HEADER;
    if (reader->ops.entry(reader->arg, entry, err) < 0)
        return -1;
    return entry->is_folder || reader->left > 0 ? 0 : reader->ops.file_end(reader->arg, err);
}

static int take_header(struct tar_reader *reader, const struct tar_header *header, struct error *err)
{
    uint64_t size = 0;
    bool has_records = reader->has_path || reader->has_size;

    if (is_zero((const char *)header, sizeof(*header))) {
        if (has_records)
            return damaged(err, "it ends where an entry should follow");
        reader->state = ++reader->zeros == 2 ? AT_END : AT_HEADER;
        return 0;
    }
    if (reader->zeros > 0 || memcmp(header->magic, TAR_MAGIC, sizeof(header->magic)) != 0 ||
        memcmp(header->version, TAR_VERSION, sizeof(header->version)) != 0 || !checksum_is_right(header) ||
        !read_octal(header->size, sizeof(header->size), &size))
        return damaged(err, "a header");
    if (header->type == TAR_FILE || header->type == TAR_FOLDER)
        return take_entry(reader, header, size, err);
    if (header->type != TAR_RECORDS || has_records || size == 0 || size > TAR_RECORDS_MAX)
        return damaged(err, "something that is neither a file nor a folder");
    reader->entry = (struct tar_entry){.size = 0};
    reader->text_bytes = (size_t)size;
    reader->state = AT_RECORDS;
    return 0;
}

/* ---- bytes ---- */

/* Gathers `wanted` bytes in reader->text; 1: they are there. */
static int gather(struct tar_reader *reader, size_t wanted, const char **data, size_t *len)
{
    size_t n = MIN_OF(wanted - reader->text.len, *len);

    strbuf_add(&reader->text, *data, n);
    *data += n;
    *len -= n;
    return reader->text.len == wanted;
}

static int feed_header(struct tar_reader *reader, const char **data, size_t *len, struct error *err)
{
    struct tar_header header;

    if (!gather(reader, TAR_BLOCK, data, len))
        return 0;
    memcpy(&header, reader->text.buf, sizeof(header));
    strbuf_reset(&reader->text);
    return take_header(reader, &header, err);
}

static int feed_records(struct tar_reader *reader, const char **data, size_t *len, struct error *err)
{
    size_t filling = tar_filling(reader->text_bytes);

    if (!gather(reader, reader->text_bytes + filling, data, len))
        return 0;
    if (!is_zero(reader->text.buf + reader->text_bytes, filling))
        return damaged(err, "the filling of a record");
    int rc = take_records(reader, reader->text.buf, reader->text_bytes, err);
    strbuf_reset(&reader->text);
    reader->state = AT_HEADER;
    return rc;
}

static int feed_content(struct tar_reader *reader, const char **data, size_t *len, struct error *err)
{
    size_t n = (size_t)MIN_OF(reader->left, (uint64_t)*len);

    if (reader->ops.data(reader->arg, *data, n, err) < 0)
        return -1;
    *data += n;
    *len -= n;
    reader->left -= n;
    if (reader->left > 0)
        return 0;
    reader->state = reader->filling > 0 ? AT_FILLING : AT_HEADER;
    return reader->ops.file_end(reader->arg, err);
}

static int feed_filling(struct tar_reader *reader, const char **data, size_t *len, struct error *err)
{
    size_t n = MIN_OF(reader->filling, *len);

    if (!is_zero(*data, n))
        return damaged(err, "the filling of a file");
    *data += n;
    *len -= n;
    reader->filling -= n;
    if (reader->filling == 0)
        reader->state = AT_HEADER;
    return 0;
}

static int feed_end(struct tar_reader *reader, const char **data, size_t *len, struct error *err)
{
    UNUSED(reader);
    UNUSED(data);
    UNUSED(len);
    return damaged(err, "something follows its end");
}

int tar_reader_feed(struct tar_reader *reader, const char *data, size_t len, struct error *err)
{
    static int (*const feeds[])(struct tar_reader *, const char **, size_t *, struct error *) = {
        [AT_HEADER] = feed_header,
        [AT_RECORDS] = feed_records,
        [AT_CONTENT] = feed_content,
        [AT_FILLING] = feed_filling,
        [AT_END] = feed_end,
    };

    while (len > 0) {
        if (feeds[reader->state](reader, &data, &len, err) < 0)
            return -1;
    }
    return 0;
}

int tar_reader_finish(const struct tar_reader *reader, struct error *err)
{
    return reader->state == AT_END ? 0 : damaged(err, "it ends early");
}

void tar_reader_init(struct tar_reader *reader, const struct tar_reader_ops *ops, uint64_t max_bytes, void *arg)
{
    *reader = (struct tar_reader){.ops = *ops, .arg = arg, .max_bytes = max_bytes, .state = AT_HEADER};
    strbuf_init(&reader->text, TAR_RECORDS_MAX + TAR_BLOCK);
}

void tar_reader_release(struct tar_reader *reader)
{
    strbuf_release(&reader->text);
}
