/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tmp_keeper.h: the thread that keeps the server's temporary files within their bound (tmp_room.h), by what the scout
 * says that they take (tmp_scout.h). Beyond it, it ends connections, one after the other, and says so in the log: user
 * and number of the connection, never the statement. Clients get "server has gone away" or "lost connection"; whatever
 * they had not committed is undone.
 *
 * A server that does not answer is not helped; it is asked again.
 */
#ifndef KM_AGENT_TMP_KEEPER_H
#define KM_AGENT_TMP_KEEPER_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/instance_state.h"
#include "common/loop.h"

#define TMP_KEEPER_INTERVAL_MS 1000
#define TMP_KEEPER_BUSY_MS 250

struct tmp_keeper_options {
    struct loop *loop;
    const struct agent_paths *paths;
    const char *user;
    const struct instance_state *state; /* the volume's size, the server's version */
    uint64_t wished_bytes;              /* the bound; 0: tmp_room_bound */
    uint64_t ephemeral_bytes;
};

/* For people. */
struct tmp_report {
    bool is_known;
    uint64_t bytes, bound; /* bound 0: not known yet */
    uint64_t ended;        /* connections, since the agent began */
};

struct tmp_keeper;

/* What the options point to must outlive it. */
struct tmp_keeper *tmp_keeper_new(const struct tmp_keeper_options *options);
/* As often as one likes: a look begins when one is due and none is under way. */
void tmp_keeper_turn(struct tmp_keeper *keeper, int64_t now_ms);
const struct tmp_report *tmp_keeper_report(const struct tmp_keeper *keeper);
void tmp_keeper_free(struct tmp_keeper *keeper);

#endif
