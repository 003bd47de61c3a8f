/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_decide.h: from an order and what the server says to the next thing to do. Pure.
 *
 * Whatever is asked for is made true again when it is no longer: a thread that was stopped is started, a source that
 * differs is configured anew. An applier that met an error stays stopped: to go on would be to skip (I7); a person or a
 * new copy of the data mends that. Nor does data ever receive anything whose GTID position somebody has set back
 * (gtid_loss.h).
 */
#ifndef KM_AGENT_ROLE_DECIDE_H
#define KM_AGENT_ROLE_DECIDE_H

#include "common/base.h"

#include "agent/instance_state.h"
#include "common/agent_api.h"

/* After a failure; and how often a receiver that gave up, or an applier that met a conflict of locks, is started
 * again. */
#define ROLE_RETRY_MS 1000
#define THREAD_RETRY_MS 10000
/* The order's limits, where it names none. */
#define SILENCE_DEFAULT_MS 2000
#define HUNG_DEFAULT_MS 2000

struct role_decision {
    enum role_action action;
    bool reconfigure;  /* follow: even if host and port are right */
    bool restart;      /* follow: a thread that failed, too */
    bool urgent;       /* close: nothing may go on; what runs or waits is ended at once */
    bool stays_closed; /* open: all but for writes */
    bool root;         /* suspend: administrators may write, where the server can tell them from others */
};

struct role_decision role_decide(const struct instance_state *state, enum agent_phase phase, int64_t now_ms);

/* Whether clients may be able to write. A server that no probe has read as a whole may be open, unless this agent was
 * there when it was started. */
bool role_may_be_open(const struct instance_state *state);

/* What was ordered is so (agent_api.h: order_done). */
bool role_done(const struct instance_state *state);

/* Counts commits of a semi-sync primary that ended without an acknowledgement since the last call. ours: by role_close,
 * which kills the connections that wait, so that no client is told that they are done.
 * A commit that had been flushed when semi-sync was turned on waits for nobody, and the server counts it, too (MySQL,
 * plugin/semisync/semisync_source.cc, commitTrx: "considered as an async transaction"). After an opening that turned it
 * on, such a commit is a lapse, so replicas must have it before `confirmed` holds, but nobody has ended it. */
void role_note_unacknowledged(struct instance_state *state, const struct replication_facts *facts, bool ours);
/* Counts a look at an open semi-sync primary, or at one that is to be closed, that finds that commits need not wait as
 * they are to (state->lapses). */
void role_note_lapse(struct instance_state *state, const struct replication_facts *facts);

/* Commits of a primary wait for a replica, the copy that it gives waits for those commits, and the replica may be the
 * one that waits for the copy. So the primary closes, which ends the connections that wait without a word that their
 * commits are done; semi-sync stays armed (I3). Once they have ended the copy goes on, and what commits from then on
 * does not hold it up: the tools wait at one place only (CLONE looks ten times a second). So it opens again soon, be
 * the copy complete or not, and is not closed for one a second time before AGENT_COPY_CLOSE_AGAIN_MS: neither by this
 * agent, nor by another one of whom the operator knows (stays_open). Unless not one commit has got through for
 * COPY_AGAIN_BLOCKED_MS: what is open by name alone loses nothing by it, and would wait for the rest of these minutes
 * for the member that would acknowledge. Who connects meanwhile can read. */
#define COPY_PATIENCE_MS 2000
#define COPY_AGAIN_BLOCKED_MS 10000
#define COPY_STAGE_MS 3000
/* After that our source has heard several times that our volume is short of room, and no longer counts us among those
 * that have some. */
#define SPARE_AFTER_MS 3000
bool role_closed_for_copy(const struct instance_state *state, int64_t now_ms);

/* A primary is closed for writes while its volume, or those of members whose acknowledgements it needs, have too little
 * room, whatever its order says of its role meanwhile: it is opened again only under the order that is in force then
 * (I6). */
bool role_closed_for_room(const struct instance_state *state, int64_t now_ms);
/* A replica receives nothing once less than half of its floor is free, as long as its source takes writes and has
 * enough others that acknowledge them. */
