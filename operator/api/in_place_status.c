/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/in_place_status.h"

#include "common/json.h"
#include "operator/api/status_values.h"

#define ORDINALS_MAX 64

const char *const in_place_phase_names[IN_PLACE_PHASE_COUNT] = {
    [IN_PLACE_PHASE_NONE] = "",
    [IN_PLACE_PHASE_RESOLVING] = "Resolving",
    [IN_PLACE_PHASE_RESTORING] = "Restoring",
    [IN_PLACE_PHASE_TAKING] = "Taking",
    [IN_PLACE_PHASE_RESEEDING] = "Reseeding",
    [IN_PLACE_PHASE_COMPLETED] = "Completed",
    [IN_PLACE_PHASE_FAILED] = "Failed",
};

const char *const in_place_refusal_names[IN_PLACE_REFUSAL_COUNT] = {
    [IN_PLACE_REFUSAL_NONE] = "",
    [IN_PLACE_REFUSAL_OUTDATED] = "StatusOutdated",
    [IN_PLACE_REFUSAL_OLD_WISH] = "WishOlderThanCluster",
};

static const struct {
    const char *key;
    size_t offset, size;
} texts[] = {
#define TEXT(key, member)                                                                              \
    {                                                                                                  \
        key, offsetof(struct cluster_in_place, member), sizeof(((struct cluster_in_place *)0)->member) \
    }
    TEXT("wish", wish),
    TEXT("member", member),
    TEXT("reason", reason),
    TEXT("message", message),
};

static void put_ordinals(json_t *json, const char *key, uint64_t bits)
{
    if (bits == 0)
        return;
    json_t *ordinals = json_array();
    for (int i = 0; i < ORDINALS_MAX; i++) {
        if (bits >> i & 1)
            json_array_append_new(ordinals, json_integer(i));
    }
    json_put(json, key, ordinals);
}

static uint64_t read_ordinals(const json_t *array)
{
    uint64_t ret = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *element = json_array_get(array, i);
        json_int_t ordinal = json_is_integer(element) ? json_integer_value(element) : -1;
        if (ordinal >= 0 && ordinal < ORDINALS_MAX)
            ret |= UINT64_C(1) << ordinal;
    }
    return ret;
}

json_t *cluster_in_place_encode(const struct cluster_in_place *in_place)
{
    if (in_place->phase == IN_PLACE_PHASE_NONE)
        return NULL;
    json_t *json = json_object();
    json_put_str(json, "phase", in_place_phase_names[in_place->phase]);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        const char *text = (const char *)in_place + texts[i].offset;
        if (*text)
            json_put_str(json, texts[i].key, text);
    }
    json_put_int(json, "number", in_place->number);
    if (in_place->taken > 0)
        json_put_int(json, "taken", in_place->taken);
    if (in_place->taken_epoch > 0)
        json_put_int(json, "takenEpoch", in_place->taken_epoch);
    put_ordinals(json, "stale", in_place->stale);
    status_put_time(json, "startTime", in_place->start_ms);
    status_put_time(json, "completionTime", in_place->completion_ms);
    json_t *source = cluster_restore_encode(&in_place->source);
    if (source)
        json_put(json, "source", source);
    return json;
}

static enum in_place_phase phase_named(const char *name)
{
    for (int phase = IN_PLACE_PHASE_NONE; phase < IN_PLACE_PHASE_COUNT; phase++) {
        if (str_eq(in_place_phase_names[phase], name))
            return (enum in_place_phase)phase;
    }
    return IN_PLACE_PHASE_TAKING; /* of a newer operator: nobody else is opened */
}

bool in_place_phase_is_step(const char *name)
{
    for (int phase = IN_PLACE_PHASE_RESOLVING; phase <= IN_PLACE_PHASE_RESEEDING; phase++) {
        if (str_eq(in_place_phase_names[phase], name))
            return true;
    }
    return false;
}

void cluster_in_place_decode(const json_t *json, struct cluster_in_place *ret)
{
    *ret = (struct cluster_in_place){0};
    if (!json_is_object(json))
        return;
    ret->phase = phase_named(json_path_str(json, "phase", ""));
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        snprintf((char *)ret + texts[i].offset, texts[i].size, "%s", json_path_str(json, texts[i].key, ""));
    ret->number = MAX_OF(0, json_path_int(json, "number", 0));
    ret->taken = MAX_OF(0, json_path_int(json, "taken", 0));
    ret->taken_epoch = MAX_OF(0, json_path_int(json, "takenEpoch", 0));
    ret->stale = read_ordinals(json_object_get(json, "stale"));
    ret->start_ms = status_read_time(json, "startTime");
    ret->completion_ms = status_read_time(json, "completionTime");
    cluster_restore_decode(json_object_get(json, "source"), &ret->source);
}

void cluster_in_place_copy(const struct cluster_in_place *from, struct cluster_in_place *ret)
{
    *ret = *from;
    cluster_restore_copy(&from->source, &ret->source);
}

void cluster_in_place_release(struct cluster_in_place *in_place)
{
    cluster_restore_release(&in_place->source);
    *in_place = (struct cluster_in_place){0};
}

static enum in_place_refusal refusal_named(const char *name)
{
    for (int refusal = IN_PLACE_REFUSAL_NONE; refusal < IN_PLACE_REFUSAL_COUNT; refusal++) {
        if (str_eq(in_place_refusal_names[refusal], name))
            return (enum in_place_refusal)refusal;
    }
    return IN_PLACE_REFUSAL_NONE;
}

enum in_place_refusal cluster_in_place_refusal(const struct cluster_in_place *in_place)
{
    return in_place->phase == IN_PLACE_PHASE_FAILED ? refusal_named(in_place->reason) : IN_PLACE_REFUSAL_NONE;
}

bool cluster_in_place_is_over(const struct cluster_in_place *in_place)
{
    return in_place->phase == IN_PLACE_PHASE_NONE || in_place->phase == IN_PLACE_PHASE_COMPLETED ||
        in_place->phase == IN_PLACE_PHASE_FAILED;
}

void cluster_history_name(const char *uid, int64_t taken, char *out, size_t size)
{
    if (taken > 0)
        snprintf(out, size, "%s-r%lld", uid, (long long)taken);
    else
        snprintf(out, size, "%s", uid);
}
