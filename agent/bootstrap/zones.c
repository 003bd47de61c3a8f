/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/zones.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"

#define ARCHIVE_MAX ((size_t)(16 * KM_MIB))
#define BLOCK ((size_t)512)
#define TIMES_MAX 2000
#define TYPES_MAX 256
#define ABBREVIATIONS_MAX 512
#define ZONE_NAME_MAX 64       /* of the column */
#define ROWS_PER_STATEMENT 400 /* lines stay below what every server reads while it bootstraps: 20,000 bytes */

/* ---- members of the archive (POSIX.1-1988, ustar) ---- */

struct member {
    char name[ZONE_NAME_MAX + 1]; /* "Europe/Berlin"; "": another member */
    char link[ZONE_NAME_MAX + 1]; /* it is a further name of that one */
    const unsigned char *data;
    size_t len;
};

static uint64_t read_octal(const char *field, size_t len)
{
    uint64_t value = 0;

    for (size_t i = 0; i < len && field[i] >= '0' && field[i] <= '7'; i++)
        value = value * 8 + (uint64_t)(field[i] - '0');
    return value;
}

/* Names begin with a capital; "./" before them is left out. */
static void take_name(const char *field, char ret[static ZONE_NAME_MAX + 1])
{
    size_t len = strnlen(field, 100);

    if (len > 2 && field[0] == '.' && field[1] == '/') {
        field += 2;
        len -= 2;
    }
    bool good = len > 0 && len <= ZONE_NAME_MAX && field[0] >= 'A' && field[0] <= 'Z';
    for (size_t i = 0; good && i < len; i++)
        good = isalnum((unsigned char)field[i]) || strchr("/_+-", field[i]);
    snprintf(ret, ZONE_NAME_MAX + 1, "%.*s", good ? (int)len : 0, field);
}

/* Moves *at to the next one. False at the end. */
static bool next_member(const char *archive, size_t len, size_t *at, struct member *ret, struct error *err)
{
    if (*at + BLOCK > len || archive[*at] == '\0')
        return false;
    const char *head = archive + *at;
    uint64_t size = read_octal(head + 124, 12);
    char type = head[156];
    if (size > len || *at + BLOCK + size > len) {
        error_set(err, ERROR_PROTOCOL, "the archive of time zones is cut off");
        return false;
    }
    *ret = (struct member){.data = (const unsigned char *)head + BLOCK, .len = size};
    if (type == '0' || type == '1')
        take_name(head, ret->name);
    if (type == '1')
        take_name(head + 157, ret->link);
    *at += BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
    return true;
}

/* ---- one zone (RFC 8536, section 3) ---- */

struct zone {
    unsigned times, types, chars;
    const unsigned char *time, *type_of_time, *type, *abbreviations;
};

static int32_t read_i32(const unsigned char *at)
{
    return (int32_t)((uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]);
}

static bool is_consistent(const struct zone *zone)
{
    for (unsigned i = 0; i < zone->times; i++) {
        if (zone->type_of_time[i] >= zone->types)
            return false;
    }
    for (unsigned i = 0; i < zone->types; i++) {
        size_t at = zone->type[6 * i + 5];
        if (at >= zone->chars || !memchr(zone->abbreviations + at, '\0', zone->chars - at))
            return false;
    }
    return true;
}

static int zone_parse(const struct member *member, struct zone *ret, struct error *err)
{
    const unsigned char *data = member->data;
    bool good = member->len >= 44 && memcmp(data, "TZif", 4) == 0;

    if (good) {
        *ret = (struct zone){.times = (unsigned)read_i32(data + 32),
            .types = (unsigned)read_i32(data + 36),
            .chars = (unsigned)read_i32(data + 40)};
        good = ret->times <= TIMES_MAX && ret->types > 0 && ret->types <= TYPES_MAX &&
            ret->chars <= ABBREVIATIONS_MAX &&
            44 + 5 * (size_t)ret->times + 6 * (size_t)ret->types + ret->chars <= member->len;
    }
    if (good) {
        ret->time = data + 44;
        ret->type_of_time = ret->time + 4 * (size_t)ret->times;
        ret->type = ret->type_of_time + ret->times;
        ret->abbreviations = ret->type + 6 * (size_t)ret->types;
        good = is_consistent(ret);
    }
    return good ? 0 : error_set(err, ERROR_PROTOCOL, "the archive's time zone %s is damaged", member->name);
}

