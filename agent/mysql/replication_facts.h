/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replication_facts.h: what the server says of replication, at every probe: whom it follows and how that goes, who
 * acknowledges its commits, the heartbeat it has applied, transactions that hold up a change of roles.
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
/* How often a source that has nothing to say says so. */
#define SOURCE_BEAT_MS 500
/* "Long" is a transaction that is open for longer than this. */
#define LONG_TRANSACTION_S 1
#define LOOK_UNREAD_SIZE 224
/* Channels that an agent makes for a moment (relay_apply.h). The one that it follows its source by is the default one,
 * "". All others are somebody else's: they are a problem of the member, and left alone. */
#define PUT_BACK_CHANNEL "putback"
#define REPLAY_CHANNEL "replay"
#define SALVAGE_CHANNEL "salvage"
/* 64 characters of UTF-8. */
#define CHANNEL_NAME_SIZE 200

struct replication_facts {
    bool seen;                       /* the server was asked */
    int64_t begun_ms;                /* monotonic: from when on */
    uint64_t connection;             /* session_serial of the session that asked */
    bool read_only;                  /* as strict as the family can be: super_read_only where it exists */
    bool has_super_read_only;        /* it does */
    bool root_only;                  /* read_only without super_read_only: administrators may write, and nobody else */
    bool offline;                    /* MySQL: offline_mode, so clients are refused and thrown out */
    struct position_pool *positions; /* holds the next three; a reference is owned; NULL: somebody else does */
    const char *gtid_executed;       /* NULL counts as "" */
    const char *gtid_received;       /* executed, and what waits in relay logs; likewise */
    const char *gtid_state;          /* MariaDB: gtid_binlog_state; likewise */
    uint32_t oldest_log;   /* the number of the oldest binary log; 0: not known. Filled in by the probe lane */
    char first_logged[80]; /* the first transaction in that; "" there is none yet, or it is not known. Likewise */
    char self_written[64]; /* by the server itself at a start (start_domain.h), in neither of these; "" nothing */

    bool configured; /* it knows a source */
    char source_host[AGENT_HOST_SIZE];
    uint32_t source_port;
    bool source_tls; /* with the server's name verified, by GTID, as our account */
    enum agent_thread receiver, applier;
    /* an applier that is started while the receiver is off goes on with what was received; MariaDB drops it */
    bool relay_logs_last;
    bool relay_logs_kept;   /* the server was started such that it kept them (relay_keep.h) */
    bool relay_logs_synced; /* each transaction that is received is on the disk before it is acknowledged */
    /* MariaDB: positions of files count, not GTIDs: only while relay logs are applied (relay_recover.h). */
    bool by_file;
    uint32_t source_beat_ms;   /* the source's own beat as configured; 0: not known */
    uint64_t stream_signature; /* another one after anything has come from the source, its beat included */
    uint64_t stream_position;  /* another one after an event has come, of a transaction that has not ended, perhaps */
    uint64_t source_beats;     /* a source that has sent all that it has beats */
    bool all_applied;          /* everything received is executed */
    bool drops_received;       /* MariaDB: what it had received and not executed will be dropped when a thread starts */
    int64_t relay_written_ms;  /* monotonic: when the newest relay log was written; 0: not known. Filled in by lanes */
    uint32_t receiver_errno, applier_errno;
    char receiver_error[192], applier_error[192];
    /* For people: the applier's error, else the receiver's, with the transaction that it is about, as far as the server
     * tells; "" neither. */
    char error_text[AGENT_PROBLEM_MESSAGE_SIZE];
    char foreign_channel[CHANNEL_NAME_SIZE]; /* one that somebody else has made; "": there is none */

    bool semi_sync_source;   /* as set: commits are to wait for acknowledgements */
    bool semi_sync_replica;  /* as set: acknowledgements are to be given */
    bool semi_sync_altered;  /* time-out, wait point, or what is done without replicas, is not as semi_sync.h sets it */
    uint32_t semi_sync_acks; /* as set: for how many a commit waits; 0: the server counts one */
    bool semi_sync_waits;    /* as the server does: commits wait */
    bool semi_sync_gives;    /* as the server does: the source that is connected gets them */
    uint32_t semi_sync_clients;
    uint32_t waiting_commits;
    /* MySQL: a copy of it is being made by CLONE; only asked while commits wait or nobody may write */
    bool gives_clone;
    bool copy_waits;           /* who copies it waits for commits to end, while some wait for an acknowledgement */
    uint64_t acknowledged;     /* commits, since the server's start */
    uint64_t unacknowledged;   /* commits that ended without, likewise */
    bool unacknowledged_known; /* the server was asked for these counts */

