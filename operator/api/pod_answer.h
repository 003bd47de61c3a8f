/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_answer.h: what the API server says about a pod that is to be made: quota, LimitRange, Pod Security, a webhook.
 * Pure.
 */
#ifndef KM_POD_ANSWER_H
#define KM_POD_ANSWER_H

#include "common/base.h"

#include "common/error.h"

/* What an answer to the creation of a pod says of it, or to a dry run of that, as the StatefulSet controller would hear
 * it as well. */
enum pod_answer {
    POD_ANSWER_UNKNOWN,    /* the server could not say */
    POD_ANSWER_TAKEN,      /* or one of its name is there, which it finds out last, when all else has been taken */
    POD_ANSWER_REFUSED,    /* a field that is unknown or wrong, or a no of admission: Pod Security, limits, a webhook, a
                              quota that is smaller than what is asked for */
    POD_ANSWER_OVER_QUOTA, /* a refusal that ends when other pods do */
    POD_ANSWER_OF_OTHERS,  /* a no that is not about the pod: our own rights, dry runs, a namespace that is deleted */
};
enum pod_answer pod_answer_of(const struct error *err); /* NULL: it would be taken */
/* Of the answer to a growth of a claim: its StorageClass does not expand volumes, or it has none. */
bool pod_answer_blames_class(const struct error *err);
/* What a person can do about a refusal, of the namespace `ns`; static or in `out`. who: asks for the pod: "the
 * cluster". */
const char *pod_refusal_remedy(const char *refusal, const char *ns, const char *who, char *out, size_t size);

#endif
