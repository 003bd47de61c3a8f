/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/state/pod_reason.h"

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

bool pod_reason_is_memory(const char *reason)
{
    return str_eq(reason, "OOMKilled");
}
