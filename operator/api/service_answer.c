/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/service_answer.h"

/* The text is that of apiserver/pkg/admission/plugin/webhook/errors. */
bool service_answer_blames_fields(const struct error *err)
{
    return err->kind == ERROR_INVALID && !strstr(err->message, "denied the request");
}

const char *service_answer_field(const struct error *err)
{
    static const struct {
        const char *path, *field;
    } fields[] = {
        {"metadata.annotations", ".annotations"},
        {"metadata.labels", ".labels"},
        {"spec.LoadBalancerSourceRanges", ".loadBalancerSourceRanges"}, /* so in Kubernetes 1.36 */
        {"spec.loadBalancerSourceRanges", ".loadBalancerSourceRanges"},
        {"spec.type", ".type"},
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (strstr(err->message, fields[i].path))
            return fields[i].field;
    }
    return "";
}
