/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/roll_status.h"

#include "common/json.h"
#include "common/json_fields.h"
#include "operator/api/status_values.h"

static const char *const phase_names[ROLL_PHASE_COUNT] = {
    [ROLL_PHASE_NONE] = "",
    [ROLL_PHASE_ROLLED_BACK] = "RolledBack",
    [ROLL_PHASE_FAILED] = "Failed",
};

static const char *const reason_names[ROLL_REASON_COUNT] = {
    [ROLL_REASON_NONE] = "",
    [ROLL_REASON_ENDED] = "ServerEnded",
    [ROLL_REASON_KILLED] = "ServerKilled",
    [ROLL_REASON_UNPLACED] = "Unschedulable",
    [ROLL_REASON_UNPULLED] = "ImagePullFailed",
    [ROLL_REASON_UNMADE] = "PodRefused",
};

const char *roll_reason_name(enum roll_reason reason)
{
    return reason_names[reason];
}

static const struct status_text texts[] = {
    STATUS_TEXT(cluster_roll_status, "proven", proven),
    STATUS_TEXT(cluster_roll_status, "refused", refused),
    STATUS_TEXT(cluster_roll_status, "tried", tried),
    STATUS_TEXT(cluster_roll_status, "member", member),
    STATUS_TEXT(cluster_roll_status, "message", message),
    STATUS_TEXT(cluster_roll_status, "obstacle", obstacle),
    STATUS_TEXT(cluster_roll_status, "again", again),
    STATUS_TEXT(cluster_roll_status, "blockedMember", blocked),
};

json_t *cluster_roll_status_encode(const struct cluster_roll_status *roll)
{
    json_t *json = json_object();
    if (roll->phase != ROLL_PHASE_NONE)
        json_put_str(json, "phase", phase_names[roll->phase]);
    if (roll->reason != ROLL_REASON_NONE)
        json_put_str(json, "reason", reason_names[roll->reason]);
    status_put_texts(json, roll, texts, ARRAY_LEN(texts));
    status_put_positive(json, "attempts", roll->attempts);
    status_put_time(json, "failedTime", roll->failed_ms);
    status_put_time(json, "blockedTime", roll->blocked_ms);
    if (json_object_size(json) > 0)
        return json;
    json_decref(json);
    return NULL;
}

void cluster_roll_status_decode(const json_t *json, struct cluster_roll_status *ret)
{
    *ret = (struct cluster_roll_status){.phase = ROLL_PHASE_NONE};
    if (!json_is_object(json))
        return;
    ret->phase = (enum roll_phase)json_name_index(phase_names, ROLL_PHASE_COUNT, json_path_str(json, "phase", ""));
    ret->reason = (enum roll_reason)json_name_index(reason_names, ROLL_REASON_COUNT, json_path_str(json, "reason", ""));
    status_read_texts(json, ret, texts, ARRAY_LEN(texts));
    ret->attempts = status_clamp_int(json_path_int(json, "attempts", 0));
    ret->failed_ms = status_read_time(json, "failedTime");
    ret->blocked_ms = status_read_time(json, "blockedTime");
}
