/*
 * agent_fleet.h: the status streams to all agents of all clusters.
 *
 * A controller tells which agents a cluster should have (agent_fleet_sync, as often as it likes); the fleet opens, keeps and closes streams, and
 * calls `changed` with the cluster's key when any of them has news.
 */
#ifndef KM_AGENT_FLEET_H
#define KM_AGENT_FLEET_H

#include "common/base.h"

#include "operator/instance/agent_watch.h"

struct agent_fleet;

struct agent_fleet *agent_fleet_new(
    struct loop *loop, struct http_client *http, void (*changed)(void *arg, const char *cluster_key), void *arg);
void agent_fleet_free(struct agent_fleet *fleet);

struct agent_fleet_member {
    const char *name; /* pod name */
    struct agent_target target;
};
/* Streams of this cluster that are not named are closed; those whose target changed are opened anew. count 0 forgets the cluster. */
void agent_fleet_sync(
    struct agent_fleet *fleet, const char *cluster_key, const struct agent_fleet_member *members, size_t count);
/* NULL if there is none. Valid until the next sync of this cluster. */
const struct agent_watch *agent_fleet_get(const struct agent_fleet *fleet, const char *cluster_key, const char *name);
/* The last status of this member, NULL if none ever came. Shared memory: valid until the status of a member of another cluster is asked for,
 * and until the next turn of the loop. */
const struct agent_status *agent_fleet_status(struct agent_fleet *fleet, const char *cluster_key, const char *name);
/* What this member should be (agent_watch_order); NULL: nothing. Without effect if there is no stream to it. A stream that is opened anew
 * because its target changed has no order until it gets one here: the pod behind it is another one. */
void agent_fleet_order(
    struct agent_fleet *fleet, const char *cluster_key, const char *name, const struct agent_order *order);
/* What this member's server should take up while it runs (agent_watch_mycnf). Without effect if there is no stream to it. */
void agent_fleet_mycnf(
    struct agent_fleet *fleet, const char *cluster_key, const char *name, const char *hash, const char *text);
size_t agent_fleet_count(const struct agent_fleet *fleet);

#endif
