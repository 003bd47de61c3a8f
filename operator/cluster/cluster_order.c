/* What each agent must be told, from the status as it was written. */
#include "common/base.h"

#include "operator/cluster/cluster_roles.h"
#include "operator/cluster/member_view.h"

static struct agent_order base_order(const struct cluster_snapshot *snapshot)
{
    return (struct agent_order){
        .epoch = (uint64_t)snapshot->last.epoch,
        .max_lag_seconds = (uint32_t)snapshot->cluster.replication.max_lag_seconds,
        .drain_ms = CLUSTER_DRAIN_MS,
    };
}

static void order_primary(const struct cluster_snapshot *snapshot, const char *wait_for, struct agent_order *order)
{
    order->role = AGENT_ROLE_PRIMARY;
    order->semi_sync = snapshot->last.semi_sync;
    order->acks = (uint32_t)cluster_acks(snapshot);
    order->heartbeat = snapshot->cluster.replicas > 1;
    snprintf(order->wait_for, sizeof(order->wait_for), "%s", wait_for);
}

static void order_replica(
    const struct cluster_snapshot *snapshot, const struct cluster_member *source, struct agent_order *order)
{
    order->role = AGENT_ROLE_REPLICA;
    order->semi_sync = snapshot->cluster.replication.semi_sync && snapshot->cluster.replicas > 1;
    cluster_member_host(snapshot, source, order->source_host);
    order->source_port = MYSQL_PORT;
    order->source_agent_port = AGENT_PORT_TLS;
}

/* ---- seeding ---- */

static bool can_donate(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!member->pod || member->pod->object.deleting || !member_is_wanted(snapshot, member))
        return false;
    return member_is_open(snapshot, member) || member_follows(snapshot, member);
}

static bool copies_from(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, const struct cluster_member *donor)
{
    char host[AGENT_HOST_SIZE];
    cluster_member_host(snapshot, donor, host);
    return member_is_being_cloned(member) && str_eq(member->agent->seed.donor, host);
}

static bool has_failed_with(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, const struct cluster_member *donor)
{
    char host[AGENT_HOST_SIZE];
    cluster_member_host(snapshot, donor, host);
    return member->agent->seed.step == AGENT_SEED_STEP_FAILED && str_eq(member->agent->seed.donor, host);
}

/* One stream per donor: it goes on serving. */
static bool is_busy(const struct cluster_snapshot *snapshot, const struct cluster_orders *orders,
    const struct cluster_member *donor, const struct cluster_member *receiver)
{
    char host[AGENT_HOST_SIZE];
    cluster_member_host(snapshot, donor, host);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (other == receiver)
            continue;
        if (copies_from(snapshot, other, donor))
            return true;
        if (orders->given[i] && orders->orders[i].seed == AGENT_SEED_CLONE && str_eq(orders->orders[i].donor_host, host))
            return true;
    }
    return false;
}

/* A stream under way is not disturbed, whatever its donor is otherwise: a switchover may go on meanwhile. Else a replica rather than the primary, and another one than the last attempt failed with. */
static const struct cluster_member *choose_donor(
    const struct cluster_snapshot *snapshot, const struct cluster_orders *orders, const struct cluster_member *receiver)
{
    const struct cluster_member *best = NULL;
    int best_rank = -1;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *donor = &snapshot->members[i];
        bool under_way = copies_from(snapshot, receiver, donor) && member_runs(donor);
        if (donor == receiver ||
            (!under_way && (!can_donate(snapshot, donor) || is_busy(snapshot, orders, donor, receiver))))
            continue;
        int rank = (under_way ? 4 : 0) + (has_failed_with(snapshot, receiver, donor) ? 0 : 2) +
            (donor == cluster_primary(snapshot) ? 0 : 1);
        if (rank > best_rank) {
            best = donor;
            best_rank = rank;
        }
    }
    return best;
}

static void order_clone(const struct cluster_snapshot *snapshot, const struct cluster_orders *orders,
    const struct cluster_member *member, struct agent_order *order)
{
    const struct cluster_member *donor = choose_donor(snapshot, orders, member);
    if (!donor)
        return;
    order->seed = AGENT_SEED_CLONE;
    order->replace = member->agent->data == AGENT_DATA_DATABASE;
    cluster_member_host(snapshot, donor, order->donor_host);
    order->donor_port = MYSQL_PORT;
    order->donor_agent_port = AGENT_PORT_TLS;
}

/* A database is made once in a cluster's life: a primary whose volume is empty later is never filled with nothing (I8). */
static void order_seed(const struct cluster_snapshot *snapshot, const struct cluster_orders *orders,
    const struct cluster_member *member, struct agent_order *order)
{
    bool is_primary = member == cluster_primary(snapshot);
    if (member->agent->data == AGENT_DATA_DATABASE && (is_primary || !member_data_is_stale(member)))
        order->seed = AGENT_SEED_KEEP;
    else if (is_primary && member->agent->data == AGENT_DATA_EMPTY && !snapshot->last.initialized)
        order->seed = AGENT_SEED_INITIALISE;
    else if (!is_primary && cluster_primary(snapshot))
        order_clone(snapshot, orders, member, order);
}

/* ---- a switchover under way ---- */

