/* SPDX-License-Identifier: Apache-2.0 */
/* What the status must say about roles before anybody is told. */
#include "common/base.h"

#include "common/gtid.h"
#include "common/strbuf.h"
#include "operator/cluster/deletion/final_backup.h"
#include "operator/cluster/deletion/hibernation.h"
#include "operator/cluster/failover/cluster_confirmed.h"
#include "operator/cluster/failover/cluster_failover.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/member_history.h"
#include "operator/cluster/failover/opening.h"
#include "operator/cluster/failover/primary_election.h"
#include "operator/cluster/failover/reigns.h"
#include "operator/cluster/failover/write_gap_times.h"
#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/restore/cluster_restore.h"
#include "operator/cluster/restore/in_place_past.h"
#include "operator/cluster/roles/outage.h"
#include "operator/cluster/roles/table_lock.h"
#include "operator/cluster/state/archive_reach.h"
#include "operator/cluster/state/cluster_roles.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/stop_wish.h"

#define POD_DRAIN_MAX_MS 60000
#define UNHEARD_AGAIN_MS 100

static void set_primary(struct cluster_intent *intent, const char *name)
{
    snprintf(intent->roles.current_primary, sizeof(intent->roles.current_primary), "%s", name);
}

/* ---- the first primary ---- */

static bool must_start_servers(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if ((member_is_wanted(snapshot, member) || member_has_volume(member)) && member_is_seeding(member) &&
            member->agent->data == AGENT_DATA_DATABASE)
            return true;
    }
    return false;
}

/* Volumes of an earlier life bring epochs along: the new one must be above all of them. */
static void choose_first(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct cluster_member *first = election_first(snapshot, intent->next_action, sizeof(intent->next_action));
    if (!first) {
        /* An epoch that all take, so that servers can be told to start as nothing. */
        bool refused = snapshot->last.roles.epoch == 0 || cluster_newest_epoch(snapshot) > snapshot->last.roles.epoch;
        if (refused && must_start_servers(snapshot))
            intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
        return;
    }
    intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    intent->roles.acks = cluster_wanted_acks(snapshot);
    set_primary(intent, first->name);
    reigns_begin(first, intent->roles.epoch, cluster_take_position(snapshot, first->agent->gtid_executed), 0,
        &intent->roles.reigns);
    in_place_refuse_old_wish(snapshot, intent);
}

/* ---- a switchover under way ---- */

static void begin_transition(const struct cluster_snapshot *snapshot, const struct cluster_member *from,
    const struct cluster_member *to, enum transition_reason reason, struct cluster_intent *intent)
{
    intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    set_primary(intent, to->name);
    intent->roles.transition = (struct cluster_transition){.started_ms = snapshot->now_ms, .epoch = intent->roles.epoch};
    snprintf(intent->roles.transition.from, sizeof(intent->roles.transition.from), "%s", from->name);
    snprintf(intent->roles.transition.to, sizeof(intent->roles.transition.to), "%s", to->name);
    intent->roles.transition.reason = reason;
    intent->roles.acknowledgers |= acknowledgers_of(snapshot, to);
    reigns_in_force(snapshot, &intent->roles.reigns);
    reigns_begin(
        to, intent->roles.epoch, cluster_take_position(snapshot, from->agent->gtid_executed), 0, &intent->roles.reigns);
    intent->roles.reigns.list[0].floor_is_partial = true;
}

static bool find_domain(const struct gtid_set *set, uint32_t domain, struct gtid_one *ret)
{
    for (size_t i = 0; gtid_set_position(set, i, ret); i++) {
        if (ret->domain == domain)
            return true;
    }
    return false;
}

/* MariaDB. Of each domain the old primary's last transaction, or, if the log of the new one shows that it lacks that,
 * the last one of the same server that it has; or what the old primary had when the switchover began, if it wrote
 * nothing after that. begun: that position. */
static struct gtid_set *last_of_both(
    const struct gtid_set *of_from, const struct cluster_member *to, const struct gtid_set *begun)
{
    const char *state = str_or_empty(to->agent->gtid_state);
    struct gtid_set *both = gtid_set_new(GTID_MARIADB);
    struct gtid_one one, before;
    for (size_t i = 0; gtid_set_position(of_from, i, &one); i++) {
        uint64_t number = position_is_whole(state) ? member_history_state_number(state, &one) : 0;
        bool lacks = number > 0 && number < one.number && find_domain(begun, one.domain, &before) &&
            (before.server != one.server || before.number <= number);
        if (lacks && before.number >= number)
            one = before;
        else if (lacks)
            one.number = number;
        gtid_set_add(both, &one);
    }
    return both;
}

