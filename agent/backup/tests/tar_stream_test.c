/* SPDX-License-Identifier: Apache-2.0 */
/* The archive of a copy: what is written byte by byte, what is read of it in pieces of any size, and what no reader
 * takes. */
#include "common/base.h"

#include "agent/backup/tar_stream.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/backup/tar_header.h"
#include "common/alloc.h"
#include "common/tls.h"

#define ARCHIVE_MAX ((size_t)(1 * KM_MIB))

/* ---- writing ---- */

static void add(struct strbuf *out, const char *path, bool is_folder, const char *content)
{
    static const char zeros[TAR_BLOCK];
    struct tar_entry entry = {.is_folder = is_folder, .size = strlen(content)};

    snprintf(entry.path, sizeof(entry.path), "%s", path);
    assert_int_equal(tar_write_entry(&entry, out, NULL), 0);
    strbuf_adds(out, content);
    strbuf_add(out, zeros, tar_filling(entry.size));
}

static char *long_name(size_t len)
{
    char *name = xcalloc(1, len + 1);

    memset(name, 'n', len);
    for (size_t at = 200; at < len; at += 201)
        name[at] = '/';
    return name;
}

static void test_golden(void **state)
{
    struct strbuf out;

    UNUSED(state);
    strbuf_init(&out, ARCHIVE_MAX);
    add(&out, "shop", true, "");
    add(&out, "shop/orders.ibd", false, "rows");
    tar_write_end(&out);
    assert_int_equal(out.len, 5 * TAR_BLOCK);
    assert_string_equal(out.buf, "shop/");
    assert_memory_equal(out.buf + 100,
        "0000700\0"
        "0000000\0"
        "0000000\0"
        "00000000000\0"
        "00000000000\0",
        48);
    assert_memory_equal(out.buf + 148, "006704\0 5", 9);
    assert_memory_equal(out.buf + 257,
        "ustar\0"
        "00",
        8);
    const char *file = out.buf + TAR_BLOCK;
    assert_string_equal(file, "shop/orders.ibd");
    assert_memory_equal(file + 100,
        "0000600\0"
        "0000000\0"
        "0000000\0"
        "00000000004\0"
        "00000000000\0",
        48);
    assert_int_equal(file[156], '0');
    assert_string_equal(file + TAR_BLOCK, "rows");
    strbuf_release(&out);
}

/* What has no room in ustar's fields: a record of its own, whose length counts itself. */
static void test_records(void **state)
{
    static const size_t lengths[] = {99, 100, 101, 250, 985, 986, 1000};
    struct strbuf out;

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        _cleanup_(freep) char *name = long_name(lengths[i]);
        struct tar_entry entry = {.size = 0};
        snprintf(entry.path, sizeof(entry.path), "%s", name);
        strbuf_init(&out, ARCHIVE_MAX);
        assert_int_equal(tar_write_entry(&entry, &out, NULL), 0);
        bool has = lengths[i] > 100;
        assert_int_equal(out.buf[156], has ? 'x' : '0');
        if (has) {
            _cleanup_(freep) char *record = xasprintf(" path=%s\n", name);
            size_t total = strtoul(out.buf + TAR_BLOCK, NULL, 10);
            size_t digits = strspn(out.buf + TAR_BLOCK, "0123456789");
            assert_int_equal(total, digits + strlen(record));
            assert_memory_equal(out.buf + TAR_BLOCK + digits, record, strlen(record));
        }
        strbuf_release(&out);
    }
    strbuf_init(&out, ARCHIVE_MAX);
    struct tar_entry large = {.path = "t.ibd", .size = TAR_SIZE_MAX + 1};
    assert_int_equal(tar_write_entry(&large, &out, NULL), 0);
    assert_string_equal(out.buf + TAR_BLOCK, "19 size=8589934592\n");
    assert_memory_equal(out.buf + (size_t)2 * TAR_BLOCK + 124, "00000000000", 12);
    assert_memory_equal(out.buf + (size_t)2 * TAR_BLOCK, "t.ibd", 6);
    strbuf_release(&out);
}

