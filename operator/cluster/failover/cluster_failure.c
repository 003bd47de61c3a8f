/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/cluster_failure.h"

#include "operator/cluster/failover/failover_election.h"
#include "operator/cluster/failover/failover_facts.h"
#include "operator/cluster/failover/opening.h"
#include "operator/cluster/state/member_view.h"

static void KM_PRINTF(3, 4) found(struct cluster_failure *ret, enum transition_reason reason, const char *fmt, ...)
{
    va_list ap;
    ret->reason = reason;
    va_start(ap, fmt);
    vsnprintf(ret->evidence, sizeof(ret->evidence), fmt, ap);
    va_end(ap);
}

static void KM_PRINTF(2, 3) doubt(struct cluster_failure *ret, const char *fmt, ...)
{
    va_list ap;
    ret->reason = TRANSITION_NO_REASON;
    va_start(ap, fmt);
    vsnprintf(ret->doubt, sizeof(ret->doubt), fmt, ap);
    va_end(ap);
}

static void look_again_in(struct cluster_failure *ret, int64_t ms)
{
    ret->again_ms = ret->again_ms > 0 ? MIN_OF(ret->again_ms, ms) : ms;
}

/* ---- what the replicas say ---- */

struct testimony {
    int heard;                           /* replicas that could be asked */
    int lost;                            /* of them: they have lost the primary */
    int lost_acknowledgers;              /* of them: could have acknowledged, and nobody has stopped that */
    bool seen;                           /* one of them has been connected to it */
    const struct cluster_member *hearer; /* one that still hears it */
};

static bool follows_host(const struct cluster_member *member, const char *host)
{
    return member_runs(member) && str_eq(member->agent->replication.source_host, host);
}

/* In a pause: that it receives nothing says nothing of the primary. */
static bool was_stopped_by_hand(const struct cluster_member *member)
{
    return member_has_problem(member, AGENT_PROBLEM_REPLICATION_PAUSED);
}

static struct testimony ask_replicas(const struct cluster_snapshot *snapshot, const struct cluster_member *primary)
{
    struct testimony told = {0};
    char host[AGENT_HOST_SIZE];
    cluster_member_host(snapshot, primary, host);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == primary || !failover_asks(snapshot, member) || !follows_host(member, host))
            continue;
        told.heard++;
        told.seen |= member->agent->replication.source_seen;
        if (member->agent->replication.source_lost) {
            told.lost++;
            told.lost_acknowledgers += member_acknowledges(snapshot, member) && !was_stopped_by_hand(member);
        } else if (member->agent->replication.receiver != AGENT_THREAD_OFF)
            told.hearer = member;
    }
    return told;
}

/* ---- kinds of loss ---- */

static void judge_blocked(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct testimony *told, struct cluster_failure *ret)
{
    int64_t blocked_ms = primary->agent->writes_blocked_ms;
    if (blocked_ms < failover_writes_blocked_ms(snapshot)) {
        if (blocked_ms > 0)
            look_again_in(ret, failover_writes_blocked_ms(snapshot) - blocked_ms);
        return;
    }
    int needed = failover_answers_needed(snapshot, primary->name);
    bool lost = told->lost_acknowledgers >= needed && told->lost_acknowledgers > 0;
    if (lost && !told->seen && blocked_ms < CLUSTER_CONNECT_MS) {
        look_again_in(ret, CLUSTER_CONNECT_MS - blocked_ms);
        doubt(
            ret, "commits on %s wait, but no replica has been connected to it yet: they are given time", primary->name);
    } else if (lost)
        found(ret, TRANSITION_ACKNOWLEDGEMENTS_LOST,
            "commits on %s have waited for %lld ms, and %d replicas that could acknowledge have lost it", primary->name,
            (long long)blocked_ms, told->lost_acknowledgers);
    else
        doubt(ret, "commits on %s wait, and only %d replicas say that they have lost it", primary->name,
            told->lost_acknowledgers);
}

