/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catch_up_note.h: run_dir/caught-up.json: that this server process holds all that it can have acknowledged, for an
 * agent that is started anew beside it.
 *
 * Such an agent could prove it only by what the source says (catch_up.h), and in a failover there is no source: an
 * agent that was killed then would hold the failover up for as long as the primary is away, although nothing had
 * happened to the server. The note tells by which process (server_exec.h) and what that had received. It is there only
 * while nothing is being changed: it goes before a change of role begins, which may drop relay logs, and comes back
 * when that has ended well. What the server does by itself drops none, or makes another process of it.
 *
 * It outlives the process, too: as long as no change of role has begun under the next one, that has what this one had,
 * if it has kept its relay logs (catch_up_kept). A start that drops them removes the note (bootstrap/relay_keep.h). It
 * is not synced, so it counts only under the boot of the kernel that it was written under; but it is, as its removal
 * is, where relay logs are (sync_relay_log = 1), and then it counts under a later one. Nothing here waits for a disk
 * but catch_up_note_sync: relay_notes.h sees to that.
 */
#ifndef KM_AGENT_CATCH_UP_NOTE_H
#define KM_AGENT_CATCH_UP_NOTE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/bootstrap/relay_keep.h"
#include "agent/bootstrap/server_exec.h"
#include "agent/catch_up.h"

struct caught_up {
    char server[SERVER_RUN_SIZE]; /* "" nobody */
    const char *received;
    char boot[RELAY_KEEP_NAME_SIZE];
    bool synced;
};

struct catch_up_note {
    const struct agent_paths *paths;
    struct caught_up found; /* left by the agent before, until the first look */
    struct caught_up last;  /* what the file says */
    struct caught_up past;  /* the same of a process that has ended, until a change of role begins under another one */
    struct position_pool *positions; /* holds their positions */
    char boot[RELAY_KEEP_NAME_SIZE];
    char server[SERVER_RUN_SIZE]; /* before the next look */
    bool known;                   /* the latest look was at that one */
    bool is_there;                /* the file */
    bool unsure; /* there was none, and the agent before may have been killed before its removal was on the disk */
    bool synced; /* set by the owner: relay logs are synced */
    uint64_t change, on_disk; /* the latest change of the file that is to be synced, and the latest that is */
};

/* Reads what an agent before this one has left. paths must outlive it. Release with catch_up_note_release. */
void catch_up_note_init(struct catch_up_note *note, const struct agent_paths *paths);
void catch_up_note_release(struct catch_up_note *note);
/* A look at the server has shown what it has received. The process is the one that was there before the look and still
 * is after it; another one than before is a gap, and the one of the note goes on. */
void catch_up_note_look(struct catch_up_note *note, struct catch_up *catch_up, enum agent_flavour flavour,
    const char *received, int64_t now_ms);
/* Pure: the same, of that process ("" not known). */
void catch_up_note_look_at(struct catch_up_note *note, const char server[static SERVER_RUN_SIZE],
    struct catch_up *catch_up, enum agent_flavour flavour, const char *received, int64_t now_ms);
/* The process has ended: before the next look. */
void catch_up_note_server_gone(struct catch_up_note *note);
/* A change of role begins that may drop relay logs, or is to. catch_up_note_keep comes next. */
void catch_up_note_spend(struct catch_up_note *note);
/* The server was started anew, its relay logs are whole, and this is all that it has received. */
void catch_up_note_relay_logs_kept(
    const struct catch_up_note *note, struct catch_up *catch_up, enum agent_flavour flavour, const char *received);
/* After each look, and before and after each change: whether it is proven and nothing is being changed. Writes or
 * removes the file when that has changed. */
void catch_up_note_keep(struct catch_up_note *note, bool up, const char *received);
enum catch_up_note_act { CATCH_UP_NOTE_STAYS, CATCH_UP_NOTE_WRITTEN, CATCH_UP_NOTE_REMOVED };
/* Which of that. Changes *note alone: no file is touched. */
enum catch_up_note_act catch_up_note_decide(struct catch_up_note *note, bool up, const char *received);
/* The latest change that is to be synced, and may not be on the disk; 0: there is none. */
uint64_t catch_up_note_unsynced(const struct catch_up_note *note);
/* What the folder holds is on the disk after that. Blocking; on any thread. */
int catch_up_note_sync(const struct agent_paths *paths) KM_MUST_CHECK;
/* That was done after this change was made. */
void catch_up_note_synced(struct catch_up_note *note, uint64_t change);

#endif
