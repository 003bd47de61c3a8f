/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/pod_reason.h"

static bool is_listed(const char *const *list, const char *reason)
{
    for (; *list; list++) {
        if (str_eq(reason, *list))
            return true;
    }
    return false;
}

bool pod_reason_is_image(const char *reason)
{
    static const char *const reasons[] = {"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull",
        "ImageInspectError", "RegistryUnavailable", NULL};
    return is_listed(reasons, reason);
}

bool pod_reason_is_start(const char *reason)
{
    static const char *const reasons[] = {
        "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "StartError", NULL};
    return is_listed(reasons, reason);
}

bool pod_reason_is_container(const char *reason)
{
    static const char *const reasons[] = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError",
        "PreCreateHookError", "PostStartHookError", "StartError", "ContainerCannotRun", NULL};
    return is_listed(reasons, reason);
}

bool pod_reason_is_placement(const char *reason)
{
    return str_eq(reason, "Unschedulable");
}

/* "1 node(s) had untolerated taint {dedicated: db}, …", "3 node(s) had untolerated taint(s), …". */
bool pod_reason_names_taint(const char *words, char *ret, size_t size)
{
    static const char said[] = "untolerated taint";
    const char *taint = strstr(str_or_empty(words), said);
    snprintf(ret, size, "%s", "");
    if (!taint)
        return false;
    const char *begin = taint + strlen(said);
    if (strncmp(begin, " {", 2) != 0)
        return true;
    begin += 2;
    size_t key_len = strcspn(begin, ":},"), len = strcspn(begin, "}");
    const char *value = begin + key_len;
    if (*value == ':')
        value += value[1] == ' ' ? 2 : 1;
    int value_len = (int)MAX_OF(0, begin + len - value);
    snprintf(ret, size, "%.*s%s%.*s", (int)key_len, begin, value_len ? "=" : "", value_len, value);
    return true;
}

bool pod_reason_lacks_room(const char *words)
{
    return strstr(str_or_empty(words), "Insufficient ") || strstr(str_or_empty(words), "Too many pods");
}

bool pod_reason_is_memory(const char *reason)
{
    return str_eq(reason, "OOMKilled");
}

bool pod_reason_is_beginning(const char *reason)
{
    return str_eq(reason, "ContainerCreating") || str_eq(reason, "PodInitializing");
}

bool pod_reason_is_loop(const char *reason)
{
    return str_eq(reason, "CrashLoopBackOff");
}

static bool is_answer_of_registry(const char *words)
{
    static const char *const answers[] = {"not found", "manifest unknown", "does not exist", "denied", "nauthorized",
        "authentication required", "authorization failed", "no match for platform", "no matching manifest",
        "invalid reference format"};
    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        if (strstr(words, answers[i]))
            return true;
    }
    return false;
}

enum pod_image_word pod_image_word_of(const char *reason, const char *words)
{
    static const char *const refusals[] = {"InvalidImageName", "ErrImageNeverPull", NULL};
    if (is_listed(refusals, reason) || is_answer_of_registry(str_or_empty(words)))
        return POD_IMAGE_REFUSED;
    return strstr(str_or_empty(words), ": ") ? POD_IMAGE_DELAYED : POD_IMAGE_UNTOLD;
}

bool pod_reason_names_claim(const char *words, char *ret, size_t size)
{
    static const char said[] = "persistentvolumeclaim \"";
    const char *claim = strstr(str_or_empty(words), said);
    size_t len = claim ? strcspn(claim + strlen(said), "\"") : 0;
    snprintf(ret, size, "%.*s", (int)MIN_OF(len, (size_t)KUBE_NAME_MAX), claim ? claim + strlen(said) : "");
    return claim && str_starts_with(claim + strlen(said) + len, "\" not found");
}

size_t pod_reason_words_len(const char *words)
{
    static const char end[] = "\" not found", again[] = ". not found";
    size_t len = strlen(words);
    size_t both = strlen(end) + strlen(again);
    bool is_twice =
        len >= both && strncmp(words + len - both, end, strlen(end)) == 0 && str_eq(words + len - strlen(again), again);
    return is_twice ? len - strlen(again) : len;
}

bool pod_reason_lacks_claim(const char *words, const char *claim)
{
    char said[KUBE_NAME_MAX + 64];
    snprintf(said, sizeof(said), "persistentvolumeclaim \"%.*s\" not found", KUBE_NAME_MAX, claim);
    return strstr(str_or_empty(words), said) != NULL;
}
