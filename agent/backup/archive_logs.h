/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_logs.h: the binary logs of a server that runs, as what is still to be archived of them. Files are only read:
 * which ones there are says the index file, the newest may end in the middle of an event, and the server may remove the
 * oldest at any time.
 *
 * First where to begin (archive_logs_find): the point up to which the archive and this server's history agree, and
 * whether the logs reach back to it. MySQL: by sets. MariaDB: positions tell of each domain the last transaction only,
 * and a former primary may have archived some at its end that nobody ever had but itself (0-1-99, 0-1-100, while the
 * next one went on with 0-2-99): so the point is the newest end of a segment that these logs hold by server and number,
 * found by going back in the archive. It may lie before the exact one: the chain's rule is that of an earlier epoch
 * counts what the next one's first segment begins with.
 *
 * MariaDB's logs begin with a list of the last transactions before them (of a copied member too: gtid_binlog_state is
 * set). MySQL's do not tell what came by a copy: that the server knows (`executed`).
 */
#ifndef KM_AGENT_BACKUP_ARCHIVE_LOGS_H
#define KM_AGENT_BACKUP_ARCHIVE_LOGS_H

#include "common/base.h"

#include "agent/backup/binlog_file.h"
#include "common/error.h"
#include "common/gtid.h"
#include "common/strvec.h"

struct archive_logs {
    enum gtid_flavour flavour;
    struct strvec files; /* whole paths, oldest first */
};
/* Reads the index. */
int archive_logs_open(
    const char *data_dir, enum gtid_flavour flavour, struct archive_logs *ret, struct error *err) KM_MUST_CHECK;
void archive_logs_release(struct archive_logs *logs);

struct archive_start {
    size_t file;            /* index */
    uint64_t offset;        /* in it; 0: its beginning */
    struct gtid_set *after; /* owned. What is in it is archived, or was before these logs */
    bool agrees;            /* nothing lies between the archive and `after` */
    bool rewound;           /* `after` is less than the archive has: the histories differ behind it */
};
void archive_start_release(struct archive_start *start);

struct archive_wish {
    const struct gtid_set *archived; /* NULL: nothing ever was */
    const char *executed;            /* by the server, before the index was read; what cannot be read is not known */
    /* The newest segment, if these logs, or what they were before the server lost their end, are where it was read:
     * what it begins behind, and when its last transaction was committed. Numbers are given out again after such a
     * loss; the time tells it. NULL: it is of others. */
    const struct gtid_set *own_after;
    int64_t own_last_s;
    /* MariaDB: ends of segments before `archived`, newest first; *ret NULL: there are no more without a gap. The
     * caller's to free. */
    int (*older)(void *arg, struct gtid_set **ret, struct error *err);
    void *arg;
};
/* *ret must be released in any case. */
int archive_logs_find(const struct archive_logs *logs, const struct archive_wish *wish, struct archive_start *ret,
    struct error *err) KM_MUST_CHECK;

/* Identifies a log by its beginning. */
uint64_t archive_head_hash(const struct binlog_head *head);

#endif
