/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/instance/agent_fleet.h"

#include "common/alloc.h"
#include "common/hashmap.h"
#include "operator/api/mysql_cluster.h"

struct agent_fleet {
    struct loop *loop;
    struct http_client *http;
    struct {
        void (*changed)(void *arg, const char *cluster_key);
        void *arg;
    } listeners[AGENT_FLEET_LISTENERS_MAX];
    size_t listener_count;
    struct hashmap clusters; /* struct fleet_cluster by key */
    size_t watch_count;
    struct scratch {
        struct position_pool *positions;
        struct agent_status status;
    } * scratch[CLUSTER_REPLICAS_MAX + 1]; /* by the member's place in its cluster; NULL until needed */
};

struct fleet_cluster {
    struct agent_fleet *fleet;
    char *key;
    struct fleet_member {
        char *name;
        struct agent_watch *watch;
    } * members;
    size_t count;
};

static const char *cluster_key_of(const void *entry)
{
    return ((const struct fleet_cluster *)entry)->key;
}

static void cluster_free(void *entry)
{
    struct fleet_cluster *cluster = entry;
    for (size_t i = 0; i < cluster->count; i++) {
        agent_watch_free(cluster->members[i].watch);
        free(cluster->members[i].name);
    }
    cluster->fleet->watch_count -= cluster->count;
    free(cluster->members);
    free(cluster->key);
    free(cluster);
}

struct agent_fleet *agent_fleet_new(
    struct loop *loop, struct http_client *http, void (*changed)(void *arg, const char *cluster_key), void *arg)
{
    struct agent_fleet *fleet = xnew(struct agent_fleet);
    fleet->loop = loop;
    fleet->http = http;
    hashmap_init(&fleet->clusters, cluster_key_of);
    if (changed)
        agent_fleet_listen(fleet, changed, arg);
    return fleet;
}

void agent_fleet_listen(struct agent_fleet *fleet, void (*changed)(void *arg, const char *cluster_key), void *arg)
{
    if (fleet->listener_count == AGENT_FLEET_LISTENERS_MAX) {
        fprintf(stderr, "fleet: more than %d listeners\n", AGENT_FLEET_LISTENERS_MAX);
        abort();
    }
    fleet->listeners[fleet->listener_count].changed = changed;
    fleet->listeners[fleet->listener_count++].arg = arg;
}

void agent_fleet_free(struct agent_fleet *fleet)
{
    if (!fleet)
        return;
    hashmap_release(&fleet->clusters, cluster_free);
    for (size_t i = 0; i < ARRAY_LEN(fleet->scratch); i++) {
        if (fleet->scratch[i])
            position_pool_unref(fleet->scratch[i]->positions);
        free(fleet->scratch[i]);
    }
    free(fleet);
}

static void on_watch_changed(void *arg)
{
    struct fleet_cluster *cluster = arg;
    struct agent_fleet *fleet = cluster->fleet;
    for (size_t i = 0; i < fleet->listener_count; i++)
        fleet->listeners[i].changed(fleet->listeners[i].arg, cluster->key);
}

static struct fleet_member *find_member(const struct fleet_cluster *cluster, const char *name)
{
    for (size_t i = 0; i < cluster->count; i++)
        if (str_eq(cluster->members[i].name, name))
            return &cluster->members[i];
    return NULL;
}

/* Takes the stream over from the old list if it has the same target, else opens one. */
static struct agent_watch *take_or_open(struct fleet_cluster *cluster, const struct agent_fleet_member *wanted)
{
    struct fleet_member *old = find_member(cluster, wanted->name);
    if (old && old->watch && agent_watch_same_target(old->watch, &wanted->target)) {
        agent_watch_nudge(old->watch);
        return steal_ptr(old->watch);
    }
    return agent_watch_new(cluster->fleet->loop, cluster->fleet->http, &wanted->target, on_watch_changed, cluster);
}

static struct fleet_cluster *cluster_add(struct agent_fleet *fleet, const char *key)
{
    struct fleet_cluster *cluster = xnew(struct fleet_cluster);
    cluster->fleet = fleet;
    cluster->key = xstrdup(key);
    hashmap_put(&fleet->clusters, cluster);
    return cluster;
}

