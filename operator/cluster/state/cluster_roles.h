/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_roles.h: which member is what: the part of a decision that is about the servers rather than about Kubernetes
 * objects. Pure.
 *
 * Two halves that never meet in one round (I2):
 *   cluster_intend  what the status must say about roles: epoch, primary, a switchover under way, for how many
 *   acknowledgements commits wait.
 *                   If that differs from what it says, the status is written and nothing else happens.
 *   cluster_order   what each agent must be told, derived from the status as it was written, and from nothing else.
 *
 * Whether commits wait, and for how many acknowledgements, never changes without a new epoch: an operator that was
 * paused and goes on with what it once knew would undo it by an order of its own epoch.
 *
 * A planned switchover from A to B, each step derived from what is observed:
 *   1. status: epoch + 1, primary B, transition A to B
 *   2. the primary Service's EndpointSlice names B (its effect takes 60 to 90 ms and more: kube-proxy), pooled
 *   connections go on writing on A
 *      B takes up the epoch and begins a new binary log; after CLUSTER_PREPARE_MS the others, but for those that A's
 *      commits need, get ready to follow it
 *   3. after CLUSTER_ROUTE_LEAD_MS: A becomes nothing (read-only, clients are disconnected, its position is final)
 *   4. B becomes primary, once it has executed A's position; those that are ready follow as soon as its agent says that
 *   it is open 5. status: the transition is over; all follow B
 * Until A has reported that it is fenced, B cannot have been told: so a switchover whose B is lost goes back to A, as
 * long as A proves that it never was. Later B may have been open unheard, and a failover asks all who has everything;
 * also where failovers are not wanted, if B says itself that its volume is empty. Then A is opened again, if it has.
 */
#ifndef KM_CLUSTER_ROLES_H
#define KM_CLUSTER_ROLES_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Between the new route and the end of writes on the old primary: a few times what kube-proxy takes (60 to 90 ms on a
 * quiet node). Pooled connections write on until then; connections that are made meanwhile may find the new primary
 * still read-only, and have to try again. */
#define CLUSTER_ROUTE_LEAD_MS 300
/* From the route on, until replicas turn to the new primary: its binary log begins a new file before. They get ready
 * for it while the old one still writes. */
#define CLUSTER_PREPARE_MS 150
/* Likewise where the old primary's pod was deleted by force: kubelet ends its processes a second later. */
#define CLUSTER_DEPARTED_LEAD_MS 100
#define CLUSTER_DEPARTED_DRAIN_MS 100
/* Its agent is lost when it has missed two lines of its status (AGENT_STATUS_INTERVAL_MS). */
#define CLUSTER_DEPARTED_SILENCE_MS 1200
/* A switchover whose target does not speak for so long goes back, if that is provably safe. */
#define CLUSTER_TARGET_SILENCE_MS 3000
/* A switchover whose target runs and still is not open so long after the old primary was fenced goes back by a
 * failover: the old one has everything. */
#define CLUSTER_OPEN_MAX_MS 30000
/* One that acknowledges nothing more is forgotten after so long at the earliest: what the primary has shown then is of
 * a later time, as its word is a second old at most when it is sent, and its stream is given up after
 * failover.silenceMilliseconds. */
#define CLUSTER_STOPPED_MS 3000
/* Whether a member that is to be copied anew is still needed is looked at after so long, and up to twice that:
 * positions are no news. Never in step with the agents, or the same one would always have told its position last. */
#define CLUSTER_NEEDED_MS 173
/* A replica whose data has turned out to differ from its source's is seeded anew after so long. */
#define CLUSTER_DIVERGED_MS 60000
/* What running transactions are given on the old primary once the route is moved; long ones were waited for before
 * (drainSeconds). */
#define CLUSTER_DRAIN_MS 300
/* A planned switchover is not begun while its target lags more, unless it has waited for so long: a replica may always
 * lag a little. */
#define CLUSTER_MOVE_LAG_MAX_MS 1000
#define CLUSTER_MOVE_LAG_PATIENCE_MS 60000
/* Nor for so long while a session at the old primary holds a lock on all tables. */
#define CLUSTER_MOVE_LOCK_PATIENCE_MS 60000

/* A wish to move the primary. */
struct cluster_wish {
    bool is_there;
    enum transition_reason reason;
    const struct cluster_member *target; /* NULL: any */
};

