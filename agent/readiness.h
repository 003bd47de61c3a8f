/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readiness.h: the answers for the kubelet. Pure.
 *
 * Ready: the server answers, its accounts are made, and it does what it was ordered: role_status.h. A later wish that
 * cannot be met (a Secret is gone, a name is refused) is a problem in the status, but takes no working database out of
 * service.
 *
 * Live never depends on replication, the operator or the API server. It says no only for what a restart may mend: a
 * server that answered once and then is silent for LIVE_HUNG_MS. Crash recovery may take hours and is never cut short;
 * a full volume is not mended by a restart; a server that ended is restarted by the kubelet anyway.
 */
#ifndef KM_AGENT_READINESS_H
#define KM_AGENT_READINESS_H

#include "common/base.h"

#include "agent/agent_decide.h"
#include "agent/instance_state.h"

#define LIVE_HUNG_MS 60000

struct readiness {
    bool yes;
    char reason[128]; /* why not, "" if yes */
};

struct readiness readiness_ready(const struct instance_state *state, int64_t now_ms);
struct readiness readiness_live(const struct instance_state *state, int64_t now_ms);
/* The server has answered since it came up. */
struct readiness readiness_startup(const struct instance_state *state, int64_t now_ms);

/* The whole status but for names, sequence and hashes that the caller knows. */
void readiness_fill_status(const struct instance_state *state, int64_t now_ms, struct agent_status *ret);

#endif
