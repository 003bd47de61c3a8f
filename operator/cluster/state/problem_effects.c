/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/problem_effects.h"

#include "operator/cluster/state/member_view.h"

/* Those that are not listed have no effect. */
static const struct problem_effects effects[AGENT_PROBLEM_KIND_COUNT] = {
    [AGENT_PROBLEM_BINLOGS_PURGED] = {.no_donor = true}, /* a copy would need the same binary logs */
    [AGENT_PROBLEM_ERRANT_TRANSACTIONS] = {.no_donor = true},
    [AGENT_PROBLEM_FOREIGN_CHANNEL] = {.no_donor = true}, /* a copy has what that wrote */
    /* A copy has its position, and would get from its source what the data has. */
    [AGENT_PROBLEM_GTIDS_LOST] = {.no_donor = true},
    [AGENT_PROBLEM_PUT_BACK_FAILED] = {.no_donor = true},
    [AGENT_PROBLEM_REPLICATION_STOPPED] = {.no_donor = true},
    [AGENT_PROBLEM_SALVAGE_FAILED] = {.no_donor = true},
    [AGENT_PROBLEM_SET_ASIDE_FAILED] = {.no_donor = true},
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
