/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_commits.h: how much of what is committed on a primary the agent does itself: counted by whoever commits, read by
 * another thread (first_commit.h). A zeroed struct is valid.
 */
#ifndef KM_AGENT_OWN_COMMITS_H
#define KM_AGENT_OWN_COMMITS_H

#include "common/base.h"

#include <stdatomic.h>

struct own_commits {
    atomic_uint begun, ended; /* statements that commit a transaction, at most one each */
    /* Grows when changes begin that are not counted one by one (accounts, events), and when they end: odd in
     * between. */
    atomic_uint changes;
};

#endif
