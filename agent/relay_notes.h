/*
 * relay_notes.h: what is noted of relay logs while the server runs, and its way to the disk: on a worker, for a slow
 * disk must not stop the loop.
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
    bool syncing;
};

/* paths must outlive it. The worker is freed before it is released. */
void relay_notes_init(struct relay_notes *notes, const struct agent_paths *paths, struct worker *worker);
void relay_notes_release(struct relay_notes *notes);
/* After each look, and before and after each change of role: the role's `running` says which. */
void relay_notes_keep(struct relay_notes *notes, const struct instance_state *state);
void relay_notes_server_gone(struct relay_notes *notes);

#endif
