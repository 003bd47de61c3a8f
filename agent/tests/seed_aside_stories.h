/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_aside_stories.h: what a member has alone is on its volume after its data was replaced, whatever the mark (I7).
 * For both families.
 */
#ifndef KM_AGENT_TESTS_SEED_ASIDE_STORIES_H
#define KM_AGENT_TESTS_SEED_ASIDE_STORIES_H

#include "common/base.h"

#include "agent/tests/seed_rig.h"

/* A member that had been written to while it was primary, marked as one that has left, is copied anew. position_sql:
 * what the donor has. */
void seed_aside_story_left(struct seed_rig *world, const char *position_sql);
/* The same one before, with a file in the way of the folder: nothing is replaced. */
void seed_aside_story_no_room(struct seed_rig *world, const char *position_sql);

#endif
