/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failover_story.h: what stories of failovers share: things that happen to members, and how it is seen that all went
 * well.
 */
#ifndef KM_FAILOVER_STORY_H
#define KM_FAILOVER_STORY_H

#include "common/base.h"

#include "operator/tests/role_story.h"

#define FAILOVER_THREE "'replicas': 3"
#define FAILOVER_UNTIL_SETTLED failover_settled, failover_quiet

bool failover_primary_is(struct operator_world *world, int ordinal);
bool failover_says(struct operator_world *world, const char *text);
bool failover_record_is(struct operator_world *world, const char *member, const char *text);
void failover_break_rule(struct operator_world *world, const char *text);
bool failover_writes_go_on(struct operator_world *world);
bool failover_writes_go_on_anywhere(struct operator_world *world);
bool failover_settled(struct operator_world *world);
bool failover_quiet(struct operator_world *world);
void failover_play(const char *more, const world_step_fn *steps, void (*check)(struct operator_world *world));
bool failover_begin_clock(struct operator_world *world);
bool failover_passed(const struct operator_world *world, int64_t ms);
bool failover_crash_0(struct operator_world *world);
bool failover_recover_0(struct operator_world *world);
bool failover_cut_0(struct operator_world *world);
bool failover_link_all(struct operator_world *world);
bool failover_another_is_primary(struct operator_world *world);
bool failover_record_is_written(struct operator_world *world);
void failover_check_moved(struct operator_world *world);

#endif
