/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/drill_status.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/json_fields.h"

const char *const drill_phase_names[DRILL_PHASE_COUNT] = {
    [DRILL_PHASE_NONE] = "",
    [DRILL_PHASE_RESTORING] = "Restoring",
    [DRILL_PHASE_CHECKING] = "Checking",
    [DRILL_PHASE_REMOVING] = "Removing",
};

static const char *const reason_names[DRILL_REASON_COUNT] = {
    [DRILL_OTHER] = "",
    [DRILL_VERIFIED] = "Verified",
    [DRILL_NOT_YET] = "NotYet",
    [DRILL_NO_BACKUP] = "NoBackup",
};

static const struct {
    const char *key;
    size_t offset, size;
} texts[] = {
#define TEXT(key, member)                                                                        \
    {                                                                                            \
        key, offsetof(struct drill_summary, member), sizeof(((struct drill_summary *)0)->member) \
    }
    TEXT("schedule", schedule),
    TEXT("problem", problem),
    TEXT("cluster", cluster),
    TEXT("backup", backup),
    TEXT("backupUid", backup_uid),
    TEXT("reason", reason),
    TEXT("message", message),
    TEXT("verifiedBackup", verified_backup),
    TEXT("verifiedGtid", verified_gtid),
};

static const struct {
    const char *key;
    size_t offset;
    bool is_time;
    bool is_above; /* beside the object "drill", not in it */
} numbers[] = {
#define NUMBER(key, member, ...)                                 \
    {                                                            \
        key, offsetof(struct drill_summary, member), __VA_ARGS__ \
    }
    NUMBER("lastVerifiedRestore", verified_ms, true, true),
    NUMBER("lastScheduleTime", scheduled_ms, true, false),
    NUMBER("nextTime", next_ms, true, false),
    NUMBER("startTime", start_ms, true, false),
    NUMBER("untilTime", until_ms, true, false),
    NUMBER("endTime", ended_ms, true, false),
    NUMBER("failures", failures, false, false),
    NUMBER("lastFailureTime", last_failure_ms, true, false),
    NUMBER("verifiedUntil", verified_until_ms, true, false),
    NUMBER("verifiedSeconds", verified_seconds, false, false),
    NUMBER("verifiedTables", verified_tables, false, false),
};

static int64_t *number_at(const struct drill_summary *summary, size_t i)
{
    return (int64_t *)(void *)((char *)(uintptr_t)summary + numbers[i].offset);
}

void drill_summary_decode(const json_t *status, struct drill_summary *ret)
{
    const json_t *backup = json_object_get(status, "backup"), *drill = json_object_get(backup, "drill");
    *ret = (struct drill_summary){.phase = DRILL_PHASE_NONE};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        snprintf((char *)ret + texts[i].offset, texts[i].size, "%s", json_path_str(drill, texts[i].key, ""));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        const json_t *from = numbers[i].is_above ? backup : drill;
        const char *text = json_path_str(from, numbers[i].key, NULL);
        if (!numbers[i].is_time)
            *number_at(ret, i) = MAX_OF(0, json_path_int(from, numbers[i].key, 0));
        else if (!text || clock_parse_rfc3339(text, number_at(ret, i)) < 0)
            *number_at(ret, i) = 0;
    }
    ret->replays = json_path_bool(drill, "replaysBinlogs", false);
    ret->phase = json_name_index(drill_phase_names, DRILL_PHASE_COUNT, json_path_str(drill, "phase", ""));
}

static json_t *encode_number(const struct drill_summary *summary, size_t i)
{
    char text[CLOCK_RFC3339_SIZE];
    int64_t value = *number_at(summary, i);
    if (value <= 0)
        return json_null();
    if (!numbers[i].is_time)
        return json_integer(value);
    clock_format_rfc3339(value, text);
    return json_string(text);
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_string(text) : json_null();
}

/* One that knows nothing but when it was verified last has no object: the drills were switched off. */
static bool is_off(const struct drill_summary *summary)
{
    return !*summary->schedule && !*summary->problem && summary->phase == DRILL_PHASE_NONE;
}

json_t *drill_summary_patch(const struct drill_summary *summary)
{
    json_t *backup = json_object(), *drill = json_object();
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        json_put(drill, texts[i].key, text_or_null((const char *)summary + texts[i].offset));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        json_put(numbers[i].is_above ? backup : drill, numbers[i].key, encode_number(summary, i));
    json_put(drill, "phase", text_or_null(drill_phase_names[summary->phase]));
    json_put(drill, "replaysBinlogs", summary->replays ? json_true() : json_null());
    json_put(backup, "drill", is_off(summary) ? json_null() : json_incref(drill));
    json_decref(drill);
    return json_build("{s:o}", "backup", backup);
}

bool drill_summary_same(const struct drill_summary *a, const struct drill_summary *b)
{
    _cleanup_(json_decrefp) json_t *a_json = drill_summary_patch(a);
    _cleanup_(json_decrefp) json_t *b_json = drill_summary_patch(b);
    return json_equal(a_json, b_json);
}

const char *drill_reason_name(enum drill_reason reason)
{
    return reason_names[reason];
}

enum drill_reason drill_reason_of(const char *name)
{
    return (enum drill_reason)json_name_index(reason_names, DRILL_REASON_COUNT, str_or_empty(name));
}

enum kube_condition_status drill_reason_status(enum drill_reason reason)
{
    if (reason == DRILL_VERIFIED)
        return KUBE_CONDITION_TRUE;
    bool untried = reason == DRILL_NOT_YET || reason == DRILL_NO_BACKUP;
    return untried ? KUBE_CONDITION_UNKNOWN : KUBE_CONDITION_FALSE;
}
