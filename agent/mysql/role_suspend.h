/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_suspend.h: a primary on which nobody may write for a while, because its volume has too little room. It stays the
 * primary: clients stay connected and read, replicas go on receiving, commits that wait for an acknowledgement go on
 * waiting. A write is refused with error 1290 (--read-only). role_close, of a primary that stops being one, can follow
 * at any time.
 *
 * SET GLOBAL read_only waits for statements that write and for commits, and so do all new ones meanwhile. What runs may
 * fill the volume until then: so once the caller says so, connections that write lose theirs (KILL CONNECTION, with
 * MariaDB softly: KILL SOFT). KILL QUERY is not used: with it MariaDB answers OK to a commit that waits. Whoever waits,
 * be it for an acknowledgement, for a lock, or behind the commit of another, is left alone.
 */
#ifndef KM_AGENT_MYSQL_ROLE_SUSPEND_H
#define KM_AGENT_MYSQL_ROLE_SUSPEND_H

#include "common/base.h"

#include <stdatomic.h>

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/error.h"

struct role_suspend_wish {
    /* MySQL: administrators may write once nobody else does (super_read_only off, read_only on). MariaDB's always
     * may. */
    bool root;
    /* Asked a few times a second, of everyone who writes: whether it is to lose the connection. age_ms: of its
     * transaction. */
    bool (*ends)(void *arg, int64_t age_ms);
    void *arg;
    const atomic_bool *superseded; /* it is given up: something else is to be done; may be NULL */
};

/* Events stop, and nobody may write. Can be repeated. *ret_done: false: given up. */
int role_suspend(struct session *session, const struct dialect *dialect, const struct role_suspend_wish *wish,
    bool *ret_done, struct error *err) KM_MUST_CHECK;

/* On a server that is closed for writes, once: connections of those who write nevertheless are ended (MariaDB's
 * read_only lets administrators write, and nothing of its can keep them from it). People in the pod may use the
 * agent's own account, which itself writes nothing then. *ret_any: there were some. */
int role_end_writers(struct session *session, const struct dialect *dialect, const struct role_suspend_wish *wish,
    bool *ret_any, struct error *err) KM_MUST_CHECK;

/* Pure: whether a connection writes, as one row of the list of connections and the rows that its transaction has
 * changed say. Of the agent's own the heartbeat's does, those of replication do not. is_stranger: as strangers.h says;
 * only asked of the agent's account. */
bool role_suspend_writes(const char *user, const char *database, const char *command, const char *state,
    const char *statement, uint64_t rows, const char *agent_user, bool is_stranger);

#endif
