/*
 * accounts.h: the accounts, database and user a cluster asks for, as SQL.
 *
 * The plan is pure: what is wanted in, statements out. Every statement can be repeated; nothing is ever dropped: a user whose name was
 * taken out of the spec stays as it is (somebody may be working with it), as does a database.
 *
 * System accounts (root, replication, monitor) are local to each member: sql_log_bin = 0. Database and user are made on the primary alone, and
 * reach the others by replication.
 */
#ifndef KM_AGENT_MYSQL_ACCOUNTS_H
#define KM_AGENT_MYSQL_ACCOUNTS_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/error.h"

struct accounts_want {
    char *root_password; /* secret; NULL: there is no file, the account is left alone */
    char *replication_password;
    char *monitor_password;
    char *user_password;
    char *database;   /* NULL: none */
    char *username;   /* NULL: none */
    char *agent_user; /* the name we enter by: nobody else's */
    bool primary;     /* database and user are made, too */
    char hash[65];    /* agent_api.h: accounts_hash */
};

void accounts_want_release(struct accounts_want *want);
struct accounts_want *accounts_want_copy(const struct accounts_want *want);
void accounts_want_free(struct accounts_want *want); /* NULL is fine */

struct accounts_step {
    const char *what; /* for messages: "account root@%" */
    char *sql;        /* secret */
};
struct accounts_plan {
    struct accounts_step *steps;
    size_t count;
};

/* Pure. ERROR_INVALID: the wish cannot be met whatever the server says (a reserved or over-long name). */
int accounts_plan_make(const struct accounts_want *want, const struct dialect *dialect, bool partial_revokes,
    struct accounts_plan *ret, struct error *err) KM_MUST_CHECK;
void accounts_plan_release(struct accounts_plan *plan);

/* Runs the plan up to the first failure; the error says at which account, and never holds a password. */
int accounts_apply(struct session *session, const struct accounts_plan *plan, struct error *err) KM_MUST_CHECK;

/* What the server holds of the system accounts, password hashes included, as a number: another one means that somebody has changed, added or
 * dropped one. 0: it cannot be read. */
uint64_t accounts_digest(struct session *session);

#endif
