/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/write_times.h"

#include "agent/agent_decide.h"
#include "agent/heartbeat_lane.h"
#include "agent/instance_state.h"
#include "agent/role_status.h"

/* By the clock that a file's times are of, which ticks less often than others. */
#define FILE_SPAN_MS 10

static bool is_open(const struct replication_facts *facts)
{
    return facts->seen && !facts->read_only;
}

/* A server that is being closed has no heartbeat any more: what it was held up by ends with the close, and lets nobody
 * write before. */
static bool beat_is_late(const struct instance_state *state, int64_t now_ms)
{
    const struct agent_order *order = &state->role.order;

    if (state->beat.wanted)
        return role_beat_is_late(state, now_ms);
    return state->writes.beat_was_late && (order->role != AGENT_ROLE_PRIMARY || order->heartbeat);
}

/* Not only some that wait: a busy primary has always some. */
static bool commits_go_through(const struct instance_state *state, const struct replication_facts *facts)
{
    const struct replication_facts *before = &state->replication;

    if (state->writes.beat_was_late)
        return false;
    return !facts->semi_sync_source || facts->waiting_commits == 0 ||
        (before->seen && facts->acknowledged != before->acknowledged);
}

/* The lock was taken after the last heartbeat that got through, and before the first that did not. A server that is
 * being closed has no heartbeat any more: when the lock was taken was noted before. */
static void note_locked(struct instance_state *state)
{
    int64_t since_ms = state->beat.blocked_since_ms - HEARTBEAT_INTERVAL_MS;

    if (state->beat.blocked_since_ms && state->writes.took.at_ms > since_ms)
        state->writes.took = (struct agent_moment){.at_ms = since_ms, .span_ms = HEARTBEAT_INTERVAL_MS};
}

static void note_open(
    struct instance_state *state, const struct replication_facts *facts, int64_t started_ms, int64_t now_ms)
{
    bool is_closed_now = is_open(&state->replication) && !is_open(facts);

    if (!is_open(facts) && !is_closed_now)
        return;
    state->writes.beat_was_late = beat_is_late(state, now_ms);
    if (state->writes.beat_was_late && facts->beat_locked)
        note_locked(state);
    if (!commits_go_through(state, facts))
        return;
    state->writes.took =
        (struct agent_moment){.at_ms = started_ms, .span_ms = is_closed_now ? now_ms - started_ms : PROBE_INTERVAL_MS};
}

/* That a receiver connects anew moves its place in the stream, too. Part of a transaction is none. */
static bool has_received(const struct replication_facts *before, const struct replication_facts *facts)
{
    bool can_tell = position_is_whole(before->gtid_received) && position_is_whole(facts->gtid_received);

    return facts->stream_position != before->stream_position &&
        (!can_tell || !position_same(before->gtid_received, facts->gtid_received));
}

static void note_received(struct instance_state *state, const struct replication_facts *facts, int64_t now_ms)
{
    const struct replication_facts *before = &state->replication;
    int64_t since_ms = state->replication_ms, written_ms = facts->relay_written_ms;

    if (!before->seen || !since_ms || !before->configured || !facts->configured || !has_received(before, facts))
        return;
    if (written_ms >= since_ms && written_ms <= now_ms)
        state->writes.received =
            (struct agent_moment){.at_ms = written_ms, .span_ms = MIN_OF(FILE_SPAN_MS, now_ms - written_ms)};
    else
        state->writes.received = (struct agent_moment){.at_ms = since_ms, .span_ms = now_ms - since_ms};
}

void write_times_look(
    struct instance_state *state, const struct replication_facts *facts, int64_t started_ms, int64_t now_ms)
{
    note_open(state, facts, started_ms, now_ms);
    note_received(state, facts, now_ms);
}

void write_times_opened(struct instance_state *state, uint64_t epoch, int64_t started_ms, int64_t looked_ms)
{
    struct write_times *times = &state->writes;

    times->opened = (struct agent_moment){.at_ms = started_ms, .span_ms = MAX_OF(0, looked_ms - started_ms)};
    times->opened_epoch = epoch;
    times->first = (struct agent_moment){0};
    times->first_idle_ms = 0;
    times->first_epoch = 0;
    times->beat_was_late = false;
}

void write_times_fill(const struct instance_state *state, struct agent_status *ret)
{
    const struct write_times *times = &state->writes;

    ret->took_writes = times->took;
    ret->event_received = times->received;
    ret->opening = times->opened;
    ret->opening_epoch = times->opened_epoch;
    ret->first_commit = times->first;
    ret->first_commit_idle_ms = times->first_idle_ms;
    ret->first_commit_epoch = times->first_epoch;
}
