/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/put_back_part.h"

#include <errno.h>
#include <fcntl.h>

#include "agent/backup/binlog_file.h"
#include "common/strbuf.h"

#define LOG_NAME "binlog.000001" /* of what was set aside (set_aside.h) */
#define COPY_BYTES 16384

struct part {
    const struct gtid_set *executed, *up_to;
    struct gtid_set *reached; /* what is executed once the part is */
    uint64_t from, to;        /* bytes that are lacking */
    bool continues;           /* what is before it is executed here */
    bool gap;                 /* behind it comes what the next primary had not */
};

static bool is_within(const struct gtid_set *a, const struct gtid_set *b)
{
    enum gtid_relation relation = gtid_set_compare(a, b);

    return relation == GTID_EQUAL || relation == GTID_SUBSET;
}

/* Numbers of a domain only grow, so nothing is between two that follow each other. A set may begin with the first
 * transaction that was cut off. */
static bool follows(const struct gtid_set *executed, const struct gtid_one *one)
{
    struct gtid_one before = *one;

    before.number--;
    return before.number == 0 || gtid_set_contains(executed, &before);
}

static int on_transaction(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct part *part = arg;
    const struct gtid_one *one = &transaction->gtid;

    if (!gtid_set_contains(part->up_to, one)) {
        part->gap = part->to > 0;
        return 0;
    }
    if (gtid_set_contains(part->executed, one)) {
        part->continues = true;
        return part->to == 0 ? 0 : error_set(err, ERROR_CONFLICT, "what is executed is not the beginning of it");
    }
    if (part->gap)
        return error_set(err, ERROR_CONFLICT, "what nobody had lies in between");
    if (part->to == 0) {
        part->from = transaction->from;
        part->continues = part->continues || follows(part->executed, one);
    }
    part->to = transaction->to; /* what lies between two of them begins the next of the logs that were joined */
    gtid_set_add(part->reached, one);
    return 0;
}

static int check(const struct part *part, struct error *err)
{
    if (part->to > 0 && !part->continues)
        return error_set(err, ERROR_NOT_FOUND, "what was set aside does not reach back to what is executed");
    return is_within(part->up_to, part->reached)
        ? 0
        : error_set(err, ERROR_NOT_FOUND, "what was set aside does not hold all that is lacking");
}

static int copy_bytes(FILE *in, FILE *out, uint64_t from, uint64_t to)
{
    char buffer[COPY_BYTES];

    if (fseeko(in, (off_t)from, SEEK_SET) < 0)
        return -1;
    while (from < to) {
        size_t n = fread(buffer, 1, (size_t)MIN_OF(to - from, (uint64_t)sizeof(buffer)), in);
        if (n == 0 || fwrite(buffer, 1, n, out) != n)
            return -1;
        from += n;
    }
    return 0;
}

/* What relay_apply takes; it need not outlive a crash. */
static int write_part(
    const char *from, const struct binlog_head *head, const struct part *part, const char *to, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf start;
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    FILE *in = fopen(from, "re");

    strbuf_init(&start, (size_t)(64 * KM_KIB) + head->description.len);
    strbuf_add(&start, head->description.buf, head->description.len);
    binlog_add_rotate(&head->description, LOG_NAME, &start);
    bool written = in && out && copy_bytes(in, out, 0, BINLOG_MAGIC_BYTES) == 0 &&
        fwrite(start.buf, 1, start.len, out) == start.len && copy_bytes(in, out, part->from, part->to) == 0;
    int rc = written ? 0 : error_set_errno(err, errno, "copying %s", from);
    if (in)
        fclose(in);
    if (out && fclose(out) != 0 && rc == 0)
        rc = error_set_errno(err, errno, "writing %s", to);
    return rc;
}

int put_back_part_write(const char *log, const struct gtid_set *executed, const struct gtid_set *up_to,
    const char *spool, bool *ret_any, struct error *err)
{
    struct part part = {.executed = executed, .up_to = up_to};
    struct binlog_head head;

    *ret_any = !is_within(up_to, executed);
    if (!*ret_any)
        return 0;
    part.reached = gtid_set_new(GTID_MARIADB);
    gtid_set_unite(part.reached, executed);
    int rc = binlog_file_scan(log, GTID_MARIADB, &head, on_transaction, &part, err);
    if (rc == 0)
        rc = check(&part, err);
    if (rc == 0)
        rc = write_part(log, &head, &part, spool, err);
    binlog_head_release(&head);
    gtid_set_free(part.reached);
    return rc;
}
