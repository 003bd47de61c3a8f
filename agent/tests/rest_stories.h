/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_stories.h: a cluster to which nobody writes: its heartbeat, what its replicas know of their lag, and how soon
 * storage that hangs, or a commit that waits, is found.
 */
#ifndef KM_AGENT_TESTS_REST_STORIES_H
#define KM_AGENT_TESTS_REST_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int rest_stories_run(bool mysql);

#endif
