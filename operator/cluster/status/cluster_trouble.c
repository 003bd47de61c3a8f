/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_trouble.h"

#include "common/json.h"
#include "operator/api/condition_reason.h"
#include "operator/api/pod_reason.h"
#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/rollout/roll_target.h"
#include "operator/cluster/state/config_field.h"
#include "operator/cluster/state/member_view.h"
#include "operator/cluster/state/mycnf_blame.h"
#include "operator/cluster/state/pod_refusal.h"
#include "operator/cluster/state/problem_effects.h"
#include "operator/cluster/state/storage_class.h"

static const char *pod_reason(const struct cluster_member *member)
{
    return member->pod ? member->pod->problem_reason : "";
}

static bool is_refused(const struct cluster_member *member)
{
    return !member->pod && !str_empty(member->refused);
}

bool pod_blames_image(const struct pod_object *pod)
{
    return pod_init_fault(pod) == AGENT_INIT_FAULT_IMAGE;
}

enum trouble_rank member_trouble_rank(const struct cluster_member *member)
{
    const char *reason = pod_reason(member);
    if (cluster_member_is_ready(member))
        return TROUBLE_NONE;
    if (is_refused(member) || member->class_missing || pod_reason_is_image(reason) || pod_reason_is_container(reason) ||
        member_refuses_mycnf(member) || (member->pod && pod_blames_image(member->pod)))
        return TROUBLE_BY_USER;
    if (!str_empty(reason))
        return TROUBLE_ENDED;
    return member_trouble_reason(member) ? TROUBLE_TOLD : TROUBLE_STARTING;
}

const char *member_trouble_reason(const struct cluster_member *member)
{
    if (is_refused(member))
        return reason_name(REASON_POD_REFUSED);
    if (member->class_missing)
        return reason_name(REASON_STORAGE_CLASS_NOT_FOUND);
    if (!str_empty(pod_reason(member)))
        return member->pod->problem_reason;
    const struct agent_problem *first = member_speaks(member) ? member_first_problem(member) : NULL;
    return first ? first->reason : NULL;
}

/* Which field is to blame for a pod that does not come up, as far as that can be told. */
static const char *field_to_blame(const struct cluster_member *member)
{
    const struct pod_object *pod = member->pod;
    if (pod_reason_is_image(pod->problem_reason))
        return str_eq(pod->problem_container, CONTAINER_INJECT) ? " (images.agent)" : " (images.mysql)";
    if (pod_reason_is_memory(pod->problem_reason))
        return " (limits.memory)";
    return member_refuses_mycnf(member) ? " (mycnf)" : "";
}

void member_trouble_text(const struct cluster_member *member, char *out, size_t size)
{
    const struct pod_object *pod = member->pod;
    const struct agent_problem *first = member_first_problem(member);
    out[0] = '\0';
    if (is_refused(member))
        snprintf(out, size, "%s: %s", reason_name(REASON_POD_REFUSED), member->refused);
    else if (member->class_missing) {
        char words[STORAGE_CLASS_WORDS_SIZE];
        storage_class_say(member, words, sizeof(words));
        snprintf(out, size, "%s: %s", reason_name(REASON_STORAGE_CLASS_NOT_FOUND), words);
    } else if (pod && !str_empty(pod->problem_reason))
        snprintf(out, size, "%s%s%s%s%s%.*s", pod->problem_container, str_empty(pod->problem_container) ? "" : " ",
            pod->problem_reason, field_to_blame(member), str_empty(pod->problem_message) ? "" : ": ",
            (int)pod_reason_words_len(str_or_empty(pod->problem_message)), str_or_empty(pod->problem_message));
    else if (first)
        snprintf(out, size, "%s: %s", first->reason, first->message);
    else if (member->agent && !cluster_member_is_ready(member))
        snprintf(out, size, "%s", member->agent->ready_reason);
}

bool member_is_stuck(const struct cluster_member *member)
{
    return member_trouble_reason(member) && !member_is_seeding(member);
}

bool member_needs_somebody(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    if (is_refused(member))
        return member->refusal_stays;
    if (member->class_missing)
        return true;
    return !snapshot->last.roles.initialized && pod_reason_is_memory(pod_reason(member)) &&
        member->pod->most_ends >= ROLL_ENDS_MAX;
}

const struct cluster_member *cluster_refused_member(const struct cluster_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->member_count; i++) {
        if (member_is_wanted(snapshot, &snapshot->members[i]) && is_refused(&snapshot->members[i]))
            return &snapshot->members[i];
    }
    return NULL;
}

