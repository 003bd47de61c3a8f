/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/rollout/cluster_gate.h"

#include "common/agent_api.h"
#include "operator/api/condition_reason.h"
#include "operator/api/pod_answer.h"
#include "operator/api/pod_reason.h"
#include "operator/cluster/rollout/roll_target.h"
#include "operator/cluster/state/config_field.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/mycnf_blame.h"

#define PLACE_PREFIX "podTemplate: no node takes the check pod, which is placed as a member's pod is: "

static void KM_PRINTF(3, 4) say(struct cluster_decision *decision, enum condition_reason reason, const char *fmt, ...)
{
    va_list ap;
    decision->gate_reason = reason;
    va_start(ap, fmt);
    vsnprintf(decision->gate_message, sizeof(decision->gate_message), fmt, ap);
    va_end(ap);
}

static void refuse(
    struct cluster_decision *decision, enum condition_reason reason, const char *prefix, const char *message)
{
    decision->gate = GATE_REFUSED;
    say(decision, reason, "%s%s; running members are left as they are", prefix, message);
}

/* ---- the check pod ---- */

/* It failed by its own verdict, rather than by what happened to it. */
static bool has_spoken(const struct pod_object *pod)
{
    return pod->phase == POD_PHASE_FAILED && str_eq(pod->problem_container, CONTAINER_CHECK);
}

/* Nobody says anything of it: which of its times is next. */
static bool is_older_than(const struct cluster_snapshot *snapshot, int64_t limit_ms, struct cluster_decision *decision)
{
    int64_t since_ms = snapshot->check_pod->created_ms;
    int64_t rest_ms = since_ms > 0 ? since_ms + limit_ms - snapshot->now_ms : 0;
    if (rest_ms > limit_ms) /* another clock is ahead of ours */
        rest_ms = limit_ms;
    if (rest_ms > 0)
        decision->gate_again_ms = rest_ms;
    return rest_ms <= 0;
}

/* Its scheduler and its kubelet try again by themselves: what they say then is the next event. */
static void judge_pending(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const struct pod_object *pod = snapshot->check_pod;
    bool is_told = !pod->scheduled && pod_reason_is_placement(pod->problem_reason);
    if (is_told && is_older_than(snapshot, CHECK_PLACE_MS, decision))
        refuse(decision, REASON_UNSCHEDULABLE, PLACE_PREFIX, pod->problem_message);
    else if (!is_told && !pod->scheduled && is_older_than(snapshot, CHECK_START_MS, decision))
        refuse(decision, REASON_UNSCHEDULABLE, PLACE_PREFIX, "no scheduler has said anything of it for a minute");
    else if (pod->scheduled && is_older_than(snapshot, CHECK_START_MS, decision))
        say(decision, REASON_OTHER,
            "the check pod has been on %s for a minute and does not start: kubectl describe pod %s says why, a ConfigMap or "
            "Secret of podTemplate that is not there, or an image that comes slowly",
            pod->node_name, pod->name);
}

/* The agent's image comes with the operator, where the configuration names none. */
static void refuse_image(
    const struct cluster_snapshot *snapshot, const struct pod_object *pod, struct cluster_decision *decision)
{
    char field[CONFIG_FIELD_SIZE] = "--agent-image of the operator", prefix[CONFIG_FIELD_SIZE + 2];
    bool is_agent = str_eq(pod->problem_container, CONTAINER_INJECT);
    if (!is_agent || snapshot->config.image_agent)
        config_field_name(&snapshot->cluster, is_agent ? "images.agent" : "images.mysql", field, sizeof(field));
    snprintf(prefix, sizeof(prefix), "%s: ", field);
    refuse(decision, REASON_IMAGE_PULL_FAILED, prefix,
        str_empty(pod->problem_message) ? pod->problem_reason : pod->problem_message);
}

static void refuse_memory(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    char text[CONFIG_FIELD_SIZE + 256];
    config_memory_too_small(&snapshot->cluster, &snapshot->config, text, sizeof(text));
    refuse(decision, REASON_MYCNF_REJECTED, "", text);
}

static void refuse_mycnf(const struct cluster_snapshot *snapshot, const char *words, struct cluster_decision *decision)
{
    char options[MYCNF_BLAME_SIZE], prefix[MYCNF_BLAME_SIZE + 2];
    mycnf_blame_or_all(snapshot, words, options, sizeof(options));
    snprintf(prefix, sizeof(prefix), "%s: ", options);
    refuse(decision, REASON_MYCNF_REJECTED, prefix, str_empty(words) ? "the server does not start with it" : words);
}

