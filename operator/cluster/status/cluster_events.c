/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_events.h"

#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/restore/cluster_restore.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/status/cluster_next_action.h"
#include "operator/cluster/status/condition_news.h"

struct bulletin {
    struct cluster_news *news;
    int count;
};

static void KM_PRINTF(4, 5)
    tell(struct bulletin *bulletin, enum event_type type, const char *reason, const char *fmt, ...)
{
    struct cluster_news *news = &bulletin->news[bulletin->count++];
    va_list ap;
    *news = (struct cluster_news){.type = type, .reason = reason};
    va_start(ap, fmt);
    vsnprintf(news->message, sizeof(news->message), fmt, ap);
    va_end(ap);
}

/* ---- members that get their data ---- */

static const struct cluster_instance *instance_named(const struct cluster_status *status, const char *name)
{
    for (int i = 0; i < status->instance_count; i++) {
        if (str_eq(status->instances[i].name, name))
            return &status->instances[i];
    }
    return NULL;
}

static bool gets_data(const struct cluster_instance *instance)
{
    return instance &&
        (instance->seed_step == AGENT_SEED_STEP_COPYING || instance->seed_step == AGENT_SEED_STEP_PREPARING ||
            instance->seed_step == AGENT_SEED_STEP_REPLAYING);
}

/* Not that its pod has gone meanwhile. */
static bool has_data(const struct cluster_instance *instance)
{
    return instance->seed_step == AGENT_SEED_STEP_DONE ||
        (instance->seed_step == AGENT_SEED_STEP_NONE &&
            (instance->phase == INSTANCE_PHASE_STARTING || instance->phase == INSTANCE_PHASE_RUNNING));
}

static void tell_of_seed(
    struct bulletin *bulletin, const struct cluster_instance *before, const struct cluster_instance *now)
{
    const char *donor = *now->seed_donor ? now->seed_donor : "the backup";
    bool other = before && !str_eq(before->seed_donor, now->seed_donor);
    if (now->seed_step == AGENT_SEED_STEP_COPYING && (!gets_data(before) || other)) {
        if (now->seed_total_bytes > 0)
            tell(bulletin, EVENT_NORMAL, "CopyStarted", "%s copies about %llu MiB from %s", now->name,
                (unsigned long long)(now->seed_total_bytes / KM_MIB), donor);
        else
            tell(bulletin, EVENT_NORMAL, "CopyStarted", "%s copies from %s", now->name, donor);
    } else if (gets_data(before) && has_data(now))
        tell(bulletin, EVENT_NORMAL, "CopyDone", "%s has its data, from %s", now->name,
            *before->seed_donor ? before->seed_donor : "the backup");
    else if (gets_data(before) && now->seed_step == AGENT_SEED_STEP_FAILED)
        tell(bulletin, EVENT_WARNING, "CopyFailed", "%s could not copy from %s; it is tried again: %s", now->name,
            *before->seed_donor ? before->seed_donor : "the backup", now->message);
}

static bool names_set(const struct cluster_instance *instance, const char *set)
{
    for (int i = 0; instance && i < AGENT_SET_ASIDES_MAX; i++) {
        if (str_eq(instance->set_aside.sets[i], set))
            return true;
    }
    return false;
}

static void tell_of_set_aside(
    struct bulletin *bulletin, const struct cluster_instance *before, const struct cluster_instance *now)
{
    for (int i = 0; i < AGENT_SET_ASIDES_MAX; i++) {
        const char *set = now->set_aside.sets[i];
        if (*set && !names_set(before, set))
            tell(bulletin, EVENT_WARNING, "TransactionsSetAside",
                "what %s had and the cluster may not have is kept on its volume, in .kube-mysql/set-aside/%s",
                now->name, set);
    }
}

int cluster_member_news(const struct cluster_status *before, const struct cluster_status *now, struct cluster_news *ret)
{
    struct bulletin bulletin = {.news = ret};
    for (int i = 0; i < now->instance_count; i++) {
        const struct cluster_instance *known = instance_named(before, now->instances[i].name);
        tell_of_set_aside(&bulletin, known, &now->instances[i]);
        tell_of_seed(&bulletin, known, &now->instances[i]);
    }
    return bulletin.count;
}

