/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/member_view.h"

#include "common/restore_reason.h"
#include "operator/instance/agent_watch.h"

const struct cluster_member *cluster_member_named(const struct cluster_snapshot *snapshot, const char *name)
{
    for (int i = 0; i < snapshot->member_count && !str_empty(name); i++) {
        if (str_eq(snapshot->members[i].name, name))
            return &snapshot->members[i];
    }
    return NULL;
}

const struct cluster_member *cluster_primary(const struct cluster_snapshot *snapshot)
{
    return cluster_member_named(snapshot, snapshot->last.roles.current_primary);
}

bool member_is_wanted(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member->ordinal < snapshot->scale.effective;
}

bool member_speaks(const struct cluster_member *member)
{
    return member->agent && member->agent_connected;
}

/* One that is closed for want of room opens by itself when there is room; not if it has closed itself as well, as it
 * heard nobody: another one may have been opened since. */
bool agent_takes_writes(const struct agent_status *agent)
{
    return agent->writable || (agent->closed_for_room && !agent->isolated);
}

/* An agent of an earlier version does not tell under which epoch it was opened. */
bool agent_is_closing(const struct agent_status *agent)
{
    return agent_takes_writes(agent) && agent->role != AGENT_ROLE_PRIMARY && agent->opened_epoch > 0 &&
        agent->epoch > agent->opened_epoch;
}

bool member_has_volume(const struct cluster_member *member)
{
    return member->claim && member->claim->is_bound;
}

bool member_may_hold_data(const struct cluster_member *member)
{
    return member_has_volume(member) && !member_is_empty(member);
}

bool member_is_seeding(const struct cluster_member *member)
{
    return member_speaks(member) && member->agent->phase == AGENT_PHASE_SEEDING;
}

const char *member_seed_failure(const struct cluster_member *member)
{
    const char *reason = member->agent->seed.reason;
    return str_empty(reason) ? restore_reason_name(RESTORE_REASON_TOOL_FAILED) : reason;
}

bool member_is_empty(const struct cluster_member *member)
{
    return member_is_seeding(member) && member->agent->data == AGENT_DATA_EMPTY;
}

bool member_runs(const struct cluster_member *member)
{
    return member_speaks(member) && member->agent->phase == AGENT_PHASE_RUNNING;
}

/* `init` tells the version of its image. */
const char *cluster_data_version(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool runs = primary && member_runs(primary) && !str_empty(primary->agent->version);
    return runs ? primary->agent->version : snapshot->last.data_version;
}

static bool has_epoch(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return snapshot->last.roles.epoch > 0 && member->agent->epoch == (uint64_t)snapshot->last.roles.epoch;
}

bool member_only_hangs(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_speaks(member) && member->agent->phase == AGENT_PHASE_HUNG && has_epoch(snapshot, member) &&
        member->agent->order_done;
}

bool member_is_open(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_runs(member) && has_epoch(snapshot, member) && member->agent->role == AGENT_ROLE_PRIMARY &&
        agent_takes_writes(member->agent);
}

bool member_is_closed_for_room(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_is_open(snapshot, member) && member->agent->closed_for_room;
}

bool member_can_be_told(const struct cluster_member *member, const char *position)
{
    size_t max = MAX_OF((size_t)member->agent->position_max, POSITION_OLD_MAX);
    return str_empty(position) || (position_is_whole(position) && strlen(position) <= max);
}

/* Once it is fenced it is told to be ready to follow the new one. */
static bool is_on_its_way(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    return !transition->failover && str_eq(member->name, transition->from) && member->agent->role == AGENT_ROLE_REPLICA;
}

bool member_is_fenced(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_runs(member) && has_epoch(snapshot, member) &&
        (member->agent->role == AGENT_ROLE_NONE || is_on_its_way(snapshot, member)) && member->agent->order_done &&
        !member->agent->writable && position_is_whole(member->agent->gtid_executed);
}

/* As its server is configured: an order is taken up before the server has turned to the new source. */
static bool follows_another(const struct cluster_snapshot *snapshot, const struct agent_status *agent)
{
    char host[AGENT_HOST_SIZE];
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!primary || str_empty(agent->replication.source_host))
        return false;
    cluster_member_host(snapshot, primary, host);
    return !str_eq(agent->replication.source_host, host);
}

const char *member_why_not_following(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct agent_status *agent = member->agent;
    if (!member->pod)
        return "there is no pod";
    if (!member_speaks(member))
        return "its agent does not answer";
    if (agent->phase == AGENT_PHASE_SEEDING)
        return agent->data == AGENT_DATA_DATABASE ? "it has not started its server yet" : "it has no data yet";
    if (agent->phase != AGENT_PHASE_RUNNING)
        return "its server does not run";
    if (!has_epoch(snapshot, member) || agent->role != AGENT_ROLE_REPLICA || !agent->order_done)
        return "it is not set up as a replica yet";
    if (!str_empty(agent->errant))
        return "it holds transactions that the primary has not";
    if (follows_another(snapshot, agent))
        return "it still follows another member";
    if (agent->replication.receiver != AGENT_THREAD_RUNNING)
        return str_empty(agent->replication.receiver_error) ? "it does not receive from the primary"
                                                            : agent->replication.receiver_error;
    if (agent->replication.applier != AGENT_THREAD_RUNNING)
        return str_empty(agent->replication.applier_error) ? "it does not apply what it receives"
                                                           : agent->replication.applier_error;
    return "";
}

