/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/first_start.h"

#include "common/json.h"
#include "operator/api/pod_reason.h"
#include "operator/cluster/desired/desired.h"
#include "operator/cluster/rollout/roll_target.h"
#include "operator/cluster/state/config_field.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/mycnf_blame.h"
#include "operator/cluster/status/cluster_trouble.h"

static bool is_of(const struct pod_object *pod, const char *container)
{
    return str_eq(pod->problem_container, container);
}

/* ---- images ---- */

static bool was_refused(const struct cluster_snapshot *snapshot)
{
    const struct kube_condition *accepted = kube_conditions_find(&snapshot->last.conditions, CONDITION_ACCEPTED);
    return reason_of(accepted) == REASON_IMAGE_PULL_FAILED && accepted->observed_generation == snapshot->generation;
}

/* While nobody says why, what was known stays. */
static bool is_not_pulled(const struct cluster_snapshot *snapshot, const struct pod_object *pod)
{
    if (!pod_reason_is_image(pod->problem_reason))
        return false;
    enum pod_image_word word = pod_image_word_of(pod->problem_reason, pod->problem_message);
    return word == POD_IMAGE_REFUSED || (word == POD_IMAGE_UNTOLD && was_refused(snapshot));
}

static void say_image(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct first_start *ret)
{
    char field[CONFIG_FIELD_SIZE];
    member_image_field(snapshot, member, field, sizeof(field));
    snprintf(ret->message, sizeof(ret->message), "%s: %s", field, member->pod->problem_message);
}

/* ---- what `init` and the server say ---- */

/* Of the kind of trouble that a second or a third attempt does not end. */
static bool has_ended_for_good(const struct pod_object *pod)
{
    return pod->most_ends >= ROLL_ENDS_MAX;
}

static bool is_of_our_start(const struct pod_object *pod)
{
    return is_of(pod, CONTAINER_INJECT) || is_of(pod, CONTAINER_INIT) || is_of(pod, CONTAINER_MYSQL);
}

static bool holds_no_server(const struct cluster_snapshot *snapshot, const struct pod_object *pod)
{
    UNUSED(snapshot);
    return pod_blames_image(pod);
}

static bool takes_too_much_memory(const struct pod_object *pod)
{
    return is_of(pod, CONTAINER_MYSQL) && pod_reason_is_memory(pod->problem_reason) && has_ended_for_good(pod);
}

static bool blames_mycnf(const struct cluster_snapshot *snapshot, const struct pod_object *pod)
{
    char options[256];
    return pod_init_fault(pod) == AGENT_INIT_FAULT_MYCNF || takes_too_much_memory(pod) ||
        (is_of(pod, CONTAINER_MYSQL) && has_ended_for_good(pod) &&
            mycnf_blame(snapshot, pod->problem_message, options, sizeof(options)));
}

static void say_mycnf(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct first_start *ret)
{
    char field[MYCNF_BLAME_SIZE];
    if (takes_too_much_memory(member->pod)) {
        config_memory_too_small(&snapshot->cluster, &snapshot->config, ret->message, sizeof(ret->message));
        return;
    }
    const char *words = member->pod->problem_message;
    mycnf_blame_or_all(snapshot, words, field, sizeof(field));
    snprintf(ret->remedy, sizeof(ret->remedy), "correct %s: %s: %s", field, member->name, words);
    snprintf(ret->message, sizeof(ret->message), "%s: %s", field, words);
}

/* Of one without memory cluster_trouble.h tells. */
static bool does_not_start(const struct cluster_snapshot *snapshot, const struct pod_object *pod)
{
    UNUSED(snapshot);
    return is_of_our_start(pod) && has_ended_for_good(pod) && !str_empty(pod->problem_message) &&
        !pod_reason_is_memory(pod->problem_reason);
}

static void say_words(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct first_start *ret)
{
    UNUSED(snapshot);
    const struct pod_object *pod = member->pod;
    snprintf(ret->message, sizeof(ret->message), "%s, container %s: %s", member->name, pod->problem_container,
        pod->problem_message);
    snprintf(ret->remedy, sizeof(ret->remedy), "correct what keeps %s from starting: container %s: %s", member->name,
        pod->problem_container, pod->problem_message);
}

/* ---- the rules ---- */

/* The first that holds. say: leaves the remedy empty where cluster_trouble.h knows it. */
static const struct {
    enum condition_reason reason;
    bool (*holds)(const struct cluster_snapshot *snapshot, const struct pod_object *pod);
    void (*say)(const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct first_start *ret);
} rules[] = {
    {REASON_IMAGE_PULL_FAILED, is_not_pulled, say_image},
    {REASON_IMAGE_REJECTED, holds_no_server, say_image},
    {REASON_MYCNF_REJECTED, blames_mycnf, say_mycnf},
    {REASON_SERVER_NOT_STARTED, does_not_start, say_words},
};

/* Its pod is of what is wanted now, and says something. */
static bool speaks_for_the_spec(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct pod_object *pod = member->pod;
    return pod && !pod->object.deleting && !cluster_member_is_ready(member) && !str_empty(pod->problem_reason) &&
        member_is_wanted(snapshot, member) && member_has_newest_template(snapshot, member);
}

static bool judge(const struct cluster_snapshot *snapshot, const struct cluster_member *member, struct first_start *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (!rules[i].holds(snapshot, member->pod))
            continue;
        *ret = (struct first_start){.reason = rules[i].reason};
        rules[i].say(snapshot, member, ret);
        if (str_empty(ret->remedy) && !member_trouble_remedy(snapshot, member, ret->remedy, sizeof(ret->remedy)))
            snprintf(ret->remedy, sizeof(ret->remedy), "correct %s", ret->message);
        return true;
    }
    return false;
}

/* What the pods were started with last. After a correction it is not yet. */
static bool has_wanted_config(const struct cluster_snapshot *snapshot)
{
    _cleanup_(json_decrefp) json_t *wanted = desired_child(snapshot, CHILD_CONFIG_MAP);
    return snapshot->memory[CHILD_CONFIG_MAP].desired == json_hash(wanted);
}

/* Of a cluster that has served: no server is there that takes the my.cnf, and none that was started without it. */
static bool nobody_is_past_init(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if ((member->pod && (member->pod->initialized || member->pod->ready)) || member_runs(member))
            return false;
    }
    return true;
}

bool first_start_fails(const struct cluster_snapshot *snapshot, struct first_start *ret)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    bool is_of_now = set && set->observed_generation >= set->object.generation && !snapshot->before;
    bool is_new = !snapshot->last.roles.initialized;
    if (!is_of_now || !snapshot->usable || snapshot->cluster.paused || snapshot->final.deleting ||
        (!is_new && !nobody_is_past_init(snapshot)))
        return false;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (speaks_for_the_spec(snapshot, member) && (is_new || member_refuses_mycnf(member)) &&
            judge(snapshot, member, ret))
            return has_wanted_config(snapshot);
    }
    return false;
}
