/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/binlog_tail.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "agent/backup/binlog_file.h"
#include "agent/backup/log_index.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/strbuf.h"
#include "common/strvec.h"

/* run_mycnf.c names the log. */
static const char magic[BINLOG_MAGIC_BYTES] = {(char)0xfe, 'b', 'i', 'n'};
/* 24 bytes each and some: a plan of so many takes 100 MB, and they would take hours to apply. */
#define TRANSACTIONS_MAX (1000 * 1000)
/* Looking for single transactions goes back this far. */
#define LOOK_BACK_BYTES (4 * 1024 * KM_MIB)

struct piece {
    struct gtid_one gtid;
    uint32_t file;
    uint64_t from, to;
};

struct file {
    char *path;
    struct strbuf description;
};

struct binlog_tail {
    struct binlog_wish wish;
    struct gtid_set *wanted;
    struct gtid_set *seen; /* BINLOG_BEYOND: all that the files hold or stand for */
    struct gtid_set *set;
    struct file *files;
    size_t file_count;
    size_t first; /* the file to begin with */
    struct piece *pieces;
    size_t count, capacity, skipped;
    uint64_t bytes, left_out;
    struct gtid_one *positions; /* MariaDB: of wish.gtids */
    bool *met;                  /* parallel */
    size_t position_count;
    /* Reading. */
    size_t at;     /* piece */
    uint64_t done; /* of it, or of what precedes it */
    FILE *open;
    uint32_t open_file;
    bool magic_sent, described;
};

int binlog_tail_files(const char *data_dir, struct strvec *ret, struct error *err)
{
    if (log_index_files(data_dir, LOG_INDEX_BINLOG, ret, err) < 0)
        return -1;
    return ret->n ? 0 : error_set(err, ERROR_NOT_FOUND, "%s/" LOG_INDEX_BINLOG " names no binary log", data_dir);
}

/* ---- which files ---- */

