/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/restore/cluster_in_place.h"

#include "common/json.h"
#include "operator/cluster/failover/cluster_failover.h"
#include "operator/cluster/restore/cluster_restore.h"
#include "operator/cluster/restore/in_place_check.h"
#include "operator/cluster/restore/in_place_past.h"
#include "operator/cluster/restore/restore_store.h"
#include "operator/cluster/state/member_view.h"

#define ARCHIVE_AGAIN_MS 1000
#define AWAITS_ARCHIVE "waits until binary logs are archived up to there"

/* ---- where it stands ---- */

static const struct cluster_in_place *last_of(const struct cluster_snapshot *snapshot)
{
    return &snapshot->last.in_place;
}

static uint64_t bit_of(const struct cluster_member *member)
{
    return UINT64_C(1) << member->ordinal;
}

static const struct cluster_member *restoring(const struct cluster_snapshot *snapshot)
{
    return cluster_member_named(snapshot, last_of(snapshot)->member);
}

/* An answer that was given to another wish does not count. */
static const struct restore_answer *answer_of(const struct cluster_snapshot *snapshot)
{
    const struct restore_answer *answer = snapshot->restore_answer;
    const json_t *from = last_of(snapshot)->source.from;
    return answer && answer->found.from && from && json_equal(answer->found.from, from) ? answer : NULL;
}

/* ---- steps ---- */

static void KM_PRINTF(3, 4) fail(struct cluster_intent *intent, const char *reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(intent->in_place_message, sizeof(intent->in_place_message), fmt, ap);
    va_end(ap);
    snprintf(intent->in_place_reason, sizeof(intent->in_place_reason), "%s", reason);
    intent->in_place_step = IN_PLACE_STEP_FAIL;
}

static bool may_begin(const struct cluster_snapshot *snapshot)
{
    return snapshot->usable && !snapshot->cluster.paused && !snapshot->final.deleting &&
        snapshot->last.roles.initialized;
}

/* Whatever it is that takes the wish back. */
static bool is_taken_back(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    if (snapshot->final.deleting)
        fail(intent, "GivenUp", "the cluster is being deleted");
    else if (!str_eq(snapshot->in_place_wish.text, last_of(snapshot)->wish))
        fail(intent, "GivenUp", "the annotation was changed or taken away; the cluster keeps its data");
    return intent->in_place_step == IN_PLACE_STEP_FAIL;
}

/* What an old volume brought along is nobody's that we know of (I7). */
static bool has_foreign_before(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member->agent->has_before && last_of(snapshot)->taken == 0;
}

/* Where `init` is not over there is no server, and it will not be over without our word. */
static bool may_have_server(const struct cluster_member *member)
{
    return member->pod && member->pod->initialized && !member_is_seeding(member);
}

/* A member that has not heard could go on following a server whose history is another one by then: all must speak, and
 * in the end have stopped. NULL: all do. */
static const struct cluster_member *find_silent(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (may_have_server(&snapshot->members[i]) && !member_speaks(&snapshot->members[i]))
            return &snapshot->members[i];
    }
    return NULL;
}

static bool has_stopped(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (!may_have_server(member))
        return true;
    if (!member_speaks(member) || member->agent->epoch != (uint64_t)snapshot->last.roles.epoch ||
        member->agent->role != AGENT_ROLE_NONE)
        return false;
    return member->agent->order_done || member->agent->phase == AGENT_PHASE_DOWN ||
        member->agent->phase == AGENT_PHASE_STARTING;
}

static const struct cluster_member *find_running(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (!has_stopped(snapshot, &snapshot->members[i]))
            return &snapshot->members[i];
    }
    return NULL;
}

/* What serves the volume that it reads from. */
static bool store_is_missed(const struct cluster_snapshot *snapshot)
{
    return restore_store_is_wanted(snapshot) && !restore_store_serves(snapshot);
}

static void say_store(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    char message[PROJECTION_MESSAGE_MAX + 128];
    restore_store_say_waits(snapshot, message, sizeof(message));
    cluster_intent_say(intent, "restore in place; %.300s", message);
}

/* What the restore reads from must be there before the outage begins. */
static void await_store(
    const struct cluster_snapshot *snapshot, const struct restore_answer *answer, struct cluster_intent *intent)
{
    struct backup_destination destination;
    backup_destination_read(answer->found.destination, &destination);
    if (destination.kind == BACKUP_DESTINATION_VOLUME && !last_of(snapshot)->source.destination)
        intent->in_place_step = IN_PLACE_STEP_FOUND;
    else if (store_is_missed(snapshot))
        say_store(snapshot, intent);
    else {
        intent->in_place_step = IN_PLACE_STEP_RESTORE;
        intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    }
}

