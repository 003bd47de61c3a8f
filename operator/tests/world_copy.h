/* SPDX-License-Identifier: Apache-2.0 */
/*
 * world_copy.h: copies of a world that is under way, each in a process of its own, in which its operator is killed just
 * then.
 *
 * A story in which the operator dies after its nth act begins as the one in which it does not die. So it is told once,
 * and after each act a child goes on from there, without the operator, while its parent waits for it: what came before
 * is not told again for each act.
 *
 * In the copy all connections end, as those of a process that is no more. They are the original's, too, so they are not
 * closed but replaced. It listens where the original did, which does not meanwhile. Where a connection is not accepted
 * yet no copy can be made, it would be lost: such an act must be told from the beginning.
 *
 * With KM_CRASH_EVERY=3 in the environment only acts 1, 4, 7, ... are tried: the same ones each time. The test says how
 * many of how many these were. Not set: all of them.
 */
#ifndef KM_WORLD_COPY_H
#define KM_WORLD_COPY_H

#include "common/base.h"

struct loop;

#define WORLD_COPIES_MAX 200

/* By KM_CRASH_EVERY, for a test that tells its story anew for each act; 1 if that is not set. */
size_t world_crash_every(void);

struct world_copies {
    char *ends[WORLD_COPIES_MAX]; /* what the copy after that act said; NULL: none was made */
    size_t count;
    size_t every; /* acts that are tried: the first one, and each so-many-th after it */
    int out;      /* in the copy: to its original; -1 */
};

/* Tells a story (an operator_world) to its end, which it returns as text. With n > 0 the operator dies after its nth
 * act since the story began (kill_after), with `copies` in a copy after each of them (operator_world.copies); then
 * world_copy_end comes after the text, before the end of the world. */
typedef char *(*world_tell_fn)(const void *arg, size_t n, struct world_copies *copies);
/* Every end that is tried must be that of the story in which nobody dies. Fails if there are fewer acts. */
void world_dies_at_every_step(world_tell_fn tell, const void *arg, size_t at_least);

/* True in the copy. The original comes back when the copy has ended, with one end more. */
bool world_copy_make(struct world_copies *copies, struct loop *loop);
static inline bool world_copy_is(const struct world_copies *copies)
{
    return copies && copies->out >= 0;
}
/* Ends the copy, which is this process, with this text. Does nothing in the original, and without copies. */
void world_copy_end(const struct world_copies *copies, const char *text);

#endif
