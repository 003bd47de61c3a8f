/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_report_ready.h"

#include "operator/api/condition_reason.h"
#include "operator/api/ready_conditions.h"
#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/state/copy_close.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/status/cluster_report_accounts.h"
#include "operator/cluster/status/cluster_report_left.h"
#include "operator/cluster/status/cluster_report_parts.h"
#include "operator/cluster/status/cluster_report_roles.h"
#include "operator/cluster/status/cluster_report_room.h"
#include "operator/cluster/status/cluster_trouble.h"
#include "operator/cluster/status/first_start.h"

struct view {
    const struct cluster_snapshot *snapshot;
    const struct cluster_decision *decision;
    const struct kube_conditions *conditions; /* the others */
    int64_t applied_generation;
    const struct kube_condition *last; /* Ready as it was; NULL: it was never set */
};

/* Accepted=False for these ends by itself as soon as somebody has made the other object, maybe with the same apply. */
static bool is_awaited(const char *name)
{
    enum condition_reason reason = reason_of_name(name);
    return reason == REASON_CONFIG_NOT_FOUND || reason == REASON_SECRET_MISSING;
}

static bool was_applied(const struct view *view)
{
    enum condition_reason reason = reason_of(view->last);
    return view->last && view->last->observed_generation == view->snapshot->generation && reason != REASON_APPLYING &&
        reason != REASON_ROLLED_BACK && reason != REASON_NOT_ACCEPTED && reason != REASON_REFUSED;
}

/* The primary tells which accounts its server has, each member which my.cnf. */
static bool tells_what_is_applied(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return cluster_member_has_agent(member) &&
        (member_is_wanted(snapshot, member) || member == cluster_primary(snapshot));
}

/* For how long yet the word of members that are not heard is waited for; 0: for nobody's. */
static int64_t wait_for_word_ms(const struct cluster_snapshot *snapshot)
{
    int64_t longest_ms = 0;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        int64_t left_ms = CLUSTER_READY_HEAR_MS - member->unheard_ms;
        if (tells_what_is_applied(snapshot, member) && !member_speaks(member))
            longest_ms = MAX_OF(longest_ms, left_ms);
    }
    return longest_ms;
}

/* Whether members have yet to get what is wanted is decided while the gate is open only, and by what they say. */
static bool is_unknown(const struct view *view)
{
    const struct cluster_snapshot *snapshot = view->snapshot;
    return view->decision->gate != GATE_OPEN || snapshot->secrets_failed || report_set_is_unobserved(snapshot) ||
        wait_for_word_ms(snapshot) > 0;
}

/* What begins when this generation has been applied is for something else: a roll, a MysqlConfig that has gone. */
static bool is_applied(const struct view *view)
{
    struct first_start first;
    bool is_accepted = kube_conditions_is_true(view->conditions, CONDITION_ACCEPTED);
    if (kube_conditions_find(view->conditions, CONDITION_ROLLED_BACK) ||
        (!is_accepted && !view->snapshot->last.roles.initialized) || /* nothing else was ever in force */
        first_start_fails(view->snapshot, &first))
        return false;
    bool goes_on = view->decision->rolling || view->decision->taking_up || !is_accepted ||
        !cluster_names_are_applied(view->snapshot) || cluster_accounts_are_awaited(view->snapshot) ||
        cluster_tls_is_awaited(view->snapshot) || is_unknown(view);
    return view->applied_generation == view->snapshot->generation && (!goes_on || was_applied(view));
}

static bool has_pods(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (snapshot->members[i].pod)
            return true;
    }
    return false;
}

/* The API server does not let a volume grow, whoever asks: StorageResized of that. NULL: it does. */
static const struct kube_condition *refused_growth(const struct kube_conditions *conditions)
{
    const struct kube_condition *resized = kube_conditions_find(conditions, CONDITION_STORAGE_RESIZED);
    return reason_of(resized) == REASON_REFUSED ? resized : NULL;
}

static bool accounts_have_failed(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    return primary && member_has_problem(primary, AGENT_PROBLEM_ACCOUNTS_FAILED);
}

