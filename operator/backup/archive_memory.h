/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_memory.h: what the controller of archives remembers of each cluster between reconciles, and what it exports
 * of it. Losing it costs a few reads, never correctness.
 *
 *   kubemysql_cluster_archive_lag_seconds{namespace,name}
 *       how old what is not archived yet may be; exact at each scrape; none before anything is archived
 *   kubemysql_cluster_archive_gap{namespace,name}
 *       1: something was lost before it was archived, and no backup was completed since
 *   kubemysql_cluster_archive_segments_total, _bytes_total{namespace,name}
 *       written by the present primary since it is primary
 *   kubemysql_cluster_recoverable_from_timestamp_seconds{namespace,name}
 *       none while nothing can be recovered to
 *   kubemysql_cluster_recoverable_until_timestamp_seconds{namespace,name}
 *       likewise, and while nothing was committed since the backup; exact
 * A cluster whose binary logs are not archived has none of them.
 */
#ifndef KM_ARCHIVE_MEMORY_H
#define KM_ARCHIVE_MEMORY_H

#include "common/base.h"

#include "common/hashmap.h"
#include "common/metrics.h"
#include "operator/backup/archive_decide.h"
#include "operator/backup/archive_sweep.h"
#include "operator/backup/backup_secrets.h"
#include "operator/backup/store_answer.h"
#include "operator/instance/agent_fleet.h"

struct archive_memory {
    void *owner; /* whoever made it: for callbacks */
    char *key, *uid;
    struct task_keys keys;
    int64_t keys_ms;   /* monotonic, when they were read; 0: they are not there */
    uint64_t keys_for; /* backup_secrets_meant */
    int64_t since_ms;  /* wall clock: since when it is wanted; 0: it is not */
    bool hurries;      /* the primary was told to archive at once */
    /* wall clock: until when all is archived, and archive_reach_ms of it, as heard last */
    int64_t noticed_ms, reach_ms;
    struct archive_backup *backups; /* completed ones that count, as of: */
    size_t backup_count;
    struct position_pool *texts; /* of those */
    struct archive_link link;
    uint64_t backups_digest;     /* of all of the cluster, and of the destination; 0: never looked */
    bool backup_runs;            /* one is not over */
    struct store_answer store;   /* whether the pod in front of a volume could be made last time */
    uint64_t tidied_for;         /* what was wanted when pods that nobody needs were looked for */
    struct archive_sweep *sweep; /* NULL: none is under way */
    int64_t swept_ms;            /* monotonic, when the last one ended; 0: never */
    uint64_t swept_for;          /* digest of the backups that there were */
    bool sweep_more;
    /* For metrics. */
    char primary[DERIVED_NAME_SIZE]; /* "" unknown */
    int64_t recoverable_from_ms;
    bool gap;
};

struct archive_memories {
    struct hashmap by_key;
    struct agent_fleet *fleet; /* whom the figures are asked of at each scrape */
};

/* fleet is borrowed, and must outlive the renderings. */
void archive_memories_init(struct archive_memories *memories, struct agent_fleet *fleet);
void archive_memories_release(struct archive_memories *memories);
struct archive_memory *archive_memories_find(const struct archive_memories *memories, const char *key);
/* Made on first use; one of another UID is replaced by an empty one. */
struct archive_memory *archive_memories_get(
    struct archive_memories *memories, const char *key, const char *uid, void *owner);
void archive_memories_forget(struct archive_memories *memories, const char *key);
/* How many sweeps are under way. */
/* What a primary says, for the time when it is not heard. */
void archive_memory_notice(struct archive_memory *memory, const struct archive_report *report);
size_t archive_memories_sweeps(const struct archive_memories *memories);
/* memories must outlive the renderings. */
void archive_metrics_register(struct metrics *metrics, const struct archive_memories *memories);

#endif
