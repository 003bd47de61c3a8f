/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ready_conditions.h: the three conditions by which tools that know nothing of our kinds tell how an object is: Ready,
 * Reconciling, Stalled. Pure.
 *
 * kubectl wait, Argo CD and Flux go by kstatus (sigs.k8s.io/cli-utils, pkg/kstatus/status/generic.go and status.go).
 * Its rules, in this order:
 *   metadata.deletionTimestamp is set               Terminating
 *   status.observedGeneration != generation         InProgress
 *   the first of Reconciling=True and Stalled=True  InProgress, Failed
 *   Ready                                           True: Current; False or Unknown: InProgress
 *   else                                            Current
 * So Reconciling and Stalled are never True together here, and Stalled only where nothing goes on before somebody
 * changes something: whoever waits for the object gives up then. An object that waits for another one, which may come
 * with the same apply, is Reconciling.
 */
#ifndef KM_READY_CONDITIONS_H
#define KM_READY_CONDITIONS_H

#include "common/base.h"

#include "operator/kube/kube_condition.h"

#define CONDITION_READY "Ready"             /* it does what it is for, as this generation wants it */
#define CONDITION_RECONCILING "Reconciling" /* something is being done to make it so */
#define CONDITION_STALLED "Stalled"         /* nothing will make it so before somebody changes something */

/* Why, for programs and for people; borrowed. */
struct ready_reason {
    bool holds;
    const char *reason, *message;
};
struct ready_view {
    struct ready_reason ready, reconciling, stalled;
};

/* Sets all three. Stalled rules out Reconciling, which then says the reason of Stalled. */
void ready_conditions_set(
    struct kube_conditions *conditions, const struct ready_view *view, int64_t observed_generation, int64_t now_ms);
/* What a condition says, as `holds`, or its opposite; `instead` if it is not there. */
struct ready_reason ready_reason_of(
    const struct kube_conditions *conditions, const char *type, struct ready_reason instead);

#endif
