/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/final_backup_status.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "operator/api/status_values.h"

const char *const final_backup_phase_names[FINAL_BACKUP_PHASE_COUNT] = {
    [FINAL_BACKUP_NONE] = "",
    [FINAL_BACKUP_CLOSING] = "Closing",
    [FINAL_BACKUP_RUNNING] = "Running",
    [FINAL_BACKUP_COMPLETED] = "Completed",
};

static const struct {
    const char *key;
    size_t offset, size; /* size 0: a time */
} members[] = {
#define TEXT(key, member)                                                                                      \
    {                                                                                                          \
        key, offsetof(struct cluster_final_backup, member), sizeof(((struct cluster_final_backup *)0)->member) \
    }
#define TIME(key, member)                                     \
    {                                                         \
        key, offsetof(struct cluster_final_backup, member), 0 \
    }
    TEXT("primary", primary),
    TEXT("backup", backup),
    TEXT("failure", failure),
    TIME("startTime", start_ms),
    TIME("closingTime", closing_ms),
    TIME("closedTime", closed_ms),
    TIME("retryTime", retry_ms),
    TIME("completionTime", completion_ms),
};

static int64_t time_of(const struct cluster_final_backup *final, size_t i)
{
    return *(const int64_t *)(const void *)((const char *) final + members[i].offset);
}

json_t *cluster_final_backup_encode(const struct cluster_final_backup *final)
{
    if (final->phase == FINAL_BACKUP_NONE)
        return NULL;
    json_t *json = json_object();
    json_put_str(json, "phase", final_backup_phase_names[final->phase]);
    if (final->epoch > 0)
        json_put_int(json, "epoch", final->epoch);
    if (final->failures > 0)
        json_put_int(json, "failures", final->failures);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *text = (const char *) final + members[i].offset;
        if (members[i].size == 0)
            status_put_time_ms(json, members[i].key, time_of(final, i));
        else if (*text)
            json_put_str(json, members[i].key, text);
    }
    return json;
}

enum final_backup_phase final_backup_phase_of(const char *name)
{
    return (enum final_backup_phase)json_name_index(final_backup_phase_names, FINAL_BACKUP_PHASE_COUNT, name);
}

/* One of a newer operator: the primary may be closed, and nothing is known to be stored. */
static enum final_backup_phase phase_named(const char *name)
{
    enum final_backup_phase phase = final_backup_phase_of(name);
    return phase == FINAL_BACKUP_NONE && *name ? FINAL_BACKUP_CLOSING : phase;
}

void cluster_final_backup_decode(const json_t *json, struct cluster_final_backup *ret)
{
    *ret = (struct cluster_final_backup){.phase = FINAL_BACKUP_NONE};
    if (!json_is_object(json))
        return;
    ret->phase = phase_named(json_path_str(json, "phase", ""));
    ret->epoch = MAX_OF(json_path_int(json, "epoch", 0), 0);
    ret->failures = (int)MIN_OF(MAX_OF(json_path_int(json, "failures", 0), 0), INT_MAX);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *text = json_path_str(json, members[i].key, "");
        char *at = (char *)ret + members[i].offset;
        int64_t realtime_ms;
        if (members[i].size > 0)
            snprintf(at, members[i].size, "%s", text);
        else if (clock_parse_rfc3339(text, &realtime_ms) == 0 && realtime_ms > 0)
            *(int64_t *)(void *)at = realtime_ms;
    }
}

bool cluster_final_backup_same(const struct cluster_final_backup *a, const struct cluster_final_backup *b)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        bool same = members[i].size == 0
            ? time_of(a, i) == time_of(b, i)
            : strcmp((const char *)a + members[i].offset, (const char *)b + members[i].offset) == 0;
        if (!same)
            return false;
    }
    return a->phase == b->phase && a->epoch == b->epoch && a->failures == b->failures;
}
