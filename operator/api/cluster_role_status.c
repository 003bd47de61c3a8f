/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/cluster_role_status.h"

#include "common/json.h"
#include "common/json_fields.h"
#include "operator/api/status_values.h"

static const struct status_text role_texts[] = {
    STATUS_TEXT(cluster_role_status, "currentPrimary", current_primary),
    STATUS_TEXT(cluster_role_status, "switchoverDone", switchover_done),
};
static const struct status_text transition_texts[] = {
    STATUS_TEXT(cluster_transition, "from", from),
    STATUS_TEXT(cluster_transition, "to", to),
    STATUS_TEXT(cluster_transition, "before", before),
    STATUS_TEXT(cluster_transition, "evidence", evidence),
    STATUS_TEXT(cluster_transition, "waitsFor", waits_for),
    STATUS_TEXT(cluster_transition, "candidateWhy", candidate_why),
    STATUS_TEXT(cluster_transition, "mayBeLost", may_be_lost),
};
static const struct status_text reign_texts[] = {
    STATUS_TEXT(cluster_reign, "primary", primary),
    STATUS_TEXT(cluster_reign, "origin", origin),
};
static const struct status_text switchover_texts[] = {
    STATUS_TEXT(cluster_switchover, "from", from),
    STATUS_TEXT(cluster_switchover, "to", to),
};
static const struct status_text failover_texts[] = {
    STATUS_TEXT(cluster_failover, "from", from),
    STATUS_TEXT(cluster_failover, "to", to),
    STATUS_TEXT(cluster_failover, "evidence", evidence),
    STATUS_TEXT(cluster_failover, "candidateWhy", candidate_why),
    STATUS_TEXT(cluster_failover, "mayBeLost", may_be_lost),
    STATUS_TEXT(cluster_failover, "salvaged", salvaged),
};
static const struct status_number failover_phases[] = {
    STATUS_NUMBER(cluster_failover, "detectedMs", detected_ms),
    STATUS_NUMBER(cluster_failover, "decidedMs", decided_ms),
    STATUS_NUMBER(cluster_failover, "fencedMs", fenced_ms),
    STATUS_NUMBER(cluster_failover, "openedMs", drained_ms),
    STATUS_NUMBER(cluster_failover, "publishedMs", published_ms),
};

/* ---- encode ---- */

static void put_position(json_t *json, const char *key, const char *position)
{
    if (!str_empty(position))
        json_put_str(json, key, position);
}

static void put_reason(json_t *json, enum transition_reason reason)
{
    if (reason != TRANSITION_NO_REASON)
        json_put_str(json, "reason", transition_reason_name(reason));
}

static void put_reigns(json_t *json, const struct cluster_reigns *reigns)
{
    if (reigns->count == 0)
        return;
    json_t *array = json_array();
    for (int i = 0; i < reigns->count; i++) {
        json_t *value = json_object();
        status_put_positive(value, "epoch", reigns->list[i].epoch);
        status_put_texts(value, &reigns->list[i], reign_texts, ARRAY_LEN(reign_texts));
        put_position(value, "floor", reigns->list[i].floor);
        if (reigns->list[i].floor_is_partial)
            json_put_bool(value, "floorIsPartial", true);
        if (reigns->list[i].opened)
            json_put_bool(value, "opened", true);
        if (reigns->list[i].closed)
            json_put_bool(value, "closed", true);
        json_array_append_new(array, value);
    }
    json_put(json, "reigns", array);
}

static void put_transition(json_t *json, const struct cluster_transition *transition)
{
    if (!cluster_transition_is_set(transition))
        return;
    json_t *value = json_object();
    json_put_str(value, "kind", transition->failover ? "Failover" : "Switchover");
    status_put_texts(value, transition, transition_texts, ARRAY_LEN(transition_texts));
    put_reason(value, transition->reason);
    put_position(value, "position", transition->position);
    status_put_time_ms(value, "startedAt", transition->started_ms);
    status_put_positive(value, "epoch", transition->epoch);
    status_put_positive(value, "silentMs", transition->silent_ms);
    status_put_time_ms(value, "lastWriteAt", transition->last_write_ms);
    status_put_positive(value, "lastWriteSpanMs", transition->last_write_span_ms);
    if (transition->salvage)
        json_put_bool(value, "salvage", true);
    json_put(json, "transition", value);
}

