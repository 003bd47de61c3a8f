/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transition_reason.h: why the primary is changed, as a value. The status, events, metrics and next actions say it by
 * name.
 *
 * Of a failover (cluster_failure.h says what each of them takes), and of a switchover.
 */
#ifndef KM_API_TRANSITION_REASON_H
#define KM_API_TRANSITION_REASON_H

#include "common/base.h"

enum transition_reason {
    TRANSITION_NO_REASON, /* "" */
    TRANSITION_SERVER_DOWN,
    TRANSITION_SERVER_HUNG,
    TRANSITION_STORAGE_STALLED,
    TRANSITION_ACKNOWLEDGEMENTS_LOST,
    TRANSITION_MEMBER_LOST,
    TRANSITION_PRIMARY_BEHIND,  /* it has less than it acknowledged, and another member has it (opening.h) */
    TRANSITION_STATUS_OUTDATED, /* members have seen epochs that the status does not know: it is one of the past */
    TRANSITION_TARGET_EMPTIED,  /* the target of a switchover came back with an empty volume */
    TRANSITION_CANNOT_APPLY,    /* the chosen one cannot apply what it has received */
    TRANSITION_CANNOT_OPEN,     /* the chosen one cannot be opened */
    TRANSITION_REQUESTED,       /* by annotation, or spec.replication.primary */
    TRANSITION_POD_DELETED,
    TRANSITION_SCALE_IN,
    TRANSITION_ROLL,
    TRANSITION_VOLUME_FULL,  /* the primary is closed for writes for lack of room, and others have room */
    TRANSITION_FINAL_BACKUP, /* not a switchover: the primary is closed for it */
    TRANSITION_OTHER,        /* of a version that knows more */
    TRANSITION_REASON_COUNT
};

/* "ServerDown", …; static. */
const char *transition_reason_name(enum transition_reason reason);
/* Of a failover. */
bool transition_reason_is_failure(enum transition_reason reason);
/* TRANSITION_OTHER: no name of these. */
enum transition_reason transition_reason_parse(const char *name);

#endif
