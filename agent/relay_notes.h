/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_notes.h: what is noted of relay logs while the server runs, and its way to the disk: on a worker, for a slow
 * disk must not stop the loop.
 *
 * The proof that this member holds everything (catch_up_note.h), and the note for the next start
 * (bootstrap/relay_keep.h): that one is written by the start from my.cnf, and no longer says that relay logs are
 * synced once a look has shown that they are not (SET GLOBAL sync_relay_log). It never says so again before the next
 * start: what was written meanwhile may be lost.
 *
 * The worker syncs what is not urgent. Before a change of role begins, which may drop relay logs, the role lane's
 * thread syncs that the proof is gone (catch_up_note_unsynced): so the order of the two holds, and a new order can
 * overtake the change as always.
 */
#ifndef KM_AGENT_RELAY_NOTES_H
#define KM_AGENT_RELAY_NOTES_H

#include "common/base.h"

#include "agent/catch_up_note.h"
#include "agent/instance_state.h"
#include "common/worker.h"

struct relay_notes {
    struct catch_up_note catch_up;
    const struct agent_paths *paths;
    struct worker *worker;
    void (*changed)(void *arg);
    void *arg;
    bool syncing;
    bool lowering, lowered; /* the note for the next start: it is written, it is right for this server */
    bool unsynced;          /* a look has shown this server with relay logs that it does not sync */
    uint64_t server;        /* counts servers */
    int64_t retry_ms;
};

/* paths must outlive it. The worker is freed before it is released. changed: the note for the next start was
 * written, or not. */
void relay_notes_init(struct relay_notes *notes, const struct agent_paths *paths, struct worker *worker,
    void (*changed)(void *arg), void *arg);
void relay_notes_release(struct relay_notes *notes);
/* After each look, and before and after each change of role: the role's `running` says which. */
void relay_notes_keep(struct relay_notes *notes, const struct instance_state *state);
void relay_notes_server_gone(struct relay_notes *notes);
/* The note for the next start is being written: relay logs must not be dropped now, which writes it, too. */
bool relay_notes_is_lowering(const struct relay_notes *notes);

#endif