static void await_archive(struct cluster_intent *intent)
{
    cluster_intent_say(intent, "restore in place; " AWAITS_ARCHIVE);
    intent->again_ms = intent->again_ms > 0 ? MIN_OF(intent->again_ms, ARCHIVE_AGAIN_MS) : ARCHIVE_AGAIN_MS;
}

static void judge_backup(const struct cluster_snapshot *snapshot, const struct cluster_member *primary,
    const struct restore_answer *answer, struct cluster_intent *intent)
{
    char why[512];
    enum restore_reason reason = in_place_check(snapshot, answer, primary->agent, why, sizeof(why));
    if (reason)
        fail(intent, restore_reason_name(reason), "%s", why);
    else if (in_place_awaits_archive(snapshot, answer, primary->agent))
        await_archive(intent);
    else if (find_silent(snapshot))
        cluster_intent_say(intent, "restore in place; waits to hear from %s", find_silent(snapshot)->name);
    else if (has_foreign_before(snapshot, primary))
        fail(intent, "OldDataKept", "the volume of %s holds data.before, which is not of this cluster", primary->name);
    else if (primary->agent->has_before)
        cluster_intent_say(
            intent, "restore in place; waits until %s has removed the data from before the last one", primary->name);
    else
        await_store(snapshot, answer, intent);
}

static void resolve(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct restore_answer *answer = answer_of(snapshot);
    const struct cluster_member *primary = cluster_primary(snapshot);
    if (is_taken_back(snapshot, intent))
        return;
    if (!answer || answer->finding == RESTORE_FINDING_NONE)
        cluster_intent_say(intent, "restore in place; waits until the backup is found");
    else if (answer->finding != RESTORE_FINDING_BACKUP &&
        restore_reason_parse(answer->found.reason) != RESTORE_REASON_API_UNAVAILABLE)
        fail(intent, answer->found.reason, "%s", in_place_message(answer->found.message));
    else if (answer->finding != RESTORE_FINDING_BACKUP)
        cluster_intent_say(intent, "restore in place; waits: %.300s", answer->found.message);
    else if (!may_begin(snapshot))
        cluster_intent_say(intent, "restore in place; waits until the cluster may be changed");
    else if (!primary || !primary->pod || !member_speaks(primary))
        cluster_intent_say(intent, "restore in place; waits to hear from %s", snapshot->last.roles.current_primary);
    else
        judge_backup(snapshot, primary, answer, intent);
}

static bool is_whole(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    return !in_place_is_under_way(snapshot) && primary && member_is_open(snapshot, primary) &&
        cluster_follower_count(snapshot) >= snapshot->scale.effective - 1;
}

/* By what stands in the status it is found, and that ends with another wish. */
static bool store_is_left(const struct cluster_snapshot *snapshot)
{
    const struct pod_object *pod = snapshot->restore_store;
    return pod && !pod->object.deleting && cluster_owns(snapshot, &pod->object);
}

static void consider_wish(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct in_place_wish *wish = &snapshot->in_place_wish;
    const struct cluster_in_place *last = last_of(snapshot);
    if (str_empty(wish->text)) {
        if (!str_empty(last->wish))
            intent->in_place_step = IN_PLACE_STEP_FORGET;
    } else if (!str_eq(wish->text, last->wish) && wish->document && may_begin(snapshot) && !store_is_left(snapshot))
        intent->in_place_step = IN_PLACE_STEP_BEGIN;
    else if (str_eq(wish->text, last->wish) && cluster_in_place_refusal(last) != IN_PLACE_REFUSAL_NONE)
        cluster_intent_say(intent,
            "nothing: the restore in place that annotation " ANNOTATION_RESTORE_IN_PLACE
            " wishes may be older than the data; take it away, and set it again if it is still wished");
}

void in_place_consider(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct cluster_in_place *last = last_of(snapshot);
    bool is_busy =
        cluster_transition_is_set(&intent->roles.transition) || intent->roles.epoch != snapshot->last.roles.epoch;
    intent->stale = in_place_still_stale(snapshot);
    if (in_place_is_outdated(snapshot))
        in_place_leave_out_stale(snapshot, intent);
    if (is_busy || failover_status_is_old(snapshot))
        return;
    if (last->phase == IN_PLACE_PHASE_RESOLVING)
        resolve(snapshot, intent);
    else if (last->phase == IN_PLACE_PHASE_RESEEDING && is_whole(snapshot))
        intent->in_place_step = IN_PLACE_STEP_COMPLETE;
    else if (cluster_in_place_is_over(last))
        consider_wish(snapshot, intent);
}