static void record_news(
    struct event_recorder *recorder, const struct event_target *target, const struct cluster_news *news, int count)
{
    for (int i = 0; i < count; i++)
        event_record(recorder, target, news[i].type, news[i].reason, "%s", news[i].message);
}

bool cluster_spec_news(const struct cluster_status *before, const struct cluster_status *now, struct cluster_news *ret)
{
    const struct kube_condition *was = kube_conditions_find(&before->conditions, CONDITION_ACCEPTED);
    const struct kube_condition *is = kube_conditions_find(&now->conditions, CONDITION_ACCEPTED);
    struct bulletin bulletin = {.news = ret};
    if (!kube_condition_stays(was, is)) /* that is news of the condition */
        return false;
    if (before->observed_generation == now->observed_generation)
        return false;
    tell(&bulletin, is->status == KUBE_CONDITION_FALSE ? EVENT_WARNING : EVENT_NORMAL, is->reason,
        "%s: generation %lld: %s", CONDITION_ACCEPTED, (long long)now->observed_generation, is->message);
    return true;
}

/* "root, shop (Secret shop-password)": those that became so; "" none. */
static void list_accounts(
    const struct cluster_accounts *before, const struct cluster_accounts *now, bool applied, struct strbuf *out)
{
    for (int i = 0; i < now->count; i++) {
        const struct cluster_account *account = &now->list[i];
        const struct cluster_account *known = cluster_accounts_find(before, account->name);
        bool is_news =
            account->applied == applied && known && (known->applied != applied || known->since_ms != account->since_ms);
        if (is_news)
            strbuf_addf(out, "%s%s (Secret %s)", out->len ? ", " : "", account->name, account->secret);
    }
}

int cluster_account_news(const struct cluster_status *before, const struct cluster_status *now,
    struct cluster_news ret[static CLUSTER_ACCOUNT_NEWS_MAX])
{
    struct bulletin bulletin = {.news = ret};
    _cleanup_(strbuf_release) struct strbuf changed, applied;
    strbuf_init(&changed, 4096);
    strbuf_init(&applied, 4096);
    list_accounts(&before->accounts, &now->accounts, false, &changed);
    list_accounts(&before->accounts, &now->accounts, true, &applied);
    if (changed.len)
        tell(&bulletin, EVENT_NORMAL, "PasswordChanged", "not in force yet, the servers are told: %s", changed.buf);
    if (applied.len)
        tell(&bulletin, EVENT_NORMAL, "PasswordApplied", "in force: %s", applied.buf);
    return bulletin.count;
}

static bool is_retained(const struct cluster_status *status, const char *claim)
{
    for (int i = 0; i < status->retained_volume_count; i++) {
        if (str_eq(status->retained_volumes[i], claim))
            return true;
    }
    return false;
}

bool cluster_claim_news(const struct cluster_status *before, const struct cluster_status *now, struct cluster_news *ret)
{
    struct bulletin bulletin = {.news = ret};
    _cleanup_(strbuf_release) struct strbuf claims;
    strbuf_init(&claims, (CLUSTER_REPLICAS_MAX + 1) * (DERIVED_NAME_SIZE + 1));
    for (int i = 0; i < now->retained_volume_count; i++) {
        if (!is_retained(before, now->retained_volumes[i]))
            strbuf_addf(&claims, " %s", now->retained_volumes[i]);
    }
    if (claims.len > 0)
        tell(&bulletin, EVENT_NORMAL, "ClaimsKept",
            "more members would take these volumes up again; to remove them, with what is on them: kubectl delete pvc%s",
            claims.buf);
    return claims.len > 0;
}

bool cluster_wait_news(const struct cluster_status *before, const struct cluster_status *now, struct cluster_news *ret)
{
    struct bulletin bulletin = {.news = ret};
    const struct cluster_commit_wait *was = &before->commit_wait, *is = &now->commit_wait;
    bool is_told = *was->member && was->finished_ms == 0;
    /* One that has begun since is told when it is over. */
    if (!is_told || (is->started_ms == was->started_ms && is->finished_ms == 0))
        return false;
    int64_t end_ms = is->started_ms == was->started_ms ? is->finished_ms : MAX_OF(is->started_ms, was->started_ms);
    tell(&bulletin, EVENT_NORMAL, "CommitsWaited", "commits on %s waited for %lld ms for acknowledgements", was->member,
        (long long)(end_ms - was->started_ms));
    return true;
}

