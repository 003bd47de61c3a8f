/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/commit_wait_status.h"

#include "common/json.h"
#include "operator/api/status_values.h"

static const struct status_text texts[] = {
    STATUS_TEXT(cluster_commit_wait, "member", member),
};

int64_t cluster_commit_wait_ms(const struct cluster_commit_wait *wait)
{
    return wait->finished_ms ? MAX_OF(0, wait->finished_ms - wait->started_ms) : 0;
}

json_t *cluster_commit_wait_encode(const struct cluster_commit_wait *wait)
{
    if (!*wait->member)
        return NULL;
    json_t *json = json_object();
    status_put_texts(json, wait, texts, ARRAY_LEN(texts));
    status_put_time_ms(json, "startedAt", wait->started_ms);
    status_put_time_ms(json, "finishedAt", wait->finished_ms);
    status_put_positive(json, "waitedMs", cluster_commit_wait_ms(wait));
    return json;
}

void cluster_commit_wait_decode(const json_t *json, struct cluster_commit_wait *ret)
{
    *ret = (struct cluster_commit_wait){.member = ""};
    if (!json_is_object(json))
        return;
    status_read_texts(json, ret, texts, ARRAY_LEN(texts));
    ret->started_ms = status_read_time(json, "startedAt");
    ret->finished_ms = status_read_time(json, "finishedAt");
}
