/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespace_question.h: asks the API server whether a namespace is being deleted (namespace_end.h): a ConfigMap is
 * created by dry run. Nothing is stored, and the error of the answer tells.
 */
#ifndef KM_NAMESPACE_QUESTION_H
#define KM_NAMESPACE_QUESTION_H

#include "operator/cluster/reconcile/api_question.h"

/* Between two questions, while no pod stays and the answer was another one. */
#define NAMESPACE_ASK_RETRY_MS 2000

/* Asks if it is due. Returns in how many milliseconds to come again, 0: there is no need to. */
int64_t namespace_ask(
    const struct api_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot);

#endif
