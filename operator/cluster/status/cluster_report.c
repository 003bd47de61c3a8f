/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_report.h"

#include "common/json.h"
#include "common/json_fields.h"
#include "operator/api/archive_status.h"
#include "operator/api/condition_reason.h"
#include "operator/api/drill_status.h"
#include "operator/cluster/deletion/final_backup.h"
#include "operator/cluster/desired/cluster_volumes.h"
#include "operator/cluster/restore/cluster_in_place.h"
#include "operator/cluster/restore/cluster_restore.h"
#include "operator/cluster/rollout/cluster_gate.h"
#include "operator/cluster/rollout/roll_target.h"
#include "operator/cluster/state/copy_close.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/status/cluster_next_action.h"
#include "operator/cluster/status/cluster_report_accounts.h"
#include "operator/cluster/status/cluster_report_left.h"
#include "operator/cluster/status/cluster_report_parts.h"
#include "operator/cluster/status/cluster_report_ready.h"
#include "operator/cluster/status/cluster_report_refused.h"
#include "operator/cluster/status/cluster_report_roles.h"
#include "operator/cluster/status/cluster_report_rolled.h"
#include "operator/cluster/status/cluster_report_room.h"
#include "operator/cluster/status/cluster_report_waits.h"
#include "operator/cluster/status/cluster_state.h"
#include "operator/cluster/status/cluster_trouble.h"
#include "operator/cluster/status/first_start.h"

/* Renewal begins when a third of a leaf's life is left, so this little is left only if it failed for months. */
#define CERTIFICATE_WARNING_MS (14LL * 24 * 60 * 60 * 1000)

/* Judged by the snapshot after the plan: what was just applied counts. */
static bool children_are_as_wanted(const struct cluster_snapshot *snapshot, const struct cluster_decision *decision)
{
    for (int child = 0; child < CHILD_COUNT; child++) {
        if (!cluster_child_is_as_wanted(snapshot, decision, (enum cluster_child)child))
            return false;
    }
    return true;
}

/* ---- instances ---- */

static enum instance_phase phase_by_agent(enum agent_phase phase)
{
    static const enum instance_phase phases[AGENT_PHASE_COUNT] = {
        [AGENT_PHASE_UNKNOWN] = INSTANCE_PHASE_UNKNOWN,
        [AGENT_PHASE_STARTING] = INSTANCE_PHASE_STARTING,
        [AGENT_PHASE_RUNNING] = INSTANCE_PHASE_RUNNING,
        [AGENT_PHASE_HUNG] = INSTANCE_PHASE_HUNG,
        [AGENT_PHASE_DOWN] = INSTANCE_PHASE_DOWN,
        [AGENT_PHASE_SEEDING] = INSTANCE_PHASE_SEEDING,
    };
    return phases[phase];
}

static enum instance_phase instance_phase(const struct cluster_member *member)
{
    const struct pod_object *pod = member->pod;
    if (!pod)
        return INSTANCE_PHASE_PENDING;
    if (pod->object.deleting)
        return INSTANCE_PHASE_TERMINATING;
    if (pod->phase == POD_PHASE_FAILED)
        return INSTANCE_PHASE_FAILED;
    if (!pod->initialized && !member_is_seeding(member))
        return pod->scheduled ? INSTANCE_PHASE_INITIALIZING : INSTANCE_PHASE_PENDING;
    if (member->agent && member->agent_connected && member->agent->phase != AGENT_PHASE_UNKNOWN)
        return phase_by_agent(member->agent->phase);
    return pod->ready ? INSTANCE_PHASE_RUNNING : INSTANCE_PHASE_STARTING;
}

/* After a restart of ours the streams to the agents take a moment: until a member has spoken, what was known of it
 * stays. */
static void carry_over(const struct cluster_snapshot *snapshot, struct cluster_instance *instance)
{
    for (int i = 0; i < snapshot->last.instance_count; i++) {
        const struct cluster_instance *last = &snapshot->last.instances[i];
        if (!str_eq(last->name, instance->name) || !last->ready)
            continue;
        memcpy(instance->flavour, last->flavour, sizeof(instance->flavour));
        memcpy(instance->version, last->version, sizeof(instance->version));
        memcpy(instance->message, last->message, sizeof(instance->message));
        memcpy(instance->role, last->role, sizeof(instance->role));
        memcpy(instance->errant, last->errant, sizeof(instance->errant));
        memcpy(instance->problem, last->problem, sizeof(instance->problem));
        instance->lag_known = last->lag_known;
        instance->lag_ms = last->lag_ms;
    }
}

