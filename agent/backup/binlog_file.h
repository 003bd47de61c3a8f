/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binlog_file.h: one binary log file as a list of whole transactions. The server may run: what it appends after the
 * file was opened is not seen, and an event that is only half there is the end.
 *
 * The servers' own tools print statements; here the bytes themselves are wanted, and to know exactly where the last
 * whole transaction ends. Format:
 * https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html and
 * https://mariadb.com/kb/en/2-binlog-event-header/
 *
 * What a crash tore off at the end of the file is left out: a server writes a transaction to its binary log, whole,
 * before it waits for acknowledgements and before it tells its client, so nobody was ever told of that one. A damaged
 * event with others behind it is an error.
 *
 * Not read: encrypted files, transactions without a GTID, MySQL's GTIDs with tags (ERROR_INVALID).
 */
#ifndef KM_AGENT_BACKUP_BINLOG_FILE_H
#define KM_AGENT_BACKUP_BINLOG_FILE_H

#include "common/base.h"

#include "common/error.h"
#include "common/gtid.h"
#include "common/strbuf.h"

#define BINLOG_MAGIC_BYTES 4
/* Longest beginning of an event that is looked into; lists of GTIDs are longer than others. */
#define BINLOG_PEEK_MAX (4 * KM_MIB)

struct binlog_head {
    struct strbuf description; /* the event that everything behind it needs, not marked as in use */
    struct gtid_set *before;   /* what had been executed when the file was begun; NULL: it does not say */
    struct gtid_one *last;     /* MariaDB: of each domain and server */
    size_t last_count;
    char *checkpoint; /* MariaDB, of the whole file: the log from which a crash recovery begins; NULL: it names none */
};

void binlog_head_release(struct binlog_head *head);

/* The event that a source sends to its replicas before a log: names it. description: of the log whose events follow.
 * MySQL: behind an empty set of previous GTIDs, without which a server that keeps its relay logs (relay_log_recovery =
 * OFF) refuses the file (error 1866; tried, 9.7.4). */
void binlog_add_rotate(const struct strbuf *description, const char *log_name, struct strbuf *out);

/* When the file was begun, wall clock: of its first event, whose time is in whole seconds; rounded up. 0: the file does
 * not tell (it is encrypted). -1: it could not be read, which may pass: it is gone, or was begun just now.
 * https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_replication_binlog_event.html */
int64_t binlog_file_begun_ms(const char *path);

struct binlog_transaction {
    struct gtid_one gtid;
    uint64_t from, to; /* bytes of the file */
    int64_t at_s;      /* when it was committed, by the header of its first event */
};
/* -1 ends the scan with *err. */
typedef int (*binlog_transaction_fn)(void *arg, const struct binlog_transaction *transaction, struct error *err);

/* head must be released in any case. fn NULL: only the head is read. */
int binlog_file_scan(const char *path, enum gtid_flavour flavour, struct binlog_head *head, binlog_transaction_fn fn,
    void *arg, struct error *err) KM_MUST_CHECK;
/* The same, but transactions from byte `from` on: `to` of one that was told before. The file must be the same one. */
int binlog_file_scan_from(const char *path, enum gtid_flavour flavour, uint64_t from, struct binlog_head *head,
    binlog_transaction_fn fn, void *arg, struct error *err) KM_MUST_CHECK;

/* Relay logs, in their order, as one list: a transaction may go on in the next file, one that a lost connection tore
 * off is left out (the source sends it again), and what a server tore off when it died ends its file, behind which
 * there may be others without transactions. index: of the file in which it begins. */
typedef int (*binlog_relay_fn)(void *arg, size_t index, const struct binlog_transaction *transaction, struct error *err);
int binlog_relay_scan(const char *const *paths, size_t count, enum gtid_flavour flavour, binlog_relay_fn fn, void *arg,
    struct error *err) KM_MUST_CHECK;

#endif
