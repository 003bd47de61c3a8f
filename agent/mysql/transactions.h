/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transactions.h: the open transactions of a server's connections, whatever is in the text of their statements.
 *
 * information_schema.innodb_trx lists them with that text, in utf8mb3, and MySQL fills all columns of a row whichever
 * are asked for. It refuses the whole table for one text that it cannot convert, be it an emoji or bytes that are no
 * characters (error 3854; seen with 9.7.4, as of information_schema.processlist). MariaDB puts question marks there.
 * Then MySQL's performance schema is asked, which has no such column: it tells who has a lock for writing on a table,
 * not how many rows were changed. Where that schema is off, nothing is known of them.
 * For the same reason connections are listed by SHOW PROCESSLIST: that gives the text as it is.
 */
#ifndef KM_AGENT_MYSQL_TRANSACTIONS_H
#define KM_AGENT_MYSQL_TRANSACTIONS_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/error.h"

#define TRANSACTIONS_MAX 4096

struct transaction {
    uint64_t connection; /* its number */
    int64_t age_s;       /* in whole seconds */
    uint64_t rows;       /* that it has changed; where that is not known, 1 for one that may have */
    bool runs;           /* a statement of it is being executed */
};

struct transactions {
    struct transaction *v; /* oldest first */
    size_t n;
};

/* Transactions of connections that are older than so many seconds (-1: all); more than TRANSACTIONS_MAX are left out.
 * The session must be idle. Release with transactions_release, also when it fails. */
int transactions_look(struct session *session, const struct dialect *dialect, int older_than_s,
    struct transactions *ret, struct error *err) KM_MUST_CHECK;
/* NULL: that connection has none. */
const struct transaction *transactions_of(const struct transactions *transactions, uint64_t connection);
void transactions_release(struct transactions *transactions);

#endif
