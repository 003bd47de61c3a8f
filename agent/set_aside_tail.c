/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/set_aside_tail.h"

#include <errno.h>
#include <sys/stat.h>

#include "agent/backup/binlog_file.h"
#include "agent/backup/binlog_tail.h"
#include "agent/set_aside.h"
#include "common/alloc.h"
#include "common/gtid.h"
#include "common/strvec.h"

/* The tail that waited for acknowledgements is as short as the longest pause of replicas; copying it must not hold the
 * start up for long. More only if a recovery begins further back. */
#define TAIL_BYTES ((uint64_t)(64 * KM_MIB))
#define SET_LOG_NAME "binlog.000001" /* set_aside.h */

/* What a start may cut off. */
struct span {
    uint64_t bytes; /* of the files that hold it */
    uint64_t count;
    struct gtid_one first, last;
};

static int on_transaction(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct span *span = arg;

    UNUSED(err);
    if (span->count++ == 0)
        span->first = transaction->gtid;
    span->last = transaction->gtid;
    return 0;
}

static int add_size(const char *path, struct span *span, struct error *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return error_set_errno(err, errno, "reading %s", path);
    span->bytes += (uint64_t)st.st_size;
    return span->bytes <= SET_ASIDE_MAX_BYTES
        ? 0
        : error_set(err, ERROR_TOO_LARGE, "the binary logs from which a recovery begins take more than %llu bytes",
              (unsigned long long)SET_ASIDE_MAX_BYTES);
}

static int scan_one(const char *path, struct span *span, char **ret_checkpoint, struct error *err)
{
    struct binlog_head head;
    int rc = binlog_file_scan(path, GTID_MARIADB, &head, on_transaction, span, err);

    if (rc == 0 && ret_checkpoint)
        *ret_checkpoint = steal_ptr(head.checkpoint);
    binlog_head_release(&head);
    return rc;
}

/* The index of the log from which a recovery begins. */
static int find_checkpoint(const struct strvec *files, const char *name, size_t *ret, struct error *err)
{
    for (size_t i = files->n; name && i-- > 0;) {
        *ret = i;
        if (str_eq(strrchr(files->v[i], '/') + 1, name))
            return 0;
    }
    return error_set(err, ERROR_NOT_FOUND, "from which binary log a recovery begins is not known");
}

static int find_span(const char *data_dir, struct span *ret, struct error *err)
{
    _cleanup_(strvec_release) struct strvec files;
    _cleanup_(freep) char *checkpoint = NULL;
    struct span newest = {.count = 0};
    size_t begin = 0;

    *ret = (struct span){.count = 0};
    strvec_init(&files);
    if (binlog_tail_files(data_dir, &files, err) < 0 || add_size(files.v[files.n - 1], ret, err) < 0 ||
        scan_one(files.v[files.n - 1], &newest, &checkpoint, err) < 0 ||
        find_checkpoint(&files, checkpoint, &begin, err) < 0)
        return -1;
    for (size_t i = begin; i + 1 < files.n; i++) {
        if (add_size(files.v[i], ret, err) < 0 || scan_one(files.v[i], ret, NULL, err) < 0)
            return -1;
    }
    if (ret->count == 0)
        ret->first = newest.first;
    if (newest.count > 0)
        ret->last = newest.last;
    ret->count += newest.count;
    return 0;
}

/* ---- what was kept ---- */

struct kept {
    const struct span *span;
    bool first, last;
};

static bool is_same(const struct gtid_one *a, const struct gtid_one *b)
{
    return a->domain == b->domain && a->server == b->server && a->number == b->number;
}

static int on_kept(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct kept *kept = arg;

    UNUSED(err);
    kept->first = kept->first || is_same(&transaction->gtid, &kept->span->first);
    kept->last = is_same(&transaction->gtid, &kept->span->last);
    return 0;
}

static int check_kept(const struct agent_paths *paths, const char *set, const struct span *span, struct error *err)
{
    _cleanup_(freep) char *path =
        xasprintf("%s/set-aside/%.*s/" SET_LOG_NAME, paths->state_dir, (int)strcspn(set, ":"), set);
    struct kept kept = {.span = span};
    struct binlog_head head;

    if (span->count == 0) /* then it cuts nothing off */
        return 0;
    int rc = binlog_file_scan(path, GTID_MARIADB, &head, on_kept, &kept, err);
    binlog_head_release(&head);
    if (rc == 0 && !(kept.first && kept.last))
        rc = error_set(err, ERROR_NOT_FOUND, "what was set aside does not hold all that may be cut off");
    return rc;
}

int set_aside_tail(
    const struct agent_paths *paths, uint64_t epoch, uint64_t end, struct agent_set_asides *ret, struct error *err)
{
    struct span span;

    if (find_span(paths->data_dir, &span, err) < 0)
        return -1;
    const struct set_aside_wish wish = {
        .paths = paths,
        .flavour = AGENT_FLAVOUR_MARIADB,
        .epoch = epoch,
        .errant = "",
        .end = end,
        .reason = "the server is started such that it cuts off what nobody has acknowledged",
        .max_bytes = MAX_OF(TAIL_BYTES, span.bytes),
        .min_bytes = span.bytes,
    };
    return set_aside_make(&wish, ret, err) < 0 ? -1 : check_kept(paths, ret->sets[0], &span, err);
}
