/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/rollout/cluster_decide.h"

#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "operator/cluster/deletion/final_backup.h"
#include "operator/cluster/deletion/volume_hold.h"
#include "operator/cluster/desired/cluster_volumes.h"
#include "operator/cluster/failover/cluster_failover.h"
#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/restore/restore_store.h"
#include "operator/cluster/rollout/cluster_gate.h"
#include "operator/cluster/rollout/cluster_roll.h"
#include "operator/cluster/rollout/route_clear.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/problem_effects.h"
#include "operator/cluster/state/stop_wish.h"

void cluster_decision_release(struct cluster_decision *decision)
{
    plan_free(steal_ptr(decision->plan));
}

static void next_action(struct cluster_decision *decision, const char *text)
{
    if (str_empty(decision->next_action)) /* the first reason stands */
        snprintf(decision->next_action, sizeof(decision->next_action), "%s", text);
}

/* ---- a cluster that is let go ---- */

/* What it has goes with it, or stays: claims as deletion.volumes says. What members were to do does not matter any
 * more. */
static void decide_farewell(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    *decision->next_action = '\0';
    if (volume_hold_stops_set(snapshot))
        plan_add_patch(decision->plan, PLAN_STATEFUL_SET, snapshot->ns, snapshot->names.stateful_set, set->uid,
            json_build("{s:{s:s}, s:{s:i}}", "metadata", "uid", set->uid, "spec", "replicas", 0), NULL);
    cluster_volumes_decide(snapshot, decision->plan);
    if (!volume_hold_awaits_set(snapshot)) {
        next_action(decision, "let the cluster go");
        return;
    }
    _cleanup_(freep) char *text = xasprintf(
        "let the cluster go; waits until StatefulSet %s has taken up replicas: 0, so that it makes no claim any more",
        snapshot->names.stateful_set);
    next_action(decision, text);
}

/* ---- children ---- */

static bool gate_holds(
    const struct cluster_decision *decision, const struct cluster_snapshot *snapshot, enum cluster_child child)
{
    if (child == CHILD_STATEFUL_SET &&
        (decision->set_waits || volume_hold_is_awaited(snapshot, cluster_wanted_pods(snapshot))))
        return true;
    return decision->gate != GATE_OPEN && snapshot->children[child] &&
        (child == CHILD_CONFIG_MAP || child == CHILD_STATEFUL_SET);
}

bool cluster_child_is_as_wanted(
    const struct cluster_snapshot *snapshot, const struct cluster_decision *decision, enum cluster_child child)
{
    const struct kube_object *live = snapshot->children[child];
    const struct cluster_child_memory *memory = &snapshot->memory[child];
    return live && decision->desired[child] && memory->desired == decision->desired[child] &&
        memory->digest == live->digest;
}

bool cluster_may_give_mycnf(const struct cluster_snapshot *snapshot, const struct cluster_decision *decision)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    return !str_empty(decision->mycnf_hash) && str_eq(decision->mycnf_hash, snapshot->mycnf_hash) &&
        cluster_child_is_as_wanted(snapshot, decision, CHILD_CONFIG_MAP) &&
        cluster_child_is_as_wanted(snapshot, decision, CHILD_STATEFUL_SET) &&
        set->observed_generation >= set->object.generation;
}

const struct cluster_member *cluster_next_for_mycnf(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *next = NULL, *primary = cluster_primary(snapshot);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool has_it = member_speaks(member) && member_is_wanted(snapshot, member) &&
            str_eq(member->agent->mycnf_hash, snapshot->mycnf_hash);
        bool is_down = !member_runs(member) && !member_is_seeding(member) && !member_is_to_stop(snapshot, member) &&
            !member_is_stopped(member);
        if (has_it && is_down)
            return NULL;
        if (member_takes_up_mycnf(snapshot, member) && member_runs(member) && (!next || next == primary))
            next = member;
    }
    return next;
}

/* A cluster is made in order. Later its StatefulSet and pods need of the children before them what they are made with,
 * and are looked after also while the rest is refused. */
static bool lets_pass(const struct cluster_snapshot *snapshot, enum cluster_child child)
{
    return snapshot->children[CHILD_STATEFUL_SET] && child != CHILD_SERVICE_ACCOUNT && child != CHILD_CONFIG_MAP &&
        child != CHILD_STATEFUL_SET;
}

/* A route that was taken over leads to the primary, whom the status of the new cluster does not name yet: until it
 * does, neither the route nor the labels of pods are changed. */
