/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_stories.h: servers that do not tell all that a look asks for: tables of another shape, rights that the agent has
 * lost, clients whose statements hold any bytes. What is told of them all the same, and that they are closed.
 */
#ifndef KM_AGENT_TESTS_LOOK_STORIES_H
#define KM_AGENT_TESTS_LOOK_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int look_stories_run(bool mysql);

#endif
