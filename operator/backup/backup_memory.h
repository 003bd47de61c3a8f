/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backup_memory.h: what the controller remembers of each MysqlBackup between reconciles: keys for a while, work in the
 * store, figures for metrics. Losing it costs a few reads and a look into the store, never correctness.
 */
#ifndef KM_BACKUP_MEMORY_H
#define KM_BACKUP_MEMORY_H

#include "common/base.h"

#include "common/hashmap.h"
#include "operator/backup/backup_job.h"
#include "operator/backup/backup_secrets.h"
#include "operator/backup/store_answer.h"

struct backup_memory {
    void *owner; /* whoever made it: for callbacks */
    char *key, *uid;
    struct task_keys keys;
    int64_t keys_ms;        /* monotonic, when they were read; 0: they are not there */
    uint64_t keys_for;      /* backup_secrets_meant */
    struct backup_job *job; /* NULL: none is under way */
    struct backup_job_view view;
    char donor[DERIVED_NAME_SIZE];       /* who was given the task by this process; "" nobody */
    char begins_with[DERIVED_NAME_SIZE]; /* the donor in a status that is being written; "" none */
    bool namespace_ends;                 /* the API server has said so: nobody ends that */
    int64_t namespace_asked_ms;          /* monotonic; 0: never */
    bool wants_store;                    /* the pod in front of its volume */
    struct store_answer store;           /* whether that, and its claim, could be made last time */
    /* Of the last look. */
    char *ns, *cluster, *claim; /* claim "" without a volume */
    enum backup_phase phase;
    int64_t start_ms, completion_ms;
    uint64_t stored_bytes;
};

struct backup_memories {
    struct hashmap by_key;
};

void backup_memories_init(struct backup_memories *memories);
void backup_memories_release(struct backup_memories *memories);
struct backup_memory *backup_memories_find(const struct backup_memories *memories, const char *key);
/* Made on first use; one of another UID is replaced by an empty one. */
struct backup_memory *backup_memories_get(
    struct backup_memories *memories, const char *key, const char *uid, void *owner);
void backup_memories_forget(struct backup_memories *memories, const char *key);
/* Whether one of the cluster wants the pod in front of this claim. */
bool backup_memories_want_store(
    const struct backup_memories *memories, const char *ns, const char *cluster, const char *claim);

/* Whether another one is about to begin with this member: its status does not say so yet. */
bool backup_memories_have_begun(
    const struct backup_memories *memories, const struct backup_memory *but, const char *ns, const char *pod);

#endif
