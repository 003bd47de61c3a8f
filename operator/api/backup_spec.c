/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/backup_spec.h"

#include "common/clock.h"
#include "common/json.h"
#include "operator/api/api_fields.h"

#define PATH "spec.backup"

/* ---- spec ---- */

static int int_at(const json_t *backup, const char *path)
{
    int64_t value = json_path_int(backup, path, 0);
    return value < 0 || value > BACKUP_KEEP_MAX ? 0 : (int)value;
}

static void read_keep(const json_t *backup, struct backup_keep *ret)
{
    *ret = (struct backup_keep){
        .present = json_is_object(json_object_get(backup, "keep")),
        .last = int_at(backup, "keep.last"),
        .daily = int_at(backup, "keep.daily"),
        .weekly = int_at(backup, "keep.weekly"),
        .days = int_at(backup, "keep.days"),
    };
}

/* A schedule that cannot be read is none. */
static void read_schedule(const json_t *backup, struct backup_spec *ret)
{
    const char *schedule = json_path_str(backup, "schedule", NULL);
    if (schedule && cron_parse(schedule, &ret->cron, NULL) == 0)
        ret->schedule = schedule;
    ret->time_zone = json_path_str(backup, "timeZone", BACKUP_TIME_ZONE_DEFAULT);
}

static void read_archive(const json_t *backup, struct backup_spec *ret)
{
    const char *none = backup_compression_names[BACKUP_COMPRESSION_NONE];
    int64_t interval_s = json_path_int(backup, "binlogs.intervalSeconds", ARCHIVE_INTERVAL_DEFAULT_S);
    ret->archives = json_path_bool(backup, "binlogs.enabled", false);
    ret->archive_interval_s = (int)interval_s;
    ret->compression =
        str_eq(json_path_str(backup, "compression", ""), none) ? BACKUP_COMPRESSION_NONE : BACKUP_COMPRESSION_ZSTD;
}

static void read_drill(const json_t *backup, struct backup_spec *ret)
{
    const char *schedule = json_path_str(backup, "drill.schedule", NULL);
    if (schedule && cron_parse(schedule, &ret->drill_cron, NULL) == 0)
        ret->drill_schedule = schedule;
    ret->drill_deadline_s = json_path_int(backup, "drill.deadlineSeconds", DRILL_DEADLINE_SECONDS_DEFAULT);
}

static void check_drill(const json_t *backup, struct api_problems *problems)
{
    struct error err = ERROR_INIT;
    struct cron cron;
    const char *schedule = json_path_str(backup, "drill.schedule", NULL);
    if (!schedule)
        return;
    if (cron_parse(schedule, &cron, &err) < 0)
        api_problems_add(problems, PATH ".drill.schedule", "%s", err.message);
    if (!json_is_object(json_object_get(backup, "destination")))
        api_problems_add(problems, PATH ".destination", "is required by drill");
}

int backup_spec_check(const json_t *backup, struct api_problems *problems)
{
    int before = problems->count;
    struct error err = ERROR_INIT;
    struct cron cron;
    const char *schedule = json_path_str(backup, "schedule", NULL);
    const json_t *destination = json_object_get(backup, "destination"), *keep = json_object_get(backup, "keep");
    if (schedule && cron_parse(schedule, &cron, &err) < 0)
        api_problems_add(problems, PATH ".schedule", "%s", err.message);
    if (schedule && !json_is_object(destination))
        api_problems_add(problems, PATH ".destination", "is required by schedule");
    else if (json_path_bool(backup, "binlogs.enabled", false) && !json_is_object(destination))
        api_problems_add(problems, PATH ".destination", "is required by binlogs.enabled");
    if (json_is_object(keep) && json_object_size(keep) == 0)
        api_problems_add(problems, PATH ".keep", "needs last, daily, weekly or days");
    check_drill(backup, problems);
    backup_destination_check(destination, PATH ".destination", problems);
    return problems->count > before ? -1 : 0;
}

