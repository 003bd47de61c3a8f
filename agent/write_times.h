/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_times.h: when clients' writes were last done here, when the last transaction came from the source, when this
 * server was opened, and when the first commit that is not the agent's was done after that: what the operator needs to
 * tell for how long writes were held up (agent_api.h: took_writes, event_received, opening, first_commit). Pure.
 *
 * Each is a moment that lies between at_ms and at_ms + span_ms. A look at the server says only that something has
 * happened since the look before; the file that was written then says when.
 */
#ifndef KM_AGENT_WRITE_TIMES_H
#define KM_AGENT_WRITE_TIMES_H

#include "common/base.h"

#include "common/agent_api.h"

struct instance_state;
struct replication_facts;

struct write_times {
    /* The last sign that clients' writes are done here: it was open then, and commits went through. */
    struct agent_moment took;
    struct agent_moment received; /* the last transaction from the source, one of the agent's own there included */
    struct agent_moment opened;   /* by this process, under opened_epoch */
    uint64_t opened_epoch;        /* 0: it was not */
    struct agent_moment first;    /* commit after the opening under first_epoch */
    int64_t first_idle_ms;        /* for how long nobody was seen to wait before it (first_commit.h) */
    uint64_t first_epoch;         /* 0: there was none, or not yet */
    bool beat_was_late;           /* at the latest look at the open server that could tell */
};

/* A look at the server, before its facts are kept and after role_note_look. started_ms: when it began, or the change of
 * role that it ends; a server that was open before and is not now was closed since. */
void write_times_look(
    struct instance_state *state, const struct replication_facts *facts, int64_t started_ms, int64_t now_ms);
/* A change of role that began at started_ms has opened the server, as the look at looked_ms tells. */
void write_times_opened(struct instance_state *state, uint64_t epoch, int64_t started_ms, int64_t looked_ms);
void write_times_fill(const struct instance_state *state, struct agent_status *ret);

#endif
