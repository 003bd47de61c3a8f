/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_keeper.h: the operator's orders and what keeps them true: the epoch on the volume, the lane that changes roles,
 * the heartbeat, the look at the source. Owns state->role; everything runs on the loop.
 */
#ifndef KM_AGENT_ROLE_KEEPER_H
#define KM_AGENT_ROLE_KEEPER_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/instance_state.h"
#include "agent/mysql/session.h"
#include "agent/others_room.h"
#include "common/agent_order.h"
#include "common/error.h"
#include "common/loop.h"
#include "common/tls.h"

struct role_keeper;

/* changed: something is known that was not; the caller takes a turn. paths, user and state must outlive the keeper.
 * ERROR: the volume's epoch cannot be read, and without it no order can be judged. */
struct role_keeper *role_keeper_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    struct instance_state *state, void (*changed)(void *arg), void *arg, struct error *err);
void role_keeper_free(struct role_keeper *keeper);

/* One order. fn runs later, once: ERROR_NONE accepted; ERROR_CONFLICT the epoch is smaller than one that was accepted;
 * other: the epoch could not be written, or another order has come while this one waited; ERROR_CANCELLED from within role_keeper_free. epoch: the largest one
 * accepted. */
typedef void (*role_accepted_fn)(void *arg, uint64_t epoch, const struct error *error);
void role_keeper_order(struct role_keeper *keeper, const struct agent_order *order, role_accepted_fn fn, void *arg);

void role_keeper_set_password(struct role_keeper *keeper, const char *replication_password); /* secret; NULL: none */
void role_keeper_set_tls(struct role_keeper *keeper, const struct tls_keypair *pair, const char *ca_pem);
/* The server has gone or was started anew. A primary's order is dropped: the operator must say it again, knowing of
 * this. */
void role_keeper_server_gone(struct role_keeper *keeper);
/* The operator (member NULL) or another member has asked for something, as of a clock_ms of ours: it is not alone
 * (I6). */
void role_keeper_heard(struct role_keeper *keeper, const char *member, int64_t as_of_ms);
/* A replica says whether its volume has too little room, or hardly any, and after how long it asks again. */
void role_keeper_heard_room(struct role_keeper *keeper, const char *member, const struct others_word *word);
/* A member asks that judges its lag by the heartbeat's row alone (agent_api.h: GET /v1/status?lag=). */
void role_keeper_heard_row_reader(struct role_keeper *keeper);
/* The marks of the preStop hooks (server_exec.h). Each turn looks, too. */
void role_keeper_look_at_hooks(struct role_keeper *keeper);
/* A look at the server that began at started_ms: taken over unless a change of role came in between. */
void role_keeper_observed(struct role_keeper *keeper, const struct replication_facts *facts, int64_t started_ms);
/* Changes of role need a connection and the server has none left: one with these options is to be made by a session
 * that exists (room.h). */
bool role_keeper_is_shut_out(const struct role_keeper *keeper, struct session_options *ret);
void role_keeper_admit(struct role_keeper *keeper, struct session *session); /* takes it; NULL: there was no way */
/* The agent begins, or has ended, to commit what is not counted one by one (own_commits.h). */
void role_keeper_changes(struct role_keeper *keeper);
/* The next step, if one is due. */
void role_keeper_turn(struct role_keeper *keeper, enum agent_phase phase, int64_t now_ms);

#endif