/* Most often a volume that is full here is as full elsewhere. */
static bool all_volumes_are_full(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_is_wanted(snapshot, member) && member_runs(member) &&
            !member_has_problem(member, AGENT_PROBLEM_VOLUME_FULL))
            return false;
    }
    return true;
}

static void judge_stalled(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_failure *ret)
{
    int64_t stalled_ms = primary->agent->stalled_ms;
    if (stalled_ms < failover_stalled_ms(snapshot)) {
        if (stalled_ms > 0)
            look_again_in(ret, failover_stalled_ms(snapshot) - stalled_ms);
        return;
    }
    if (all_volumes_are_full(snapshot))
        doubt(ret, "writes on %s hang because its volume is full, as all others are", primary->name);
    else
        found(ret, TRANSITION_STORAGE_STALLED, "a write on %s has hung for %lld ms, and not for an acknowledgement",
            primary->name, (long long)primary->agent->stalled_ms);
}

static void judge_behind(
    const struct cluster_snapshot *snapshot, const struct cluster_member *primary, struct cluster_failure *ret)
{
    char why[256];
    int64_t again_ms = 0;
    if (primary == cluster_primary(snapshot) && !cluster_transition_is_set(&snapshot->last.roles.transition) &&
        opening_decide(snapshot, primary, why, sizeof(why), &again_ms) == OPENING_BEHIND)
        found(ret, TRANSITION_PRIMARY_BEHIND, "%.240s", why);
}

static void judge_by_its_word(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct testimony *told, struct cluster_failure *ret)
{
    switch (primary->agent->phase) {
    case AGENT_PHASE_DOWN:
        found(ret, TRANSITION_SERVER_DOWN, "the agent of %s says that its server is down", primary->name);
        break;
    case AGENT_PHASE_STARTING:
        found(ret, TRANSITION_SERVER_DOWN, "the agent of %s says that its server is only starting", primary->name);
        break;
    case AGENT_PHASE_SEEDING:
        found(ret, TRANSITION_SERVER_DOWN, "the pod of %s has been started anew and has no server yet", primary->name);
        break;
    case AGENT_PHASE_HUNG:
        found(ret, TRANSITION_SERVER_HUNG, "the agent of %s says that its server has not answered for %lld ms",
            primary->name, (long long)failover_hung_ms(snapshot));
        break;
    case AGENT_PHASE_RUNNING:
        judge_behind(snapshot, primary, ret);
        if (ret->reason == TRANSITION_NO_REASON)
            judge_stalled(snapshot, primary, ret);
        if (ret->reason == TRANSITION_NO_REASON && str_empty(ret->doubt))
            judge_blocked(snapshot, primary, told, ret);
        break;
    default:
        break;
    }
}

static void judge_by_others(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct testimony *told, struct cluster_failure *ret)
{
    bool ends = member_speaks(primary) && primary->departed;
    int64_t rest_ms = ends ? 0 : failover_silence_ms(snapshot) - primary->silent_ms;
    const char *losers = told->lost == 1 ? "one replica has" : "all replicas that are heard have";
    if (rest_ms > 0) {
        look_again_in(ret, rest_ms);
        return;
    }
    if (ends && (told->hearer || told->lost == 0)) /* it hands over */
        return;
    if (ends)
        found(ret, TRANSITION_MEMBER_LOST, "the pod of %s was deleted by force, and %s lost its server", primary->name,
            losers);
    else if (told->hearer)
        doubt(
            ret, "the agent of %s is silent, but %s still receives from its server", primary->name, told->hearer->name);
    else if (told->lost == 0)
        doubt(ret, "the agent of %s is silent, and no replica can be asked", primary->name);
    else if (primary->silent_ms == INT64_MAX)
        found(ret, TRANSITION_MEMBER_LOST, "the pod of %s is gone, and %s lost its server", primary->name, losers);
    else
        found(ret, TRANSITION_MEMBER_LOST, "the agent of %s has been silent for %lld ms, and %s lost its server",
            primary->name, (long long)primary->silent_ms, losers);
}

/* ---- all of it ---- */

