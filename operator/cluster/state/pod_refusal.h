/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_refusal.h: a member's pod, or its claim, that the API server does not take: quota, LimitRange, Pod Security,
 * a webhook. Pure.
 *
 * Only the StatefulSet controller hears the refusal, and tells it in Events of the StatefulSet alone. So where a pod
 * that should be there is missing for a moment, its creation is tried by dry run (reconcile/pod_question.h), and the
 * answer tells. That needs no right to read Events, and it says how it is now: Events are gathered, come late while the
 * controller pauses between its tries, and outlive what they tell of.
 */
#ifndef KM_POD_REFUSAL_H
#define KM_POD_REFUSAL_H

#include "common/error.h"
#include "operator/cluster/state/cluster_snapshot.h"

/* The reason that a member with a refused pod shows. */
#define REASON_POD_REFUSED "PodRefused"

/* The first member whose pod the StatefulSet should have made by now and has not; NULL: there is none. */
const struct cluster_member *pod_refusal_suspect(const struct cluster_snapshot *snapshot);
/* What an answer to a dry run says of the pod, as the StatefulSet controller would hear it as well. */
enum pod_answer {
    POD_ANSWER_UNKNOWN,    /* the server could not say */
    POD_ANSWER_TAKEN,      /* or one of its name is there, which it finds out last, when all else has been taken */
    POD_ANSWER_REFUSED,    /* a field that is unknown or wrong, or a no of admission: Pod Security, limits, a webhook */
    POD_ANSWER_OVER_QUOTA, /* a refusal that ends when other pods do */
    POD_ANSWER_OF_OTHERS,  /* a no that is not about the pod: our own rights, dry runs, a namespace that is deleted */
};
enum pod_answer pod_answer_of(const struct error *err); /* NULL: it would be taken */
/* What a person can do about a refusal, of the namespace `ns`; static or in `out`. */
const char *pod_refusal_remedy(const char *refusal, const char *ns, char *out, size_t size);

#endif
