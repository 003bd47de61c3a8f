/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_fleet.h: the status streams to all agents of all clusters.
 *
 * One controller tells which agents a cluster should have (agent_fleet_sync, as often as it likes); the fleet opens,
 * keeps and closes streams, and calls `changed` and all that listen with the cluster's key when any of them has news.
 * So each agent is listened to once, whoever wants to know.
 */
#ifndef KM_AGENT_FLEET_H
#define KM_AGENT_FLEET_H

#include "common/base.h"

#include "operator/instance/agent_watch.h"

/* For so long a stream is kept whose pod has been deleted by force: kubelet gives such a pod a second for its preStop
 * hooks and two more for its end, and who lives longer than that is out of kubelet's reach. */
#define AGENT_FLEET_DEPARTED_MS 5000

struct agent_fleet;

/* changed may be NULL. */
struct agent_fleet *agent_fleet_new(
    struct loop *loop, struct http_client *http, void (*changed)(void *arg, const char *cluster_key), void *arg);
void agent_fleet_free(struct agent_fleet *fleet);
/* For others than who made it; at most AGENT_FLEET_LISTENERS_MAX. */
#define AGENT_FLEET_LISTENERS_MAX 6
void agent_fleet_listen(struct agent_fleet *fleet, void (*changed)(void *arg, const char *cluster_key), void *arg);

struct agent_fleet_member {
    const char *name;           /* pod name */
    struct agent_target target; /* address NULL: there is no agent to listen to */
    bool keep;                  /* an open stream to another target, of the pod that had this name before, is kept */
};
/*
 * Streams of this cluster that are not named are closed; those whose target changed are opened anew. count 0 forgets
 * the cluster.
 *
 * A stream that is kept beside its target (`keep`) is the member's as long as it is open: the new target is not asked
 * before it has ended. Its last word stands until the new target has spoken, for AGENT_FLEET_DEPARTED_MS in all.
 */
void agent_fleet_sync(
    struct agent_fleet *fleet, const char *cluster_key, const struct agent_fleet_member *members, size_t count);
/* NULL if there is none. Valid until the next sync of this cluster. */
const struct agent_watch *agent_fleet_get(const struct agent_fleet *fleet, const char *cluster_key, const char *name);
/* Since when the stream of this member is one that is kept, in milliseconds before now; -1: it is that of its
 * target. */
int64_t agent_fleet_departed_ms(const struct agent_fleet *fleet, const char *cluster_key, const char *name);
/* The last status of this member, NULL if none ever came. Shared memory: valid until the status of a member of another
 * cluster is asked for, and until the next turn of the loop. */
const struct agent_status *agent_fleet_status(struct agent_fleet *fleet, const char *cluster_key, const char *name);
/* What this member should be (agent_watch_order); NULL: nothing. Without effect if there is no stream to it. A stream
 * that is opened anew because its target changed has no order until it gets one here: the pod behind it is another
 * one. */
void agent_fleet_order(
    struct agent_fleet *fleet, const char *cluster_key, const char *name, const struct agent_order *order);
/* Whether this member's order is repeated (agent_watch_repeat_order). */
void agent_fleet_repeat_order(struct agent_fleet *fleet, const char *cluster_key, const char *name, bool repeat);
/* What this member's server should take up while it runs (agent_watch_mycnf). Without effect if there is no stream to
 * it. */
void agent_fleet_mycnf(
    struct agent_fleet *fleet, const char *cluster_key, const char *name, const char *hash, const char *text);
/* Of what it should only say whether its server could. */
void agent_fleet_preview(
    struct agent_fleet *fleet, const char *cluster_key, const char *name, const char *hash, const char *text);
/* What this member is to back up (backup_sender.h); NULL if there is no stream to it. Valid until the next sync of this
 * cluster. */
struct backup_sender *agent_fleet_backup(const struct agent_fleet *fleet, const char *cluster_key, const char *name);
/* What its `init` is to restore; likewise. */
struct backup_sender *agent_fleet_restore(const struct agent_fleet *fleet, const char *cluster_key, const char *name);
/* How it is to archive binary logs; likewise. */
struct task_sender *agent_fleet_archive(const struct agent_fleet *fleet, const char *cluster_key, const char *name);
/* Which binary logs it may remove; likewise. */
struct task_sender *agent_fleet_purge(const struct agent_fleet *fleet, const char *cluster_key, const char *name);
/* What data it is to check; likewise. */
struct task_sender *agent_fleet_check(const struct agent_fleet *fleet, const char *cluster_key, const char *name);
size_t agent_fleet_count(const struct agent_fleet *fleet);

#endif