bool member_follows(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return str_empty(member_why_not_following(snapshot, member));
}

enum gtid_flavour member_gtid_flavour(const struct cluster_member *member)
{
    return agent_gtid_flavour(member->agent->flavour);
}

bool member_has_problem(const struct cluster_member *member, enum agent_problem_kind kind)
{
    for (int i = 0; member_speaks(member) && i < member->agent->problem_count; i++) {
        if (member->agent->problems[i].kind == kind)
            return true;
    }
    return false;
}

/* An agent of an earlier version has but the problem, which it tells five seconds later. */
bool member_is_locked(const struct cluster_member *member)
{
    return member_speaks(member) &&
        (member->agent->locked_ms > 0 || member_has_problem(member, AGENT_PROBLEM_WRITES_LOCKED));
}

bool member_commits_wait(const struct cluster_member *member)
{
    return member_speaks(member) && member->agent->writes_blocked_ms >= AGENT_WATCH_BLOCKED_MS;
}

bool member_data_is_stale(const struct cluster_member *member)
{
    return member_speaks(member) && member->agent->mark != AGENT_MARK_NONE;
}

bool member_is_being_cloned(const struct cluster_member *member)
{
    if (!member_is_seeding(member))
        return false;
    return member->agent->seed.step >= AGENT_SEED_STEP_COPYING && member->agent->seed.step <= AGENT_SEED_STEP_REPLAYING;
}

bool member_has_newest_template(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member->pod && snapshot->stateful_set &&
        str_eq(member->pod->revision, snapshot->stateful_set->update_revision);
}

bool member_has_wanted_mycnf(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    bool known = member->agent && !str_empty(member->agent->mycnf_hash) && !str_empty(snapshot->mycnf_hash);
    return !known || str_eq(member->agent->mycnf_hash, snapshot->mycnf_hash);
}

/* A server that is starting, in a crash recovery perhaps, is given the time; one that runs is asked. */
static bool only_restart_brings_mycnf(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!member_speaks(member) || member_has_wanted_mycnf(snapshot, member))
        return false;
    if (member_runs(member))
        return member->mycnf_verdict == MYCNF_NEEDS_RESTART;
    bool is_down = member->agent->phase == AGENT_PHASE_DOWN || member->agent->phase == AGENT_PHASE_HUNG;
    return is_down && !cluster_member_is_ready(member);
}

bool member_is_outdated(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!member->pod || !snapshot->stateful_set || !member_is_wanted(snapshot, member))
        return false;
    return !member_has_newest_template(snapshot, member) || only_restart_brings_mycnf(snapshot, member);
}

bool member_takes_up_mycnf(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member->pod && !member->pod->object.deleting && member_is_wanted(snapshot, member) &&
        member_speaks(member) && !member_has_wanted_mycnf(snapshot, member) && !member_is_outdated(snapshot, member);
}

bool cluster_awaits_restart(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_is_wanted(snapshot, member) && member_runs(member) && !member_has_wanted_mycnf(snapshot, member) &&
            member->mycnf_verdict == MYCNF_NEEDS_RESTART)
            return true;
    }
    return false;
}

enum agent_init_fault pod_init_fault(const struct pod_object *pod)
{
    bool is_of_init = !pod->initialized && str_eq(pod->problem_container, CONTAINER_INIT);
    return is_of_init ? agent_init_fault_of(pod->problem_exit, pod->problem_message) : AGENT_INIT_FAULT_OTHER;
}

bool member_refuses_mycnf(const struct cluster_member *member)
{
    return member->pod && pod_init_fault(member->pod) == AGENT_INIT_FAULT_MYCNF;
}

int cluster_follower_count(const struct cluster_snapshot *snapshot)
{
    int count = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        count += member_is_wanted(snapshot, member) && member_follows(snapshot, member);
    }
    return count;
}

enum agent_flavour cluster_flavour(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct agent_status *agent = snapshot->members[i].agent;
        if (agent && agent->flavour != AGENT_FLAVOUR_UNKNOWN)
            return agent->flavour;
    }
    return AGENT_FLAVOUR_UNKNOWN;
}

int cluster_wanted_acks(const struct cluster_snapshot *snapshot)
{
    int replicas = snapshot->scale.effective;
    return replicas < 2 || !snapshot->cluster.replication.semi_sync ? 0 : MAX_OF(1, replicas / 2);
}

void cluster_member_host(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char out[static AGENT_HOST_SIZE])
{
    const char *const parts[] = {member->name, ".", snapshot->names.service, ".", snapshot->ns, ".svc"};
    size_t len = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) { /* without printf: each round asks dozens of times */
        size_t more = MIN_OF(strlen(parts[i]), AGENT_HOST_SIZE - 1 - len);
        memcpy(out + len, parts[i], more);
        len += more;
    }
    out[len] = '\0';
}