static bool is_within(const struct gtid_set *before, const struct gtid_set *wanted)
{
    enum gtid_relation relation = gtid_set_compare(before, wanted);

    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

/* By numbers alone: that it is the same history is checked when the transactions are met. */
static bool all_behind(const struct binlog_head *head, const struct gtid_set *wanted)
{
    for (size_t i = 0; i < head->last_count; i++) {
        if (!gtid_set_contains(wanted, &head->last[i]))
            return false;
    }
    return true;
}

/* Whether nothing that is wished for is in older files. */
static bool begins_here(const struct binlog_tail *tail, const struct binlog_head *head)
{
    if (!head->before)
        return false;
    if (tail->wish.choice == BINLOG_BEYOND)
        return tail->wish.flavour == GTID_MYSQL ? is_within(head->before, tail->wanted) : all_behind(head, tail->wanted);
    if (tail->wish.flavour == GTID_MARIADB || gtid_set_is_empty(tail->wanted))
        return false;
    _cleanup_(gtid_set_freep) struct gtid_set *rest = gtid_set_subtract(tail->wanted, head->before);
    return gtid_set_compare(rest, tail->wanted) == GTID_EQUAL;
}

static uint64_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* MariaDB: positions name one transaction per domain, which must be in these logs, or before them. */
static void meet(struct binlog_tail *tail, const struct gtid_one *one)
{
    for (size_t i = 0; i < tail->position_count; i++) {
        const struct gtid_one *position = &tail->positions[i];
        if (position->domain == one->domain && position->server == one->server && position->number == one->number)
            tail->met[i] = true;
    }
}

static void adopt(struct binlog_tail *tail, struct binlog_head *head)
{
    for (size_t i = 0; i < head->last_count; i++)
        meet(tail, &head->last[i]);
    tail->seen = steal_ptr(head->before);
}

/* Backwards from the newest. */
static int choose_first(struct binlog_tail *tail, struct error *err)
{
    uint64_t look_back = tail->wish.flavour == GTID_MARIADB ? tail->wish.max_bytes : LOOK_BACK_BYTES;
    uint64_t bytes = 0;

    for (size_t i = tail->file_count; i-- > 0;) {
        struct binlog_head head;
        tail->first = i;
        int rc = binlog_file_scan(tail->files[i].path, tail->wish.flavour, &head, NULL, NULL, err);
        bool here = rc == 0 && begins_here(tail, &head);
        if (here)
            adopt(tail, &head);
        binlog_head_release(&head);
        if (rc < 0 || here)
            return rc;
        bytes += size_of(tail->files[i].path);
        if (tail->wish.choice == BINLOG_NEWEST && bytes >= look_back)
            return 0;
    }
    if (tail->wish.choice == BINLOG_NEWEST)
        return 0;
    return error_set(err, ERROR_NOT_FOUND, "the binary logs do not reach back to %.200s", tail->wish.gtids);
}

/* ---- which transactions ---- */

static bool of_named_server(const struct binlog_tail *tail, const struct gtid_one *one)
{
    for (size_t i = 0; i < tail->position_count; i++) {
        if (tail->positions[i].server == one->server)
            return true;
    }
    return tail->position_count == 0;
}

static bool is_wished(const struct binlog_tail *tail, const struct gtid_one *one)
{
    if (tail->wish.choice == BINLOG_BEYOND)
        return !gtid_set_contains(tail->wanted, one);
    if (tail->wish.behind && gtid_set_contains(tail->wish.behind, one))
        return false;
    if (tail->wish.flavour == GTID_MARIADB)
        return of_named_server(tail, one);
    return gtid_set_is_empty(tail->wanted) || gtid_set_contains(tail->wanted, one);
}

static void drop_oldest(struct binlog_tail *tail)
{
    while (tail->bytes > tail->wish.max_bytes && tail->skipped < tail->count) {
        const struct piece *oldest = &tail->pieces[tail->skipped++];
        tail->bytes -= oldest->to - oldest->from;
        tail->left_out++;
    }
    if (tail->skipped < TRANSACTIONS_MAX / 2)
        return;
    memmove(tail->pieces, tail->pieces + tail->skipped, (tail->count - tail->skipped) * sizeof(*tail->pieces));
    tail->count -= tail->skipped;
    tail->skipped = 0;
}

struct visit {
    struct binlog_tail *tail;
    uint32_t file;
};

static int on_transaction(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct visit *visit = arg;
    struct binlog_tail *tail = visit->tail;
    const struct gtid_one *gtid = &transaction->gtid;
    bool beyond = tail->wish.choice == BINLOG_BEYOND;

    if (beyond)
        gtid_set_add(tail->seen, gtid);
    meet(tail, gtid);
    if (!is_wished(tail, gtid))
        return 0;
    if (tail->count >= TRANSACTIONS_MAX)
        return error_set(err, ERROR_TOO_LARGE, "there are more than %d transactions", TRANSACTIONS_MAX);
    if (tail->count == tail->capacity) {
        tail->capacity = tail->capacity ? tail->capacity * 2 : 64;
        tail->pieces = xreallocarray(tail->pieces, tail->capacity, sizeof(*tail->pieces));
    }
    tail->pieces[tail->count++] =
        (struct piece){.gtid = *gtid, .file = visit->file, .from = transaction->from, .to = transaction->to};
    tail->bytes += transaction->to - transaction->from;
    if (!beyond)
        drop_oldest(tail);
    else if (tail->bytes > tail->wish.max_bytes)
        return error_set(err, ERROR_TOO_LARGE, "the transactions beyond %.200s take more than %llu bytes",
            tail->wish.gtids, (unsigned long long)tail->wish.max_bytes);
    return 0;
}

static int scan_files(struct binlog_tail *tail, struct error *err)
{
    int rc = 0;

    for (size_t i = tail->first; rc == 0 && i < tail->file_count; i++) {
        struct visit visit = {.tail = tail, .file = (uint32_t)i};
        struct binlog_head head;
        rc = binlog_file_scan(tail->files[i].path, tail->wish.flavour, &head, on_transaction, &visit, err);
        tail->files[i].description = head.description;
        head.description = (struct strbuf){0};
        binlog_head_release(&head);
    }
    return rc;
}

/* MySQL's logs begin with what is in older ones, but not with what came by a copy: that only the server could tell. */
static int check_copied(const struct binlog_tail *tail, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *executed =
        gtid_set_parse(GTID_MYSQL, str_or_empty(tail->wish.executed), NULL);
    _cleanup_(gtid_set_freep) struct gtid_set *rest = gtid_set_subtract(tail->wanted, tail->seen);
    _cleanup_(gtid_set_freep) struct gtid_set *copied = executed ? gtid_set_subtract(executed, tail->seen) : NULL;

    if (!gtid_set_is_empty(rest) && (!executed || !is_within(rest, executed)))
        return error_set(
            err, ERROR_CONFLICT, "not all of %.200s is in these binary logs: the histories differ", tail->wish.gtids);
    if (copied && !is_within(copied, tail->wanted))
        return error_set(err, ERROR_NOT_FOUND, "the binary logs do not reach back to %.200s", tail->wish.gtids);
    return 0;
}

/* What the position names must be known here, or these logs are not its continuation. */
static int check_history(const struct binlog_tail *tail, struct error *err)
{
    bool all = true;

    if (tail->wish.flavour == GTID_MYSQL)
        return check_copied(tail, err);
    for (size_t i = 0; i < tail->position_count; i++)
        all = all && tail->met[i];
    return all ? 0
               : error_set(err, ERROR_CONFLICT, "not all of %.200s is in these binary logs: the histories differ",
                     tail->wish.gtids);
}

/* ---- plan ---- */

static void take_positions(struct binlog_tail *tail)
{
    const char *at = tail->wish.gtids;
    size_t capacity = 1;

    for (const char *c = at; *c; c++)
        capacity += *c == ',';
    tail->positions = xreallocarray(NULL, capacity, sizeof(*tail->positions));
    tail->met = xreallocarray(NULL, capacity, sizeof(*tail->met));
    while (*at) {
        struct gtid_one one = {0};
        char *end;
        one.domain = (uint32_t)strtoul(at, &end, 10);
        one.server = (uint32_t)strtoul(end + (*end == '-'), &end, 10);
        one.number = strtoull(end + (*end == '-'), &end, 10);
        tail->met[tail->position_count] = false;
        tail->positions[tail->position_count++] = one;
        at = end + strcspn(end, ",");
        at += *at == ',';
    }
}

static void list_files(struct binlog_tail *tail, const struct strvec *names)
{
    tail->files = xreallocarray(NULL, names->n, sizeof(*tail->files));
    for (size_t i = 0; i < names->n; i++)
        tail->files[i] = (struct file){.path = xstrdup(names->v[i])};
    tail->file_count = names->n;
}

static int plan(struct binlog_tail *tail, struct error *err)
{
    _cleanup_(strvec_release) struct strvec names;

    strvec_init(&names);
    tail->wanted = gtid_set_parse(tail->wish.flavour, tail->wish.gtids, err);
    if (!tail->wanted || binlog_tail_files(tail->wish.data_dir, &names, err) < 0)
        return -1;
    list_files(tail, &names);
    if (tail->wish.flavour == GTID_MARIADB)
        take_positions(tail);
    if (choose_first(tail, err) < 0 || scan_files(tail, err) < 0)
        return -1;
    if (tail->wish.choice == BINLOG_BEYOND && check_history(tail, err) < 0)
        return -1;
    tail->set = gtid_set_new(tail->wish.flavour);
    for (size_t i = tail->skipped; i < tail->count; i++)
        gtid_set_add(tail->set, &tail->pieces[i].gtid);
    tail->at = tail->skipped;
    return 0;
}

struct binlog_tail *binlog_tail_plan(const struct binlog_wish *wish, struct error *err)
{
    struct binlog_tail *tail = xnew(struct binlog_tail);

    *tail = (struct binlog_tail){.wish = *wish};
    tail->wish.gtids = xstrdup(str_or_empty(wish->gtids));
    if (plan(tail, err) == 0)
        return tail;
    binlog_tail_free(tail);
    return NULL;
}

void binlog_tail_free(struct binlog_tail *tail)
{
    if (!tail)
        return;
    for (size_t i = 0; i < tail->file_count; i++) {
        free(tail->files[i].path);
        strbuf_release(&tail->files[i].description);
    }
    if (tail->open)
        fclose(tail->open);
    gtid_set_free(tail->wanted);
    gtid_set_free(tail->seen);
    gtid_set_free(tail->set);
    free(tail->files);
    free(tail->pieces);
    free(tail->positions);
    free(tail->met);
    free((char *)(uintptr_t)tail->wish.gtids);
    free(tail);
}

const struct gtid_set *binlog_tail_set(const struct binlog_tail *tail)
{
    return tail->set;
}

uint64_t binlog_tail_count(const struct binlog_tail *tail)
{
    return tail->count - tail->skipped;
}

uint64_t binlog_tail_bytes(const struct binlog_tail *tail)
{
    return tail->bytes;
}

uint64_t binlog_tail_left_out(const struct binlog_tail *tail)
{
    return tail->left_out;
}

void binlog_tail_each(const struct binlog_tail *tail, void (*fn)(void *arg, const struct gtid_one *gtid), void *arg)
{
    for (size_t i = tail->skipped; i < tail->count; i++)
        fn(arg, &tail->pieces[i].gtid);
}

/* ---- the bytes ---- */

static int enter_file(struct binlog_tail *tail, const struct piece *piece, struct error *err)
{
    const char *path = tail->files[piece->file].path;

    if (!tail->open || tail->open_file != piece->file) {
        if (tail->open)
            fclose(tail->open);
        tail->open = fopen(path, "re");
        tail->open_file = piece->file;
        tail->described = false;
    }
    if (!tail->open)
        return error_set_errno(err, errno, "opening %s", path);
    if (fseeko(tail->open, (off_t)(piece->from + tail->done), SEEK_SET) < 0)
        return error_set_errno(err, errno, "reading %s", path);
    return 0;
}

static ssize_t describe(
    const struct binlog_tail *tail, const struct piece *piece, void *buffer, size_t size, struct error *err)
{
    const struct file *file = &tail->files[piece->file];
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, size);
    strbuf_add(&text, file->description.buf, file->description.len);
    if (tail->wish.relay)
        binlog_add_rotate(&file->description, strrchr(file->path, '/') + 1, &text);
    if (text.overflowed)
        return error_set(err, ERROR_INTERNAL, "no room");
    memcpy(buffer, text.buf, text.len);
    return (ssize_t)text.len;
}

ssize_t binlog_tail_read(struct binlog_tail *tail, void *buffer, size_t size, struct error *err)
{
    if (!tail->magic_sent) {
        if (size < sizeof(magic))
            return error_set(err, ERROR_INTERNAL, "no room");
        memcpy(buffer, magic, sizeof(magic));
        tail->magic_sent = true;
        return sizeof(magic);
    }
    if (tail->at == tail->count)
        return 0;
    const struct piece *piece = &tail->pieces[tail->at];
    if (enter_file(tail, piece, err) < 0)
        return -1;
    if (!tail->described) {
        tail->described = true;
        return describe(tail, piece, buffer, size, err);
    }
    size_t want = (size_t)MIN_OF((uint64_t)size, piece->to - piece->from - tail->done);
    if (fread(buffer, 1, want, tail->open) != want)
        return error_set(err, ERROR_IO, "%s has changed meanwhile", tail->files[piece->file].path);
    tail->done += want;
    if (tail->done == piece->to - piece->from) {
        tail->done = 0;
        tail->at++;
    }
    return (ssize_t)want;
}
