/*
 * role_change.h: the statements that make a server what it was ordered to be. Each function can be repeated, starts by looking at the
 * server, and does only what is missing. None waits for longer than its bounds; what takes longer is called again.
 */
#ifndef KM_AGENT_MYSQL_ROLE_CHANGE_H
#define KM_AGENT_MYSQL_ROLE_CHANGE_H

#include "common/base.h"

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
    bool semi_sync;   /* acknowledge */
    bool reconfigure; /* also if host and port are right: another password */
    bool restart;     /* start a thread again that stopped with an error */
};

struct role_open_wish {
    const char *wait_for; /* GTID set, "" nothing */
    bool semi_sync;
    uint32_t acks;
};

/* To primary: everything in wait_for and everything received is applied, then the server follows nobody any more, commits wait for
 * acknowledgements if wished, then clients can write. *ret_done: false when it needs another call. ERROR_CONFLICT: wait_for cannot
 * come, as the server follows nobody. */
int role_open(struct session *session, const struct dialect *dialect, const struct role_open_wish *wish, bool *ret_done,
    struct error *err) KM_MUST_CHECK;

/* From primary: no client can write any more and none is connected; what gtid_executed says afterwards is final. Running statements may go
 * on for drain_ms (the server counts whole seconds: rounded up), then they are killed. agent_user: whose connections are spared, except
 * those that write heartbeats. Threads of replication are spared. */
int role_close(struct session *session, const struct dialect *dialect, const char *agent_user, uint32_t drain_ms,
    struct error *err) KM_MUST_CHECK;

/* Follows the source. Read-only must be on. */
int role_follow(struct session *session, const struct dialect *dialect, const struct role_source *source,
    struct error *err) KM_MUST_CHECK;
/* Follows nobody, but remembers whom. */
int role_stop(struct session *session, const struct dialect *dialect, struct error *err) KM_MUST_CHECK;

/* Pure: whether a connection of SHOW FULL PROCESSLIST is a client's that must go when the server is closed. */
bool role_is_client(const char *user, const char *database, const char *command, const char *agent_user);
/* Pure: the statement that names the source. Secret. */
struct strbuf;
void role_follow_sql(const struct dialect *dialect, const struct role_source *source, struct strbuf *out);

#endif