enum restore_step {
    RESTORE_STEP_NONE,
    RESTORE_STEP_BEGIN,
    RESTORE_STEP_FOUND,
    RESTORE_STEP_EMPTY,
    RESTORE_STEP_SKIP,
    RESTORE_STEP_COMPLETE,
    RESTORE_STEP_DROP, /* the wish was taken back before anything came of it */
};

enum in_place_step {
    IN_PLACE_STEP_NONE,
    IN_PLACE_STEP_BEGIN,
    IN_PLACE_STEP_FOUND,   /* on a volume: what serves it is made while the cluster serves */
    IN_PLACE_STEP_RESTORE, /* found, and nothing speaks against it */
    IN_PLACE_STEP_TAKE,
    IN_PLACE_STEP_RESEED,
    IN_PLACE_STEP_COMPLETE,
    IN_PLACE_STEP_FAIL,   /* intent->in_place_reason and _message say why */
    IN_PLACE_STEP_REFUSE, /* likewise, and the wish that is there now counts as carried out (in_place_past.h) */
    IN_PLACE_STEP_FORGET, /* the annotation is gone: the same value is a wish again */
};

struct cluster_intent {
    bool changed; /* against the status as last written */
    struct cluster_role_status roles;
    /* What the status' other members become: steps of their own journals. */
    enum restore_step restore_step;   /* cluster_restore.h: of status.restore */
    enum in_place_step in_place_step; /* cluster_in_place.h: of status.restoreInPlace */
    char in_place_reason[48], in_place_message[512];
    uint64_t stale; /* of status.restoreInPlace */
    /* For status.nextAction; "" nothing. */
    char next_action[512];
    bool waits_for_drain;  /* only long transactions hold a wish up: since when is remembered outside */
    bool waits_to_apply;   /* only what the target has to apply holds a wish up: likewise */
    bool waits_to_archive; /* only what the primary has to archive: likewise */
    bool waits_to_unlock;  /* only a lock on all tables of the primary: roles.lock_awaited_ms says since when */
    int64_t again_ms;      /* look again then, 0: when something happens */
};

/* roll_waits: a roll wants the primary moved away. */
void cluster_intend(const struct cluster_snapshot *snapshot, bool roll_waits, struct cluster_intent *ret);

/* For status.nextAction: the first reason stands. */
void KM_PRINTF(2, 3) cluster_intent_say(struct cluster_intent *intent, const char *fmt, ...);
/* The largest one that any member knows, or was once heard to know. Not the status': a copy of that in a cache may be
 * older than what was written. */
int64_t cluster_newest_heard_epoch(const struct cluster_snapshot *snapshot);
/* The largest one that anybody knows. */
int64_t cluster_newest_epoch(const struct cluster_snapshot *snapshot);
/* It speaks, takes writes, is not being closed, and nobody is known to have been opened since it was. Where members
 * know a later epoch than the status does, the status is of the past, and each of these members must follow it still.
 * Else a failover may have left it behind, which could not close it, as it stood still or was cut off. */
bool cluster_writes_last(const struct cluster_snapshot *snapshot, const struct cluster_member *member);
/* Somebody does. */
bool cluster_anybody_writes(const struct cluster_snapshot *snapshot);

/* Puts it into a copy of the last status of the snapshot that it is of. */
void cluster_intent_apply(
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent, struct cluster_status *status);

struct cluster_orders {
    struct agent_order orders[CLUSTER_REPLICAS_MAX + 1]; /* by index of snapshot.members */
    bool given[CLUSTER_REPLICAS_MAX + 1];                /* false: what it was told before stands */
    bool repeat[CLUSTER_REPLICAS_MAX + 1];               /* tell it again and again: it wants to hear from us */
    int64_t again_ms;
};
/* intent: of the same snapshot. It gives no orders, and holds back one that it is about to contradict. */
void cluster_order(
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent, struct cluster_orders *ret);
/* True if the primary's agent reports the hash of the order that it is given here, and that the order is done. */
bool cluster_primary_obeys(const struct cluster_snapshot *snapshot, const struct cluster_orders *orders);

/* How many pods there should be: spec.replicas, unless a member beyond it may not go yet, or, in a cluster that wakes,
 * has to come first: the primary, which holds what is true and is moved by a switchover. Members that go have marked
 * their volumes if they speak; those that may yet speak have been asked. While no primary is open, those that
 * acknowledged stay. */
int cluster_wanted_pods(const struct cluster_snapshot *snapshot);
/* The member, other than the primary, that keeps the StatefulSet from shrinking, and why; NULL: none. */
const struct cluster_member *cluster_shrink_blocker(const struct cluster_snapshot *snapshot, char *why, size_t size);

#endif