static bool route_waits(const struct cluster_snapshot *snapshot)
{
    return snapshot->last.roles.epoch == 0 && snapshot->children[CHILD_ENDPOINT_SLICE] &&
        !snapshot->memory[CHILD_ENDPOINT_SLICE].desired;
}

static void decide_child(
    const struct cluster_snapshot *snapshot, enum cluster_child child, struct cluster_decision *decision)
{
    json_t *body = desired_child(snapshot, child);
    decision->desired[child] = json_hash(body);
    if (cluster_child_is_as_wanted(snapshot, decision, child) || gate_holds(decision, snapshot, child) ||
        (child == CHILD_ENDPOINT_SLICE && route_waits(snapshot))) {
        json_decref(body);
        return;
    }
    char uid[KUBE_UID_TEXT_SIZE] = "";
    if (snapshot->children[child])
        kube_uid_print(snapshot->children[child]->uid, uid);
    plan_add_apply(decision->plan, desired_child_kind(child), *uid ? uid : NULL, body, NULL);
    if (lets_pass(snapshot, child))
        plan_let_pass(decision->plan);
}

/* `init` would try again by itself, but with a growing back-off. Only together with a new text: whatever that is,
 * nobody is replaced twice for it. */
static void decide_refused(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const struct cluster_child_memory *memory = &snapshot->memory[CHILD_CONFIG_MAP];
    if (decision->gate != GATE_OPEN || !memory->desired || memory->desired == decision->desired[CHILD_CONFIG_MAP])
        return;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!member_refuses_mycnf(member) || member->pod->object.deleting)
            continue;
        _cleanup_(freep) char *why =
            xasprintf("start %s with the new my.cnf: the server refuses the one before", member->name);
        plan_add_delete(decision->plan, PLAN_POD, snapshot->ns, member->name, member->pod->uid, why);
    }
}

static void decide_children(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    for (int child = 0; child < CHILD_COUNT; child++) {
        if (child == CHILD_STATEFUL_SET)
            plan_next_stage(decision->plan);
        decide_child(snapshot, (enum cluster_child)child, decision);
    }
    decide_refused(snapshot, decision);
}

/* Between refusals the route must still follow the pods: the one child that depends on nothing but them. */
static void decide_route_only(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    if (snapshot->children[CHILD_ENDPOINT_SLICE])
        decide_child(snapshot, CHILD_ENDPOINT_SLICE, decision);
}

/* ---- orphans ---- */

static const char *const why_adopted = "take over what a cluster of this name was deleted without";

/* The StatefulSet last: as long as it is an orphan, the others are taken over beside it. */
static bool decide_orphans(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const struct custom_object *terminal = snapshot->terminal;
    bool has_terminal = snapshot->cluster.has_terminal && terminal && terminal->is_managed &&
        kube_uid_is_zero(terminal->object.owner) && !terminal->object.deleting;
    if (!cluster_takes_over(snapshot))
        return false;
    for (int child = 0; child < CHILD_COUNT; child++) {
        if (child == CHILD_STATEFUL_SET)
            plan_next_stage(decision->plan);
        if (snapshot->orphans[child])
            plan_add_adopt(decision->plan, desired_child_kind((enum cluster_child)child),
                desired_child(snapshot, (enum cluster_child)child), why_adopted);
        if (child == CHILD_SERVICE_ACCOUNT && has_terminal)
            plan_add_adopt(decision->plan, PLAN_TERMINAL, desired_terminal(snapshot), why_adopted);
    }
    next_action(decision, why_adopted);
    return true;
}

static void decide_terminal(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const struct custom_object *terminal = snapshot->terminal;
    bool ours = terminal && cluster_owns(snapshot, &terminal->object);
    bool is_made = snapshot->cluster.has_terminal && !terminal;
    if (is_made || (snapshot->cluster.has_terminal && ours && !cluster_terminal_is_as_wanted(snapshot))) {
        plan_add_apply(decision->plan, PLAN_TERMINAL, is_made ? NULL : terminal->uid, desired_terminal(snapshot), NULL);
        plan_let_pass(decision->plan);
    } else if (!snapshot->cluster.has_terminal && ours && !terminal->object.deleting)
        plan_add_delete(decision->plan, PLAN_TERMINAL, snapshot->ns, terminal->name, terminal->uid, NULL);
}

/* ---- pods ---- */

