/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/cluster_history.h"

#include "common/json.h"
#include "common/json_fields.h"
#include "operator/api/status_values.h"

static const char *const kind_names[CLUSTER_CHANGE_COUNT] = {[CLUSTER_CHANGE_UNKNOWN] = "",
    [CLUSTER_CHANGE_ELECTION] = "Election",
    [CLUSTER_CHANGE_SWITCHOVER] = "Switchover",
    [CLUSTER_CHANGE_FAILOVER] = "Failover",
    [CLUSTER_CHANGE_OUTAGE] = "Outage"};

static const struct status_text change_texts[] = {
    STATUS_TEXT(cluster_change, "from", from),
    STATUS_TEXT(cluster_change, "to", to),
    STATUS_TEXT(cluster_change, "evidence", evidence),
};

/* ---- what happened ---- */

static struct cluster_change *add(struct cluster_history *history)
{
    int kept = MIN_OF(history->count, CLUSTER_HISTORY_MAX - 1);
    memmove(&history->list[1], &history->list[0], (size_t)kept * sizeof(history->list[0]));
    history->count = kept + 1;
    history->list[0] = (struct cluster_change){.writes_blocked_ms = -1};
    return &history->list[0];
}

static bool is_failover(const struct cluster_failover *failover)
{
    return !str_empty(failover->to);
}

static bool is_switchover(const struct cluster_switchover *switchover)
{
    return !str_empty(switchover->to);
}

static void add_failover(struct cluster_history *history, const struct cluster_failover *failover)
{
    struct cluster_change *change = add(history);
    change->kind = CLUSTER_CHANGE_FAILOVER;
    memcpy(change->from, failover->from, sizeof(change->from));
    memcpy(change->to, failover->to, sizeof(change->to));
    change->reason = failover->reason;
    json_copy_text(change->evidence, sizeof(change->evidence), failover->evidence);
    change->epoch = failover->epoch;
    change->started_ms = failover->started_ms;
    change->finished_ms = failover->finished_ms;
    change->writes_blocked_ms = failover->writes_blocked_ms;
    change->may_have_lost = !str_empty(failover->may_be_lost);
}

static void add_switchover(struct cluster_history *history, const struct cluster_switchover *switchover, int64_t epoch)
{
    struct cluster_change *change = add(history);
    change->kind = CLUSTER_CHANGE_SWITCHOVER;
    memcpy(change->from, switchover->from, sizeof(change->from));
    memcpy(change->to, switchover->to, sizeof(change->to));
    change->reason = switchover->reason;
    change->epoch = epoch;
    change->started_ms = switchover->started_ms;
    change->finished_ms = switchover->finished_ms;
    change->writes_blocked_ms = switchover->writes_blocked_ms;
}

static void add_outage(struct cluster_history *history, const struct cluster_outage *outage)
{
    struct cluster_change *change = add(history);
    change->kind = CLUSTER_CHANGE_OUTAGE;
    memcpy(change->from, outage->primary, sizeof(change->from));
    memcpy(change->to, outage->primary, sizeof(change->to));
    change->epoch = outage->epoch;
    change->started_ms = outage->started_ms;
    change->finished_ms = outage->finished_ms;
    change->writes_blocked_ms = outage->writes_blocked_ms;
}

/* The last write of a failover that is given up is renewed, or may be later than its beginning, by what its new primary
 * wrote, and by nothing else. */
static bool was_open_unseen(const struct cluster_transition *before, const struct cluster_transition *now)
{
    bool is_next = before->failover && now->failover && !str_empty(before->to) && str_eq(before->to, now->from);
    return is_next && before->last_write_ms > 0 &&
        (now->last_write_ms > before->last_write_ms ||
            now->last_write_ms + now->last_write_span_ms > before->started_ms);
}

static void add_unseen(
    struct cluster_history *history, const struct cluster_transition *transition, const struct cluster_transition *now)
{
    struct cluster_change *change = add(history);
    change->kind = CLUSTER_CHANGE_FAILOVER;
    memcpy(change->from, transition->from, sizeof(change->from));
    memcpy(change->to, transition->to, sizeof(change->to));
    change->reason = transition->reason;
    json_copy_text(change->evidence, sizeof(change->evidence), transition->evidence);
    change->epoch = transition->epoch;
    change->started_ms = transition->started_ms;
    if (now->unseen_finished_ms > 0) {
        change->finished_ms = now->unseen_finished_ms;
        change->writes_blocked_ms = now->unseen_blocked_ms;
    }
    change->may_have_lost = !str_empty(transition->may_be_lost);
}

static void add_election(
    struct cluster_history *history, const char *from, const struct cluster_role_status *now, int64_t now_ms)
{
    struct cluster_change *change = add(history);
    change->kind = CLUSTER_CHANGE_ELECTION;
    snprintf(change->from, sizeof(change->from), "%s", from);
    memcpy(change->to, now->current_primary, sizeof(change->to));
    change->epoch = now->epoch;
    change->finished_ms = now_ms;
}

static void complete(struct cluster_history *history, const struct cluster_role_status *now)
{
    for (int i = 0; i < history->count; i++) {
        struct cluster_change *change = &history->list[i];
        if (change->kind == CLUSTER_CHANGE_FAILOVER && change->finished_ms == now->last_failover.finished_ms)
            change->writes_blocked_ms = now->last_failover.writes_blocked_ms;
        else if (change->kind == CLUSTER_CHANGE_SWITCHOVER && change->finished_ms == now->last_switchover.finished_ms)
            change->writes_blocked_ms = now->last_switchover.writes_blocked_ms;
        else if (change->kind == CLUSTER_CHANGE_OUTAGE && change->finished_ms == now->last_outage.finished_ms)
            change->writes_blocked_ms = now->last_outage.writes_blocked_ms;
    }
}

