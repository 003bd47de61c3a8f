/* SPDX-License-Identifier: Apache-2.0 */
/*
 * position.h: texts of positions (GTID sets, gtid.h) as structs hold them.
 *
 * A struct holds a position as `const char *` and never owns it: a pool does. Positions of one pool live as long as
 * the pool, so a struct that is copied by assignment needs no care. A text that is taken twice is stored once, and
 * takes as many bytes as it has. Who keeps a struct for longer than its pool takes the position into a pool of its
 * own, or holds a reference on this one. NULL reads as "", which is no transaction.
 *
 * Nothing is cut: what is longer than POSITION_TEXT_MAX, or does not fit into the pool, becomes POSITION_TOO_LONG.
 * Agents of earlier versions cut what was longer than POSITION_OLD_MAX, and ended it with the same "...": neither can
 * be compared (position_is_whole), and who has to decide waits.
 *
 * A pool is filled by one thread; after that any thread may read it, and hold and drop references.
 */
#ifndef KM_COMMON_POSITION_H
#define KM_COMMON_POSITION_H

#include "common/base.h"

#include "common/gtid.h"

/* Some 1,300 server UUIDs. */
#define POSITION_TEXT_MAX ((size_t)(64 * KM_KIB))
/* What agents can be told that do not say how much they can (agent_status.position_max): those of earlier versions. */
#define POSITION_OLD_MAX ((size_t)2047)
#define POSITION_TOO_LONG "..."
/* Reports, statuses of backups and archives, and events tell positions of up to 2047 bytes. What is longer is
 * POSITION_TOO_LONG there, and is read where it is stored whole: in the manifest, in the segment. */
#define POSITION_TOLD_SIZE 2048

struct position_pool;

/* max: bytes of all texts together. The first reference is the caller's. */
struct position_pool *position_pool_new(size_t max);
/* NULL is fine for both. */
struct position_pool *position_pool_ref(struct position_pool *pool);
void position_pool_unref(struct position_pool *pool);
static inline void position_pool_unrefp(struct position_pool **p)
{
    position_pool_unref(*p);
}
/* Bytes of all texts that it holds. */
size_t position_pool_size(const struct position_pool *pool);

/* The text in the pool's memory. NULL and "" become "", which is in no pool's memory. NULL is a pool without room. */
const char *position_take(struct position_pool *pool, const char *text);
void position_tell(char to[static POSITION_TOLD_SIZE], const char *position);
/* Canonical. */
const char *position_print(struct position_pool *pool, const struct gtid_set *set);

/* It can be compared: it was not too long for whoever said it. "" can. */
bool position_is_whole(const char *position);
bool position_same(const char *a, const char *b);
/* NULL if it is not whole, or no position. */
struct gtid_set *position_parse(enum gtid_flavour flavour, const char *position);
/* All of `wanted` is in `position`. False also where they cannot be compared: one is not whole, or no position. */
bool position_holds(enum gtid_flavour flavour, const char *position, const char *wanted);

#endif