/* What the old primary had when it was fenced. What somebody has written there since, the new one has not. */
static void set_final_floor(const struct cluster_snapshot *snapshot, const struct cluster_member *from,
    const struct cluster_member *to, struct cluster_reign *latest)
{
    enum gtid_flavour flavour = member_gtid_flavour(from);
    _cleanup_(gtid_set_freep) struct gtid_set *begun = position_parse(flavour, latest->floor);
    _cleanup_(gtid_set_freep) struct gtid_set *of_from = position_parse(flavour, from->agent->gtid_executed);
    _cleanup_(gtid_set_freep) struct gtid_set *of_to =
        to && member_speaks(to) ? position_parse(flavour, to->agent->gtid_executed) : NULL;
    latest->floor = cluster_take_position(snapshot, from->agent->gtid_executed);
    if (!begun || !of_from || !of_to)
        return;
    _cleanup_(gtid_set_freep) struct gtid_set *both =
        flavour == GTID_MARIADB ? last_of_both(of_from, to, begun) : gtid_set_intersect(of_from, of_to);
    reigns_set_floor(snapshot, both, latest);
}

/* The old primary's position is final once it is fenced. */
static void end_reign_of(
    const struct cluster_snapshot *snapshot, const struct cluster_member *from, struct cluster_intent *intent)
{
    struct cluster_reign *latest = &intent->roles.reigns.list[0];
    reigns_in_force(snapshot, &intent->roles.reigns);
    latest->opened = true;
    if (!from || !member_is_fenced(snapshot, from))
        return;
    set_final_floor(snapshot, from, cluster_member_named(snapshot, snapshot->last.roles.transition.to), latest);
    latest->floor_is_partial = false;
    intent->roles.reigns.count = 1; /* all that earlier reigns acknowledged is in the floor */
}

static void end_transition(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_switchover *done = &intent->roles.last_switchover;
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    struct cluster_transition told = *transition;
    write_gap_note_last_write(snapshot, &told);
    const struct write_gap_change change = {.to = cluster_member_named(snapshot, transition->to),
        .epoch = transition->epoch,
        .started_ms = transition->started_ms,
        .last_write = {.at_ms = told.last_write_ms, .span_ms = told.last_write_span_ms},
        .seen_closed = snapshot->fenced_since_ms > 0};
    const struct write_gap_end end = write_gap_end(snapshot, &change);
    *done = (struct cluster_switchover){.epoch = transition->epoch,
        .started_ms = transition->started_ms,
        .finished_ms = end.finished_ms,
        .writes_blocked_ms = end.blocked_ms,
        .gap = end.gap};
    memcpy(done->from, transition->from, sizeof(done->from));
    memcpy(done->to, transition->to, sizeof(done->to));
    done->reason = transition->reason;
    end_reign_of(snapshot, cluster_member_named(snapshot, transition->from), intent);
    intent->roles.transition = (struct cluster_transition){.from = ""};
}

/* The target is told to open only after the old primary has been fenced (cluster_order). Proof that it never was: it
 * takes writes, or has not seen the epoch. That it is not fenced now is none: its server may have been restarted since,
 * and the target may be open unheard. */
static bool can_go_back(const struct cluster_snapshot *snapshot, const struct cluster_member *from)
{
    if (!from || !member_runs(from))
        return false;
    return agent_takes_writes(from->agent) || from->agent->epoch < (uint64_t)snapshot->last.roles.transition.epoch;
}

static void go_back(
    const struct cluster_snapshot *snapshot, const struct cluster_member *from, struct cluster_intent *intent)
{
    intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    set_primary(intent, from->name);
    reigns_in_force(snapshot, &intent->roles.reigns);
    reigns_drop_latest(&intent->roles.reigns);
    intent->roles.transition = (struct cluster_transition){.from = ""};
}

/* All are asked then (failover_instead). */
static void say_take_back(const struct cluster_transition *transition, bool runs, struct cluster_intent *intent)
{
    cluster_intent_say(intent, "make %s primary again, as %s has lost its data; waits until %s%s %s", transition->from,
        transition->to, runs ? "" : "the server of ", transition->from, runs ? "has stopped writes" : "runs");
}

