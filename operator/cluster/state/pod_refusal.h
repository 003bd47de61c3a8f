/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_refusal.h: a member's pod, or its claim, that the API server does not take: quota, LimitRange, Pod Security,
 * a webhook. Pure.
 *
 * Only the StatefulSet controller hears the refusal, and tells it in Events of the StatefulSet alone. So where a pod
 * that should be there is missing for a moment, its creation is tried by dry run (reconcile/pod_question.h), and the
 * answer tells. That needs no right to read Events, and it says how it is now: Events are gathered, come late while the
 * controller pauses between its tries, and outlive what they tell of.
 */
#ifndef KM_POD_REFUSAL_H
#define KM_POD_REFUSAL_H

#include "operator/api/pod_answer.h"
#include "operator/cluster/state/cluster_snapshot.h"

/* The first member whose pod the StatefulSet should have made by now and has not; NULL: there is none. */
const struct cluster_member *pod_refusal_suspect(const struct cluster_snapshot *snapshot);

#endif