static void test_paths(void **state)
{
    static const struct {
        const char *path;
        bool valid;
    } rows[] = {
        {"a", true},
        {"a/b", true},
        {"#innodb_redo/#ib_redo0", true},
        {"d/t@002d1#p#p0.ibd", true},
        {"a/.hidden", true},
        {"a..b/c..", true},
        {"1/2/3/4/5/6/7/8", true},
        {"1/2/3/4/5/6/7/8/9", false},
        {"", false},
        {"/", false},
        {"/etc/passwd", false},
        {".", false},
        {"..", false},
        {"a/../b", false},
        {"a/./b", false},
        {"a/..", false},
        {"../a", false},
        {"a//b", false},
        {"a/", false},
        {"a\nb", false},
        {"a\\b", false},
        {"a\x7f", false},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct tar_entry entry = {.size = 0};
        struct strbuf out;
        strbuf_init(&out, ARCHIVE_MAX);
        snprintf(entry.path, sizeof(entry.path), "%s", rows[i].path);
        if (tar_path_is_valid(rows[i].path) != rows[i].valid)
            fail_msg("\"%s\"", rows[i].path);
        assert_int_equal(tar_write_entry(&entry, &out, NULL), rows[i].valid ? 0 : -1);
        strbuf_release(&out);
    }
    char component[NAME_MAX + 2] = {0};
    memset(component, 'c', NAME_MAX);
    assert_true(tar_path_is_valid(component));
    component[NAME_MAX] = 'c';
    assert_false(tar_path_is_valid(component));
}

/* ---- reading ---- */

static int on_entry(void *arg, const struct tar_entry *entry, struct error *err)
{
    struct strbuf *seen = arg;

    UNUSED(err);
    strbuf_addf(seen, "%s%s %zu: ", entry->path, entry->is_folder ? "/" : "", (size_t)entry->size);
    return 0;
}

static int on_data(void *arg, const char *data, size_t len, struct error *err)
{
    UNUSED(err);
    strbuf_add(arg, data, len);
    return 0;
}

static int on_file_end(void *arg, struct error *err)
{
    UNUSED(err);
    strbuf_adds(arg, ";");
    return 0;
}

static int read_all(const char *data, size_t len, size_t step, uint64_t max, struct strbuf *seen, struct error *err)
{
    static const struct tar_reader_ops ops = {.entry = on_entry, .data = on_data, .file_end = on_file_end};
    struct tar_reader reader;
    int rc = 0;

    tar_reader_init(&reader, &ops, max, seen);
    for (size_t at = 0; at < len && rc == 0; at += step)
        rc = tar_reader_feed(&reader, data + at, MIN_OF(step, len - at), err);
    if (rc == 0)
        rc = tar_reader_finish(&reader, err);
    tar_reader_release(&reader);
    return rc;
}

static void test_read_in_pieces(void **state)
{
    static const size_t steps[] = {1, 3, 511, 512, 513, 4096, ARCHIVE_MAX};
    _cleanup_(freep) char *name = long_name(300);
    struct strbuf out, seen;

    UNUSED(state);
    strbuf_init(&out, ARCHIVE_MAX);
    strbuf_init(&seen, ARCHIVE_MAX);
    add(&out, "d", true, "");
    add(&out, "d/empty", false, "");
    add(&out, name, true, "");
    add(&out, "d/t.ibd", false, "some rows");
    tar_write_end(&out);
    _cleanup_(freep) char *expect = xasprintf("d/ 0: d/empty 0: ;%s/ 0: d/t.ibd 9: some rows;", name);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct error err = ERROR_INIT;
        strbuf_reset(&seen);
        if (read_all(out.buf, out.len, steps[i], 0, &seen, &err) < 0)
            fail_msg("step %zu: %s", steps[i], err.message);
        assert_string_equal(seen.buf, expect);
    }
    strbuf_reset(&seen);
    assert_int_equal(read_all(out.buf, out.len, 512, 10, &seen, NULL), 0);
    assert_int_equal(read_all(out.buf, out.len, 512, 9, &seen, NULL), -1);
    strbuf_release(&out);
    strbuf_release(&seen);
}

