/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_turn.h: when the members of a cluster get the agent of a new operator. Pure.
 *
 * All clusters that take their agent from --agent-image have an older one when that changes, and their members have to
 * be replaced. They take turns: a cluster that is Ready begins by a mark on its StatefulSet (ANNOTATION_AGENT_TURN),
 * written together with the new image, and loses the mark when all of its members serve with it. There are no more
 * marks at a time than --max-unavailable-clusters allows, so a cluster that does not become Ready again stops those
 * that wait. The StatefulSet and the my.cnf of a cluster that waits stay as they are: what else a new operator makes
 * differently belongs to the new agent.
 *
 * Only who has nothing else to do waits. A changed spec, and a roll that goes on, bring the new agent along. An image
 * that the configuration names is a wish of its own, and is taken at once. A cluster that is not Ready before it begins
 * takes no mark: nobody waits for it, and the new agent may heal it.
 */
#ifndef KM_AGENT_TURN_H
#define KM_AGENT_TURN_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Its members would be replaced for the operator's agent image and for nothing else. */
bool agent_turn_is_due(const struct cluster_snapshot *snapshot);
/* Fills snapshot->agent_turn. waits_for: the "namespace/name" of a cluster on its turn that comes first; NULL: this one
 * may begin. */
void agent_turn_decide(struct cluster_snapshot *snapshot, const char *waits_for);

#endif