static struct ready_reason not_applied(const struct view *view)
{
    struct ready_reason none = {false, "", ""};
    struct ready_reason accepted = ready_reason_of(view->conditions, CONDITION_ACCEPTED, none);
    if (!accepted.holds)
        return (struct ready_reason){false, reason_name(REASON_NOT_ACCEPTED), accepted.message};
    struct ready_reason rolled = ready_reason_of(view->conditions, CONDITION_ROLLED_BACK, none);
    if (rolled.holds)
        return (struct ready_reason){false, reason_name(REASON_ROLLED_BACK), rolled.message};
    struct ready_reason progress = ready_reason_of(view->conditions, CONDITION_PROGRESSING, none);
    const struct kube_condition *refused = refused_growth(view->conditions);
    if (refused && !progress.holds)
        return (struct ready_reason){false, refused->reason, refused->message};
    const struct kube_condition *left = kube_conditions_find(view->conditions, CONDITION_ACCOUNTS_LEFT);
    bool names_wait = !progress.holds && reason_of(left) == REASON_NOT_APPLIED_YET;
    const char *message = "what the spec wants is not in force yet";
    if (progress.holds)
        message = progress.message;
    else if (names_wait)
        message = left->message;
    else if (cluster_accounts_are_awaited(view->snapshot) && accounts_have_failed(view->snapshot))
        message = "the server refused to take up a password; Healthy says more";
    else if (cluster_accounts_are_awaited(view->snapshot))
        message = "the server has yet to take up a password: the kubelet brings it to the pod, in seconds as a rule";
    else if (cluster_tls_is_awaited(view->snapshot))
        message = "the accounts do not follow spec.tls.mode yet: the kubelet brings it to the pod, in seconds as a rule";
    else if (wait_for_word_ms(view->snapshot) > 0)
        message = "the operator waits to hear from all members what they run";
    return (struct ready_reason){false, reason_name(REASON_APPLYING), message};
}

/* Whether the primary takes writes. */
static struct ready_reason writes(const struct view *view)
{
    const struct cluster_snapshot *snapshot = view->snapshot;
    const struct cluster_member *primary = cluster_primary(snapshot);
    const struct ready_reason good = {true, "TakesWrites", "the primary takes writes"};
    bool was_ready = view->last && view->last->status == KUBE_CONDITION_TRUE;
    if (!primary)
        return (struct ready_reason){false, reason_name(REASON_NO_PRIMARY), "no member is primary yet"};
    if (cluster_epoch_spreads(snapshot) && was_ready)
        return good;
    if (copy_close_is_under_way(snapshot))
        return (struct ready_reason){
            false, "WritesBlocked", "the primary is closed for writes; WritesBlocked says more"};
    if (member_has_problem(primary, AGENT_PROBLEM_AGENT_LOCKED_OUT) && !cluster_member_is_ready(primary))
        return (struct ready_reason){false, "AgentLockedOut",
            "whether the primary takes writes is not known: its server refuses the agent; Healthy says more"};
    if (!cluster_member_is_ready(primary) || (member_speaks(primary) && !member_is_open(snapshot, primary)))
        return (struct ready_reason){
            false, reason_name(REASON_PRIMARY_NOT_READY), "the primary takes no writes; Available says more"};
    if (!member_speaks(primary) && !was_ready)
        return (struct ready_reason){false, "PrimarySilent", "the primary's agent is not heard yet"};
    if (member_is_closed_for_room(snapshot, primary))
        return (struct ready_reason){false, "VolumeFull", "the primary is closed for writes; VolumeFull says more"};
    if (member_has_problem(primary, AGENT_PROBLEM_WRITES_LOCKED))
        return (struct ready_reason){false, "WritesLocked", "a session holds a lock on all tables; Healthy says more"};
    if (member_commits_wait(primary))
        return (struct ready_reason){
            false, "WritesBlocked", "commits wait for acknowledgements; WritesBlocked says more"};
    return good;
}

static struct ready_reason ready(const struct view *view)
{
    const struct mysql_cluster *cluster = &view->snapshot->cluster;
    bool sleeps = view->snapshot->usable && view->snapshot->scale.effective == 0;
    if (!cluster->paused && !is_applied(view))
        return not_applied(view);
    if (sleeps && !has_pods(view->snapshot))
        return (struct ready_reason){true, reason_name(REASON_HIBERNATED), "spec.replicas is 0; the data is kept"};
    if (sleeps && !cluster->paused)
        return (struct ready_reason){false, "Hibernating", "members are being stopped"};
    return writes(view);
}

#define MAY_GO_ON "it may go on by itself"

