/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage_class_question.h: asks the API server whether the StorageClass exists that a member's claim waits for
 * (storage_class.h). A claim without a class has nothing to be read; one that is still without it after a moment gets
 * none. Without the right to read StorageClasses nothing is known, and nothing is said.
 */
#ifndef KM_STORAGE_CLASS_QUESTION_H
#define KM_STORAGE_CLASS_QUESTION_H

#include "operator/cluster/reconcile/api_question.h"

/* So long a claim may wait for its volume before its class is read. */
#define STORAGE_CLASS_ASK_AFTER_MS 1500
/* Between two questions, while it waits. */
#define STORAGE_CLASS_ASK_AGAIN_MS 5000

/* Asks if it is due. Returns in how many milliseconds to come again, 0: there is no need to. */
int64_t storage_class_ask(
    const struct api_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot);
/* Notes which class is waited for, by the monotonic clock. Returns in how many milliseconds to read it: 0 is now, -1 is
 * never, as no claim waits. Pure. */
int64_t storage_class_due_ms(struct storage_class_memory *known, const struct cluster_member *suspect, int64_t now_ms);
/* Takes up what the answer to a read of the class says; err NULL: it exists. Returns whether that is news. Pure. */
bool storage_class_take_answer(struct storage_class_memory *known, const char *name, const struct error *err);

#endif
