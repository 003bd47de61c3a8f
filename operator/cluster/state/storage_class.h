/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storage_class.h: a member's claim that waits for a volume of a StorageClass that does not exist. Pure.
 *
 * Nobody else says so plainly: the scheduler speaks of "unbound immediate PersistentVolumeClaims", and the word of the
 * volume controller stands in Events of the claim alone. So where a claim waits for a moment, its class is read
 * (reconcile/storage_class_question.h). A claim of a class that binds late (volumeBindingMode WaitForFirstConsumer)
 * waits as well; its class is there.
 * https://kubernetes.io/docs/concepts/storage/persistent-volumes/#class-1
 */
#ifndef KM_STORAGE_CLASS_H
#define KM_STORAGE_CLASS_H

#include "operator/cluster/state/cluster_snapshot.h"

#define STORAGE_CLASS_WORDS_SIZE 640

/* The first wanted member whose claim waits for a volume of a class, or has no class though the cluster asks for the
 * default one. NULL: there is none. */
const struct cluster_member *storage_class_suspect(const struct cluster_snapshot *snapshot);
/* Notes in each member whether its claim gets no volume (class_missing): its class is `missing`, which does not exist.
 * "": there is no default one, and the claim has none. NULL: none is known to be missing. */
void storage_class_note(struct cluster_snapshot *snapshot, const char *missing);
/* Says so of a member of which that is noted: "claim data-shop-mysql-0 waits for StorageClass fast, which does not
 * exist". */
void storage_class_say(const struct cluster_member *member, char *out, size_t size);

#endif