/* Nothing is in progress, the cluster is not Ready or lacks a member, and that does not end before somebody changes
 * something. Where it may end by itself (a quota that others use up, a node that has no room now) it is Reconciling. */
static struct ready_reason held_up(const struct view *view)
{
    const struct ready_reason none = {false, "NotStalled", MAY_GO_ON};
    const struct cluster_snapshot *snapshot = view->snapshot;
    const struct cluster_member *worst = cluster_worst_member(snapshot, snapshot->scale.effective);
    const struct cluster_member *primary = cluster_primary(snapshot);
    struct ready_reason healthy = ready_reason_of(view->conditions, CONDITION_HEALTHY, none);
    if (snapshot->cluster.paused || kube_conditions_is_true(view->conditions, CONDITION_PROGRESSING))
        return none;
    if (worst && member_needs_somebody(snapshot, worst))
        return (struct ready_reason){true, healthy.reason, healthy.message};
    if (primary && member_is_closed_for_room(snapshot, primary) && !cluster_room_passes(snapshot))
        return ready_reason_of(view->conditions, CONDITION_VOLUME_FULL, none);
    const struct kube_condition *refused = refused_growth(view->conditions);
    if (refused)
        return (struct ready_reason){true, refused->reason, refused->message};
    return none;
}

static const char *not_stalled(const struct view *view, bool is_ready)
{
    char remedy[512];
    const struct kube_condition *healthy = kube_conditions_find(view->conditions, CONDITION_HEALTHY);
    if (!is_ready || cluster_refused_member(view->snapshot))
        return MAY_GO_ON;
    if (in_place_remedy(view->snapshot, remedy, sizeof(remedy)))
        return "the primary takes writes; RestoredInPlace says what is wrong";
    if (healthy && healthy->status == KUBE_CONDITION_FALSE)
        return "the primary takes writes; Healthy says what is wrong";
    return report_backup_refusal(view->snapshot) ? "the primary takes writes; Degraded says what is wrong"
                                                 : "nothing has to be changed by hand";
}

static struct ready_reason stalled(const struct view *view, bool is_ready)
{
    const struct ready_reason none = {false, "NotStalled", not_stalled(view, is_ready)};
    struct ready_reason accepted =
        ready_reason_of(view->conditions, CONDITION_ACCEPTED, (struct ready_reason){.holds = true});
    const struct kube_condition *progress = kube_conditions_find(view->conditions, CONDITION_PROGRESSING);
    struct ready_reason conflict = ready_reason_of(view->conditions, CONDITION_CHILD_CONFLICT, none);
    if (!accepted.holds && !is_awaited(accepted.reason))
        return (struct ready_reason){true, accepted.reason, accepted.message};
    const struct kube_condition *rolled = kube_conditions_find(view->conditions, CONDITION_ROLLED_BACK);
    if (rolled)
        return (struct ready_reason){true,
            rolled->status == KUBE_CONDITION_TRUE ? reason_name(REASON_ROLLED_BACK) : rolled->reason, rolled->message};
    if (reason_of(progress) == REASON_DATA_LOST)
        return (struct ready_reason){true, progress->reason, progress->message};
    if (conflict.holds)
        return conflict;
    if (is_ready && !cluster_refused_member(view->snapshot))
        return none;
    struct ready_reason held = held_up(view);
    return held.holds ? held : none;
}

/* What is not Ready and not Stalled comes by itself, even if nothing of it is the operator's doing. So does a member
 * that is not made: its StatefulSet's controller goes on trying. */
static struct ready_reason reconciling(const struct view *view, const struct ready_reason *ready)
{
    struct ready_reason accepted =
        ready_reason_of(view->conditions, CONDITION_ACCEPTED, (struct ready_reason){.holds = true});
    if (!accepted.holds && !view->snapshot->cluster.paused)
        return (struct ready_reason){true, accepted.reason, accepted.message};
    struct ready_reason progress = ready_reason_of(
        view->conditions, CONDITION_PROGRESSING, (struct ready_reason){false, reason_name(REASON_SETTLED), ""});
    if (!progress.holds && !ready->holds && !view->snapshot->cluster.paused)
        return (struct ready_reason){true, ready->reason, ready->message};
    if (reason_of(kube_conditions_find(view->conditions, CONDITION_PROGRESSING)) == REASON_POD_REFUSED)
        return (struct ready_reason){true, progress.reason, progress.message};
    return progress;
}

