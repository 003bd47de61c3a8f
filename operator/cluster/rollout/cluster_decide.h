/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_decide.h: from a snapshot to the next plan: pure.
 *
 * What is written, in this order, each only if the live object is not already as wanted. A MysqlTerminal that the API
 * server refuses, and where the StatefulSet is there a Service, an EndpointSlice or a PodDisruptionBudget, too, does
 * not keep what follows from being written:
 *   1. ServiceAccount, ConfigMap, Services, EndpointSlice, PodDisruptionBudget, MysqlTerminal; the StatefulSet after
 *      them with the ConfigMap's text: members whose `init` cannot go on with the one before lose their pods
 *   2. volume claims: growth, owner by deletion.volumes
 *   3. labels of pods by role; a member that is to be seeded again loses its pod
 *   4. when nothing of 1 is left to do: the next step of a roll
 * Before all of that, alone, come orphans (plan.h), as after `kubectl delete --cascade=orphan` and another apply: what
 * bears our labels and no owner is taken over, the StatefulSet last. Only beside an orphaned StatefulSet: whoever may
 * make one reads every Secret of the namespace by it and runs what they like, so nobody gains by planting a Secret with
 * passwords that they know, a key of a certificate authority, or a Service that leads elsewhere. Beside one that a
 * cluster has left those names are taken; whoever may delete a Secret there and make it anew needs no adoption, as the
 * pods mount it by its name. Without a StatefulSet such an object is somebody else's. The status of the new cluster is
 * empty; who is primary is found out from the members, as where a status was lost (cluster_intent.c).
 *
 * A changed runtime (image, my.cnf, user) or pod template of a cluster with ready members is tried first
 * (cluster_gate.h): until that went well neither ConfigMap nor StatefulSet is touched, so a my.cnf that the server
 * rejects, an image that cannot be pulled or a template that no node takes never reaches a running member. The first
 * StatefulSet of a new cluster is made once the API server takes a pod of its template.
 * After that servers are given the my.cnf while they run; the caller does that, when the children are as wanted
 * (cluster_may_give_mycnf).
 */
#ifndef KM_CLUSTER_DECIDE_H
#define KM_CLUSTER_DECIDE_H

#include "operator/api/condition_reason.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/rollout/cluster_roll.h"
#include "operator/cluster/state/cluster_roles.h"
#include "operator/cluster/state/cluster_snapshot.h"
#include "operator/plan/plan.h"

enum cluster_gate {
    GATE_OPEN,     /* the wanted runtime is in force, or was tried, or nobody is there to be harmed */
    GATE_CHECKING, /* the check pod is at work */
    GATE_REFUSED,  /* it failed: gate_reason, gate_message */
    GATE_HELD, /* not looked at while the cluster is restored in place, waits for its turn (cluster_turn.h), or what its
                  members ran before is not read yet (roll_target.h) */
};

struct cluster_decision {
    struct plan *plan;             /* owned; never NULL */
    uint64_t desired[CHILD_COUNT]; /* hash of the manifests, 0: not computed */
    enum cluster_gate gate;
    /* Of Accepted; REASON_OTHER: nothing is refused. With an open gate: what the API server says against the members'
     * pods while there are none. */
    enum condition_reason gate_reason;
    char gate_message[CLUSTER_MESSAGE_MAX]; /* GATE_CHECKING: why it takes so long; "" it does not */
    bool gate_is_of_volume;                 /* REASON_TEMPLATE_REFUSED: for spec.storage.volumeSource alone */
    bool asks_template;                     /* the API server is to be asked about the template */
    bool set_waits;                         /* no StatefulSet is made yet: it has not answered, or refuses */
    bool asks_before;                       /* what the members run is to be stored */
    bool asks_preview;                      /* desired_check_asked is to be asked about my.cnf */
    int64_t gate_again_ms;                  /* the check pod's time: look again then, 0: no need */
    char mycnf_hash[65];                    /* of the my.cnf that members may be given; "" none, as while it is tried */
    bool rolling;                           /* pods that must be replaced exist */
    bool taking_up;                         /* none of them, but servers that take up a new my.cnf */
    struct roll roll;                       /* whom to replace; its member is the snapshot's */
    struct cluster_intent intent;           /* if it has `changed`, the status is written and no plan is made */
    bool primary_obeys;                     /* cluster_primary_obeys, set when the orders were sent */
    char next_action[CLUSTER_MESSAGE_MAX];  /* what comes next and what it waits for; "" : nothing to do */
};

/* The half that orders wait for: gate, roll and intent. */
void cluster_decide_roles(const struct cluster_snapshot *snapshot, struct cluster_decision *ret);
/* The other half, of the same snapshot. */
void cluster_decide_plan(const struct cluster_snapshot *snapshot, struct cluster_decision *ret);
/* Before the status is written: decides by the snapshot as it is now whether there is a roll. Since the decision the
 * plan was carried out and Secrets were read, and the StatefulSet's controller may have taken up a new template. */
void cluster_decision_note_roll(const struct cluster_snapshot *snapshot, struct cluster_decision *decision);
void cluster_decision_release(struct cluster_decision *decision);

/* The child is there as this decision wants it: what was just applied counts, by the snapshot after the plan. */
bool cluster_child_is_as_wanted(
    const struct cluster_snapshot *snapshot, const struct cluster_decision *decision, enum cluster_child child);
/* The members may take up the snapshot's my.cnf now: it is the one that was decided on, and who starts anew finds it,
 * too. */
bool cluster_may_give_mycnf(const struct cluster_snapshot *snapshot, const struct cluster_decision *decision);
/* Who takes it up next: one member after the other, replicas first, so that a value that a server cannot live with ends
 * a replica and not the primary. NULL: nobody, or the server of one that has it does not run
 * (again) yet. One that was stopped on purpose holds nobody up. */
const struct cluster_member *cluster_next_for_mycnf(const struct cluster_snapshot *snapshot);

/* Whose pod goes next because its volume is marked: the mark makes the next `init` ask for a copy. One at a time, and
 * never without a primary; NULL: nobody's. */
const struct cluster_member *cluster_next_reseed(const struct cluster_snapshot *snapshot);

/* Of all children's manifests. */
void cluster_desired_hashes(const struct cluster_snapshot *snapshot, uint64_t ret[static CHILD_COUNT]);
/* Hash over all children's manifests and live digests; 16 hex digits, or "" if any is absent or not as remembered. */
void cluster_applied_hash(
    const struct cluster_snapshot *snapshot, const uint64_t desired[static CHILD_COUNT], char out[static 17]);

#endif
