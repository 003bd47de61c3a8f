#include "common/base.h"

#include "operator/cluster/restore_tend.h"

#include "common/alloc.h"
#include "operator/cluster/cluster_restore.h"
#include "operator/cluster/restore_store.h"
#include "operator/instance/backup_sender.h"
#include "operator/kube/kube_object.h"

#define SENDER "restore"

static struct restore_lookup *get_lookup(const struct cluster_snapshot *snapshot, struct cluster_memory *memory,
    const struct restore_lookup_options *options)
{
    struct restore_lookup_options own = *options;
    own.ns = snapshot->ns;
    own.cluster = snapshot->name;
    if (!memory->restore)
        memory->restore = restore_lookup_new(&own);
    return memory->restore;
}

static void send_task(const struct cluster_snapshot *snapshot, const struct restore_lookup *lookup,
    struct agent_fleet *fleet, const struct cluster_member *receiver)
{
    const struct backup_task *task = restore_lookup_task(lookup);
    _cleanup_(freep) char *key = kube_key(snapshot->ns, snapshot->name);
    struct backup_sender *sender = fleet ? agent_fleet_restore(fleet, key, receiver->name) : NULL;
    if (sender && task)
        backup_sender_want(sender, SENDER, task);
}

static bool take_door(const struct cluster_snapshot *snapshot, struct restore_lookup *lookup)
{
    struct backup_store door = {.is_volume = true};
    bool serves = snapshot->secrets.client_tls && restore_store_door(snapshot, &door);
    if (serves)
        restore_lookup_set_door(lookup, &door, snapshot->secrets.client_tls);
    backup_store_release(&door);
    return serves;
}

void restore_tend(const struct cluster_snapshot *snapshot, struct cluster_memory *memory,
    const struct restore_lookup_options *options, struct agent_fleet *fleet)
{
    const struct cluster_member *receiver = restore_receiver(snapshot);
    bool asks = restore_is_looked_for(snapshot) || receiver;
    if (asks && restore_store_is_wanted(snapshot) && !take_door(snapshot, get_lookup(snapshot, memory, options)))
        return; /* the pod in front of the volume comes first */
    if (restore_is_looked_for(snapshot))
        restore_lookup_want(get_lookup(snapshot, memory, options), &snapshot->cluster.restore);
    else if (receiver) {
        struct restore_lookup *lookup = get_lookup(snapshot, memory, options);
        restore_lookup_want_task(lookup, &snapshot->last.restore);
        send_task(snapshot, lookup, fleet, receiver);
    } else if (!restore_is_under_way(snapshot) && snapshot->member_count > 0) {
        restore_lookup_free(memory->restore);
        memory->restore = NULL;
    }
}
