/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_watch.h: asks the agent of the source for its status every second, by mutual TLS with the member's own
 * certificate.
 *
 * It tells the source that it is not alone (I6). And three things come of it. How its clock differs from ours (its
 * now_ms against the middle of our request), for the lag. Which transactions are executed here but not there, for
 * certain: our set was read SOURCE_JUDGE_MS before the source's server was asked for its own. And which account files
 * it has applied: a new password counts there from then on. And what must be received here after a restart for this
 * member's word to count in a failover (catch_up.h).
 */
#ifndef KM_AGENT_SOURCE_WATCH_H
#define KM_AGENT_SOURCE_WATCH_H

#include "common/base.h"

#include "agent/instance_state.h"
#include "common/loop.h"
#include "common/tls.h"

#define SOURCE_ASK_MS 1000
#define SOURCE_ASK_BEFORE_MS 25 /* while it has yet to be told to open (agent_order.h: await_source) */
#define SOURCE_ASK_OPENING_MS 5 /* from then on: clients wait for us */
/* While what it says is needed to count again (catch_up.h), or it has to hear soon that our volume runs out of room; or
 * while it is at rest, when nothing but our questions shows that we are in reach (beat_rest.h). */
#define SOURCE_ASK_SOON_MS 250
#define SOURCE_JUDGE_MS 5000
#define SOURCE_LOOK_MS 2000 /* after so long without a look at its server, an agent cannot tell which commits wait */

struct source_watch;

/* Reads state->replication and state->observed, writes state->source; fn runs after that. */
struct source_watch *source_watch_new(struct loop *loop, struct instance_state *state, void (*fn)(void *arg), void *arg);
void source_watch_free(struct source_watch *watch);
/* New certificates; copied. */
void source_watch_set_tls(struct source_watch *watch, const struct tls_keypair *pair, const char *ca_pem);
/* Whom to ask; "" nobody. Another source: what was known is forgotten; nobody: all but what is errant. */
void source_watch_set(struct source_watch *watch, const char *host, uint32_t port);

/* The source's agent has answered; state->source.error was cleared. Names lead to old addresses for a while: what
 * another member says (`instance`) is not the source's word, it leaves the error and nothing else. */
void source_watch_hear(struct source_watch *watch, const struct agent_status *theirs, struct position_pool *positions);

/* Pure. Whether the stream tells this member its lag, so that it needs no row for that (role_status.h: role_lag). */
bool source_watch_hears_beats(const struct replication_facts *facts);
/* Pure. The source's word, asked for at asked_ms: into state->source. own: what was executed here at own_ms, "" not
 * known. offset_us: its clock minus ours. True: `own` is of no use any more. */
bool source_watch_take(struct instance_state *state, const struct agent_status *theirs, struct position_pool *positions,
    const char *own, int64_t own_ms, int64_t asked_ms, int64_t offset_us);
/* Pure. Another source is to be watched: what was known is forgotten; nobody: all but what is errant, for what was
 * proven stays so while nobody is followed: it is the only reason to have this member's data replaced. */
void source_watch_forget(struct instance_state *state, bool nobody);
/* Pure. Until the next question. */
int64_t source_watch_pause_ms(const struct instance_state *state);
/* Pure. Whether the source's set can be taken for all that it has. A commit that waits for acknowledgements enters it
 * after that (MySQL, AFTER_SYNC), while the replicas that gave theirs have executed it: one that waits for as long as
 * our set must have been read before shows as blocked in every answer since then, if the server was looked at all the
 * time. */
bool source_watch_is_calm(const struct agent_status *theirs);
/* Pure. Whether what is in our set, read at own_ms, and not in this answer to a request of asked_ms is errant. */
bool source_watch_proves(const struct agent_status *theirs, int64_t asked_ms, int64_t own_ms);
/* Pure. `own` was read well before `theirs`. Cut texts prove nothing: "". */
void source_watch_errant(enum agent_flavour flavour, const char *own, const char *theirs, char *ret, size_t size);

#endif