/* Whom the Service for replicas finds is ready and has its label. A member that is silent keeps the one it has. */
static const char *wanted_label(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (member == cluster_primary(snapshot))
        return LABEL_ROLE_PRIMARY;
    bool is_kept_out = member_speaks(member) ? member_is_no_reader(member) : member->pod && str_empty(member->pod->role);
    if (is_kept_out)
        return "";
    return member_is_wanted(snapshot, member) && snapshot->last.roles.initialized ? LABEL_ROLE_REPLICA : "";
}

/* Only as it was last seen: where the API server (1.20, at least) meets a patch of a pod in the moment in which that is
 * finally removed, it removes what stands there by then, and that can be the pod of the same name that the StatefulSet
 * has just made. */
static json_t *label_patch(const struct pod_object *pod, const char *label)
{
    json_t *value = str_empty(label) ? json_null() : json_string(label);
    return json_build("{s:{s:s, s:s, s:{s:o}}}", "metadata", "uid", pod->uid, "resourceVersion",
        pod->object.resource_version, "labels", LABEL_ROLE, value);
}

/* After a switchover, not in its midst: the route does not wait for labels. */
static void decide_labels(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    if (cluster_transition_is_set(&snapshot->last.roles.transition) || route_waits(snapshot))
        return;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        const char *label = wanted_label(snapshot, member);
        const struct pod_object *pod = member->pod;
        bool goes = pod &&
            (pod->object.deleting || plan_deletes(decision->plan, PLAN_POD, member->name) ||
                member_refuses_mycnf(member));
        if (pod && !goes && !str_eq(pod->role, label))
            plan_add_patch(
                decision->plan, PLAN_POD, snapshot->ns, member->name, pod->uid, label_patch(pod, label), NULL);
    }
}

/* A kubelet brings new content of a Secret to a pod when it looks at it anyway, up to a minute and a half later, but at
 * once when the pod itself has changed. Pods that are younger than the change were started with it. */
static void decide_mounts(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    int64_t since_ms = cluster_accounts_pending_since_ms(&snapshot->last.accounts);
    char since[CLOCK_RFC3339_SIZE];
    if (since_ms == 0)
        return;
    clock_format_rfc3339(since_ms, since);
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct pod_object *pod = snapshot->members[i].pod;
        bool is_older = pod && pod->created_ms > 0 && pod->created_ms < since_ms;
        if (!is_older || pod->object.deleting || plan_deletes(decision->plan, PLAN_POD, pod->name) ||
            str_eq(pod->mounts_changed, since) || !str_eq(pod->role, wanted_label(snapshot, &snapshot->members[i])))
            continue;
        plan_add_patch(decision->plan, PLAN_POD, snapshot->ns, pod->name, pod->uid,
            json_build("{s:{s:s, s:s, s:{s:s}}}", "metadata", "uid", pod->uid, "resourceVersion",
                pod->object.resource_version, "annotations", ANNOTATION_MOUNTS_CHANGED, since),
            NULL);
    }
}

static const char *why_reseed(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (in_place_is_stale(snapshot, member))
        return "what it holds is of the time before the restore in place";
    if (!str_empty(member->agent->errant))
        return "what it holds beyond the primary is set aside on its volume";
    if (member_has_problem(member, AGENT_PROBLEM_GTIDS_LOST))
        return "somebody has set back its GTID position";
    if (member->agent->replication.applier_errno)
        return "what the primary sends cannot be applied to its data";
    if (!member_runs(member))
        return "its data is marked as no longer usable, and its server does not run";
    return "the primary no longer has the binary logs that it needs";
}

const struct cluster_member *cluster_next_reseed(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (!primary || !member_is_open(snapshot, primary))
        return NULL;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member == primary || !member_is_wanted(snapshot, member) || !member_speaks(member) ||
            member_is_seeding(member) || member->agent->mark != AGENT_MARK_RESEED || !member->pod ||
            member->pod->object.deleting || acknowledgers_need(snapshot, primary, member) ||
            member_is_to_stop(snapshot, member))
            continue;
        return member;
    }
    return NULL;
}

static void decide_reseed(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const struct cluster_member *member = cluster_next_reseed(snapshot);
    if (!member)
        return;
    _cleanup_(freep) char *why = xasprintf("seed %s again: %s", member->name, why_reseed(snapshot, member));
    plan_add_delete(decision->plan, PLAN_POD, snapshot->ns, member->name, member->pod->uid, why);
}

