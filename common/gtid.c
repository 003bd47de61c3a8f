/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/gtid.h"

#include <ctype.h>

#include "common/alloc.h"

enum { UUID_LEN = 36, TAG_MAX = 32 };
/* MySQL: a transaction number is at most 2^63 - 2 (GNO_END - 1). */
#define GNO_MAX (INT64_MAX - 1)

/*
 * One flat, sorted array serves both families.
 * MySQL: `source` is "uuid" or "uuid:tag"; [first, last] are transaction numbers; ranges of a source neither overlap
 * nor touch. MariaDB: `domain` has exactly one range, [1, last], last executed by `server`.
 */
struct gtid_range {
    char source[UUID_LEN + 1 + TAG_MAX + 1];
    uint32_t domain;
    uint32_t server;
    uint64_t first;
    uint64_t last;
};

struct gtid_set {
    enum gtid_flavour flavour;
    struct gtid_range *v;
    size_t n;
    size_t capacity;
};

struct gtid_set *gtid_set_new(enum gtid_flavour flavour)
{
    struct gtid_set *set = xnew(struct gtid_set);
    set->flavour = flavour;
    return set;
}

void gtid_set_free(struct gtid_set *set)
{
    if (!set)
        return;
    free(set->v);
    free(set);
}

static void append(struct gtid_set *set, const struct gtid_range *range)
{
    if (set->n == set->capacity) {
        set->capacity = set->capacity ? set->capacity * 2 : 4;
        set->v = xreallocarray(set->v, set->capacity, sizeof(*set->v));
    }
    set->v[set->n++] = *range;
}

static int compare_sources(const struct gtid_range *a, const struct gtid_range *b)
{
    if (a->domain != b->domain)
        return a->domain < b->domain ? -1 : 1;
    return strcmp(a->source, b->source);
}

static int compare_ranges(const void *left, const void *right)
{
    const struct gtid_range *a = left, *b = right;
    int by_source = compare_sources(a, b);
    if (by_source)
        return by_source;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    if (a->last != b->last)
        return a->last < b->last ? -1 : 1;
    return a->server < b->server ? -1 : a->server > b->server;
}

/* Sorts, and joins ranges of one source that overlap or touch. For MariaDB that keeps the furthest position of each
 * domain. */
static void normalise(struct gtid_set *set)
{
    if (set->n < 2)
        return;
    qsort(set->v, set->n, sizeof(*set->v), compare_ranges);
    size_t kept = 0;
    for (size_t i = 1; i < set->n; i++) {
        struct gtid_range *last = &set->v[kept];
        const struct gtid_range *range = &set->v[i];
        if (compare_sources(last, range) != 0 || range->first > last->last + 1) {
            set->v[++kept] = *range;
        } else if (range->last >= last->last) {
            last->last = range->last;
            last->server = range->server;
        }
    }
    set->n = kept + 1;
}

/* ---- parsing ------------------------------------------------------------------------------------------------- */

struct gtid_reader {
    const char *start;
    const char *p;
    struct gtid_set *set;
    struct error *err;
};

static void skip_space(struct gtid_reader *reader)
{
    while (isspace((unsigned char)*reader->p))
        reader->p++;
}

static bool take(struct gtid_reader *reader, char c)
{
    skip_space(reader);
    if (*reader->p != c)
        return false;
    reader->p++;
    skip_space(reader);
    return true;
}

static int malformed(const struct gtid_reader *reader, const char *expected)
{
    return error_set(
        reader->err, ERROR_INVALID, "GTID set: expected %s at byte %td", expected, reader->p - reader->start);
}

static int take_number(struct gtid_reader *reader, uint64_t min, uint64_t max, const char *what, uint64_t *ret)
{
    skip_space(reader);
    uint64_t number = 0;
    const char *p = reader->p;
    for (; isdigit((unsigned char)*p); p++) {
        if (__builtin_mul_overflow(number, 10, &number) || __builtin_add_overflow(number, (uint64_t)(*p - '0'), &number))
            return malformed(reader, what);
    }
    if (p == reader->p || number < min || number > max)
        return malformed(reader, what);
    reader->p = p;
    *ret = number;
    return 0;
}

static int add_range(struct gtid_reader *reader, const struct gtid_range *range)
{
    if (reader->set->n >= GTID_INTERVALS_MAX)
        return error_set(reader->err, ERROR_TOO_LARGE, "GTID set: more than %d intervals", GTID_INTERVALS_MAX);
    append(reader->set, range);
    return 0;
}

