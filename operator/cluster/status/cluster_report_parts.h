/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_report_parts.h: one report in the making, and what its files (cluster_report.c, cluster_next_action.c) share.
 * Pure.
 */
#ifndef KM_CLUSTER_REPORT_PARTS_H
#define KM_CLUSTER_REPORT_PARTS_H

#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/status/cluster_report.h"

#define REPORT_MESSAGE_SIZE sizeof(((struct cluster_instance *)NULL)->message)

#define REPORT_DATA_LOST                                                                                                 \
    "the volumes of all members are empty, and were not; delete the cluster and make it anew (spec.restoreFrom takes a " \
    "backup)"

struct report {
    const struct cluster_snapshot *snapshot;
    const struct cluster_decision *decision;
    const struct cluster_outcome *outcome;
    struct cluster_status *status;
    int wanted; /* members that the spec asks for */
    int ready;
    bool complete; /* all children are as wanted */
};

/* Copies what fits, and says where it is cut. Never half a UTF-8 character: it would not read back as it was written,
 * and the status would never be the same. */
void KM_PRINTF(3, 4) report_put_text(char *out, size_t size, const char *fmt, ...);
/* What is the matter with a member; "": nothing that is known. */
void report_instance_message(const struct cluster_member *member, char *out, size_t size);
/* Of the controller of schedules: why spec.backup cannot be followed; "": it can. */
const char *report_backup_problem(const struct cluster_snapshot *snapshot);
/* Likewise: which scheduled backup the API server does not let begin, and what to do; NULL: none. */
const char *report_backup_refusal(const struct cluster_snapshot *snapshot);
bool report_wants(const struct report *report, const struct cluster_member *member);
/* The StatefulSet controller has not taken up what was applied after the decision: which pods are of an older template
 * is not known yet. */
bool report_set_is_unobserved(const struct cluster_snapshot *snapshot);
/* What is the matter with claims, and with nothing else of the plan. */
bool report_is_of_claims(const struct cluster_outcome *outcome);
/* Of a growth that the API server refuses: only somebody else can do something about it. */
bool report_growth_is_refused(const struct report *report);
/* An agent says it until its server restarts, and it does not count any more. */
bool report_problem_is_over(
    const struct report *report, const struct cluster_member *member, enum agent_problem_kind problem);
/* Of the members that have something to say, ready or not (an account that failed, a volume that fills up), the one
 * whose problem comes first: by who has to act (problem_effects.h), then by ordinal. NULL: there is none. */
const struct cluster_member *report_find_ailing(const struct report *report, const struct agent_problem **ret);
/* That one, if it is ready, another one is not, and what that one says may come of it. NULL: it is not so. */
const struct cluster_member *report_find_cause(const struct report *report, const struct agent_problem **ret);
/* The primary, if it serves and yet nobody can write there: a session holds a lock on all tables. That comes before a
 * member that is missing. NULL: it is not so. */
const struct cluster_member *report_find_locked(const struct report *report, const struct agent_problem **ret);

#endif
