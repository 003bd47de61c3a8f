/* SPDX-License-Identifier: Apache-2.0 */
/*
 * close_stories.h: what clients are told when a semi-sync primary is closed under them: three real servers and agents
 * on loopback, orders by HTTP as the operator would send them. The same for every family. Times are printed, not
 * asserted.
 */
#ifndef KM_AGENT_TESTS_CLOSE_STORIES_H
#define KM_AGENT_TESTS_CLOSE_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int close_stories_run(bool mysql);

#endif
