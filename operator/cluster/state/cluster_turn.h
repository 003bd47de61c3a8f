/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_turn.h: when the members of a cluster get a change that many clusters get. Pure.
 *
 * A new operator brings another agent to all clusters that take theirs from --agent-image, and a changed MysqlConfig
 * reaches all that name it. They take turns: a cluster that is Ready begins by a mark on its StatefulSet
 * (ANNOTATION_AGENT_TURN), written together with the change, and loses the mark when all of its members serve with it.
 * There are no more marks at a time than --max-unavailable-clusters allows, whatever they are for, so a cluster that
 * does not become Ready again, or goes back (roll_target.h), stops those that wait. The StatefulSet and the my.cnf of a
 * cluster that waits stay as they are.
 *
 * Only who has nothing else to do waits. A changed spec, and a roll that goes on, bring the change along. That it is
 * not the cluster's own follows from status.appliedGeneration: its own spec is in force, and the template or the my.cnf
 * that is wanted now is another one (roll_hash). So nothing has to be remembered of the MysqlConfig, and a change that
 * an inline configuration overrides is none.
 *
 * A cluster that is not Ready before it begins takes no mark: nobody waits for it, and the change may heal it. A
 * MysqlConfig's reaches it at once, the operator's agent when nobody else is on turn.
 */
#ifndef KM_CLUSTER_TURN_H
#define KM_CLUSTER_TURN_H

#include "operator/cluster/state/cluster_snapshot.h"

/* What its members would be changed for, if for nothing of its own; CLUSTER_TURN_NONE: it does not have to ask. */
enum cluster_turn_cause cluster_turn_cause(const struct cluster_snapshot *snapshot);
/* Fills snapshot->turn. waits_for: the "namespace/name" of a cluster on its turn that comes first; NULL: this one may
 * begin. */
void cluster_turn_decide(struct cluster_snapshot *snapshot, const char *waits_for);

#endif
