/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/copy_close_status.h"

#include "common/json.h"
#include "operator/api/status_values.h"

static const struct status_text texts[] = {
    STATUS_TEXT(cluster_copy_close, "member", member),
    STATUS_TEXT(cluster_copy_close, "receiver", receiver),
};

json_t *cluster_copy_close_encode(const struct cluster_copy_close *close)
{
    if (!*close->member)
        return NULL;
    json_t *json = json_object();
    status_put_texts(json, close, texts, ARRAY_LEN(texts));
    status_put_time_ms(json, "startedAt", close->started_ms);
    status_put_time_ms(json, "finishedAt", close->finished_ms);
    return json;
}

void cluster_copy_close_decode(const json_t *json, struct cluster_copy_close *ret)
{
    *ret = (struct cluster_copy_close){.member = ""};
    if (!json_is_object(json))
        return;
    status_read_texts(json, ret, texts, ARRAY_LEN(texts));
    ret->started_ms = status_read_time(json, "startedAt");
    ret->finished_ms = status_read_time(json, "finishedAt");
}
