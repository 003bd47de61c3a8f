/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_stories.h: spec.username and spec.database name something else: what becomes of those that they named before.
 * Three real servers and agents on loopback. The cases share the members and run in order; they are the same for every
 * family.
 */
#ifndef KM_AGENT_TESTS_NAMES_STORIES_H
#define KM_AGENT_TESTS_NAMES_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int names_stories_run(bool mysql);

#endif
