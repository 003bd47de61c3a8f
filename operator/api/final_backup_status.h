/* SPDX-License-Identifier: Apache-2.0 */
/*
 * final_backup_status.h: status.finalBackup of a MysqlCluster as a value: the last backup of a cluster that is being
 * deleted, and how far it is.
 *
 * It is the journal: each step stands here before it is taken, so that a restart of the operator goes on with the same
 * one. A zeroed struct is "none". Times are wall clock in milliseconds, 0: not set.
 */
#ifndef KM_FINAL_BACKUP_STATUS_H
#define KM_FINAL_BACKUP_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/names.h"

enum final_backup_phase {
    FINAL_BACKUP_NONE,
    FINAL_BACKUP_CLOSING,   /* the primary takes no writes any more, or is about to */
    FINAL_BACKUP_RUNNING,   /* it is closed: what it has is all there will ever be */
    FINAL_BACKUP_COMPLETED, /* stored and checked: the cluster may go */
    FINAL_BACKUP_PHASE_COUNT,
};
extern const char *const final_backup_phase_names[FINAL_BACKUP_PHASE_COUNT]; /* "", "Closing", ... */
/* FINAL_BACKUP_NONE of what is none of them, as of the reasons for which it is held up. */
enum final_backup_phase final_backup_phase_of(const char *name);

struct cluster_final_backup {
    enum final_backup_phase phase;
    char primary[DERIVED_NAME_SIZE];    /* the member that was closed, and that it is taken from; "" none yet */
    char backup[2 * DERIVED_NAME_SIZE]; /* the MysqlBackup; "" none at present: waits for retry_ms */
    char failure[256];                  /* why the last one failed; "" none did */
    int64_t epoch;                      /* under which the primary is closed: under any other it may have been open */
    int failures;
    int64_t start_ms;   /* deadlines count from here */
    int64_t closing_ms; /* when the route was emptied */
    int64_t closed_ms;  /* when the primary was seen closed */
    int64_t retry_ms;
    int64_t completion_ms;
};

json_t *cluster_final_backup_encode(const struct cluster_final_backup *final); /* NULL: none */
/* *ret is overwritten. NULL is fine. */
void cluster_final_backup_decode(const json_t *json, struct cluster_final_backup *ret);
bool cluster_final_backup_same(const struct cluster_final_backup *a, const struct cluster_final_backup *b);

#endif