static void continue_transition(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct cluster_transition *transition = &snapshot->last.roles.transition;
    const struct cluster_member *from = cluster_member_named(snapshot, transition->from);
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    if (to && member_is_open(snapshot, to)) {
        end_transition(snapshot, intent);
        return;
    }
    int64_t age_ms = snapshot->now_ms - transition->started_ms;
    bool lost = !to || (!member_runs(to) && !to->agent_awaited);
    bool empty = to && member_is_empty(to);
    if (empty && can_go_back(snapshot, from))
        go_back(snapshot, from, intent);
    else if (lost && age_ms > CLUSTER_TARGET_SILENCE_MS && can_go_back(snapshot, from))
        go_back(snapshot, from, intent);
    else if (failover_instead(snapshot, intent))
        return;
    else if (empty)
        say_take_back(transition, from && member_runs(from), intent);
    else if (lost)
        cluster_intent_say(intent, "move the primary from %s to %s; waits: %s does not answer", transition->from,
            transition->to, transition->to);
    else if (from && !member_is_fenced(snapshot, from))
        cluster_intent_say(intent, "move the primary from %s to %s; waits until %s has stopped writes%s",
            transition->from, transition->to, transition->from,
            member_speaks(from) ? "" : ": its agent does not answer");
    else
        cluster_intent_say(intent, "move the primary from %s to %s; waits until %s has applied everything",
            transition->from, transition->to, transition->to);
    intent->again_ms = intent->again_ms > 0 ? MIN_OF(intent->again_ms, 1000) : 1000;
}

/* ---- wishes ---- */

static const struct cluster_member *annotated(const struct cluster_snapshot *snapshot)
{
    return cluster_member_meant(snapshot, snapshot->switchover_to);
}

/* The primary's volume is full: of those that could take over, whoever has most room. Others must have some, too: those
 * that the new primary's commits wait for. */
static const struct cluster_member *find_roomy(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    const struct cluster_member *best = NULL;
    int roomy = 0;
    char why[256];
    if (!member_is_closed_for_room(snapshot, primary) || !member_has_problem(primary, AGENT_PROBLEM_VOLUME_FULL))
        return NULL;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == primary || !member_is_wanted(snapshot, member) || !member_follows(snapshot, member) ||
            member_has_problem(member, AGENT_PROBLEM_VOLUME_FULL))
            continue;
        roomy++;
        if (election_can_take_over(snapshot, member, why, sizeof(why)) &&
            (!best || member->agent->volume_free_bytes > best->agent->volume_free_bytes))
            best = member;
    }
    return roomy > (snapshot->last.roles.semi_sync ? snapshot->last.roles.acks : 0) ? best : NULL;
}

static struct cluster_wish find_wish(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, bool roll_waits)
{
    const struct cluster_member *once = annotated(snapshot), *roomy = find_roomy(snapshot, primary);
    int ordinal = snapshot->cluster.replication.primary;
    if (!member_is_wanted(snapshot, primary))
        return (struct cluster_wish){true, TRANSITION_SCALE_IN, NULL};
    if (primary->departed || (primary->pod && primary->pod->object.deleting))
        return (struct cluster_wish){true, TRANSITION_POD_DELETED, NULL};
    if (once && once != primary && !str_eq(snapshot->switchover_to, snapshot->last.roles.switchover_done))
        return (struct cluster_wish){true, TRANSITION_REQUESTED, once};
    if (snapshot->cluster.paused) /* the rest is of the spec, or of no loss */
        return (struct cluster_wish){false, TRANSITION_ROLL, NULL};
    if (roomy)
        return (struct cluster_wish){true, TRANSITION_VOLUME_FULL, roomy};
    if (ordinal >= 0 && ordinal < snapshot->scale.effective && ordinal != primary->ordinal &&
        member_has_newest_template(snapshot, &snapshot->members[ordinal]) &&
        !member_is_outdated(snapshot, &snapshot->members[ordinal]))
        return (struct cluster_wish){true, TRANSITION_REQUESTED, &snapshot->members[ordinal]};
    return (struct cluster_wish){roll_waits, TRANSITION_ROLL, NULL};
}

/* A request by annotation is carried out once; taking it away makes room for the same one again. One for nobody is told
 * with the next action (cluster_next_action.h). */
