/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/rollout/roll_target.h"

#include "operator/api/pod_reason.h"
#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/state/member_view.h"

/* The API server's clock, by which pods are made, against ours. */
#define SKEW_MS 10000
/* What a container runtime gives as exit code of a process that SIGKILL has ended: 128 + 9. */
#define EXIT_SIGKILL 137

/* ---- the target ---- */

int64_t roll_retry_at_ms(const struct cluster_roll_status *roll)
{
    int64_t pause_ms = roll->reason == ROLL_REASON_KILLED ? ROLL_RETRY_KILLED_MS : ROLL_RETRY_MS;
    if (roll->phase != ROLL_PHASE_ROLLED_BACK || roll->reason == ROLL_REASON_ENDED)
        return 0;
    for (int i = 1; i < roll->attempts && pause_ms < ROLL_RETRY_MAX_MS; i++)
        pause_ms *= 2;
    return roll->failed_ms + MIN_OF(pause_ms, ROLL_RETRY_MAX_MS);
}

static bool is_asked_for_again(const struct cluster_snapshot *snapshot)
{
    char again[sizeof(snapshot->last.roll.again)]; /* as much of it as the status keeps */
    snprintf(again, sizeof(again), "%s", str_or_empty(snapshot->roll_again));
    return !str_eq(again, snapshot->last.roll.again);
}

static bool is_due_again(const struct cluster_snapshot *snapshot)
{
    int64_t retry_at_ms = roll_retry_at_ms(&snapshot->last.roll);
    return is_asked_for_again(snapshot) || (retry_at_ms > 0 && snapshot->now_ms >= retry_at_ms);
}

static bool live_is_proven(const struct cluster_snapshot *snapshot)
{
    char live[17];
    roll_live_hash(snapshot, live);
    return *live && str_eq(live, snapshot->last.roll.proven);
}

static bool is_kept(const struct cluster_snapshot *snapshot)
{
    return snapshot->before_kept && str_eq(snapshot->before_kept->hash, snapshot->last.roll.proven);
}

enum roll_target roll_target(const struct cluster_snapshot *snapshot)
{
    const struct cluster_roll_status *roll = &snapshot->last.roll;
    bool has_failed = roll->phase == ROLL_PHASE_ROLLED_BACK && str_eq(roll->refused, snapshot->roll_wanted);
    if (!snapshot->stateful_set || !has_failed || is_due_again(snapshot))
        return ROLL_TARGET_WANTED;
    if (is_kept(snapshot))
        return ROLL_TARGET_BEFORE;
    /* What is in force can be stored anew; of what is not, nothing is left. */
    return !snapshot->before_known || live_is_proven(snapshot) ? ROLL_TARGET_HELD : ROLL_TARGET_WANTED;
}

bool roll_needs_before(const struct cluster_snapshot *snapshot)
{
    char live[17];
    roll_live_hash(snapshot, live);
    if (!snapshot->usable || !*live || str_empty(snapshot->last.roll.proven) || is_kept(snapshot))
        return false;
    return snapshot->before_held || (!snapshot->before_known && !live_is_proven(snapshot));
}

bool roll_must_be_kept(const struct cluster_snapshot *snapshot)
{
    return live_is_proven(snapshot) && !str_eq(snapshot->last.roll.proven, snapshot->roll_wanted) && !is_kept(snapshot);
}

/* ---- versions ---- */

/* The numbers of "11.4.5-MariaDB-log". */
static bool is_same_version(const char *a, const char *b)
{
    size_t len = strspn(a, "0123456789.");
    return len == strspn(b, "0123456789.") && strncmp(a, b, len) == 0;
}

static bool nothing_has_started(const struct pod_object *pod)
{
    bool is_pending = !pod->scheduled || pod_reason_is_image(pod->problem_reason);
    return is_pending && !pod->initialized && pod->most_ends == 0;
}

bool roll_opened_by_another(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct roll_before *before = snapshot->before_kept;
    const char *version = member->agent ? str_or_empty(member->agent->version) : "";
    if (member->pod && nothing_has_started(member->pod))
        return false;
    if (!str_empty(version) && !str_empty(before->version))
        return !is_same_version(version, before->version);
    return !str_eq(roll_before_image(before), str_or_empty(snapshot->config.image_mysql));
}

/* ---- who was replaced, and how it does ---- */

/* Its pod was made by this roll: what an older one went through says nothing of it. */
static bool is_of_this_roll(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    int64_t kept_ms = snapshot->before_kept ? snapshot->before_kept->kept_ms : 0;
    return member_has_newest_template(snapshot, member) &&
        (member->pod->created_ms == 0 || member->pod->created_ms + SKEW_MS >= kept_ms);
}

