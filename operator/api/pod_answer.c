/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/pod_answer.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/condition_reason.h"
#include "operator/api/quantity.h"

#define RESOURCE_MAX 128

/* In thousandths. What follows it is a comma, a space, or nothing. */
static bool read_amount(const char *at, double *ret)
{
    char text[RESOURCE_MAX];
    int64_t value;
    size_t digits = strcspn(at, ", ");
    bool is_milli = digits > 1 && at[digits - 1] == 'm';
    snprintf(text, sizeof(text), "%.*s", (int)MIN_OF(digits - is_milli, sizeof(text) - 1), at);
    if (quantity_parse(text, &value) < 0)
        return false;
    *ret = (double)value * (is_milli ? 1 : 1000);
    return true;
}

/* "limits.cpu=1,limits.memory=832Mi": the amount of one of them in thousandths. False: it is not there. */
static bool amount_of(const char *list, const char *name, size_t len, double *ret)
{
    while (!(strncmp(list, name, len) == 0 && list[len] == '=')) {
        list += strcspn(list, ", ");
        if (*list != ',')
            return false;
        list++;
    }
    return read_amount(list + len + 1, ret);
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
    const char *fixed, *fixed_after;   /* likewise, where nobody chooses what the pod asks for; NULL: as above */
    bool is_less;                      /* or it asks for less */
    bool is_of_resources;
} remedies[] = {
    {"exceeded quota", "raise the ResourceQuota of namespace ", "", NULL, NULL, true, true},
    {"failed quota", "give the containers the requests and limits that the ResourceQuota of namespace ", " asks for",
        "let a LimitRange give the requests and limits that the ResourceQuota of namespace ", " asks for", false, true},
    {"violates PodSecurity", "take out of the podTemplate what the Pod Security level of namespace ", " forbids",
        "let the Pod Security level of namespace ", " allow it", false, false},
    {"usage per PersistentVolumeClaim", "choose a size within the LimitRange of namespace ", "", NULL, NULL, false,
        false},
    {"usage per ", "choose requests and limits within the LimitRange of namespace ", "",
        "let the LimitRange of namespace ", " allow it", false, true},
    {"limit to request ratio", "choose requests and limits within the LimitRange of namespace ", "",
        "let the LimitRange of namespace ", " allow it", false, true},
    {"denied the request", "change what the admission webhook names, or its policy for namespace ", "", NULL, NULL,
        false, false},
};

bool pod_refusal_is_of_resources(const char *refusal)
{
    if (!strstr(refusal, "cpu") && !strstr(refusal, "memory"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(remedies); i++) {
        if (strstr(refusal, remedies[i].text))
            return remedies[i].is_of_resources;
    }
    return false;
}

bool pod_refusal_is_of_storage(const char *refusal)
{
    return strstr(refusal, "requests.storage=") != NULL;
}

/* ---- which container ---- */

static const char *container_at(const char *refusal, const json_t *pod)
{
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        char mark[32];
        int len = snprintf(mark, sizeof(mark), "spec.%s[", lists[i]);
        const char *at = strstr(refusal, mark), *end = at ? strchr(at, ']') : NULL;
        if (!end || !str_starts_with(end, "].resources"))
            continue;
        const json_t *list = json_object_get(json_object_get(pod, "spec"), lists[i]);
        return json_path_str(json_array_get(list, strtoul(at + len, NULL, 10)), "name", NULL);
    }
    return NULL;
}

static bool asks_for(const json_t *container, const char *kind, const char *resource, double amount)
{
    double own;
    const json_t *value = json_object_get(json_object_get(json_object_get(container, "resources"), kind), resource);
    return json_is_string(value) && read_amount(json_string_value(value), &own) && own == amount;
}

/* "maximum memory usage per Container is 200Mi, but limit is 256Mi" */
static bool read_limit_range(const char *refusal, const char **ret_kind, const char **ret_resource, double *ret_amount)
{
    const char *usage = strstr(refusal, " usage per Container is ");
    const char *limit = usage ? strstr(usage, ", but limit is ") : NULL;
    const char *request = usage ? strstr(usage, ", but request is ") : NULL;
    if (!limit && !request)
        return false;
    *ret_kind = limit ? "limits" : "requests";
    *ret_resource = usage - refusal >= 3 && strncmp(usage - 3, "cpu", 3) == 0 ? "cpu" : "memory";
    return read_amount(limit ? limit + strlen(", but limit is ") : request + strlen(", but request is "), ret_amount);
}

