/*
 * replication_facts.h: what the server says of replication, at every probe: whom it follows and how that goes, who acknowledges its
 * commits, the heartbeat it has applied, transactions that hold up a change of roles.
 */
#ifndef KM_AGENT_MYSQL_REPLICATION_FACTS_H
#define KM_AGENT_MYSQL_REPLICATION_FACTS_H

#include "common/base.h"

#include "agent/mysql/dialect.h"
#include "agent/mysql/session.h"
#include "common/agent_api.h"
#include "common/error.h"
#include "common/gtid.h"

#define HEARTBEAT_DATABASE "kubemysql"
#define HEARTBEAT_TABLE HEARTBEAT_DATABASE ".heartbeat"
/* "Long" is a transaction that is open for longer than this. */
#define LONG_TRANSACTION_S 1

struct replication_facts {
    bool seen;                           /* the server was asked */
    bool read_only;                      /* as strict as the family can be: super_read_only where it exists */
    char gtid_executed[AGENT_GTID_SIZE]; /* cut with "..." */
    char gtid_received[AGENT_GTID_SIZE]; /* executed, and what waits in relay logs */

    bool configured; /* it knows a source */
    char source_host[AGENT_HOST_SIZE];
    uint32_t source_port;
    bool source_tls; /* with the server's name verified, by GTID, as our account */
    enum agent_thread receiver, applier;
    uint32_t receiver_errno, applier_errno;
    char receiver_error[192], applier_error[192];

    bool semi_sync_source;  /* commits wait for acknowledgements */
    bool semi_sync_replica; /* wished: acknowledgements are given */
    uint32_t semi_sync_clients;
    uint32_t waiting_commits;
    uint64_t acknowledged; /* commits, ever */

    bool has_beat;
    uint64_t beat_epoch;
    int64_t beat_us;      /* the source's clock */
    int64_t beat_read_us; /* ours, when the row was read */

    uint32_t long_transactions;
    char long_transaction[160];
};

/* The session must be idle. agent_user: its transactions are not counted. */
int replication_facts_observe(struct session *session, const struct dialect *dialect, const char *agent_user,
    struct replication_facts *ret, struct error *err) KM_MUST_CHECK;

/* Whole sets, for those that must be sure. The caller frees (gtid_set_free). */
struct gtid_set *replication_executed(struct session *session, const struct dialect *dialect, struct error *err);
struct gtid_set *replication_received(struct session *session, const struct dialect *dialect, struct error *err);

/* Pure: one column of the status of a replica, either spelling. */
void replication_facts_take(struct replication_facts *facts, const char *name, const char *value);

enum gtid_flavour replication_gtid_flavour(const struct dialect *dialect);
/* At most size - 1 bytes, cut texts end in "..."; line breaks are left out. */
void replication_copy_text(char *to, size_t size, const char *text);

#endif
