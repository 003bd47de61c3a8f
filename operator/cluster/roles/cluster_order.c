/* SPDX-License-Identifier: Apache-2.0 */
/* What each agent must be told, from the status as it was written. */
#include "common/base.h"

#include "operator/cluster/deletion/final_backup.h"
#include "operator/cluster/deletion/hibernation.h"
#include "operator/cluster/failover/cluster_failover.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/opening.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/restore/cluster_restore.h"
#include "operator/cluster/roles/reseed.h"
#include "operator/cluster/state/copy_close.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/namespace_end.h"
#include "operator/cluster/state/problem_effects.h"
#include "operator/cluster/state/root_wish.h"
#include "operator/cluster/state/server_series.h"
#include "operator/cluster/state/stop_wish.h"

static void look_again_in(int64_t *again_ms, int64_t ms)
{
    *again_ms = *again_ms > 0 ? MIN_OF(*again_ms, ms) : ms;
}

static struct agent_order base_order(const struct cluster_snapshot *snapshot)
{
    return (struct agent_order){
        .epoch = (uint64_t)snapshot->last.roles.epoch,
        .max_lag_seconds = (uint32_t)snapshot->cluster.replication.max_lag_seconds,
        .hung_ms = (uint32_t)failover_hung_ms(snapshot),
        .silence_ms = (uint32_t)failover_silence_ms(snapshot),
        .drain_ms = CLUSTER_DRAIN_MS,
    };
}

/* Those that leave are counted as long as they are there: one of them must not stand for one that was told to follow
 * nobody. */
static uint32_t all_others(const struct cluster_snapshot *snapshot)
{
    uint32_t pods = 0;
    for (int i = 0; i < snapshot->member_count; i++)
        pods += snapshot->members[i].pod || snapshot->members[i].departed;
    return MAX_OF(pods, (uint32_t)snapshot->scale.effective) - 1;
}

static void order_primary(const struct cluster_snapshot *snapshot, const char *wait_for, struct agent_order *order)
{
    order->role = AGENT_ROLE_PRIMARY;
    order->semi_sync = snapshot->last.roles.semi_sync;
    order->acks = (uint32_t)snapshot->last.roles.acks;
    order->heartbeat = snapshot->scale.effective > 1;
    if (snapshot->scale.effective > 1 && failover_has_fence(snapshot)) {
        order->self_fence_ms = (uint32_t)failover_self_fence_ms(snapshot);
        order->self_fence_members = failover_has_lease(snapshot) ? all_others(snapshot) : 1;
    }
    order->wait_for = wait_for;
}

/* MariaDB: only a semi-sync replica takes its own transactions back that a start of its server has cut off (MDEV-21117,
 * MDEV-27760); any other leaves out what bears its own server id, and nothing tells. Where commits do not wait nobody
 * counts its acknowledgements. */
static bool is_semi_sync_replica(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.roles.acks > 0 || cluster_flavour(snapshot) == AGENT_FLAVOUR_MARIADB;
}

/* A server that has nothing beyond what the primary had when it was chosen needs nothing cut off: its tail may be the
 * last copy beside that of the primary. A copy that replaces data has a use of its own for this (put_beyond). */
static void put_floor(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct agent_order *order)
{
    const struct cluster_reign *latest = &snapshot->last.roles.reigns.list[0];
    if (order->truncate && !order->replace && cluster_flavour(snapshot) == AGENT_FLAVOUR_MARIADB &&
        snapshot->last.roles.reigns.count > 0 && str_eq(latest->primary, primary->name))
        order->beyond = latest->floor;
}

static void order_replica(
    const struct cluster_snapshot *snapshot, const struct cluster_member *source, struct agent_order *order)
{
    order->role = AGENT_ROLE_REPLICA;
    order->semi_sync = is_semi_sync_replica(snapshot);
    order->leave_threads = snapshot->cluster.paused;
    /* Only one that is open is known to have all that was acknowledged. */
    order->truncate = snapshot->last.roles.semi_sync && member_is_open(snapshot, source);
    cluster_member_host(snapshot, source, order->source_host);
    order->source_port = MYSQL_PORT;
    order->source_agent_port = AGENT_PORT_TLS;
}