static void report_instance(struct report *report, const struct cluster_member *member)
{
    struct cluster_instance *instance = cluster_status_add_instance(report->status, member->name, member->ordinal);
    if (!instance)
        return;
    instance->phase = instance_phase(member);
    instance->ready = cluster_member_is_ready(member);
    report_instance_message(member, instance->message, sizeof(instance->message));
    if (member->pod)
        snprintf(instance->node, sizeof(instance->node), "%s", member->pod->node_name);
    if (member->agent) {
        snprintf(instance->flavour, sizeof(instance->flavour), "%s", agent_flavour_name(member->agent->flavour));
        snprintf(instance->version, sizeof(instance->version), "%s", member->agent->version);
    } else if (instance->ready)
        carry_over(report->snapshot, instance);
    cluster_report_replication(report->snapshot, member, instance);
}

static void report_instances(struct report *report)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!report_wants(report, member) && !member->pod)
            continue;
        report_instance(report, member);
        report->ready += report_wants(report, member) && cluster_member_is_ready(member);
        report->status->updated_replicas += report_wants(report, member) &&
            member_has_newest_template(snapshot, member) && member_has_wanted_mycnf(snapshot, member);
    }
    report->status->ready_replicas = report->ready;
}

static void report_volumes(struct report *report)
{
    for (int i = 0; i < report->snapshot->member_count; i++) {
        const struct pvc_object *claim = report->snapshot->members[i].claim;
        if (claim)
            snprintf(report->status->volumes[report->status->volume_count++], DERIVED_NAME_SIZE, "%s", claim->name);
    }
}

/* The check pod goes, its words stay: as long as what it tried is in force, or what was before. */
static void report_adjusted(struct report *report)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    const struct stateful_set_object *set = snapshot->stateful_set;
    char runtime[17], said[sizeof(snapshot->last.mycnf_adjusted)];
    const char *words = snapshot->last.mycnf_adjusted;
    if (snapshot->usable) {
        desired_runtime_hash(snapshot, runtime);
        bool in_force = set && str_eq(set->applied_hash, runtime);
        if (in_force && cluster_check_words(snapshot, said, sizeof(said)))
            words = said;
        else if (report->decision->gate == GATE_OPEN && !in_force)
            words = "";
    }
    report_put_text(report->status->mycnf_adjusted, sizeof(report->status->mycnf_adjusted), "%s", words);
}

/* ---- conditions ---- */

static void KM_PRINTF(5, 6)
    set(struct report *report, const char *type, bool yes, const char *reason, const char *fmt, ...)
{
    char message[CLUSTER_MESSAGE_MAX]; /* kube_conditions_set cuts it with dots */
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    kube_conditions_set(&report->status->conditions, type, yes ? KUBE_CONDITION_TRUE : KUBE_CONDITION_FALSE, reason,
        report->snapshot->generation, report->snapshot->now_ms, "%s", message);
}

static const char *user_password_problem(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    const struct mysql_cluster *cluster = &snapshot->cluster;
    switch (snapshot->secrets.user_password) {
    case USER_PASSWORD_SECRET_MISSING:
        snprintf(out, size, "spec.passwordSecret.name: Secret %s does not exist in namespace %s",
            cluster->password_secret_name, snapshot->ns);
        return out;
    case USER_PASSWORD_KEY_MISSING:
        snprintf(out, size, "spec.passwordSecret.key: Secret %s has no key %s; %s%s", cluster->password_secret_name,
            cluster->password_secret_key, *snapshot->secrets.user_keys ? "it has " : "it is empty",
            snapshot->secrets.user_keys);
        return out;
    case USER_PASSWORD_EMPTY:
        snprintf(out, size, "spec.passwordSecret: key %s of Secret %s is empty", cluster->password_secret_key,
            cluster->password_secret_name);
        return out;
    case USER_PASSWORD_NONE:
    case USER_PASSWORD_OK:
        break;
    }
    return NULL;
}

