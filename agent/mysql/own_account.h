/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_account.h: the account by which the agent enters, by the socket as the operating system's user. The init-file
 * makes it at every start of the server (bootstrap/run_mycnf.h). Somebody may drop or change it meanwhile: who is
 * connected stays so, with all rights, and nobody enters any more. Over such a connection it is made anew.
 */
#ifndef KM_AGENT_MYSQL_OWN_ACCOUNT_H
#define KM_AGENT_MYSQL_OWN_ACCOUNT_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/strbuf.h"

enum own_account {
    OWN_ACCOUNT_UNKNOWN, /* the server did not say, or it is MySQL 5.6 */
    OWN_ACCOUNT_THERE,
    OWN_ACCOUNT_MENDED, /* it was not, and was made anew on this server alone: no binary log has it */
    OWN_ACCOUNT_LOST,   /* it is not, and could not be made: the server is read-only (MySQL) */
};

#define OWN_ACCOUNT_STATEMENTS 3
/* Pure: statement `index` of those that make it, without a semicolon; each can be repeated. Not for MySQL 5.6. */
void own_account_sql(const struct dialect *dialect, const char *user, int index, struct strbuf *out);

/* Looks, and mends. The session is one that has entered by it, and must be idle. */
enum own_account own_account_tend(struct session *session, const struct dialect *dialect);

#endif
