/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drill_status.h: what MysqlCluster.status.backup says of restore drills (spec.backup.drill), as a value:
 * lastVerifiedRestore, drill.
 *
 * The journal of the controller of drills: which one is under way stands here before anything of it is made. The
 * cluster controller makes the condition RestoreVerified of reason and message. Times are wall clock in milliseconds,
 * 0: not set. A zeroed struct is "none". Large (6 KiB).
 */
#ifndef KM_DRILL_STATUS_H
#define KM_DRILL_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "common/agent_order.h"
#include "operator/api/cron.h"
#include "operator/api/names.h"
#include "operator/api/time_zone.h"
#include "operator/kube/kube_condition.h"

enum drill_phase {
    DRILL_PHASE_NONE,
    DRILL_PHASE_RESTORING, /* the scratch cluster is made of the backup */
    DRILL_PHASE_CHECKING,  /* its tables and its position are looked at */
    DRILL_PHASE_REMOVING,  /* what came of it is known; nothing of it is to be left */
    DRILL_PHASE_COUNT,
};
extern const char *const drill_phase_names[DRILL_PHASE_COUNT];

/* Reasons that this operator finds itself. A summary keeps its reason as text, since others are of the restore
 * (status.restore.reason of a cluster) or of the check (check_task.h), and nothing is decided by those. */
enum drill_reason {
    DRILL_OTHER, /* none of these, and there is one: it failed */
    DRILL_VERIFIED,
    DRILL_NOT_YET,
    DRILL_NO_BACKUP, /* nothing to try yet */
    DRILL_REASON_COUNT
};
/* As it stands in the status: "Verified". Static; "" of DRILL_OTHER. */
const char *drill_reason_name(enum drill_reason reason);
enum drill_reason drill_reason_of(const char *name);

struct drill_summary {
    char schedule[CRON_TEXT_MAX + TIME_ZONE_NAME_MAX + 2]; /* in force; "" none */
    int64_t scheduled_ms;                                  /* the last time of the schedule that was dealt with */
    int64_t next_ms;
    char problem[512];
    /* The one under way. */
    enum drill_phase phase;
    char cluster[DERIVED_NAME_SIZE]; /* the scratch cluster; "" none */
    int64_t start_ms;
    int64_t until_ms; /* to when the data must lead */
    bool replays;     /* archived binary logs, too */
    /* Of it, or of the last one. */
    char backup[KUBE_NAME_MAX + 1], backup_uid[64];
    /* What came of the last one. */
    char reason[48]; /* "" there was none */
    char message[KUBE_CONDITION_MESSAGE_MAX];
    int64_t ended_ms;
    int64_t failures, last_failure_ms;
    /* The last one that went well. */
    int64_t verified_ms; /* lastVerifiedRestore */
    char verified_backup[KUBE_NAME_MAX + 1];
    char verified_gtid[POSITION_TOLD_SIZE]; /* told (position.h) */
    int64_t verified_until_ms, verified_seconds, verified_tables;
};

/* `status`: the whole of MysqlCluster.status; NULL is fine. */
void drill_summary_decode(const json_t *status, struct drill_summary *ret);
/* A merge patch of status: what is empty is null. New object. */
json_t *drill_summary_patch(const struct drill_summary *summary);
bool drill_summary_same(const struct drill_summary *a, const struct drill_summary *b);
/* Of the condition RestoreVerified. */
enum kube_condition_status drill_reason_status(enum drill_reason reason);

#endif
