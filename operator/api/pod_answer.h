/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_answer.h: what the API server says about a pod that is to be made: quota, LimitRange, Pod Security, a webhook.
 * Pure.
 */
#ifndef KM_POD_ANSWER_H
#define KM_POD_ANSWER_H

#include "common/base.h"

#include <jansson.h>

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
/* text: why a member is not ready, as in the status. The API server's words in it, borrowed; NULL: its pod was not
 * refused. */
const char *pod_refusal_told(const char *text);
/* Of a quota or a LimitRange: the processor time or the memory that the containers ask for is too much, or is missing;
 * not the number of pods. */
bool pod_refusal_is_of_resources(const char *refusal);
/* Of a quota: the claims of the namespace ask for too much, not too many of them. */
bool pod_refusal_is_of_storage(const char *refusal);
/* The container of `pod`, a manifest, whose resources are refused: by its place ("spec.containers[0].resources"), or by
 * the amount that a LimitRange names, if only one asks for that, or several of one configuration. same: whether two
 * containers have theirs from one field. Borrowed from `pod`; NULL: that is not known. */
const char *pod_refusal_container(
    const char *refusal, const json_t *pod, bool (*same)(const char *container, const char *other));
/* Whether a volume of `pod`, a manifest, is what is refused: by its place ("spec.volumes[6].nfs.path"), by its name
 * (Pod Security), or as the one volume of the kind whose field has a wrong type ("….VolumeSource.nfs.server"). */
enum pod_refusal_volume {
    POD_REFUSAL_OF_VOLUME,
    POD_REFUSAL_OF_ELSE,
    POD_REFUSAL_UNTOLD, /* words about a manifest that cannot be read, without a place: "quantities must match …" */
};
enum pod_refusal_volume pod_refusal_volume(const char *refusal, const json_t *pod, const char *volume);
/* What a person can do about a refusal, of the namespace `ns`; static or in `out`. who: asks for the pod: "the
 * cluster"; NULL: nobody chooses what it asks for. */
const char *pod_refusal_remedy(const char *refusal, const char *ns, const char *who, char *out, size_t size);

#endif
