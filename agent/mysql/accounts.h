/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accounts.h: the accounts, database and user a cluster asks for, as SQL.
 *
 * The plan is pure: what is wanted in, statements out. Every statement can be repeated; nothing is ever dropped: a user
 * whose name was taken out of the spec stays as it is (somebody may be working with it), as does a database. What is
 * made for the spec is noted (accounts_left.h), and on a wish accounts that it no longer names are locked; naming one
 * again unlocks it.
 *
 * TLS: root@'%' enters with it alone, wherever the server can say so. With `require_tls` that holds of all accounts at
 * '%' that are made here; a note beside the record says that it was done, so that without it they are set free again,
 * and whoever has an account of ours altered by hand (REQUIRE SSL, without the note) keeps that. Accounts at localhost
 * are never bound to it: REQUIRE SSL refuses sockets, too.
 *
 * Only a primary makes them; the others get them by replication, and look whether they are there (accounts_look). What
 * is in nobody's binary log comes first, as it waits for no acknowledgement: after a change of passwords replicas may
 * have to get in before any can be given.
 *
 * A MySQL server lets nobody log in while the commit of an account statement waits for an acknowledgement, the replicas
 * that would give it included: without a replica it waits for ever. So of the logged part nothing is begun there before
 * it is known that acknowledgements come (semi_sync_await_answers).
 */
#ifndef KM_AGENT_MYSQL_ACCOUNTS_H
#define KM_AGENT_MYSQL_ACCOUNTS_H

#include "common/base.h"

#include "agent/mysql/accounts_left.h"
#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/error.h"

/* How much is to be done, and was done; more includes less. */
enum accounts_scope {
    ACCOUNTS_NONE,   /* no statement: not the primary */
    ACCOUNTS_LOCAL,  /* system accounts, without the binary log: commits wait now */
    ACCOUNTS_LOGGED, /* and once more with it, database and user, and a row that says so */
};

struct accounts_want {
    char *root_password; /* secret; NULL: there is no file, the account is left alone */
    char *replication_password;
    char *monitor_password;
    char *user_password;
    char *database;   /* NULL: none */
    char *username;   /* NULL: none */
    char *agent_user; /* the name we enter by: nobody else's */
    bool own_account; /* it is among what is logged: somebody has dropped it on a primary, and so on all */
    bool require_tls;
    bool lock_left; /* accounts that are left (accounts_left.h) */
    enum accounts_scope scope;
    char hash[65]; /* agent_api.h: accounts_hash */
};

void accounts_want_release(struct accounts_want *want);
struct accounts_want *accounts_want_copy(const struct accounts_want *want);
void accounts_want_free(struct accounts_want *want); /* NULL is fine */

struct accounts_step {
    const char *what; /* for messages: "account root@%" */
    char *sql;        /* secret */
    char *makes;      /* the database that it makes, and is not begun where that is there (database_look.h); or NULL */
    bool asks;        /* whether acknowledgements come, and is not begun else */
};
struct accounts_plan {
    struct accounts_step *steps;
    size_t count;
};

/* What the server has told of itself and of an earlier plan. */
struct accounts_facts {
    bool partial_revokes;
    bool tls_noted;            /* accounts_look_tls */
    struct accounts_left left; /* accounts_left_look; only asked where some are to be locked */
};

/* Pure. ERROR_INVALID: the wish cannot be met whatever the server says (a reserved or over-long name). */
int accounts_plan_make(const struct accounts_want *want, const struct dialect *dialect,
    const struct accounts_facts *facts, struct accounts_plan *ret, struct error *err) KM_MUST_CHECK;
void accounts_plan_release(struct accounts_plan *plan);

/* Runs the plan up to the first failure; the error says at which account, and never holds a password. ERROR_UNAVAILABLE:
 * also where acknowledgements do not come, see above. */
int accounts_apply(struct session *session, const struct dialect *dialect, const struct accounts_plan *plan,
    struct error *err) KM_MUST_CHECK;

/* Whether root@'%' and replication@'%' are there, and the hash of the wish that a primary has carried out ("": none
 * has), as far as this server has got. The row comes after the accounts, here as in the binary log. */
int accounts_look(struct session *session, const struct dialect *dialect, bool *ret_present, char ret_hash[static 65],
    struct error *err) KM_MUST_CHECK;

/* Whether an earlier plan has bound accounts to TLS (require_tls), and none has set them free since. */
int accounts_look_tls(struct session *session, bool *ret_noted, struct error *err) KM_MUST_CHECK;

/* What the server holds of the system accounts, password hashes included, as a number: another one means that somebody
 * has changed, added or dropped one. 0: it cannot be read. */
uint64_t accounts_digest(struct session *session, const struct dialect *dialect);

#endif
