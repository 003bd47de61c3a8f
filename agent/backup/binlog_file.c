/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/binlog_file.h"

#include <errno.h>

#include "common/alloc.h"

enum {
    EVENT_QUERY = 2,
    EVENT_STOP = 3,
    EVENT_ROTATE = 4,
    EVENT_DESCRIPTION = 15,
    EVENT_XID = 16,
    EVENT_GTID = 33,
    EVENT_ANONYMOUS = 34,
    EVENT_PREVIOUS_GTIDS = 35,
    EVENT_XA_PREPARE = 38,
    EVENT_PAYLOAD = 40,
    EVENT_GTID_TAGGED = 42,
    EVENT_MARIADB_CHECKPOINT = 161,
    EVENT_MARIADB_GTID = 162,
    EVENT_MARIADB_GTID_LIST = 163,
    EVENT_MARIADB_ENCRYPTION = 164,
    EVENT_MARIADB_QUERY_COMPRESSED = 165,
};

#define HEADER_BYTES 19
#define CHECKSUM_BYTES 4
#define VERSION_BYTES 50 /* of a format description: the server's version */
#define FLAGS_AT 17
#define FLAG_IN_USE 1
#define FLAG_ARTIFICIAL 0x20
#define FLAG_IGNORABLE 0x80
#define UUID_BYTES 16
#define STANDALONE 1 /* MariaDB: one event follows, without an end of its own */
#define PIECE_BYTES ((size_t)(64 * KM_KIB))

struct event {
    uint8_t type;
    uint32_t server, at_s;
    uint64_t from, len;
    const uint8_t *body; /* what was peeked of it, without header and checksum */
    size_t body_len;
};

struct scan {
    FILE *file;
    const char *path;
    uint64_t size;
    enum gtid_flavour flavour;
    struct binlog_head *head;
    binlog_transaction_fn fn;
    void *arg;
    struct strbuf event; /* header and as much as was peeked */
    uint8_t piece[PIECE_BYTES];
    bool checksums;
    bool head_done;
    uint64_t resume; /* where to go on after the head; 0: behind it */
    /* Relay logs. */
    binlog_relay_fn relay_fn; /* NULL: it is none */
    size_t index, begun_in;   /* the file that is being read, and the one in which the transaction began */
    bool torn;                /* the file before ended within an event */
    /* The transaction that is being read. */
    bool open, first, terminated, standalone;
    struct binlog_transaction transaction;
};

enum step { STEP_EVENT, STEP_END, STEP_FAILED };

static uint64_t number(const uint8_t *p, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | p[i];
    return value;
}

/* CRC-32 of IEEE 802.3, as zlib's. */
static uint32_t crc_add(uint32_t crc, const uint8_t *data, size_t len)
{
    static const uint32_t nibbles[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278,
        0xbdbdf21c};

    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        crc = crc >> 4 ^ nibbles[crc & 15];
        crc = crc >> 4 ^ nibbles[crc & 15];
    }
    return crc;
}

static int unusable(const struct scan *scan, struct error *err, const char *why)
{
    return error_set(err, ERROR_INVALID, "%s: %s", scan->path, why);
}

static int damaged(const struct scan *scan, uint64_t at, struct error *err)
{
    return error_set(err, ERROR_PROTOCOL, "%s is damaged at byte %llu", scan->path, (unsigned long long)at);
}

/* ---- lists of GTIDs at a file's beginning ---- */

static void print_uuid(const uint8_t *bytes, char ret[static 37])
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;

    for (unsigned i = 0; i < UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            ret[n++] = '-';
        ret[n++] = digits[bytes[i] >> 4];
        ret[n++] = digits[bytes[i] & 15];
    }
    ret[n] = '\0';
}

/* count, then per UUID: 16 bytes, number of intervals, intervals [first, end). With tags the highest byte of the count
 * says so. */