/* False: what the member was told before stands. */
static bool order_in_transition(const struct cluster_snapshot *snapshot, const struct cluster_member *member,
    struct agent_order *order, int64_t *again_ms)
{
    const struct cluster_transition *transition = &snapshot->last.transition;
    const struct cluster_member *from = cluster_member_named(snapshot, transition->from);
    if (str_eq(member->name, transition->to)) {
        if (!from || !member_is_fenced(snapshot, from))
            return false;
        order_primary(snapshot, from->agent->gtid_executed, order);
        return true;
    }
    if (!str_eq(member->name, transition->from))
        return false;
    int64_t lead_ms = transition->started_ms + CLUSTER_ROUTE_LEAD_MS - snapshot->now_ms;
    if (lead_ms > 0 && lead_ms <= CLUSTER_ROUTE_LEAD_MS) {
        *again_ms = lead_ms;
        return false;
    }
    order->role = AGENT_ROLE_NONE;
    return true;
}

static bool is_in_transition(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *to = cluster_member_named(snapshot, snapshot->last.transition.to);
    return cluster_transition_is_set(&snapshot->last.transition) && !(to && member_is_open(snapshot, to));
}

/* ---- all members ---- */

/* What it needs is gone for good: by its own word, under this epoch, of this primary. What it says of a source that it is about to leave does not count. */
static bool is_behind_binlogs(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *member)
{
    char host[AGENT_HOST_SIZE];
    cluster_member_host(snapshot, primary, host);
    return member_has_problem(member, "BinlogsPurged") && str_empty(member->agent->errant) &&
        member->agent->epoch == (uint64_t)snapshot->last.epoch &&
        str_eq(member->agent->replication.source_host, host) && member_is_open(snapshot, primary);
}

static bool order_member(const struct cluster_snapshot *snapshot, const struct cluster_orders *orders,
    const struct cluster_member *member, struct agent_order *order, int64_t *again_ms)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (snapshot->cluster.replicas == 0)
        return true; /* hibernation: nothing, so that no pod waits for its primary to be moved */
    if (!member_is_seeding(member) && is_in_transition(snapshot))
        return order_in_transition(snapshot, member, order, again_ms);
    if (!member_is_wanted(snapshot, member) && member != primary) {
        order->mark = AGENT_MARK_LEFT;
        return true;
    }
    if (member_is_seeding(member))
        order_seed(snapshot, orders, member, order);
    /* What is told to `init` is told again to the agent after it: a switchover's target would open before the old primary has stopped. */
    if (!primary || (member == primary && is_in_transition(snapshot)))
        return true;
    if (member == primary)
        order_primary(snapshot, "", order);
    else
        order_replica(snapshot, primary, order);
    if (member != primary && is_behind_binlogs(snapshot, primary, member))
        order->mark = AGENT_MARK_RESEED;
    return true;
}

void cluster_order(const struct cluster_snapshot *snapshot, struct cluster_orders *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!snapshot->usable || snapshot->last.epoch == 0)
        return;
    for (int i = 0; i < snapshot->member_count; i++) {
        if (!member_speaks(&snapshot->members[i]))
            continue;
        ret->orders[i] = base_order(snapshot);
        ret->given[i] = order_member(snapshot, ret, &snapshot->members[i], &ret->orders[i], &ret->again_ms);
    }
}

/* Who can be told marks its volume first. Who was never asked, as after a restart of ours, will be. */
static bool may_leave(const struct cluster_member *member)
{
    if (member->agent_awaited || (!member_speaks(member) && cluster_member_is_ready(member)))
        return false;
    if (!member_speaks(member) || member->pod->object.deleting)
        return true;
    return member->agent->mark == AGENT_MARK_LEFT ||
        (member_is_seeding(member) && member->agent->data == AGENT_DATA_EMPTY);
}

bool cluster_may_shrink(const struct cluster_snapshot *snapshot)
{
    if (snapshot->cluster.replicas == 0)
        return true;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_is_wanted(snapshot, member) || !member->pod)
            continue;
        if (member == cluster_primary(snapshot) || str_eq(member->name, snapshot->last.transition.from))
            return false;
        if (!may_leave(member))
            return false;
    }
    return true;
}

const char *cluster_state_name(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    int running = 0, seeding = 0, following = cluster_follower_count(snapshot);
    for (int i = 0; i < snapshot->member_count; i++) {
        running += member_runs(&snapshot->members[i]);
        seeding += member_is_wanted(snapshot, &snapshot->members[i]) && member_is_seeding(&snapshot->members[i]);
    }
    if (snapshot->cluster.replicas == 0)
        return "Offline";
    if (!snapshot->last.initialized)
        return seeding > 0 || running > 0 ? "Cloning" : "Incomplete";
    if (primary && member_is_open(snapshot, primary)) {
        if (following >= snapshot->cluster.replicas - 1)
            return "Healthy";
        return seeding > 0 ? "Cloning" : "Degraded";
    }
    const struct cluster_member *from = cluster_member_named(snapshot, snapshot->last.transition.from);
    if (primary && member_runs(primary) && from && member_runs(from)) /* a switchover takes its course */
        return "Degraded";
    if (primary && !member_speaks(primary))
        return running > 0 ? "Incomplete" : "Lost";
    return running > 0 ? "Failed" : "Lost";
}