static void put_switchover(json_t *json, const struct cluster_switchover *switchover)
{
    if (!*switchover->from && !*switchover->to)
        return;
    json_t *value = json_object();
    status_put_texts(value, switchover, switchover_texts, ARRAY_LEN(switchover_texts));
    put_reason(value, switchover->reason);
    status_put_positive(value, "epoch", switchover->epoch);
    status_put_time_ms(value, "startedAt", switchover->started_ms);
    status_put_time_ms(value, "finishedAt", switchover->finished_ms);
    if (switchover->writes_blocked_ms >= 0)
        json_put_int(value, "writesBlockedMs", switchover->writes_blocked_ms);
    write_gap_encode(&switchover->gap, value);
    json_put(json, "lastSwitchover", value);
}

static void put_phases(json_t *json, const struct cluster_failover *failover)
{
    json_t *phases = json_object();
    for (size_t i = 0; i < ARRAY_LEN(failover_phases); i++) {
        int64_t ms = *(const int64_t *)(const void *)((const char *)failover + failover_phases[i].offset);
        if (ms >= 0)
            json_put_int(phases, failover_phases[i].key, ms);
    }
    json_put(json, "phases", phases);
}

static void put_failover(json_t *json, const struct cluster_failover *failover)
{
    if (!*failover->from && !*failover->to)
        return;
    json_t *value = json_object();
    status_put_texts(value, failover, failover_texts, ARRAY_LEN(failover_texts));
    put_reason(value, failover->reason);
    put_position(value, "position", failover->position);
    status_put_positive(value, "epoch", failover->epoch);
    status_put_time_ms(value, "startedAt", failover->started_ms);
    status_put_time_ms(value, "finishedAt", failover->finished_ms);
    put_phases(value, failover);
    if (failover->writes_blocked_ms >= 0)
        json_put_int(value, "writesBlockedMs", failover->writes_blocked_ms);
    write_gap_encode(&failover->gap, value);
    json_put(json, "lastFailover", value);
}

static void put_outage(json_t *json, const struct cluster_outage *outage)
{
    if (str_empty(outage->primary))
        return;
    json_t *value = json_object();
    json_put_str(value, "primary", outage->primary);
    status_put_positive(value, "epoch", outage->epoch);
    status_put_time_ms(value, "startedAt", outage->started_ms);
    status_put_time_ms(value, "finishedAt", outage->finished_ms);
    if (outage->writes_blocked_ms >= 0)
        json_put_int(value, "writesBlockedMs", outage->writes_blocked_ms);
    write_gap_encode(&outage->gap, value);
    json_put(json, "lastOutage", value);
}

static void put_acknowledgers(json_t *json, uint64_t acknowledgers)
{
    if (acknowledgers == 0)
        return;
    json_t *ordinals = json_array();
    for (int i = 0; i < CLUSTER_ACKNOWLEDGERS_MAX; i++) {
        if (acknowledgers >> i & 1)
            json_array_append_new(ordinals, json_integer(i));
    }
    json_put(json, "acknowledgers", ordinals);
}

static void put_confirmed(json_t *json, const struct cluster_confirmed *confirmed)
{
    json_t *value = json_object();
    if (confirmed->semi_sync)
        json_put_bool(value, "semiSync", true);
    status_put_positive(value, "acks", confirmed->acks);
    status_put_positive(value, "lapses", confirmed->lapses);
    if (!str_empty(confirmed->lapses_boot_id))
        json_put_str(value, "lapsesBootId", confirmed->lapses_boot_id);
    status_put_positive(value, "selfFenceMs", confirmed->self_fence_ms);
    status_put_positive(value, "selfFenceMembers", confirmed->self_fence_members);
    if (json_object_size(value) > 0)
        json_put(json, "confirmed", value);
    else
        json_decref(value);
}

