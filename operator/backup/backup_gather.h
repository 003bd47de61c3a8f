/*
 * backup_gather.h: fills a snapshot (backup_snapshot.h) from the caches, the agents' words and the memory. No I/O.
 */
#ifndef KM_BACKUP_GATHER_H
#define KM_BACKUP_GATHER_H

#include "operator/backup/backup_memory.h"
#include "operator/instance/agent_fleet.h"
#include "operator/kube/informer.h"

struct backup_sources {
    struct informer *backups, *clusters, *pods;
    struct agent_fleet *fleet;
    const char *default_agent_image;
};

/* False: there is no such object, or it is another one than the memory's. *ret must be released if true. */
bool backup_gather(const struct backup_sources *sources, const struct backup_memory *memory, int64_t now_ms,
    struct backup_snapshot *ret);
/* The pod in front of the snapshot's volume, as it should be; NULL without a volume or an accepted cluster. New document. */
json_t *backup_gather_store_pod(const struct backup_sources *sources, const struct backup_snapshot *snapshot);
/* The pod as it is; NULL: there is none. */
const struct pod_object *backup_gather_find_store(
    const struct backup_sources *sources, const char *ns, const char *cluster, const char *claim);
/* Where its objects are; keys are the memory's. Release it. */
void backup_gather_store(const struct backup_sources *sources, const struct backup_snapshot *snapshot,
    const struct task_keys *keys, struct backup_store *ret);

#endif
