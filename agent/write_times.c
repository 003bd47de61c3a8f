/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/write_times.h"

#include "agent/agent_decide.h"
#include "agent/instance_state.h"
#include "agent/role_status.h"

/* By the clock that a file's times are of, which ticks less often than others. */
#define FILE_SPAN_MS 10

static bool is_open(const struct replication_facts *facts)
{
    return facts->seen && !facts->read_only;
}

/* Not only some that wait: a busy primary has always some. */
static bool commits_go_through(const struct instance_state *state, const struct replication_facts *facts, int64_t now_ms)
{
    const struct replication_facts *before = &state->replication;

    if (role_beat_is_late(state, now_ms))
        return false;
    return !facts->semi_sync_source || facts->waiting_commits == 0 ||
        (before->seen && facts->acknowledged != before->acknowledged);
}

static void note_open(
    struct instance_state *state, const struct replication_facts *facts, int64_t started_ms, int64_t now_ms)
{
    bool is_closed_now = is_open(&state->replication) && !is_open(facts);

    if ((!is_open(facts) && !is_closed_now) || !commits_go_through(state, facts, now_ms))
        return;
    state->writes.took =
        (struct agent_moment){.at_ms = started_ms, .span_ms = is_closed_now ? now_ms - started_ms : PROBE_INTERVAL_MS};
}

static void note_received(struct instance_state *state, const struct replication_facts *facts, int64_t now_ms)
{
    const struct replication_facts *before = &state->replication;
    int64_t since_ms = state->replication_ms, written_ms = facts->relay_written_ms;

    if (!before->seen || !since_ms || !before->configured || !facts->configured ||
        facts->stream_position == before->stream_position)
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

void write_times_fill(const struct instance_state *state, struct agent_status *ret)
{
    const struct write_times *times = &state->writes;

    ret->took_writes = times->took;
    ret->event_received = times->received;
    ret->first_commit = times->first;
    ret->first_commit_epoch = times->first_epoch;
}