void cluster_role_status_encode(const struct cluster_role_status *roles, json_t *status)
{
    status_put_positive(status, "epoch", roles->epoch);
    if (roles->initialized)
        json_put_bool(status, "initialized", true);
    if (roles->semi_sync)
        json_put_bool(status, "semiSync", true);
    status_put_positive(status, "acks", roles->acks);
    status_put_texts(status, roles, role_texts, ARRAY_LEN(role_texts));
    put_transition(status, &roles->transition);
    put_reigns(status, &roles->reigns);
    put_switchover(status, &roles->last_switchover);
    put_failover(status, &roles->last_failover);
    put_outage(status, &roles->last_outage);
    put_acknowledgers(status, roles->acknowledgers);
    status_put_positive(status, "heardEpoch", roles->heard_epoch);
    status_put_time_ms(status, "lockAwaitedSince", roles->lock_awaited_ms);
    if (roles->loss_allowed)
        json_put_bool(status, "lossAllowed", true);
    put_confirmed(status, &roles->confirmed);
    if (roles->final_backup.phase != FINAL_BACKUP_NONE)
        json_put(status, "finalBackup", cluster_final_backup_encode(&roles->final_backup));
}

/* ---- decode ---- */

static const char *read_position(const json_t *json, const char *key, struct position_pool *positions)
{
    return position_take(positions, json_path_str(json, key, ""));
}

static enum transition_reason read_reason(const json_t *json)
{
    return transition_reason_parse(json_path_str(json, "reason", ""));
}

static void read_transition(const json_t *json, struct position_pool *positions, struct cluster_transition *ret)
{
    ret->position = read_position(json, "position", positions);
    status_read_texts(json, ret, transition_texts, ARRAY_LEN(transition_texts));
    ret->reason = read_reason(json);
    ret->started_ms = status_read_time(json, "startedAt");
    ret->epoch = MAX_OF(0, json_path_int(json, "epoch", 0));
    ret->failover = str_eq(json_path_str(json, "kind", NULL), "Failover");
    ret->silent_ms = MAX_OF(0, json_path_int(json, "silentMs", 0));
    ret->last_write_ms = status_read_time(json, "lastWriteAt");
    ret->last_write_span_ms = MAX_OF(0, json_path_int(json, "lastWriteSpanMs", 0));
    ret->salvage = json_path_bool(json, "salvage", false);
}

/* One that was written by a later version and lists more is read as far as there is room: the latest. */
static void read_reigns(const json_t *array, struct position_pool *positions, struct cluster_reigns *ret)
{
    size_t i;
    json_t *element;
    json_array_foreach(array, i, element) {
        if (!json_is_object(element) || ret->count == CLUSTER_REIGNS_MAX)
            continue;
        struct cluster_reign *reign = &ret->list[ret->count++];
        status_read_texts(element, reign, reign_texts, ARRAY_LEN(reign_texts));
        reign->floor = read_position(element, "floor", positions);
        reign->epoch = MAX_OF(0, json_path_int(element, "epoch", 0));
        reign->floor_is_partial = json_path_bool(element, "floorIsPartial", false);
        reign->opened = json_path_bool(element, "opened", false);
        reign->closed = json_path_bool(element, "closed", false);
    }
}

/* Versions without reigns said of a failover that it is not known which of two members was open last, or which of
 * all. */
static void read_doubt(const json_t *json, const struct cluster_transition *transition, struct cluster_reigns *ret)
{
    bool between_two = !str_empty(transition->before);
    if (ret->count > 0 || !json_path_bool(json, "doubtful", false))
        return;
    ret->count = between_two ? 2 : 1;
    for (int i = 0; i < ret->count; i++) {
        ret->list[i].floor_is_partial = true;
        ret->list[i].floor = transition->position;
    }
    if (!between_two)
        return;
    snprintf(ret->list[0].primary, sizeof(ret->list[0].primary), "%s", transition->from);
    snprintf(ret->list[1].primary, sizeof(ret->list[1].primary), "%.*s", (int)strcspn(transition->before, ","),
        transition->before);
}

static void read_switchover(const json_t *json, struct cluster_switchover *ret)
{
    status_read_texts(json, ret, switchover_texts, ARRAY_LEN(switchover_texts));
    ret->reason = read_reason(json);
    ret->epoch = MAX_OF(0, json_path_int(json, "epoch", 0));
    ret->started_ms = status_read_time(json, "startedAt");
    ret->finished_ms = status_read_time(json, "finishedAt");
    ret->writes_blocked_ms = MAX_OF(-1, json_path_int(json, "writesBlockedMs", -1));
    write_gap_decode(json, &ret->gap);
}