/* It receives from nobody: so a lost primary gets no more acknowledgements. */
static void order_held(const struct cluster_snapshot *snapshot, struct agent_order *order)
{
    order->role = AGENT_ROLE_REPLICA;
    order->semi_sync = snapshot->last.roles.acks > 0;
}

/* ---- seeding ---- */

/* All that the primary began the reign with, as far as that is known; only then a copy may go on from its position. A
 * position that was set back shows here also after its agent has forgotten of it. */
static bool has_all_before_reign(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_reign *latest = &snapshot->last.roles.reigns.list[0];
    bool is_known = snapshot->last.roles.reigns.count > 0 &&
        str_eq(latest->primary, snapshot->last.roles.current_primary) && !str_empty(latest->floor) &&
        position_is_whole(latest->floor);
    return !is_known || failover_has_executed(member, latest->floor);
}

/* Receivers drop what bears their own server id, as it went round: a former primary that is copied from a replica which
 * has not applied all of that one's reign yet would never get the rest, and nothing would tell. The first heartbeat of
 * the present epoch comes after it. */
static bool can_donate(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!member->pod || member->pod->object.deleting)
        return false;
    /* Also one that is to leave, as after a cluster was made anew with fewer members: nobody else may have the data. */
    if (member_is_open(snapshot, member))
        return true;
    return member_is_wanted(snapshot, member) && member_follows(snapshot, member) && !member_is_no_donor(member) &&
        !reigns_has_extra(snapshot, member) && has_all_before_reign(snapshot, member) &&
        member->agent->replication.applied_epoch >= (uint64_t)snapshot->last.roles.epoch;
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

/* Only a server of its own series can make a copy ready; not known is as good. */
static bool is_of_its_series(const struct cluster_member *donor, const struct cluster_member *receiver)
{
    const char *of_donor = donor->agent->version, *of_receiver = receiver->agent->version;
    return str_empty(of_donor) || str_empty(of_receiver) || server_series_same(of_donor, of_receiver);
}

/* A problem says that its data or its position is not what the cluster has; those of the open primary are. */
static bool is_in_doubt(const struct cluster_snapshot *snapshot, const struct cluster_member *donor)
{
    return member_is_no_donor(donor) && !member_is_open(snapshot, donor);
}

/* A stream under way is not disturbed, unless the donor's data turns out to be in doubt: a switchover may go on
 * meanwhile, and a donor that hangs for a moment, as was seen when a dump began, goes on. Else one of its own series,
 * another one than the last attempt failed with, a replica rather than the primary. */
static const struct cluster_member *choose_donor(
    const struct cluster_snapshot *snapshot, const struct cluster_orders *orders, const struct cluster_member *receiver)
{
    const struct cluster_member *best = NULL;
    int best_rank = -1;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *donor = &snapshot->members[i];
        bool gives = member_runs(donor) || member_only_hangs(snapshot, donor);
        bool under_way = gives && copies_from(snapshot, receiver, donor) && !is_in_doubt(snapshot, donor);
        if (donor == receiver ||
            (!under_way && (!can_donate(snapshot, donor) || is_busy(snapshot, orders, donor, receiver))))
            continue;
        int rank = (under_way ? 8 : 0) + (is_of_its_series(donor, receiver) ? 4 : 0) +
            (has_failed_with(snapshot, receiver, donor) ? 0 : 2) + (donor == cluster_primary(snapshot) ? 0 : 1);
        if (rank > best_rank) {
            best = donor;
            best_rank = rank;
        }
    }
    return best;
}

/* What the data has beyond the primary's, or, while none is open, beyond the donor's, nobody has. Positions of two
 * histories look alike: after a restore in place nothing is said, and so all that is new is set aside. */
static void put_beyond(const struct cluster_snapshot *snapshot, const struct cluster_member *member,
    const struct cluster_member *donor, struct agent_order *order)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    const struct agent_status *keeper = (primary && member_is_open(snapshot, primary) ? primary : donor)->agent;
    const char *position = str_empty(keeper->gtid_state) ? keeper->gtid_executed : keeper->gtid_state;
    bool same_history = member->agent->restored_number == keeper->restored_number;
    order->beyond = same_history && member_can_be_told(member, position) ? position : "";
}

