/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/binlog_holds.h"

#include "agent/backup/binlog_file.h"
#include "agent/backup/binlog_tail.h"
#include "common/alloc.h"
#include "common/strvec.h"

struct wanted {
    struct gtid_one *list;
    size_t n;
    size_t found;
    bool *is_found;
};

static bool read_number(const char **at, char end, uint64_t *ret)
{
    char *stop = NULL;
    if (**at < '0' || **at > '9')
        return false;
    *ret = strtoull(*at, &stop, 10);
    if (*stop != end)
        return false;
    *at = stop + (end != '\0');
    return true;
}

static bool parse_one(const char *text, struct gtid_one *ret)
{
    uint64_t domain, server;
    *ret = (struct gtid_one){.number = 0};
    if (!read_number(&text, '-', &domain) || !read_number(&text, '-', &server) ||
        !read_number(&text, '\0', &ret->number) || domain > UINT32_MAX || server > UINT32_MAX)
        return false;
    ret->domain = (uint32_t)domain;
    ret->server = (uint32_t)server;
    return true;
}

static int parse(const char *text, struct wanted *ret, struct error *err)
{
    _cleanup_(strvec_release) struct strvec lines;
    strvec_init(&lines);
    strvec_split(&lines, text, "\n");
    ret->list = xnew_array(struct gtid_one, MAX_OF(lines.n, 1));
    ret->is_found = xnew_array(bool, MAX_OF(lines.n, 1));
    for (size_t i = 0; i < lines.n; i++) {
        if (str_empty(lines.v[i]))
            continue;
        if (!parse_one(lines.v[i], &ret->list[ret->n++]))
            return error_set(err, ERROR_INVALID, "\"%.60s\" is no GTID", lines.v[i]);
    }
    return ret->n > 0 ? 0 : error_set(err, ERROR_INVALID, "no GTID is named");
}

static int take(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct wanted *wanted = arg;
    const struct gtid_one *gtid = &transaction->gtid;
    UNUSED(err);
    for (size_t i = 0; i < wanted->n; i++) {
        const struct gtid_one *one = &wanted->list[i];
        if (one->number != gtid->number || one->server != gtid->server || one->domain != gtid->domain)
            continue;
        wanted->found += !wanted->is_found[i];
        wanted->is_found[i] = true;
    }
    return 0;
}

/* It is not in a log before this one. */
static bool comes_after(const struct binlog_head *head, const struct gtid_one *one)
{
    for (size_t i = 0; i < head->last_count; i++) {
        const struct gtid_one *last = &head->last[i];
        if (last->domain == one->domain && last->server == one->server)
            return last->number < one->number;
    }
    return true;
}

/* *ret_here: some that are not found yet can only be here, or in a log that was read already. */
static int look_at_head(const char *path, const struct wanted *wanted, bool *ret_here, struct error *err)
{
    struct binlog_head head;
    int rc = binlog_file_scan(path, GTID_MARIADB, &head, NULL, NULL, err);
    *ret_here = false;
    for (size_t i = 0; rc == 0 && i < wanted->n; i++)
        *ret_here |= !wanted->is_found[i] && comes_after(&head, &wanted->list[i]);
    binlog_head_release(&head);
    return rc;
}

static bool is_missing(const struct binlog_head *head, const struct wanted *wanted)
{
    for (size_t i = 0; i < wanted->n; i++) {
        if (!wanted->is_found[i] && comes_after(head, &wanted->list[i]))
            return true;
    }
    return false;
}

/* *ret_missing: one of them is nowhere. */
static int look(const char *path, struct wanted *wanted, bool *ret_missing, struct error *err)
{
    struct binlog_head head;
    bool here = false;
    if (look_at_head(path, wanted, &here, err) < 0)
        return -1;
    if (!here)
        return 0;
    int rc = binlog_file_scan(path, GTID_MARIADB, &head, take, wanted, err);
    *ret_missing = rc == 0 && is_missing(&head, wanted);
    binlog_head_release(&head);
    return rc;
}

int binlog_holds(const char *data_dir, const char *gtids, bool *ret, struct error *err)
{
    struct wanted wanted = {.n = 0};
    _cleanup_(strvec_release) struct strvec files;
    bool missing = false;
    strvec_init(&files);
    int rc = parse(gtids, &wanted, err);
    if (rc == 0)
        rc = binlog_tail_files(data_dir, &files, err);
    for (size_t i = files.n; rc == 0 && i-- > 0 && !missing && wanted.found < wanted.n;)
        rc = look(files.v[i], &wanted, &missing, err);
    if (rc == 0)
        *ret = wanted.found == wanted.n;
    free(wanted.list);
    free(wanted.is_found);
    return rc;
}
