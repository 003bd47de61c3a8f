/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_aside_judge.h: what was set aside (set_aside.h) is judged again once a primary is open: whoever set it aside did
 * not know the history that goes on, and more is set aside than too little.
 *
 * Once for each epoch, and for each set that the status names, the primary is asked whether it has all of it
 * (holds_door.h): MySQL by sets, MariaDB by finding each very transaction in the primary's binary logs. If it has, the
 * entry is taken back: the status does not name it any more. The files stay. A list that is not whole, as of raw logs,
 * is not judged, nor is one of more than SET_ASIDE_JUDGED_MAX bytes, nor one of data whose GTID position somebody had
 * set back: there the same numbers are other transactions. Everything here runs on the loop, but for a thread that
 * reads files.
 */
#ifndef KM_AGENT_SET_ASIDE_JUDGE_H
#define KM_AGENT_SET_ASIDE_JUDGE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/instance_state.h"
#include "common/http_client.h"
#include "common/loop.h"

#define SET_ASIDE_JUDGE_RETRY_MS 10000
#define SET_ASIDE_JUDGED_MAX ((size_t)(128 * KM_KIB))

struct set_aside_judge;

/* Writes state->healing.set_aside; changed runs after that. paths and state must outlive it. */
struct set_aside_judge *set_aside_judge_new(struct loop *loop, const struct agent_paths *paths,
    struct instance_state *state, void (*changed)(void *arg), void *arg);
/* No callback follows. NULL is fine. */
void set_aside_judge_free(struct set_aside_judge *judge);
/* tls: a reference is taken. */
void set_aside_judge_set_tls(struct set_aside_judge *judge, struct http_tls *tls);
void set_aside_judge_turn(struct set_aside_judge *judge);

enum set_aside_witness {
    SET_ASIDE_NOBODY, /* no primary is known to be open */
    SET_ASIDE_SELF,   /* this member is it */
    SET_ASIDE_SOURCE, /* whom it follows */
};
/* Pure. Who is to be asked. */
enum set_aside_witness set_aside_witness_of(const struct instance_state *state);

#endif
