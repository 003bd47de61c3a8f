/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a stored backup into the reader of archives: what it hands on must be safe to make, as much as was
 * announced, and the same in whatever pieces it comes; what it takes the writer can write again.
 */
#include "common/base.h"

#include "agent/backup/tar_stream.h"

#define CONTENT_MAX ((uint64_t)(64 * KM_KIB))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct seen {
    uint64_t announced, bytes, left;
    unsigned entries;
    uint64_t digest;
};

static void note(struct seen *seen, const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        seen->digest = seen->digest * 31 + (unsigned char)data[i];
}

static int on_entry(void *arg, const struct tar_entry *entry, struct error *err)
{
    struct seen *seen = arg;
    struct strbuf out;

    if (!tar_path_is_valid(entry->path) || *entry->path == '/' || strstr(entry->path, "//") || seen->left > 0 ||
        (entry->is_folder && entry->size > 0))
        abort();
    strbuf_init(&out, TAR_HEAD_MAX);
    if (tar_write_entry(entry, &out, err) < 0 || out.overflowed)
        abort();
    strbuf_release(&out);
    seen->entries++;
    seen->left = entry->size;
    seen->announced += entry->size;
    note(seen, entry->path, strlen(entry->path));
    return 0;
}

static int on_data(void *arg, const char *data, size_t len, struct error *err)
{
    struct seen *seen = arg;

    UNUSED(err);
    if (len == 0 || len > seen->left)
        abort();
    seen->left -= len;
    seen->bytes += len;
    note(seen, data, len);
    return 0;
}

static int on_file_end(void *arg, struct error *err)
{
    const struct seen *seen = arg;

    UNUSED(err);
    if (seen->left > 0)
        abort();
    return 0;
}

static int read_all(const char *data, size_t size, size_t step, struct seen *seen)
{
    static const struct tar_reader_ops ops = {.entry = on_entry, .data = on_data, .file_end = on_file_end};
    struct error err = ERROR_INIT;
    struct tar_reader reader;
    int rc = 0;

    tar_reader_init(&reader, &ops, CONTENT_MAX, seen);
    for (size_t at = 0; at < size && rc == 0; at += step)
        rc = tar_reader_feed(&reader, data + at, MIN_OF(step, size - at), &err);
    if (rc == 0)
        rc = tar_reader_finish(&reader, &err);
    tar_reader_release(&reader);
    if ((rc < 0) != (err.kind != ERROR_NONE) || seen->announced >= CONTENT_MAX)
        abort();
    if (rc == 0 && (seen->bytes != seen->announced || size < (size_t)2 * TAR_BLOCK))
        abort();
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen one = {0};
    struct seen other = {0};

    if (size < 1)
        return 0;
    int whole = read_all((const char *)data + 1, size - 1, size, &one);
    int cut = read_all((const char *)data + 1, size - 1, (size_t)data[0] * 3 + 1, &other);
    if (whole != cut || one.entries != other.entries || (whole == 0 && one.digest != other.digest))
        abort();
    return 0;
}