int backup_spec_parse(const json_t *backup, struct backup_spec *ret, struct api_problems *problems)
{
    int before = problems->count;
    *ret =
        (struct backup_spec){.time_zone = BACKUP_TIME_ZONE_DEFAULT, .drill_deadline_s = DRILL_DEADLINE_SECONDS_DEFAULT};
    if (!backup || json_is_null(backup))
        return 0;
    _cleanup_(json_decrefp) json_t *around = json_object();
    json_object_set(around, "backup", (json_t *)backup);
    api_fields_check(around, "spec", backup_spec_fields, problems);
    if (problems->count > before || backup_spec_check(backup, problems) < 0)
        return -1;
    ret->document = backup;
    read_schedule(backup, ret);
    backup_destination_read(json_object_get(backup, "destination"), &ret->destination);
    backup_encryption_read(json_object_get(backup, "encryption"), &ret->encryption);
    read_keep(backup, &ret->keep);
    ret->suspend = json_path_bool(backup, "suspend", false);
    read_archive(backup, ret);
    read_drill(backup, ret);
    return 0;
}

void backup_spec_schedule_text(const struct backup_spec *spec, struct strbuf *out)
{
    if (spec->schedule)
        strbuf_addf(out, "%s %s", spec->schedule, spec->time_zone);
}

json_t *backup_spec_of_run(const struct backup_spec *spec, const char *cluster)
{
    static const char *const taken[] = {
        "destination", "method", "compression", "encryption", "deadlineSeconds", "rateLimitBytesPerSecond"};
    json_t *ret = json_object();
    json_put_str(ret, "cluster", cluster);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        const json_t *value = json_object_get(spec->document, taken[i]);
        if (value && !json_is_null(value))
            json_put(ret, taken[i], json_deep_copy(value));
    }
    json_put_str(ret, "deletionPolicy", "Delete");
    return ret;
}

json_t *backup_spec_of_final(const struct backup_spec *spec, const char *cluster, int64_t deadline_seconds)
{
    json_t *ret = backup_spec_of_run(spec, cluster);
    json_put_int(ret, "deadlineSeconds", deadline_seconds);
    json_put_str(ret, "deletionPolicy", "Retain");
    return ret;
}

/* ---- status ---- */

struct member {
    const char *key;
    size_t offset, size; /* size 0: a time */
};
#define TEXT(key, member)                                                                          \
    {                                                                                              \
        key, offsetof(struct backup_summary, member), sizeof(((struct backup_summary *)0)->member) \
    }
#define TIME(key, member)                               \
    {                                                   \
        key, offsetof(struct backup_summary, member), 0 \
    }
static const struct member members[] = {
    TEXT("schedule", schedule),
    TIME("lastScheduleTime", scheduled_ms),
    TIME("nextBackupTime", next_ms),
    TEXT("lastBackup", last_backup),
    TIME("lastBackupTime", last_backup_ms),
    TEXT("lastFailure", last_failure),
    TIME("lastFailureTime", last_failure_ms),
    TEXT("problem", problem),
};

static int64_t time_of(const struct backup_summary *summary, const struct member *member)
{
    return *(const int64_t *)(const void *)((const char *)summary + member->offset);
}

void backup_summary_decode(const json_t *status, struct backup_summary *ret)
{
    const json_t *backup = json_object_get(status, "backup");
    *ret = (struct backup_summary){.suspended = json_path_bool(backup, "suspended", false)};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *text = json_path_str(backup, members[i].key, "");
        char *at = (char *)ret + members[i].offset;
        int64_t ms;
        if (members[i].size > 0)
            snprintf(at, members[i].size, "%s", text);
        else if (clock_parse_rfc3339(text, &ms) == 0 && ms > 0)
            *(int64_t *)(void *)at = ms;
    }
}

static json_t *encode_time(int64_t realtime_ms)
{
    char text[CLOCK_RFC3339_SIZE];
    if (realtime_ms <= 0)
        return json_null();
    clock_format_rfc3339(realtime_ms, text);
    return json_string(text);
}

json_t *backup_summary_patch(const struct backup_summary *summary)
{
    json_t *backup = json_object();
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *text = (const char *)summary + members[i].offset;
        if (members[i].size == 0)
            json_put(backup, members[i].key, encode_time(time_of(summary, &members[i])));
        else if (*text)
            json_put_str(backup, members[i].key, text);
        else
            json_put(backup, members[i].key, json_null());
    }
    json_put(backup, "suspended", summary->suspended ? json_true() : json_null());
    return json_build("{s:o, s:o}", "backup", backup, "lastBackupTime", encode_time(summary->last_backup_ms));
}

bool backup_summary_same(const struct backup_summary *a, const struct backup_summary *b)
{
    _cleanup_(json_decrefp) json_t *a_json = backup_summary_patch(a);
    _cleanup_(json_decrefp) json_t *b_json = backup_summary_patch(b);
    return json_equal(a_json, b_json);
}