void cluster_history_note(struct cluster_history *history, const struct cluster_role_status *before,
    const struct cluster_role_status *now, int64_t now_ms)
{
    const struct cluster_failover *failover = &now->last_failover;
    const struct cluster_switchover *switchover = &now->last_switchover;
    bool is_changing = cluster_transition_is_set(&before->transition) || cluster_transition_is_set(&now->transition);
    if (is_failover(failover) &&
        (failover->epoch != before->last_failover.epoch || failover->finished_ms != before->last_failover.finished_ms))
        add_failover(history, failover);
    else if (is_switchover(switchover) && switchover->finished_ms != before->last_switchover.finished_ms)
        add_switchover(history, switchover, now->epoch);
    else if (was_open_unseen(&before->transition, &now->transition))
        add_unseen(history, &before->transition, &now->transition);
    else if (!str_empty(now->last_outage.primary) && now->last_outage.started_ms != before->last_outage.started_ms)
        add_outage(history, &now->last_outage);
    else if (!is_changing && !str_empty(now->current_primary) && !str_eq(before->current_primary, now->current_primary))
        add_election(history, before->current_primary, now, now_ms);
    else
        complete(history, now);
}

/* ---- JSON ---- */

static json_t *message_of(const struct cluster_change *change)
{
    if (change->kind == CLUSTER_CHANGE_OUTAGE)
        return json_sprintf("%s took no writes when an operator began to lead, and was opened again", change->to);
    if (change->finished_ms == 0)
        return json_sprintf(
            "%s was opened, and lost before an operator saw it open; for how long writes waited is in the next entry",
            change->to);
    return json_sprintf("%s was opened again: nobody else could take over", change->to);
}

static bool needs_words(const struct cluster_change *change)
{
    bool is_failover = change->kind == CLUSTER_CHANGE_FAILOVER && !str_empty(change->to);
    return change->kind == CLUSTER_CHANGE_OUTAGE ||
        (is_failover && (change->finished_ms == 0 || str_eq(change->from, change->to)));
}

/* The message follows from the other fields, so it is not read back. */
static json_t *encode_change(const struct cluster_change *change)
{
    json_t *json = json_object();
    if (change->kind != CLUSTER_CHANGE_UNKNOWN)
        json_put_str(json, "kind", kind_names[change->kind]);
    status_put_texts(json, change, change_texts, ARRAY_LEN(change_texts));
    if (change->reason != TRANSITION_NO_REASON)
        json_put_str(json, "reason", transition_reason_name(change->reason));
    status_put_positive(json, "epoch", change->epoch);
    status_put_time_ms(json, "startedAt", change->started_ms);
    status_put_time_ms(json, "finishedAt", change->finished_ms);
    if (change->writes_blocked_ms >= 0)
        json_put_int(json, "writesBlockedMs", change->writes_blocked_ms);
    if (change->may_have_lost)
        json_put_bool(json, "mayHaveLost", true);
    if (needs_words(change))
        json_put(json, "message", message_of(change));
    return json;
}

json_t *cluster_history_encode(const struct cluster_history *history)
{
    if (history->count == 0)
        return NULL;
    json_t *array = json_array();
    for (int i = 0; i < history->count; i++)
        json_array_append_new(array, encode_change(&history->list[i]));
    return array;
}

static void read_change(const json_t *json, struct cluster_change *ret)
{
    ret->kind =
        (enum cluster_change_kind)json_name_index(kind_names, CLUSTER_CHANGE_COUNT, json_path_str(json, "kind", ""));
    status_read_texts(json, ret, change_texts, ARRAY_LEN(change_texts));
    ret->reason = transition_reason_parse(json_path_str(json, "reason", ""));
    ret->epoch = MAX_OF(0, json_path_int(json, "epoch", 0));
    ret->started_ms = status_read_time(json, "startedAt");
    ret->finished_ms = status_read_time(json, "finishedAt");
    ret->writes_blocked_ms = MAX_OF(-1, json_path_int(json, "writesBlockedMs", -1));
    ret->may_have_lost = json_path_bool(json, "mayHaveLost", false);
}

static void read_last_ones(const struct cluster_role_status *roles, struct cluster_history *ret)
{
    const struct cluster_failover *failover = &roles->last_failover;
    const struct cluster_switchover *switchover = &roles->last_switchover;
    bool failover_first = is_failover(failover) && failover->finished_ms < switchover->finished_ms;
    if (failover_first)
        add_failover(ret, failover);
    if (is_switchover(switchover))
        add_switchover(ret, switchover, 0);
    if (is_failover(failover) && !failover_first)
        add_failover(ret, failover);
}

void cluster_history_decode(const json_t *array, const struct cluster_role_status *roles, struct cluster_history *ret)
{
    size_t i;
    json_t *element;
    ret->count = 0;
    if (!json_is_array(array)) {
        read_last_ones(roles, ret);
        return;
    }
    json_array_foreach(array, i, element) {
        if (json_is_object(element) && ret->count < CLUSTER_HISTORY_MAX)
            read_change(element, &ret->list[ret->count++]);
    }
}