void agent_fleet_sync(
    struct agent_fleet *fleet, const char *cluster_key, const struct agent_fleet_member *members, size_t count)
{
    struct fleet_cluster *cluster = hashmap_get(&fleet->clusters, cluster_key);
    if (count == 0) {
        if (cluster)
            cluster_free(hashmap_remove(&fleet->clusters, cluster_key));
        return;
    }
    if (!cluster)
        cluster = cluster_add(fleet, cluster_key);
    struct fleet_member *next = xnew_array(struct fleet_member, count);
    for (size_t i = 0; i < count; i++) {
        next[i].watch = take_or_open(cluster, &members[i]);
        next[i].name = xstrdup(members[i].name);
    }
    for (size_t i = 0; i < cluster->count; i++) {
        agent_watch_free(cluster->members[i].watch);
        free(cluster->members[i].name);
    }
    free(cluster->members);
    fleet->watch_count += count - cluster->count;
    cluster->members = next;
    cluster->count = count;
}

const struct agent_watch *agent_fleet_get(const struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    const struct fleet_cluster *cluster = hashmap_get(&fleet->clusters, cluster_key);
    const struct fleet_member *member = cluster ? find_member(cluster, name) : NULL;
    return member ? member->watch : NULL;
}

const struct agent_status *agent_fleet_status(struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    const struct fleet_cluster *cluster = hashmap_get(&fleet->clusters, cluster_key);
    const struct fleet_member *member = cluster ? find_member(cluster, name) : NULL;
    size_t place = member ? (size_t)(member - cluster->members) : 0;
    if (!member || place >= ARRAY_LEN(fleet->scratch))
        return NULL;
    if (!fleet->scratch[place])
        fleet->scratch[place] = xnew(struct scratch);
    struct scratch *scratch = fleet->scratch[place];
    position_pool_unref(scratch->positions);
    scratch->positions = position_pool_new(AGENT_STATUS_POSITIONS_MAX);
    return agent_watch_read_status(member->watch, scratch->positions, &scratch->status) ? &scratch->status : NULL;
}

void agent_fleet_order(
    struct agent_fleet *fleet, const char *cluster_key, const char *name, const struct agent_order *order)
{
    const struct fleet_cluster *cluster = hashmap_get(&fleet->clusters, cluster_key);
    const struct fleet_member *member = cluster ? find_member(cluster, name) : NULL;
    if (member)
        agent_watch_order(member->watch, order);
}

void agent_fleet_repeat_order(struct agent_fleet *fleet, const char *cluster_key, const char *name, bool repeat)
{
    const struct fleet_cluster *cluster = hashmap_get(&fleet->clusters, cluster_key);
    const struct fleet_member *member = cluster ? find_member(cluster, name) : NULL;
    if (member)
        agent_watch_repeat_order(member->watch, repeat);
}

void agent_fleet_mycnf(
    struct agent_fleet *fleet, const char *cluster_key, const char *name, const char *hash, const char *text)
{
    const struct fleet_cluster *cluster = hashmap_get(&fleet->clusters, cluster_key);
    const struct fleet_member *member = cluster ? find_member(cluster, name) : NULL;
    if (member)
        agent_watch_mycnf(member->watch, hash, text);
}

void agent_fleet_preview(
    struct agent_fleet *fleet, const char *cluster_key, const char *name, const char *hash, const char *text)
{
    const struct fleet_cluster *cluster = hashmap_get(&fleet->clusters, cluster_key);
    const struct fleet_member *member = cluster ? find_member(cluster, name) : NULL;
    if (member)
        agent_watch_preview(member->watch, hash, text);
}

struct backup_sender *agent_fleet_backup(const struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    const struct agent_watch *watch = agent_fleet_get(fleet, cluster_key, name);
    return watch ? agent_watch_backup(watch) : NULL;
}

struct backup_sender *agent_fleet_restore(const struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    const struct agent_watch *watch = agent_fleet_get(fleet, cluster_key, name);
    return watch ? agent_watch_restore(watch) : NULL;
}

struct task_sender *agent_fleet_archive(const struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    const struct agent_watch *watch = agent_fleet_get(fleet, cluster_key, name);
    return watch ? agent_watch_archive(watch) : NULL;
}

struct task_sender *agent_fleet_check(const struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    const struct agent_watch *watch = agent_fleet_get(fleet, cluster_key, name);
    return watch ? agent_watch_check(watch) : NULL;
}

size_t agent_fleet_count(const struct agent_fleet *fleet)
{
    return fleet->watch_count;
}
