/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt_reason.h: the reasons of attempts at a backup by which something is decided later, as values. Pure.
 *
 * An attempt keeps its reason as text, since many are its donor's or its tool's, and nothing is decided by those.
 */
#ifndef KM_ATTEMPT_REASON_H
#define KM_ATTEMPT_REASON_H

#include "common/base.h"

enum attempt_reason {
    ATTEMPT_OTHER, /* none of these */
    ATTEMPT_DONOR_LOST,
    ATTEMPT_TASK_NOT_TAKEN,
    ATTEMPT_DEADLINE_EXCEEDED,
    ATTEMPT_DELETED,
    ATTEMPT_AGENT_OUTDATED,
    ATTEMPT_STORE_REFUSED,     /* as agents tell it */
    ATTEMPT_METHOD_IMPOSSIBLE, /* the image lacks what the method takes: not tried again */
    ATTEMPT_REASON_COUNT
};

/* As it stands in the status: "DonorLost". Static; "" of ATTEMPT_OTHER. */
const char *attempt_reason_name(enum attempt_reason reason);
enum attempt_reason attempt_reason_of(const char *name);

#endif