static int take_uuid(struct gtid_reader *reader, struct gtid_range *range)
{
    skip_space(reader);
    for (int i = 0; i < UUID_LEN; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        unsigned char c = (unsigned char)reader->p[i];
        if (dash ? c != '-' : !isxdigit(c))
            return malformed(reader, "a UUID");
        range->source[i] = (char)tolower(c);
    }
    range->source[UUID_LEN] = '\0';
    reader->p += UUID_LEN;
    return 0;
}

static bool is_tag_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* [a-z_][a-z0-9_]{0,31}, any case: https://dev.mysql.com/doc/refman/8.4/en/replication-gtids-concepts.html */
static int take_tag(struct gtid_reader *reader, struct gtid_range *range)
{
    size_t len = 0;
    for (; is_tag_start(reader->p[len]) || isdigit((unsigned char)reader->p[len]); len++) {
        if (len == TAG_MAX)
            return malformed(reader, "a tag of at most 32 characters");
        range->source[UUID_LEN + 1 + len] = (char)tolower((unsigned char)reader->p[len]);
    }
    range->source[UUID_LEN] = ':';
    range->source[UUID_LEN + 1 + len] = '\0';
    reader->p += len;
    return 0;
}

static int take_interval(struct gtid_reader *reader, struct gtid_range *range)
{
    if (take_number(reader, 1, GNO_MAX, "a transaction number", &range->first) != 0)
        return -1;
    range->last = range->first;
    if (take(reader, '-') && take_number(reader, range->first, GNO_MAX, "the end of an interval", &range->last) != 0)
        return -1;
    return add_range(reader, range);
}

/* uuid:[tag:]interval[:interval|:tag:interval]... */
static int take_mysql_part(struct gtid_reader *reader)
{
    struct gtid_range range = {0};
    if (take_uuid(reader, &range) != 0)
        return -1;
    if (!take(reader, ':'))
        return malformed(reader, "a colon");
    do {
        if (is_tag_start(*reader->p)) {
            if (take_tag(reader, &range) != 0)
                return -1;
            if (!take(reader, ':'))
                return malformed(reader, "a colon");
        }
        if (take_interval(reader, &range) != 0)
            return -1;
    } while (take(reader, ':'));
    return 0;
}

/* domain-server-sequence. Sequence 0 means nothing executed. */
static int take_mariadb_part(struct gtid_reader *reader)
{
    uint64_t domain, server;
    struct gtid_range range = {.first = 1};
    if (take_number(reader, 0, UINT32_MAX, "a domain number", &domain) != 0)
        return -1;
    if (!take(reader, '-') || take_number(reader, 0, UINT32_MAX, "a server number", &server) != 0)
        return malformed(reader, "a server number");
    if (!take(reader, '-') || take_number(reader, 0, UINT64_MAX - 1, "a sequence number", &range.last) != 0)
        return malformed(reader, "a sequence number");
    range.domain = (uint32_t)domain;
    range.server = (uint32_t)server;
    return range.last ? add_range(reader, &range) : 0;
}

static int read_parts(struct gtid_reader *reader)
{
    bool mysql = reader->set->flavour == GTID_MYSQL;
    for (;;) {
        while (take(reader, ','))
            ; /* empty parts are fine, as in MySQL */
        skip_space(reader);
        if (!*reader->p)
            return 0;
        if ((mysql ? take_mysql_part(reader) : take_mariadb_part(reader)) != 0)
            return -1;
        skip_space(reader);
        if (*reader->p && *reader->p != ',')
            return malformed(reader, "a comma");
    }
}

struct gtid_set *gtid_set_parse(enum gtid_flavour flavour, const char *text, struct error *err)
{
    text = str_or_empty(text);
    if (strnlen(text, GTID_TEXT_MAX + 1) > GTID_TEXT_MAX) {
        error_set(err, ERROR_TOO_LARGE, "GTID set: longer than %ld bytes", GTID_TEXT_MAX);
        return NULL;
    }
    struct gtid_reader reader = {.start = text, .p = text, .set = gtid_set_new(flavour), .err = err};
    if (read_parts(&reader) != 0) {
        gtid_set_free(reader.set);
        return NULL;
    }
    normalise(reader.set);
    return reader.set;
}

/* ---- printing ------------------------------------------------------------------------------------------------ */

static void print_interval(const struct gtid_range *range, struct strbuf *out)
{
    strbuf_addf(out, ":%llu", (unsigned long long)range->first);
    if (range->last > range->first)
        strbuf_addf(out, "-%llu", (unsigned long long)range->last);
}