static void tick_off_annotation(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_intent *intent)
{
    const char *value = str_or_empty(snapshot->switchover_to);
    if (str_empty(value))
        intent->roles.switchover_done[0] = '\0';
    else if (annotated(snapshot) == primary)
        snprintf(intent->roles.switchover_done, sizeof(intent->roles.switchover_done), "%s", value);
}

/* What a wish waits for in turn has limits, which are not given anew when it waits for the next of them. */
static void keep_patience(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    intent->waits_for_drain |= snapshot->drain_since_ms > 0;
    intent->waits_to_archive |= snapshot->archive_since_ms > 0;
    intent->waits_to_unlock |= snapshot->last.roles.lock_awaited_ms > 0;
}

static bool must_unlock(const struct cluster_snapshot *snapshot, enum transition_reason reason,
    const struct cluster_member *primary, struct cluster_intent *intent)
{
    if (!table_lock_holds_up(snapshot, reason, primary, intent))
        return false;
    keep_patience(snapshot, intent);
    return true;
}

/* Transactions that are open for long are waited for while writes still go on. */
static bool must_drain(const struct cluster_snapshot *snapshot, enum transition_reason reason,
    const struct cluster_member *primary, struct cluster_intent *intent)
{
    int64_t limit_ms = snapshot->cluster.replication.drain_seconds * 1000LL;
    if (reason == TRANSITION_POD_DELETED)
        limit_ms = MIN_OF(limit_ms, POD_DRAIN_MAX_MS);
    int64_t waited_ms = snapshot->drain_since_ms > 0 ? snapshot->now_ms - snapshot->drain_since_ms : 0;
    bool is_given_up = member_is_locked(primary) && table_lock_waited_ms(snapshot) >= CLUSTER_MOVE_LOCK_PATIENCE_MS;
    if (primary->agent->long_transactions == 0 || waited_ms >= limit_ms || primary->departed ||
        member_is_closed_for_room(snapshot, primary) || is_given_up) /* none of them can commit behind the lock */
        return false;
    intent->waits_for_drain = true;
    keep_patience(snapshot, intent);
    intent->again_ms = MIN_OF(limit_ms - waited_ms, 1000);
    cluster_intent_say(intent, "%s %s (%s); waits up to %lld s for %u long transactions, the oldest: %s",
        reason == TRANSITION_FINAL_BACKUP ? "close" : "move the primary away from", primary->name,
        transition_reason_name(reason), (long long)((limit_ms - waited_ms + 999) / 1000),
        primary->agent->long_transactions, primary->agent->long_transaction);
    return true;
}

/* All that the primary had committed when the wish was first seen. */
static const char *wished_position(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    return snapshot->apply_position ? snapshot->apply_position : primary->agent->gtid_executed;
}

/* False also where that cannot be compared. */
static bool lacks_wished_position(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, const struct cluster_member *target)
{
    enum gtid_flavour flavour = member_gtid_flavour(primary);
    _cleanup_(gtid_set_freep) struct gtid_set *wanted = position_parse(flavour, wished_position(snapshot, primary));
    _cleanup_(gtid_set_freep) struct gtid_set *executed = position_parse(flavour, target->agent->gtid_executed);
    if (!wanted || !executed)
        return false;
    enum gtid_relation relation = gtid_set_compare(wanted, executed);
    return relation != GTID_SUBSET && relation != GTID_EQUAL;
}

/* What it has not even received of it; "" nothing, or it cannot be told. */
static void name_unreceived(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct cluster_member *target, struct strbuf *out)
{
    enum gtid_flavour flavour = member_gtid_flavour(primary);
    _cleanup_(gtid_set_freep) struct gtid_set *wanted = position_parse(flavour, wished_position(snapshot, primary));
    _cleanup_(gtid_set_freep) struct gtid_set *received = position_parse(flavour, failover_position_of(target));
    if (!wanted || !received)
        return;
    _cleanup_(gtid_set_freep) struct gtid_set *more = gtid_set_subtract(wanted, received);
    gtid_set_print(more, out);
}

/* What the target still applies is waited for while writes go on; a transaction that takes it seconds would hold them
 * up for as long. Its lag tells that only later: heartbeats wait behind such a transaction. Who leaves anyway, or takes
 * no writes, gains nothing by it. */