static bool print_previous(const uint8_t *p, size_t len, struct strbuf *out)
{
    const uint8_t *end = p + len;

    if (len < 8 || p[7] != 0)
        return false;
    uint64_t sources = number(p, 8);
    for (p += 8; sources > 0; sources--) {
        char uuid[37];
        if (end - p < UUID_BYTES + 8)
            return false;
        print_uuid(p, uuid);
        uint64_t intervals = number(p + UUID_BYTES, 8);
        strbuf_addf(out, "%s%s", out->len ? "," : "", uuid);
        for (p += UUID_BYTES + 8; intervals > 0; intervals--, p += 16) {
            if (end - p < 16)
                return false;
            strbuf_addf(out, ":%llu-%llu", (unsigned long long)number(p, 8), (unsigned long long)number(p + 8, 8) - 1);
        }
    }
    return p == end;
}

static int take_previous(struct scan *scan, const struct event *event, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, GTID_TEXT_MAX);
    if (!print_previous(event->body, event->body_len, &text) || text.overflowed)
        return unusable(scan, err, "its list of GTIDs is of a kind that is not known here");
    gtid_set_free(scan->head->before);
    scan->head->before = gtid_set_parse(GTID_MYSQL, text.buf, err);
    return scan->head->before ? 0 : -1;
}

/* count (28 bits), then domain, server, number. */
static int take_list(struct scan *scan, const struct event *event, struct error *err)
{
    struct binlog_head *head = scan->head;
    size_t count = event->body_len >= 4 ? number(event->body, 4) & 0x0fffffff : 0;

    if (scan->relay_fn) /* of each log of the source, and of each connection */
        return 0;
    if (event->body_len < 4 || (event->body_len - 4) / 16 < count || head->before)
        return damaged(scan, event->from, err);
    head->before = gtid_set_new(GTID_MARIADB);
    head->last = xreallocarray(NULL, count + 1, sizeof(*head->last));
    for (size_t i = 0; i < count; i++) {
        const uint8_t *p = event->body + 4 + i * 16;
        struct gtid_one one = {
            .domain = (uint32_t)number(p, 4), .server = (uint32_t)number(p + 4, 4), .number = number(p + 8, 8)};
        head->last[head->last_count++] = one;
        gtid_set_add(head->before, &one);
    }
    return 0;
}

void binlog_head_release(struct binlog_head *head)
{
    strbuf_release(&head->description);
    gtid_set_free(head->before);
    free(head->last);
    free(head->checkpoint);
    *head = (struct binlog_head){0};
}

static void add_number(struct strbuf *out, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        strbuf_addc(out, (char)(value >> (8 * i)));
}

struct made_event {
    uint8_t type;
    uint16_t flags;
    size_t body_len;
};

/* The body follows. */
static void add_header(const struct strbuf *description, const struct made_event *event, bool summed, struct strbuf *out)
{
    add_number(out, 0, 4);
    add_number(out, event->type, 1);
    add_number(out, number((const uint8_t *)description->buf + 5, 4), 4);
    add_number(out, HEADER_BYTES + event->body_len + (summed ? CHECKSUM_BYTES : 0), 4);
    add_number(out, 0, 4);
    add_number(out, event->flags, 2);
}

static void add_sum(bool summed, size_t start, struct strbuf *out)
{
    if (summed)
        add_number(out, (uint32_t)~crc_add(0xffffffff, (const uint8_t *)out->buf + start, out->len - start), 4);
}

static bool is_mysql(const struct strbuf *description)
{
    char version[VERSION_BYTES + 1] = "";
    memcpy(version, description->buf + HEADER_BYTES + 2, VERSION_BYTES);
    return !strstr(version, "MariaDB");
}

void binlog_add_rotate(const struct strbuf *description, const char *log_name, struct strbuf *out)
{
    bool summed = (uint8_t)description->buf[description->len - CHECKSUM_BYTES - 1] == 1;
    const struct made_event previous = {EVENT_PREVIOUS_GTIDS, FLAG_IGNORABLE, 8};
    const struct made_event rotate = {EVENT_ROTATE, FLAG_ARTIFICIAL, 8 + strlen(log_name)};
    size_t start = out->len;

    if (is_mysql(description)) {
        add_header(description, &previous, summed, out);
        add_number(out, 0, 8); /* no server */
        add_sum(summed, start, out);
        start = out->len;
    }
    add_header(description, &rotate, summed, out);
    add_number(out, BINLOG_MAGIC_BYTES, 8);
    strbuf_adds(out, log_name);
    add_sum(summed, start, out);
}

