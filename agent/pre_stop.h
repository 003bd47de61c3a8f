/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pre_stop.h: what holds a pod's end up: the preStop hooks of the database pod (kubelet runs them before it sends
 * SIGTERM).
 *
 * `pre-stop`, in container mysql: a primary is not stopped before the operator has moved it. Asks this pod's agent (GET
 * /role, GET /live on the plain door) every PRE_STOP_POLL_MS. It is no guard: it ends, and the server with it, as soon
 * as waiting is of no use (see pre_stop_may_go), at once where the operator says that nobody could take over, and in
 * any case after the time that the operator allows, which leaves the server enough to shut down. One that is still
 * primary then is closed first: by the agent (server_mark_stopping), and by the hook itself where the agent does not,
 * because a MySQL server that gets SIGTERM tells clients whose commits wait that these are done. One that cannot be
 * closed is killed. In a cluster of one it does nothing, unless the server's commits wait for others all the same.
 * `linger`, in container agent: keeps the agent, which tells what becomes of the server, until the server has ended.
 */
#ifndef KM_AGENT_PRE_STOP_H
#define KM_AGENT_PRE_STOP_H

#include "common/base.h"

#include "agent/options.h"
#include "common/error.h"

#define PRE_STOP_POLL_MS 100
/* An agent that restarts is back sooner. */
#define PRE_STOP_SILENCE_MS 3000
/* No operator has a stream to the agent: it restarts, or the cluster is deleted and nobody will come. */
#define PRE_STOP_ALONE_MS 10000
/* The last act for one that is still primary: clients must not be told that commits are done that nobody has
 * acknowledged. */
#define PRE_STOP_CLOSE_MS 3000
/* A server that hangs is killed when it goes on. SIGTERM must not come before: so the hook waits for as long as the
 * kubelet lets it (the grace period). */
#define PRE_STOP_KILL_MS 3600000
/* The primary is closed, and another member fetches its last transactions; or the whole cluster is being stopped. */
#define PRE_STOP_FENCED_MS 10000
/* Its replication is being set up: a MySQL that is told to end meanwhile may not (server_mark_leaving). */
#define PRE_STOP_TURN_MS 5000
/* A replica stops to receive and applies what it has received. The pod that comes after it drops its relay logs
 * (bootstrap/relay_keep.h), and with them what it has acknowledged and not applied: if the primary's volume is lost
 * then, nobody else has it. */
#define PRE_STOP_APPLY_MS 5000

/* Since when it is so, monotonic; 0: it is not. */
struct pre_stop {
    int64_t silent_since_ms;
    int64_t alone_since_ms;
    int64_t fenced_since_ms;
    int64_t turning_since_ms;
    int64_t applying_since_ms;
};

/* What the agent answered; answered false: it did not. */
struct pre_stop_answer {
    bool answered;
    bool live;        /* a server that is restarted because it hangs is not waited for */
    const char *role; /* body of GET /role, see agent_server.h */
};

/* Why the server may be stopped now, for people; NULL: it is to wait. Pure. */
const char *pre_stop_may_go(struct pre_stop *state, const struct pre_stop_answer *answer, int64_t now_ms);

/* Both return 0 unless something is wrong with this pod itself; the kubelet stops the container either way. */
int pre_stop_run(const struct agent_options *options, struct error *err);
int linger_run(const struct agent_options *options, struct error *err);

#endif