const char *pod_refusal_container(
    const char *refusal, const json_t *pod, bool (*same)(const char *container, const char *other))
{
    static const char *const lists[] = {"containers", "initContainers"};
    const char *kind, *resource, *found = container_at(refusal, pod);
    double amount;
    if (found || !read_limit_range(refusal, &kind, &resource, &amount))
        return found;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        size_t k;
        json_t *container;
        json_array_foreach(json_object_get(json_object_get(pod, "spec"), lists[i]), k, container) {
            const char *name = json_path_str(container, "name", "");
            if (!asks_for(container, kind, resource, amount))
                continue;
            if (found && !same(found, name))
                return NULL;
            found = found ? found : name;
        }
    }
    return found;
}

/* ---- which volume ---- */

/* "spec.volumes[6].nfs.path". False: no place of that kind is named. */
static bool volume_at(const char *refusal, const json_t *volumes, const char *volume, bool *ret_is_it)
{
    static const char mark[] = "spec.volumes[";
    const char *at = strstr(refusal, mark);
    *ret_is_it = false;
    for (const char *next = at; next && !*ret_is_it; next = strstr(next + 1, mark))
        *ret_is_it = str_eq(
            json_path_str(json_array_get(volumes, strtoul(next + strlen(mark), NULL, 10)), "name", NULL), volume);
    return at != NULL;
}

/* "json: cannot unmarshal number into Go struct field NFSVolumeSource.spec.volumes.VolumeSource.nfs.server of type
 * string", or without "VolumeSource.", an embedded struct: there are no indices. ret: how many of the volumes are of
 * that kind, and whether ours is. */
static bool kind_of_volume_at(
    const char *refusal, const json_t *volumes, const char *volume, int *ret_count, bool *ret_is_it)
{
    static const char mark[] = ".spec.volumes.", embedded[] = "VolumeSource.";
    const char *at = strstr(refusal, mark);
    size_t i;
    const json_t *each;
    *ret_count = 0;
    *ret_is_it = false;
    if (!at)
        return false;
    at += strlen(mark);
    if (str_starts_with(at, embedded))
        at += strlen(embedded);
    _cleanup_(freep) char *kind = xstrndup(at, strcspn(at, ". "));
    json_array_foreach((json_t *)(uintptr_t)volumes, i, each) {
        if (!json_object_get(each, kind))
            continue;
        *ret_count += 1;
        *ret_is_it |= str_eq(json_path_str(each, "name", NULL), volume);
    }
    return true;
}

/* Of Pod Security: `volume "data" uses restricted volume type "hostPath"`, `volumes "a", "data" use …`. */
static bool names_volume(const char *refusal, const char *volume)
{
    const char *at = strstr(refusal, "(volume");
    _cleanup_(freep) char *list = at ? xstrndup(at, strcspn(at, ")")) : NULL;
    _cleanup_(freep) char *name = xasprintf("\"%s\"", volume);
    return list && strstr(list, name);
}

enum pod_refusal_volume pod_refusal_volume(const char *refusal, const json_t *pod, const char *volume)
{
    const json_t *volumes = json_path(pod, "spec.volumes");
    bool is_it = false;
    int count = 0;
    if (volume_at(refusal, volumes, volume, &is_it))
        return is_it ? POD_REFUSAL_OF_VOLUME : POD_REFUSAL_OF_ELSE;
    if (kind_of_volume_at(refusal, volumes, volume, &count, &is_it) && is_it)
        return count == 1 ? POD_REFUSAL_OF_VOLUME : POD_REFUSAL_UNTOLD;
    if (names_volume(refusal, volume))
        return POD_REFUSAL_OF_VOLUME;
    return strstr(refusal, "cannot be handled as a Pod") && !strstr(refusal, "spec.") ? POD_REFUSAL_UNTOLD
                                                                                      : POD_REFUSAL_OF_ELSE;
}

const char *pod_refusal_remedy(const char *refusal, const char *ns, const char *who, char *out, size_t size)
{
    for (size_t i = 0; i < ARRAY_LEN(remedies); i++) {
        if (!strstr(refusal, remedies[i].text))
            continue;
        bool is_less = who && remedies[i].is_less, is_fixed = !who && remedies[i].fixed;
        snprintf(out, size, "%s%s%s%s%s%s", is_fixed ? remedies[i].fixed : remedies[i].remedy, ns,
            is_fixed ? remedies[i].fixed_after : remedies[i].after, is_less ? ", or let " : "", is_less ? who : "",
            is_less ? " ask for less" : "");
        return out;
    }
    return "change what the API server names";
}

const char *pod_refusal_told(const char *text)
{
    const char *reason = reason_name(REASON_POD_REFUSED);
    size_t len = strlen(reason);
    bool is_told = text && strncmp(text, reason, len) == 0 && strncmp(text + len, ": ", 2) == 0;
    return is_told ? text + len + 2 : NULL;
}