void cluster_report_ready(
    const struct cluster_snapshot *snapshot, const struct cluster_decision *decision, struct cluster_status *status)
{
    const struct kube_conditions others = status->conditions; /* setting some moves the others */
    struct view view = {.snapshot = snapshot,
        .decision = decision,
        .conditions = &others,
        .applied_generation = status->applied_generation,
        .last = kube_conditions_find(&snapshot->last.conditions, CONDITION_READY)};
    struct ready_view words = {.ready = ready(&view)};
    words.reconciling = reconciling(&view, &words.ready);
    words.stalled = stalled(&view, words.ready.holds);
    ready_conditions_set(&status->conditions, &words, snapshot->generation, snapshot->now_ms);
}

int64_t cluster_report_ready_again_ms(const struct cluster_snapshot *snapshot, const struct cluster_status *status)
{
    bool waits = reason_of(kube_conditions_find(&status->conditions, CONDITION_READY)) == REASON_APPLYING;
    return waits ? wait_for_word_ms(snapshot) : 0;
}

/* ---- the state, and Degraded ---- */

/* By the condition that says what is missing; a scheduled backup that cannot begin has none here. */
static struct ready_reason shortfall(const struct cluster_snapshot *snapshot, const struct kube_conditions *conditions)
{
    static const struct {
        const char *type;
        enum kube_condition_status bad;
    } said[] = {
        {CONDITION_HEALTHY, KUBE_CONDITION_FALSE},
        {CONDITION_REPLICATED, KUBE_CONDITION_FALSE},
        {CONDITION_WRITES_BLOCKED, KUBE_CONDITION_TRUE},
        {CONDITION_VOLUME_FULL, KUBE_CONDITION_TRUE},
        {CONDITION_CHILD_CONFLICT, KUBE_CONDITION_TRUE},
        {CONDITION_ROLLED_BACK, KUBE_CONDITION_TRUE},
        {CONDITION_ROLLED_BACK, KUBE_CONDITION_FALSE},
        {CONDITION_ACCEPTED, KUBE_CONDITION_FALSE},
        {CONDITION_BINLOGS_ARCHIVED, KUBE_CONDITION_FALSE},
        {CONDITION_AVAILABLE, KUBE_CONDITION_FALSE},
    };
    for (size_t i = 0; i < ARRAY_LEN(said); i++) {
        const struct kube_condition *condition = kube_conditions_find(conditions, said[i].type);
        if (condition && condition->status == said[i].bad)
            return (struct ready_reason){true, condition->reason, condition->message};
    }
    const struct kube_condition *growth = refused_growth(conditions);
    if (growth)
        return (struct ready_reason){true, growth->reason, growth->message};
    const char *refusal = report_backup_refusal(snapshot);
    return (struct ready_reason){refusal != NULL, reason_name(REASON_POD_REFUSED), str_or_empty(refusal)};
}

static struct ready_reason degraded(
    const struct cluster_snapshot *snapshot, const struct kube_conditions *conditions, enum cluster_state state)
{
    const struct kube_condition *ready = kube_conditions_find(conditions, CONDITION_READY);
    struct ready_reason missing = shortfall(snapshot, conditions);
    bool is_ready = ready->status == KUBE_CONDITION_TRUE, says_so = state == CLUSTER_STATE_DEGRADED;
    if (missing.holds && (says_so || (is_ready && state != CLUSTER_STATE_OFFLINE)))
        return missing;
    if (says_so && !is_ready)
        return (struct ready_reason){true, ready->reason, ready->message};
    if (says_so)
        return (struct ready_reason){true, "AsBefore", "the members have not answered yet; it was so before"};
    return is_ready ? (struct ready_reason){false, "AsWanted", "nothing is missing"}
                    : (struct ready_reason){false, "NotReady", "Ready says what is missing"};
}

void cluster_report_degraded(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    const struct kube_conditions others = status->conditions; /* setting one moves them */
    if (status->state == CLUSTER_STATE_HEALTHY && shortfall(snapshot, &others).holds)
        status->state = CLUSTER_STATE_DEGRADED;
    struct ready_reason words = degraded(snapshot, &others, status->state);
    kube_conditions_set(&status->conditions, CONDITION_DEGRADED,
        words.holds ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE, words.reason, snapshot->generation, snapshot->now_ms,
        "%s", words.message);
}
