/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_turn.h: one reconcile of one cluster under way, as the controller of archives sees it: what it looks at. Of
 * archive_controller.c only.
 */
#ifndef KM_ARCHIVE_TURN_H
#define KM_ARCHIVE_TURN_H

#include "operator/backup/archive_memory.h"
#include "operator/backup/store_pod.h"
#include "operator/runtime/reconcile_context.h"

struct archive_controller;

/* Nothing in it points into the caches. */
struct archive_turn {
    struct reconcile_context context;
    struct archive_controller *controller;
    char history[64];   /* what it is filed under (cluster_history_name) */
    int64_t now_ms;     /* wall clock */
    json_t *document;   /* the cluster's spec, which `spec` and `wish` borrow */
    bool accepted;      /* spec.backup can be read */
    bool paused, rests; /* rests: no member is wanted */
    bool hurries;       /* a member's binary logs begin behind what is archived: the primary archives at once */
    int64_t created_ms; /* the cluster */
    struct backup_spec spec;
    struct backup_summary schedule; /* the status as it is: of the schedule */
    struct mysql_backup wish;       /* destination and encryption, as Secrets are read for */
    char primary[DERIVED_NAME_SIZE];
    struct archive_summary written; /* the status as it is */
    struct archive_decision decision;
};

/* cluster: as it is in the cache now. Freed by reconcile_done, the last of its phases. */
struct archive_turn *archive_turn_new(
    const struct custom_object *cluster, struct reconcile *run, struct kube_client *client);
/* Completed backups of the cluster in the place where its binary logs go, and whether one is not over: into the memory,
 * unless they are there already. */
void archive_turn_look_at_backups(
    const struct archive_turn *turn, const struct backup_sources *sources, struct archive_memory *memory);
/* Those that the memory holds are of the Secrets that the spec names now. */
bool archive_turn_has_keys(const struct archive_turn *turn, const struct archive_memory *memory);
/* The task for the primary. False: it cannot be given; reason and message say why. The task must be released if
 * true. */
bool archive_turn_task(const struct archive_turn *turn, const struct backup_sources *sources,
    const struct archive_memory *memory, struct archive_task *ret, char reason[static KUBE_CONDITION_REASON_MAX],
    char message[static KUBE_CONDITION_MESSAGE_MAX]);

#endif