/* Why its pod is not there, or does not begin; ROLL_REASON_NONE: it does, or nothing is said of it. */
static enum roll_reason why_blocked(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct pod_object *pod = member->pod;
    if (!pod)
        return str_empty(member->refused) ? ROLL_REASON_NONE : ROLL_REASON_UNMADE;
    if (!is_of_this_roll(snapshot, member))
        return ROLL_REASON_NONE;
    if (!pod->scheduled && pod_reason_is_placement(pod->problem_reason))
        return ROLL_REASON_UNPLACED;
    return pod_reason_is_image(pod->problem_reason) ? ROLL_REASON_UNPULLED : ROLL_REASON_NONE;
}

static const struct cluster_member *find_blocked(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_is_wanted(snapshot, member) && !cluster_member_is_ready(member) &&
            why_blocked(snapshot, member) != ROLL_REASON_NONE)
            return member;
    }
    return NULL;
}

/* Why `init` has ended is another matter then: its donor, the network, a volume. */
static bool awaits_copy(const struct cluster_member *member)
{
    const struct agent_status *agent = member->agent;
    return !member->pod->initialized && agent && agent->phase == AGENT_PHASE_SEEDING &&
        (agent->data == AGENT_DATA_EMPTY || agent->mark != AGENT_MARK_NONE);
}

static const struct cluster_member *find_ended(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (member_is_wanted(snapshot, member) && member->pod && !member->pod->object.deleting && !member->pod->ready &&
            is_of_this_roll(snapshot, member) && member->pod->most_ends >= ROLL_ENDS_MAX && !awaits_copy(member))
            return member;
    }
    return NULL;
}

/* Whoever killed it may have had nothing to do with what is rolled out: a node without memory, a person. */
static enum roll_reason why_ended(const struct pod_object *pod)
{
    bool is_killed = pod->problem_exit == EXIT_SIGKILL && !pod_reason_is_memory(str_or_empty(pod->problem_reason));
    return is_killed ? ROLL_REASON_KILLED : ROLL_REASON_ENDED;
}

const struct cluster_member *roll_find_opened_by_another(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        bool is_replaced = !member->pod || is_of_this_roll(snapshot, member);
        if (member_is_wanted(snapshot, member) && is_replaced && roll_opened_by_another(snapshot, member))
            return member;
    }
    return NULL;
}

/* What one server says of its data another takes for its own: all of them say the same of my.cnf. */
static bool have_one_mycnf(const struct cluster_snapshot *snapshot)
{
    for (int i = 1; i < snapshot->scale.effective; i++) {
        if (!str_eq(snapshot->members[i].agent->mycnf_hash, snapshot->members[0].agent->mycnf_hash))
            return false;
    }
    return true;
}

/* All members are ready with what the StatefulSet bears. */
static bool is_complete(const struct cluster_snapshot *snapshot, bool is_wanted)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    if (set->observed_generation < set->object.generation || str_empty(set->update_revision) ||
        snapshot->scale.effective == 0 || !snapshot->last.roles.initialized)
        return false;
    for (int i = 0; i < snapshot->scale.effective; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!cluster_member_is_ready(member) || !member_speaks(member) ||
            !member_has_newest_template(snapshot, member) || str_empty(member->agent->mycnf_hash) ||
            (is_wanted && !member_has_wanted_mycnf(snapshot, member)))
            return false;
    }
    return have_one_mycnf(snapshot);
}

/* ---- the record ---- */

static void forget_failure(struct cluster_roll_status *roll)
{
    struct cluster_roll_status kept = {.phase = ROLL_PHASE_NONE};
    memcpy(kept.proven, roll->proven, sizeof(kept.proven));
    memcpy(kept.tried, roll->tried, sizeof(kept.tried));
    *roll = kept;
}

/* Tried again: what it is counts on. */
static void begin_again(const struct cluster_snapshot *snapshot, struct cluster_roll_status *roll)
{
    bool by_hand = is_asked_for_again(snapshot);
    roll->phase = ROLL_PHASE_NONE;
    if (by_hand)
        forget_failure(roll);
    snprintf(roll->again, sizeof(roll->again), "%s", str_or_empty(snapshot->roll_again));
}

static void note_blocked(const struct cluster_snapshot *snapshot, struct cluster_roll_status *roll)
{
    const struct cluster_member *blocked = find_blocked(snapshot);
    if (blocked && str_eq(blocked->name, roll->blocked))
        return;
    snprintf(roll->blocked, sizeof(roll->blocked), "%s", blocked ? blocked->name : "");
    roll->blocked_ms = blocked ? snapshot->now_ms - snapshot->now_ms % 1000 : 0;
}

static void say_obstacle(const struct cluster_snapshot *snapshot, struct cluster_roll_status *roll)
{
    const struct cluster_member *opened = is_kept(snapshot) ? roll_find_opened_by_another(snapshot) : NULL;
    const char *backup = snapshot->last.last_backup;
    *roll->obstacle = '\0';
    if (!is_kept(snapshot))
        snprintf(roll->obstacle, sizeof(roll->obstacle), "what ran before is not stored");
    else if (opened)
        snprintf(roll->obstacle, sizeof(roll->obstacle),
            "the data of %s may have been opened by another version than %s, which is not started on it; %s%s",
            opened->name, str_empty(snapshot->before_kept->version) ? "before" : snapshot->before_kept->version,
            str_empty(backup) ? "no backup is known" : "the newest backup is ", backup);
}

