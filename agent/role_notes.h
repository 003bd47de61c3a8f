/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_notes.h: what role_keeper notes in instance_state of orders, looks at the server and changes of role: pure, so
 * that whoever drives an agent by other means (a simulation) notes the same.
 */
#ifndef KM_AGENT_ROLE_NOTES_H
#define KM_AGENT_ROLE_NOTES_H

#include "common/base.h"

#include "agent/instance_state.h"
#include "agent/role_decide.h"
#include "agent/role_lane.h"

/* How long what was received may go on being applied before a replica turns to another source, which may wait for its
 * acknowledgements. After that it is dropped: the new source has it. */
#define ROLE_FOLLOW_DRAIN_MS 10000

/* ---- orders ---- */

/* The mark on the volume once the order counts. One that makes the member primary, or lets it follow a source, takes
 * back that it has left: replicas were scaled in and out again before its pod went. Until then nothing that this member
 * has counted when nothing but the volumes is left of a cluster, whatever it wrote since. A mark to replace the data
 * stays: the pod goes. */
enum agent_mark role_mark_after(const struct role_state *role, const struct agent_order *order);
/* An order counts: its epoch and its mark. True: it is the one in force (`hash` is its own), said again. */
bool role_note_epoch(
    struct instance_state *state, const struct agent_order *order, const char hash[static 17], int64_t now_ms);
/* It is another one. Its positions must outlive it; source_wanted is the caller's. */
void role_note_order(struct instance_state *state, const struct agent_order *order, const char hash[static 17]);

/* ---- looks at the server ---- */

/* Whether a look that began at started_ms shows anything: it is not from before or amid a change of role. */
bool role_takes_look(const struct role_state *role, int64_t started_ms);
/* Whether it is no older than what is known. Looks come from two threads: while a server is being closed, a look may be
 * taken that began after the one with which the closing ends, and comes before it. Of two that overlap the one that
 * began later counts. */
bool role_takes_facts(const struct instance_state *state, const struct replication_facts *facts);
/* Before its facts are kept: commits that wait, an applier that has stopped, commits that need not wait as they are
 * to, a GTID position that was set back. */
void role_note_look(struct instance_state *state, const struct replication_facts *facts, int64_t started_ms);
/* The first look of this agent at a server, which may have been started with relay logs from before. An agent that died
 * may have left it in the midst of them. is_dropping: relay_keep_is_dropping. */
void role_note_relay_logs(struct role_state *role, const struct replication_facts *facts, bool is_dropping);
/* May be called again before it is back. */
void role_note_server_gone(struct instance_state *state, int64_t now_ms);

/* ---- turns ---- */

/* One that was alone for too long stays closed, whoever speaks now. True: it is from now on. */
bool role_note_isolation(struct instance_state *state, int64_t now_ms);
/* True: whether it is closed for a copy has changed. */
bool role_note_copy(struct instance_state *state, int64_t now_ms);
/* True: whether it is closed, or held, for lack of room has changed. */
bool role_note_room(struct instance_state *state, int64_t now_ms);
/* After that. True: whether it is open for root has changed. */
bool role_note_root(struct instance_state *state, int64_t now_ms);
/* The heartbeat is to be written. */
bool role_beats(const struct instance_state *state);
/* A row of it may come more seldom while nobody writes: no member needs it to know its lag (one that does asks once a
 * second), nor has one fallen silent, which only a row that is not acknowledged can show to be lost. */
bool role_may_rest(const struct instance_state *state, int64_t now_ms);
/* A heartbeat written after the server was closed would be errant: one that is under way may end first. accepted_ms: of
 * the order in force. */
bool role_waits_for_beat(
    const struct instance_state *state, const struct role_decision *decision, int64_t accepted_ms, int64_t now_ms);

/* ---- changes of role ---- */

/* Relay logs. */
bool role_may_drop(const struct instance_state *state, enum role_action action);
/* Follow: what was received is still applied before the source is changed. */
bool role_drains(const struct role_state *role, int64_t now_ms);
void role_note_begin(struct role_state *role, const struct role_decision *decision, int64_t now_ms);

/* What a change of role was begun with. */
struct role_begun {
    uint64_t source; /* source_wanted */
    uint64_t epoch;
    bool reconfigures;
    char hash[17]; /* of the order: a newer one may have come meanwhile, and is carried out then */
    bool is_primary, semi_sync;
    uint32_t acks;
};
struct role_begun role_begun_of(const struct role_state *role, bool reconfigures);
/* Whatever its end, before its facts are kept: commits that have ended without an acknowledgement. What a close has let
 * go itself is no lapse. */
void role_note_result(struct instance_state *state, const struct role_result *result);
/* What was noted on the volume of an opening, also if it failed afterwards, or its server has ended since. */
void role_note_opening(struct role_state *role, const struct role_result *result);
/* Without an error. Of a recovery after role_note_recovery. */
void role_note_success(
    struct instance_state *state, const struct role_result *result, const struct role_begun *begun, int64_t now_ms);
/* True: what was received is whole. Else state->role.relay and relay_dropped say what becomes of it. */
bool role_note_recovery(struct instance_state *state, const struct role_result *result, int64_t now_ms);

#endif
