/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_question.h: asks the API server by dry run why a member's pod is not there (pod_refusal.h): first for its claim,
 * where there is none, then for the pod. Nothing is stored.
 */
#ifndef KM_POD_QUESTION_H
#define KM_POD_QUESTION_H

#include "operator/cluster/reconcile/api_question.h"

/* So long the StatefulSet controller is given to make a pod; in a roll it takes some hundred milliseconds. */
#define POD_ASK_AFTER_MS 1500
/* Between two questions, while the pod is missing. */
#define POD_ASK_AGAIN_MS 5000

/* Asks if it is due. The StatefulSet is as wanted. Returns in how many milliseconds to come again, 0: there is no need
 * to. */
int64_t pod_ask(const struct api_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot);
/* Which member's pod is missing, by the monotonic clock, and in how many milliseconds to ask for it: 0 is now, -1 is
 * never, as none is missing. Pure. */
int64_t pod_question_due_ms(struct pod_question_memory *question, const struct cluster_member *suspect, int64_t now_ms);

#endif