/* No member runs, and what all of them ran last, together, was something else, or is not known. */
static bool is_asleep_and_untried(const struct cluster_snapshot *snapshot)
{
    return snapshot->usable && snapshot->scale.effective == 0 &&
        !str_eq(snapshot->last.roll.proven, snapshot->roll_wanted);
}

static void set_accepted(struct report *report)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    const struct cluster_decision *decision = report->decision;
    char text[CLUSTER_MESSAGE_MAX];
    struct first_start first;
    enum condition_reason refusal = report_refusal(report, text, sizeof(text));
    if (!str_empty(snapshot->reason))
        set(report, CONDITION_ACCEPTED, false, snapshot->reason, "%s", snapshot->message);
    else if (decision->gate_reason != REASON_OTHER)
        set(report, CONDITION_ACCEPTED, false, reason_name(decision->gate_reason), "%s", decision->gate_message);
    else if (refusal != REASON_OTHER)
        set(report, CONDITION_ACCEPTED, false, reason_name(refusal), "%s", text);
    else if (user_password_problem(snapshot, text, sizeof(text)))
        set(report, CONDITION_ACCEPTED, false, reason_name(REASON_SECRET_MISSING), "%s", text);
    else if (first_start_fails(snapshot, &first))
        set(report, CONDITION_ACCEPTED, false, reason_name(first.reason), "%s", first.message);
    else if (!str_empty(report_backup_problem(snapshot)))
        set(report, CONDITION_ACCEPTED, false, "InvalidBackup", "%s", report_backup_problem(snapshot));
    else if (report->status->roll.phase == ROLL_PHASE_ROLLED_BACK)
        set(report, CONDITION_ACCEPTED, true, "Accepted", "the spec is good; it is not in force, RolledBack says why");
    else if (decision->gate == GATE_CHECKING)
        set(report, CONDITION_ACCEPTED, true, "Accepted", "the spec is good; the check pod tries it");
    else if (report_growth_is_refused(report))
        set(report, CONDITION_ACCEPTED, true, "Accepted",
            "the spec is good; not all of it is in force, StorageResized says why");
    else if (report_is_refused(report))
        set(report, CONDITION_ACCEPTED, true, "Accepted",
            "the spec is good; not all of it is in force, Progressing says why");
    else if (decision->set_waits)
        set(report, CONDITION_ACCEPTED, true, "Accepted", "the spec is good; the API server is asked about its pods");
    else if (is_asleep_and_untried(snapshot))
        set(report, CONDITION_ACCEPTED, true, "Accepted",
            "the spec is good; its image and my.cnf are tried when members start");
    else
        set(report, CONDITION_ACCEPTED, true, "Accepted", "the spec is in force%s%s",
            *report->status->mycnf_adjusted ? "; the server changes values of my.cnf: " : "",
            report->status->mycnf_adjusted);
}

static const struct cluster_member *find_leaving(const struct report *report)
{
    for (int i = 0; i < report->snapshot->member_count; i++)
        if (!report_wants(report, &report->snapshot->members[i]) && report->snapshot->members[i].pod)
            return &report->snapshot->members[i];
    return NULL;
}

/* The worst of those that come by themselves: another one may be stuck. */
static const struct cluster_member *find_starting(const struct report *report)
{
    const struct cluster_member *worst = cluster_worst_member(report->snapshot, report->wanted);
    bool none_is_made = cluster_refused_member(report->snapshot) != NULL;
    if (worst && !member_is_stuck(worst))
        return worst;
    for (int i = 0; i < report->snapshot->member_count; i++) {
        const struct cluster_member *member = &report->snapshot->members[i];
        if (report_wants(report, member) && member_trouble_rank(member) != TROUBLE_NONE && !member_is_stuck(member) &&
            (member->pod || !none_is_made))
            return member;
    }
    return NULL;
}

