/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strangers.h: connections that came in by the agent's own account and are not the agent's.
 *
 * The account is that of the operating system's user, so it is everybody's who enters the server's container: a client
 * that kubectl exec starts there comes in by it, without a password. What such a client does, and which locks it holds,
 * the agent must be able to end as it ends any other client's. So each session of ours holds a named lock that says its
 * number (SESSION_MARK in session.h), whichever process of ours opened it: `run`, a hook, a child. The server keeps
 * that lock for as long as the connection, tells everybody whose it is, and asks no table for it.
 *
 * Programs of others that we run (mariadb-backup, mariadb-dump, mysqldump) come in by the same account and hold no such
 * lock: they are not to be ended. So while one of them runs, only those are strangers who were there before it.
 */
#ifndef KM_AGENT_MYSQL_STRANGERS_H
#define KM_AGENT_MYSQL_STRANGERS_H

#include "common/base.h"

#include "agent/mysql/session.h"
#include "common/error.h"

struct strangers {
    char *ids; /* as " 12 15 "; NULL: nobody */
};

/* Of those whom the server lists now; more than a thousand are left out. Where the server refuses to tell, nobody is
 * one. Release with strangers_release, also when it fails. */
int strangers_look(struct session *session, struct strangers *ret, struct error *err) KM_MUST_CHECK;
/* id: as the server lists it; NULL: no. */
bool strangers_has(const struct strangers *strangers, const char *id);
void strangers_release(struct strangers *strangers);

/* Around the life of a program of others that comes in by our account; from any thread. Nothing is counted for a
 * command of this program itself: it marks its sessions. */
void strangers_tool_begins(const char *const *argv);
void strangers_tool_ends(const char *const *argv);

#endif
