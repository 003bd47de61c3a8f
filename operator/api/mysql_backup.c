/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/mysql_backup.h"

#include "common/json.h"
#include "common/json_fields.h"
#include "operator/api/api_fields.h"
#include "operator/api/ready_conditions.h"
#include "operator/api/status_values.h"

const char *const backup_phase_names[BACKUP_PHASE_COUNT] = {
    [BACKUP_PHASE_NONE] = "",
    [BACKUP_PHASE_PENDING] = "Pending",
    [BACKUP_PHASE_RUNNING] = "Running",
    [BACKUP_PHASE_COMPLETED] = "Completed",
    [BACKUP_PHASE_FAILED] = "Failed",
};

const char *const backup_verdict_names[BACKUP_VERDICT_COUNT] = {
    [BACKUP_VERIFIED_NEVER] = "",
    [BACKUP_VERIFIED_PASSED] = "Passed",
    [BACKUP_VERIFIED_FAILED] = "Failed",
};

static const char *const condition_types[] = {CONDITION_BACKUP_ACCEPTED, CONDITION_BACKUP_COMPLETE,
    CONDITION_BACKUP_FAILED, CONDITION_BACKUP_CLEAN, CONDITION_READY, CONDITION_RECONCILING, CONDITION_STALLED, NULL};

/* ---- spec ---- */

static int64_t within(const json_t *spec, const char *path, int64_t min, int64_t max, int64_t instead)
{
    int64_t value = json_path_int(spec, path, instead);
    return value < min || value > max ? instead : value;
}

static void read_spec(struct mysql_backup *ret)
{
    const json_t *spec = ret->document;
    ret->cluster = json_path_str(spec, "cluster", "");
    ret->donor = json_path_str(spec, "donor", NULL);
    backup_destination_read(json_object_get(spec, "destination"), &ret->destination);
    backup_encryption_read(json_object_get(spec, "encryption"), &ret->encryption);
    ret->method = json_name_index(backup_method_names, BACKUP_METHOD_COUNT, json_path_str(spec, "method", ""));
    ret->compression =
        json_name_index(backup_compression_names, BACKUP_COMPRESSION_COUNT, json_path_str(spec, "compression", ""));
    ret->deadline_seconds = within(spec, "deadlineSeconds", BACKUP_DEADLINE_SECONDS_MIN, BACKUP_DEADLINE_SECONDS_MAX,
        BACKUP_DEADLINE_SECONDS_DEFAULT);
    ret->deletion_policy =
        str_eq(json_path_str(spec, "deletionPolicy", NULL), "Delete") ? BACKUP_DELETION_DELETE : BACKUP_DELETION_RETAIN;
    ret->rate_limit = (uint64_t)within(spec, "rateLimitBytesPerSecond", BACKUP_RATE_MIN, BACKUP_RATE_MAX, 0);
}

static void check_name(const char *name, struct api_problems *problems)
{
    size_t len = strlen(name);
    if (len > BACKUP_NAME_MAX || strchr(name, '.'))
        api_problems_add(problems, "metadata.name",
            "must have at most %d characters and no '.', because objects in the store and a label are named after it",
            BACKUP_NAME_MAX);
}

int mysql_backup_parse(
    const char *ns, const char *name, json_t *spec, struct mysql_backup *ret, struct api_problems *problems)
{
    int before = problems->count;
    *ret = (struct mysql_backup){.ns = ns, .name = name};
    check_name(name, problems);
    if (!json_is_object(spec))
        return api_problems_add(problems, "spec", "is required");
    api_fields_check(spec, "spec", mysql_backup_fields, problems);
    ret->document = json_incref(spec);
    read_spec(ret);
    if (problems->count == before)
        backup_destination_check(json_object_get(spec, "destination"), "spec.destination", problems);
    return problems->count > before ? -1 : 0;
}

static void replace_document(struct mysql_backup *backup, json_t *document)
{
    json_decref(backup->document);
    backup->document = document;
    read_spec(backup);
}

void mysql_backup_inherit(struct mysql_backup *backup, const json_t *cluster_backup)
{
    static const char *const inherited[] = {"destination", "method", "compression", "encryption"};
    if (!backup->document || json_object_get(backup->document, "destination") || !cluster_backup)
        return;
    json_t *document = json_copy(backup->document);
    for (size_t i = 0; i < ARRAY_LEN(inherited); i++) {
        json_t *value = json_object_get(cluster_backup, inherited[i]);
        if (value && !json_object_get(document, inherited[i]))
            json_object_set(document, inherited[i], value);
    }
    replace_document(backup, document);
}

