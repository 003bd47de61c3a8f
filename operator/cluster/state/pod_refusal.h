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
/* Whether that answer to a dry run tells what the StatefulSet controller would hear as well. One about our own rights,
 * about dry runs, or about the server itself does not. */
bool pod_refusal_is(const struct error *err);
/* What a person can do about a refusal, of the namespace `ns`; static or in `out`. */
const char *pod_refusal_remedy(const char *refusal, const char *ns, char *out, size_t size);

#endif
