/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and orders between an operator and agents: operator/instance/agent_watch.c, order_sender.c. */
#include "common/base.h"

#include "e2e/simulation/agent.h"
#include "e2e/simulation/operator.h"
#include "operator/instance/agent_fleet.h"
#include "operator/instance/order_sender.h"

#define SILENCE_MS CLUSTER_SILENCE_MS_DEFAULT
#define ANSWER_TIMEOUT_MS 3000

/* ---- the order that an agent should have ---- */

static void start_afresh(struct sim_stream *stream)
{
    stream->pause_ms = 0;
    stream->refused = stream->due_again = stream->told = false;
}

static bool asides_are_known(const struct sim_stream *stream)
{
    return stream->wanted_asides == (stream->told ? stream->told_asides : stream->shown_asides);
}

void stream_want(struct sim *sim, struct sim_stream *stream, const struct agent_order *order)
{
    char hash[17] = "";
    if (order) {
        struct agent_order taken = *order;
        taken.wait_for = position_take(sim->positions, order->wait_for);
        taken.beyond = position_take(sim->positions, order->beyond);
        /* Padding that differs costs a hash: NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
        if (stream->wants && memcmp(&taken, &stream->wanted, sizeof(taken)) == 0)
            return;
        agent_order_hash(order, hash);
        stream->wanted = taken;
    }
    stream->wants = order != NULL;
    stream->wanted_asides = order ? agent_order_asides(order) : 0;
    if (strcmp(hash, stream->wanted_hash) == 0)
        return;
    memcpy(stream->wanted_hash, hash, sizeof(hash));
    stream->is_heard = str_eq(stream->heard_hash, stream->wanted_hash);
    start_afresh(stream);
}

static void send_order(struct sim *sim, int op, int member)
{
    struct sim_stream *stream = &sim->operators[op].streams[member];
    for (int i = 0; i < SIM_ORDERS_MAX; i++) {
        struct sim_order *order = &sim->orders[i];
        if (order->used)
            continue;
        *order = (struct sim_order){.used = true,
            .from = op,
            .to = member,
            .uid = stream->uid,
            .due_ms = sim->now_ms + sim_between(sim, op, 61, 10, 30),
            .end_ms = sim->now_ms + sim_between(sim, op, 62, 1000, 20000),
            .as_of_ms = stream->clock_ms,
            .order = stream->wanted};
        sim->order_count++;
        memcpy(order->boot_id, stream->boot_id, sizeof(order->boot_id));
        stream->sending = true;
        stream->sent_ms = sim->now_ms;
        stream->due_again = false;
        return;
    }
}

static void send_if_due(struct sim *sim, int op, int member)
{
    struct sim_stream *stream = &sim->operators[op].streams[member];
    if (stream->sending && sim->now_ms - stream->sent_ms >= ANSWER_TIMEOUT_MS) {
        stream->sending = false;
        stream->pause_ms = sim->now_ms + 200;
    }
    if (stream->repeat && sim->now_ms >= stream->repeat_ms) {
        stream->repeat_ms = sim->now_ms + ORDER_SENDER_REPEAT_MS;
        stream->due_again = true;
    }
    bool in_force = stream->is_heard && !stream->due_again && asides_are_known(stream);
    if (stream->wants && stream->connected && !in_force && !stream->refused && !stream->sending &&
        sim->now_ms >= stream->pause_ms)
        send_order(sim, op, member);
}

static void take_answer(struct sim *sim, const struct sim_order *order, bool accepted)
{
    struct sim_operator *o = &sim->operators[order->from];
    struct sim_stream *stream = &o->streams[order->to];
    char hash[17];
    if (!o->alive || stream->uid != order->uid || sim_is_cut(sim, order->to, sim_operator_place(order->from)))
        return;
    stream->sending = false;
    agent_order_hash(&order->order, hash);
    if (!stream->wants || !str_eq(hash, stream->wanted_hash))
        return;
    if (!accepted) {
        stream->refused = true;
        o->woken = true;
        return;
    }
    stream->told_asides = agent_order_asides(&order->order);
    stream->told = true;
    if (!stream->is_heard)
        stream->pause_ms = sim->now_ms + ORDER_SENDER_GRACE_MS;
}

static void end_order(struct sim *sim, struct sim_order *order)
{
    order->used = false;
    sim->order_count--;
}

/* What is on its way waits for a link that is cut, for an agent that is frozen; it is gone with the process that it was
 * sent to. */
void orders_step(struct sim *sim)
{
    for (int i = 0; i < SIM_ORDERS_MAX && sim->order_count > 0; i++) {
        struct sim_order *order = &sim->orders[i];
        if (!order->used || sim->now_ms < order->due_ms)
            continue;
        const struct sim_member *at = &sim->members[order->to];
        if (at->pod.uid != order->uid || !at->agent.alive || sim->now_ms > order->end_ms ||
            !str_eq(order->boot_id, at->agent.boot_id)) {
            end_order(sim, order);
            continue;
        }
        if (!agent_answers(sim, order->to) || sim_is_cut(sim, sim_operator_place(order->from), order->to))
            continue;
        end_order(sim, order);
        take_answer(sim, order, agent_take_order(sim, order->to, &order->order, order->as_of_ms));
    }
}

/* ---- the stream of statuses ---- */

static void lost(struct sim *sim, int op, int member)
{
    struct sim_operator *o = &sim->operators[op];
    struct sim_stream *stream = &o->streams[member];
    if (stream->connected || !stream->tried)
        o->woken = true;
    stream->connected = stream->on_the_way = stream->sending = false;
    stream->tried = true;
    stream->attempts = MIN_OF(stream->attempts + 1, 5);
    stream->open_ms = sim->now_ms + MIN_OF(200 << stream->attempts, 5000);
    stream_want(sim, stream, NULL);
}

static bool order_was_dropped(const struct sim_stream *stream, const char *hash)
{
    return str_empty(hash) && !str_empty(stream->heard_hash) && str_eq(stream->heard_hash, stream->wanted_hash);
}

static void take_word(struct sim *sim, int op, int member)
{
    struct sim_operator *o = &sim->operators[op];
    struct sim_stream *stream = &o->streams[member];
    uint64_t digest = sim->members[member].agent.digest;
    bool news = !stream->connected || stream->digest != digest;
    agent_status_say(&stream->coming, &stream->status);
    const struct agent_status *status = &stream->status;
    stream->on_the_way = false;
    stream->digest = digest;
    sim_note(sim, SIM_EVENT_HEARD, op, digest + (uint64_t)member);
    stream->has_status = stream->connected = stream->tried = true;
    stream->attempts = 0;
    stream->last_word_ms = sim->now_ms;
    stream->clock_ms = status->clock_ms;
    if (order_was_dropped(stream, status->order_hash))
        stream_want(sim, stream, NULL);
    if (!str_eq(stream->boot_id, status->boot_id))
        start_afresh(stream);
    memcpy(stream->boot_id, status->boot_id, sizeof(stream->boot_id));
    stream->boot = strtoull(stream->boot_id, NULL, 16);
    memcpy(stream->heard_hash, status->order_hash, sizeof(stream->heard_hash));
    stream->is_heard = str_eq(stream->heard_hash, stream->wanted_hash);
    stream->shown_asides = agent_status_asides(status);
    if (news)
        o->woken = true;
}

static void listen(struct sim *sim, int op, int member)
{
    struct sim_stream *stream = &sim->operators[op].streams[member];
    const struct sim_member *at = &sim->members[member];
    int place = sim_operator_place(op);
    bool same = at->pod.uid == stream->uid && at->agent.alive;
    if (stream->connected && sim_is_linked(sim, place, member) && (!same || at->agent.boot != stream->boot)) {
        lost(sim, op, member);
        return;
    }
    int64_t since_ms = stream->connected ? stream->last_word_ms : stream->open_ms;
    if (sim->now_ms - since_ms >= SILENCE_MS || (!stream->connected && !same && sim_is_linked(sim, place, member))) {
        lost(sim, op, member);
        return;
    }
    bool reaches = same && !sim_is_cut(sim, member, place) && (stream->connected || sim_is_linked(sim, place, member));
    if (!stream->on_the_way && reaches && at->agent.status.clock_ms > 0 &&
        at->agent.status.clock_ms != stream->coming.clock_ms && at->agent.frozen_until_ms <= sim->now_ms) {
        agent_status_say(&at->agent.status, &stream->coming);
        stream->on_the_way = true;
        stream->coming_ms = sim->now_ms + sim_between(sim, op, 63, 10, 30);
    }
    if (stream->on_the_way && sim->now_ms >= stream->coming_ms && !sim_is_cut(sim, member, place))
        take_word(sim, op, member);
}

/* The primary, or the one before it until the change is over: as cluster_gather.c: may_hand_over. */
static bool may_hand_over(const struct sim *sim, int op, int member)
{
    const struct cluster_role_status *roles = &sim->operators[op].snapshot.last.roles;
    bool is_asked = sim_member_of_host(roles->current_primary) == member ||
        sim_member_of_host(roles->transition.from) == member;
    return is_asked && roles->initialized && sim->api.set_replicas > 1;
}

bool stream_has_departed(const struct sim *sim, int op, int member)
{
    const struct sim_operator *o = &sim->operators[op];
    const struct sim_stream *stream = &o->streams[member];
    bool is_kept = stream->departed_ms > 0 ? sim->now_ms - stream->departed_ms < AGENT_FLEET_DEPARTED_MS
                                           : stream->connected;
    uint64_t now = o->seen[member].is_there ? o->seen[member].uid : 0;
    return stream->uid != 0 && stream->uid != now && is_kept && may_hand_over(sim, op, member);
}

/* The new pod is asked once the old one is silent; in the product its last word stands until the new one has spoken. */
static bool keep_departed(struct sim *sim, int op, int member, uint64_t wanted)
{
    struct sim_operator *o = &sim->operators[op];
    struct sim_stream *stream = &o->streams[member];
    if (!stream_has_departed(sim, op, member) || (!stream->connected && wanted != 0))
        return false;
    if (stream->departed_ms == 0)
        stream->departed_ms = sim->now_ms;
    if (sim->now_ms % 100 == 0) /* its silence is no event */
        o->woken = true;
    return true;
}

static void follow_pod(struct sim *sim, int op, int member)
{
    struct sim_operator *o = &sim->operators[op];
    struct sim_stream *stream = &o->streams[member];
    uint64_t wanted = o->seen[member].is_there && o->seen[member].scheduled ? o->seen[member].uid : 0;
    if (stream->uid == wanted || keep_departed(sim, op, member, wanted))
        return;
    *stream = (struct sim_stream){
        .uid = wanted, .last_word_ms = sim->now_ms, .open_ms = sim->now_ms, .is_heard = true /* nothing, nothing */};
    o->woken = true;
}

void streams_step(struct sim *sim, int op)
{
    for (int i = 0; i < sim->member_count; i++) {
        struct sim_stream *stream = &sim->operators[op].streams[i];
        follow_pod(sim, op, i);
        if (stream->uid == 0 || (!stream->connected && sim->now_ms < stream->open_ms))
            continue;
        listen(sim, op, i);
        send_if_due(sim, op, i);
    }
}
