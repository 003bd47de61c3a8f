/* SPDX-License-Identifier: Apache-2.0 */
/*
 * condition_news.h: whether a condition that has changed is worth an Event, and of which type. Pure.
 *
 * A Warning is what somebody may have to look at. What is asked for is none: a cluster that is made, members that are
 * scaled, rolled, deleted or hibernated, a switchover. Such a cluster has conditions that are False for a while.
 */
#ifndef KM_CONDITION_NEWS_H
#define KM_CONDITION_NEWS_H

#include "operator/cluster/state/cluster_snapshot.h"

enum condition_news {
    CONDITION_NEWS_NONE,
    CONDITION_NEWS_NORMAL,
    CONDITION_NEWS_WARNING,
};

/* A pod that is not older starts, unless something is known to be wrong with it. */
#define CONDITION_NEWS_START_MS (3 * 60 * 1000)

/* snapshot: what `now` was made of; snapshot->last: the status before. */
enum condition_news condition_news_of(const struct cluster_snapshot *snapshot, const struct kube_condition *now);

#endif