static void fail(const struct cluster_snapshot *snapshot, const struct cluster_member *member, enum roll_reason reason,
    struct cluster_roll_status *roll)
{
    const struct pod_object *pod = member->pod;
    say_obstacle(snapshot, roll);
    enum roll_phase phase = *roll->obstacle ? ROLL_PHASE_FAILED : ROLL_PHASE_ROLLED_BACK;
    if (roll->phase == phase) /* nothing new, though its words may differ each time */
        return;
    bool is_known = str_eq(roll->refused, snapshot->roll_wanted);
    if (roll->phase == ROLL_PHASE_NONE)
        roll->attempts = is_known ? roll->attempts + 1 : 1;
    roll->phase = phase;
    roll->failed_ms = snapshot->now_ms - snapshot->now_ms % 1000;
    memcpy(roll->refused, snapshot->roll_wanted, sizeof(roll->refused));
    snprintf(roll->again, sizeof(roll->again), "%s", str_or_empty(snapshot->roll_again));
    roll->reason = reason;
    snprintf(roll->member, sizeof(roll->member), "%s", member->name);
    if (!pod)
        snprintf(roll->message, sizeof(roll->message), "%.400s", member->refused);
    else
        snprintf(roll->message, sizeof(roll->message), "%s%s%s%s%.256s", pod->problem_container,
            str_empty(pod->problem_container) ? "" : " ", pod->problem_reason,
            str_empty(pod->problem_message) ? "" : ": ", pod->problem_message);
    *roll->blocked = '\0';
    roll->blocked_ms = 0;
}

static void judge(const struct cluster_snapshot *snapshot, struct cluster_roll_status *roll)
{
    const struct cluster_member *ended = find_ended(snapshot), *blocked = find_blocked(snapshot);
    note_blocked(snapshot, roll);
    bool is_told =
        roll->phase == ROLL_PHASE_FAILED && roll->reason != ROLL_REASON_ENDED && roll->reason != ROLL_REASON_KILLED;
    bool is_long = blocked && (is_told || snapshot->now_ms - roll->blocked_ms >= ROLL_BLOCKED_MS);
    if (ended)
        fail(snapshot, ended, why_ended(ended->pod), roll);
    else if (is_long)
        fail(snapshot, blocked, why_blocked(snapshot, blocked), roll);
    else
        roll->phase = ROLL_PHASE_NONE; /* of one that failed without going back: it does after all */
}

static bool is_looked_at(const struct cluster_snapshot *snapshot)
{
    return snapshot->usable && snapshot->stateful_set && !snapshot->cluster.paused && !snapshot->final.deleting &&
        !in_place_is_under_way(snapshot) && !snapshot->before_held && *snapshot->roll_wanted;
}

void roll_record(
    const struct cluster_snapshot *snapshot, const struct cluster_decision *decision, struct cluster_roll_status *ret)
{
    char live[17];
    roll_live_hash(snapshot, live);
    *ret = snapshot->last.roll;
    if (!is_looked_at(snapshot) || snapshot->before || !*live)
        return;
    bool in_force = str_eq(live, snapshot->roll_wanted), is_new = str_empty(ret->proven);
    if (cluster_awaits_restart(snapshot)) /* the next operator to lead has no check pod to ask */
        memcpy(ret->tried, snapshot->started, sizeof(ret->tried));
    if (*ret->refused && !str_eq(ret->refused, snapshot->roll_wanted))
        forget_failure(ret);
    else if (ret->phase == ROLL_PHASE_ROLLED_BACK)
        begin_again(snapshot, ret);
    if ((in_force || is_new) && is_complete(snapshot, in_force)) {
        memcpy(ret->proven, live, sizeof(ret->proven));
        *ret->tried = '\0';
        if (in_force)
            forget_failure(ret);
        return;
    }
    bool is_rolling = in_force && decision->gate == GATE_OPEN && !is_new && !str_eq(live, ret->proven);
    if (is_rolling && (snapshot->before_known || is_kept(snapshot)))
        judge(snapshot, ret);
    else if (!is_rolling) {
        *ret->blocked = '\0';
        ret->blocked_ms = 0;
    }
}

int64_t roll_again_in_ms(const struct cluster_roll_status *roll, int64_t now_ms)
{
    int64_t at_ms = roll_retry_at_ms(roll);
    if (at_ms == 0 && roll->blocked_ms > 0)
        at_ms = roll->blocked_ms + ROLL_BLOCKED_MS;
    return at_ms > 0 ? MAX_OF(1000, at_ms - now_ms) : 0;
}