/* A replica may be connected before the agent of its source has had the server's first answer. */
static bool is_received_from(const struct cluster_member *primary, const struct testimony *told)
{
    return told->hearer && told->hearer->agent->replication.receiver == AGENT_THREAD_RUNNING &&
        member_speaks(primary) && primary->agent->phase == AGENT_PHASE_STARTING;
}

/* After a start of all servers the old primary is given time to come back. */
static bool needs_patience(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct testimony *told, struct cluster_failure *ret)
{
    bool may_return = ret->reason == TRANSITION_SERVER_DOWN || ret->reason == TRANSITION_MEMBER_LOST;
    bool receives = is_received_from(primary, told);
    int64_t since_ms = snapshot->lost_since_ms > 0 ? snapshot->lost_since_ms : snapshot->now_ms;
    int64_t rest_ms = since_ms + failover_start_ms(snapshot) - snapshot->now_ms;
    if (!may_return || (told->seen && !receives) || rest_ms <= 0)
        return false;
    char evidence[sizeof(ret->evidence)];
    memcpy(evidence, ret->evidence, sizeof(evidence));
    if (receives)
        doubt(ret, "%.160s, but %s receives from it: it is given time to start", evidence, told->hearer->name);
    else
        doubt(ret, "%.180s; no replica has been connected to it yet: it is given time to start", evidence);
    look_again_in(ret, MIN_OF(rest_ms, 1000));
    return true;
}

void cluster_find_failure(const struct cluster_snapshot *snapshot, const char *name, struct cluster_failure *ret)
{
    const struct cluster_member *primary = cluster_member_named(snapshot, name);
    *ret = (struct cluster_failure){.reason = TRANSITION_NO_REASON};
    if (snapshot->scale.effective < 2)
        return;
    if (!primary) {
        found(ret, TRANSITION_MEMBER_LOST, "there is no member %s any more", name);
        return;
    }
    if (primary->agent_awaited)
        return;
    const struct testimony told = ask_replicas(snapshot, primary);
    if (member_speaks(primary))
        judge_by_its_word(snapshot, primary, &told, ret);
    if (!member_speaks(primary) || (primary->departed && ret->reason == TRANSITION_NO_REASON))
        judge_by_others(snapshot, primary, &told, ret);
    if (ret->reason == TRANSITION_NO_REASON || needs_patience(snapshot, primary, &told, ret))
        return;
    char why[256];
    if (failover_can_succeed(snapshot, primary->name, false, why, sizeof(why)))
        return;
    char evidence[sizeof(ret->evidence)];
    memcpy(evidence, ret->evidence, sizeof(evidence));
    doubt(ret, "%.120s; %.120s", evidence, why);
}

/* It was open, unheard, and takes no order of this epoch for a reason to open again. */
static bool has_closed_itself(const struct cluster_snapshot *snapshot, const struct cluster_member *target)
{
    return member_runs(target) && target->agent->isolated && target->agent->role == AGENT_ROLE_PRIMARY &&
        target->agent->epoch == (uint64_t)snapshot->last.roles.epoch;
}

bool cluster_target_is_lost(const struct cluster_snapshot *snapshot, const char *name, struct cluster_failure *ret)
{
    const struct cluster_member *target = cluster_member_named(snapshot, name);
    static const struct testimony nobody = {0};
    *ret = (struct cluster_failure){.reason = TRANSITION_NO_REASON};
    if (!target)
        found(ret, TRANSITION_MEMBER_LOST, "there is no member %s any more", name);
    else if (target->agent_awaited)
        return false;
    else if (has_closed_itself(snapshot, target))
        found(ret, TRANSITION_MEMBER_LOST, "%s closed itself, as it heard nobody, before it was seen open for writes",
            name);
    else if (member_speaks(target))
        judge_by_its_word(snapshot, target, &nobody, ret);
    else if (target->silent_ms >= failover_silence_ms(snapshot))
        found(ret, TRANSITION_MEMBER_LOST, "the agent of %s is silent, before it was seen open for writes", name);
    else
        look_again_in(ret, failover_silence_ms(snapshot) - target->silent_ms);
    return ret->reason != TRANSITION_NO_REASON;
}