/* ---- events ---- */

static int read_failed(const struct scan *scan, struct error *err)
{
    return error_set_errno(err, ferror(scan->file) ? errno : EIO, "reading %s", scan->path);
}

/* The rest of a long event only matters for its checksum. */
static int check_rest(
    struct scan *scan, uint64_t left, uint32_t *crc, uint8_t sum[static CHECKSUM_BYTES], struct error *err)
{
    for (; left > CHECKSUM_BYTES;) {
        size_t want = (size_t)MIN_OF(left - CHECKSUM_BYTES, (uint64_t)sizeof(scan->piece));
        if (fread(scan->piece, 1, want, scan->file) != want)
            return read_failed(scan, err);
        *crc = crc_add(*crc, scan->piece, want);
        left -= want;
    }
    return fread(sum, 1, CHECKSUM_BYTES, scan->file) == CHECKSUM_BYTES ? 0 : read_failed(scan, err);
}

/* The file marks itself as in use after the checksum was made. */
static uint32_t sum_of_peeked(const struct scan *scan, uint8_t type)
{
    uint8_t flags = (uint8_t)scan->event.buf[FLAGS_AT];
    const uint8_t *data = (const uint8_t *)scan->event.buf;

    if (type == EVENT_DESCRIPTION)
        flags &= (uint8_t)~FLAG_IN_USE;
    uint32_t crc = crc_add(0xffffffff, data, FLAGS_AT);
    crc = crc_add(crc, &flags, 1);
    return crc_add(crc, data + FLAGS_AT + 1, scan->event.len - FLAGS_AT - 1);
}

/* STEP_END: the file ends here, cleanly or within an event. */
static enum step next_event(struct scan *scan, uint64_t at, struct event *ret, struct error *err)
{
    uint8_t header[HEADER_BYTES];
    uint8_t sum[CHECKSUM_BYTES] = {0};

    if (scan->size - at < HEADER_BYTES)
        return STEP_END;
    if (fread(header, 1, sizeof(header), scan->file) != sizeof(header))
        return read_failed(scan, err) < 0 ? STEP_FAILED : STEP_END;
    *ret = (struct event){
        .type = header[4], .server = (uint32_t)number(header + 5, 4), .at_s = (uint32_t)number(header, 4), .from = at};
    ret->len = number(header + 9, 4);
    if (ret->type == 0 && ret->len == 0)
        return STEP_END; /* room that was never written to */
    /* The description always has a checksum, whatever it says of others. */
    bool summed = scan->checksums || ret->type == EVENT_DESCRIPTION;
    size_t tail = summed ? CHECKSUM_BYTES : 0;
    if (ret->len < HEADER_BYTES + tail)
        return damaged(scan, at, err) < 0 ? STEP_FAILED : STEP_END;
    if (ret->len > scan->size - at)
        return STEP_END;
    size_t peek = (size_t)MIN_OF(ret->len - HEADER_BYTES - tail, (uint64_t)BINLOG_PEEK_MAX);
    strbuf_reset(&scan->event);
    strbuf_add(&scan->event, header, sizeof(header));
    for (size_t left = peek; left > 0;) {
        size_t n = MIN_OF(left, sizeof(scan->piece));
        if (fread(scan->piece, 1, n, scan->file) != n)
            return read_failed(scan, err) < 0 ? STEP_FAILED : STEP_END;
        strbuf_add(&scan->event, scan->piece, n);
        left -= n;
    }
    ret->body = (const uint8_t *)scan->event.buf + HEADER_BYTES;
    ret->body_len = peek;
    if (!summed)
        return fseeko(scan->file, (off_t)(at + ret->len), SEEK_SET) == 0 ? STEP_EVENT : STEP_FAILED;
    uint32_t crc = sum_of_peeked(scan, ret->type);
    if (check_rest(scan, ret->len - HEADER_BYTES - peek, &crc, sum, err) < 0)
        return STEP_FAILED;
    if (number(sum, 4) == (uint32_t)~crc)
        return STEP_EVENT;
    if (at + ret->len == scan->size && ret->type != EVENT_DESCRIPTION)
        return STEP_END;
    return damaged(scan, at, err) < 0 ? STEP_FAILED : STEP_END;
}

