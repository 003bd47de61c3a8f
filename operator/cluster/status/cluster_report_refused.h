/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_report_refused.h: objects of the cluster that the API server does not take, and names that objects of
 * somebody else have. Pure.
 *
 * What only a change of the spec helps makes it one that is not accepted: the pod template, and the Services of
 * spec.services where a field of them is invalid. What others have their part in (a quota, a webhook, our rights) may
 * end by itself, and is tried again.
 */
#ifndef KM_CLUSTER_REPORT_REFUSED_H
#define KM_CLUSTER_REPORT_REFUSED_H

#include "operator/api/condition_reason.h"
#include "operator/cluster/status/cluster_report_parts.h"

/* Why the spec is not accepted: the API server's own no to what is made of it, rather than a time-out or somebody
 * else's edit. message: the field, and the API server's words. REASON_OTHER: there is none. */
enum condition_reason report_refusal(const struct report *report, char *message, size_t size);
/* What to do about that, or about the pod template that a dry run refuses. False: neither is refused. */
bool report_refusal_remedy(const struct report *report, char *out, size_t size);
/* Likewise, about what else the API server refuses. */
bool report_retried_remedy(const struct report *report, char *out, size_t size);
/* Any of what this round's plan writes is refused. */
bool report_is_refused(const struct report *report);

/* Which object of somebody else has a name that the cluster needs. False: none. */
bool report_conflict(const struct report *report, char *out, size_t size);
bool report_conflict_remedy(const struct report *report, char *out, size_t size);

#endif
