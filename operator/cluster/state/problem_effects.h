/* SPDX-License-Identifier: Apache-2.0 */
/*
 * problem_effects.h: what follows from each problem that an agent tells of its member (agent_problem.h): one table.
 * Pure.
 *
 * A problem that stops replication needs no entry here but for copies: such a member does not follow, and so it is not
 * ready and nobody's target (member_follows). docs/replication.md has the table for people.
 */
#ifndef KM_PROBLEM_EFFECTS_H
#define KM_PROBLEM_EFFECTS_H

#include "operator/cluster/state/cluster_snapshot.h"

/* Who has to act. */
enum problem_need {
    PROBLEM_MENDED, /* the agent or the operator mends it, or it passes */
    PROBLEM_PERSON, /* it stays until a person acts */
    PROBLEM_CAUSE,  /* likewise, or its data is replaced; and what other members say may come of it */
};

struct problem_effects {
    bool no_donor;  /* its data or its position is in doubt: nobody copies from it as long as it is a replica */
    bool no_target; /* the primary is not moved there */
    bool no_reader; /* clients of the Service for replicas are not sent there */
    enum problem_need need;
};

enum problem_need problem_need_of(enum agent_problem_kind kind);

bool member_is_no_donor(const struct cluster_member *member);
bool member_is_no_reader(const struct cluster_member *member);
/* The problem that keeps the primary from being moved there; NULL: none does. */
const struct agent_problem *member_why_no_target(const struct cluster_member *member);
/* Of its problems the one that is told first: by who has to act, then as the agent orders them. NULL: it has none, or
 * has never spoken. */
const struct agent_problem *member_first_problem(const struct cluster_member *member);
/* Of that one. */
enum problem_need member_need(const struct cluster_member *member);

#endif
