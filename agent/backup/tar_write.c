/* SPDX-License-Identifier: Apache-2.0 */
/* tar_write.c: the writing side of tar_stream.h. */
#include "common/base.h"

#include "agent/backup/tar_header.h"
#include "agent/backup/tar_stream.h"

#define RECORDS_NAME "pax" /* of the extended header itself: nobody sees it */

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c != 0x7f && c != '\\';
}

/* One component; its length, or 0. */
static size_t take_component(const char *at)
{
    size_t len = 0;

    while (at[len] && at[len] != '/' && is_plain((unsigned char)at[len]))
        len++;
    if ((at[len] && at[len] != '/') || len > NAME_MAX)
        return 0;
    bool is_dots = (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.');
    return is_dots ? 0 : len;
}

bool tar_path_is_valid(const char *path)
{
    const char *at = path;

    if (strnlen(path, TAR_PATH_SIZE) == TAR_PATH_SIZE)
        return false;
    for (int depth = 0; depth < TAR_DEPTH_MAX; depth++) {
        size_t len = take_component(at);
        if (len == 0)
            return false;
        at += len;
        if (!*at)
            return true;
        at++;
    }
    return false;
}

size_t tar_filling(uint64_t size)
{
    return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

/* digits octal ones and a NUL; value fits. */
static void put_octal(char *field, size_t size, uint64_t value)
{
    field[size - 1] = '\0';
    for (size_t i = size - 1; i-- > 0; value /= 8)
        field[i] = (char)('0' + value % 8);
}

static void write_header(char type, const char *name, bool slash, uint64_t size, struct strbuf *out)
{
    struct tar_header header;
    unsigned sum = 0;

    memset(&header, 0, sizeof(header));
    size_t len = MIN_OF(strlen(name), sizeof(header.name) - (slash ? 1 : 0)); /* what is longer stands in the records */
    memcpy(header.name, name, len);
    if (slash)
        header.name[len] = '/';
    put_octal(header.mode, sizeof(header.mode), type == TAR_FOLDER ? 0700 : 0600);
    put_octal(header.uid, sizeof(header.uid), 0);
    put_octal(header.gid, sizeof(header.gid), 0);
    put_octal(header.size, sizeof(header.size), size <= TAR_SIZE_MAX ? size : 0);
    put_octal(header.mtime, sizeof(header.mtime), 0);
    header.type = type;
    memcpy(header.magic, TAR_MAGIC, sizeof(header.magic));
    memcpy(header.version, TAR_VERSION, sizeof(header.version));
    memset(header.checksum, ' ', sizeof(header.checksum));
    for (size_t i = 0; i < sizeof(header); i++)
        sum += ((const unsigned char *)&header)[i];
    put_octal(header.checksum, sizeof(header.checksum) - 1, sum); /* six digits, NUL, space */
    strbuf_add(out, &header, sizeof(header));
}

static void fill_up(struct strbuf *out, uint64_t size)
{
    static const char zeros[TAR_BLOCK];

    strbuf_add(out, zeros, tar_filling(size));
}

/* "LENGTH KEY=VALUE\n", where LENGTH counts itself. */
static void add_record(struct strbuf *records, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3;
    size_t total = rest + 1;
    char digits[24];

    for (;;) {
        snprintf(digits, sizeof(digits), "%zu", total);
        if (rest + strlen(digits) == total)
            break;
        total = rest + strlen(digits);
    }
    strbuf_addf(records, "%s %s=%s\n", digits, key, value);
}

int tar_write_entry(const struct tar_entry *entry, struct strbuf *out, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf records;
    uint64_t size = entry->is_folder ? 0 : entry->size;
    char text[24];

    strbuf_init(&records, TAR_RECORDS_MAX);
    if (!tar_path_is_valid(entry->path))
        return error_set(err, ERROR_INVALID, "\"%.100s\" is no name for an archive", entry->path);
    if (strlen(entry->path) + (entry->is_folder ? 1 : 0) > sizeof(((struct tar_header *)0)->name))
        add_record(&records, "path", entry->path);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
    if (size > TAR_SIZE_MAX)
        add_record(&records, "size", text);
    if (records.len > 0) {
        write_header(TAR_RECORDS, RECORDS_NAME, false, records.len, out);
        strbuf_add(out, records.buf, records.len);
        fill_up(out, records.len);
    }
    write_header(entry->is_folder ? TAR_FOLDER : TAR_FILE, entry->path, entry->is_folder, size, out);
    return 0;
}

void tar_write_end(struct strbuf *out)
{
    static const char zeros[2 * TAR_BLOCK];

    strbuf_add(out, zeros, sizeof(zeros));
}
