/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_question.h: a question to the API server about something of a cluster: an object is created by dry run, of which
 * nothing is stored, or an object is read. The answer goes into the memory of that cluster, if it is still the same
 * one.
 */
#ifndef KM_API_QUESTION_H
#define KM_API_QUESTION_H

#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/kube/kube_client.h"

struct api_asker {
    struct kube_client *client;
    const struct kube_resource *pods, *claims, *config_maps, *storage_classes;
    struct cluster_memories *memories;
    void (*changed)(void *arg, const char *cluster_key); /* the answer was news */
    void *arg;
};

/* err: NULL, the object would be accepted, or it exists. about: what the question was asked with. Returns whether the
 * answer is news. The function may ask again. */
typedef bool (*api_answer_fn)(
    const struct api_asker *asker, struct cluster_memory *memory, const void *about, const struct error *err);

struct api_question {
    const struct kube_resource *resource;
    const json_t *object; /* to be created by dry run; borrowed during the call. NULL: `read` is */
    const char *read;     /* name of the object of the whole cluster that is read; borrowed during the call */
    api_answer_fn answer;
    void *about; /* taken over; NULL: nothing */
    void (*free_about)(void *about);
};

void api_ask(const struct api_asker *asker, const char *ns, const char *name, const char *uid,
    const struct api_question *question);

/* The client that was asked is about to go, or has gone, and answers nothing any more. */
void api_questions_forget(struct cluster_memories *memories);

#endif
