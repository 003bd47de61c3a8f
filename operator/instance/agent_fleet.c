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
        struct agent_watch *watch;    /* of the target; NULL: there is none, or it is not asked yet */
        struct agent_watch *departed; /* kept; NULL: none */
        int64_t departed_ms;          /* monotonic; since when */
    } * members;
    size_t count;
};

static const char *cluster_key_of(const void *entry)
{
    return ((const struct fleet_cluster *)entry)->key;
}

static void members_free(struct fleet_cluster *cluster)
{
    for (size_t i = 0; i < cluster->count; i++) {
        agent_watch_free(cluster->members[i].watch);
        agent_watch_free(cluster->members[i].departed);
        free(cluster->members[i].name);
    }
    free(cluster->members);
}

static void cluster_free(void *entry)
{
    struct fleet_cluster *cluster = entry;
    members_free(cluster);
    cluster->fleet->watch_count -= cluster->count;
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

/* Whose word is the member's. */
static struct agent_watch *voice_of(const struct fleet_member *member)
{
    bool has_spoken = member->watch && agent_watch_connected(member->watch);
    return member->departed && !has_spoken ? member->departed : member->watch;
}

static struct agent_watch *find_voice(const struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    const struct fleet_cluster *cluster = hashmap_get(&fleet->clusters, cluster_key);
    const struct fleet_member *member = cluster ? find_member(cluster, name) : NULL;
    return member ? voice_of(member) : NULL;
}

/* Of the pod that had this name before: one that was open when it was found out, and not for ever. */
static void keep_departed(struct fleet_cluster *cluster, struct fleet_member *old, struct fleet_member *ret)
{
    int64_t now_ms = loop_now_ms(cluster->fleet->loop);
    if (old->watch && agent_watch_connected(old->watch)) {
        ret->departed = steal_ptr(old->watch);
        ret->departed_ms = now_ms;
    } else if (old->departed && now_ms - old->departed_ms < AGENT_FLEET_DEPARTED_MS) {
        ret->departed = steal_ptr(old->departed);
        ret->departed_ms = old->departed_ms;
    }
}

/* Takes the streams over from the old list: that of the same target, and what is to be kept. Else one is opened, but
 * not while the one that is kept still speaks. */
static void take_or_open(
    struct fleet_cluster *cluster, const struct agent_fleet_member *wanted, struct fleet_member *ret)
{
    struct fleet_member *old = find_member(cluster, wanted->name);
    if (old && old->watch && wanted->target.address && agent_watch_same_target(old->watch, &wanted->target)) {
        agent_watch_nudge(old->watch);
        ret->watch = steal_ptr(old->watch);
    }
    if (old && wanted->keep)
        keep_departed(cluster, old, ret);
    bool waits = ret->departed && agent_watch_connected(ret->departed);
    if (!ret->watch && wanted->target.address && !waits)
        ret->watch =
            agent_watch_new(cluster->fleet->loop, cluster->fleet->http, &wanted->target, on_watch_changed, cluster);
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
        take_or_open(cluster, &members[i], &next[i]);
        next[i].name = xstrdup(members[i].name);
    }
    members_free(cluster);
    fleet->watch_count += count - cluster->count;
    cluster->members = next;
    cluster->count = count;
}

const struct agent_watch *agent_fleet_get(const struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    return find_voice(fleet, cluster_key, name);
}

int64_t agent_fleet_departed_ms(const struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    const struct fleet_cluster *cluster = hashmap_get(&fleet->clusters, cluster_key);
    const struct fleet_member *member = cluster ? find_member(cluster, name) : NULL;
    bool is_kept = member && member->departed && voice_of(member) == member->departed;
    return is_kept ? loop_now_ms(fleet->loop) - member->departed_ms : -1;
}

const struct agent_status *agent_fleet_status(struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    const struct fleet_cluster *cluster = hashmap_get(&fleet->clusters, cluster_key);
    const struct fleet_member *member = cluster ? find_member(cluster, name) : NULL;
    const struct agent_watch *voice = member ? voice_of(member) : NULL;
    size_t place = member ? (size_t)(member - cluster->members) : 0;
    if (!voice || place >= ARRAY_LEN(fleet->scratch))
        return NULL;
    if (!fleet->scratch[place])
        fleet->scratch[place] = xnew(struct scratch);
    struct scratch *scratch = fleet->scratch[place];
    position_pool_unref(scratch->positions);
    scratch->positions = position_pool_new(AGENT_STATUS_POSITIONS_MAX);
    return agent_watch_read_status(voice, scratch->positions, &scratch->status) ? &scratch->status : NULL;
}

void agent_fleet_order(
    struct agent_fleet *fleet, const char *cluster_key, const char *name, const struct agent_order *order)
{
    struct agent_watch *voice = find_voice(fleet, cluster_key, name);
    if (voice)
        agent_watch_order(voice, order);
}

void agent_fleet_repeat_order(struct agent_fleet *fleet, const char *cluster_key, const char *name, bool repeat)
{
    struct agent_watch *voice = find_voice(fleet, cluster_key, name);
    if (voice)
        agent_watch_repeat_order(voice, repeat);
}

void agent_fleet_mycnf(
    struct agent_fleet *fleet, const char *cluster_key, const char *name, const char *hash, const char *text)
{
    struct agent_watch *voice = find_voice(fleet, cluster_key, name);
    if (voice)
        agent_watch_mycnf(voice, hash, text);
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

struct task_sender *agent_fleet_purge(const struct agent_fleet *fleet, const char *cluster_key, const char *name)
{
    const struct agent_watch *watch = agent_fleet_get(fleet, cluster_key, name);
    return watch ? agent_watch_purge(watch) : NULL;
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