/* As the server does: a UUID once, then its intervals, then each tag with its own. */
static void print_mysql(const struct gtid_set *set, struct strbuf *out)
{
    const char *before = "";
    for (size_t i = 0; i < set->n; i++) {
        const char *source = set->v[i].source;
        bool same_uuid = strncmp(source, before, UUID_LEN) == 0;
        if (!same_uuid)
            strbuf_addf(out, "%s%.*s", i ? "," : "", UUID_LEN, source);
        if (source[UUID_LEN] && (!same_uuid || strcmp(source, before) != 0))
            strbuf_adds(out, source + UUID_LEN); /* ":tag" */
        print_interval(&set->v[i], out);
        before = source;
    }
}

static void print_mariadb(const struct gtid_set *set, struct strbuf *out)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct gtid_range *range = &set->v[i];
        strbuf_addf(out, "%s%u-%u-%llu", i ? "," : "", range->domain, range->server, (unsigned long long)range->last);
    }
}

void gtid_set_print(const struct gtid_set *set, struct strbuf *out)
{
    if (set->flavour == GTID_MYSQL)
        print_mysql(set, out);
    else
        print_mariadb(set, out);
}

/* ---- single transactions -------------------------------------------------------------------------------------- */

static struct gtid_range range_of(enum gtid_flavour flavour, const struct gtid_one *one)
{
    struct gtid_range range = {.domain = one->domain, .server = one->server, .first = one->number, .last = one->number};

    if (flavour == GTID_MYSQL)
        memcpy(range.source, one->source, sizeof(one->source));
    else
        range.first = 1;
    return range;
}

void gtid_set_add(struct gtid_set *set, const struct gtid_one *one)
{
    struct gtid_range range = range_of(set->flavour, one);

    append(set, &range);
    normalise(set);
}

bool gtid_set_contains(const struct gtid_set *set, const struct gtid_one *one)
{
    struct gtid_range range = range_of(set->flavour, one);

    for (size_t i = 0; i < set->n; i++) {
        if (compare_sources(&set->v[i], &range) == 0 && set->v[i].first <= one->number && one->number <= set->v[i].last)
            return true;
    }
    return false;
}

bool gtid_set_position(const struct gtid_set *set, size_t index, struct gtid_one *ret)
{
    if (index >= set->n)
        return false;
    *ret =
        (struct gtid_one){.domain = set->v[index].domain, .server = set->v[index].server, .number = set->v[index].last};
    return true;
}

bool gtid_set_first_of(const struct gtid_set *set, size_t index, struct gtid_one *ret)
{
    if (index >= set->n)
        return false;
    *ret = (struct gtid_one){.number = set->v[index].first};
    memcpy(ret->source, set->v[index].source, UUID_LEN); /* without a tag */
    return true;
}

void gtid_one_print(enum gtid_flavour flavour, const struct gtid_one *one, struct strbuf *out)
{
    if (flavour == GTID_MYSQL)
        strbuf_addf(out, "%s:%llu", one->source, (unsigned long long)one->number);
    else
        strbuf_addf(out, "%u-%u-%llu", one->domain, one->server, (unsigned long long)one->number);
}

/* ---- comparing ----------------------------------------------------------------------------------------------- */

bool gtid_set_is_empty(const struct gtid_set *set)
{
    return set->n == 0;
}

/* MariaDB: `other` (NULL: nothing of this domain) has got as far as `range`. */
static bool has_position(const struct gtid_range *range, const struct gtid_range *other)
{
    bool behind = other && range->last < other->last;
    bool same = other && range->last == other->last && range->server == other->server;
    return behind || same;
}

/* MySQL: adds what is left of the range without `b`, whose ranges before *at end before this one starts. */
static void subtract_range(struct gtid_set *out, struct gtid_range range, const struct gtid_set *b, size_t *at)
{
    for (; *at < b->n && compare_sources(&b->v[*at], &range) == 0 && b->v[*at].first <= range.last; ++*at) {
        const struct gtid_range *hole = &b->v[*at];
        if (hole->last < range.first)
            continue;
        if (hole->first > range.first) {
            struct gtid_range left = range;
            left.last = hole->first - 1;
            append(out, &left);
        }
        if (hole->last >= range.last)
            return; /* nothing left; this hole may reach into the next range too, so it stays */
        range.first = hole->last + 1;
    }
    append(out, &range);
}

struct gtid_set *gtid_set_subtract(const struct gtid_set *a, const struct gtid_set *b)
{
    struct gtid_set *out = gtid_set_new(a->flavour);
    size_t at = 0;
    for (size_t i = 0; i < a->n; i++) {
        const struct gtid_range *range = &a->v[i];
        while (at < b->n && compare_sources(&b->v[at], range) < 0)
            at++;
        bool same_source = at < b->n && compare_sources(&b->v[at], range) == 0;
        if (a->flavour == GTID_MYSQL)
            subtract_range(out, *range, b, &at);
        else if (!has_position(range, same_source ? &b->v[at] : NULL))
            append(out, range);
    }
    return out;
}