static void set_progressing(struct report *report)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    const struct cluster_decision *decision = report->decision;
    const struct cluster_member *starting = find_starting(report);
    const struct cluster_member *leaving = find_leaving(report), *unmade = cluster_refused_member(snapshot);
    bool refused = report_growth_is_refused(report);
    char text[256] = "";
    if (snapshot->cluster.paused)
        set(report, CONDITION_PROGRESSING, false, "Paused", "spec.paused is true");
    else if (!snapshot->usable)
        set(report, CONDITION_PROGRESSING, false, reason_name(REASON_NOT_ACCEPTED),
            "nothing is changed until the spec is accepted");
    else if (report->outcome->error && !refused)
        set(report, CONDITION_PROGRESSING, true, reason_name(REASON_RETRYING), "%s", report->outcome->error->message);
    else if (decision->gate == GATE_CHECKING)
        set(report, CONDITION_PROGRESSING, true, "Checking", "%s%s",
            str_empty(decision->gate_message) ? "a check pod tries the new image and my.cnf" : decision->gate_message,
            cluster_roll_stops_commits(snapshot) ? "; " CLUSTER_ROLL_STOPS_COMMITS : "");
    else if (decision->gate == GATE_OPEN &&
        (decision->rolling || decision->taking_up || !report->complete || report_set_is_unobserved(snapshot)))
        set(report, CONDITION_PROGRESSING, true, decision->rolling ? "Rolling" : reason_name(REASON_APPLYING), "%s",
            str_empty(decision->next_action) ? "objects are being brought up to date" : decision->next_action);
    else if (cluster_data_is_lost(report->snapshot))
        set(report, CONDITION_PROGRESSING, false, reason_name(REASON_DATA_LOST), REPORT_DATA_LOST);
    else if (starting)
        set(report, CONDITION_PROGRESSING, true, reason_name(REASON_STARTING), "%s is starting", starting->name);
    else if (leaving)
        set(report, CONDITION_PROGRESSING, true, "ScalingIn", "%s is leaving", leaving->name);
    else if (!refused && cluster_volumes_growing(snapshot, text, sizeof(text)))
        set(report, CONDITION_PROGRESSING, true, "GrowingVolumes", "%s", text);
    else if (unmade)
        set(report, CONDITION_PROGRESSING, false, reason_name(REASON_POD_REFUSED), "%s is not made; Healthy says why",
            unmade->name);
    else
        set(report, CONDITION_PROGRESSING, false, reason_name(REASON_SETTLED), "nothing is being changed");
}

/* What holds up the first one is told, too. */
static void set_no_primary(struct report *report)
{
    const struct cluster_member *worst = cluster_worst_member(report->snapshot, report->wanted);
    char message[REPORT_MESSAGE_SIZE] = "";
    if (worst && member_is_stuck(worst))
        report_instance_message(worst, message, sizeof(message));
    set(report, CONDITION_AVAILABLE, false, reason_name(REASON_NO_PRIMARY), "no member is primary yet%s%s%s%s",
        *message ? "; " : "", *message ? worst->name : "", *message ? ": " : "", message);
}

static void set_available(struct report *report)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    const struct cluster_member *primary = cluster_primary(snapshot);
    char message[REPORT_MESSAGE_SIZE] = "";
    if (report->wanted == 0 && snapshot->usable)
        set(report, CONDITION_AVAILABLE, false, reason_name(REASON_HIBERNATED), "spec.replicas is 0; the data is kept");
    else if (primary && cluster_member_is_ready(primary))
        set(report, CONDITION_AVAILABLE, true, "PrimaryReady", "%s serves%s", primary->name,
            member_is_closed_for_room(snapshot, primary) ? " reads; VolumeFull says why it takes no writes"
                : copy_close_is_under_way(snapshot)      ? " reads; WritesBlocked says why it takes no writes"
                                                         : "");
    else if (primary) {
        report_instance_message(primary, message, sizeof(message));
        set(report, CONDITION_AVAILABLE, false, reason_name(REASON_PRIMARY_NOT_READY), "%s is not ready%s%s",
            primary->name, *message ? ": " : "", message);
    } else
        set_no_primary(report);
}

