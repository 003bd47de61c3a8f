/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_stories.h: a primary at which a session holds a lock on all tables: what its agent tells of that, and the change
 * of primaries that ends it.
 */
#ifndef KM_AGENT_TESTS_LOCK_STORIES_H
#define KM_AGENT_TESTS_LOCK_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int lock_stories_run(bool mysql);

#endif
