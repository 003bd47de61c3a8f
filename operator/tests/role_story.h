/* SPDX-License-Identifier: Apache-2.0 */
/*
 * role_story.h: stories about roles that are told again and again, with an operator that dies after each of its acts
 * (I10).
 */
#ifndef KM_ROLE_STORY_H
#define KM_ROLE_STORY_H

#include "common/base.h"

#include "operator/tests/operator_world.h"

struct role_story {
    const char *more;           /* of the cluster's spec */
    const world_step_fn *steps; /* the first ones lead to where the story begins */
    int begin;                  /* step */
};

/* Once undisturbed, then killed after act 1, 2, ... N since the story began: every end must be the same. Fails if there
 * are fewer acts. */
void role_story_dies_at_every_step(const struct role_story *story, size_t at_least);

/* Text below the cluster's status. */
const char *role_story_status(struct operator_world *world, const char *member);
/* Merges into the spec, which gets a new generation. */
void role_story_edit_spec(struct operator_world *world, const char *spec);

/* Steps. */
bool role_story_settled(struct operator_world *world);
bool role_story_quiet(struct operator_world *world);
bool role_story_want_primary_1(struct operator_world *world);
bool role_story_primary_is_1(struct operator_world *world);
bool role_story_shrink_to_1(struct operator_world *world);
bool role_story_grow_to_2(struct operator_world *world);

#endif