static bool find_carried_problem(const struct report *report)
{
    for (int i = 0; i < report->status->instance_count; i++) {
        const struct cluster_instance *instance = &report->status->instances[i];
        const struct cluster_member *member = cluster_member_named(report->snapshot, instance->name);
        unsigned kind = json_name_index(agent_problem_names, AGENT_PROBLEM_KIND_COUNT, instance->problem);
        if (instance->ready && !str_empty(instance->message) &&
            !(member && report_problem_is_over(report, member, (enum agent_problem_kind)kind)))
            return true;
    }
    return false;
}

static void set_healthy(struct report *report)
{
    const struct cluster_member *unready = cluster_worst_member(report->snapshot, report->wanted);
    const struct agent_problem *problem = NULL, *lock = NULL, *origin = NULL;
    const struct cluster_member *locked = report_find_locked(report, &lock);
    const struct cluster_member *cause = report_find_cause(report, &origin);
    const struct cluster_member *ailing = report_find_ailing(report, &problem);
    const struct cluster_member *primary = cluster_primary(report->snapshot);
    char message[REPORT_MESSAGE_SIZE] = "";
    if (!report->snapshot->usable && report->wanted == 0)
        set(report, CONDITION_HEALTHY, false, reason_name(REASON_NOT_ACCEPTED),
            "there is nothing until the spec is accepted");
    else if (unready && locked)
        set(report, CONDITION_HEALTHY, false, lock->reason, "%d of %d members are ready; %s: %s", report->ready,
            report->wanted, locked->name, lock->message);
    else if (cause)
        set(report, CONDITION_HEALTHY, false, origin->reason, "%d of %d members are ready; %s: %s", report->ready,
            report->wanted, cause->name, origin->message);
    else if (unready) {
        report_instance_message(unready, message, sizeof(message));
        const char *reason = member_trouble_reason(unready);
        set(report, CONDITION_HEALTHY, false, reason ? reason : reason_name(REASON_MEMBER_NOT_READY),
            "%d of %d members are ready; %s%s%s", report->ready, report->wanted, unready->name,
            *message ? ": " : " is not", message);
    } else if (primary && member_commits_wait(primary))
        set(report, CONDITION_HEALTHY, false, "WritesBlocked", "commits on %s wait for acknowledgements", primary->name);
    else if (ailing)
        set(report, CONDITION_HEALTHY, false, problem->reason, "%s: %s", ailing->name, problem->message);
    else if (find_carried_problem(report))
        return; /* the condition stays until the member has spoken */
    else if (report->wanted > 0 && !primary)
        set(report, CONDITION_HEALTHY, false, reason_name(REASON_NO_PRIMARY), "no member is primary yet");
    else
        set(report, CONDITION_HEALTHY, true, "AllReady", "%d of %d members are ready", report->ready, report->wanted);
}

static void set_child_conflict(struct report *report)
{
    char text[CLUSTER_MESSAGE_MAX];
    if (report_conflict(report, text, sizeof(text)))
        set(report, CONDITION_CHILD_CONFLICT, true, reason_name(REASON_FOREIGN_OBJECT), "%s", text);
    else
        kube_conditions_remove(&report->status->conditions, CONDITION_CHILD_CONFLICT);
}

/* It is what every reader of the Secret sees, so it is used as it is: who types it does not get in. */
static void set_password_suspect(struct report *report)
{
    const struct mysql_cluster *cluster = &report->snapshot->cluster;
    static const char text[] = "the password ends with a newline, which is part of it: who leaves it out is refused. "
                               "If that is not meant, write it without (printf instead of echo)";
    if (!report->snapshot->secrets.password_ends_line)
        kube_conditions_remove(&report->status->conditions, CONDITION_PASSWORD_SUSPECT);
    else if (cluster->password_secret_name)
        set(report, CONDITION_PASSWORD_SUSPECT, true, "EndsWithNewline", "spec.passwordSecret: key %s of Secret %s: %s",
            cluster->password_secret_key, cluster->password_secret_name, text);
    else
        set(report, CONDITION_PASSWORD_SUSPECT, true, "EndsWithNewline", "spec.password: %s", text);
}