/* One that was ended for want of memory says nothing. */
static void judge_words(
    const struct cluster_snapshot *snapshot, const struct pod_object *pod, struct cluster_decision *decision)
{
    const char *words;
    char field[CONFIG_FIELD_SIZE], prefix[CONFIG_FIELD_SIZE + 2];
    switch (agent_check_fault_of(pod->problem_message, &words)) {
    case AGENT_CHECK_FAULT_IMAGE:
        config_field_name(&snapshot->cluster, AGENT_CHECK_IMAGE, field, sizeof(field));
        snprintf(prefix, sizeof(prefix), "%s: ", field);
        refuse(decision, REASON_IMAGE_REJECTED, prefix, words);
        break;
    case AGENT_CHECK_FAULT_START:
        refuse(decision, REASON_SERVER_NOT_STARTED, "the check pod: ", words);
        break;
    case AGENT_CHECK_FAULT_MYCNF:
        if (pod_reason_is_memory(pod->problem_reason))
            refuse_memory(snapshot, decision);
        else
            refuse_mycnf(snapshot, words, decision);
        break;
    }
}

static void judge_check_pod(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const struct pod_object *pod = snapshot->check_pod;
    if (pod->phase == POD_PHASE_SUCCEEDED)
        decision->gate = GATE_OPEN;
    else if (pod_reason_is_image(pod->problem_reason))
        refuse_image(snapshot, pod, decision);
    else if (pod_reason_is_start(pod->problem_reason))
        refuse(decision, REASON_POD_NOT_STARTED, "podTemplate: a pod of it does not start: ",
            str_empty(pod->problem_message) ? pod->problem_reason : pod->problem_message);
    else if (has_spoken(pod))
        judge_words(snapshot, pod, decision);
    else if (pod->phase == POD_PHASE_FAILED) /* evicted, its node lost: it has said nothing, another one is asked */
        plan_add_delete(decision->plan, PLAN_POD, snapshot->ns, pod->name, pod->uid, NULL);
    else if (pod->phase == POD_PHASE_PENDING)
        judge_pending(snapshot, decision);
}

static void ask_check_pod(
    const struct cluster_snapshot *snapshot, enum check_kind kind, struct cluster_decision *decision)
{
    const struct pod_object *pod = snapshot->check_pod;
    decision->asks_preview = kind == CHECK_UNKNOWN;
    if (pod && !pod->object.deleting && desired_check_pod_fits(snapshot, pod, kind))
        judge_check_pod(snapshot, decision);
    else if (!pod && kind != CHECK_UNKNOWN)
        plan_add_apply(decision->plan, PLAN_POD, NULL, desired_check_pod(snapshot, kind),
            kind == CHECK_START
                ? "try the new image, my.cnf or template, and start a server with it, before members are touched"
                : "try the new my.cnf, which servers can take up while they run");
}

/* ---- the API server ---- */

static bool nobody_has_a_pod(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (snapshot->members[i].pod)
            return false;
    }
    return snapshot->scale.effective > 0;
}

static enum template_verdict template_verdict(const struct cluster_snapshot *snapshot)
{
    char wanted[17];
    desired_template_hash(snapshot, wanted);
    return str_eq(snapshot->template_answer.hash, wanted) ? snapshot->template_answer.verdict : TEMPLATE_UNKNOWN;
}

/* A quota that members fill up has room for the one that is replaced, and none for one beside them. */
static bool is_refused(enum template_verdict verdict, bool nobody)
{
    return verdict == TEMPLATE_REFUSED || (verdict == TEMPLATE_OVER_QUOTA && nobody);
}

/* A database that was made is led on, whoever has deleted its StatefulSet. */
static bool set_waits(const struct cluster_snapshot *snapshot, enum template_verdict verdict)
{
    bool is_new = !snapshot->stateful_set && !snapshot->last.roles.initialized;
    return is_new && (verdict == TEMPLATE_UNKNOWN || verdict == TEMPLATE_REFUSED);
}

/* ---- both ---- */

bool cluster_check_words(const struct cluster_snapshot *snapshot, char *ret, size_t size)
{
    const struct pod_object *pod = snapshot->check_pod;
    bool is_taken = pod && pod->phase == POD_PHASE_SUCCEEDED && desired_check_pod_fits(snapshot, pod, CHECK_LOOK);
    const char *words = is_taken ? str_or_empty(pod->check_words) : "", *cut;
    snprintf(ret, size, "%.*s", (int)agent_check_adjusted(words, &cut), words);
    return is_taken;
}

const char *cluster_check_cut(const struct cluster_snapshot *snapshot)
{
    const char *cut;
    agent_check_adjusted(snapshot->check_pod ? snapshot->check_pod->check_words : NULL, &cut);
    return cut;
}

/* It goes when the status has them. */
static bool has_news(const struct cluster_snapshot *snapshot)
{
    char words[sizeof(snapshot->last.mycnf_adjusted)];
    return cluster_check_words(snapshot, words, sizeof(words)) && !str_eq(words, snapshot->last.mycnf_adjusted);
}

/* What it holds up does no harm meanwhile, and what it is for is lost once the StatefulSet has changed. */
static void keep_before(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    bool failed = !str_empty(snapshot->before_error);
    decision->gate = GATE_CHECKING;
    decision->asks_before = true;
    say(decision, REASON_OTHER, "what the members run is stored first%s%s", failed ? ": " : "",
        failed ? snapshot->before_error : "");
}

static void drop_check_pod(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    const struct pod_object *pod = snapshot->check_pod;
    if (pod && !pod->object.deleting)
        plan_add_delete(decision->plan, PLAN_POD, snapshot->ns, pod->name, pod->uid, NULL);
}

