/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accounts_left.h: accounts and databases that were made for spec.username and spec.database, and which those no longer
 * name. They stay, with passwords and rights, until somebody drops them: people should hear of them, and an account can
 * be locked meanwhile.
 *
 * What is made is noted in a table beside the record of accounts.h, before it is made: so the note is with the data,
 * after a failover, in a backup, on a volume that another cluster takes over. A note of what somebody has dropped by
 * hand counts for nothing. What earlier versions have made before the names changed is not noted.
 */
#ifndef KM_AGENT_MYSQL_ACCOUNTS_LEFT_H
#define KM_AGENT_MYSQL_ACCOUNTS_LEFT_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/agent_api.h"
#include "common/error.h"

/* One row for each: kind, and name. */
#define ACCOUNTS_MADE_TABLE "kubemysql.made"
#define ACCOUNTS_MADE_USER "user"
#define ACCOUNTS_MADE_DATABASE "database"

/* Beside those that are named. What is more is not told. */
#define ACCOUNTS_LEFT_MAX 16

struct accounts_left {
    bool is_known; /* the server was asked */
    bool can_lock; /* it has ACCOUNT LOCK */
    int account_count, database_count;
    struct {
        char name[33];
        bool is_locked;
    } accounts[ACCOUNTS_LEFT_MAX + 1];
    char databases[ACCOUNTS_LEFT_MAX + 1][65];
};

/* All that was noted and is there, named or not. */
int accounts_left_look(
    struct session *session, const struct dialect *dialect, struct accounts_left *ret, struct error *err) KM_MUST_CHECK;
/* The account is among them. */
bool accounts_left_name(const struct accounts_left *left, const char *username);
/* There may be more than are listed. */
bool accounts_left_are_cut(const struct accounts_left *left);
/* Without what is named; NULL: nothing is. */
void accounts_left_without(struct accounts_left *left, const char *username, const char *database);
/* Some can be locked and are not. */
bool accounts_left_are_open(const struct accounts_left *left);
/* As in a status: names, separated by commas. */
void accounts_left_fill_status(const struct accounts_left *left, struct agent_status *ret);

#endif