/* ---- rows ---- */

struct rows {
    struct strbuf *out;
    const char *into; /* "time_zone (Time_zone_id, Use_leap_seconds)" */
    unsigned count;   /* of the statement that is open */
};

static void rows_end(struct rows *rows)
{
    if (rows->count)
        strbuf_adds(rows->out, ";\n");
    rows->count = 0;
}

static void KM_PRINTF(2, 3) rows_add(struct rows *rows, const char *fmt, ...)
{
    va_list args;
    char row[160];

    va_start(args, fmt);
    vsnprintf(row, sizeof(row), fmt, args);
    va_end(args);
    if (rows->count == ROWS_PER_STATEMENT)
        rows_end(rows);
    if (rows->count++)
        strbuf_addf(rows->out, ",%s", row);
    else
        strbuf_addf(rows->out, "REPLACE INTO mysql.%s VALUES %s", rows->into, row);
}

static void add_types(struct rows *rows, const struct zone *zone, unsigned id)
{
    for (unsigned i = 0; i < zone->types; i++) {
        const unsigned char *type = zone->type + 6 * (size_t)i;
        char abbreviation[9] = ""; /* letters, digits and signs; the column has eight */
        snprintf(abbreviation, sizeof(abbreviation), "%.8s", (const char *)zone->abbreviations + type[5]);
        for (char *c = abbreviation; *c; c++)
            *c = isalnum((unsigned char)*c) || strchr("+-", *c) ? *c : '_';
        rows_add(rows, "(%u,%u,%d,%d,'%s')", id, i, read_i32(type), type[4] != 0, abbreviation);
    }
}

static void add_times(struct rows *rows, const struct zone *zone, unsigned id)
{
    for (unsigned i = 0; i < zone->times; i++)
        rows_add(rows, "(%u,%d,%u)", id, read_i32(zone->time + 4 * (size_t)i), zone->type_of_time[i]);
}

/* ---- all of them ---- */

/* One table at a time: each takes one look through the archive. Zones are numbered in the archive's order. */
enum pass { PASS_ZONE, PASS_TYPE, PASS_TIME, PASS_NAME, PASS_COUNT };

static const char *const tables[PASS_COUNT] = {
    [PASS_ZONE] = "time_zone (Time_zone_id, Use_leap_seconds)",
    [PASS_TYPE] = "time_zone_transition_type (Time_zone_id, Transition_type_id, `Offset`, Is_DST, Abbreviation)",
    [PASS_TIME] = "time_zone_transition (Time_zone_id, Transition_time, Transition_type_id)",
    [PASS_NAME] = "time_zone_name (Name, Time_zone_id)",
};

/* The number of the zone that a member is, or is a further name of; 0: there is none. */
static unsigned number_of(const char *archive, size_t len, const char *name)
{
    struct member member;
    unsigned number = 0;

    for (size_t at = 0; next_member(archive, len, &at, &member, NULL);) {
        number += *member.name && !*member.link;
        if (!*member.link && str_eq(member.name, name))
            return number;
    }
    return 0;
}

static int add_member(enum pass pass, const struct member *member, unsigned number, struct rows *rows, struct error *err)
{
    struct zone zone = {0};

    if (zone_parse(member, &zone, err) < 0)
        return -1;
    if (pass == PASS_ZONE)
        rows_add(rows, "(%u,'N')", number);
    else if (pass == PASS_TYPE)
        add_types(rows, &zone, number);
    else if (pass == PASS_TIME)
        add_times(rows, &zone, number);
    else
        rows_add(rows, "('%s',%u)", member->name, number);
    return 0;
}