const struct cluster_member *cluster_worst_member(const struct cluster_snapshot *snapshot, int wanted)
{
    const struct cluster_member *worst = NULL, *primary = cluster_primary(snapshot);
    enum trouble_rank worst_rank = TROUBLE_NONE;
    enum problem_need worst_need = PROBLEM_MENDED;
    for (int i = 0; i < snapshot->member_count; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        enum trouble_rank rank = member->ordinal < wanted ? member_trouble_rank(member) : TROUBLE_NONE;
        enum problem_need need = rank == TROUBLE_TOLD ? member_need(member) : PROBLEM_MENDED;
        bool is_as_bad = rank == worst_rank && rank != TROUBLE_NONE;
        if (rank > worst_rank || (is_as_bad && (need > worst_need || (need == worst_need && member == primary)))) {
            worst = member;
            worst_rank = rank;
            worst_need = need;
        }
    }
    return worst;
}

/* ---- what to do ---- */

static bool is_ours(const char *container)
{
    return str_eq(container, CONTAINER_INIT) || str_eq(container, CONTAINER_MYSQL) || str_eq(container, CONTAINER_AGENT);
}

void member_image_field(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    const char *container = member->pod->problem_container;
    if (str_eq(container, CONTAINER_INJECT) && !snapshot->config.image_agent)
        snprintf(out, size, "--agent-image of the operator");
    else if (str_eq(container, CONTAINER_INJECT))
        config_field_name(&snapshot->cluster, "images.agent", out, size);
    else if (is_ours(container))
        config_field_name(&snapshot->cluster, "images.mysql", out, size);
    else
        snprintf(out, size, "the image of container %s in the podTemplate", container);
}

static const char *image_named(const struct cluster_snapshot *snapshot, const char *container)
{
    if (str_eq(container, CONTAINER_INJECT))
        return snapshot->config.image_agent;
    return is_ours(container) ? snapshot->config.image_mysql : NULL;
}

static void remedy_image(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    const struct pod_object *pod = member->pod;
    char field[CONFIG_FIELD_SIZE];
    if (str_eq(pod->problem_container, CONTAINER_INJECT) && !snapshot->config.image_agent) {
        snprintf(out, size, "start the operator with an --agent-image that can be pulled (now %s)",
            snapshot->default_agent_image);
        return;
    }
    const char *image = image_named(snapshot, pod->problem_container);
    member_image_field(snapshot, member, field, sizeof(field));
    snprintf(out, size,
        "set %s to an image that can be pulled%s%s%s, or let the nodes reach its registry "
        "(imagePullSecrets, where it asks for an account)",
        field, image ? " (now " : "", image ? image : "", image ? ")" : "");
}

bool member_copy_remedy(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    char claim[DERIVED_NAME_SIZE];
    if (!primary || primary == member || !member_is_open(snapshot, primary))
        return false;
    cluster_claim_name(claim, snapshot->name, member->ordinal);
    snprintf(out, size, "delete claim %s and pod %s, so that it is copied anew", claim, member->name);
    return true;
}

/* The primary serves with the same image, so it is the member's data that does not fit: a server of another version has
 * written it, as when an image was set forth and back in the midst of a roll. A copy of the primary's data does. */
static bool is_alone_with_its_data(const struct cluster_snapshot *snapshot, const struct cluster_member *member)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    return primary && member_has_newest_template(snapshot, primary) && member_has_newest_template(snapshot, member);
}

/* The image is of a MysqlConfig, which other clusters use, too: this one takes another. */
static bool is_of_named_config(const struct cluster_snapshot *snapshot, const char *container)
{
    const struct mysql_cluster *cluster = &snapshot->cluster;
    return is_ours(container) && cluster->config_name && !json_path(cluster->config_spec, "images.mysql");
}

static void remedy_other_image(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    char name[CONFIG_FIELD_SIZE], field[CONFIG_FIELD_SIZE + 128], copy[256] = "";
    const char *image = image_named(snapshot, member->pod->problem_container);
    bool copied = is_alone_with_its_data(snapshot, member) && member_copy_remedy(snapshot, member, copy, sizeof(copy));
    if (is_of_named_config(snapshot, member->pod->problem_container))
        snprintf(field, sizeof(field),
            "name another MysqlConfig in spec.config.name (now %s), or set spec.config.spec.images.mysql",
            snapshot->cluster.config_name);
    else {
        member_image_field(snapshot, member, name, sizeof(name));
        snprintf(field, sizeof(field), "set %s", name);
    }
    snprintf(out, size, "%s to an image with a server that fits%s%s%s%s%s", field, image ? " (now " : "",
        image ? image : "", image ? ")" : "", copied ? "; or " : "", copy);
}

static bool remedy_mycnf(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    char options[256];
    if (!mycnf_blame(snapshot, member->pod->problem_message, options, sizeof(options)))
        return false;
    snprintf(out, size, "correct %s", options);
    return true;
}

/* The server's memory is what spec.mycnf lets it use; `init` runs one as well. */
static void remedy_memory(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    char field[CONFIG_FIELD_SIZE];
    const char *container = member->pod->problem_container;
    const char *now = config_memory_limit(&snapshot->cluster, &snapshot->config, container, field, sizeof(field));
    bool is_server = str_eq(container, CONTAINER_MYSQL) || str_eq(container, CONTAINER_INIT);
    snprintf(out, size, "raise %s%s%s%s%s", field, now ? " (now " : "", now ? now : "", now ? ")" : "",
        is_server ? ", or lower what spec.mycnf lets the server use" : "");
}