static bool must_apply(const struct cluster_snapshot *snapshot, enum transition_reason reason,
    const struct cluster_member *primary, const struct cluster_member *target, struct cluster_intent *intent)
{
    const struct agent_status *agent = target->agent;
    int64_t waited_ms = snapshot->apply_since_ms > 0 ? snapshot->now_ms - snapshot->apply_since_ms : 0;
    bool lags = agent->replication.lag_known && agent->replication.lag_ms > CLUSTER_MOVE_LAG_MAX_MS &&
        waited_ms < CLUSTER_MOVE_LAG_PATIENCE_MS;
    if (reason == TRANSITION_POD_DELETED || member_is_closed_for_room(snapshot, primary) ||
        (!lags && !lacks_wished_position(snapshot, primary, target)))
        return false;
    intent->waits_to_apply = true;
    keep_patience(snapshot, intent);
    intent->again_ms = 1000;
    _cleanup_(strbuf_release) struct strbuf unreceived;
    strbuf_init(&unreceived, GTID_TEXT_MAX);
    name_unreceived(snapshot, primary, target, &unreceived);
    if (unreceived.len > 0)
        cluster_intent_say(intent, "move the primary away from %s (%s); waits: %s has not received %.200s, for %lld s",
            primary->name, transition_reason_name(reason), target->name, unreceived.buf,
            (long long)(MAX_OF(waited_ms, 0) / 1000));
    else
        cluster_intent_say(intent,
            "move the primary away from %s (%s); waits: %s has been applying what it received, for %lld s",
            primary->name, transition_reason_name(reason), target->name, (long long)(MAX_OF(waited_ms, 0) / 1000));
    return true;
}

/* A gap in the archive is for good: no restore goes over it. Who leaves anyway, or takes no writes, does not wait; nor
 * does anybody for ever, as the archive may never catch up. */
static bool must_archive(const struct cluster_snapshot *snapshot, enum transition_reason reason,
    const struct cluster_member *primary, const struct cluster_member *target, struct cluster_intent *intent)
{
    int64_t limit_ms = archive_reach_patience_ms(snapshot);
    int64_t waited_ms = snapshot->archive_since_ms > 0 ? snapshot->now_ms - snapshot->archive_since_ms : 0;
    if (reason == TRANSITION_POD_DELETED || member_is_closed_for_room(snapshot, primary) || waited_ms >= limit_ms ||
        !archive_reach_is_awaited(snapshot, target))
        return false;
    intent->waits_to_archive = true;
    keep_patience(snapshot, intent);
    intent->again_ms = MIN_OF(limit_ms - waited_ms, 1000);
    cluster_intent_say(intent,
        "move the primary away from %s (%s); waits up to %lld s until %s has archived what the binary logs of %s lack, "
        "which was copied",
        primary->name, transition_reason_name(reason), (long long)(limit_ms / 1000), primary->name, target->name);
    return true;
}

static void grant(const struct cluster_snapshot *snapshot, const struct cluster_wish *wish,
    const struct cluster_member *primary, struct cluster_intent *intent)
{
    char why[ELECTION_WHY_SIZE];
    const struct cluster_member *target = wish->target;
    if (target && !election_can_take_over(snapshot, target, why, sizeof(why)))
        target = NULL;
    else if (!target)
        target = election_successor(snapshot, why, sizeof(why));
    /* The target is opened when it has all of a position: one that is too long to be told would never be reached, and
     * writes would be blocked. */
    if (target && !position_is_whole(primary->agent->gtid_executed)) {
        snprintf(why, sizeof(why), "the GTID set of %s is too long", primary->name);
        target = NULL;
    } else if (target && !member_can_be_told(target, primary->agent->gtid_executed)) {
        snprintf(why, sizeof(why), "the agent of %s is of an earlier version and cannot be told so long a GTID set",
            target->name);
        target = NULL;
    }
    if (target && intent->roles.reigns.count == CLUSTER_REIGNS_MAX) {
        snprintf(why, sizeof(why), "nobody has acknowledged a commit of %s since it became primary", primary->name);
        target = NULL;
    }
    if (!target)
        cluster_intent_say(intent, "move the primary away from %s (%s); blocked: %s", primary->name,
            transition_reason_name(wish->reason), why);
    else if (!must_unlock(snapshot, wish->reason, primary, intent) &&
        !must_drain(snapshot, wish->reason, primary, intent) &&
        !must_archive(snapshot, wish->reason, primary, target, intent) &&
        !must_apply(snapshot, wish->reason, primary, target, intent))
        begin_transition(snapshot, primary, target, wish->reason, intent);
}

