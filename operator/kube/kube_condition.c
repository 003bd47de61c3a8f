/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/kube_condition.h"

#include "common/json.h"

static const char *const status_names[] = {
    [KUBE_CONDITION_UNKNOWN] = "Unknown",
    [KUBE_CONDITION_TRUE] = "True",
    [KUBE_CONDITION_FALSE] = "False",
};

static struct kube_condition *find(struct kube_conditions *conditions, const char *type)
{
    for (int i = 0; i < conditions->count; i++) {
        if (str_eq(conditions->items[i].type, type))
            return &conditions->items[i];
    }
    return NULL;
}

const struct kube_condition *kube_conditions_find(const struct kube_conditions *conditions, const char *type)
{
    return find((struct kube_conditions *)(uintptr_t)conditions, type);
}

bool kube_condition_stays(const struct kube_condition *before, const struct kube_condition *now)
{
    return before && now && before->status == now->status && str_eq(before->reason, now->reason);
}

bool kube_condition_says(const struct kube_condition *condition, const char *reason, const char *message)
{
    return condition && str_eq(condition->reason, reason) && str_eq(condition->message, message);
}

bool kube_conditions_is_true(const struct kube_conditions *conditions, const char *type)
{
    const struct kube_condition *condition = kube_conditions_find(conditions, type);
    return condition && condition->status == KUBE_CONDITION_TRUE;
}

/* Cuts with "...", never inside a UTF-8 character. */
static void set_text(char *out, size_t size, const char *text)
{
    static const char dots[] = "...";
    size_t len = strlen(text);
    if (len < size) {
        memcpy(out, text, len + 1);
        return;
    }
    size_t keep = size - sizeof(dots);
    while (keep > 0 && ((unsigned char)text[keep] & 0xC0) == 0x80)
        keep--;
    memcpy(out, text, keep);
    memcpy(out + keep, dots, sizeof(dots));
}

KM_PRINTF(2, 0)
static void set_message(char out[static KUBE_CONDITION_MESSAGE_MAX], const char *fmt, va_list ap)
{
    char text[KUBE_CONDITION_MESSAGE_MAX * 2];
    vsnprintf(text, sizeof(text), fmt, ap);
    set_text(out, KUBE_CONDITION_MESSAGE_MAX, text);
}

void kube_conditions_set(struct kube_conditions *conditions, const char *type, enum kube_condition_status status,
    const char *reason, int64_t observed_generation, int64_t now_ms, const char *message_fmt, ...)
{
    struct kube_condition *condition = find(conditions, type);
    bool changed = !condition || condition->status != status;
    if (!condition) {
        if (conditions->count == KUBE_CONDITIONS_MAX) /* types are a fixed set per kind: a bug */
            abort();
        condition = &conditions->items[conditions->count++];
        *condition = (struct kube_condition){.type = type};
    }
    condition->status = status;
    condition->observed_generation = observed_generation;
    set_text(condition->reason, sizeof(condition->reason), reason);
    if (changed || !*condition->last_transition_time)
        clock_format_rfc3339(now_ms, condition->last_transition_time);
    va_list ap;
    va_start(ap, message_fmt);
    set_message(condition->message, message_fmt, ap);
    va_end(ap);
}

void kube_conditions_remove(struct kube_conditions *conditions, const char *type)
{
    struct kube_condition *condition = find(conditions, type);
    if (!condition)
        return;
    size_t behind = (size_t)(&conditions->items[conditions->count] - (condition + 1));
    memmove(condition, condition + 1, behind * sizeof(*condition));
    conditions->count--;
}

json_t *kube_conditions_encode(const struct kube_conditions *conditions)
{
    json_t *array = json_array();
    for (int i = 0; i < conditions->count; i++) {
        const struct kube_condition *condition = &conditions->items[i];
        json_t *item = json_object();
        json_put_str(item, "type", condition->type);
        json_put_str(item, "status", status_names[condition->status]);
        if (condition->observed_generation > 0)
            json_put_int(item, "observedGeneration", condition->observed_generation);
        json_put_str(item, "lastTransitionTime", condition->last_transition_time);
        json_put_str(item, "reason", condition->reason);
        json_put_str(item, "message", condition->message);
        json_array_append_new(array, item);
    }
    return array;
}

static enum kube_condition_status parse_status(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(status_names); i++) {
        if (str_eq(status_names[i], name))
            return (enum kube_condition_status)i;
    }
    return KUBE_CONDITION_UNKNOWN;
}

static void decode_item(const json_t *item, const char *type, struct kube_conditions *ret)
{
    if (ret->count == KUBE_CONDITIONS_MAX || kube_conditions_find(ret, type))
        return;
    struct kube_condition *condition = &ret->items[ret->count++];
    *condition = (struct kube_condition){.type = type};
    condition->status = parse_status(json_path_str(item, "status", ""));
    condition->observed_generation = json_path_int(item, "observedGeneration", 0);
    set_text(condition->reason, sizeof(condition->reason), json_path_str(item, "reason", ""));
    set_text(condition->message, sizeof(condition->message), json_path_str(item, "message", ""));
    const char *when = json_path_str(item, "lastTransitionTime", "");
    if (strlen(when) < sizeof(condition->last_transition_time))
        set_text(condition->last_transition_time, sizeof(condition->last_transition_time), when);
}

void kube_conditions_decode(const json_t *array, const char *const *known_types, struct kube_conditions *ret)
{
    *ret = (struct kube_conditions){.count = 0};
    size_t i;
    const json_t *item;
    json_array_foreach((json_t *)(uintptr_t)array, i, item) {
        const char *type = json_path_str(item, "type", "");
        for (const char *const *known = known_types; *known; known++) {
            if (str_eq(*known, type))
                decode_item(item, *known, ret);
        }
    }
}
