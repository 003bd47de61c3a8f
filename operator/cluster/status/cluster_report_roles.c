/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_report_roles.h"

#include "operator/api/condition_reason.h"
#include "operator/cluster/failover/cluster_confirmed.h"
#include "operator/cluster/failover/opening.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/state/cluster_roles.h"
#include "operator/cluster/state/copy_close.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/problem_effects.h"
#include "operator/cluster/status/cluster_state.h"

bool cluster_nobody_speaks(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_speaks(&snapshot->members[i]))
            return false;
    }
    return snapshot->member_count > 0;
}

bool cluster_epoch_spreads(const struct cluster_snapshot *snapshot)
{
    int64_t age_ms = snapshot->now_ms - snapshot->epoch_since_ms;
    if (snapshot->epoch_since_ms == 0 || age_ms < 0 || age_ms >= CLUSTER_EPOCH_SPREAD_MS)
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_runs(member) &&
            (member->agent->epoch < (uint64_t)snapshot->last.roles.epoch || !member->agent->order_done))
            return true;
    }
    return false;
}

void cluster_report_roles(const struct cluster_snapshot *snapshot, bool primary_obeys, struct cluster_status *status)
{
    const struct cluster_status *last = &snapshot->last;
    status->roles = last->roles;
    copy_close_record(snapshot, &status->copy_close);
    reigns_settle(snapshot, &status->roles.reigns);
    cluster_confirmed_strengthen(snapshot, primary_obeys, &status->roles.confirmed);
    bool unknown = cluster_nobody_speaks(snapshot) && cluster_snapshot_ready_count(snapshot) > 0;
    bool keep = (unknown || cluster_epoch_spreads(snapshot)) && last->state != CLUSTER_STATE_UNKNOWN;
    status->state = keep ? last->state : cluster_state_decide(snapshot);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member->claim && !member_is_wanted(snapshot, member))
            snprintf(status->retained_volumes[status->retained_volume_count++], DERIVED_NAME_SIZE, "%s",
                member->claim->name);
    }
}

static int seed_percent(const struct agent_status *agent)
{
    if (agent->seed.total_bytes == 0)
        return 0;
    uint64_t percent = agent->seed.bytes * 100 / agent->seed.total_bytes;
    return (int)(MIN_OF(percent, 100) / 5 * 5);
}

/* "FOLDER: …" of which somebody has said that it is known to him. */
static bool is_seen(const struct cluster_snapshot *snapshot, const char *set_aside)
{
    const char *seen = str_or_empty(snapshot->set_aside_seen);
    size_t len = strcspn(set_aside, ":");
    while (*seen) {
        size_t n = strcspn(seen, ", ");
        if (n > 0 && n == len && strncmp(seen, set_aside, len) == 0)
            return true;
        seen += n + (seen[n] != '\0');
    }
    return false;
}

/* Those that nobody has said that he knows. */
static void leave_out_seen(const struct cluster_snapshot *snapshot, struct agent_set_asides *asides)
{
    struct agent_set_asides left = {.more = asides->more};
    int count = 0;
    for (int i = 0; i < AGENT_SET_ASIDES_MAX; i++) {
        if (*asides->sets[i] && !is_seen(snapshot, asides->sets[i]))
            memcpy(left.sets[count++], asides->sets[i], sizeof(left.sets[0]));
    }
    *asides = left;
}

/* What lies on a volume lies there also while its agent is silent, or is an `init` that has not looked. */
static void report_set_aside(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct cluster_instance *instance)
{
    const struct cluster_status *last = &snapshot->last;
    for (int i = 0; i < last->instance_count; i++) {
        if (strcmp(last->instances[i].name, instance->name) == 0)
            instance->set_aside = last->instances[i].set_aside;
    }
    if (member_speaks(member) && !(member_is_seeding(member) && str_empty(member->agent->set_aside.sets[0])))
        instance->set_aside = member->agent->set_aside;
    leave_out_seen(snapshot, &instance->set_aside);
}