static void record_accounts(struct event_recorder *recorder, const struct event_target *target,
    const struct cluster_status *before, const struct cluster_status *now)
{
    struct cluster_news news[CLUSTER_ACCOUNT_NEWS_MAX];
    record_news(recorder, target, news, cluster_account_news(before, now, news));
}

static void record_members(struct event_recorder *recorder, const struct event_target *target,
    const struct cluster_status *before, const struct cluster_status *now)
{
    struct cluster_news news[CLUSTER_MEMBER_NEWS_MAX];
    record_news(recorder, target, news, cluster_member_news(before, now, news));
}

/* Once for each wish: the status has told it since. */
static void record_wish(struct event_recorder *recorder, const struct event_target *target,
    const struct cluster_snapshot *snapshot, const struct cluster_status *now)
{
    char note[CLUSTER_UNKNOWN_SWITCHOVER_SIZE];
    if (cluster_unknown_switchover(snapshot, note, sizeof(note)) && strstr(now->next_action, note) &&
        !strstr(snapshot->last.next_action, note))
        event_record(recorder, target, EVENT_WARNING, "SwitchoverImpossible", "%s", note);
}

void cluster_events_record(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const struct cluster_status *status)
{
    const struct event_target target = {
        .resource = resource, .ns = snapshot->ns, .name = snapshot->name, .uid = snapshot->uid};
    for (int i = 0; i < status->conditions.count; i++) {
        const struct kube_condition *now = &status->conditions.items[i];
        enum condition_news news = condition_news_of(snapshot, now);
        if (news != CONDITION_NEWS_NONE)
            event_record(recorder, &target, news == CONDITION_NEWS_WARNING ? EVENT_WARNING : EVENT_NORMAL, now->reason,
                "%s: %s", now->type, now->message);
    }
    if (*status->mycnf_adjusted && !str_eq(status->mycnf_adjusted, snapshot->last.mycnf_adjusted))
        event_record(recorder, &target, EVENT_WARNING, "MycnfAdjusted", "the server changes values of my.cnf: %s",
            status->mycnf_adjusted);
    struct cluster_news spec;
    record_news(recorder, &target, &spec, cluster_spec_news(&snapshot->last, status, &spec));
    record_news(recorder, &target, &spec, cluster_claim_news(&snapshot->last, status, &spec));
    record_news(recorder, &target, &spec, cluster_wait_news(&snapshot->last, status, &spec));
    record_wish(recorder, &target, snapshot, status);
    record_accounts(recorder, &target, &snapshot->last, status);
    record_members(recorder, &target, &snapshot->last, status);
}

/* ---- failovers ---- */

static bool fails_over(const struct cluster_transition *transition)
{
    return cluster_transition_is_set(transition) && transition->failover;
}

/* The same loss as before, however far it has come. */
static bool goes_on(const struct cluster_transition *before, const struct cluster_transition *now)
{
    return fails_over(before) && str_eq(before->from, now->from) && before->reason == now->reason &&
        before->started_ms == now->started_ms;
}

static void tell_of_transition(struct bulletin *bulletin, const struct cluster_transition *before,
    const struct cluster_transition *now, const struct cluster_failover_spec *spec)
{
    static const struct cluster_transition none;
    char origin[DERIVED_NAME_SIZE];
    cluster_transition_origin(now, origin);
    if (!goes_on(before, now)) {
        before = &none;
        /* Of a second one it may be another member than the chosen one that is lost. */
        tell(bulletin, EVENT_WARNING, "FailoverStarted",
            str_eq(origin, now->from) ? "%s is lost (%s): %s; epoch %lld"
                                      : "%s was to be primary, and all are asked anew (%s): %s; epoch %lld",
            now->from, transition_reason_name(now->reason), now->evidence, (long long)now->epoch);
    }
    if (!str_empty(now->waits_for) && !str_eq(before->waits_for, now->waits_for))
        tell(bulletin, EVENT_WARNING, "FailoverWaits", "nobody takes over from %s yet (failover.dataLoss: %s): %s",
            origin, spec->allow_data_loss ? "allow" : "never", now->waits_for);
    if (!str_empty(now->to) && !str_eq(before->to, now->to) && str_eq(now->to, origin))
        tell(bulletin, EVENT_NORMAL, "FailoverChosen", "%s goes on itself: %s", now->to, now->candidate_why);
    else if (!str_empty(now->to) && !str_eq(before->to, now->to))
        tell(bulletin, EVENT_NORMAL, "FailoverChosen", "%s takes over from %s: %s", now->to, origin, now->candidate_why);
    if (!str_empty(now->may_be_lost) && !str_eq(before->may_be_lost, now->may_be_lost))
        tell(bulletin, EVENT_WARNING, "FailoverMayLoseData", "may be lost (failover.dataLoss: allow): %s",
            now->may_be_lost);
}

