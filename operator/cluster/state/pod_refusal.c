/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/pod_refusal.h"

#include "operator/cluster/state/member_view.h"

const struct cluster_member *pod_refusal_suspect(const struct cluster_snapshot *snapshot)
{
    const struct stateful_set_object *set = snapshot->stateful_set;
    bool is_tended = snapshot->usable && !snapshot->cluster.paused && !snapshot->namespace_ends &&
        !snapshot->final.deleting && set && !set->object.deleting;
    for (int i = 0; i < snapshot->member_count && is_tended; i++) {
        const struct cluster_member *member = &snapshot->members[i];
        if (!member->pod && member->ordinal < set->replicas && member_is_wanted(snapshot, member))
            return member;
    }
    return NULL;
}

/* The texts are the API server's: of plugin/pkg/admission/resourcequota, of its authorizer, of webhooks that take no
 * part in dry runs
 * (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#side-effects), and of a
 * namespace that ends. */
enum pod_answer pod_answer_of(const struct error *err)
{
    static const char *const others[] = {"does not support dry run", "cannot create resource", "being terminated"};
    if (!err || err->kind == ERROR_EXISTS)
        return POD_ANSWER_TAKEN;
    if (err->kind == ERROR_ENDING)
        return POD_ANSWER_OF_OTHERS;
    if (err->kind != ERROR_FORBIDDEN && err->kind != ERROR_INVALID)
        return POD_ANSWER_UNKNOWN;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (strstr(err->message, others[i]))
            return POD_ANSWER_OF_OTHERS;
    }
    return strstr(err->message, "exceeded quota") ? POD_ANSWER_OVER_QUOTA : POD_ANSWER_REFUSED;
}

/* Words of the API server's own admission plugins.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/, .../limit-range/,
 * .../security/pod-security-admission/ */
static const struct {
    const char *words, *remedy;
} remedies[] = {
    {"exceeded quota", "raise the ResourceQuota of namespace %s, or let the cluster ask for less"},
    {"failed quota", "give the containers the requests and limits that the ResourceQuota of namespace %s asks for"},
    {"violates PodSecurity", "take out of the podTemplate what the Pod Security level of namespace %s forbids"},
    {"usage per ", "choose requests and limits within the LimitRange of namespace %s"},
    {"limit to request ratio", "choose requests and limits within the LimitRange of namespace %s"},
    {"denied the request", "change what the admission webhook names, or its policy for namespace %s"},
};

const char *pod_refusal_remedy(const char *refusal, const char *ns, char *out, size_t size)
{
    for (size_t i = 0; i < ARRAY_LEN(remedies); i++) {
        if (!strstr(refusal, remedies[i].words))
            continue;
        const char *place = strstr(remedies[i].remedy, "%s");
        snprintf(out, size, "%.*s%s%s", (int)(place - remedies[i].remedy), remedies[i].remedy, ns, place + 2);
        return out;
    }
    return "change what the API server names";
}