static int add_table(const char *archive, size_t len, enum pass pass, struct strbuf *out, struct error *err)
{
    struct rows rows = {.out = out, .into = tables[pass]};
    struct member member;
    unsigned number = 0;

    error_clear(err);
    for (size_t at = 0; next_member(archive, len, &at, &member, err);) {
        unsigned same = *member.link && pass == PASS_NAME ? number_of(archive, len, member.link) : 0;
        if (same)
            rows_add(&rows, "('%s',%u)", member.name, same);
        if (*member.name && !*member.link && add_member(pass, &member, ++number, &rows, err) < 0)
            return -1;
    }
    rows_end(&rows);
    return err->kind == ERROR_NONE ? 0 : -1;
}

int zones_sql(const char *archive, size_t len, struct strbuf *out, struct error *err)
{
    struct error failure = ERROR_INIT;

    for (int pass = 0; pass < PASS_COUNT; pass++) {
        if (add_table(archive, len, (enum pass)pass, out, &failure) < 0)
            return error_set(err, failure.kind, "%s", failure.message);
    }
    return out->overflowed ? error_set(err, ERROR_TOO_LARGE, "the time zones take more than %zu bytes", ZONES_SQL_MAX)
                           : 0;
}

/* ---- from the file, into a server ---- */

char *zones_archive_find(void)
{
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (len <= 0)
        return NULL;
    program[len] = '\0';
    const char *slash = strrchr(program, '/');
    char *path = slash ? xasprintf("%.*s/" ZONES_ARCHIVE_NAME, (int)(slash - program), program) : NULL;
    if (path && access(path, R_OK) == 0)
        return path;
    free(path);
    return NULL;
}

int zones_archive_copy(const char *folder, struct error *err)
{
    _cleanup_(freep) char *from = zones_archive_find();
    _cleanup_(freep) char *to = xasprintf("%s/" ZONES_ARCHIVE_NAME, folder);

    return from ? fs_copy_file(from, to, 0644, err) : 0;
}

int zones_sql_of_archive(struct strbuf *out, struct error *err)
{
    _cleanup_(freep) char *path = zones_archive_find();
    _cleanup_(strbuf_release) struct strbuf archive;

    strbuf_init(&archive, ARCHIVE_MAX);
    if (!path)
        return 0;
    if (fs_read_file(path, &archive, err) < 0)
        return -1;
    return zones_sql(archive.buf, archive.len, out, err);
}

static void note_row(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    UNUSED(count);
    UNUSED(names);
    UNUSED(values);
    *(bool *)arg = true;
}

static int execute(struct session *session, char *sql, struct error *err)
{
    while (*sql) {
        char *end = sql + strcspn(sql, "\n");
        char *next = *end ? end + 1 : end;
        if (end > sql && end[-1] == ';')
            end--;
        *end = '\0';
        if (session_exec(session, sql, err) < 0)
            return -1;
        sql = next;
    }
    return 0;
}

int zones_fill(struct session *session, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf sql;
    bool filled = false;

    strbuf_init(&sql, ZONES_SQL_MAX);
    if (session_query(session, "SELECT 1 FROM mysql.time_zone_name LIMIT 1", note_row, &filled, err) < 0)
        return -1;
    if (filled)
        return 0;
    if (zones_sql_of_archive(&sql, err) < 0)
        return -1;
    if (sql.len == 0)
        return 0;
    if (session_exec(session, "START TRANSACTION", err) < 0 || execute(session, sql.buf, err) < 0 ||
        session_exec(session, "COMMIT", err) < 0)
        return error_prefix(err, "filling the tables of time zones");
    log_info("the tables of time zones were empty and are filled now");
    return 0;
}