static void append_common_position(struct gtid_set *out, const struct gtid_range *a, const struct gtid_range *b)
{
    struct gtid_range range = a->last <= b->last ? *a : *b;

    if (a->last == b->last && a->server != b->server)
        range.last--;
    if (range.last > 0)
        append(out, &range);
}

struct gtid_set *gtid_set_intersect(const struct gtid_set *a, const struct gtid_set *b)
{
    if (a->flavour == GTID_MYSQL) {
        _cleanup_(gtid_set_freep) struct gtid_set *only_a = gtid_set_subtract(a, b);
        return gtid_set_subtract(a, only_a);
    }
    struct gtid_set *out = gtid_set_new(GTID_MARIADB);
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        int order = compare_sources(&a->v[i], &b->v[j]);
        if (order == 0)
            append_common_position(out, &a->v[i], &b->v[j]);
        i += order <= 0;
        j += order >= 0;
    }
    return out;
}

struct gtid_set *gtid_set_of_source(const struct gtid_set *set, const char *uuid)
{
    struct gtid_set *out = gtid_set_new(set->flavour);
    for (size_t i = 0; i < set->n && strlen(uuid) == UUID_LEN; i++) {
        if (strncasecmp(set->v[i].source, uuid, UUID_LEN) == 0)
            append(out, &set->v[i]);
    }
    return out;
}

void gtid_set_unite(struct gtid_set *set, const struct gtid_set *other)
{
    for (size_t i = 0; i < other->n; i++)
        append(set, &other->v[i]);
    normalise(set);
}

/* `set` holds all of `range`; its ranges before *at end before this one starts. */
static bool holds_range(const struct gtid_set *set, const struct gtid_range *range, size_t *at)
{
    while (*at < set->n && compare_sources(&set->v[*at], range) < 0)
        ++*at;
    if (set->flavour == GTID_MYSQL) {
        while (*at < set->n && compare_sources(&set->v[*at], range) == 0 && set->v[*at].last < range->first)
            ++*at;
    }
    const struct gtid_range *other = *at < set->n ? &set->v[*at] : NULL;
    if (!other || compare_sources(other, range) != 0)
        return false;
    /* Ranges of one source do not touch: one alone holds all of it, or none does. */
    return set->flavour == GTID_MYSQL ? other->first <= range->first && range->last <= other->last
                                      : has_position(range, other);
}

static bool covers(const struct gtid_set *a, const struct gtid_set *b)
{
    size_t at = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (!holds_range(a, &b->v[i], &at))
            return false;
    }
    return true;
}

enum gtid_relation gtid_set_compare(const struct gtid_set *a, const struct gtid_set *b)
{
    static const enum gtid_relation relations[2][2] = {
        {GTID_DIVERGED, GTID_SUBSET}, {GTID_SUPERSET, GTID_EQUAL}}; /* [a covers b][b covers a] */
    return relations[covers(a, b)][covers(b, a)];
}

/* The next part of a state; false: there is none, or it is malformed. */
static bool take_last(struct gtid_reader *reader, struct gtid_range *ret)
{
    uint64_t domain, server;
    while (take(reader, ','))
        ;
    skip_space(reader);
    if (!*reader->p || take_number(reader, 0, UINT32_MAX, "a domain number", &domain) != 0 || !take(reader, '-') ||
        take_number(reader, 0, UINT32_MAX, "a server number", &server) != 0 || !take(reader, '-') ||
        take_number(reader, 0, UINT64_MAX - 1, "a sequence number", &ret->last) != 0)
        return false;
    ret->domain = (uint32_t)domain;
    ret->server = (uint32_t)server;
    return true;
}

bool gtid_state_lacks(const char *state, const struct gtid_set *wanted)
{
    struct gtid_reader reader = {.start = str_or_empty(state), .p = str_or_empty(state)};
    struct gtid_range last;
    while (take_last(&reader, &last)) {
        for (size_t i = 0; i < wanted->n; i++) {
            const struct gtid_range *range = &wanted->v[i];
            if (range->domain == last.domain && range->server == last.server && range->last > last.last)
                return true;
        }
    }
    return false;
}

uint64_t gtid_set_count(const struct gtid_set *set)
{
    uint64_t count = 0;
    for (size_t i = 0; i < set->n; i++) {
        if (__builtin_add_overflow(count, set->v[i].last - set->v[i].first + 1, &count))
            return UINT64_MAX;
    }
    return count;
}
