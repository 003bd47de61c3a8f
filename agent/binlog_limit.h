/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binlog_limit.h: which binary logs are to go for their size. Pure.
 *
 * Two reasons: together they are larger than spec.binlogs.maxSize; or the volume has less room than twice its floor
 * (volume_room.h), so that writes would be closed soon. The oldest go first, and the one that is written never does:
 * where it is all that is left, and room is lacking, a new one is begun, so that it can go, too.
 *
 * That is a wish: whether anybody still lacks what is in them the operator knows (agent_api.h: purge_until).
 */
#ifndef KM_AGENT_BINLOG_LIMIT_H
#define KM_AGENT_BINLOG_LIMIT_H

#include "common/base.h"

#include "agent/volume_room.h"

/* A log that is smaller is not ended for want of room. */
#define BINLOG_ROTATE_BYTES (16ULL * KM_MIB)

/* How much room is lacking until writes are far from being closed; 0: none is, or it is not known. */
uint64_t binlog_limit_lacking(const struct volume_room *room);
/* How many of the n logs, oldest first, are to go. max_bytes 0: no limit. */
size_t binlog_limit_count(const uint64_t *bytes, size_t n, uint64_t max_bytes, uint64_t lacking_bytes);
/* A new one is to be begun: all before the newest do not make room enough. Not while so little is free that the server
 * might fail to begin it: MySQL ends then. */
bool binlog_limit_rotates(const uint64_t *bytes, size_t n, const struct volume_room *room);

#endif