void mysql_backup_take_used(struct mysql_backup *backup, const json_t *destination, const json_t *encryption)
{
    json_t *document = backup->document ? json_copy(backup->document) : json_object();
    json_object_set(document, "destination", (json_t *)destination);
    json_object_del(document, "encryption");
    if (encryption)
        json_object_set(document, "encryption", (json_t *)encryption);
    replace_document(backup, document);
}

void mysql_backup_release(struct mysql_backup *backup)
{
    json_decref(backup->document);
    *backup = (struct mysql_backup){0};
}

/* ---- status ---- */

#define FIELD(key, type, member) JSON_FIELD(backup_status, key, JSON_FIELD_##type, CHANGE_COUNTS, member)
static const struct json_field fields[] = {
    FIELD("message", TEXT, message),
    FIELD("donor", TEXT, donor),
    FIELD("donorProcess", TEXT, donor_process),
    FIELD("id", TEXT, id),
    FIELD("received", BOOL, received),
    FIELD("rawBytes", U64, raw_bytes),
    FIELD("storedBytes", U64, stored_bytes),
    FIELD("dataBytes", U64, data_bytes),
    FIELD("bytesPerSecond", U64, bytes_per_second),
    FIELD("estimatedBytes", U64, estimated_bytes),
    FIELD("gtid", TEXT, gtid),
    FIELD("serverVersion", TEXT, server_version),
    FIELD("flavour", TEXT, flavour),
    FIELD("method", TEXT, method),
    FIELD("compression", TEXT, compression),
    FIELD("encrypted", BOOL, encrypted),
    FIELD("keyId", TEXT, key_id),
    FIELD("secretsVersion", TEXT, secrets_version),
    FIELD("digest", TEXT, digest),
    FIELD("location", TEXT, location),
    FIELD("clusterUid", TEXT, cluster_uid),
    FIELD("history", TEXT, history),
};
#undef FIELD
#define FIELD(key, type, member) JSON_FIELD(backup_attempt, key, JSON_FIELD_##type, CHANGE_COUNTS, member)
static const struct json_field attempt_fields[] = {
    FIELD("id", TEXT, id),
    FIELD("donor", TEXT, donor),
    FIELD("reason", TEXT, reason),
    FIELD("message", TEXT, message),
    FIELD("cleaned", BOOL, cleaned),
};
#undef FIELD

const char *backup_status_history(const struct backup_status *status)
{
    return *status->history ? status->history : status->cluster_uid;
}

bool backup_phase_is_final(enum backup_phase phase)
{
    return phase == BACKUP_PHASE_COMPLETED || phase == BACKUP_PHASE_FAILED;
}