    bool beat_locked;                         /* replication_beat_locked; only asked when a heartbeat is late */
    char lock_holder[AGENT_LOCK_HOLDER_SIZE]; /* lock_holder_look; only asked when writes may wait for a lock */

    bool has_beat;
    bool beat_unread;     /* what the row says is not known: it could not be read */
    uint64_t beat_epoch;  /* while the row cannot be read, as it was (replication_facts_keep): it never falls */
    int64_t beat_us;      /* the source's clock */
    int64_t beat_read_us; /* ours, when the row was read */

    /* The system tables were read. An account or an event that is being made locks them for as long as its commit waits
     * for an acknowledgement: then the members below are as they were (replication_facts_keep). What could not be read
     * although the tables are not locked counts as not there. */
    bool system_tables_seen;
    bool accounts_present; /* accounts.h: accounts_look */
    char accounts_hash[65];
    bool events_listed; /* events.h; only asked while clients can write */

    uint32_t long_transactions;
    char long_transaction[160];

    /* What the server refused to tell, and why, the first of it; "" nothing. Roles, threads and positions are not among
     * it: without those there is no look. */
    char unread[LOOK_UNREAD_SIZE];
};

/* The session must be idle. agent_user: its transactions are not counted, but for strangers' (strangers.h). Release
 * with replication_facts_release. */
int replication_facts_observe(struct session *session, const struct dialect *dialect, const char *agent_user,
    struct replication_facts *ret, struct error *err) KM_MUST_CHECK;

/* Whether a heartbeat of the agent's waits for a lock of somebody else's: a whole server is locked (FLUSH TABLES WITH
 * READ LOCK, a backup), or the table. */
int replication_beat_locked(struct session *session, const char *agent_user, bool *ret, struct error *err) KM_MUST_CHECK;
/* Pure: by one row of SHOW FULL PROCESSLIST. */
bool replication_is_locked_beat(const char *user, const char *state, const char *info, const char *agent_user);

/* Pure: whether one row of SHOW PROCESSLIST is of a copy that is being made, by CLONE INSTANCE of another server or
 * CLONE LOCAL of this one. */
bool replication_is_clone(const char *command, const char *info);

/* Whole sets, for those that must be sure. The caller frees (gtid_set_free). */
struct gtid_set *replication_executed(struct session *session, const struct dialect *dialect, struct error *err);
struct gtid_set *replication_received(struct session *session, const struct dialect *dialect, struct error *err);

/* *facts is as zeroed. Fine on zeroed ones. */
void replication_facts_release(struct replication_facts *facts);
/* Releases *to, which becomes a copy with a reference of its own. */
void replication_facts_keep(struct replication_facts *to, const struct replication_facts *from);

/* Whether a look goes on without `what`, as the server refused it: `unread` then says so, unless it says something
 * already. Otherwise it was no answer, and *err, if any, becomes *failure. */
bool replication_goes_without(
    char unread[static LOOK_UNREAD_SIZE], const char *what, const struct error *failure, struct error *err);

/* Pure: what `unread` tells of is kept in tables of the database kubemysql, which the primary's agent makes. */
bool replication_unread_is_ours(const char *unread);

/* Pure: one column of the status of a replica, either spelling; positions are left out where the facts have no pool. */
void replication_facts_take(struct replication_facts *facts, const char *name, const char *value);

/* Pure: whether one row of the status of a replica is of the default channel: MySQL and MariaDB list all channels. */
bool replication_row_is_own(unsigned count, const char *const *names, const char *const *values);
/* Pure: all columns of such a row; of another channel its name alone (foreign_channel). */
void replication_facts_take_row(
    struct replication_facts *facts, unsigned count, const char *const *names, const char *const *values);

/* Pure. The first keyword of a statement; of one that has none that we know, or of NULL, the connection's command.
 * Never a word of the statement itself: it may be a user's data, and what comes of this is read by whoever reads the
 * cluster's status. */
const char *replication_verb(const char *statement, const char *command);

/* Pure. One that is not known is not set anew for ever. */
bool replication_beat_is_right(const struct replication_facts *facts);

enum gtid_flavour replication_gtid_flavour(const struct dialect *dialect);

#endif
