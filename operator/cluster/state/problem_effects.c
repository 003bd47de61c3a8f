/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/problem_effects.h"

#include "operator/cluster/state/member_view.h"

/* Those that are not listed have no effect, and are mended. */
static const struct problem_effects effects[AGENT_PROBLEM_KIND_COUNT] = {
    [AGENT_PROBLEM_AGENT_LOCKED_OUT] = {.no_target = true, .need = PROBLEM_PERSON}, /* nobody could open it */
    [AGENT_PROBLEM_BINLOGS_PURGED] = {.no_donor = true}, /* a copy would need the same binary logs */
    [AGENT_PROBLEM_CONFIG_INVALID] = {.need = PROBLEM_PERSON},
    [AGENT_PROBLEM_CONNECTIONS_FULL] = {.need = PROBLEM_PERSON},
    [AGENT_PROBLEM_DUPLICATE_SERVER_ID] = {.need = PROBLEM_PERSON},
    [AGENT_PROBLEM_ERRANT_TRANSACTIONS] = {.no_donor = true, .no_target = true},
    /* It writes beside the clients, and a copy has what it wrote. */
    [AGENT_PROBLEM_FOREIGN_CHANNEL] = {.no_donor = true, .no_target = true, .no_reader = true, .need = PROBLEM_PERSON},
    [AGENT_PROBLEM_GTID_SET_LONG] = {.need = PROBLEM_PERSON},
    [AGENT_PROBLEM_GTID_SET_TOO_LONG] = {.need = PROBLEM_PERSON},
    /* A copy has its position, and would get from its source what the data has. */
    [AGENT_PROBLEM_GTIDS_LOST] = {.no_donor = true, .no_target = true, .no_reader = true, .need = PROBLEM_CAUSE},
    [AGENT_PROBLEM_LOOK_FAILED] = {.need = PROBLEM_PERSON}, /* without the heartbeat it is no donor (applied_epoch) */
    [AGENT_PROBLEM_OFFLINE_MODE] = {.no_target = true, .no_reader = true, .need = PROBLEM_PERSON}, /* refuses clients */
    [AGENT_PROBLEM_PUT_BACK_FAILED] = {.no_donor = true, .no_target = true, .no_reader = true},
    [AGENT_PROBLEM_REPLICATION_PAUSED] = {.need = PROBLEM_PERSON},
    [AGENT_PROBLEM_REPLICATION_STOPPED] = {.no_donor = true, .no_target = true, .need = PROBLEM_PERSON},
    [AGENT_PROBLEM_SALVAGE_FAILED] = {.no_donor = true, .need = PROBLEM_PERSON},
    [AGENT_PROBLEM_SET_ASIDE_FAILED] = {.no_donor = true, .no_target = true, .need = PROBLEM_PERSON},
    [AGENT_PROBLEM_SYSTEM_TABLES_OLD] = {.need = PROBLEM_PERSON},
    [AGENT_PROBLEM_TLS_NOT_REQUIRED] = {.need = PROBLEM_PERSON},
    [AGENT_PROBLEM_VOLUME_FULL] = {.need = PROBLEM_PERSON},
    [AGENT_PROBLEM_WRITES_LOCKED] = {.need = PROBLEM_PERSON},
};

enum problem_need problem_need_of(enum agent_problem_kind kind)
{
    return effects[kind].need;
}

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

const struct agent_problem *member_first_problem(const struct cluster_member *member)
{
    const struct agent_problem *first = NULL;
    for (int i = 0; member->agent && i < member->agent->problem_count; i++) {
        const struct agent_problem *problem = &member->agent->problems[i];
        if (!first || effects[problem->kind].need > effects[first->kind].need)
            first = problem;
    }
    return first;
}

enum problem_need member_need(const struct cluster_member *member)
{
    const struct agent_problem *first = member_first_problem(member);
    return first ? effects[first->kind].need : PROBLEM_MENDED;
}