static void order_clone(const struct cluster_snapshot *snapshot, const struct cluster_orders *orders,
    const struct cluster_member *member, struct agent_order *order)
{
    /* While the cluster is paused a copy that arrives goes on, and none begins. */
    bool may_copy = !snapshot->cluster.paused || member_is_being_cloned(member);
    const struct cluster_member *donor = may_copy ? choose_donor(snapshot, orders, member) : NULL;
    if (!donor)
        return;
    order->seed = AGENT_SEED_CLONE;
    order->replace = member->agent->data == AGENT_DATA_DATABASE;
    if (order->replace)
        put_beyond(snapshot, member, donor, order);
    cluster_member_host(snapshot, donor, order->donor_host);
    order->donor_port = MYSQL_PORT;
    order->donor_agent_port = AGENT_PORT_TLS;
}

/* A database is made once in a cluster's life: a primary whose volume is empty later is never filled with nothing (I8),
 * nor one beside whom anybody may hold data, as after the cluster was deleted and made anew. */
static bool may_be_made(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_may_hold_data(&snapshot->members[i]))
            return false;
    }
    return !snapshot->last.roles.initialized;
}

/* The old primary of a switchover is the only one that surely has everything, until the new one is open. A mark may be
 * of a time when it was to leave. */
static bool has_everything(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    return cluster_transition_is_set(transition) && str_eq(member->name, transition->from) &&
        !(to && member_is_open(snapshot, to));
}

static void order_seed(const struct cluster_snapshot *snapshot, const struct cluster_orders *orders,
    const struct cluster_member *member, struct agent_order *order)
{
    bool is_primary = member == cluster_primary(snapshot);
    bool is_kept = is_primary || has_everything(snapshot, member) || !member_data_is_stale(member);
    if (member->agent->data == AGENT_DATA_DATABASE && is_kept)
        order->seed = AGENT_SEED_KEEP;
    else if (is_primary && member->agent->data == AGENT_DATA_EMPTY && may_be_made(snapshot))
        restore_order(snapshot, order);
    else if (!is_primary && cluster_primary(snapshot))
        order_clone(snapshot, orders, member, order);
}

/* ---- a change of primaries under way ---- */

/* Who may acknowledge stands in the status first: a failover asks all of them. */
static bool may_follow(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return snapshot->last.roles.acks == 0 || member_acknowledges(snapshot, member);
}

/* Everything but the last step before the new primary is open; that one its own agent takes. */
static bool order_prepared(const struct cluster_snapshot *snapshot, const struct cluster_member *to,
    const struct cluster_member *member, struct agent_order *order)
{
    if (!member_is_wanted(snapshot, member) || !member->pod || member->pod->object.deleting ||
        !may_follow(snapshot, member))
        return false;
    order_replica(snapshot, to, order);
    order->await_source = true;
    order->truncate = false; /* the new one may have yet to get what would be cut off */
    return true;
}

/* While the old primary takes writes, as many go on following it as its commits wait for: the new one, and for more
 * than one acknowledgement those with the lowest numbers. */
static bool is_needed_by(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    int needed = (int)snapshot->last.roles.acks - 1;
    for (int i = 0; i < snapshot->member_count && needed > 0; i++) {
        const struct cluster_member *other = &snapshot->members[i];
        if (!member_runs(other) || str_eq(other->name, transition->from) || str_eq(other->name, transition->to))
            continue;
        if (other == member)
            return true;
        needed--;
    }
    return false;
}

/* Others are ready to acknowledge what the new primary commits: the old one need not compete with it for the
 * machine. */
static bool others_acknowledge(const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    int count = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        count += member_runs(member) && member_is_wanted(snapshot, member) && may_follow(snapshot, member) &&
            !str_eq(member->name, transition->from) && !str_eq(member->name, transition->to);
    }
    return count >= snapshot->last.roles.acks;
}

