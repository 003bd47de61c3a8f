/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_place_story.h: stories of an existing cluster that gets the data of a stored backup: what they share.
 */
#ifndef KM_IN_PLACE_STORY_H
#define KM_IN_PLACE_STORY_H

#include "common/base.h"

#include "operator/tests/role_story.h"

#define IN_PLACE_BACKUP "/apis/kubemysql.dev/v1alpha1/namespaces/ns1/mysqlbackups/nightly"
#define IN_PLACE_THREE "'replicas': 3"

/* A step: the backup and its keys are there. */
bool in_place_put_backup(struct operator_world *world);
/* The wish; NULL: none. */
void in_place_annotate(struct operator_world *world, const char *value);
/* A step: both. */
bool in_place_wish(struct operator_world *world);

/* Below status.restoreInPlace. */
const char *in_place_str(struct operator_world *world, const char *member);
int64_t in_place_number(struct operator_world *world, const char *member);
bool in_place_is_completed(struct operator_world *world);

/* The same of a backup on the volume of claim "nas". */
bool in_place_wish_of_volume(struct operator_world *world);
/* The pod in front of the volume does not serve yet, and the cluster does. */
bool in_place_waits_for_store(struct operator_world *world);
/* Path of that pod; NULL: there is none. Until the next call. */
const char *in_place_store(struct operator_world *world, const char *claim);

/* It goes well; from a volume; the backup is damaged. */
extern const world_step_fn in_place_steps[];
extern const world_step_fn in_place_volume_steps[];
extern const world_step_fn in_place_damaged_steps[];

#endif
