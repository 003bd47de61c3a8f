/* SPDX-License-Identifier: Apache-2.0 */
/*
 * catch_up.h: whether this server holds all that it can have acknowledged (agent_api.h: caughtUp). Pure.
 *
 * A relay log is not for ever: it is dropped when a server starts that cannot be sure of it (bootstrap/relay_keep.h),
 * and where its source is changed while something waits to be applied. What was received then is less than what was
 * acknowledged, and in a failover its answer would prove nothing. There are two ways back. Its source has it: what the
 * source had executed after the gap holds everything that was acknowledged before it; once that is received here, too,
 * the answer counts again. And a server that had been proven before, and kept its relay logs over its start, has it
 * once all that they hold is executed.
 */
#ifndef KM_AGENT_CATCH_UP_H
#define KM_AGENT_CATCH_UP_H

#include "common/base.h"

#include "common/agent_api.h"

struct catch_up {
    bool up;
    int64_t gap_ms;   /* acknowledgements given before may be of what is no longer here */
    const char *goal; /* to be received; "" or NULL: not known yet */
    /* To be executed, of what a server that was started anew has kept; "" or NULL: nothing was, or it is not known. */
    const char *kept;
    /* They hold these; references are owned until the next gap; NULL: somebody else does. */
    struct position_pool *positions, *of_kept;
};

/* The server or its relay logs are others than before. */
void catch_up_gap(struct catch_up *catch_up, int64_t now_ms);
/* A look at the server: what it had received at the one before, and has now. drops: some of what it had received since
 * is as good as lost (replication_facts.h: drops_received). */
void catch_up_look(struct catch_up *catch_up, enum agent_flavour flavour, const char *before, const char *received,
    bool drops, int64_t now_ms);
/* The source's agent, asked at asked_ms. positions holds those of *theirs; NULL: they outlive this. */
void catch_up_heard(
    struct catch_up *catch_up, const struct agent_status *theirs, struct position_pool *positions, int64_t asked_ms);
/* When the source's server was asked for the sets in this answer: by our clock, and not later than it was in truth. */
int64_t catch_up_read_ms(const struct agent_status *theirs, int64_t asked_ms);
/* Another source is followed: it need not have what the one before had executed, only what was acknowledged. */
void catch_up_other_source(struct catch_up *catch_up);
/* An agent before this one had proven it of this server process, when that had received what is noted
 * (catch_up_note.h). */
void catch_up_resume(struct catch_up *catch_up, enum agent_flavour flavour, const char *noted, const char *received);
/* The server was started anew, had been proven before to hold everything, `noted` at that time, and has kept its relay
 * logs (relay_recover.h): `received` is all that it had received when it ended. What cannot be applied is no proof, so
 * it is executed first. */
void catch_up_kept(struct catch_up *catch_up, enum agent_flavour flavour, const char *noted, const char *received);
/* A look at the server: what it has executed. */
void catch_up_executed(struct catch_up *catch_up, enum agent_flavour flavour, const char *executed);
/* It was opened as a primary, at the position that the operator took for everything. */
void catch_up_opened(struct catch_up *catch_up);

#endif