/* ---- while nobody serves ---- */

/* Of the order that it was given, rather than of one before. */
static bool has_failed(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_is_seeding(member) && member->agent->epoch == (uint64_t)snapshot->last.roles.epoch &&
        str_eq(member->agent->seed.task, last_of(snapshot)->source.backup) &&
        member->agent->seed.step == AGENT_SEED_STEP_FAILED;
}

static bool may_pass(const struct agent_status *agent)
{
    enum restore_reason reason = restore_reason_parse(agent->seed.reason);
    bool passing = reason == RESTORE_REASON_STORE_UNAVAILABLE || reason == RESTORE_REASON_TOOL_FAILED ||
        reason == RESTORE_REASON_NONE;
    return passing && !agent->seed.gave_up && agent->seed.attempts < IN_PLACE_ATTEMPTS_MAX;
}

static bool is_beside(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member_is_seeding(member) && member->agent->epoch == (uint64_t)snapshot->last.roles.epoch &&
        member->agent->beside_number == (uint64_t)last_of(snapshot)->number;
}

/* What was acknowledged so far is of another history: nobody has to have it any more. */
static void take(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    intent->in_place_step = IN_PLACE_STEP_TAKE;
    intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    for (int i = 0; i < snapshot->member_count; i++) {
        if (&snapshot->members[i] != restoring(snapshot))
            intent->stale |= bit_of(&snapshot->members[i]);
    }
    intent->roles.semi_sync = false;
    intent->roles.acknowledgers = 0;
    intent->roles.confirmed = (struct cluster_confirmed){.acks = 0};
    intent->roles.last_failover.position = "";
    intent->roles.reigns.count = 0;
}

static void await_restored(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct cluster_intent *intent)
{
    const char *name = last_of(snapshot)->member;
    if (is_taken_back(snapshot, intent))
        intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    else if (!member || !member_speaks(member))
        cluster_intent_say(intent, "restore in place on %s; waits to hear from it", name);
    else if (has_failed(snapshot, member) && !may_pass(member->agent)) {
        fail(intent, member_seed_failure(member), "%s: %s", name, member->agent->seed.message);
        intent->roles.epoch = cluster_newest_epoch(snapshot) + 1;
    } else if (is_beside(snapshot, member) && find_running(snapshot))
        cluster_intent_say(intent, "restore in place; the backup is restored, waits until %s has stopped to follow",
            find_running(snapshot)->name);
    else if (is_beside(snapshot, member) && may_begin(snapshot))
        take(snapshot, intent);
    else if (in_place_receiver(snapshot) && store_is_missed(snapshot))
        say_store(snapshot, intent);
    else
        cluster_intent_say(intent, "restore in place: %s makes a database of backup %s beside its data", name,
            last_of(snapshot)->source.backup);
}

/* By the number that lies in its data folder: its server may be starting. */
static bool has_restored_data(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member->agent->restored_number == (uint64_t)last_of(snapshot)->number;
}

static bool is_taken(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    return member && member_runs(member) && has_restored_data(snapshot, member);
}

void in_place_intend(const struct cluster_snapshot *snapshot, struct cluster_intent *intent)
{
    const struct cluster_member *member = restoring(snapshot);
    intent->stale = in_place_still_stale(snapshot);
    if (last_of(snapshot)->phase == IN_PLACE_PHASE_RESTORING)
        await_restored(snapshot, member, intent);
    else if (is_taken(snapshot, member) && member_is_open(snapshot, member))
        intent->in_place_step = IN_PLACE_STEP_RESEED;
    else
        cluster_intent_say(
            intent, "restore in place; waits until %s serves the restored data", last_of(snapshot)->member);
}

/* ---- the status ---- */

static void take_source(const struct cluster_snapshot *snapshot, enum restore_phase phase, struct cluster_in_place *next)
{
    const struct restore_answer *answer = answer_of(snapshot);
    cluster_restore_release(&next->source);
    cluster_restore_copy(&answer->found, &next->source);
    next->source.phase = phase;
}

