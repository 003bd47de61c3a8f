/* SPDX-License-Identifier: Apache-2.0 */
/*
 * self_fence.h: run_dir/self-fence.json: the server is or may be open under an order that wants it closed when nobody
 * is heard (agent_order.h: self_fence_ms).
 *
 * An agent that is started anew beside a server that serves has no order: by this it knows what the one before had
 * promised (I6). Written before such an order is taken up, removed when another one is. In the run folder: a pod that
 * is gone has no server that is open.
 */
#ifndef KM_AGENT_BOOTSTRAP_SELF_FENCE_H
#define KM_AGENT_BOOTSTRAP_SELF_FENCE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_order.h"
#include "common/error.h"

struct self_fence {
    uint64_t epoch;
    uint32_t ms; /* 0: nothing was promised */
    uint32_t members;
};

/* Pure. */
struct self_fence self_fence_of(const struct agent_order *order);
bool self_fence_same(const struct self_fence *a, const struct self_fence *b);
/* ms 0 removes. */
int self_fence_write(const struct agent_paths *paths, const struct self_fence *fence, struct error *err) KM_MUST_CHECK;
/* Without a file, or with one that cannot be read: ms 0. */
struct self_fence self_fence_read(const struct agent_paths *paths);

#endif