/* Its next `init` restores, or takes what was restored. */
static void decide_in_place(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const struct cluster_member *member = in_place_leaver(snapshot);
    if (!member)
        return;
    _cleanup_(freep) char *why =
        xasprintf("the cluster is restored in place: the server of %s makes room", member->name);
    plan_add_delete(decision->plan, PLAN_POD, snapshot->ns, member->name, member->pod->uid, why);
}

static bool is_under_way(const struct roll *roll)
{
    return roll->outdated > 0 || (roll->step == ROLL_WAIT && !roll->taking_up);
}

static void decide_roll(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const struct roll *roll = &decision->roll;
    decision->taking_up = roll->taking_up;
    decision->rolling = is_under_way(roll);
    if (roll->step != ROLL_DONE)
        next_action(decision, roll->text);
    if (roll->step == ROLL_DELETE && plan_is_empty(decision->plan))
        plan_add_delete(decision->plan, PLAN_POD, snapshot->ns, roll->member->name, roll->member->pod->uid, roll->text);
}

static void explain_gate(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const char *more = cluster_roll_stops_commits(snapshot) ? "; " CLUSTER_ROLL_STOPS_COMMITS : "";
    if (decision->gate == GATE_CHECKING && !str_empty(decision->gate_message)) {
        _cleanup_(freep) char *text = xasprintf("roll the members; waits: %s%s", decision->gate_message, more);
        next_action(decision, text);
    } else if (decision->gate == GATE_CHECKING) {
        _cleanup_(freep) char *text =
            xasprintf("roll the members, after the check pod has tried the new image and my.cnf%s", more);
        next_action(decision, text);
    } else if (decision->gate == GATE_REFUSED) {
        _cleanup_(freep) char *text = xasprintf("roll the members; blocked: %s", decision->gate_message);
        next_action(decision, text);
    }
}

/* Before what members are to do: there are none. */
static void explain_set(struct cluster_decision *decision)
{
    if (!decision->set_waits)
        return;
    _cleanup_(freep) char *text = decision->gate_reason == REASON_OTHER
        ? xstrdup("make the StatefulSet, once the API server has said whether it takes a pod of it")
        : xasprintf("make the StatefulSet; blocked: %s", decision->gate_message);
    next_action(decision, text);
}

static void explain_hold(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    if (!volume_hold_is_awaited(snapshot, cluster_wanted_pods(snapshot)))
        return;
    _cleanup_(freep) char *text = xasprintf("%s the StatefulSet, once finalizer %s is on the cluster",
        snapshot->stateful_set ? "grow" : "make", volume_hold_finalizer(snapshot));
    next_action(decision, text);
}

static void explain_turn(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    static const char *const what[] = {[CLUSTER_TURN_NONE] = "",
        [CLUSTER_TURN_AGENT] = "replace the members, for the agent ",
        [CLUSTER_TURN_CONFIG] = "bring the members up to date with MysqlConfig ",
        [CLUSTER_TURN_OPERATOR] = "bring the members up to date with this version of the operator"};
    const struct cluster_turn *turn = &snapshot->turn;
    const char *name = "";
    if (str_empty(turn->waits_for))
        return;
    if (turn->cause == CLUSTER_TURN_AGENT)
        name = snapshot->default_agent_image;
    else if (turn->cause == CLUSTER_TURN_CONFIG)
        name = snapshot->cluster.config_name;
    _cleanup_(freep) char *text = xasprintf("%s%s; waits for %s, whose turn it is%s", what[turn->cause], name,
        turn->waits_for, cluster_roll_stops_commits(snapshot) ? "; " CLUSTER_ROLL_STOPS_COMMITS : "");
    next_action(decision, text);
}

static void explain_shrink(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    char why[256];
    const struct cluster_member *blocker =
        snapshot->scale.effective > 0 ? cluster_shrink_blocker(snapshot, why, sizeof(why)) : NULL;
    if (!blocker)
        return;
    _cleanup_(freep) char *text =
        xasprintf("shrink to %d; waits for %s: %s", snapshot->scale.effective, blocker->name, why);
    next_action(decision, text);
}

/* Behind whatever comes first. */
static void explain_growth(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    if (snapshot->scale.effective >= snapshot->scale.wanted)
        return;
    size_t len = strlen(decision->next_action);
    snprintf(decision->next_action + len, sizeof(decision->next_action) - len,
        len > 0 ? "; then grow to %d" : "grow to %d, once all members have the new template", snapshot->scale.wanted);
}

static bool may_change_members(const struct cluster_snapshot *snapshot)
{
    return snapshot->usable && !snapshot->cluster.paused && !snapshot->secrets_failed;
}