/* The new primary takes up the epoch while it has time for that: a write to its volume. Once the old one has seen the
 * epoch, too, the new one may have been told to open, by another operator perhaps. */
static bool order_target(const struct cluster_snapshot *snapshot, const struct cluster_member *from,
    const struct cluster_member *member, bool fenced, struct agent_order *order)
{
    if (fenced)
        order_primary(snapshot, from->agent->gtid_executed, order);
    else if (!from || !member_runs(from) || from->agent->epoch >= (uint64_t)snapshot->last.roles.epoch ||
        !may_follow(snapshot, member))
        return false;
    else {
        order_replica(snapshot, from, order);
        order->rotate = true;
    }
    return true;
}

/* False: what the member was told before stands. */
static bool order_in_transition(const struct cluster_snapshot *snapshot, const struct cluster_member *member,
    struct agent_order *order, int64_t *again_ms)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *from = cluster_member_named(snapshot, transition->from);
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    bool fenced = from && member_is_fenced(snapshot, from);
    if (member == to)
        return order_target(snapshot, from, member, fenced, order);
    int64_t age_ms = snapshot->now_ms - transition->started_ms;
    if (member != from && !fenced && age_ms >= 0 && age_ms < CLUSTER_PREPARE_MS) {
        look_again_in(again_ms, CLUSTER_PREPARE_MS - age_ms);
        return false;
    }
    if (member != from)
        return to && (fenced || !is_needed_by(snapshot, member)) && order_prepared(snapshot, to, member, order);
    if (fenced && to && !others_acknowledge(snapshot) && order_prepared(snapshot, to, member, order))
        return true;
    int64_t lead_ms = member->departed ? CLUSTER_DEPARTED_LEAD_MS : CLUSTER_ROUTE_LEAD_MS;
    if (age_ms >= 0 && age_ms < lead_ms) {
        look_again_in(again_ms, lead_ms - age_ms);
        return false;
    }
    order->role = AGENT_ROLE_NONE;
    if (member->departed)
        order->drain_ms = CLUSTER_DEPARTED_DRAIN_MS;
    return true;
}

static void order_chosen(const struct cluster_snapshot *snapshot, struct agent_order *order)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *from = transition->salvage ? reigns_salvaged(snapshot) : NULL;
    order_primary(snapshot, transition->position, order);
    if (!from)
        return;
    cluster_member_host(snapshot, from, order->salvage_host);
    order->salvage_agent_port = AGENT_PORT_TLS;
}

/* While binary logs are read nobody gets ready to follow: the election may begin again, and who is held has answered.
 * The old primary may have to leave something behind before it follows. */
static bool order_follower(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct agent_order *order)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    if (!to || transition->salvage || str_eq(member->name, transition->from) || member_is_seeding(member) ||
        !str_empty(member->agent->errant))
        return false;
    return order_prepared(snapshot, to, member, order);
}

static void order_in_failover(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct agent_order *order)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    struct cluster_reigns reigns;
    reigns_in_force(snapshot, &reigns);
    bool is_from = str_eq(member->name, transition->from) || reigns_index(&reigns, member->name) >= 0;
    if (str_eq(member->name, transition->to) && !member_is_seeding(member))
        order_chosen(snapshot, order);
    else if (!str_eq(member->name, transition->to) && !order_follower(snapshot, member, order))
        order_held(snapshot, order);
    /* What the old primary has counts while nobody is chosen. Later it starts as a replica, which may have to leave
     * something behind. */
    bool is_awaited = str_empty(transition->to) || str_eq(transition->to, transition->from) || transition->salvage;
    if (member_is_seeding(member) && member->agent->data == AGENT_DATA_DATABASE &&
        (is_from ? is_awaited : !member_data_is_stale(member)))
        order->seed = AGENT_SEED_KEEP;
}

static bool is_in_transition(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *to = cluster_member_named(snapshot, snapshot->last.roles.transition.to);
    /* While binary logs are taken over the others are held until the status says that this is over (order_follower). */
    bool is_over = to && member_is_open(snapshot, to) && !snapshot->last.roles.transition.salvage;
    return cluster_transition_is_set(&snapshot->last.roles.transition) && !is_over;
}