void cluster_report_replication(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct cluster_instance *instance)
{
    const struct agent_status *agent = member->agent;
    report_set_aside(snapshot, member, instance);
    if (!member_speaks(member))
        return;
    snprintf(instance->role, sizeof(instance->role), "%s", agent_role_name(agent->role));
    instance->lag_known = agent->role == AGENT_ROLE_REPLICA && agent->replication.lag_known;
    instance->lag_ms = agent->replication.lag_ms;
    snprintf(instance->errant, sizeof(instance->errant), "%s", agent->errant);
    const struct agent_problem *first = member_first_problem(member);
    if (first)
        snprintf(instance->problem, sizeof(instance->problem), "%s", first->reason);
    if (!member_is_seeding(member))
        return;
    instance->seed_step = agent->seed.step;
    snprintf(instance->seed_donor, sizeof(instance->seed_donor), "%.*s", (int)strcspn(agent->seed.donor, "."),
        agent->seed.donor);
    instance->seed_percent = seed_percent(agent);
    instance->seed_bytes = agent->seed.bytes;
    instance->seed_total_bytes = agent->seed.total_bytes;
    instance->seed_bytes_per_second = agent->seed.bytes_per_second;
}

static void KM_PRINTF(6, 7) set(const struct cluster_snapshot *snapshot, struct cluster_status *status,
    const char *type, bool yes, const char *reason, const char *fmt, ...)
{
    char message[CLUSTER_MESSAGE_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    kube_conditions_set(&status->conditions, type, yes ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE, reason,
        snapshot->generation, snapshot->now_ms, "%s", message);
}

static const struct cluster_member *find_not_following(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member != primary && member_is_wanted(snapshot, member) && !member_follows(snapshot, member))
            return member;
    }
    return NULL;
}

/* The member's own words, where it has any: they are whole, and name the transaction. */
static const char *why_it_does_not_follow(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    for (int i = 0; member_runs(member) && i < member->agent->problem_count; i++) {
        const struct agent_problem *problem = &member->agent->problems[i];
        if (problem->kind == AGENT_PROBLEM_REPLICATION_STOPPED || problem->kind == AGENT_PROBLEM_REPLICATION_REFUSED)
            return problem->message;
    }
    return member_why_not_following(snapshot, member);
}

static void set_replicated(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    const struct cluster_member *ailing = find_not_following(snapshot);
    int replicas = snapshot->scale.effective - 1;
    if (replicas < 1)
        kube_conditions_remove(&status->conditions, CONDITION_REPLICATED);
    else if (!cluster_primary(snapshot))
        set(snapshot, status, CONDITION_REPLICATED, false, reason_name(REASON_NO_PRIMARY), "no member is primary yet");
    else if (ailing)
        set(snapshot, status, CONDITION_REPLICATED, false, reason_name(REASON_REPLICA_NOT_FOLLOWING),
            "%d of %d replicas follow; %s: %s%s", cluster_follower_count(snapshot), replicas, ailing->name,
            why_it_does_not_follow(snapshot, ailing),
            opening_holds_alone(snapshot, cluster_primary(snapshot))
                ? "; no other member that answers holds the last transactions of the primary"
                : "");
    else
        set(snapshot, status, CONDITION_REPLICATED, true, "AllFollow", "%d of %d replicas follow %s%s", replicas,
            replicas, snapshot->last.roles.current_primary,
            snapshot->last.roles.semi_sync ? "; commits wait for acknowledgements" : "");
}

/* "db-mysql-1: there is no pod, db-mysql-2: its server does not run" */
static void name_the_awaited(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    size_t len = 0;
    *out = '\0';
    for (int i = 0; i < snapshot->member_count && len < size; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == cluster_primary(snapshot) || !member_is_wanted(snapshot, member) ||
            member_follows(snapshot, member))
            continue;
        len += (size_t)snprintf(out + len, size - len, "%s%s: %s", len ? ", " : "; awaited: ", member->name,
            member_why_not_following(snapshot, member));
    }
    if (len == 0)
        snprintf(out, size, "; all of them follow, and are slow to answer");
}

