/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_question.h: asks the API server whether it would take a pod of the members' template (cluster_gate.h): one
 * is created by dry run. Nothing is stored; admission and validation have their say as they have when a StatefulSet
 * makes it.
 *
 * Only what speaks of the pod is an answer: a field that is unknown or wrong (400, 422), or a no of admission (403: Pod
 * Security, limits, a class that is not there, a webhook). A webhook that takes no part in dry runs says nothing of the
 * pod.
 */
#ifndef KM_TEMPLATE_QUESTION_H
#define KM_TEMPLATE_QUESTION_H

#include "operator/cluster/reconcile/cluster_memory.h"
#include "operator/kube/kube_client.h"

/* A no may have come to an end: somebody made the class, or lifted the limit. */
#define TEMPLATE_REFUSED_RETRY_MS 15000
/* The server could not answer. */
#define TEMPLATE_UNKNOWN_RETRY_MS 2000

struct template_asker {
    struct kube_client *client;
    const struct kube_resource *pods;
    struct cluster_memories *memories;
    void (*changed)(void *arg, const char *cluster_key); /* there is an answer, or another one */
    void *arg;
};

/* Asks if it is due. Returns in how many milliseconds to come again, 0: there is no need to. */
int64_t template_ask(
    const struct template_asker *asker, struct cluster_memory *memory, const struct cluster_snapshot *snapshot);

/* Pure. What an answer to the dry run says; message: of a refusal. */
enum template_verdict template_verdict_of(const struct error *err);

#endif