/* Cut anywhere, it is not whole. */
static void test_truncated(void **state)
{
    struct strbuf out, seen;

    UNUSED(state);
    strbuf_init(&out, ARCHIVE_MAX);
    strbuf_init(&seen, ARCHIVE_MAX);
    add(&out, "t.ibd", false, "some rows");
    tar_write_end(&out);
    for (size_t len = 0; len < out.len; len++) {
        struct error err = ERROR_INIT;
        assert_int_equal(read_all(out.buf, len, 100, 0, &seen, &err), -1);
        assert_int_equal(err.kind, ERROR_PROTOCOL);
    }
    strbuf_release(&out);
    strbuf_release(&seen);
}

static void seal(struct tar_header *header)
{
    unsigned sum = 0;

    memset(header->checksum, ' ', sizeof(header->checksum));
    for (size_t i = 0; i < sizeof(*header); i++)
        sum += ((const unsigned char *)header)[i];
    snprintf(header->checksum, sizeof(header->checksum), "%06o", sum);
    header->checksum[7] = ' ';
}

struct hostile {
    const char *what;
    const char *name;
    char type;
    const char *size; /* the field */
    const char *link;
    const char *content; /* of one block */
    const char *says;
};

static void build(const struct hostile *row, struct strbuf *out)
{
    struct tar_header header;
    char block[TAR_BLOCK] = {0};

    memset(&header, 0, sizeof(header));
    memcpy(header.name, row->name, MIN_OF(strlen(row->name), sizeof(header.name)));
    memcpy(header.mode, "0000600", 8);
    memcpy(header.size, row->size, strlen(row->size));
    memcpy(header.magic, "ustar", 6);
    memcpy(header.version, "00", 2);
    snprintf(header.link, sizeof(header.link), "%s", row->link);
    header.type = row->type;
    seal(&header);
    strbuf_add(out, &header, sizeof(header));
    memcpy(block, row->content, strlen(row->content));
    if (*row->content)
        strbuf_add(out, block, sizeof(block));
    if (row->type == 'x')
        add(out, "t.ibd", false, "rows");
    tar_write_end(out);
}