static void add_phase(char *text, size_t size, const char *name, int64_t ms)
{
    size_t len = strlen(text);
    if (ms >= 0)
        snprintf(text + len, size - len, "%s%s after %lld ms", len ? ", " : "", name, (long long)ms);
}

/* "" where that is not known. */
static void say_waited(char text[static 64], int64_t writes_blocked_ms)
{
    text[0] = '\0';
    if (writes_blocked_ms >= 0)
        snprintf(text, 64, "; no member took writes for %lld ms", (long long)writes_blocked_ms);
}

/* The lost one was back before another one was chosen, or has more than all others. */
static void tell_of_return(struct bulletin *bulletin, const struct cluster_failover *done)
{
    char waited[64];
    say_waited(waited, done->writes_blocked_ms);
    tell(bulletin, EVENT_NORMAL, "FailoverUndone", "%s is back and stays the primary%s%s", done->to, waited,
        *done->may_be_lost ? "; transactions may be lost" : "");
}

static void tell_of_end(struct bulletin *bulletin, const struct cluster_failover *done)
{
    char phases[256] = "", waited[64];
    say_waited(waited, done->writes_blocked_ms);
    add_phase(phases, sizeof(phases), "certain", done->detected_ms);
    add_phase(phases, sizeof(phases), "decided", done->decided_ms);
    add_phase(phases, sizeof(phases), "fenced", done->fenced_ms);
    add_phase(phases, sizeof(phases), "open", done->drained_ms);
    add_phase(phases, sizeof(phases), "in the Service", done->published_ms);
    tell(bulletin, EVENT_NORMAL, "FailoverDone", "%s is primary in place of %s%s%s%s%s%s%s", done->to, done->from,
        waited, *phases ? "; the loss was " : "", phases,
        *done->salvaged ? "; taken over from the binary logs of the lost one: " : "", done->salvaged,
        *done->may_be_lost ? "; transactions may be lost" : "");
}

int cluster_failover_news(const struct cluster_status *before, const struct cluster_status *now,
    const struct cluster_failover_spec *spec, struct cluster_news ret[static CLUSTER_NEWS_MAX])
{
    struct bulletin bulletin = {.news = ret};
    const struct cluster_failover *last = &before->roles.last_failover, *done = &now->roles.last_failover;
    bool ended = !str_empty(done->to) && (done->epoch != last->epoch || done->finished_ms != last->finished_ms);
    if (ended && str_eq(done->from, done->to))
        tell_of_return(&bulletin, done);
    else if (ended)
        tell_of_end(&bulletin, done);
    if (fails_over(&now->roles.transition))
        tell_of_transition(&bulletin, &before->roles.transition, &now->roles.transition, spec);
    return bulletin.count;
}

static void tell_of_failover(
    struct bulletin *bulletin, const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    struct cluster_status now = snapshot->last; /* borrows what it owns */
    struct cluster_intent roles = *intent;
    roles.restore_step = RESTORE_STEP_NONE;
    roles.in_place_step = IN_PLACE_STEP_NONE;
    cluster_intent_apply(snapshot, &roles, &now);
    bulletin->count +=
        cluster_failover_news(&snapshot->last, &now, &snapshot->cluster.failover, bulletin->news + bulletin->count);
}

/* ---- planned changes ---- */

