/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/restore_status.h"

#include "common/clock.h"
#include "common/json.h"
#include "common/json_fields.h"
#include "operator/api/status_values.h"

/* Of a set, in a message. */
#define GTIDS_SHOWN 160

const char *const restore_phase_names[RESTORE_PHASE_COUNT] = {
    [RESTORE_PHASE_NONE] = "",
    [RESTORE_PHASE_RESOLVING] = "Resolving",
    [RESTORE_PHASE_RESTORING] = "Restoring",
    [RESTORE_PHASE_COMPLETED] = "Completed",
    [RESTORE_PHASE_EMPTY] = "Empty",
    [RESTORE_PHASE_SKIPPED] = "Skipped",
};

static const struct {
    const char *key;
    size_t offset, size;
} texts[] = {
#define TEXT(key, member)                                                                            \
    {                                                                                                \
        key, offsetof(struct cluster_restore, member), sizeof(((struct cluster_restore *)0)->member) \
    }
    TEXT("backup", backup),
    TEXT("folder", folder),
    TEXT("location", location),
    TEXT("digest", digest),
    TEXT("gtid", gtid),
    TEXT("binlogsFolder", binlogs),
    TEXT("reason", reason),
    TEXT("message", message),
};

static const struct {
    const char *key;
    size_t offset;
} documents[] = {
    {"from", offsetof(struct cluster_restore, from)},
    {"destination", offsetof(struct cluster_restore, destination)},
    {"encryption", offsetof(struct cluster_restore, encryption)},
};

static json_t **document_of(const struct cluster_restore *restore, size_t i)
{
    return (json_t **)(void *)((char *)(uintptr_t)restore + documents[i].offset);
}

const char *cluster_restore_until_gtid(const struct cluster_restore *restore)
{
    return *restore->binlogs ? json_path_str(restore->from, "gtid", "") : "";
}

json_t *cluster_restore_encode(const struct cluster_restore *restore)
{
    if (restore->phase == RESTORE_PHASE_NONE)
        return NULL;
    json_t *json = json_object();
    json_put_str(json, "phase", restore_phase_names[restore->phase]);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *text = (const char *)restore + texts[i].offset;
        if (*text)
            json_put_str(json, texts[i].key, text);
    }
    char until[POSITION_TOLD_SIZE]; /* for people, and for earlier versions */
    position_tell(until, cluster_restore_until_gtid(restore));
    if (*until)
        json_put_str(json, "untilGtid", until);
    if (restore->bytes > 0)
        json_put_int(json, "bytes", (int64_t)MIN_OF(restore->bytes, (uint64_t)INT64_MAX));
    status_put_time(json, "untilTime", restore->until_ms);
    status_put_time(json, "startTime", restore->start_ms);
    status_put_time(json, "completionTime", restore->completion_ms);
    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        if (*document_of(restore, i))
            json_put(json, documents[i].key, json_deep_copy(*document_of(restore, i)));
    }
    return json;
}

enum restore_phase restore_phase_of(const char *name)
{
    return (enum restore_phase)json_name_index(restore_phase_names, RESTORE_PHASE_COUNT, name);
}

/* One of a newer operator: whatever it is, no empty database is made. */
static enum restore_phase phase_named(const char *name)
{
    enum restore_phase phase = restore_phase_of(name);
    return phase == RESTORE_PHASE_NONE && *name ? RESTORE_PHASE_RESOLVING : phase;
}

void cluster_restore_decode(const json_t *json, struct cluster_restore *ret)
{
    *ret = (struct cluster_restore){0};
    if (!json_is_object(json))
        return;
    ret->phase = phase_named(json_path_str(json, "phase", ""));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        snprintf((char *)ret + texts[i].offset, texts[i].size, "%s", json_path_str(json, texts[i].key, ""));
    ret->bytes = (uint64_t)MAX_OF(0, json_path_int(json, "bytes", 0));
    ret->until_ms = status_read_time(json, "untilTime");
    ret->start_ms = status_read_time(json, "startTime");
    ret->completion_ms = status_read_time(json, "completionTime");
    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        const json_t *value = json_object_get(json, documents[i].key);
        *document_of(ret, i) = json_is_object(value) ? json_deep_copy(value) : NULL;
    }
}

void cluster_restore_copy(const struct cluster_restore *from, struct cluster_restore *ret)
{
    struct cluster_restore copy = *from;
    for (size_t i = 0; i < ARRAY_LEN(documents); i++)
        *document_of(&copy, i) = json_deep_copy(*document_of(from, i));
    *ret = copy;
}

void cluster_restore_release(struct cluster_restore *restore)
{
    for (size_t i = 0; i < ARRAY_LEN(documents); i++)
        json_decref(*document_of(restore, i));
    *restore = (struct cluster_restore){0};
}

static bool same_document(const json_t *a, const json_t *b)
{
    return a == b || (a && b && json_equal(a, b));
}

bool cluster_restore_same(const struct cluster_restore *a, const struct cluster_restore *b)
{
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (strcmp((const char *)a + texts[i].offset, (const char *)b + texts[i].offset) != 0)
            return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
        if (!same_document(*document_of(a, i), *document_of(b, i)))
            return false;
    }
    /* Times are written in whole seconds. */
    return a->phase == b->phase && a->bytes == b->bytes && a->until_ms / 1000 == b->until_ms / 1000 &&
        a->start_ms / 1000 == b->start_ms / 1000 && a->completion_ms / 1000 == b->completion_ms / 1000;
}

void cluster_restore_point_text(const struct cluster_restore *restore, struct strbuf *out)
{
    char when[CLOCK_RFC3339_SIZE];
    const char *gtids = cluster_restore_until_gtid(restore);
    if (!*restore->binlogs)
        return;
    strbuf_addf(out, " and of the binary logs archived in %s", restore->binlogs);
    clock_format_rfc3339(restore->until_ms, when);
    if (*gtids)
        strbuf_addf(out, " until %.*s%s", GTIDS_SHOWN, gtids, strlen(gtids) > GTIDS_SHOWN ? "..." : "");
    else if (restore->until_ms > 0)
        strbuf_addf(out, " until %s", when);
    else
        strbuf_adds(out, ", up to their end");
}

void cluster_restore_begin(struct cluster_restore *restore, const json_t *from, int64_t now_ms)
{
    json_t *copy = json_deep_copy(from);
    cluster_restore_release(restore);
    *restore = (struct cluster_restore){.phase = RESTORE_PHASE_RESOLVING, .start_ms = now_ms, .from = copy};
}