static void read_failover(const json_t *json, struct position_pool *positions, struct cluster_failover *ret)
{
    ret->position = read_position(json, "position", positions);
    if (!json_is_object(json))
        return;
    const json_t *phases = json_object_get(json, "phases");
    status_read_texts(json, ret, failover_texts, ARRAY_LEN(failover_texts));
    ret->reason = read_reason(json);
    for (size_t i = 0; i < ARRAY_LEN(failover_phases); i++)
        *(int64_t *)(void *)((char *)ret + failover_phases[i].offset) =
            MAX_OF(-1, json_path_int(phases, failover_phases[i].key, -1));
    ret->epoch = MAX_OF(0, json_path_int(json, "epoch", 0));
    ret->started_ms = status_read_time(json, "startedAt");
    ret->finished_ms = status_read_time(json, "finishedAt");
    ret->writes_blocked_ms = MAX_OF(-1, json_path_int(json, "writesBlockedMs", -1));
    write_gap_decode(json, &ret->gap);
}

static void read_outage(const json_t *json, struct cluster_outage *ret)
{
    snprintf(ret->primary, sizeof(ret->primary), "%s", json_path_str(json, "primary", ""));
    ret->epoch = MAX_OF(0, json_path_int(json, "epoch", 0));
    ret->started_ms = status_read_time(json, "startedAt");
    ret->finished_ms = status_read_time(json, "finishedAt");
    ret->writes_blocked_ms = MAX_OF(-1, json_path_int(json, "writesBlockedMs", -1));
    write_gap_decode(json, &ret->gap);
}

static uint64_t read_acknowledgers(const json_t *array)
{
    uint64_t ret = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *element = json_array_get(array, i);
        json_int_t ordinal = json_is_integer(element) ? json_integer_value(element) : -1;
        if (ordinal >= 0 && ordinal < CLUSTER_ACKNOWLEDGERS_MAX)
            ret |= UINT64_C(1) << ordinal;
    }
    return ret;
}

static void read_confirmed(const json_t *json, struct cluster_confirmed *ret)
{
    ret->semi_sync = json_path_bool(json, "semiSync", false);
    ret->acks = ret->semi_sync ? status_clamp_int(json_path_int(json, "acks", 0)) : 0;
    ret->lapses = ret->semi_sync ? MAX_OF(json_path_int(json, "lapses", 0), 0) : 0;
    if (ret->lapses > 0)
        json_copy_text(ret->lapses_boot_id, sizeof(ret->lapses_boot_id), json_path_str(json, "lapsesBootId", ""));
    ret->self_fence_ms = status_clamp_int(json_path_int(json, "selfFenceMs", 0));
    ret->self_fence_members = status_clamp_int(json_path_int(json, "selfFenceMembers", 0));
}

void cluster_role_status_decode(const json_t *status, struct position_pool *positions, struct cluster_role_status *ret)
{
    const json_t *transition = json_object_get(status, "transition");
    *ret = (struct cluster_role_status){.epoch = MAX_OF(0, json_path_int(status, "epoch", 0))};
    ret->initialized = json_path_bool(status, "initialized", false);
    ret->semi_sync = json_path_bool(status, "semiSync", false);
    ret->acks = status_clamp_int(json_path_int(status, "acks", ret->semi_sync ? 1 : 0));
    status_read_texts(status, ret, role_texts, ARRAY_LEN(role_texts));
    read_transition(transition, positions, &ret->transition);
    read_reigns(json_object_get(status, "reigns"), positions, &ret->reigns);
    read_doubt(transition, &ret->transition, &ret->reigns);
    read_switchover(json_object_get(status, "lastSwitchover"), &ret->last_switchover);
    read_failover(json_object_get(status, "lastFailover"), positions, &ret->last_failover);
    read_outage(json_object_get(status, "lastOutage"), &ret->last_outage);
    ret->acknowledgers = read_acknowledgers(json_object_get(status, "acknowledgers"));
    ret->heard_epoch = MAX_OF(json_path_int(status, "heardEpoch", 0), (json_int_t)0);
    ret->lock_awaited_ms = status_read_time(status, "lockAwaitedSince");
    ret->loss_allowed = json_path_bool(status, "lossAllowed", false);
    read_confirmed(json_object_get(status, "confirmed"), &ret->confirmed);
    cluster_final_backup_decode(json_object_get(status, "finalBackup"), &ret->final_backup);
}

/* ---- values ---- */

bool cluster_transition_is_set(const struct cluster_transition *transition)
{
    return *transition->from || *transition->to;
}

