/* SPDX-License-Identifier: Apache-2.0 */
/*
 * restore_lookup.h: the part of a restore that waits for others: finds out which stored backup is meant (from a
 * MysqlBackup, or from the store itself), and makes the task by which an agent gets it (backup_task.h), with keys out
 * of Secrets. One per cluster that is being restored; lives on the loop.
 *
 * Answers are given to the pure half (cluster_restore.h). What failed, and "nothing is stored", is looked for again
 * every RESTORE_LOOKUP_RETRY_MS; Secrets are read again as often while a task is wanted, so that rotated keys reach the
 * agent.
 */
#ifndef KM_RESTORE_LOOKUP_H
#define KM_RESTORE_LOOKUP_H

#include "common/base.h"

#include "common/backup_task.h"
#include "common/http_client.h"
#include "common/loop.h"
#include "operator/api/restore_spec.h"
#include "operator/cluster/restore/cluster_restore.h"
#include "operator/kube/kube_client.h"

#define RESTORE_LOOKUP_RETRY_MS 15000

struct restore_lookup;

struct restore_lookup_options {
    struct loop *loop;
    struct kube_client *client;
    const struct kube_resource *secrets, *backups; /* backups: of MysqlBackup */
    const char *ns, *cluster;                      /* of the MysqlCluster; copied */
    /* There is news: an answer, a task, or why not. Never from inside a call. */
    void (*changed)(void *arg, const char *cluster_key);
    void *arg;
};
struct restore_lookup *restore_lookup_new(const struct restore_lookup_options *options);
/* Ends what runs; wipes the task. NULL is fine. */
void restore_lookup_free(struct restore_lookup *lookup);

/* How the pod in front of a volume is reached, and how we show ourselves there; before what follows, whenever it may
 * have changed. Copied; a reference is taken. */
void restore_lookup_set_door(struct restore_lookup *lookup, const struct backup_store *door, struct http_tls *tls);

/* Which one it is. Repeating the same wish costs nothing while it is looked for, or when it was found. */
void restore_lookup_want(struct restore_lookup *lookup, const struct restore_spec *spec);
/* NULL: there was no wish. Valid until the next turn of the loop. */
const struct restore_answer *restore_lookup_answer(const struct restore_lookup *lookup);

/* The task of this restore (phase Restoring). Likewise. */
void restore_lookup_want_task(struct restore_lookup *lookup, const struct cluster_restore *restore);
/* Secret; NULL: not made yet. Valid until the next turn of the loop. */
const struct backup_task *restore_lookup_task(const struct restore_lookup *lookup);
/* Why there is no task; "" if nothing is wrong. */
const char *restore_lookup_error(const struct restore_lookup *lookup);

#endif
