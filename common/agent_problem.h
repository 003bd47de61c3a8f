/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_problem.h: what a person should know of a member, as its agent tells it (agent_api.h). Shown as the reason of a
 * condition: the names are stable.
 */
#ifndef KM_COMMON_AGENT_PROBLEM_H
#define KM_COMMON_AGENT_PROBLEM_H

#include "common/base.h"

enum agent_problem_kind {
    AGENT_PROBLEM_OTHER, /* of an agent of a later version: its name is the text alone */
    AGENT_PROBLEM_ACCOUNTS_FAILED,
    AGENT_PROBLEM_AGENT_LOCKED_OUT,
    AGENT_PROBLEM_BINLOGS_PURGED, /* the source no longer has what is needed: copy anew */
    AGENT_PROBLEM_CERTIFICATE_INVALID,
    AGENT_PROBLEM_CLOSED_FOR_COPY,
    AGENT_PROBLEM_CONFIG_INVALID,
    AGENT_PROBLEM_CONNECTIONS_FULL, /* clients are refused */
    AGENT_PROBLEM_DRAIN_BLOCKED,
    AGENT_PROBLEM_DUPLICATE_SERVER_ID,
    AGENT_PROBLEM_ERRANT_TRANSACTIONS, /* executed here and not at the source */
    AGENT_PROBLEM_FOREIGN_CHANNEL,     /* a replication channel beside ours, made by hand: it is left alone */
    AGENT_PROBLEM_GTID_SET_LONG,
    AGENT_PROBLEM_GTID_SET_TOO_LONG,
    AGENT_PROBLEM_GTIDS_LOST,          /* somebody has set back its GTID position (agent/gtid_loss.h) */
    AGENT_PROBLEM_ISOLATED,            /* self_fence_ms */
    AGENT_PROBLEM_LOOK_FAILED,         /* the server does not tell all that it was asked for */
    AGENT_PROBLEM_OFFLINE_MODE,        /* somebody has set it, so clients are refused, and it is left so */
    AGENT_PROBLEM_PUT_BACK_FAILED,     /* its start has cut off what another member had: it is copied anew */
    AGENT_PROBLEM_REPLICATION_PAUSED,  /* somebody has stopped it, and it is left so */
    AGENT_PROBLEM_REPLICATION_REFUSED, /* password, rights, TLS */
    AGENT_PROBLEM_REPLICATION_STOPPED, /* the applier met an error: never skipped */
    AGENT_PROBLEM_RESTORE_FAILED,
    AGENT_PROBLEM_ROLE_FAILED,
    AGENT_PROBLEM_SALVAGE_FAILED,
    AGENT_PROBLEM_SECRET_MISSING,
    AGENT_PROBLEM_SEED_FAILED,
    AGENT_PROBLEM_SERVER_STOPPED, /* as somebody wishes */
    AGENT_PROBLEM_SET_ASIDE_FAILED,
    AGENT_PROBLEM_SYSTEM_TABLES_OLD,
    AGENT_PROBLEM_TLS_NOT_REQUIRED, /* though the cluster says so: the server cannot */
    AGENT_PROBLEM_UNACKNOWLEDGED_COMMITS,
    AGENT_PROBLEM_VOLUME_FULL,
    AGENT_PROBLEM_WRITES_LOCKED, /* somebody holds a lock on all tables */
    AGENT_PROBLEM_KIND_COUNT
};

extern const char *const agent_problem_names[AGENT_PROBLEM_KIND_COUNT]; /* "", "AccountsFailed", ... */

/* The server's message of an error of replication, with the transaction's GTID. */
#define AGENT_PROBLEM_MESSAGE_SIZE 448

struct agent_problem {
    enum agent_problem_kind kind;
    char reason[48]; /* its name */
    char message[AGENT_PROBLEM_MESSAGE_SIZE];
};

#endif