/* ---- transactions ---- */

/* thread, duration (4 each), length of the database's name (1), error (2), length of variables (2); variables, name,
 * NUL, text. */
static bool query_is(const struct event *event, const char *word)
{
    const uint8_t *body = event->body;
    size_t skip = 13;

    if (event->body_len < skip)
        return false;
    skip += number(body + 11, 2) + body[8] + 1;
    return event->body_len >= skip + strlen(word) && memcmp(body + skip, word, strlen(word)) == 0;
}

/* A savepoint's ROLLBACK TO stands in the middle, where tables without transactions were written to. */
static bool ends_group(const struct event *event)
{
    return query_is(event, "COMMIT") || (query_is(event, "ROLLBACK") && !query_is(event, "ROLLBACK TO")) ||
        query_is(event, "XA COMMIT") || query_is(event, "XA ROLLBACK");
}

/* Whether the transaction is whole with this event. A statement of its own is, unless rows follow it (CREATE TABLE ...
 * SELECT). */
static bool terminates(const struct scan *scan, const struct event *event)
{
    switch (event->type) {
    case EVENT_XID:
    case EVENT_XA_PREPARE:
    case EVENT_PAYLOAD:
        return true;
    case EVENT_MARIADB_QUERY_COMPRESSED:
        return scan->standalone;
    case EVENT_QUERY:
        if (scan->flavour == GTID_MARIADB)
            return scan->standalone || ends_group(event);
        return ends_group(event) || (scan->first && !query_is(event, "BEGIN") && !query_is(event, "XA START"));
    default:
        return false;
    }
}

static int close_transaction(struct scan *scan, struct error *err)
{
    if (!scan->open)
        return 0;
    scan->open = false;
    if (scan->relay_fn)
        return scan->terminated ? scan->relay_fn(scan->arg, scan->begun_in, &scan->transaction, err) : 0;
    if (!scan->terminated)
        return damaged(scan, scan->transaction.from, err);
    return !scan->fn ? 0 : scan->fn(scan->arg, &scan->transaction, err);
}

/* Another log begins. What a relay log has of a transaction goes on after that. */
static int end_log(struct scan *scan, struct error *err)
{
    return scan->relay_fn && !scan->terminated ? 0 : close_transaction(scan, err);
}

static int begin_transaction(struct scan *scan, const struct event *event, struct error *err)
{
    const uint8_t *body = event->body;
    bool mariadb = event->type == EVENT_MARIADB_GTID;
    struct gtid_one one = {.server = event->server};

    if (close_transaction(scan, err) < 0)
        return -1;
    scan->begun_in = scan->index;
    if (scan->torn || event->body_len < (mariadb ? 13U : 25U) || mariadb != (scan->flavour == GTID_MARIADB))
        return damaged(scan, event->from, err);
    if (mariadb) {
        one.number = number(body, 8);
        one.domain = (uint32_t)number(body + 8, 4);
        scan->standalone = (body[12] & STANDALONE) != 0;
    } else {
        print_uuid(body + 1, one.source);
        one.number = number(body + 1 + UUID_BYTES, 8);
        one.server = 0;
    }
    scan->transaction = (struct binlog_transaction){
        .gtid = one, .from = event->from, .to = event->from + event->len, .at_s = event->at_s};
    scan->open = scan->first = true;
    scan->terminated = false;
    return 0;
}

static int take_description(struct scan *scan, const struct event *event, struct error *err)
{
    struct strbuf *description = &scan->head->description;
    uint8_t sum[CHECKSUM_BYTES];

    if (event->body_len < 58 || event->body_len + HEADER_BYTES + CHECKSUM_BYTES != event->len)
        return damaged(scan, event->from, err);
    scan->checksums = event->body[event->body_len - 1] == 1;
    if (description->len > 0)
        return end_log(scan, err); /* of the next of the logs that binlog_tail.h has joined */
    uint32_t crc = ~sum_of_peeked(scan, event->type);
    for (unsigned i = 0; i < CHECKSUM_BYTES; i++)
        sum[i] = (uint8_t)(crc >> (8 * i));
    strbuf_add(description, scan->event.buf, scan->event.len);
    description->buf[FLAGS_AT] = (char)(description->buf[FLAGS_AT] & ~FLAG_IN_USE);
    strbuf_add(description, (const char *)sum, sizeof(sum));
    return 0;
}

