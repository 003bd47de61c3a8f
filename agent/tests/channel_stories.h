/* SPDX-License-Identifier: Apache-2.0 */
/*
 * channel_stories.h: replicas and a primary at which somebody has made a replication channel beside the agent's: own
 * replication goes on, and the member has the problem ForeignChannel.
 */
#ifndef KM_AGENT_TESTS_CHANNEL_STORIES_H
#define KM_AGENT_TESTS_CHANNEL_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int channel_stories_run(bool mysql);

#endif