/* ---- nothing under way ---- */

/* By its own word; who is silent may still acknowledge. */
static bool has_stopped_following(const struct cluster_member *member)
{
    if ((!member->pod && !member->departed) || member_is_seeding(member))
        return true;
    return member_speaks(member) && member->agent->role == AGENT_ROLE_NONE && member->agent->order_done;
}

/* Fewer acknowledgements must not be those of members that leave. */
static bool leaving_do_not_count(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool leaves = member != cluster_primary(snapshot) && !member_is_wanted(snapshot, member);
        if (leaves && !has_stopped_following(member))
            return false;
    }
    return true;
}

/* A failover asks them, should the primary be lost: who acknowledged is not forgotten before it is open. */
static bool acknowledgers_are_there(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member != cluster_primary(snapshot) && member->pod && member_acknowledges(snapshot, member))
            return true;
    }
    return false;
}

/* Replicas acknowledge before commits wait for them, so what nobody waits for yet can be raised at once. */
static bool may_set_acks(const struct cluster_snapshot *snapshot, bool open, int wanted)
{
    if (!snapshot->last.roles.semi_sync)
        return true;
    if (wanted == 0)
        return open || !acknowledgers_are_there(snapshot);
    return wanted > snapshot->last.roles.acks ? cluster_follower_count(snapshot) >= wanted
                                              : leaving_do_not_count(snapshot);
}

static void set_acks(const struct cluster_snapshot *snapshot, bool open, struct cluster_intent *intent)
{
    int wanted = cluster_wanted_acks(snapshot);
    if (may_set_acks(snapshot, open, wanted))
        intent->roles.acks = wanted;
    if (intent->roles.acks == 0)
        intent->roles.semi_sync = false;
    else if (open && intent->roles.acks == snapshot->last.roles.acks &&
        cluster_follower_count(snapshot) >= intent->roles.acks)
        intent->roles.semi_sync = true; /* and stays: commits wait rather than go unacknowledged (I3) */
    if (intent->roles.acks != snapshot->last.roles.acks || intent->roles.semi_sync != snapshot->last.roles.semi_sync)
        intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
}

/* Before clients lose their primary for good, too, long transactions are waited for. */
static void take_leave(const struct cluster_snapshot *snapshot, const struct cluster_member *primary, bool open,
    struct cluster_intent *intent)
{
    if (open && final_backup_will_close(snapshot) && must_drain(snapshot, TRANSITION_FINAL_BACKUP, primary, intent))
        return;
    final_backup_intend(snapshot, intent);
}

/* False: it may not be opened yet. */
static bool prepare_opening(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_intent *intent)
{
    char why[256];
    int64_t again_ms = 0;
    enum opening opening =
        member_runs(primary) ? opening_decide(snapshot, primary, why, sizeof(why), &again_ms) : OPENING_NOW;
    intent->roles.confirmed.semi_sync &= opening != OPENING_UNCONFIRMED;
    if (opening != OPENING_WAITS)
        return true;
    cluster_intent_say(intent, "open %s for writes; waits %s", primary->name, why);
    intent->again_ms = intent->again_ms > 0 ? MIN_OF(intent->again_ms, again_ms) : again_ms;
    return false;
}

/* It has closed itself, and takes no old order for a reason to open: one that was under way for long might reach it
 * after somebody else's opening. The new epoch is begun only when it may be opened: those that are heard until then
 * tell whether somebody has had that epoch before. */
static bool needs_new_order(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    return member_runs(primary) && primary->agent->isolated &&
        primary->agent->epoch == (uint64_t)snapshot->last.roles.epoch;
}

static void say_stop(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct stop_wish wish;
    stop_wish_read(snapshot, &wish);
    if (!str_empty(wish.why))
        cluster_intent_say(intent, "stop the server of %.60s (annotation " ANNOTATION_STOP_SERVER "); blocked: %s",
            wish.member ? wish.member->name : snapshot->stop_server, wish.why);
    else if (wish.granted && !member_is_stopped(wish.member))
        cluster_intent_say(intent, "stop the server of %s (annotation " ANNOTATION_STOP_SERVER "); waits until %s",
            wish.member->name,
            member_acknowledges(snapshot, wish.member) ? "the others hold all that it has" : "it has ended");
}

