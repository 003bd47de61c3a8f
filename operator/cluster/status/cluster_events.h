/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_events.h: Events for the transitions of a cluster's conditions.
 */
#ifndef KM_CLUSTER_EVENTS_H
#define KM_CLUSTER_EVENTS_H

#include "operator/cluster/state/cluster_roles.h"
#include "operator/cluster/state/cluster_snapshot.h"
#include "operator/kube/event_recorder.h"

/* One Event for every condition whose status or reason differs between snapshot->last and status (condition_news.h),
 * and what is told of the spec, accounts and members. */
void cluster_events_record(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const struct cluster_status *status);

#define CLUSTER_NEWS_MAX 5
#define CLUSTER_MEMBER_NEWS_MAX ((1 + AGENT_SET_ASIDES_MAX) * (CLUSTER_REPLICAS_MAX + 1))

/* An Event to be. */
struct cluster_news {
    enum event_type type;
    const char *reason;     /* static */
    char message[1024 + 8]; /* longer than an Event's may be: the recorder cuts it, between characters, and says so */
};

/* What a new status tells of failovers that the one before did not: begun, whom it waits for, who was chosen, what may
 * be lost, how it ended. Pure. Returns how many of ret are filled. */
int cluster_failover_news(const struct cluster_status *before, const struct cluster_status *now,
    const struct cluster_failover_spec *spec, struct cluster_news ret[static CLUSTER_NEWS_MAX]);

/* What is new of members in a status: a copy that begins, its end or its failure, at most one of them for a member;
 * each set of transactions that was set aside. So ret has room for CLUSTER_MEMBER_NEWS_MAX. Pure. */
int cluster_member_news(const struct cluster_status *before, const struct cluster_status *now, struct cluster_news *ret);

/* Passwords that have changed, and that are in force: 0 to CLUSTER_ACCOUNT_NEWS_MAX. */
#define CLUSTER_ACCOUNT_NEWS_MAX 2
int cluster_account_news(const struct cluster_status *before, const struct cluster_status *now,
    struct cluster_news ret[static CLUSTER_ACCOUNT_NEWS_MAX]);
/* Another generation of the spec is accepted, or refused, as the one before: the condition alone does not tell that.
 * False: there is nothing to tell. Pure. */
bool cluster_spec_news(const struct cluster_status *before, const struct cluster_status *now, struct cluster_news *ret);

/* Claims of members that are not wanted any more, be it that one was never made, and so stay. False: there are no more
 * of them than before. Pure. */
bool cluster_claim_news(const struct cluster_status *before, const struct cluster_status *now, struct cluster_news *ret);

/* Commits that waited for acknowledgements do not wait any more. False: there is nothing to tell. Pure. */
bool cluster_wait_news(const struct cluster_status *before, const struct cluster_status *now, struct cluster_news *ret);

#define CLUSTER_INTENT_NEWS_MAX (CLUSTER_NEWS_MAX + 4)
/* What an intent does to roles: a new primary, a switchover, a failover or a restore that begins, goes on or ends, an
 * outage that is over. It is told once the status says so (cluster_events_tell): the snapshot has forgotten by then what this is made of.
 * Pure. */
int cluster_intent_news(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent,
    struct cluster_news ret[static CLUSTER_INTENT_NEWS_MAX]);
void cluster_events_tell(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const struct cluster_news *news, int count);
/* The cluster has gone, and these claims of it have not: "data-shop-mysql-0 data-shop-mysql-1". */
void cluster_events_claims_kept(struct event_recorder *recorder, const struct event_target *target, const char *claims);
/* A pod was deleted so that a new one takes its place; why: "replace NAME-mysql-1: it has an older template". */
void cluster_events_pod_replaced(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const char *why);
/* Others than the primary could be reached through the primary Service (route_clear.h); cleared: what of that was taken
 * away, "Endpoints shop-mysql-primary, EndpointSlice shop-mysql-primary-x7k2p". */
void cluster_events_route_cleared(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const char *cleared);
/* The check pod has started a server; cut: cluster_check_cut. */
void cluster_events_server_tried(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const char *cut);
/* The StatefulSet has a new template; change: template_change_text. */
void cluster_events_template_changed(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const char *change);

#endif