/* Room on a tainted node is of no use. False: no taint is to blame. */
static bool remedy_taint(const struct cluster_member *member, char *out, size_t size)
{
    char taint[128];
    if (!pod_reason_names_taint(member->pod->problem_message, taint, sizeof(taint)))
        return false;
    const char *room = pod_reason_lacks_room(member->pod->problem_message)
        ? ", or make room on a node that has none, or let it ask for less"
        : "";
    if (*taint)
        snprintf(out, size, "let %s tolerate taint %s (spec.podTemplate.spec.tolerations), or rid a node of it%s",
            member->name, taint, room);
    else
        snprintf(out, size,
            "let %s tolerate a taint of the nodes (spec.podTemplate.spec.tolerations), or rid one of it; kubectl get "
            "nodes -o custom-columns=NAME:.metadata.name,TAINTS:.spec.taints names them%s",
            member->name, room);
    return true;
}

/* One that the spec names. That of a member its StatefulSet makes. False: none of these is missing. */
static bool remedy_claim(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    char name[KUBE_NAME_MAX + 1], own[DERIVED_NAME_SIZE];
    const json_t *source = snapshot->cluster.storage.volume_source;
    cluster_claim_name(own, snapshot->name, member->ordinal);
    if (!pod_reason_names_claim(member->pod->problem_message, name, sizeof(name)) || str_eq(name, own))
        return false;
    bool is_of_storage = str_eq(json_path_str(source, "persistentVolumeClaim.claimName", NULL), name);
    snprintf(out, size, "make the PersistentVolumeClaim %s, or name another in %s", name,
        is_of_storage ? CLUSTER_VOLUME_SOURCE_FIELD : "the podTemplate");
    return true;
}

/* A claim that waits for its pod is not bound either (volumeBindingMode: WaitForFirstConsumer). */
static void remedy_placement(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    const struct pvc_object *claim = member->claim;
    bool waits = claim && !claim->is_bound;
    char where[384];
    if (remedy_claim(snapshot, member, out, size))
        return;
    if (!remedy_taint(member, where, sizeof(where)))
        snprintf(where, sizeof(where), "make room for %s on a node that its podTemplate allows, or let it ask for less",
            member->name);
    snprintf(out, size, "%s%s%s%s%s%s", where, waits ? "; or see why claim " : "", waits ? claim->name : "",
        waits && !str_empty(claim->storage_class) ? " of StorageClass " : "", waits ? claim->storage_class : "",
        waits ? " is not bound" : "");
}

/* A claim keeps its class, and outlives the cluster. */
static void remedy_class(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    const struct pvc_object *claim = member->claim;
    if (str_empty(claim->storage_class))
        snprintf(out, size, "make a StorageClass the default one of the Kubernetes cluster, or name one: ");
    else
        snprintf(out, size,
            "make StorageClass %s, or a PersistentVolume of that class, or name another: ", claim->storage_class);
    snprintf(out + strlen(out), size - strlen(out),
        "delete MysqlCluster %s, then, when its pods are gone, its claims that were never bound, and apply it with "
        "another spec.storage.storageClassName",
        snapshot->name);
}

/* Without the words of the reason, which whoever reads this has before him as well. */
static bool say_remedy(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    const struct pod_object *pod = member->pod;
    if (is_refused(member)) {
        char remedy[256];
        snprintf(
            out, size, "%s", pod_refusal_remedy(member->refused, snapshot->ns, "the cluster", remedy, sizeof(remedy)));
    } else if (member->class_missing)
        remedy_class(snapshot, member, out, size);
    else if (pod_reason_is_image(pod_reason(member)))
        remedy_image(snapshot, member, out, size);
    else if (member_refuses_mycnf(member))
        return remedy_mycnf(snapshot, member, out, size);
    else if (pod && pod_blames_image(pod))
        remedy_other_image(snapshot, member, out, size);
    else if (pod_reason_is_container(pod_reason(member)))
        snprintf(
            out, size, "make what container %s is made of, or take it out of the podTemplate", pod->problem_container);
    else if (pod_reason_is_placement(pod_reason(member)))
        remedy_placement(snapshot, member, out, size);
    else if (pod_reason_is_memory(pod_reason(member)) && !str_empty(pod->problem_container))
        remedy_memory(snapshot, member, out, size);
    else
        return false;
    return true;
}

bool member_trouble_remedy(
    const struct cluster_snapshot *snapshot, const struct cluster_member *member, char *out, size_t size)
{
    char remedy[512], words[512];
    if (!say_remedy(snapshot, member, remedy, sizeof(remedy)))
        return false;
    member_trouble_text(member, words, sizeof(words));
    snprintf(out, size, "%s: %s: %s", remedy, member->name, words);
    return true;
}
