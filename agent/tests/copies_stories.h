/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies_stories.h: copies that a primary gives while nobody acknowledges its commits: three real servers and agents on
 * loopback. The same for every family, but for what a copy is.
 */
#ifndef KM_AGENT_TESTS_COPIES_STORIES_H
#define KM_AGENT_TESTS_COPIES_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int copies_stories_run(bool mysql);

#endif