void cluster_transition_before(const struct cluster_transition *transition, int n, char out[static DERIVED_NAME_SIZE])
{
    const char *at = transition->before;
    for (; n > 0 && at; n--)
        at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL;
    snprintf(out, DERIVED_NAME_SIZE, "%.*s", at ? (int)strcspn(at, ",") : 0, at ? at : "");
}

void cluster_transition_origin(const struct cluster_transition *transition, char out[static DERIVED_NAME_SIZE])
{
    const char *last = strrchr(transition->before, ',');
    const char *before = last ? last + 1 : transition->before;
    snprintf(out, DERIVED_NAME_SIZE, "%s", str_empty(before) ? transition->from : before);
}

bool cluster_transition_same(const struct cluster_transition *a, const struct cluster_transition *b)
{
    for (size_t i = 0; i < ARRAY_LEN(transition_texts); i++) {
        if (strcmp((const char *)a + transition_texts[i].offset, (const char *)b + transition_texts[i].offset) != 0)
            return false;
    }
    return a->reason == b->reason && position_same(a->position, b->position) && a->started_ms == b->started_ms &&
        a->epoch == b->epoch && a->failover == b->failover && a->salvage == b->salvage &&
        a->silent_ms == b->silent_ms && a->last_write_ms == b->last_write_ms &&
        a->last_write_span_ms == b->last_write_span_ms;
}

bool cluster_reigns_same(const struct cluster_reigns *a, const struct cluster_reigns *b)
{
    if (a->count != b->count)
        return false;
    for (int i = 0; i < a->count; i++) {
        const struct cluster_reign *left = &a->list[i], *right = &b->list[i];
        if (left->epoch != right->epoch || left->opened != right->opened || left->closed != right->closed ||
            left->floor_is_partial != right->floor_is_partial || !str_eq(left->primary, right->primary) ||
            !str_eq(left->origin, right->origin) || !position_same(left->floor, right->floor))
            return false;
    }
    return true;
}

bool cluster_confirmed_same(const struct cluster_confirmed *a, const struct cluster_confirmed *b)
{
    return a->semi_sync == b->semi_sync && a->acks == b->acks && a->lapses == b->lapses &&
        str_eq(a->lapses_boot_id, b->lapses_boot_id) && a->self_fence_ms == b->self_fence_ms &&
        a->self_fence_members == b->self_fence_members;
}

static bool switchover_same(const struct cluster_switchover *a, const struct cluster_switchover *b)
{
    return str_eq(a->from, b->from) && str_eq(a->to, b->to) && a->reason == b->reason &&
        a->started_ms == b->started_ms && a->finished_ms == b->finished_ms && write_gap_same(&a->gap, &b->gap);
}

static bool failover_same(const struct cluster_failover *a, const struct cluster_failover *b)
{
    return str_eq(a->from, b->from) && str_eq(a->to, b->to) && a->epoch == b->epoch && a->started_ms == b->started_ms &&
        a->finished_ms == b->finished_ms && write_gap_same(&a->gap, &b->gap);
}

static bool outage_same(const struct cluster_outage *a, const struct cluster_outage *b)
{
    return str_eq(a->primary, b->primary) && a->started_ms == b->started_ms && a->finished_ms == b->finished_ms &&
        write_gap_same(&a->gap, &b->gap);
}

bool cluster_role_status_same(const struct cluster_role_status *a, const struct cluster_role_status *b)
{
    return a->epoch == b->epoch && a->heard_epoch == b->heard_epoch && str_eq(a->current_primary, b->current_primary) &&
        a->initialized == b->initialized && a->semi_sync == b->semi_sync && a->acks == b->acks &&
        a->acknowledgers == b->acknowledgers && a->loss_allowed == b->loss_allowed &&
        a->lock_awaited_ms == b->lock_awaited_ms && str_eq(a->switchover_done, b->switchover_done) &&
        cluster_confirmed_same(&a->confirmed, &b->confirmed) &&
        cluster_final_backup_same(&a->final_backup, &b->final_backup) &&
        cluster_transition_same(&a->transition, &b->transition) && cluster_reigns_same(&a->reigns, &b->reigns) &&
        switchover_same(&a->last_switchover, &b->last_switchover) &&
        failover_same(&a->last_failover, &b->last_failover) && outage_same(&a->last_outage, &b->last_outage);
}
