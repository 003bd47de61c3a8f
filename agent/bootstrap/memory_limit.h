/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory_limit.h: how much memory this process's container may take, and its node has.
 */
#ifndef KM_AGENT_BOOTSTRAP_MEMORY_LIMIT_H
#define KM_AGENT_BOOTSTRAP_MEMORY_LIMIT_H

#include "common/base.h"

#include "common/error.h"

/* Bytes, of its control group (version 2 or 1). 0: there is no limit, or it cannot be known. */
uint64_t memory_limit_bytes(void);

/* How many processes of it the kernel has ended for want of memory, since the container began; 0: none, or it cannot be
 * known. */
uint64_t memory_kills(void);

/* Pure. The number in a line "oom_kill N" of the control group's file (memory.events, or memory.oom_control); 0: there
 * is none. */
uint64_t memory_kills_in(const char *text);

/* Of what failed: the kernel has ended a program of the container's since memory_kills() was kills_before. err, which
 * may say no more than "Killed", then begins with "out of memory" and the limit. */
bool memory_blame(uint64_t kills_before, struct error *err);

/* Bytes, of the node: all that there is, whoever has it. 0: it cannot be known. */
uint64_t memory_machine_bytes(void);

#endif