static void tell_of_restore(
    struct bulletin *bulletin, const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_restore *last = &snapshot->last.restore;
    _cleanup_(strbuf_release) struct strbuf point;
    strbuf_init(&point, 512);
    switch (intent->restore_step) {
    case RESTORE_STEP_FOUND:
        cluster_restore_point_text(&snapshot->restore_answer->found, &point);
        tell(bulletin, EVENT_NORMAL, "RestoreStarted", "the cluster is made of backup %s (%s)%s",
            snapshot->restore_answer->found.backup, snapshot->restore_answer->found.location, point.buf);
        break;
    case RESTORE_STEP_COMPLETE:
        cluster_restore_point_text(last, &point);
        tell(bulletin, EVENT_NORMAL, "RestoreCompleted", "the cluster was made of backup %s%s", last->backup, point.buf);
        break;
    case RESTORE_STEP_EMPTY:
        tell(bulletin, EVENT_WARNING, "RestoreEmpty",
            "no backup is stored: the cluster begins with an empty database (orEmpty)");
        break;
    case RESTORE_STEP_SKIP:
        tell(bulletin, EVENT_NORMAL, "RestoreSkipped", "the volumes hold data, which is kept");
        break;
    default:
        break;
    }
}

static void tell_of_in_place(
    struct bulletin *bulletin, const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_in_place *last = &snapshot->last.in_place;
    _cleanup_(strbuf_release) struct strbuf point;
    strbuf_init(&point, 512);
    cluster_restore_point_text(&last->source, &point);
    switch (intent->in_place_step) {
    case IN_PLACE_STEP_RESTORE:
        tell(bulletin, EVENT_NORMAL, "RestoreInPlaceStarted",
            "nobody serves: %s makes a database of backup %s (%s) beside its data, which is kept",
            intent->roles.current_primary, snapshot->restore_answer->found.backup,
            snapshot->restore_answer->found.location);
        break;
    case IN_PLACE_STEP_TAKE:
        tell(bulletin, EVENT_NORMAL, "RestoreInPlaceTaken",
            "backup %s%s is restored: it becomes the data of %s, the others are seeded anew, epoch %lld",
            last->source.backup, point.buf, last->member, (long long)intent->roles.epoch);
        break;
    case IN_PLACE_STEP_COMPLETE:
        tell(bulletin, EVENT_NORMAL, "RestoreInPlaceCompleted",
            "all members have the data of backup %s%s; what was there before is removed", last->source.backup,
            point.buf);
        break;
    case IN_PLACE_STEP_FAIL:
    case IN_PLACE_STEP_REFUSE:
        tell(bulletin, EVENT_WARNING, "RestoreInPlaceFailed", "the cluster keeps the data that it has: %s: %s",
            intent->in_place_reason, intent->in_place_message);
        break;
    default:
        break;
    }
}

/* No database was ever made for this cluster. */
static bool takes_data_over(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_member *first = cluster_member_named(snapshot, intent->roles.current_primary);
    return !snapshot->last.roles.initialized && first && member_speaks(first) &&
        first->agent->data == AGENT_DATA_DATABASE;
}

static void tell_of_switchover(
    struct bulletin *bulletin, const struct cluster_snapshot *snapshot, const struct cluster_intent *intent)
{
    const struct cluster_transition *before = &snapshot->last.roles.transition, *now = &intent->roles.transition;
    bool was_set = cluster_transition_is_set(before), is_set = cluster_transition_is_set(now);
    char waited[64];
    say_waited(waited, intent->roles.last_switchover.writes_blocked_ms);
    if (!was_set && is_set)
        tell(bulletin, EVENT_NORMAL, "SwitchoverStarted", "the primary moves from %s to %s (%s), epoch %lld", now->from,
            now->to, transition_reason_name(now->reason), (long long)now->epoch);
    else if (was_set && !is_set && intent->roles.epoch == snapshot->last.roles.epoch)
        tell(bulletin, EVENT_NORMAL, "SwitchoverDone", "%s is primary in place of %s%s", before->to, before->from,
            waited);
    else if (was_set && !is_set)
        tell(bulletin, EVENT_WARNING, "SwitchoverUndone",
            "%s does not answer or has lost its data, and does not become primary; %s stays it, epoch %lld", before->to,
            intent->roles.current_primary, (long long)intent->roles.epoch);
    else if (!str_eq(intent->roles.current_primary, snapshot->last.roles.current_primary))
        tell(bulletin, EVENT_NORMAL, "PrimaryChosen", "%s is the first primary, epoch %lld%s",
            intent->roles.current_primary, (long long)intent->roles.epoch,
            takes_data_over(snapshot, intent)
                ? "; the data on its volume, of a cluster that had this name before, is taken over"
                : "");
}