void backup_size_text(uint64_t bytes, char out[static 16])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < ARRAY_LEN(units)) {
        value /= 1024;
        unit++;
    }
    snprintf(out, 16, unit > 0 && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void add_time_left(uint64_t seconds, struct strbuf *out)
{
    if (seconds < 120)
        strbuf_addf(out, ", about %llu s left", (unsigned long long)seconds);
    else if (seconds < 7200)
        strbuf_addf(out, ", about %llu min left", (unsigned long long)(seconds + 59) / 60);
    else
        strbuf_addf(out, ", about %llu h left", (unsigned long long)(seconds + 3599) / 3600);
}

void backup_progress_text(const struct backup_status *status, struct strbuf *out)
{
    char read[16], all[16], rate[16];
    uint64_t bytes = status->raw_bytes, estimate = status->estimated_bytes;
    if (status->phase != BACKUP_PHASE_RUNNING || bytes == 0)
        return;
    backup_size_text(bytes, read);
    backup_size_text(estimate, all);
    backup_size_text(status->bytes_per_second, rate);
    strbuf_adds(out, read);
    if (estimate > bytes)
        strbuf_addf(out, " of about %s (%llu %%)", all, (unsigned long long)(bytes / (estimate / 100 + 1)));
    if (status->bytes_per_second > 0)
        strbuf_addf(out, ", %s/s", rate);
    if (estimate > bytes && status->bytes_per_second > 0)
        add_time_left((estimate - bytes + status->bytes_per_second - 1) / status->bytes_per_second, out);
}

static json_t *encode_failures(const struct backup_status *status)
{
    json_t *list = json_array();
    for (int i = 0; i < status->failure_count; i++) {
        json_t *item = json_object();
        json_fields_encode(attempt_fields, ARRAY_LEN(attempt_fields), &status->failures[i], item);
        status_put_time(item, "sweptTime", status->failures[i].swept_ms);
        json_array_append_new(list, item);
    }
    return list;
}

json_t *backup_status_encode(const struct backup_status *status)
{
    json_t *json = json_object();
    char size[16];
    _cleanup_(strbuf_release) struct strbuf progress;
    strbuf_init(&progress, 160);
    backup_progress_text(status, &progress);
    json_put_int(json, "observedGeneration", status->observed_generation);
    json_put_str(json, "phase", status->phase ? backup_phase_names[status->phase] : NULL);
    json_fields_encode(fields, ARRAY_LEN(fields), status, json);
    if (status->attempt > 0)
        json_put_int(json, "attempt", status->attempt);
    status_put_time(json, "startTime", status->start_ms);
    status_put_time(json, "completionTime", status->completion_ms);
    status_put_time(json, "retryTime", status->retry_ms);
    backup_size_text(status->stored_bytes, size);
    json_put_str(json, "size", status->stored_bytes > 0 ? size : NULL);
    json_put_str(json, "progress", progress.len > 0 ? progress.buf : NULL);
    json_put(json, "destination", json_deep_copy(status->destination));
    json_put(json, "encryption", json_deep_copy(status->encryption));
    if (status->verified_ms > 0) {
        json_t *verified = json_object();
        status_put_time(verified, "time", status->verified_ms);
        json_put_str(verified, "result", status->verified ? backup_verdict_names[status->verified] : NULL);
        json_put_str(verified, "message", status->verified_message);
        json_put(json, "verified", verified);
    }
    if (status->failure_count > 0)
        json_put(json, "failures", encode_failures(status));
    if (status->conditions.count > 0)
        json_put(json, "conditions", kube_conditions_encode(&status->conditions));
    return json;
}

static void decode_failures(const json_t *list, struct backup_status *ret)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item) {
        if (ret->failure_count == BACKUP_ATTEMPTS_MAX)
            return;
        struct backup_attempt *attempt = &ret->failures[ret->failure_count];
        struct error err = ERROR_INIT;
        if (json_fields_decode(attempt_fields, ARRAY_LEN(attempt_fields), item, attempt, &err) == 0) {
            attempt->swept_ms = status_read_time(item, "sweptTime");
            ret->failure_count++;
        } else
            *attempt = (struct backup_attempt){.cleaned = false};
    }
}

static json_t *object_of(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    return json_is_object(value) ? json_deep_copy(value) : NULL;
}

void backup_status_decode(const json_t *json, struct backup_status *ret)
{
    struct error err = ERROR_INIT;
    *ret = (struct backup_status){.phase = BACKUP_PHASE_NONE};
    if (!json)
        return;
    if (json_fields_decode(fields, ARRAY_LEN(fields), json, ret, &err) < 0)
        *ret = (struct backup_status){.phase = BACKUP_PHASE_NONE};
    ret->observed_generation = json_path_int(json, "observedGeneration", 0);
    ret->phase = json_name_index(backup_phase_names, BACKUP_PHASE_COUNT, json_path_str(json, "phase", ""));
    ret->attempt = (int)within(json, "attempt", 0, BACKUP_ATTEMPTS_MAX, 0);
    ret->start_ms = status_read_time(json, "startTime");
    ret->completion_ms = status_read_time(json, "completionTime");
    ret->retry_ms = status_read_time(json, "retryTime");
    ret->verified_ms = status_read_time(json, "verified.time");
    ret->verified =
        json_name_index(backup_verdict_names, BACKUP_VERDICT_COUNT, json_path_str(json, "verified.result", ""));
    snprintf(ret->verified_message, sizeof(ret->verified_message), "%s", json_path_str(json, "verified.message", ""));
    ret->destination = object_of(json, "destination");
    ret->encryption = object_of(json, "encryption");
    decode_failures(json_object_get(json, "failures"), ret);
    kube_conditions_decode(json_object_get(json, "conditions"), condition_types, &ret->conditions);
}

void backup_status_copy(const struct backup_status *from, struct backup_status *ret)
{
    *ret = *from;
    ret->destination = json_deep_copy(from->destination);
    ret->encryption = json_deep_copy(from->encryption);
}

void backup_status_release(struct backup_status *status)
{
    json_decref(status->destination);
    json_decref(status->encryption);
    *status = (struct backup_status){.phase = BACKUP_PHASE_NONE};
}

bool backup_status_same(const struct backup_status *a, const struct backup_status *b)
{
    _cleanup_(json_decrefp) json_t *a_json = backup_status_encode(a);
    _cleanup_(json_decrefp) json_t *b_json = backup_status_encode(b);
    return json_equal(a_json, b_json);
}
