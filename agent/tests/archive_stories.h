/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_stories.h: archiving the binary logs of real servers: killed at any moment, over a failover with a lost tail,
 * over a gap. The cases share the members and run in order.
 */
#ifndef KM_AGENT_TESTS_ARCHIVE_STORIES_H
#define KM_AGENT_TESTS_ARCHIVE_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int archive_stories_run(bool mysql);

#endif