static void stand(const struct cluster_snapshot *snapshot, bool roll_waits, struct cluster_intent *intent)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool restores = in_place_is_under_way(snapshot); /* nobody else has this history */
    if (!restores)
        failover_consider(snapshot, intent);
    if (!primary || intent->roles.transition.failover)
        return;
    bool open = member_is_open(snapshot, primary);
    if (hibernation_is_waking(snapshot)) {
        hibernation_wake(snapshot, intent);
        if (intent->roles.epoch != snapshot->last.roles.epoch)
            return;
    }
    intent->roles.initialized |= open;
    if (open) {
        outage_end(snapshot, primary, &intent->roles);
        write_gap_complete(snapshot, primary, &intent->roles);
        intent->roles.loss_allowed = snapshot->cluster.failover.allow_data_loss;
    }
    bool may_open = open || restores || prepare_opening(snapshot, primary, intent);
    if (may_open && needs_new_order(snapshot, primary))
        intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    if (snapshot->usable)
        set_acks(snapshot, open, intent);
    acknowledgers_keep(snapshot, intent);
    if (final_backup_is_due(snapshot)) {
        take_leave(snapshot, primary, open, intent);
        return;
    }
    if (!open && !member_is_wanted(snapshot, primary))
        cluster_intent_say(intent,
            "move the primary away from %s, which was primary last and holds the data, then shrink to %d; waits until %s takes writes",
            primary->name, snapshot->scale.effective, primary->name);
    if (!open || restores)
        return;
    say_stop(snapshot, intent);
    tick_off_annotation(snapshot, primary, intent);
    const struct cluster_wish wish = find_wish(snapshot, primary, roll_waits);
    if (wish.is_there)
        grant(snapshot, &wish, primary, intent);
}

static bool differs(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_status *last = &snapshot->last;
    return intent->restore_step != RESTORE_STEP_NONE || intent->in_place_step != IN_PLACE_STEP_NONE ||
        intent->stale != last->in_place.stale || !cluster_role_status_same(&intent->roles, &last->roles);
}

static bool waits_to_hear(const struct cluster_snapshot *snapshot, const char *before, struct cluster_intent *intent)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (!snapshot->members[i].agent_awaited)
            continue;
        cluster_intent_say(intent, "%s; waits to hear from %s", before, snapshot->members[i].name);
        intent->again_ms = 1000;
        return true;
    }
    return false;
}

/* A member takes writes, and the status does not know of it: all are heard before anybody else is chosen. So are they
 * where the status had a later epoch before: an order of that one may be on its way. */
static bool has_lost_its_status(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_intent found = *intent;
    bool is_past = snapshot->seen_epoch > snapshot->last.roles.epoch;
    if ((!cluster_anybody_writes(snapshot) && !is_past) || !failover_from_later(snapshot, &found))
        return false;
    in_place_refuse_old_wish(snapshot, &found);
    if (!waits_to_hear(snapshot, "find out who is primary, as the status does not say so", intent))
        *intent = found;
    return true;
}

/* Any volume may be that of the last primary. A claim that was kept when its member left has no pod, and nobody who
 * could be heard. */
static bool waits_for_volumes(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool is_part = member->pod || member_is_wanted(snapshot, member);
        if (member_speaks(member) || !member_has_volume(member) || !is_part)
            continue;
        cluster_intent_say(intent,
            "find out who was primary last, as the status is older than the members; waits to hear from %s, "
            "which may have been it (if it is gone for good, delete its claim and its pod)",
            member->name);
        return true;
    }
    return false;
}

/* Members have been opened since the status was written: what it says of a reign that was closed for good is no more
 * than a beginning. */
static void reopen_reign(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    struct cluster_reign *latest = &intent->roles.reigns.list[0];
    if (!hibernation_is_waking(snapshot))
        return;
    reigns_in_force(snapshot, &intent->roles.reigns);
    latest->closed = false;
    latest->floor_is_partial = latest->opened = true;
}

/* The target takes writes under a later epoch than that of the change, or was opened under that or a later one before
 * its server was started anew. */
static bool was_completed(const struct cluster_snapshot *snapshot, const struct cluster_transition *transition)
{
    const struct cluster_member *to = cluster_member_named(snapshot, transition->to);
    if (!to || !member_speaks(to))
        return false;
    bool was_opened = !member_is_empty(to) && !member_data_is_stale(to) &&
        to->agent->opened_epoch >= (uint64_t)transition->epoch && transition->epoch > 0;
    return was_opened || (agent_takes_writes(to->agent) && to->agent->epoch > (uint64_t)transition->epoch);
}

