/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/pod_answer.h"

#include "operator/api/quantity.h"

#define RESOURCE_MAX 128

/* "limits.cpu=1,limits.memory=832Mi": the amount of one of them in thousandths. False: it is not there. */
static bool amount_of(const char *list, const char *name, size_t len, double *ret)
{
    char text[RESOURCE_MAX];
    int64_t value;
    while (!(strncmp(list, name, len) == 0 && list[len] == '=')) {
        list += strcspn(list, ", ");
        if (*list != ',')
            return false;
        list++;
    }
    size_t digits = strcspn(list + len + 1, ", ");
    bool is_milli = digits > 1 && list[len + digits] == 'm';
    snprintf(text, sizeof(text), "%.*s", (int)(digits - is_milli), list + len + 1);
    if (quantity_parse(text, &value) < 0)
        return false;
    *ret = (double)value * (is_milli ? 1 : 1000);
    return true;
}

/* "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3": more is asked for than there is, whoever else
 * goes. */
static bool is_beyond_quota(const char *message)
{
    static const char requested_mark[] = ", requested: ", limited_mark[] = ", limited: ";
    const char *requested = strstr(message, requested_mark), *limited = strstr(message, limited_mark);
    if (!requested || !limited)
        return false;
    requested += strlen(requested_mark);
    limited += strlen(limited_mark);
    for (;;) {
        size_t len = strcspn(requested, "=, ");
        double wanted, most;
        if (amount_of(requested, requested, len, &wanted) && amount_of(limited, requested, len, &most) && wanted > most)
            return true;
        requested += strcspn(requested, ", ");
        if (*requested != ',' || requested[1] == ' ')
            return false;
        requested++;
    }
}

/* The texts are the API server's: of plugin/pkg/admission/resourcequota, of its authorizer, of webhooks that take no
 * part in dry runs
 * (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#side-effects), and of a
 * namespace that ends. */
enum pod_answer pod_answer_of(const struct error *err)
{
    static const char *const others[] = {
        "does not support dry run", "cannot create resource", "cannot patch resource", "being terminated"};
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
    return strstr(err->message, "exceeded quota") && !is_beyond_quota(err->message) ? POD_ANSWER_OVER_QUOTA
                                                                                    : POD_ANSWER_REFUSED;
}

/* The text is that of plugin/pkg/admission/storage/persistentvolume/resize of the API server. */
bool pod_answer_blames_class(const struct error *err)
{
    return strstr(err->message, "only dynamically provisioned pvc can be resized") != NULL;
}

/* Parts of the messages of the API server's own admission plugins.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/, .../limit-range/,
 * .../security/pod-security-admission/ */
static const struct {
    const char *text, *remedy, *after; /* the namespace stands between remedy and after */
    bool is_less;                      /* or it asks for less */
} remedies[] = {
    {"exceeded quota", "raise the ResourceQuota of namespace ", "", true},
    {"failed quota", "give the containers the requests and limits that the ResourceQuota of namespace ", " asks for",
        false},
    {"violates PodSecurity", "take out of the podTemplate what the Pod Security level of namespace ", " forbids", false},
    {"usage per ", "choose requests and limits within the LimitRange of namespace ", "", false},
    {"limit to request ratio", "choose requests and limits within the LimitRange of namespace ", "", false},
    {"denied the request", "change what the admission webhook names, or its policy for namespace ", "", false},
};

const char *pod_refusal_remedy(const char *refusal, const char *ns, const char *who, char *out, size_t size)
{
    for (size_t i = 0; i < ARRAY_LEN(remedies); i++) {
        if (!strstr(refusal, remedies[i].text))
            continue;
        bool is_less = remedies[i].is_less;
        snprintf(out, size, "%s%s%s%s%s%s", remedies[i].remedy, ns, remedies[i].after, is_less ? ", or let " : "",
            is_less ? who : "", is_less ? " ask for less" : "");
        return out;
    }
    return "change what the API server names";
}
