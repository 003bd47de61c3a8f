/* SPDX-License-Identifier: Apache-2.0 */
/*
 * failover_stories.h: what members do when their primary dies, hangs or is cut off: three real servers and agents on
 * loopback, orders by HTTP as the operator would send them. The cases share the members and run in order; they are the
 * same for every family. Times are printed, not asserted.
 */
#ifndef KM_AGENT_TESTS_FAILOVER_STORIES_H
#define KM_AGENT_TESTS_FAILOVER_STORIES_H

#include "common/base.h"

/* With this machine's MariaDB or the image's MySQL. Returns what main returns. */
int failover_stories_run(bool mysql);

#endif
