/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/tests/binlog_double.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/strbuf.h"
#include "common/strvec.h"

#define EVENTS_MAX ((size_t)(128 * KM_MIB))
enum {
    QUERY = 2,
    DESCRIPTION = 15,
    GTID = 33,
    PREVIOUS = 35,
    CHECKPOINT = 161,
    MARIADB_GTID = 162,
    MARIADB_LIST = 163
};

static void add_number(struct strbuf *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        strbuf_addc(out, i < sizeof(value) ? (char)(value >> (8 * i)) : (char)0);
}

static uint32_t crc_of(const char *data, size_t len)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < len; i++) {
        crc ^= (unsigned char)data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static void add_event(struct strbuf *out, unsigned type, uint32_t server, uint32_t at_s, const struct strbuf *body)
{
    const size_t tail = type == DESCRIPTION ? 4 : 0;
    const size_t start = out->len;

    add_number(out, at_s, 4);
    add_number(out, type, 1);
    add_number(out, server, 4);
    add_number(out, 19 + body->len + tail, 4);
    add_number(out, 0, 4); /* where it ends: nobody here looks */
    add_number(out, 0, 2);
    strbuf_add(out, body->buf, body->len);
    if (tail)
        add_number(out, crc_of(out->buf + start, out->len - start), 4);
}

static void add_uuid(struct strbuf *out, const char *text)
{
    for (size_t i = 0; i < 36; i++) {
        unsigned byte = 0;
        if (text[i] == '-')
            continue;
        assert_int_equal(sscanf(text + i, "%2x", &byte), 1); /* NOLINT(cert-err34-c) */
        add_number(out, byte, 1);
        i++;
    }
}

static char *path_of(const struct binlog_double *logs, unsigned number)
{
    return xasprintf("%s/binlog.%06u", logs->dir, number);
}

static void append(const struct binlog_double *logs, const struct strbuf *data)
{
    _cleanup_(freep) char *path = path_of(logs, logs->newest);
    FILE *file = fopen(path, "ae");

    assert_non_null(file);
    assert_int_equal(fwrite(data->buf, 1, data->len, file), data->len);
    assert_int_equal(fclose(file), 0);
}

static void write_index(const struct binlog_double *logs)
{
    _cleanup_(freep) char *path = xasprintf("%s/binlog.index", logs->dir);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, KM_MIB);
    for (unsigned i = logs->oldest; i <= logs->newest; i++)
        strbuf_addf(&text, "./binlog.%06u\n", i);
    assert_int_equal(fs_write_file_atomic(path, text.buf, text.len, 0600, NULL), 0);
}

void binlog_double_init(struct binlog_double *logs, enum gtid_flavour flavour)
{
    char dir[] = "/tmp/km-binlogs-XXXXXX";

    assert_non_null(mkdtemp(dir));
    *logs = (struct binlog_double){.dir = xstrdup(dir), .flavour = flavour, .oldest = 1, .created = 1000};
}

void binlog_double_release(struct binlog_double *logs)
{
    assert_int_equal(fs_remove_all(logs->dir, NULL), 0);
    free(logs->dir);
}

void binlog_double_reset(struct binlog_double *logs)
{
    while (logs->newest >= logs->oldest && logs->newest > 0) {
        _cleanup_(freep) char *path = path_of(logs, logs->newest--);
        assert_int_equal(fs_remove_all(path, NULL), 0);
    }
    logs->oldest = 1;
    logs->newest = 0;
    logs->created++;
}

static void add_description(const struct binlog_double *logs, struct strbuf *out)
{
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(&body, KM_KIB);
    add_number(&body, 4, 2);
    for (int i = 0; i < 50; i++)
        strbuf_addc(&body, i < 4 ? "10.1"[i] : '\0');
    add_number(&body, logs->created, 4);
    add_number(&body, 19, 1);
    for (int i = 0; i < 40; i++)
        strbuf_addc(&body, '\0');
    add_number(&body, 0, 1); /* events without checksums */
    add_event(out, DESCRIPTION, 1, logs->created, &body);
}

static void add_mariadb_list(const struct strvec *parts, struct strbuf *body)
{
    add_number(body, parts->n, 4);
    for (size_t i = 0; i < parts->n; i++) {
        unsigned domain = 0;
        unsigned server = 0;
        unsigned long long number = 0;
        assert_int_equal(sscanf(parts->v[i], "%u-%u-%llu", &domain, &server, &number), 3); /* NOLINT(cert-err34-c) */
        add_number(body, domain, 4);
        add_number(body, server, 4);
        add_number(body, number, 8);
    }
}

static void add_mysql_list(const struct strvec *parts, struct strbuf *body)
{
    add_number(body, parts->n, 8);
    for (size_t i = 0; i < parts->n; i++) {
        unsigned long long first = 0;
        unsigned long long last = 0;
        add_uuid(body, parts->v[i]);
        assert_int_equal(sscanf(parts->v[i] + 37, "%llu-%llu", &first, &last), 2); /* NOLINT(cert-err34-c) */
        add_number(body, 1, 8);
        add_number(body, first, 8);
        add_number(body, last + 1, 8);
    }
}

