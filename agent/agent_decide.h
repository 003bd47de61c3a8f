/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_decide.h: from what is known to what is to be done. Pure: no clock, no I/O.
 */
#ifndef KM_AGENT_AGENT_DECIDE_H
#define KM_AGENT_AGENT_DECIDE_H

#include "common/base.h"

#include "agent/instance_state.h"
#include "common/agent_api.h"

/* Quicker while a server is expected to come up. */
#define PROBE_INTERVAL_MS 500
/* The loop turns five times a second; after longer than this the agent itself was held up. */
#define TURN_LATE_MS 500
#define PROBE_STARTING_INTERVAL_MS 200
/* A server that never answered may listen while it still starts; after this long it hangs. */
#define STARTING_SILENCE_MS 10000
/* Answers to a probe that come later than this after its beginning do not count: the server hangs once the limit of the
 * order has passed since then. */
#define LOOK_MAX_MS 20000
/* A server tells its age by a clock that may be set. */
#define UPTIME_TOLERANCE_MS 1000
/* Counters: at every probe while somebody scrapes, else now and then. */
#define STATUS_INTERVAL_MS 10000
#define STATUS_SCRAPED_WITHIN_MS 90000
#define ACCOUNTS_RETRY_MS 5000

struct agent_decision {
    enum agent_phase phase;
    bool probe;             /* start a probe */
    bool probe_with_status; /* and collect counters */
    bool apply_accounts;    /* start the action */
    bool stop_server;       /* it is to be kept stopped: the mark first */
    bool let_start;         /* the mark is to go */
    bool reload_tls;        /* or that one */
    bool tend_events;       /* or that one */
};

/* The loop turns. What was late because of ourselves (a node that froze, a process that got no CPU) is no fault of the
 * server: the times since when it owes an answer are moved by as much. */
void agent_note_turn(struct instance_state *state, int64_t now_ms);
/* A probe begins; the latest has ended. */
void agent_note_probe(struct instance_state *state, int64_t now_ms);
/* The server answered a statement of a probe at answered_ms (0: never yet). A probe sends some twenty statements. A
 * server that is slow at each, for want of CPU or behind locks, does not hang. One that has not answered a whole probe
 * gets no more time by statements of later probes, nor more than LOOK_MAX_MS by those of one probe. */
void agent_note_part(struct instance_state *state, int64_t answered_ms);
void agent_note_answer(struct instance_state *state, const struct error *error);

/* The server of this look was started after the last one: it is younger than it was, or has not become as much older as
 * time went by, as after the agent was stopped over the restart of a young server. */
bool agent_server_restarted(const struct uptime_look *last, const struct uptime_look *look);

enum agent_phase agent_phase_of(const struct instance_state *state, int64_t now_ms);
/* Open for writes as ordered. */
bool agent_is_primary(const struct instance_state *state);
/* The probe is to see whether anybody waits for a lock on all tables: where no heartbeat would, with each look at the
 * counters, and with each look for as long as somebody does. */
bool agent_asks_for_lock_waits(const struct instance_state *state, bool with_status);
/* How much may be done about accounts now. */
enum accounts_scope agent_accounts_scope(const struct instance_state *state);
/* What a look has seen of the accounts: true if another hand has changed what this primary made. While another member is
 * primary, that one makes them. What this one knew of them is forgotten then, and the error that kept it from making
 * them (the server may have been read-only already). As primary again it begins with what it finds, if the record
 * beside it says that its own wish was carried out. */
bool agent_note_digest(struct instance_state *state);
/* What a look has seen of the account that the agent enters by: true if it was made anew on this server, a primary, and
 * is to be logged for the others. */
bool agent_note_own_account(struct instance_state *state);
/* Or nearly: people should hear of it. */
bool agent_volume_is_full(const struct instance_state *state);
/* last_scrape_ms: when /metrics was asked last, 0: never. */
struct agent_decision agent_decide(const struct instance_state *state, int64_t last_scrape_ms, int64_t now_ms);

#endif
