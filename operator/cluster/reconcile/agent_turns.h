/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_turns.h: which clusters are on their turn to get another agent (agent_turn.h).
 *
 * That stands on their StatefulSets, and is seen late: a cluster that was let begin is noted here until its mark is in
 * the cache. An operator that has just begun to lead knows the marks alone, so it may let as many begin as were noted
 * and not written.
 */
#ifndef KM_AGENT_TURNS_H
#define KM_AGENT_TURNS_H

#include "common/base.h"

#include "operator/api/names.h"
#include "operator/kube/informer.h"

#define AGENT_TURNS_MAX 64
#define AGENT_TURN_RETRY_MS 3000 /* who waits looks again */
#define AGENT_TURN_KEY_SIZE (2 * DERIVED_NAME_SIZE)

struct agent_turns {
    int max; /* at a time, 1 to AGENT_TURNS_MAX */
    struct agent_turn_note {
        char key[AGENT_TURN_KEY_SIZE]; /* of a StatefulSet; "" free */
        int64_t until_ms;              /* monotonic clock */
    } notes[AGENT_TURNS_MAX];
};

/* set: the key of the StatefulSet of a cluster whose agent is due. True: it may begin, and is noted, or is on its turn
 * already (yet another agent has come). False: *ret is the "namespace/name" of a cluster that comes first. */
bool agent_turns_take(struct agent_turns *turns, const struct informer *sets, const char *set, int64_t now_ms,
    char ret[static AGENT_TURN_KEY_SIZE]);
/* It is due no more. */
void agent_turns_forget(struct agent_turns *turns, const char *set);

#endif