void binlog_double_rotate(struct binlog_double *logs, const char *before)
{
    _cleanup_(strvec_release) struct strvec parts;
    _cleanup_(strbuf_release) struct strbuf body;
    _cleanup_(strbuf_release) struct strbuf out;

    strvec_init(&parts);
    strvec_split(&parts, before, ",");
    strbuf_init(&body, KM_MIB);
    strbuf_init(&out, KM_MIB);
    strbuf_adds(&out,
        "\xfe"
        "bin");
    add_description(logs, &out);
    if (logs->flavour == GTID_MARIADB)
        add_mariadb_list(&parts, &body);
    else
        add_mysql_list(&parts, &body);
    add_event(&out, logs->flavour == GTID_MARIADB ? MARIADB_LIST : PREVIOUS, 1, logs->created, &body);
    logs->newest++;
    append(logs, &out);
    write_index(logs);
}

static void add_gtid(const char *gtid, enum gtid_flavour flavour, uint32_t at_s, struct strbuf *out)
{
    _cleanup_(strbuf_release) struct strbuf body;
    unsigned domain = 0;
    unsigned server = 1;
    unsigned long long number = 0;

    strbuf_init(&body, KM_KIB);
    if (flavour == GTID_MARIADB) {
        assert_int_equal(sscanf(gtid, "%u-%u-%llu", &domain, &server, &number), 3); /* NOLINT(cert-err34-c) */
        add_number(&body, number, 8);
        add_number(&body, domain, 4);
        add_number(&body, 1, 1); /* stands alone */
        add_number(&body, 0, 6);
    } else {
        add_number(&body, 0, 1);
        add_uuid(&body, gtid);
        add_number(&body, strtoull(gtid + 37, NULL, 10), 8);
    }
    add_event(out, flavour == GTID_MARIADB ? MARIADB_GTID : GTID, server, at_s, &body);
}

static void make_transaction(
    const struct binlog_double *logs, const char *gtid, uint32_t at_s, size_t bytes, struct strbuf *out)
{
    _cleanup_(strbuf_release) struct strbuf body;

    strbuf_init(out, EVENTS_MAX);
    strbuf_init(&body, EVENTS_MAX);
    add_gtid(gtid, logs->flavour, at_s, out);
    add_number(&body, 0, 14); /* no database */
    strbuf_adds(&body, "CREATE TABLE t ");
    while (body.len < bytes)
        strbuf_adds(&body, "/* for its length, in words that pack well */");
    add_event(out, QUERY, 1, at_s, &body);
}

void binlog_double_add_statements(
    struct binlog_double *logs, const char *gtid, const char *const *statements, size_t count)
{
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, EVENTS_MAX);
    add_gtid(gtid, logs->flavour, 1, &out);
    for (size_t i = 0; i < count && statements[i]; i++) {
        _cleanup_(strbuf_release) struct strbuf body;
        strbuf_init(&body, KM_MIB);
        add_number(&body, 0, 14); /* no database */
        strbuf_adds(&body, statements[i]);
        add_event(&out, QUERY, 1, 1, &body);
    }
    append(logs, &out);
}

void binlog_double_add(struct binlog_double *logs, const char *gtid, uint32_t at_s, size_t bytes)
{
    _cleanup_(strbuf_release) struct strbuf out;

    make_transaction(logs, gtid, at_s, bytes, &out);
    append(logs, &out);
}

void binlog_double_add_range(struct binlog_double *logs, unsigned server, unsigned first, unsigned last)
{
    for (unsigned i = first; i <= last; i++) {
        char gtid[64];
        snprintf(gtid, sizeof(gtid), "0-%u-%u", server, i);
        binlog_double_add(logs, gtid, 1000000 + i, 40);
    }
}

void binlog_double_add_part(struct binlog_double *logs, const char *gtid, size_t bytes)
{
    _cleanup_(strbuf_release) struct strbuf out;

    make_transaction(logs, gtid, 1, 100, &out);
    assert_true(bytes < out.len);
    strbuf_truncate(&out, bytes);
    append(logs, &out);
}

void binlog_double_checkpoint(struct binlog_double *logs, unsigned log)
{
    _cleanup_(freep) char *path = path_of(logs, log);
    const char *name = strrchr(path, '/') + 1;
    _cleanup_(strbuf_release) struct strbuf body;
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&body, KM_KIB);
    strbuf_init(&out, KM_KIB);
    add_number(&body, strlen(name), 4);
    strbuf_adds(&body, name);
    add_event(&out, CHECKPOINT, 1, 1, &body);
    append(logs, &out);
}

void binlog_double_describe(struct binlog_double *logs)
{
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, KM_KIB);
    add_description(logs, &out);
    append(logs, &out);
}

void binlog_double_purge(struct binlog_double *logs)
{
    _cleanup_(freep) char *path = path_of(logs, logs->oldest++);

    assert_int_equal(fs_remove_all(path, NULL), 0);
    write_index(logs);
}
