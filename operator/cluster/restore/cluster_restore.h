/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_restore.h: a new cluster that is made of a stored backup (spec.restoreFrom). Pure.
 *
 *   1. status: restore Resolving, together with the first primary. From here on no empty database is made
 *   2. a lookup (restore_lookup.h) finds out which backup it is: its answer is in the snapshot
 *   3. status: Restoring, with the backup's id and its manifest's digest (I2: before any agent is told)
 *   4. the first primary is ordered to restore it, and told how (restore_task); the others clone that one as ever
 *   5. it has been open for writes: Completed
 * Volumes that hold data are kept (Skipped). Only latest with orEmpty, and a store that has answered that it holds
 * nothing, lead to a new database (Empty). Whatever fails stands in the condition Restored and in status.restore, and
 * is tried again where that can help; another spec.restoreFrom begins anew.
 */
#ifndef KM_CLUSTER_RESTORE_H
#define KM_CLUSTER_RESTORE_H

#include "operator/cluster/state/cluster_roles.h"
#include "operator/cluster/state/restore_state.h"

/* Which backup it is, as a lookup found. Owns its documents. */
enum restore_finding {
    RESTORE_FINDING_NONE,    /* still looking */
    RESTORE_FINDING_BACKUP,  /* this one */
    RESTORE_FINDING_NOTHING, /* latest: the store has answered, and holds no backup */
    RESTORE_FINDING_FAILED,  /* reason and message say why; looked for again */
};
struct restore_answer {
    enum restore_finding finding;
    struct cluster_restore
        found; /* BACKUP: all but phase and times; FAILED: reason, message; always: `from`, what it is an answer to */
    /* BACKUP, as far as the MysqlBackup tells; "" and 0 else. */
    char server_version[64], flavour[16];
    uint64_t data_bytes;
    int64_t begun_ms; /* wall clock */
};
void restore_answer_release(struct restore_answer *answer);

/* What status.restore must become; intent->roles.initialized and .current_primary are those that will be written. */
enum restore_step restore_next_step(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent);
void restore_take_step(const struct cluster_snapshot *snapshot, enum restore_step step, struct cluster_restore *restore);

/* Whether the lookup is to go on. */
bool restore_is_looked_for(const struct cluster_snapshot *snapshot);
/* What the first primary with an empty volume is told: SEED_RESTORE, SEED_INITIALISE or nothing. */
void restore_order(const struct cluster_snapshot *snapshot, struct agent_order *order);
/* The member that must be told how to do the restore; NULL: nobody. */
const struct cluster_member *restore_receiver(const struct cluster_snapshot *snapshot);
/* What it waits for, for status.restore, the condition Restored and nextAction: "" reason: it goes on. */
void restore_report(const struct cluster_snapshot *snapshot, struct cluster_status *status);

#endif
