/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/set_aside_beyond.h"

#include "agent/backup/archive_logs.h"
#include "agent/backup/binlog_file.h"
#include "agent/backup/binlog_tail.h"
#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/log.h"
#include "common/position.h"
#include "common/strvec.h"

/* Of each domain and server the last one; more servers than a cluster has ever had. */
#define LAST_MAX 4096

struct last {
    struct gtid_one *v;
    size_t n;
};

static void take(struct last *last, const struct gtid_one *one)
{
    for (size_t i = 0; i < last->n; i++) {
        if (last->v[i].domain == one->domain && last->v[i].server == one->server) {
            last->v[i].number = MAX_OF(last->v[i].number, one->number);
            return;
        }
    }
    if (last->n == LAST_MAX)
        return;
    last->v = xreallocarray(last->v, last->n + 1, sizeof(*last->v));
    last->v[last->n++] = *one;
}

/* ---- what is here ---- */

struct here {
    enum gtid_flavour flavour;
    struct gtid_set *set; /* MySQL */
    struct last last;     /* MariaDB */
    uint64_t to;
};

static int on_transaction(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct here *here = arg;

    UNUSED(err);
    here->to = transaction->to;
    if (here->flavour == GTID_MYSQL)
        gtid_set_add(here->set, &transaction->gtid);
    else
        take(&here->last, &transaction->gtid);
    return 0;
}

static void take_head(struct here *here, const struct binlog_head *head)
{
    if (here->flavour == GTID_MYSQL && head->before)
        gtid_set_unite(here->set, head->before);
    for (size_t i = 0; i < head->last_count; i++)
        take(&here->last, &head->last[i]);
}

/* The newest file stands for all before it. */
static int look(const char *newest, struct here *here, uint64_t *ret_end, struct error *err)
{
    struct binlog_head head;
    int rc = binlog_file_scan(newest, here->flavour, &head, on_transaction, here, err);

    if (rc == 0 && here->flavour == GTID_MYSQL && !head.before)
        rc = error_set(err, ERROR_PROTOCOL, "%s does not say what was before it", newest);
    if (rc == 0) {
        uint64_t words[2] = {archive_head_hash(&head), here->to};
        take_head(here, &head);
        *ret_end = hash64(hash64(HASH64_INIT, newest, strlen(newest)), words, sizeof(words)) | 1;
    }
    binlog_head_release(&head);
    return rc;
}

/* ---- MySQL ---- */

static int subtract(const struct here *here, const char *theirs, struct set_aside_beyond *ret, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *other = gtid_set_parse(GTID_MYSQL, theirs, err);

    if (!other)
        return -1;
    _cleanup_(gtid_set_freep) struct gtid_set *rest = gtid_set_subtract(here->set, other);
    gtid_set_print(rest, &ret->gtids);
    return 0;
}

/* ---- MariaDB ---- */

static int parse_state(const char *text, struct last *ret, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *checked = gtid_set_parse(GTID_MARIADB, text, err);
    _cleanup_(strvec_release) struct strvec parts;

    strvec_init(&parts);
    if (!checked)
        return -1;
    strvec_split(&parts, text, ", \n");
    for (size_t i = 0; i < parts.n; i++) {
        struct gtid_one one = {0};
        char *end;
        one.domain = (uint32_t)strtoul(parts.v[i], &end, 10);
        one.server = (uint32_t)strtoul(end + (*end == '-'), &end, 10);
        one.number = strtoull(end + (*end == '-'), &end, 10);
        take(ret, &one);
    }
    return 0;
}

/* The last transaction of that domain that both have; 0: there is none. */
static uint64_t shared_number(const struct last *here, const struct last *there, uint32_t domain, uint32_t *ret_server)
{
    uint64_t shared = 0;

    for (size_t i = 0; i < here->n; i++) {
        for (size_t k = 0; k < there->n && here->v[i].domain == domain; k++) {
            if (there->v[k].domain != domain || there->v[k].server != here->v[i].server)
                continue;
            uint64_t number = MIN_OF(here->v[i].number, there->v[k].number);
            if (number > shared)
                *ret_server = here->v[i].server;
            shared = MAX_OF(shared, number);
        }
    }
    return shared;
}

static void add(struct strbuf *text, const struct gtid_one *one)
{
    strbuf_adds(text, text->len ? "," : "");
    gtid_one_print(GTID_MARIADB, one, text);
}

static int compare(const struct here *here, const char *theirs, struct set_aside_beyond *ret, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *shared = gtid_set_new(GTID_MARIADB);
    struct last there = {0};
    int rc = parse_state(theirs, &there, err);

    for (size_t i = 0; rc == 0 && i < here->last.n; i++) {
        const struct gtid_one *one = &here->last.v[i];
        struct gtid_one both = {.domain = one->domain};
        both.number = shared_number(&here->last, &there, one->domain, &both.server);
        if (both.number > 0)
            gtid_set_add(shared, &both);
        if (one->number > both.number)
            add(&ret->gtids, one);
    }
    gtid_set_print(shared, &ret->shared);
    free(there.v);
    return rc;
}

/* ---- both ---- */

static int find(
    const char *newest, enum gtid_flavour flavour, const char *theirs, struct set_aside_beyond *ret, struct error *err)
{
    struct here here = {.flavour = flavour, .set = gtid_set_new(flavour)};
    int rc = look(newest, &here, &ret->end, err);

    if (rc == 0 && (str_empty(theirs) || !position_is_whole(theirs)))
        rc = error_set(err, ERROR_NOT_FOUND, "the other's position is not known");
    if (rc == 0)
        rc = flavour == GTID_MYSQL ? subtract(&here, theirs, ret, err) : compare(&here, theirs, ret, err);
    gtid_set_free(here.set);
    free(here.last.v);
    return rc;
}

void set_aside_beyond_find(
    const char *data_dir, enum gtid_flavour flavour, const char *theirs, struct set_aside_beyond *ret)
{
    _cleanup_(strvec_release) struct strvec files;
    struct error err = ERROR_INIT;

    *ret = (struct set_aside_beyond){0};
    strbuf_init(&ret->gtids, GTID_TEXT_MAX);
    strbuf_init(&ret->shared, GTID_TEXT_MAX);
    strvec_init(&files);
    if (binlog_tail_files(data_dir, &files, &err) == 0)
        ret->known = find(files.v[files.n - 1], flavour, theirs, ret, &err) == 0;
    else
        ret->known = err.kind == ERROR_NOT_FOUND;
    if (err.kind != ERROR_NONE)
        log_info(ret->known ? "the data has no binary logs" : "what the data has alone cannot be told", LOG_ERR(&err));
    if (!ret->known)
        strbuf_reset(&ret->gtids);
}

uint64_t set_aside_beyond_end(const char *data_dir, enum gtid_flavour flavour)
{
    _cleanup_(strvec_release) struct strvec files;
    struct here here = {.flavour = flavour, .set = gtid_set_new(flavour)};
    uint64_t end = 0;

    strvec_init(&files);
    if (binlog_tail_files(data_dir, &files, NULL) < 0 || look(files.v[files.n - 1], &here, &end, NULL) < 0)
        end = 0;
    gtid_set_free(here.set);
    free(here.last.v);
    return end;
}

void set_aside_beyond_release(struct set_aside_beyond *beyond)
{
    strbuf_release(&beyond->gtids);
    strbuf_release(&beyond->shared);
}