/* ---- all members ---- */

static void order_reseed(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct cluster_member *member, struct agent_order *order, int64_t *again_ms)
{
    int64_t rest_ms = 0;
    if (reseed_is_due(snapshot, primary, member, &rest_ms)) {
        order->mark = AGENT_MARK_RESEED;
        order->set_aside = true;
    }
    if (rest_ms > 0)
        look_again_in(again_ms, rest_ms);
}

/* Another one than the status' primary may have been it last, and nobody has found out who. */
static bool asks_for_last_primary(const struct cluster_snapshot *snapshot)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    bool is_asking = transition->failover && transition->reason == TRANSITION_STATUS_OUTDATED;
    return failover_status_is_old(snapshot) || (is_asking && str_empty(transition->to));
}

/* While no primary is open it may hold the only copy of a commit, and a failover asks it. Before one of this cluster
 * ever was, or where the status is of the past, it may hold all there is. */
static bool must_stay(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!in_place_holds(snapshot) && (!snapshot->last.roles.initialized || asks_for_last_primary(snapshot)))
        return member_may_hold_data(member);
    if ((primary && member_is_open(snapshot, primary)) || in_place_holds(snapshot))
        return false;
    if (member_is_empty(member))
        return false;
    bool is_stale = member_is_seeding(member) && member_data_is_stale(member);
    return has_everything(snapshot, member) || (member_acknowledges(snapshot, member) && !is_stale);
}

/* Somebody works on its files, or has done so: who may acknowledge stands in the status only once its server starts. */
static bool is_nothing_by_wish(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    bool wished = member_is_to_stop(snapshot, member) || member_is_stopped(member);
    return wished && member != cluster_primary(snapshot) && !member_is_seeding(member) && !must_stay(snapshot, member);
}

/* An order that its agent has before its server runs would open that server as soon as it does, unlooked at. `init`,
 * before that, is another process: what it is told tells nobody to open. */
static bool waits_for_start(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    bool is_initialized = (primary->pod && primary->pod->initialized) || /* the pod may be known late */
        (member_speaks(primary) && !member_is_seeding(primary));
    bool starts = is_initialized && !member_runs(primary);
    return starts && snapshot->last.roles.initialized && cluster_confirmed_acks(snapshot) > 0;
}

/* False: it stays read-only, as its server was started (opening.h, hibernation.h), or until the status is written. */
static bool order_standing(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    struct agent_order *order, int64_t *again_ms)
{
    char why[256];
    int64_t rest_ms = 0;
    if (hibernation_is_waking(snapshot))
        return false;
    if (waits_for_start(snapshot, primary))
        return false;
    if (member_runs(primary) && opening_decide(snapshot, primary, why, sizeof(why), &rest_ms) != OPENING_NOW) {
        if (rest_ms > 0)
            look_again_in(again_ms, rest_ms);
        return false;
    }
    order_primary(snapshot, "", order);
    return true;
}

static bool order_member(const struct cluster_snapshot *snapshot, const struct cluster_orders *orders,
    const struct cluster_member *member, struct agent_order *order, int64_t *again_ms)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (snapshot->scale.effective == 0) /* nothing, so that no pod waits for its primary to be moved */
        return hibernation_order(snapshot, member);
    switch (in_place_order(snapshot, member, order)) {
    case IN_PLACE_ORDER_PRIMARY:
        order_primary(snapshot, "", order);
        return true;
    case IN_PLACE_ORDER_GIVEN:
        return true;
    case IN_PLACE_ORDER_USUAL:
        break;
    }
    if (snapshot->last.roles.transition.failover && is_in_transition(snapshot)) {
        order_in_failover(snapshot, member, order);
        return true;
    }
    if (!member_is_seeding(member) && is_in_transition(snapshot))
        return order_in_transition(snapshot, member, order, again_ms);
    if (!member_is_wanted(snapshot, member) && member != primary && !must_stay(snapshot, member)) {
        order->mark = AGENT_MARK_LEFT;
        return true;
    }
    if (is_nothing_by_wish(snapshot, member))
        return true;
    if (member_is_seeding(member))
        order_seed(snapshot, orders, member, order);
    /* What is told to `init` is told again to the agent after it: a switchover's target would open before the old
     * primary has stopped, and one that was closed before the status says that it is open again. */
    bool is_closed = hibernation_is_waking(snapshot) && member_is_seeding(member);
    if (!primary || (member == primary && (is_in_transition(snapshot) || is_closed)))
        return true;
    if (member == primary && final_backup_is_closed(snapshot))
        return final_backup_order(snapshot, order, again_ms);
    if (member == primary)
        return order_standing(snapshot, primary, order, again_ms);
    if (!member_is_seeding(member) && !may_follow(snapshot, member))
        return false;
    order_replica(snapshot, primary, order);
    put_floor(snapshot, primary, order);
    /* What is on its way to `init` may reach the agent after it. */
    if (snapshot->last.roles.acks > 0 && !member_acknowledges(snapshot, member))
        order->semi_sync = false;
    order_reseed(snapshot, primary, member, order, again_ms);
    return true;
}