/* All servers are heard by now, which they were not when it was begun: no data must pass for that of this restore. */
static void take_found(const struct cluster_snapshot *snapshot, struct cluster_in_place *next)
{
    take_source(snapshot, RESTORE_PHASE_RESTORING, next);
    next->number = MAX_OF(next->number, in_place_heard_number(snapshot) + 1);
    next->phase = IN_PLACE_PHASE_RESTORING;
    snprintf(next->member, sizeof(next->member), "%s", snapshot->last.roles.current_primary);
}

static void begin(const struct cluster_snapshot *snapshot, struct cluster_in_place *next)
{
    cluster_restore_begin(&next->source, snapshot->in_place_wish.spec.document, snapshot->now_ms);
    next->phase = IN_PLACE_PHASE_RESOLVING;
    next->number = MAX_OF(next->number, in_place_heard_number(snapshot)) + 1;
    next->member[0] = '\0';
    next->start_ms = snapshot->now_ms;
    next->completion_ms = 0;
    snprintf(next->wish, sizeof(next->wish), "%s", snapshot->in_place_wish.text);
}

static void end_as(const struct cluster_snapshot *snapshot, enum in_place_phase phase,
    const struct cluster_intent *intent, struct cluster_in_place *next)
{
    next->phase = phase;
    next->completion_ms = snapshot->now_ms;
    memcpy(next->reason, intent->in_place_reason, sizeof(next->reason));
    memcpy(next->message, intent->in_place_message, sizeof(next->message));
}

/* Both are found out by what members say: whether it had been taken, and that no later one gets the same number. */
static void end_refused(
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent, struct cluster_in_place *next)
{
    int64_t heard = in_place_heard_number(snapshot);
    if (cluster_in_place_is_over(next)) {
        cluster_restore_release(&next->source);
        next->source = (struct cluster_restore){.from = NULL};
        next->member[0] = '\0';
        next->start_ms = snapshot->now_ms;
    } else if (heard >= next->number)
        next->taken = MAX_OF(next->taken, heard);
    next->number = MAX_OF(next->number, heard);
    next->taken_epoch = in_place_taken_epoch(snapshot);
    if (!str_empty(snapshot->in_place_wish.text))
        snprintf(next->wish, sizeof(next->wish), "%s", snapshot->in_place_wish.text);
    end_as(snapshot, IN_PLACE_PHASE_FAILED, intent, next);
}

void in_place_apply(
    const struct cluster_snapshot *snapshot, const struct cluster_intent *intent, struct cluster_status *status)
{
    struct cluster_in_place *next = &status->in_place;
    next->stale = intent->stale;
    if (intent->in_place_step == IN_PLACE_STEP_NONE)
        return;
    if (intent->in_place_step == IN_PLACE_STEP_FORGET) {
        next->wish[0] = '\0';
        return;
    }
    next->reason[0] = next->message[0] = '\0';
    switch (intent->in_place_step) {
    case IN_PLACE_STEP_BEGIN:
        begin(snapshot, next);
        break;
    case IN_PLACE_STEP_FOUND:
        take_source(snapshot, RESTORE_PHASE_RESOLVING, next);
        break;
    case IN_PLACE_STEP_RESTORE:
        take_found(snapshot, next);
        break;
    case IN_PLACE_STEP_TAKE:
        next->phase = IN_PLACE_PHASE_TAKING;
        next->taken = next->number;
        next->taken_epoch = intent->roles.epoch;
        break;
    case IN_PLACE_STEP_RESEED:
        next->phase = IN_PLACE_PHASE_RESEEDING;
        break;
    case IN_PLACE_STEP_COMPLETE:
        end_as(snapshot, IN_PLACE_PHASE_COMPLETED, intent, next);
        break;
    case IN_PLACE_STEP_REFUSE:
        end_refused(snapshot, intent, next);
        break;
    default:
        end_as(snapshot, IN_PLACE_PHASE_FAILED, intent, next);
    }
}

/* ---- who is asked and told ---- */

bool in_place_is_looked_for(const struct cluster_snapshot *snapshot)
{
    return last_of(snapshot)->phase == IN_PLACE_PHASE_RESOLVING && snapshot->in_place_wish.document &&
        str_eq(snapshot->in_place_wish.text, last_of(snapshot)->wish);
}

const struct cluster_member *in_place_receiver(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *member = restoring(snapshot);
    bool waits = last_of(snapshot)->phase == IN_PLACE_PHASE_RESTORING && member && member_is_seeding(member);
    return waits && !is_beside(snapshot, member) ? member : NULL;
}

