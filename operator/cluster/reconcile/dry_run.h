/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dry_run.h: a question to the API server about something of a cluster: an object is created by dry run, of which
 * nothing is stored, and the answer goes into the memory of that cluster, if it is still the same one.
 */
#ifndef KM_DRY_RUN_H
#define KM_DRY_RUN_H

#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/kube/kube_client.h"

struct dry_run_asker {
    struct kube_client *client;
    const struct kube_resource *pods, *claims, *config_maps;
    struct cluster_memories *memories;
    void (*changed)(void *arg, const char *cluster_key); /* the answer was news */
    void *arg;
};

/* err: NULL, it would be taken. about: what the question was asked with. Returns whether the answer is news. It may ask
 * again. */
typedef bool (*dry_run_answer_fn)(
    const struct dry_run_asker *asker, struct cluster_memory *memory, const void *about, const struct error *err);

struct dry_run_question {
    const struct kube_resource *resource;
    const json_t *object; /* borrowed during the call */
    dry_run_answer_fn answer;
    void *about; /* taken over; NULL: nothing */
    void (*free_about)(void *about);
};

void dry_run_ask(const struct dry_run_asker *asker, const char *ns, const char *name, const char *uid,
    const struct dry_run_question *question);

/* The client that was asked is about to go, or has gone, and answers nothing any more. */
void dry_run_forget(struct cluster_memories *memories);

#endif