static int take_other(struct scan *scan, const struct event *event)
{
    if (!scan->open)
        return 0;
    scan->terminated = terminates(scan, event);
    if (event->type == EVENT_QUERY)
        scan->first = false;
    scan->transaction.to = event->from + event->len;
    return 0;
}

/* Length (4), then the name of a log: of all before it the engines have everything on the disk. The last one counts. */
static int take_checkpoint(struct scan *scan, const struct event *event, struct error *err)
{
    size_t len = event->body_len > 4 ? number(event->body, 4) : 0;

    if (!scan->relay_fn && len > 0 && len <= event->body_len - 4) {
        free(scan->head->checkpoint);
        scan->head->checkpoint = xasprintf("%.*s", (int)len, (const char *)event->body + 4);
    }
    return end_log(scan, err);
}

static int take_event(struct scan *scan, const struct event *event, struct error *err)
{
    switch (event->type) {
    case EVENT_DESCRIPTION:
        return take_description(scan, event, err);
    case EVENT_PREVIOUS_GTIDS:
        scan->head_done = true;
        return take_previous(scan, event, err);
    case EVENT_MARIADB_GTID_LIST:
        scan->head_done = true;
        return take_list(scan, event, err);
    case EVENT_GTID:
    case EVENT_MARIADB_GTID:
        scan->head_done = true;
        return scan->fn || scan->relay_fn ? begin_transaction(scan, event, err) : 0;
    case EVENT_STOP:
    case EVENT_ROTATE:
        return end_log(scan, err);
    case EVENT_MARIADB_CHECKPOINT:
        return take_checkpoint(scan, event, err);
    case EVENT_MARIADB_ENCRYPTION:
        return unusable(scan, err, "it is encrypted");
    case EVENT_ANONYMOUS:
        return unusable(scan, err, "it holds transactions without a GTID");
    case EVENT_GTID_TAGGED:
        return unusable(scan, err, "it holds GTIDs with tags");
    default:
        return take_other(scan, event);
    }
}

static int resume_at(struct scan *scan, uint64_t *at, struct error *err)
{
    if (scan->resume < *at || scan->resume > scan->size)
        return damaged(scan, scan->resume, err);
    *at = scan->resume;
    scan->resume = 0;
    scan->open = false; /* where no list precedes it, the first transaction has been looked at */
    return fseeko(scan->file, (off_t)*at, SEEK_SET) < 0 ? error_set_errno(err, errno, "reading %s", scan->path) : 0;
}

static int scan_events(struct scan *scan, struct error *err)
{
    uint64_t at = BINLOG_MAGIC_BYTES;
    struct event event;

    while (scan->fn || !scan->head_done) {
        enum step step = next_event(scan, at, &event, err);
        if (step == STEP_FAILED || (step == STEP_EVENT && take_event(scan, &event, err) < 0))
            return -1;
        if (step == STEP_END)
            break;
        at += event.len;
        if (scan->head_done && scan->resume && resume_at(scan, &at, err) < 0)
            return -1;
    }
    if (scan->head->description.len == 0)
        return unusable(scan, err, "it does not begin as a binary log does");
    /* What is open and not whole was torn off by the crash. */
    return scan->open && scan->terminated ? close_transaction(scan, err) : 0;
}

static bool is_binary_log(const uint8_t *magic)
{
    return memcmp(magic,
               "\xfe"
               "bin",
               BINLOG_MAGIC_BYTES) == 0;
}

