/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roll_status.h: MysqlCluster.status.roll as a value: which template and my.cnf all members ran last, and what became
 * of the last roll that failed.
 *
 * A pair of template and my.cnf is named by a hash of 16 hex digits (roll_target.h). A zeroed struct is "nothing is
 * known". What is absent or malformed is read as empty.
 */
#ifndef KM_ROLL_STATUS_H
#define KM_ROLL_STATUS_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/names.h"

enum roll_phase {
    ROLL_PHASE_NONE,        /* none has failed since the wish changed last, or it is tried again */
    ROLL_PHASE_ROLLED_BACK, /* `refused` failed: members are made of what they ran before */
    ROLL_PHASE_FAILED,      /* it failed, and nothing goes back: `obstacle` says why */
    ROLL_PHASE_COUNT
};

/* Why a roll failed. */
enum roll_reason {
    ROLL_REASON_NONE,     /* none has; or one of a version that knows more */
    ROLL_REASON_ENDED,    /* its server, again and again */
    ROLL_REASON_KILLED,   /* likewise, the last time by SIGKILL of somebody else, not for want of memory */
    ROLL_REASON_UNPLACED, /* no node takes its pod */
    ROLL_REASON_UNPULLED, /* an image */
    ROLL_REASON_UNMADE,   /* the API server refuses its pod */
    ROLL_REASON_COUNT
};

struct cluster_roll_status {
    enum roll_phase phase;
    char proven[17];  /* what all members ran together last; "" not known */
    char refused[17]; /* what failed last; "" nothing */
    /* Of a my.cnf that servers cannot take up while they run, with which a check pod has started one
     * (desired_runtime_hash): it is not tried again before they are restarted. "" there is none. */
    char tried[17];
    enum roll_reason reason;
    char member[DERIVED_NAME_SIZE];  /* whose pod failed */
    char message[512];               /* what was said of it */
    char obstacle[256];              /* ROLL_PHASE_FAILED */
    char again[64];                  /* the annotation ANNOTATION_ROLL_AGAIN as it stood then */
    int attempts;                    /* of `refused` that failed */
    int64_t failed_ms;               /* wall clock, whole seconds */
    char blocked[DERIVED_NAME_SIZE]; /* member that is not placed or pulled, for less than makes it a failure */
    int64_t blocked_ms;              /* since when */
};

/* "ServerEnded", ...; "" of none. */
const char *roll_reason_name(enum roll_reason reason);
/* NULL: nothing is known. */
json_t *cluster_roll_status_encode(const struct cluster_roll_status *roll);
void cluster_roll_status_decode(const json_t *json, struct cluster_roll_status *ret);

#endif