static void set_storage_resized(struct report *report)
{
    const struct cluster_outcome *outcome = report->outcome;
    char text[256];
    if (report_is_of_claims(outcome))
        set(report, CONDITION_STORAGE_RESIZED, false,
            reason_name(report_growth_is_refused(report) ? REASON_REFUSED : REASON_RETRYING),
            CLUSTER_STORAGE_SIZE_FIELD ": %s", outcome->error->message);
    else if (cluster_volumes_growing(report->snapshot, text, sizeof(text)))
        set(report, CONDITION_STORAGE_RESIZED, false, reason_name(REASON_GROWING), "%s", text);
    else
        kube_conditions_remove(&report->status->conditions, CONDITION_STORAGE_RESIZED);
}

static void set_certificate_expiring(struct report *report)
{
    int64_t end_ms = cluster_snapshot_certificate_end_ms(report->snapshot);
    char when[CLOCK_RFC3339_SIZE];
    if (end_ms == 0 || end_ms - report->snapshot->now_ms >= CERTIFICATE_WARNING_MS) {
        kube_conditions_remove(&report->status->conditions, CONDITION_CERTIFICATE_EXPIRING);
        return;
    }
    clock_format_rfc3339(end_ms, when);
    set(report, CONDITION_CERTIFICATE_EXPIRING, true, end_ms < report->snapshot->now_ms ? "Expired" : "RenewalFailing",
        "a certificate of the agents ends at %s and should have been renewed long before%s%s", when,
        report->outcome->error ? ": " : "", report->outcome->error ? report->outcome->error->message : "");
}

/* Which the controller of archives finds out: here it becomes a condition. */
static void set_binlogs_archived(struct report *report)
{
    const struct cluster_status *last = &report->snapshot->last;
    bool is_wished = json_path_bool(report->snapshot->cluster.document, "backup.binlogs.enabled", false);
    if (str_empty(last->archive.reason) || !is_wished)
        kube_conditions_remove(&report->status->conditions, CONDITION_BINLOGS_ARCHIVED);
    else
        kube_conditions_set(&report->status->conditions, CONDITION_BINLOGS_ARCHIVED,
            archive_reason_status(archive_reason_of(last->archive.reason)), last->archive.reason,
            report->snapshot->generation, report->snapshot->now_ms, "%s", last->archive.message);
}

/* Likewise the controller of drills. */
static void set_restore_verified(struct report *report)
{
    const struct cluster_status *last = &report->snapshot->last;
    bool is_wished = json_path(report->snapshot->cluster.document, "backup.drill") != NULL;
    if (str_empty(last->drill.reason) || !is_wished)
        kube_conditions_remove(&report->status->conditions, CONDITION_RESTORE_VERIFIED);
    else
        kube_conditions_set(&report->status->conditions, CONDITION_RESTORE_VERIFIED,
            drill_reason_status(drill_reason_of(last->drill.reason)), last->drill.reason, report->snapshot->generation,
            report->snapshot->now_ms, "%s", last->drill.message);
}

/* ---- the rest ---- */

static void report_names(struct report *report)
{
    const struct cluster_names *names = &report->snapshot->names;
    struct cluster_status *status = report->status;
    snprintf(status->stateful_set, sizeof(status->stateful_set), "%s", names->stateful_set);
    snprintf(status->service, sizeof(status->service), "%s", names->service);
    snprintf(status->service_primary, sizeof(status->service_primary), "%s", names->service_primary);
    snprintf(status->service_replicas, sizeof(status->service_replicas), "%s", names->service_replicas);
    struct strbuf selector;
    strbuf_init(&selector, sizeof(status->selector) - 1);
    cluster_selector_text(report->snapshot->name, &selector);
    snprintf(status->selector, sizeof(status->selector), "%s", selector.buf);
    strbuf_release(&selector);
}

static void report_binding(struct report *report)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    const char *found = snapshot->binding.has_secret ? snapshot->names.app : "";
    snprintf(report->status->binding, sizeof(report->status->binding), "%s",
        snapshot->binding.known ? found : snapshot->last.binding);
}

/* The merged configuration and the storage in force; those of a spec that is not accepted are not shown. Terminals and
 * the pods of backups take their images from there: one that is still tried, or that only some members have, is not
 * theirs yet. Claims have no part in what members run. */