static int open_file(struct scan *scan, struct error *err)
{
    uint8_t magic[BINLOG_MAGIC_BYTES];
    off_t size = -1;

    if (fseeko(scan->file, 0, SEEK_END) == 0)
        size = ftello(scan->file);
    if (size < 0 || fseeko(scan->file, 0, SEEK_SET) < 0)
        return error_set_errno(err, errno, "reading %s", scan->path);
    scan->size = (uint64_t)size;
    if (fread(magic, 1, sizeof(magic), scan->file) != sizeof(magic))
        return unusable(scan, err, "it is empty");
    if (memcmp(magic,
            "\xfd"
            "bin",
            sizeof(magic)) == 0)
        return unusable(scan, err, "it is encrypted");
    return is_binary_log(magic) ? 0 : unusable(scan, err, "it is no binary log");
}

int64_t binlog_file_begun_ms(const char *path)
{
    uint8_t head[BINLOG_MAGIC_BYTES + HEADER_BYTES];
    FILE *file = fopen(path, "rbe");
    bool is_read = file && fread(head, 1, sizeof(head), file) == sizeof(head);

    if (file)
        fclose(file);
    if (!is_read)
        return -1;
    if (!is_binary_log(head) || head[BINLOG_MAGIC_BYTES + 4] != EVENT_DESCRIPTION)
        return 0;
    uint64_t at_s = number(head + BINLOG_MAGIC_BYTES, 4);
    return at_s ? ((int64_t)at_s + 1) * 1000 : 0;
}

int binlog_file_scan(const char *path, enum gtid_flavour flavour, struct binlog_head *head, binlog_transaction_fn fn,
    void *arg, struct error *err)
{
    return binlog_file_scan_from(path, flavour, 0, head, fn, arg, err);
}

int binlog_file_scan_from(const char *path, enum gtid_flavour flavour, uint64_t from, struct binlog_head *head,
    binlog_transaction_fn fn, void *arg, struct error *err)
{
    struct scan *scan = xnew(struct scan);
    int rc = -1;

    *scan = (struct scan){.path = path, .flavour = flavour, .head = head, .resume = from, .fn = fn, .arg = arg};
    *head = (struct binlog_head){0};
    strbuf_init(&head->description, 4 * KM_KIB);
    strbuf_init(&scan->event, HEADER_BYTES + BINLOG_PEEK_MAX);
    scan->file = fopen(path, "re");
    if (!scan->file)
        error_set_errno(err, errno, "opening %s", path);
    else if (open_file(scan, err) == 0)
        rc = scan_events(scan, err);
    if (scan->file)
        fclose(scan->file);
    strbuf_release(&scan->event);
    free(scan);
    return rc;
}

/* ---- relay logs ---- */

static int scan_relay_log(struct scan *scan, struct error *err)
{
    uint64_t at = BINLOG_MAGIC_BYTES;
    enum step step = STEP_EVENT;
    struct event event;

    if (open_file(scan, err) < 0)
        return -1;
    scan->checksums = false;
    while (step == STEP_EVENT) {
        step = next_event(scan, at, &event, err);
        if (step == STEP_FAILED || (step == STEP_EVENT && take_event(scan, &event, err) < 0))
            return -1;
        at += step == STEP_EVENT ? event.len : 0;
    }
    scan->torn = scan->torn || at < scan->size;
    return 0;
}

int binlog_relay_scan(
    const char *const *paths, size_t count, enum gtid_flavour flavour, binlog_relay_fn fn, void *arg, struct error *err)
{
    struct scan *scan = xnew(struct scan);
    struct binlog_head head = {0};
    int rc = 0;

    *scan = (struct scan){.flavour = flavour, .head = &head, .relay_fn = fn, .arg = arg};
    strbuf_init(&head.description, 4 * KM_KIB);
    strbuf_init(&scan->event, HEADER_BYTES + BINLOG_PEEK_MAX);
    for (; rc == 0 && scan->index < count; scan->index++) {
        scan->path = paths[scan->index];
        scan->file = fopen(scan->path, "re");
        rc = scan->file ? scan_relay_log(scan, err) : error_set_errno(err, errno, "opening %s", scan->path);
        if (scan->file)
            fclose(scan->file);
    }
    if (rc == 0 && scan->open && scan->terminated)
        rc = close_transaction(scan, err);
    binlog_head_release(&head);
    strbuf_release(&scan->event);
    free(scan);
    return rc;
}
