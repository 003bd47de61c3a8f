/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/restore_tend.h"

#include "common/alloc.h"
#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/restore/cluster_restore.h"
#include "operator/cluster/restore/restore_store.h"
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

/* Of a new cluster, or in place of what an existing one has: never both. */
struct wanted {
    const struct restore_spec *wish;       /* the backup is looked for; NULL: it is not */
    const struct cluster_member *receiver; /* who is to be told; NULL: nobody */
    const struct cluster_restore *restore; /* of what */
    bool goes_on;
};

static struct wanted wanted_of(const struct cluster_snapshot *snapshot)
{
    enum in_place_phase phase = snapshot->last.in_place.phase;
    if (restore_is_under_way(snapshot))
        return (struct wanted){restore_is_looked_for(snapshot) ? &snapshot->cluster.restore : NULL,
            restore_receiver(snapshot), &snapshot->last.restore, true};
    return (struct wanted){in_place_is_looked_for(snapshot) ? &snapshot->in_place_wish.spec : NULL,
        in_place_receiver(snapshot), &snapshot->last.in_place.source,
        phase == IN_PLACE_PHASE_RESOLVING || phase == IN_PLACE_PHASE_RESTORING};
}

void restore_tend(const struct cluster_snapshot *snapshot, struct cluster_memory *memory,
    const struct restore_lookup_options *options, struct agent_fleet *fleet)
{
    const struct wanted wanted = wanted_of(snapshot);
    bool asks_store = wanted.receiver || (wanted.wish && wanted.wish->source != RESTORE_SOURCE_BACKUP);
    if (asks_store && restore_store_is_wanted(snapshot) && !take_door(snapshot, get_lookup(snapshot, memory, options)))
        return; /* the pod in front of the volume comes first */
    if (wanted.wish)
        restore_lookup_want(get_lookup(snapshot, memory, options), wanted.wish);
    else if (wanted.receiver) {
        struct restore_lookup *lookup = get_lookup(snapshot, memory, options);
        restore_lookup_want_task(lookup, wanted.restore);
        send_task(snapshot, lookup, fleet, wanted.receiver);
    } else if (!wanted.goes_on && snapshot->member_count > 0) {
        restore_lookup_free(memory->restore);
        memory->restore = NULL;
    }
}
