/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_question.h: asks the API server whether it would take a pod of the members' template (cluster_gate.h): one
 * is created by dry run. Nothing is stored; admission and validation have their say as they have when a StatefulSet
 * makes it.
 *
 * Only what speaks of the pod is a refusal (pod_refusal.h): what else is wrong shows when the pod is made, in the API
 * server's words.
 */
#ifndef KM_TEMPLATE_QUESTION_H
#define KM_TEMPLATE_QUESTION_H

#include "operator/cluster/reconcile/api_question.h"

/* A no may have come to an end: somebody made the class, or lifted the limit. */
#define TEMPLATE_REFUSED_RETRY_MS 15000
/* The server could not answer. */
#define TEMPLATE_UNKNOWN_RETRY_MS 2000

/* Asks if it is due. Returns in how many milliseconds to come again, 0: there is no need to. */
int64_t template_ask(
    const struct api_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot);

/* Pure. What an answer to the dry run says of the template. */
enum template_verdict template_verdict_of(const struct error *err);

#endif
