/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_decide.h: what `init` does next about the data folder. Pure.
 *
 * The operator decides, this only refuses what would lose data or start without any: an order that does not fit what
 * lies on the volume is answered in words and nothing is touched (I7, I8).
 */
#ifndef KM_AGENT_BOOTSTRAP_SEED_DECIDE_H
#define KM_AGENT_BOOTSTRAP_SEED_DECIDE_H

#include "common/base.h"

#include "common/agent_order.h"

enum seed_act {
    SEED_ACT_WAIT,
    SEED_ACT_REFUSE,
    SEED_ACT_KEEP,
    SEED_ACT_INITIALISE,
    SEED_ACT_CLONE,
    SEED_ACT_RESTORE,
    SEED_ACT_TAKE
};

struct seed_decision {
    enum seed_act act;
    char message[256]; /* what is waited for, or why the order is refused; "" otherwise */
};

struct seed_facts {
    bool has_data; /* the volume holds a database */
    enum agent_mark mark;
    const char *task; /* the restore that we were told how to do; "" none */
    uint64_t beside;  /* number of the restored database that waits beside the data; 0: none */
};

/* order: NULL when there is none yet. */
struct seed_decision seed_decide(const struct agent_order *order, const struct seed_facts *facts);

#endif
