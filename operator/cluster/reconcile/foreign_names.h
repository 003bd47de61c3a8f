/* SPDX-License-Identifier: Apache-2.0 */
/*
 * foreign_names.h: which objects stand in a cluster's way: all of them, once one has been met, so that whoever is told
 * need not remove the first to hear of the second. Every name that the cluster needs is read; nothing is written.
 */
#ifndef KM_FOREIGN_NAMES_H
#define KM_FOREIGN_NAMES_H

#include "operator/cluster/state/cluster_snapshot.h"
#include "operator/plan/plan_executor.h"

/* text: "Secret x, Service y: objects of these names exist …"; NULL: there is one at most, which is told already, or
 * they could not be read. Valid during the call. */
typedef void (*foreign_names_done_fn)(void *arg, const char *text);

/* The snapshot is borrowed during the call, targets until done. */
void foreign_names_look(
    const struct plan_targets *targets, const struct cluster_snapshot *snapshot, foreign_names_done_fn done, void *arg);

#endif