/* Once it is nothing, nobody counts on it, and nothing is under way that might. */
static bool may_stop_now(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!member_is_to_stop(snapshot, member))
        return false;
    return member_is_stopped(member) || member_is_seeding(member) ||
        (!is_in_transition(snapshot) && !member_acknowledges(snapshot, member) &&
            acknowledgers_has_stopped(snapshot, member));
}

/* Then nobody is told to open under the epoch that ends: what comes next might not get through, and its server would
 * open when it is back. Nor is a primary told of less than what the status says that it goes by. */
static bool is_premature(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_role_status *next = &intent->roles, *last = &snapshot->last.roles;
    bool fails_over = next->transition.failover && next->epoch != last->epoch;
    return fails_over || !cluster_confirmed_same(&next->confirmed, &last->confirmed);
}

/* A replica says that it has lost its source long before its receiver gives up. */
static bool anybody_hears_primary(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_is_wanted(snapshot, member) && member_follows(snapshot, member) &&
            !member->agent->replication.source_lost)
            return true;
    }
    return false;
}

/* A primary that may have to close itself when it hears nobody: the order is our sign of life. */
static bool must_repeat(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member == cluster_primary(snapshot) && snapshot->scale.effective > 1 && failover_has_fence(snapshot) &&
        (failover_has_lease(snapshot) || !anybody_hears_primary(snapshot));
}

/* Whoever is primary: its agent heeds it only while it is closed for want of room. */
static void add_root_wish(
    const struct cluster_snapshot *snapshot, const struct root_wish *wish, struct cluster_orders *ret)
{
    int64_t again_ms = wish->until_ms ? wish->left_ms : wish->again_ms;
    for (int i = 0; i < snapshot->member_count; i++) {
        if (!ret->given[i] || ret->orders[i].role != AGENT_ROLE_PRIMARY || !wish->until_ms)
            continue;
        ret->orders[i].root_until_ms = (uint64_t)wish->until_ms;
        ret->orders[i].root_ms = (uint32_t)wish->left_ms;
    }
    if (again_ms > 0) /* the status says no longer that it may, and the agent is told no more of it */
        ret->again_ms = ret->again_ms > 0 ? MIN_OF(ret->again_ms, again_ms) : again_ms;
}