/* Once a last backup has closed the cluster nobody is replaced any more: the primary is what it is taken of. */
static bool may_roll(const struct cluster_snapshot *snapshot, const struct cluster_decision *decision)
{
    return may_change_members(snapshot) && decision->gate == GATE_OPEN && !final_backup_is_closed(snapshot);
}

void cluster_decision_note_roll(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    struct roll roll;
    if (!may_roll(snapshot, decision) || cluster_is_let_go(snapshot) || cluster_takes_over(snapshot))
        return;
    cluster_roll(snapshot, &roll);
    decision->taking_up |= roll.taking_up;
    decision->rolling |= is_under_way(&roll);
    if (roll.step != ROLL_DONE)
        next_action(decision, roll.text);
}

void cluster_decide_roles(const struct cluster_snapshot *snapshot, struct cluster_decision *ret)
{
    *ret = (struct cluster_decision){.plan = plan_new(), .roll = {.step = ROLL_DONE}};
    bool may_change = may_change_members(snapshot);
    if (may_change && (in_place_is_under_way(snapshot) || !str_empty(snapshot->turn.waits_for) || snapshot->before_held))
        ret->gate = GATE_HELD;
    else if (may_change)
        cluster_gate_decide(snapshot, ret);
    if (may_roll(snapshot, ret))
        cluster_roll(snapshot, &ret->roll);
    if (may_change && ret->gate == GATE_OPEN)
        memcpy(ret->mycnf_hash, snapshot->mycnf_hash, sizeof(ret->mycnf_hash));
    cluster_intend(snapshot, ret->roll.step == ROLL_SWITCHOVER, &ret->intent);
    explain_set(ret);
    next_action(ret, ret->intent.next_action);
}

void cluster_decide_plan(const struct cluster_snapshot *snapshot, struct cluster_decision *ret)
{
    if (cluster_is_let_go(snapshot)) {
        decide_farewell(snapshot, ret);
        return;
    }
    route_clear_decide(snapshot, ret->plan);
    if (snapshot->cluster.paused) {
        next_action(ret, "nothing is applied, rolled or copied: spec.paused is true");
        decide_route_only(snapshot, ret);
        plan_next_stage(ret->plan);
        decide_labels(snapshot, ret);
        return;
    }
    if (!snapshot->usable) {
        next_action(ret, "nothing but lead the members as they are, until the spec is accepted");
        decide_route_only(snapshot, ret);
        plan_next_stage(ret->plan);
        decide_labels(snapshot, ret);
        return;
    }
    if (snapshot->secrets_failed) {
        next_action(ret, "make the Secrets, without which no pod starts");
        decide_route_only(snapshot, ret);
        return;
    }
    if (decide_orphans(snapshot, ret))
        return;
    decide_children(snapshot, ret);
    decide_terminal(snapshot, ret);
    if (ret->gate == GATE_OPEN)
        decide_roll(snapshot, ret);
    explain_gate(snapshot, ret);
    explain_hold(snapshot, ret);
    explain_turn(snapshot, ret);
    explain_shrink(snapshot, ret);
    explain_growth(snapshot, ret);
    plan_next_stage(ret->plan);
    decide_in_place(snapshot, ret);
    decide_reseed(snapshot, ret);
    decide_labels(snapshot, ret);
    decide_mounts(snapshot, ret);
    cluster_volumes_decide(snapshot, ret->plan);
    restore_store_decide(snapshot, ret->plan);
}

void cluster_desired_hashes(const struct cluster_snapshot *snapshot, uint64_t ret[static CHILD_COUNT])
{
    for (int child = 0; child < CHILD_COUNT; child++) {
        _cleanup_(json_decrefp) json_t *body = desired_child(snapshot, (enum cluster_child)child);
        ret[child] = json_hash(body);
    }
}

void cluster_applied_hash(
    const struct cluster_snapshot *snapshot, const uint64_t desired[static CHILD_COUNT], char out[static 17])
{
    uint64_t hash = HASH64_INIT;
    out[0] = '\0';
    for (int child = 0; child < CHILD_COUNT; child++) {
        if (!snapshot->children[child] || !desired[child])
            return;
        hash = hash64(hash, &desired[child], sizeof(desired[child]));
        hash = hash64(hash, &snapshot->children[child]->digest, sizeof(snapshot->children[child]->digest));
    }
    snprintf(out, 17, "%016llx", (unsigned long long)hash);
}