bool role_held_for_room(const struct instance_state *state, int64_t now_ms);
/* It is open for root all the same: an order wishes it (agent_order.h: root_until_ms), and there is more room than the
 * last floor, here and on the members whose acknowledgements it needs. */
bool role_opens_for_root(const struct instance_state *state, int64_t now_ms);
/* Where the server cannot keep administrators from writing, those who write are ended below the last floor. */
#define WRITERS_END_MS 1000
/* Such a primary has done all else that its order asks for: it is read from, and replicas follow it. Not before nobody
 * can write there any more: until then it needs acknowledgements. And until it is open again. */
bool role_serves_reads(const struct instance_state *state);
/* It is on the way there: writes are being ended, clients stay. */
bool role_is_being_suspended(const struct instance_state *state);
/* While writes are being suspended: something else is to be done first, or they need not be any more. */
bool role_ends_suspension(const struct instance_state *state);

/* For how long an agent that was started anew beside an open server may hear nobody: the operator tells each agent
 * that answers again what is wished, at once, and others ask it each second. The one before may have heard nobody for
 * long. */
#define ROLE_LEFT_OPEN_MS 2000
/* A primary that must close itself, or has: nobody was heard for self_fence_ms (I6). Stays true once
 * state->role.isolated is. Without an order: a server that an earlier agent left open (self_fence.h), by the same
 * measure, but ROLE_LEFT_OPEN_MS at most from this agent's start on, if nobody is heard. */
bool role_is_isolated(const struct instance_state *state, int64_t now_ms);
/* A thread that runs no more although nothing went wrong, since we started it, and which is left so
 * (agent_order.h: leave_threads). */
bool role_is_left_stopped(const struct instance_state *state);
/* Clients are refused by offline_mode, and that is left so for the same reason. */
bool role_is_left_offline(const struct instance_state *state);
/* The server is to be stopped (role->leaving), and this replica may receive still, or has received what it has not
 * applied: it stops to receive, and applies that first (pre_stop.h). False if nothing is being applied: a person has
 * stopped the applier, or it has an error. */
bool role_applies_before_end(const struct instance_state *state);
/* The source has yet to be opened (agent_order.h: await_source). */
bool role_awaits_source(const struct instance_state *state);

/* A source is followed, identified by `source` (role_state.source_wanted of the job: host, port and password).
 * reconfigured: it was named anew, with our password, whatever was found. One that was found with the right host and
 * port is only started, so that its relay logs stay: it is refused if the password that is stored is another one than
 * ours, and named anew then (must_reconfigure). */
void role_note_followed(struct role_state *role, uint64_t source, bool reconfigured, int64_t now_ms);

/* Keeps state->stream up to date with a look at the server that began at at_ms. */
void role_note_stream(struct instance_state *state, const struct replication_facts *facts, int64_t at_ms);
/* By the server's own connection alone: the source's agent may be dead while its server serves, and the other way
 * round. What a look did not see counts for nothing: a server of ours that hangs loses no source. */
bool role_source_lost(const struct instance_state *state);

/* What stands behind a replica's error. */
enum replication_trouble {
    TROUBLE_NONE,
    TROUBLE_PURGED,    /* BinlogsPurged */
    TROUBLE_ERRANT,    /* ErrantTransactions */
    TROUBLE_SERVER_ID, /* DuplicateServerId */
    TROUBLE_REFUSED,   /* ReplicationRefused */
    TROUBLE_STOPPED,   /* ReplicationStopped: the applier */
    TROUBLE_LOST,      /* the source cannot be reached; no problem by itself */
};
enum replication_trouble replication_trouble_of(const struct replication_facts *facts);
/* The transaction that MariaDB names: one whose number a strict applier finds taken (error 1950), or one that its
 * source does not know (1236). "" none. By their positions alone such sets cannot be told apart: the source's may have
 * the larger number. */
void replication_errant_position(const struct replication_facts *facts, char *ret, size_t size);

#endif
