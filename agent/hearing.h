/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hearing.h: whom a primary has heard of lately, and so whether somebody else may be opened in its place (I6). Pure.
 *
 * What counts is not when a word arrives but how old it is: a request that was on its way while a link was cut may be
 * delivered long after. So who asks says which of our statuses was the last that reached it (agent_status.clock_ms,
 * query asOf): at that time, by our clock, it still heard us and meant what it says.
 */
#ifndef KM_AGENT_HEARING_H
#define KM_AGENT_HEARING_H

#include "common/base.h"

#define HEARING_MEMBERS_MAX 16

struct hearing {
    int64_t operator_ms; /* 0: never */
    struct {
        uint64_t who;
        int64_t ms;
    } members[HEARING_MEMBERS_MAX];
};

/* as_of_ms 0: it has heard nothing of us yet; later than now: an earlier life of ours, nothing either. */
void hearing_operator(struct hearing *hearing, int64_t as_of_ms, int64_t now_ms);
void hearing_member(struct hearing *hearing, const char *name, int64_t as_of_ms, int64_t now_ms);
/* Neither the operator nor `members` others (0 counts as 1) were heard within limit_ms. */
bool hearing_is_alone(const struct hearing *hearing, int64_t limit_ms, uint32_t members, int64_t now_ms);

#endif
