/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_notes.h: what a round notes for the next one (cluster_memory.h) of what it has seen and told, how that stands
 * in the next snapshot, and what a round leaves for later while a primary changes: pure.
 */
#ifndef KM_CLUSTER_NOTES_H
#define KM_CLUSTER_NOTES_H

#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/cluster/state/cluster_roles.h"

/* Writes of one round about roles: first primary, its opening, acknowledgements. More are a bug, and come with the next
 * round. */
#define CLUSTER_INTENTS_MAX 4
/* A failover that takes longer is told of. */
#define CLUSTER_FAILOVER_REPORT_MS 2000

/* The orders were given: which epochs members know; who is not heard; whether the primary was open when we began to
 * lead; since when the old primary of a switchover is out
 * of service, the primary is not there, and a lost one hears less than all others. A primary that may open is not being
 * closed any more. */
void cluster_notes_orders(struct cluster_memory *memory, const struct cluster_snapshot *snapshot,
    const struct cluster_orders *orders, int64_t monotonic_ms);
/* Since when a wish to move the primary waits for long transactions; since when for what the primary archives; since
 * when for what its target applies, and what the primary had executed then. */
void cluster_notes_drain(
    struct cluster_memory *memory, const struct cluster_snapshot *snapshot, const struct cluster_intent *intent);
/* This intent is about to be written: when the epoch was raised, and under which one the primary is closed. */
void cluster_notes_intent(
    struct cluster_memory *memory, const struct cluster_snapshot *snapshot, const struct cluster_intent *intent);
/* Which check pod has started a server: it goes, and the roll goes on. True: that is news. */
bool cluster_notes_check(struct cluster_memory *memory, const struct cluster_snapshot *snapshot);
/* A report is made: true if acknowledgements are awaited, so that positions decide (CLUSTER_CONFIRM_MS). */
bool cluster_notes_report(struct cluster_memory *memory, const struct cluster_snapshot *snapshot, bool primary_obeys);

/* Into the snapshot, whose members have been gathered. What is pointed to is the memory's. */
void cluster_notes_show(const struct cluster_memory *memory, int64_t monotonic_ms, struct cluster_snapshot *snapshot);

/* Until the members have answered, which takes milliseconds, nothing else is written: what they say must not wait for
 * it. */
bool cluster_failover_is_swift(const struct cluster_snapshot *snapshot);
/* Nor is there time for a report before the new primary is open: what members say would wait for it. */
bool cluster_primary_is_about_to_change(const struct cluster_snapshot *snapshot);

#endif
