/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_problem.h"

const char *const agent_problem_names[AGENT_PROBLEM_KIND_COUNT] = {
    [AGENT_PROBLEM_OTHER] = "",
    [AGENT_PROBLEM_ACCOUNTS_FAILED] = "AccountsFailed",
    [AGENT_PROBLEM_AGENT_LOCKED_OUT] = "AgentLockedOut",
    [AGENT_PROBLEM_BINLOGS_PURGED] = "BinlogsPurged",
    [AGENT_PROBLEM_CERTIFICATE_INVALID] = "CertificateInvalid",
    [AGENT_PROBLEM_CLOSED_FOR_COPY] = "ClosedForCopy",
    [AGENT_PROBLEM_CONFIG_INVALID] = "ConfigInvalid",
    [AGENT_PROBLEM_CONNECTIONS_FULL] = "ConnectionsFull",
    [AGENT_PROBLEM_DRAIN_BLOCKED] = "DrainBlocked",
    [AGENT_PROBLEM_DUPLICATE_SERVER_ID] = "DuplicateServerId",
    [AGENT_PROBLEM_ERRANT_TRANSACTIONS] = "ErrantTransactions",
    [AGENT_PROBLEM_GTID_SET_LONG] = "GtidSetLong",
    [AGENT_PROBLEM_GTID_SET_TOO_LONG] = "GtidSetTooLong",
    [AGENT_PROBLEM_GTIDS_LOST] = "GtidsLost",
    [AGENT_PROBLEM_ISOLATED] = "Isolated",
    [AGENT_PROBLEM_LOOK_FAILED] = "LookFailed",
    [AGENT_PROBLEM_PUT_BACK_FAILED] = "PutBackFailed",
    [AGENT_PROBLEM_REPLICATION_PAUSED] = "ReplicationPaused",
    [AGENT_PROBLEM_REPLICATION_REFUSED] = "ReplicationRefused",
    [AGENT_PROBLEM_REPLICATION_STOPPED] = "ReplicationStopped",
    [AGENT_PROBLEM_RESTORE_FAILED] = "RestoreFailed",
    [AGENT_PROBLEM_ROLE_FAILED] = "RoleFailed",
    [AGENT_PROBLEM_SALVAGE_FAILED] = "SalvageFailed",
    [AGENT_PROBLEM_SECRET_MISSING] = "SecretMissing",
    [AGENT_PROBLEM_SEED_FAILED] = "SeedFailed",
    [AGENT_PROBLEM_SERVER_STOPPED] = "ServerStopped",
    [AGENT_PROBLEM_SET_ASIDE_FAILED] = "SetAsideFailed",
    [AGENT_PROBLEM_SYSTEM_TABLES_OLD] = "SystemTablesOld",
    [AGENT_PROBLEM_TLS_NOT_REQUIRED] = "TLSNotRequired",
    [AGENT_PROBLEM_UNACKNOWLEDGED_COMMITS] = "UnacknowledgedCommits",
    [AGENT_PROBLEM_VOLUME_FULL] = "VolumeFull",
    [AGENT_PROBLEM_WRITES_LOCKED] = "WritesLocked",
};
