/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beat_rest.h: whether a primary's next heartbeat is a row, or a write to a file on its volume (volume_try.h). Pure.
 *
 * A row is a transaction: in the binary log of every member, and in the archive. While somebody writes there is one
 * every HEARTBEAT_INTERVAL_MS. Once nobody else has written for BEAT_REST_AFTER_MS the cluster is at rest, and there
 * is one every BEAT_REST_ROW_MS; in between a file shows that storage takes writes. Whatever anybody else writes, or
 * begins to commit, is seen at the next beat, which is a row again: so a commit that waits, for acknowledgements or
 * for the server, is found as soon as it would be if rows had never ceased.
 *
 * Two things of the server tell it (struct beat_look). The position moves with every transaction that is in the binary
 * log; MySQL's only when nothing is waited for any more. Handler_prepare moves with every commit that begins. What a
 * row of ours adds to them is known from the row before; should the same moment add more, somebody else was there.
 */
#ifndef KM_AGENT_BEAT_REST_H
#define KM_AGENT_BEAT_REST_H

#include "common/base.h"

#define BEAT_REST_AFTER_MS 2000
#define BEAT_REST_ROW_MS 6000

struct beat_look {
    bool known;        /* the server was asked */
    uint64_t position; /* identifies what is in its binary log */
    uint64_t prepares; /* Handler_prepare, of all sessions */
};

/* Zeroed: nothing was written yet under this epoch. */
struct beat_rest {
    int64_t row_ms;        /* when the latest row was written; 0: none was */
    int64_t busy_ms;       /* when somebody else had written last, or rows were needed */
    struct beat_look left; /* as the latest row left the server */
    uint64_t row_prepares; /* what that row added */
};

/* The next beat, which is due now. look: the server before it. may_rest: nobody needs rows more often (role_notes.h:
 * role_may_rest). */
bool beat_rest_wants_row(struct beat_rest *rest, const struct beat_look *look, bool may_rest, int64_t now_ms);
/* A row was written. look: before it; after: behind it. */
void beat_rest_note_row(
    struct beat_rest *rest, const struct beat_look *look, const struct beat_look *after, int64_t now_ms);

#endif
