/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_turns.h: which clusters are on their turn to be changed (cluster_turn.h).
 *
 * That stands on their StatefulSets, and is seen late: a cluster that was let begin is noted here until its mark is in
 * the cache. An operator that has just begun to lead knows the marks alone, so it may let as many begin as were noted
 * and not written.
 */
#ifndef KM_CLUSTER_TURNS_H
#define KM_CLUSTER_TURNS_H

#include "common/base.h"

#include "operator/api/names.h"
#include "operator/kube/informer.h"

#define CLUSTER_TURNS_MAX 64
#define CLUSTER_TURN_RETRY_MS 3000 /* who waits, or is on its turn, looks again */
#define CLUSTER_TURN_KEY_SIZE (2 * DERIVED_NAME_SIZE)

struct cluster_turns {
    int max; /* at a time, 1 to CLUSTER_TURNS_MAX */
    struct cluster_turn_note {
        char key[CLUSTER_TURN_KEY_SIZE]; /* of a StatefulSet; "" free */
        int64_t until_ms;                /* monotonic clock */
    } notes[CLUSTER_TURNS_MAX];
};

/* set: the key of the StatefulSet of a cluster that has cause for a turn. True: it may begin, and is noted, or is on
 * its turn already (another change has come). False: *ret is the "namespace/name" of a cluster that comes first. */
bool cluster_turns_take(struct cluster_turns *turns, const struct informer *sets, const char *set, int64_t now_ms,
    char ret[static CLUSTER_TURN_KEY_SIZE]);
/* It has no cause any more. */
void cluster_turns_forget(struct cluster_turns *turns, const char *set);

#endif
