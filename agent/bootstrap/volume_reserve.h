/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_reserve.h: room on the data volume that nobody uses, so that a server can still start on a volume that is
 * full: each start makes files anew (temporary tablespaces, a binary log), and one that finds no room for them ends at
 * once, again and again.
 *
 * It is a file of VOLUME_RESERVE_BYTES, state_dir/reserve, made while there is plenty of room. The first process of the
 * container "mysql" empties it before a start for which less than that is free. An empty file says that it was given
 * up: while it is empty, the reserve is subtracted from the free room that is reported, so that nobody opens a primary
 * for writes on it; and it is made again once there is room for it.
 */
#ifndef KM_AGENT_BOOTSTRAP_VOLUME_RESERVE_H
#define KM_AGENT_BOOTSTRAP_VOLUME_RESERVE_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "common/error.h"

#define VOLUME_RESERVE_BYTES (64ULL * KM_MIB)

enum volume_reserve { VOLUME_RESERVE_NONE, VOLUME_RESERVE_WHOLE, VOLUME_RESERVE_GIVEN_UP };

enum volume_reserve volume_reserve_look(const struct agent_paths *paths);
/* -1: there is no room, or the file system cannot keep any; what was there before is as it was. */
int volume_reserve_make(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
/* A server is about to be started. True: it was given up for that. */
bool volume_reserve_start(const struct agent_paths *paths);
/* As fs_space, less what is to be kept for a reserve that was given up. */
int volume_reserve_space(const struct agent_paths *paths, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes,
    struct error *err) KM_MUST_CHECK;
/* Pure: it is to be made now: as much is free, as volume_reserve_space tells it, that `enough` would be left. */
bool volume_reserve_is_due(enum volume_reserve reserve, uint64_t free_bytes, uint64_t enough);

#endif