static enum in_place_order order_holding(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct agent_order *order)
{
    const struct cluster_in_place *last = last_of(snapshot);
    bool takes = last->phase == IN_PLACE_PHASE_TAKING;
    /* Nobody takes over from anybody: a pod that is replaced need not wait for it. */
    order->nobody_stays |= !member_is_seeding(member) && !has_restored_data(snapshot, member);
    if (member != restoring(snapshot)) {
        order->mark = takes && in_place_is_stale(snapshot, member) ? AGENT_MARK_RESEED : AGENT_MARK_NONE;
        return IN_PLACE_ORDER_GIVEN;
    }
    if (!member_is_seeding(member))
        return takes && is_taken(snapshot, member) ? IN_PLACE_ORDER_PRIMARY : IN_PLACE_ORDER_GIVEN;
    order->seed = takes ? AGENT_SEED_TAKE_RESTORED : AGENT_SEED_RESTORE_BESIDE;
    order->restore_number = (uint64_t)last->number;
    if (!takes)
        snprintf(order->restore_id, sizeof(order->restore_id), "%s", last->source.backup);
    return IN_PLACE_ORDER_GIVEN;
}

/* Once all follow what was restored, or nothing came of it, nobody needs what was there before an earlier one. */
static bool may_drop_before(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_in_place *last = last_of(snapshot);
    return member->agent->has_before && last->taken > 0 &&
        (cluster_in_place_is_over(last) || last->phase == IN_PLACE_PHASE_RESOLVING) &&
        (!in_place_is_outdated(snapshot) || is_whole(snapshot));
}

enum in_place_order in_place_order(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct agent_order *order)
{
    if (in_place_holds(snapshot))
        return order_holding(snapshot, member, order);
    order->drop_before = may_drop_before(snapshot, member);
    if (!in_place_is_stale(snapshot, member))
        return IN_PLACE_ORDER_USUAL;
    order->nobody_stays |= !member_is_seeding(member);
    if (in_place_is_outdated(snapshot) && !member_runs(member) && !member_data_is_stale(member)) {
        /* Its server tells of which time its data is; until then it is nothing, and keeps that. */
        order->seed = member_is_seeding(member) ? AGENT_SEED_KEEP : AGENT_SEED_NONE;
        return IN_PLACE_ORDER_GIVEN;
    }
    order->mark = member_is_wanted(snapshot, member) ? AGENT_MARK_RESEED : AGENT_MARK_LEFT;
    return IN_PLACE_ORDER_GIVEN;
}

/* It has heard that it is to be nothing, and is. What `init` has put in the place of its data stays there: it need not
 * be replaced a second time. */
const struct cluster_member *in_place_leaver(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *member = restoring(snapshot);
    if (!in_place_holds(snapshot) || failover_status_is_old(snapshot) || !member || !member->pod ||
        member->pod->object.deleting || !member_speaks(member) || member_is_seeding(member) ||
        has_restored_data(snapshot, member))
        return NULL;
    return member->agent->epoch == (uint64_t)snapshot->last.roles.epoch && !member->agent->writable ? member : NULL;
}

/* ---- the report ---- */

static void KM_PRINTF(3, 4) say(struct cluster_in_place *in_place, const char *reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(in_place->message, sizeof(in_place->message), fmt, ap);
    va_end(ap);
    snprintf(in_place->reason, sizeof(in_place->reason), "%s", reason);
}

static void report_store(
    const struct cluster_snapshot *snapshot, const char *who_serves, struct cluster_in_place *in_place)
{
    char message[PROJECTION_MESSAGE_MAX + 128];
    restore_store_say_waits(snapshot, message, sizeof(message));
    say(in_place, restore_reason_name(RESTORE_REASON_STORE_UNAVAILABLE), "%s; %s", who_serves, message);
}

static bool archive_is_awaited(const struct cluster_snapshot *snapshot)
{
    const struct restore_answer *answer = answer_of(snapshot);
    const struct cluster_member *primary = cluster_primary(snapshot);
    return answer && answer->finding == RESTORE_FINDING_BACKUP && primary && member_speaks(primary) &&
        in_place_awaits_archive(snapshot, answer, primary->agent);
}

static void report_resolving(const struct cluster_snapshot *snapshot, struct cluster_in_place *in_place)
{
    in_place->reason[0] = in_place->message[0] = '\0';
    if (archive_is_awaited(snapshot))
        say(in_place, restore_reason_name(RESTORE_REASON_TARGET_NOT_COVERED), "the cluster serves; " AWAITS_ARCHIVE);
    else if (store_is_missed(snapshot))
        report_store(snapshot, "the cluster serves", in_place);
}

