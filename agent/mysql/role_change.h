/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_change.h: the statements that make a server what it was ordered to be. Each function can be repeated, starts by
 * looking at the server, and does only what is missing. None waits for longer than its bounds; what takes longer is
 * called again.
 */
#ifndef KM_AGENT_MYSQL_ROLE_CHANGE_H
#define KM_AGENT_MYSQL_ROLE_CHANGE_H

#include "common/base.h"

#include <stdatomic.h>

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/error.h"

/* How long role_open waits for transactions to be applied before it returns "not yet". */
#define ROLE_WAIT_MS 500

struct role_source {
    const char *host;
    uint32_t port;
    const char *password; /* secret, of the account "replication" */
    const char *ca_path;
    bool semi_sync;                /* acknowledge */
    bool reconfigure;              /* also if host and port are right: another password */
    bool restart;                  /* start a thread again that stopped with an error */
    bool drain;                    /* what was received is applied before the source is changed, which drops it */
    const atomic_bool *superseded; /* another order has come: what can wait is left out; may be NULL */
    bool applier_stays;            /* MySQL: only the receiver is changed; role_follow finds out by itself */
    bool prepare; /* all but the start: nothing is received, from nobody; nothing is dropped, whatever drain says */
};

struct role_followed {
    bool done;    /* false: needs another call */
    bool dropped; /* something that was received and not executed; whatever else is returned */
};

struct role_open_wish {
    const char *wait_for; /* GTID set, "" nothing */
    bool semi_sync;
    uint32_t acks;
    bool events;                   /* the event scheduler runs */
    bool stays_closed;             /* all but the last step: nobody can write, no events run */
    const atomic_bool *superseded; /* another order has come: it is not opened any more; may be NULL */
    /* All that was received is executed, and nothing is followed any more: what remains to be done before it is opened;
     * may be NULL. *ret_go: false: not yet. */
    int (*before)(void *arg, struct session *session, const struct dialect *dialect, bool *ret_go, struct error *err);
    void *arg;
};

/* To primary: everything in wait_for and everything received is applied, then the server follows nobody any more,
 * commits wait for acknowledgements if wished, then clients can write and events run. *ret_done: false when it needs
 * another call. ERROR_CONFLICT: wait_for cannot come, as the server follows nobody. */
int role_open(struct session *session, const struct dialect *dialect, const struct role_open_wish *wish, bool *ret_done,
    struct error *err) KM_MUST_CHECK;

/* To a replica that receives nothing: its applier goes on with what it has received. What is received is final after
 * that. */
int role_hold(struct session *session, const struct dialect *dialect, struct error *err) KM_MUST_CHECK;

/* Follows the source. Read-only must be on. */
int role_follow(struct session *session, const struct dialect *dialect, const struct role_source *source,
    struct role_followed *ret, struct error *err) KM_MUST_CHECK;
/* Follows nobody, but remembers whom. */
int role_stop(struct session *session, const struct dialect *dialect, struct error *err) KM_MUST_CHECK;

/* Pure: the statement that names the source. Secret. */
struct strbuf;
void role_follow_sql(const struct dialect *dialect, const struct role_source *source, struct strbuf *out);

#endif
