/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_aside_tail.h: before a start that cuts off the end of the binary log (bootstrap/start_mode.h): all that it may
 * cut off is set aside, or nothing may be cut off.
 *
 * Such a start cuts from the first transaction on that an engine had prepared and not committed for good. Which one
 * that is no file tells. But a MariaDB server names in its newest log (Binlog_checkpoint) the log from which its
 * recovery begins: what is in older ones the engines have on the disk. So a set is good enough when it reaches from the
 * first transaction of that log to the end. Otherwise what the start has cut off, and what the next primary had
 * received, would be on that one alone until this one has fetched it again. A set that is kept as it is (raw.NAME), or
 * had no room for older ones, says nothing of that: so the set itself is read.
 */
#ifndef KM_AGENT_SET_ASIDE_TAIL_H
#define KM_AGENT_SET_ASIDE_TAIL_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/agent_api.h"
#include "common/error.h"

/* MariaDB, and no server runs. end: set_aside_beyond.h; 0: it is looked up. ret: what lies on the volume then, this set
 * first. -1: nothing may be cut off. Blocking. */
int set_aside_tail(const struct agent_paths *paths, uint64_t epoch, uint64_t end, struct agent_set_asides *ret,
    struct error *err) KM_MUST_CHECK;

#endif