static void report_restoring(const struct cluster_snapshot *snapshot, struct cluster_in_place *in_place)
{
    const struct cluster_member *member = restoring(snapshot);
    in_place->reason[0] = in_place->message[0] = '\0';
    if (member && member_is_seeding(member) && member->agent->seed.step == AGENT_SEED_STEP_FAILED)
        say(in_place, member_seed_failure(member), "%s: %s", member->name, member->agent->seed.message);
    else if (in_place_receiver(snapshot) && !str_empty(snapshot->restore_task_error))
        say(in_place, "NotToldYet", "%s", snapshot->restore_task_error);
    else if (in_place_receiver(snapshot) && store_is_missed(snapshot))
        report_store(snapshot, "nobody serves", in_place);
}

static const char *phase_message(const struct cluster_in_place *in_place)
{
    static const char *const messages[IN_PLACE_PHASE_COUNT] = {
        [IN_PLACE_PHASE_RESOLVING] = "finding out which backup it is; the cluster serves",
        [IN_PLACE_PHASE_RESTORING] = "nobody serves: a member makes a database of the backup beside its data",
        [IN_PLACE_PHASE_TAKING] = "the restored data takes the place of the old",
        [IN_PLACE_PHASE_RESEEDING] = "the restored data is served; the other members are seeded from it",
        [IN_PLACE_PHASE_COMPLETED] = "the cluster has the data of the backup",
        [IN_PLACE_PHASE_FAILED] = "it failed; the cluster has the data that it had",
    };
    return str_or_empty(messages[in_place->phase]);
}

static void report_condition(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    const struct cluster_in_place *in_place = &status->in_place;
    const char *problem = snapshot->in_place_wish.problem;
    bool is_done = in_place->phase == IN_PLACE_PHASE_COMPLETED;
    const char *reason = str_empty(in_place->reason) ? in_place_phase_names[in_place->phase] : in_place->reason;
    struct strbuf text;
    strbuf_init(&text, KUBE_CONDITION_MESSAGE_MAX);
    strbuf_adds(&text, str_empty(in_place->message) ? phase_message(in_place) : in_place->message);
    if (str_empty(in_place->message) && in_place->phase > IN_PLACE_PHASE_RESOLVING) {
        strbuf_addf(&text, " (%.127s", in_place->source.backup);
        cluster_restore_point_text(&in_place->source, &text);
        strbuf_adds(&text, ")");
    }
    if (!str_empty(problem) && cluster_in_place_is_over(in_place))
        kube_conditions_set(&status->conditions, CONDITION_RESTORED_IN_PLACE, KUBE_CONDITION_FALSE, "InvalidWish",
            snapshot->generation, snapshot->now_ms, "%s", problem);
    else if (in_place->phase == IN_PLACE_PHASE_NONE)
        kube_conditions_remove(&status->conditions, CONDITION_RESTORED_IN_PLACE);
    else
        kube_conditions_set(&status->conditions, CONDITION_RESTORED_IN_PLACE,
            is_done ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE, reason, snapshot->generation, snapshot->now_ms, "%s",
            text.buf);
    strbuf_release(&text);
}

void in_place_report(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    cluster_in_place_copy(last_of(snapshot), &status->in_place);
    if (in_place_holds(snapshot))
        report_restoring(snapshot, &status->in_place);
    else if (status->in_place.phase == IN_PLACE_PHASE_RESOLVING)
        report_resolving(snapshot, &status->in_place);
    report_condition(snapshot, status);
}

bool in_place_remedy(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    const struct cluster_in_place *last = last_of(snapshot);
    const struct in_place_wish *wish = &snapshot->in_place_wish;
    if (!cluster_in_place_is_over(last) || str_empty(wish->text))
        return false;
    if (!str_empty(wish->problem))
        snprintf(out, size, "correct annotation " ANNOTATION_RESTORE_IN_PLACE ", or take it away: %s", wish->problem);
    else if (last->phase == IN_PLACE_PHASE_FAILED && str_eq(wish->text, last->wish))
        snprintf(out, size,
            "take annotation " ANNOTATION_RESTORE_IN_PLACE
            " away; set it again once nothing speaks against the restore any more: %s: %s",
            str_empty(last->reason) ? in_place_phase_names[last->phase] : last->reason,
            str_empty(last->message) ? phase_message(last) : last->message);
    else
        return false;
    return true;
}
