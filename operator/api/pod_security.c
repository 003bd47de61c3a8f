/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/pod_security.h"

#include "common/json.h"

json_t *pod_security_context(const struct mysql_config_spec *config)
{
    return json_build("{s:b, s:I, s:I, s:I, s:s, s:{s:s}}", "runAsNonRoot", 1, "runAsUser",
        (json_int_t)config->run_as_user, "runAsGroup", (json_int_t)config->run_as_group, "fsGroup",
        (json_int_t)config->fs_group, "fsGroupChangePolicy", "OnRootMismatch", "seccompProfile", "type",
        "RuntimeDefault");
}

json_t *container_security_context(void)
{
    return json_build("{s:b, s:b, s:b, s:{s:[s]}}", "allowPrivilegeEscalation", 0, "readOnlyRootFilesystem", 1,
        "runAsNonRoot", 1, "capabilities", "drop", "ALL");
}