static void report_spec(struct report *report)
{
    const struct cluster_snapshot *snapshot = report->snapshot;
    const struct cluster_decision *decision = report->decision;
    struct cluster_status *status = report->status;
    const struct cluster_status *last = &snapshot->last;
    if (!snapshot->usable) {
        status->config_spec = json_incref(last->config_spec);
        status->accepted_spec = json_incref(last->accepted_spec);
        status->storage = json_incref(last->storage);
        status->storage_volume_source = json_incref(last->storage_volume_source);
        status->applied_generation = last->applied_generation;
        status->port = last->port;
        return;
    }
    status->port = snapshot->cluster.paused && last->port ? last->port : snapshot->cluster.port;
    bool is_running = !snapshot->before && decision->gate == GATE_OPEN && !decision->rolling && report->complete &&
        (!report->outcome->error || report_is_of_claims(report->outcome));
    status->config_spec = json_incref(is_running || !last->config_spec ? snapshot->config.document : last->config_spec);
    status->accepted_spec = snapshot->cluster.paused && last->accepted_spec
        ? mysql_cluster_roles_while_paused(&snapshot->cluster, snapshot->scale.effective, last->accepted_spec)
        : mysql_cluster_roles_of(&snapshot->cluster, snapshot->scale.effective);
    status->storage = json_incref(json_object_get(snapshot->cluster.document, "storage"));
    if (snapshot->cluster.storage.volume_source)
        status->storage_volume_source = json_deep_copy(snapshot->cluster.storage.volume_source);
    bool in_force = !snapshot->before && str_empty(snapshot->reason) && report->decision->gate == GATE_OPEN &&
        report->complete && !report->outcome->error;
    status->applied_generation = in_force ? snapshot->generation : last->applied_generation;
    if (snapshot->before && status->applied_generation == snapshot->generation)
        status->applied_generation = 0; /* it was, until it went back */
}

static void report_applied_hash(struct report *report)
{
    if (report->complete)
        cluster_applied_hash(report->snapshot, report->decision->desired, report->status->applied_hash);
}

void cluster_report(const struct cluster_snapshot *snapshot, const struct cluster_decision *decision,
    const struct cluster_outcome *outcome, struct cluster_status *ret)
{
    *ret = (struct cluster_status){.observed_generation = snapshot->generation,
        .history = snapshot->last.history,
        .conditions = snapshot->last.conditions};
    struct report report = {snapshot, decision, outcome, ret, .wanted = snapshot->scale.effective,
        .complete = children_are_as_wanted(snapshot, decision)};
    ret->replicas = snapshot->stateful_set ? snapshot->stateful_set->status_replicas : 0;
    report_put_text(ret->next_action, sizeof(ret->next_action), "%s", decision->next_action);
    report_names(&report);
    report_binding(&report);
    cluster_report_accounts(snapshot, &ret->accounts);
    report_spec(&report);
    report_instances(&report);
    report_volumes(&report);
    report_applied_hash(&report);
    report_adjusted(&report);
    report_put_text(
        ret->operator_version, sizeof(ret->operator_version), "%s", str_or_empty(snapshot->operator_version));
    snprintf(ret->data_version, sizeof(ret->data_version), "%s", cluster_data_version(snapshot));
    cluster_report_roles(snapshot, decision->primary_obeys, ret);
    restore_report(snapshot, ret);
    in_place_report(snapshot, ret);
    final_backup_report(snapshot, ret);
    roll_record(snapshot, decision, &ret->roll);
    cluster_next_action(&report);
    set_accepted(&report);
    set_progressing(&report);
    set_available(&report);
    set_healthy(&report);
    cluster_report_replication_conditions(snapshot, ret);
    cluster_report_room(snapshot, ret);
    cluster_report_left(snapshot, ret);
    cluster_report_waits(snapshot, &ret->commit_wait);
    cluster_report_rolled(snapshot, ret);
    set_child_conflict(&report);
    set_password_suspect(&report);
    set_storage_resized(&report);
    set_certificate_expiring(&report);
    set_binlogs_archived(&report);
    set_restore_verified(&report);
    cluster_report_ready(snapshot, decision, ret);
    cluster_report_degraded(snapshot, ret);
}