/* Of a container that we make; NULL: its resources are ours, or somebody's podTemplate has it. */
static const char *resources_field(const char *container)
{
    if (str_eq(container, CONTAINER_AGENT))
        return "agentResources";
    return str_eq(container, CONTAINER_MYSQL) || str_eq(container, CONTAINER_INIT) ? "resources" : NULL;
}

static bool share_resources(const char *container, const char *other)
{
    return str_eq(resources_field(container), resources_field(other));
}

/* The volume of the data is no part of a podTemplate. NULL: it is not to blame. Words without a place may be about
 * either. */
static const char *volume_field(const struct cluster_snapshot *snapshot, const json_t *pod)
{
    if (!snapshot->cluster.storage.volume_source || !pod)
        return NULL;
    switch (pod_refusal_volume(snapshot->template_answer.message, pod, VOLUME_DATA)) {
    case POD_REFUSAL_OF_VOLUME:
        return CLUSTER_VOLUME_SOURCE_FIELD;
    case POD_REFUSAL_UNTOLD:
        return snapshot->config.pod_template ? "podTemplate or " CLUSTER_VOLUME_SOURCE_FIELD
                                             : CLUSTER_VOLUME_SOURCE_FIELD;
    case POD_REFUSAL_OF_ELSE:
        break;
    }
    return NULL;
}

/* Which field of the user's is to blame: as a rule there is no podTemplate, and resources are what a quota or a
 * LimitRange is about. */
static void blame_template(
    const struct cluster_snapshot *snapshot, struct cluster_decision *decision, char *out, size_t size)
{
    char field[CONFIG_FIELD_CHOICE_SIZE] = "podTemplate";
    const char *message = snapshot->template_answer.message, *container = NULL;
    _cleanup_(json_decrefp) json_t *pod = str_empty(message) ? NULL : desired_trial_pod(snapshot);
    if (pod)
        container = pod_refusal_container(message, pod, share_resources);
    const char *resources = container                 ? resources_field(container)
        : pod && pod_refusal_is_of_resources(message) ? "resources"
                                                      : NULL;
    const char *volume = resources ? NULL : volume_field(snapshot, pod);
    decision->gate_is_of_volume = str_eq(volume, CLUSTER_VOLUME_SOURCE_FIELD);
    if (resources)
        config_field_choice(&snapshot->cluster, resources, field, sizeof(field));
    else if (volume)
        snprintf(field, sizeof(field), "%s", volume);
    snprintf(out, size, "%s: the API server refuses a pod %s it%s%s%s: ", field, volume ? "with" : "of",
        container ? " (container " : "", str_or_empty(container), container ? ")" : "");
}

void cluster_gate_decide(const struct cluster_snapshot *snapshot, struct cluster_decision *decision)
{
    char runtime[17], prefix[CONFIG_FIELD_CHOICE_SIZE + 256];
    desired_runtime_hash(snapshot, runtime);
    const struct stateful_set_object *set = snapshot->stateful_set;
    const struct pod_object *pod = snapshot->check_pod;
    if (snapshot->before) { /* they ran it */
        decision->gate = GATE_OPEN;
        drop_check_pod(snapshot, decision);
        return;
    }
    bool is_applied = desired_template_is_applied(snapshot), nobody = nobody_has_a_pod(snapshot);
    bool in_force = is_applied && str_eq(set->applied_hash, runtime);
    bool is_untried = in_force && cluster_awaits_restart(snapshot) && !str_eq(snapshot->started, runtime);
    enum check_kind kind = is_untried ? CHECK_START : in_force ? CHECK_LOOK : desired_check_kind(snapshot);
    bool is_guarded = (!in_force || is_untried) && set && cluster_snapshot_ready_count(snapshot) > 0;
    bool is_asked = !is_applied || nobody;
    enum template_verdict verdict = is_asked ? template_verdict(snapshot) : TEMPLATE_TAKEN;
    decision->gate = is_guarded ? GATE_CHECKING : GATE_OPEN;
    decision->asks_template = is_asked;
    decision->set_waits = set_waits(snapshot, verdict);
    blame_template(snapshot, decision, prefix, sizeof(prefix));
    if (is_guarded && is_refused(verdict, nobody))
        refuse(decision, REASON_TEMPLATE_REFUSED, prefix, snapshot->template_answer.message);
    else if (is_refused(verdict, nobody))
        say(decision, REASON_TEMPLATE_REFUSED, "%s%s", prefix, snapshot->template_answer.message);
    else if (is_guarded && verdict != TEMPLATE_UNKNOWN)
        ask_check_pod(snapshot, kind, decision);
    if (is_guarded && decision->gate == GATE_OPEN && roll_must_be_kept(snapshot))
        keep_before(snapshot, decision);
    bool is_over = in_force && !is_untried;
    bool stale = pod && (is_over || !desired_check_pod_fits(snapshot, pod, kind)) && !has_news(snapshot);
    if (stale)
        drop_check_pod(snapshot, decision);
}
