/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/archive_status.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/json_fields.h"

static const char *const reason_names[ARCHIVE_REASON_COUNT] = {
    [ARCHIVE_OTHER] = "",
    [ARCHIVE_UP_TO_DATE] = "UpToDate",
    [ARCHIVE_STARTING] = "Starting",
    [ARCHIVE_GAP] = "Gap",
    [ARCHIVE_BEHIND] = "Behind",
    [ARCHIVE_NO_BACKUP] = "NoBackup",
};

static const struct {
    const char *key;
    size_t offset, size;
} texts[] = {
#define TEXT(key, member)                                                                            \
    {                                                                                                \
        key, offsetof(struct archive_summary, member), sizeof(((struct archive_summary *)0)->member) \
    }
    TEXT("until", until),
    TEXT("reason", reason),
    TEXT("message", message),
};

static const struct {
    const char *key;
    size_t offset;
    bool is_time;
    bool is_above; /* beside the object "archive", not in it */
} numbers[] = {
#define NUMBER(key, member, ...)                                   \
    {                                                              \
        key, offsetof(struct archive_summary, member), __VA_ARGS__ \
    }
    NUMBER("recoverableFrom", recoverable_from_ms, true, true),
    NUMBER("recoverableUntil", recoverable_until_ms, true, true),
    NUMBER("epoch", epoch, false, false),
    NUMBER("sequence", sequence, false, false),
    NUMBER("segments", segments, false, false),
    NUMBER("untilTime", until_ms, true, false),
    NUMBER("gapTime", gap_ms, true, false),
};

static int64_t *number_at(const struct archive_summary *summary, size_t i)
{
    return (int64_t *)(void *)((char *)(uintptr_t)summary + numbers[i].offset);
}

void archive_summary_decode(const json_t *status, struct archive_summary *ret)
{
    const json_t *backup = json_object_get(status, "backup"), *archive = json_object_get(backup, "archive");
    *ret = (struct archive_summary){.epoch = 0};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        snprintf((char *)ret + texts[i].offset, texts[i].size, "%s", json_path_str(archive, texts[i].key, ""));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        const json_t *from = numbers[i].is_above ? backup : archive;
        const char *text = json_path_str(from, numbers[i].key, NULL);
        if (!numbers[i].is_time)
            *number_at(ret, i) = json_path_int(from, numbers[i].key, 0);
        else if (!text || clock_parse_rfc3339(text, number_at(ret, i)) < 0)
            *number_at(ret, i) = 0;
    }
}

static json_t *encode_number(const struct archive_summary *summary, size_t i)
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

json_t *archive_summary_patch(const struct archive_summary *summary)
{
    json_t *backup = json_object(), *archive = json_object();
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *text = (const char *)summary + texts[i].offset;
        json_put(archive, texts[i].key, *text ? json_string(text) : json_null());
    }
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        json_put(numbers[i].is_above ? backup : archive, numbers[i].key, encode_number(summary, i));
    bool is_empty = !*summary->reason;
    json_put(backup, "archive", is_empty ? json_null() : json_incref(archive));
    json_decref(archive);
    return json_build("{s:o}", "backup", backup);
}

bool archive_summary_same(const struct archive_summary *a, const struct archive_summary *b)
{
    _cleanup_(json_decrefp) json_t *a_json = archive_summary_patch(a);
    _cleanup_(json_decrefp) json_t *b_json = archive_summary_patch(b);
    return json_equal(a_json, b_json);
}

const char *archive_reason_name(enum archive_reason reason)
{
    return reason_names[reason];
}

enum archive_reason archive_reason_of(const char *name)
{
    return (enum archive_reason)json_name_index(reason_names, ARCHIVE_REASON_COUNT, str_or_empty(name));
}

bool archive_reaches(int64_t until_ms, int64_t binlogs_from_ms)
{
    return binlogs_from_ms == 0 || until_ms >= binlogs_from_ms + ARCHIVE_CLOCKS_MS;
}

bool archive_lacks(int64_t until_ms, int64_t primary_from_ms, int64_t binlogs_from_ms)
{
    return !archive_reaches(MAX_OF(until_ms, primary_from_ms), binlogs_from_ms);
}

enum kube_condition_status archive_reason_status(enum archive_reason reason)
{
    if (reason == ARCHIVE_UP_TO_DATE)
        return KUBE_CONDITION_TRUE;
    return reason == ARCHIVE_STARTING ? KUBE_CONDITION_UNKNOWN : KUBE_CONDITION_FALSE;
}