/* How commits have waited since, the status does not know; and a change whose target has been opened later is over. */
static void raise_epoch(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    if (in_place_goes_on(snapshot))
        return;
    intent->roles.confirmed.semi_sync = false;
    reopen_reign(snapshot, intent);
    if (!was_completed(snapshot, &snapshot->last.roles.transition))
        return;
    intent->roles.transition = (struct cluster_transition){.from = ""};
    reigns_in_force(snapshot, &intent->roles.reigns);
    intent->roles.reigns.list[0].opened = true;
}

/* A volume of another life: the same primary under an epoch that all accept. Or a status that is older than its
 * members: then they are heard first, as another one may be open, or have been. */
static void catch_up(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    if (waits_to_hear(snapshot, "raise the epoch above that of the members", intent))
        return;
    bool goes_on = in_place_goes_on(snapshot);
    if (!goes_on && !cluster_anybody_writes(snapshot) && waits_for_volumes(snapshot, intent))
        return;
    if (goes_on || !failover_from_later(snapshot, intent))
        raise_epoch(snapshot, intent);
    if (!goes_on)
        in_place_end_past(snapshot, intent);
}

/* None was ever open, and the one that was chosen has lost its volume since: others may hold what it held. */
static bool first_is_emptied(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool others = false;
    for (int i = 0; i < snapshot->member_count; i++)
        others |= &snapshot->members[i] != primary && member_may_hold_data(&snapshot->members[i]);
    return !snapshot->last.roles.initialized && others && primary && member_is_empty(primary) &&
        !restore_is_under_way(snapshot);
}

/* Somebody may know of a later epoch than the status, which may be of the past: that one must not be given a second
 * time, to another primary. So no epoch is begun before everybody has been tried. */
static void hear_all_before(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct cluster_status *last = &snapshot->last;
    struct cluster_intent waits = {.roles = last->roles, .stale = last->in_place.stale};
    if (last->roles.epoch == 0 || intent->roles.epoch == last->roles.epoch ||
        !waits_to_hear(snapshot, "change roles", &waits))
        return;
    waits.again_ms = UNHEARD_AGAIN_MS;
    *intent = waits;
}

/* The next operator to lead may not hear who knows it. */
static void note_heard_epoch(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    int64_t heard = cluster_newest_heard_epoch(snapshot);
    bool is_later = snapshot->last.roles.epoch > 0 && heard > intent->roles.epoch;
    intent->roles.heard_epoch = is_later ? heard : 0;
}

void cluster_intend(const struct cluster_snapshot *snapshot, bool roll_waits, struct cluster_intent *ret)
{
    const struct cluster_status *last = &snapshot->last;
    *ret = (struct cluster_intent){.roles = last->roles, .stale = last->in_place.stale};
    if (snapshot->scale.effective == 0) {
        hibernation_intend(snapshot, ret);
        hear_all_before(snapshot, ret);
        note_heard_epoch(snapshot, ret);
        table_lock_note(snapshot, ret);
        ret->changed = differs(snapshot, ret);
        return;
    }
    if (last->roles.epoch == 0 || str_empty(last->roles.current_primary) || first_is_emptied(snapshot)) {
        if (snapshot->usable && !snapshot->cluster.paused && !has_lost_its_status(snapshot, ret))
            choose_first(snapshot, ret);
    } else if (failover_status_is_old(snapshot))
        catch_up(snapshot, ret);
    else if (in_place_holds(snapshot))
        in_place_intend(snapshot, ret);
    else if (last->roles.transition.failover)
        failover_continue(snapshot, ret);
    else if (cluster_transition_is_set(&last->roles.transition))
        continue_transition(snapshot, ret);
    else
        stand(snapshot, roll_waits, ret);
    if (!in_place_holds(snapshot))
        in_place_consider(snapshot, ret);
    hear_all_before(snapshot, ret);
    cluster_confirmed_weaken(snapshot, ret);
    note_heard_epoch(snapshot, ret);
    table_lock_note(snapshot, ret);
    ret->restore_step = restore_next_step(snapshot, ret);
    ret->changed = differs(snapshot, ret);
}

void cluster_intent_apply(
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent, struct cluster_status *status)
{
    restore_take_step(snapshot, intent->restore_step, &status->restore);
    in_place_apply(snapshot, intent, status);
    status->roles = intent->roles;
}
