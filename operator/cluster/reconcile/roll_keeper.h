/* SPDX-License-Identifier: Apache-2.0 */
/*
 * roll_keeper.h: keeps the ConfigMap NAME-mysql-before (roll_before.h): stores what the members run before a roll, and
 * reads it after a restart of the operator. Beside the reconcile, which waits for none of it: what comes out goes into
 * the cluster's memory and wakes its controller.
 *
 * What is stored for the template and my.cnf that are in force is never stored over: a crash between the writes of the
 * two leaves my.cnf of the one beside the template of the other. One of that name that is not the cluster's is an
 * error.
 */
#ifndef KM_ROLL_KEEPER_H
#define KM_ROLL_KEEPER_H

#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/kube/kube_client.h"

/* Until an attempt that failed is made again, and until one without an answer is given up. */
#define ROLL_KEEPER_RETRY_MS 5000
#define ROLL_KEEPER_LOST_MS 120000

struct roll_keeper {
    struct kube_client *client;
    const struct kube_resource *sets, *config_maps;
    struct cluster_memories *memories;
    void (*changed)(void *arg, const char *cluster_key);
    void *arg;
};

/* must_keep: what is in force is to be stored. Returns when to look again; 0: no need. */
int64_t roll_keeper_tend(const struct roll_keeper *keeper, struct cluster_memory *memory,
    const struct cluster_snapshot *snapshot, bool must_keep);
/* The client is about to go, or has gone, and answers nothing any more. */
void roll_keeper_forget(struct cluster_memories *memories);

#endif