static void test_hostile(void **state)
{
    static const struct hostile rows[] = {
        {"a good one", "t", '0', "00000000004", "", "rows", ""},
        {"a good folder", "t/", '5', "00000000000", "", "", ""},
        {"absolute", "/etc/passwd", '0', "00000000004", "", "rows", "lead elsewhere"},
        {"upwards", "../t", '0', "00000000004", "", "rows", "lead elsewhere"},
        {"upwards inside", "a/../../t", '0', "00000000004", "", "rows", "lead elsewhere"},
        {"nameless", "", '0', "00000000004", "", "rows", "lead elsewhere"},
        {"a folder above", "../", '5', "00000000000", "", "", "lead elsewhere"},
        {"a link", "t", '2', "00000000000", "/etc/passwd", "", "neither a file nor a folder"},
        {"a hard link", "t", '1', "00000000000", "other", "", "neither a file nor a folder"},
        {"a device", "t", '3', "00000000000", "", "", "neither a file nor a folder"},
        {"a pipe", "t", '6', "00000000000", "", "", "neither a file nor a folder"},
        {"an old file", "t", '\0', "00000000004", "", "rows", "neither a file nor a folder"},
        {"GNU's long name", "t", 'L', "00000000004", "", "rows", "neither a file nor a folder"},
        {"GNU's sparse file", "t", 'S', "00000000004", "", "rows", "neither a file nor a folder"},
        {"a global header", "t", 'g', "00000000013", "", "11 path=abc\n", "neither a file nor a folder"},
        {"a folder as a file", "t/", '0', "00000000004", "", "rows", "another kind"},
        {"a file as a folder", "t", '5', "00000000000", "", "", "another kind"},
        {"a folder with content", "t/", '5', "00000000004", "", "rows", "folder with content"},
        {"a size that is none", "t", '0', "0000000000x", "", "rows", "a header"},
        {"a negative size", "t", '0', "-0000000004", "", "rows", "a header"},
        {"a size in binary", "t", '0', "\x80\0\0\0\0\0\0\0\0\0\0\4", "", "rows", "a header"},
        {"no size", "t", '0', "", "", "rows", "a header"},
        {"less than it says", "t", '0', "00000777777", "", "rows", "ends early"},
        {"more than it should", "t", '0', "77777777777", "", "rows", "more than it should"},
        {"more than it says", "t", '0', "00000000003", "", "rows", "filling"},
        {"a record", "p", 'x', "00000000014", "", "12 path=abc\n", ""},
        {"a record upwards", "p", 'x', "00000000016", "", "14 path=../bc\n", "lead elsewhere"},
        {"an absolute record", "p", 'x', "00000000015", "", "13 path=/abc\n", "lead elsewhere"},
        {"a record with a NUL", "p", 'x', "00000000014", "", "12 path=a\0c\n", "record"},
        {"an unknown record", "p", 'x', "00000000016", "", "14 linkpath=a\n", "does not belong"},
        {"a record twice", "p", 'x', "00000000030", "", "12 path=abc\n12 path=abd\n", "does not belong"},
        {"a record too long", "p", 'x', "00000000014", "", "13 path=abc\n", "length"},
        {"a record too short", "p", 'x', "00000000014", "", "11 path=abc\n", "length"},
        {"a record of nothing", "p", 'x', "00000000014", "", "0 path=abcd\n", "length"},
        {"a record without a key", "p", 'x', "00000000014", "", "12 pathabcd\n", "a record"},
        {"a size that is no number", "p", 'x', "00000000013", "", "11 size=-1\n", "does not belong"},
        {"an endless size", "p", 'x', "00000000036", "", "30 size=99999999999999999999999\n", "record"},
        {"records without end", "p", 'x', "00000777777", "", "12 path=abc\n", "neither a file nor a folder"},
    };
    struct strbuf out, seen;

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = ERROR_INIT;
        strbuf_init(&out, ARCHIVE_MAX);
        strbuf_init(&seen, ARCHIVE_MAX);
        build(&rows[i], &out);
        int rc = read_all(out.buf, out.len, 512, ARCHIVE_MAX, &seen, &err);
        if (rc != (*rows[i].says ? -1 : 0) || !strstr(err.message, rows[i].says))
            fail_msg("%s: %d \"%s\"", rows[i].what, rc, err.message);
        strbuf_release(&out);
        strbuf_release(&seen);
    }
}

/* Each bit of the header counts; something behind the end, or between its blocks, too. */
static void test_touched(void **state)
{
    struct strbuf out, seen;

    UNUSED(state);
    strbuf_init(&out, ARCHIVE_MAX);
    strbuf_init(&seen, ARCHIVE_MAX);
    add(&out, "t.ibd", false, "some rows");
    tar_write_end(&out);
    for (size_t at = 0; at < TAR_BLOCK; at++) {
        out.buf[at] ^= 1;
        assert_int_equal(read_all(out.buf, out.len, 512, 0, &seen, NULL), -1);
        out.buf[at] ^= 1;
    }
    assert_int_equal(read_all(out.buf, out.len, 512, 0, &seen, NULL), 0);
    out.buf[out.len - 1] ^= 1;
    assert_int_equal(read_all(out.buf, out.len, 512, 0, &seen, NULL), -1);
    out.buf[out.len - 1] ^= 1;
    strbuf_addc(&out, '\0');
    assert_int_equal(read_all(out.buf, out.len, 512, 0, &seen, NULL), -1);
    strbuf_release(&out);
    strbuf_release(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_read_in_pieces),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_touched),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