void cluster_order(
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent, struct cluster_orders *ret)
{
    memset(ret, 0, sizeof(*ret));
    bool unknown =
        !snapshot->usable && snapshot->scale.effective == 0; /* perhaps no hibernation: nobody is told to stop */
    /* A status that is older than what members have seen is not the last word. */
    if (unknown || failover_status_is_old(snapshot) || snapshot->last.roles.epoch == 0)
        return;
    bool nobody_stays = snapshot->namespace_ends && namespace_end_nobody_stays(snapshot);
    int64_t rest_ms = copy_close_rest_ms(snapshot);
    if (rest_ms > 0)
        look_again_in(&ret->again_ms, rest_ms);
    for (int i = 0; i < snapshot->member_count; i++) {
        if (!member_speaks(&snapshot->members[i]))
            continue;
        ret->orders[i] = base_order(snapshot);
        ret->orders[i].nobody_stays = nobody_stays;
        ret->orders[i].lock_left = snapshot->lock_left && &snapshot->members[i] == cluster_primary(snapshot);
        ret->orders[i].keep_stopped = may_stop_now(snapshot, &snapshot->members[i]);
        ret->repeat[i] = must_repeat(snapshot, &snapshot->members[i]);
        ret->given[i] = order_member(snapshot, ret, &snapshot->members[i], &ret->orders[i], &ret->again_ms) &&
            member_can_be_told(&snapshot->members[i], ret->orders[i].wait_for) &&
            !(ret->orders[i].role == AGENT_ROLE_PRIMARY && is_premature(snapshot, intent));
        ret->orders[i].stays_open = ret->orders[i].role == AGENT_ROLE_PRIMARY && rest_ms > 0;
    }
    struct root_wish wish;
    root_wish_read(snapshot, &wish);
    add_root_wish(snapshot, &wish, ret);
}

/* Who can be told marks its volume first. Who was never asked, as after a restart of ours, will be. "": it may. */
static void why_not_leave(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *why, size_t size)
{
    *why = '\0';
    if (must_stay(snapshot, member))
        snprintf(why, size, "no primary is open, and it may hold commits that only the last one has");
    else if (!member->pod)
        return;
    else if (member->agent_awaited)
        snprintf(why, size, "nobody has spoken with its agent yet");
    else if (!member_speaks(member) && cluster_member_is_ready(member))
        snprintf(why, size, "it is ready, but its agent does not answer, and its volume must be marked first%s%.160s",
            str_empty(member->agent_error) ? "" : ": ", member->agent_error);
    else if (member_speaks(member) && !member->pod->object.deleting && member->agent->mark != AGENT_MARK_LEFT &&
        !member_is_empty(member))
        snprintf(why, size, "its volume is not marked yet");
}

const struct cluster_member *cluster_shrink_blocker(const struct cluster_snapshot *snapshot, char *why, size_t size)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool is_gone = !member->pod && (!snapshot->stateful_set || member->ordinal >= snapshot->stateful_set->replicas);
        if (member_is_wanted(snapshot, member) || member == cluster_primary(snapshot) || is_gone)
            continue;
        why_not_leave(snapshot, member, why, size);
        if (!str_empty(why))
            return member;
    }
    return NULL;
}

/* The primary stays until it is moved, and the one before it until that is over; while a failover goes on, so do those
 * of the reigns that it judges. While none is chosen, every volume is asked what it holds. */
static int pods_for_primary(const struct cluster_snapshot *snapshot)
{
    const struct cluster_reigns *reigns = &snapshot->last.roles.reigns;
    int primary = names_ordinal(snapshot->last.roles.current_primary),
        from = names_ordinal(snapshot->last.roles.transition.from);
    int last = MAX_OF(primary, from);
    for (int i = 0; i < reigns->count && snapshot->last.roles.transition.failover; i++)
        last = reigns->list[i].closed ? last : MAX_OF(last, names_ordinal(reigns->list[i].primary));
    for (int i = 0; i < snapshot->member_count && str_empty(snapshot->last.roles.current_primary); i++)
        last = member_has_volume(&snapshot->members[i]) ? MAX_OF(last, snapshot->members[i].ordinal) : last;
    return MIN_OF(last + 1, CLUSTER_REPLICAS_MAX);
}

int cluster_wanted_pods(const struct cluster_snapshot *snapshot)
{
    char why[256];
    int replicas = snapshot->scale.effective;
    if (replicas == 0)
        return hibernation_goes_on(snapshot) && snapshot->stateful_set ? snapshot->stateful_set->replicas : 0;
    bool held = snapshot->stateful_set && cluster_shrink_blocker(snapshot, why, sizeof(why));
    if (held || pods_for_primary(snapshot) > replicas)
        replicas = MAX_OF(replicas, snapshot->stateful_set ? snapshot->stateful_set->replicas : 0);
    return MAX_OF(replicas, pods_for_primary(snapshot));
}
