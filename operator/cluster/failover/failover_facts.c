/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/failover/failover_facts.h"

#include "common/gtid.h"
#include "operator/cluster/failover/cluster_failure.h"
#include "operator/cluster/state/member_view.h"

/* ---- spec.failover ---- */

static int64_t or_default(int64_t value, int64_t fallback)
{
    return value > 0 ? value : fallback;
}

int64_t failover_silence_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.silence_ms, CLUSTER_SILENCE_MS_DEFAULT);
}

int64_t failover_hung_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.hung_ms, CLUSTER_HUNG_MS_DEFAULT);
}

int64_t failover_writes_blocked_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.writes_blocked_ms, CLUSTER_WRITES_BLOCKED_MS_DEFAULT);
}

int64_t failover_stalled_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.stalled_ms, CLUSTER_STALLED_MS_DEFAULT);
}

int64_t failover_start_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.start_ms, CLUSTER_START_MS_DEFAULT);
}

int64_t failover_self_fence_ms(const struct cluster_snapshot *snapshot)
{
    return or_default(snapshot->cluster.failover.self_fence_ms, CLUSTER_SELF_FENCE_MS_DEFAULT);
}

/* ---- the primary ---- */

bool failover_has_fence(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.roles.semi_sync || snapshot->last.roles.loss_allowed;
}

bool failover_has_lease(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.roles.loss_allowed;
}

/* ---- the members ---- */

static struct gtid_set *parse(const struct cluster_member *like, const char *text)
{
    enum gtid_flavour flavour = member_gtid_flavour(like);
    return position_parse(flavour, text);
}

/* a against b; what cannot be read is taken for different. */
static enum gtid_relation compare(const struct cluster_member *like, const char *a, const char *b)
{
    _cleanup_(gtid_set_freep) struct gtid_set *of_a = parse(like, a);
    _cleanup_(gtid_set_freep) struct gtid_set *of_b = parse(like, b);
    return of_a && of_b ? gtid_set_compare(of_a, of_b) : GTID_DIVERGED;
}

static bool holds(const struct cluster_member *like, const char *a, const char *b)
{
    enum gtid_relation relation = compare(like, a, b);
    return relation == GTID_EQUAL || relation == GTID_SUPERSET;
}

bool member_acknowledges(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member->ordinal < CLUSTER_ACKNOWLEDGERS_MAX &&
        (snapshot->last.roles.acknowledgers >> (unsigned)member->ordinal & 1) != 0;
}

static bool has_reign(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_reigns *reigns = &snapshot->last.roles.reigns;
    for (int i = 0; i < reigns->count; i++) {
        if (str_eq(reigns->list[i].primary, member->name))
            return true;
    }
    return false;
}

bool failover_asks(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_is_wanted(snapshot, member) || member_acknowledges(snapshot, member) ||
        str_eq(member->name, snapshot->last.roles.transition.from) || has_reign(snapshot, member);
}

bool member_is_held(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_runs(member) && snapshot->last.roles.epoch > 0 &&
        member->agent->epoch == (uint64_t)snapshot->last.roles.epoch && member->agent->role == AGENT_ROLE_REPLICA &&
        member->agent->order_done && !member->agent->writable &&
        member->agent->replication.receiver == AGENT_THREAD_OFF;
}

const char *failover_position_of(const struct cluster_member *member)
{
    return str_empty(member->agent->gtid_received) ? member->agent->gtid_executed : member->agent->gtid_received;
}

bool failover_has_received(const struct cluster_member *member, const char *gtids)
{
    return str_empty(gtids) || holds(member, failover_position_of(member), gtids) ||
        holds(member, member->agent->gtid_executed, gtids);
}

bool failover_has_executed(const struct cluster_member *member, const char *gtids)
{
    return holds(member, member->agent->gtid_executed, gtids);
}

/* ---- what is believed of the primary ---- */

int cluster_confirmed_acks(const struct cluster_snapshot *snapshot)
{
    const struct cluster_status *last = &snapshot->last;
    return last->roles.semi_sync && last->roles.confirmed.semi_sync
        ? MIN_OF(last->roles.acks, last->roles.confirmed.acks)
        : 0;
}

bool cluster_confirmed_lease(const struct cluster_snapshot *snapshot)
{
    const struct cluster_confirmed *confirmed = &snapshot->last.roles.confirmed;
    return failover_has_lease(snapshot) && confirmed->self_fence_ms > 0 &&
        confirmed->self_fence_members >= snapshot->scale.effective - 1;
}

int64_t cluster_confirmed_fence_ms(const struct cluster_snapshot *snapshot)
{
    return MAX_OF(failover_self_fence_ms(snapshot), (int64_t)snapshot->last.roles.confirmed.self_fence_ms);
}

void cluster_confirmed_set_lapses(const struct agent_status *agent, struct cluster_confirmed *confirmed)
{
    confirmed->lapses = (int64_t)agent->semi_sync_lapses;
    snprintf(confirmed->lapses_boot_id, sizeof(confirmed->lapses_boot_id), "%s",
        confirmed->lapses > 0 ? agent->boot_id : "");
}
