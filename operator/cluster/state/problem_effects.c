/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/problem_effects.h"

#include "operator/cluster/state/member_view.h"

/* Those that are not listed have no effect. */
static const struct problem_effects effects[AGENT_PROBLEM_KIND_COUNT] = {
    [AGENT_PROBLEM_AGENT_LOCKED_OUT] = {.no_target = true}, /* nobody could open it */
    [AGENT_PROBLEM_BINLOGS_PURGED] = {.no_donor = true},    /* a copy would need the same binary logs */
    [AGENT_PROBLEM_ERRANT_TRANSACTIONS] = {.no_donor = true, .no_target = true},
    /* It writes beside the clients, and a copy has what it wrote. */
    [AGENT_PROBLEM_FOREIGN_CHANNEL] = {.no_donor = true, .no_target = true, .no_reader = true},
    /* A copy has its position, and would get from its source what the data has. */
    [AGENT_PROBLEM_GTIDS_LOST] = {.no_donor = true, .no_target = true, .no_reader = true},
    [AGENT_PROBLEM_OFFLINE_MODE] = {.no_target = true, .no_reader = true}, /* refuses clients */
    [AGENT_PROBLEM_PUT_BACK_FAILED] = {.no_donor = true, .no_target = true, .no_reader = true},
    [AGENT_PROBLEM_REPLICATION_STOPPED] = {.no_donor = true, .no_target = true},
    [AGENT_PROBLEM_SALVAGE_FAILED] = {.no_donor = true},
    [AGENT_PROBLEM_SET_ASIDE_FAILED] = {.no_donor = true, .no_target = true},
};

static int count_of(const struct cluster_member *member)
{
    return member_speaks(member) ? member->agent->problem_count : 0;
}

bool member_is_no_donor(const struct cluster_member *member)
{
    for (int i = 0; i < count_of(member); i++) {
        if (effects[member->agent->problems[i].kind].no_donor)
            return true;
    }
    return false;
}

bool member_is_no_reader(const struct cluster_member *member)
{
    for (int i = 0; i < count_of(member); i++) {
        if (effects[member->agent->problems[i].kind].no_reader)
            return true;
    }
    return false;
}

const struct agent_problem *member_why_no_target(const struct cluster_member *member)
{
    for (int i = 0; i < count_of(member); i++) {
        if (effects[member->agent->problems[i].kind].no_target)
            return &member->agent->problems[i];
    }
    return NULL;
}