/* A primary counts connections, also those that it serves nothing any more: who does not follow gives none. */
static unsigned count_givers(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    return MIN_OF(primary->agent->semi_sync_replicas, (unsigned)cluster_follower_count(snapshot));
}

static void set_closed_for_copy(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    const struct cluster_copy_close *close = &status->copy_close;
    set(snapshot, status, CONDITION_WRITES_BLOCKED, true, "ClosedForCopy",
        "%s is closed for writes and can be read from: the copy that %s makes of it waited for commits that nobody "
        "acknowledges, and has to get past them",
        close->member, *close->receiver ? close->receiver : "another member");
}

/* Where a copy may wait for the same commits. */
static void say_when_it_closes(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    const struct cluster_member *receiver = copy_close_receiver(snapshot);
    int64_t rest_ms = copy_close_rest_ms(snapshot);
    char when[CLOCK_RFC3339_SIZE];
    *out = '\0';
    if (!receiver || rest_ms == 0)
        return;
    clock_format_rfc3339(snapshot->now_ms + rest_ms, when);
    snprintf(out, size,
        "; the copy that %s makes of it may wait for them, too, and the primary, which was closed for one not long ago, is "
        "not closed again before %s, unless no commit gets through for ten seconds",
        receiver->name, when);
}

static void set_writes_blocked(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    char awaited[CLUSTER_MESSAGE_MAX], closes[512];
    if (copy_close_is_under_way(snapshot)) {
        set_closed_for_copy(snapshot, status);
        return;
    }
    if (!primary || !member_commits_wait(primary)) {
        kube_conditions_remove(&status->conditions, CONDITION_WRITES_BLOCKED);
        return;
    }
    name_the_awaited(snapshot, awaited, sizeof(awaited));
    int acks =
        primary->agent->flavour == AGENT_FLAVOUR_MARIADB ? 1 : snapshot->last.roles.acks; /* it counts no further */
    say_when_it_closes(snapshot, closes, sizeof(closes));
    bool all_follow = cluster_follower_count(snapshot) >= snapshot->scale.effective - 1; /* they have yet to notice */
    if (member_runs(primary))
        set(snapshot, status, CONDITION_WRITES_BLOCKED, true, "AcknowledgementsMissing",
            "commits on %s wait for %d acknowledgement%s, %u replicas give them%s%s", primary->name, acks,
            acks == 1 ? "" : "s", count_givers(snapshot, primary), awaited, closes);
    else
        set(snapshot, status, CONDITION_WRITES_BLOCKED, true, "AcknowledgementsMissing",
            "commits on %s waited for %d acknowledgement%s when its server answered last%s", primary->name, acks,
            acks == 1 ? "" : "s", all_follow ? "" : awaited);
}

static void set_lagging(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    int limit_s = snapshot->cluster.replication.max_lag_seconds;
    for (int i = 0; i < snapshot->member_count && limit_s > 0; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!member_is_wanted(snapshot, member) || !member_runs(member) || member->agent->role != AGENT_ROLE_REPLICA ||
            !member->agent->replication.lag_known || member->agent->replication.lag_ms <= limit_s * 1000LL)
            continue;
        set(snapshot, status, CONDITION_LAGGING, true, "ReplicaLags",
            "%s lags more than spec.replication.maxLagSeconds (%d) and is out of the Service for replicas",
            member->name, limit_s);
        return;
    }
    kube_conditions_remove(&status->conditions, CONDITION_LAGGING);
}

void cluster_report_replication_conditions(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    if (cluster_nobody_speaks(snapshot) || cluster_epoch_spreads(snapshot))
        return;
    set_replicated(snapshot, status);
    set_writes_blocked(snapshot, status);
    set_lagging(snapshot, status);
}