static void tell_of_outage(
    struct bulletin *bulletin, const struct cluster_outage *before, const struct cluster_outage *now)
{
    char waited[64];
    if (str_empty(now->primary) || now->started_ms == before->started_ms)
        return;
    say_waited(waited, now->writes_blocked_ms);
    tell(bulletin, EVENT_WARNING, "OutageEnded",
        "%s takes writes again, and took none when this operator began to lead%s", now->primary, waited);
}

int cluster_intent_news(const struct cluster_snapshot *snapshot, const struct cluster_intent *intent,
    struct cluster_news ret[static CLUSTER_INTENT_NEWS_MAX])
{
    struct bulletin bulletin = {.news = ret};
    if (fails_over(&snapshot->last.roles.transition) || fails_over(&intent->roles.transition))
        tell_of_failover(&bulletin, snapshot, intent);
    else
        tell_of_switchover(&bulletin, snapshot, intent);
    tell_of_outage(&bulletin, &snapshot->last.roles.last_outage, &intent->roles.last_outage);
    tell_of_restore(&bulletin, snapshot, intent);
    tell_of_in_place(&bulletin, snapshot, intent);
    if (intent->roles.semi_sync != snapshot->last.roles.semi_sync)
        tell(&bulletin, EVENT_NORMAL, intent->roles.semi_sync ? "SemiSyncOn" : "SemiSyncOff", "%s",
            intent->roles.semi_sync ? "enough replicas have joined: from now on commits wait for acknowledgements"
                                    : "commits no longer wait for acknowledgements");
    return bulletin.count;
}

void cluster_events_tell(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const struct cluster_news *news, int count)
{
    const struct event_target target = {
        .resource = resource, .ns = snapshot->ns, .name = snapshot->name, .uid = snapshot->uid};
    record_news(recorder, &target, news, count);
}

void cluster_events_claims_kept(struct event_recorder *recorder, const struct event_target *target, const char *claims)
{
    event_record(recorder, target, EVENT_NORMAL, "ClaimsKept",
        "the cluster is deleted, its data is not: a new cluster of this name takes it over; to remove it: kubectl delete "
        "pvc %s",
        claims);
}

void cluster_events_pod_replaced(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const char *why)
{
    const struct event_target target = {
        .resource = resource, .ns = snapshot->ns, .name = snapshot->name, .uid = snapshot->uid, .is_logged = true};
    event_record(recorder, &target, EVENT_NORMAL, "PodReplaced", "%s", why); /* the plan's executor has logged it */
}

void cluster_events_route_cleared(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const char *cleared)
{
    const struct event_target target = {
        .resource = resource, .ns = snapshot->ns, .name = snapshot->name, .uid = snapshot->uid};
    event_record(recorder, &target, EVENT_WARNING, "RouteCleared",
        "Service %s is to lead to the primary alone; taken away from it: %s", snapshot->names.service_primary, cleared);
}

void cluster_events_server_tried(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const char *cut)
{
    const struct event_target target = {
        .resource = resource, .ns = snapshot->ns, .name = snapshot->name, .uid = snapshot->uid};
    event_record(recorder, &target, EVENT_NORMAL, "ServerTried",
        "the check pod has started a server as it is wanted, and had an answer from it%s%s", *cut ? "; with " : "", cut);
}

void cluster_events_template_changed(struct event_recorder *recorder, const struct kube_resource *resource,
    const struct cluster_snapshot *snapshot, const char *change)
{
    const struct event_target target = {
        .resource = resource, .ns = snapshot->ns, .name = snapshot->name, .uid = snapshot->uid};
    event_record(recorder, &target, EVENT_NORMAL, "TemplateChanged", "the pods are replaced one by one: %s", change);
}
